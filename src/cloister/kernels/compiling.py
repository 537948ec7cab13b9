"""Kernels are compiled once on each machine, in processes of their own, unless a wheel carries them.

A separate process can be stopped at once, and runs in parallel if there are cores. It leaves the compiled code in the
cache, from which any process that needs the code loads it.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from logging import getLogger
from typing import NamedTuple

Progress = Callable[[float], None]
"""Called with the share that is compiled; its pace says little of the rest, so no remaining time is given."""


class Kernels(NamedTuple):
    """The kernels of a method."""

    module: str  # has ``load_kernels``, which runs each of them once on a few made-up records
    seconds: Mapping[str, float]  # what takes longest, in the order in which it is compiled; only proportions matter
    variants: tuple[str, ...] = ()  # ``load_kernels`` is called with each of these


KERNELS: dict[str, Kernels] = {
    "disassociation": Kernels(
        "cloister.shapes.disassociation.method.protect",
        {
            "horpart._split": 5.5,
            "parts._partition_parts": 13.0,
            "shared_chunks._group_all": 7.5,
            "reconstruction._place_shared": 4.0,
        },
    ),
    "optimal": Kernels("cloister.search", {"classes._classes": 1.0, "boxes._search": 11.0}, ("optimal",)),
    "no search": Kernels("cloister.search", {}, ("no search",)),  # what large tables need is compiled when it is
    "large tables": Kernels("cloister.search", {"shared_labels._common_levels": 1.0}, ("large tables",)),
    "cluster": Kernels(
        "cloister.shapes.table.method.recoding.choice",
        {"classes._classes": 1.0, "shared_labels._nearest": 1.0, "regroup._improve": 4.0},
        ("cluster",),
    ),
    "mdav": Kernels("cloister.shapes.table.method.recoding.choice", {"mdav._group": 1.0}, ("mdav",)),
    "trajectories": Kernels("cloister.shapes.trajectories.method.protect", {"clusters._group": 11.5}),
    "claims": Kernels(
        "cloister.shapes.claims.method.protect", {"claim_matches._class_sizes": 2.0, "claim_matches._likeliest": 3.0}
    ),
    "every other search": Kernels(
        "cloister.search",
        {"classes._roll_up": 2.0, "ranks._collect": 3.0},
        ("exhaustive", "bfs", "ola", "incognito", "samarati", "datafly", "igreedy", "flash"),
    ),
    "risk": Kernels("cloister.risk.assessment", {"classes._label": 1.5, "itemset_support._least_of": 2.0}),
    "generalization": Kernels("cloister.shapes.generalization.method.protect", {"terms._cheapest_pair": 1.5}),
}
"""By method or search; what takes longest comes first, so that processes side by side end together."""

_PROGRAM = "import os, sys; os.nice(int(sys.argv[2])); from cloister.kernels.compiling import load; load(sys.argv[1])"
_AHEAD: dict[str, subprocess.Popen[bytes]] = {}


def _kernels(method: str) -> Kernels:
    """The kernels of a method; all searches but the optimal one have most of theirs in common."""
    return KERNELS.get(method) or Kernels("cloister.search", {"classes._roll_up": 1.0}, (method,))


def load(method: str) -> None:
    """Load the kernels of a method, and compile here what is not compiled yet."""
    kernels = _kernels(method)
    load_kernels = import_module(kernels.module).load_kernels
    if not kernels.variants:
        load_kernels()
    for variant in kernels.variants:
        load_kernels(variant)


def _is_compiled(kernel: str) -> bool:
    """Whether a kernel is compiled; anyone who only verifies or attacks loads no compiler."""
    from cloister.kernels._cached import is_compiled

    return is_compiled(kernel)


def compiles_only_ours() -> None:
    """Declare, before the first kernel is loaded, that this process compiles only our kernels."""
    from cloister import kernels

    kernels.only_ours = True


def must_compile(method: str) -> bool:
    """Whether kernels of a method are not compiled yet: loading them would take from some seconds to half a minute."""
    return not all(map(_is_compiled, _kernels(method).seconds))


def compile_kernels(method: str, progress: Progress | None = None) -> None:
    """Wait until another process has compiled the kernels of a method.

    If this fails, for example without a private folder, report nothing: kernels are then compiled when they are used.
    """
    seconds = _kernels(method).seconds
    with compiling_ahead(method):
        while method in _AHEAD and _AHEAD[method].poll() is None:
            done = sum(one for kernel, one in seconds.items() if _is_compiled(kernel)) / sum(seconds.values())
            if progress is not None and done:
                progress(done)
            time.sleep(0.1)


def say_first_call(method: str) -> None:
    """Compile the kernels of a method if needed, and announce it in the log, which is shown by default."""
    if must_compile(method):
        getLogger("cloister").warning("Compiling for this machine, once; later calls begin at once.")
        compile_kernels(method)


@contextmanager
def compiling_ahead(*methods: str) -> Iterator[None]:
    """Compile missing kernels while the block runs, in one process for each method; no process outlives the block.

    Methods are given in the order in which they are needed: the first gets most of the processor.
    """
    begun = [method for method in methods if method not in _AHEAD and must_compile(method)]
    try:
        for place, method in enumerate(begun, start=1):
            # A terminal's Ctrl-C reaches a whole group: this process alone says that it was stopped. With -P a file of
            # the working directory is not mistaken for a module.
            command = [sys.executable, "-P", "-c", _PROGRAM, method, str(5 * place)]
            null = subprocess.DEVNULL
            _AHEAD[method] = subprocess.Popen(  # noqa: S603 - this Python, and a name of ours
                command, stdin=null, stdout=null, stderr=null, process_group=0
            )
        yield
    finally:
        for method in begun:
            process = _AHEAD.pop(method)
            process.terminate()
            process.wait()


def compile_all() -> None:
    """Compile every kernel that is not compiled yet, in as many processes as there are cores."""
    waiting = [method for method in KERNELS if must_compile(method)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(compile_kernels, waiting))


def baseline_environment() -> str:
    """Return the environment that makes Numba compile for the baseline of a wheel, as ``NAME=VALUE`` for a shell."""
    from cloister.kernels._cached import baseline

    _, processor, features = baseline() or ("", "", "")
    return f"NUMBA_CPU_NAME={processor} NUMBA_CPU_FEATURES={features}" if processor else ""
