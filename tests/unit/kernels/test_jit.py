"""Compiled once on a machine, and known to be."""

import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from cloister.kernels import _cached, _numba, private_cache
from cloister.kernels.compiling import (
    _AHEAD,
    KERNELS,
    baseline_environment,
    compile_kernels,
    compiling_ahead,
    load,
    must_compile,
)
from cloister.kernels.private_cache import cache_folder


@pytest.mark.parametrize("method", [*KERNELS, "datafly"])
def test_what_was_compiled_is_known_to_be(method):
    """Once kernels were loaded, no command says that it has to compile them."""
    load(method)

    assert not must_compile(method)


@pytest.mark.full
def test_a_process_of_its_own_compiles(tmp_path, monkeypatch):
    """Who waits is told how far it is; whoever waits no longer leaves no process behind."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_cached, "CACHE", cache_folder("kernels", _cached.SOURCES))
    told = []
    with compiling_ahead("trajectories"):
        ahead = _AHEAD["trajectories"]
        compile_kernels("risk", told.append)

    assert not must_compile("risk")
    assert told == sorted(told)
    assert all(0 < done <= 1 for done in told)
    assert ahead.returncode == -signal.SIGTERM
    assert not _AHEAD


def compile_in(folder, sources, **variables):
    """Load kernels from a copy of the sources in a process of its own; the files of the cache."""
    program = (
        "import numpy as np\n"
        "from cloister.kernels import _cached, horpart\n"
        "assert _cached.is_compiled('horpart._spans') == bool(len(_cached.sys.argv) > 1)\n"
        "horpart.make_tree(np.array([0, 1], dtype=np.int32))\n"
        "assert _cached.is_compiled('horpart._spans')\n"
        "print(_cached.CACHE)"
    )
    environment = os.environ | {"PYTHONPATH": str(sources), "NUMBA_CACHE_DIR": str(folder)} | variables

    def run(*words):
        command = [sys.executable, "-c", program, *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=folder.parent)
        return {file.name for file in _cached.Path(done.stdout.strip()).iterdir()}

    return run


@pytest.mark.full
def test_an_edition_is_of_a_file_and_of_what_it_imports(tmp_path):
    """A kernel is compiled anew when a file changed that it imports, not when another did; earlier editions go."""
    kernels = tmp_path / "sources" / "cloister" / "kernels"
    shutil.copytree(_cached.SOURCES, kernels)
    shutil.copy(private_cache.__file__, kernels.parent)
    (kernels.parent / "__init__.py").touch()
    run = compile_in(tmp_path / "cache", tmp_path / "sources")
    first = run()
    assert run("compiled") == first
    (kernels / "alignment.py").write_text("")
    assert run("compiled") == first
    source = (kernels / "_jit.py").read_text()
    (kernels / "_jit.py").write_text(source + "\n")
    second = run()

    assert len(first) == len(second) > 0
    assert not first & second


@pytest.mark.full
def test_what_a_wheel_carries_is_not_compiled_again(tmp_path):
    """Kernels that were compiled for the baseline and came with the sources are used as they are.

    One that cannot be loaded, or whose sources changed, is compiled.
    """
    kernels = tmp_path / "sources" / "cloister" / "kernels"
    shutil.copytree(_cached.SOURCES, kernels)
    shutil.copy(private_cache.__file__, kernels.parent)
    (kernels.parent / "__init__.py").touch()
    made = tmp_path / "made"
    names = compile_in(made, tmp_path / "sources", **dict(one.split("=") for one in baseline_environment().split()))()
    (kernels / "compiled").mkdir()
    for name in names:
        shutil.move(next(made.rglob(name)), kernels / "compiled" / name)
    run = compile_in(tmp_path / "cache", tmp_path / "sources")

    assert names
    assert run("compiled") == set()
    for carried in (kernels / "compiled").glob("*.nbc"):
        carried.write_bytes(carried.read_bytes()[:100])
    assert run("compiled") > set()
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").mkdir(mode=0o700)
    (kernels / "horpart.py").write_text((kernels / "horpart.py").read_text() + "\n")
    assert run()


def test_the_cache_is_where_the_interpreter_is(tmp_path, monkeypatch):
    """Who calls, and from where, makes no difference; a folder that others can write to is not used."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(_cached.sys, "prefix", str(tmp_path / "environment"))
    environment = tmp_path / "environment" / "cache" / "kernels"
    assert cache_folder("kernels", _cached.SOURCES).parent == environment
    assert environment.stat().st_mode & 0o777 == 0o700

    environment.chmod(0o770)
    assert cache_folder("kernels", _cached.SOURCES).parent == tmp_path / "user" / "cloister" / "kernels"

    monkeypatch.setattr(_cached.sys, "prefix", _cached.sys.base_prefix)
    assert cache_folder("kernels", _cached.SOURCES).parent == tmp_path / "user" / "cloister" / "kernels"


def made(values, _):
    """An array that nobody else holds."""
    return np.zeros(3)


def taken(values, places):
    """Part of an array, chosen by another one."""
    return values[places][0]


def added(values, _):
    """A number of a sum of arrays."""
    return (values + 1.0)[0]


def rest(values, _):
    """Part of an array."""
    return values[1:]


def looked_at(values, places):
    """A number of a part of an array."""
    part = values[1:]
    return part[places[0]]


@pytest.mark.parametrize("function", [made, taken, added, rest])
def test_a_kernel_that_makes_arrays_says_so(function):
    """An inner kernel counts no references: one that makes or returns an array is not compiled, else it would leak."""
    kernel = _numba.compile_kernel(function, is_entry=False, has_arrays=False)
    caller = _numba.numba.njit(lambda values, places: kernel(values, places) is None)

    with pytest.raises(Exception, match="array"):
        caller(np.ones(4), np.array([1, 2]))


def test_a_kernel_may_look_at_parts_of_arrays():
    """What a kernel takes out of an array that its caller holds is there as long as it is."""
    kernel = _numba.compile_kernel(looked_at, is_entry=False, has_arrays=False)
    values, caller = np.arange(4.0), _numba.numba.njit(lambda values, places: kernel(values, places) + 0.0)
    before = sys.getrefcount(values)

    assert [caller(values, np.array([place])) for place in (0, 1, 2)] == [1.0, 2.0, 3.0]
    assert sys.getrefcount(values) == before
