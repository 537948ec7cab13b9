"""Stopped from outside: the exit code of the signal, one sentence, and nothing left behind."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.made.processes import handled
from tests.made.renames import before_each_rename

from cloister.cli import main

N_COLUMNS, N_RECORDS = 24, 6000


@pytest.fixture(scope="module")
def hard(tmp_path_factory):
    """A table whose optimum takes far longer to prove than any test may last, and its hierarchies."""
    folder = tmp_path_factory.mktemp("hard")
    generator = random.Random(4)
    names = [f"c{number:02d}" for number in range(N_COLUMNS)]
    weights = [1 / (1 + value) for value in range(16)]
    columns = [generator.choices(range(16), weights, k=N_RECORDS) for _ in names]
    rows = [",".join(map(str, row)) + "\n" for row in zip(*columns)]
    (folder / "data.csv").write_text(",".join(names) + "\n" + "".join(rows))
    (folder / "hierarchy.csv").write_text("".join(f"{v};{v // 2}a;{v // 4}b;{v // 8}c;*\n" for v in range(16)))
    return folder


def start(hard, folder, *more):
    """Start the command in the middle of whose search the test will stop it."""
    qi = [word for n in range(N_COLUMNS) for word in ("--qi", f"c{n:02d}={hard / 'hierarchy.csv'}")]
    command = [
        *("protect", "table", str(hard / "data.csv"), *qi, "-k", "5", "--purpose", "one-coding"),
        *("--out", str(folder / "release"), *more),
    ]
    with handled(signal.SIGINT), handled(signal.SIGHUP, signal.SIG_DFL):
        return subprocess.Popen(
            [sys.executable, "-m", "cloister", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


def let_it_work(process, seconds=3.0):
    """Wait until a process has used so much processor time: it has started by then, and searches."""
    ticks = seconds * os.sysconf("SC_CLK_TCK")
    place = Path(f"/proc/{process.pid}/stat")
    until = time.monotonic() + (60 if place.exists() else seconds)
    while time.monotonic() < until and process.poll() is None:
        if place.exists() and sum(map(int, place.read_text().rpartition(")")[2].split()[11:13])) >= ticks:
            break
        time.sleep(0.05)
    assert process.poll() is None


@pytest.mark.parametrize(
    ("number", "code", "how", "more"),
    [
        (signal.SIGINT, 130, "interrupted", ()),
        (signal.SIGTERM, 143, "terminated", ("--json",)),
        (signal.SIGHUP, 129, "terminated", ()),
    ],
)
@pytest.mark.sampled(2)
def test_stopped_in_the_middle_of_a_search(hard, tmp_path, number, code, how, more):
    """Ctrl-C is 130, a request to end is 143, a closed terminal 129; both within seconds, and no file is left."""
    process = start(hard, tmp_path, *more)
    let_it_work(process)
    process.send_signal(number)
    try:
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()

    assert process.returncode == code
    said = json.loads(out)["error"]["message"] if more else err
    assert how in said
    assert "Traceback" not in err
    assert err.count("\n") == (0 if more else 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_time_limit_ends_the_same_search(hard, tmp_path):
    """The same search with a time limit answers in time, with what is not proven."""
    process = start(hard, tmp_path, "--time-limit", "1", "--json")
    out, _ = process.communicate(timeout=20)

    assert process.returncode == 0, out
    search = json.loads(out)["search"]
    assert search["optimal"] is False
    assert search["gap"] is None or search["gap"] > 0
    assert (tmp_path / "release" / "report.html").is_file()


def test_interrupted_while_writing_leaves_the_earlier_release(protect, release, tmp_path, monkeypatch):
    """Stopped between writing and renaming, the earlier release is still there and the new one is gone."""
    before = {path.name: path.read_bytes() for path in release.iterdir()}

    def stopped(*_args, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr("cloister.release.release.report_files", stopped)
    ran = protect("--overwrite", "--crosswalk", "map.csv")

    assert ran.code == 130
    assert {path.name: path.read_bytes() for path in release.iterdir()} == before
    assert {path.name for path in tmp_path.iterdir()} == {"patients.csv", "release"}


@pytest.mark.parametrize("words", [(), ("--overwrite",)])
@pytest.mark.parametrize("name", ["release", "map.csv", "secrets"])
def test_interrupted_between_two_renames(protect, tmp_path, monkeypatch, words, name):
    """Exact figures and crosswalk are never left alone: the release is there as well, and that is what is said."""
    if words:
        assert protect("-q", "--custodian-dir", tmp_path / "secrets").code == 0
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted(_path, to):
        if to.name == name:
            os.kill(os.getpid(), signal.SIGINT)

    before_each_rename(monkeypatch, interrupted)
    try:
        ran = protect(*words, "--crosswalk", tmp_path / "map.csv", "--custodian-dir", tmp_path / "secrets")
    finally:
        signal.signal(signal.SIGINT, handler)

    assert ran.code == 130
    assert "the release release was written before" in ran.err
    assert {path.name for path in tmp_path.iterdir()} == {"patients.csv", "release", "map.csv", "secrets"}


def test_interrupted_while_saying_what_was_done(protect, tmp_path, monkeypatch):
    """Once the release is in its place nobody says that nothing was written."""

    def stopped(*_args, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr("cloister.cli.protect.show", stopped)
    ran = protect()

    assert ran.code == 130
    assert "the release release was written before" in ran.err
    assert (tmp_path / "release" / "release.json").exists()


@pytest.mark.parametrize("words", [(), ("--overwrite",)])
def test_exact_figures_are_not_left_behind(protect, tmp_path, monkeypatch, words):
    """If the release cannot be put in its place, its exact figures and the crosswalk are not there either."""
    if words:
        assert protect("-q", "--custodian-dir", tmp_path / "secrets").code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def refuse(path, to):
        if to.name == "release":
            raise PermissionError(13, "Permission denied", str(path))

    before_each_rename(monkeypatch, refuse)
    ran = protect(*words, "--crosswalk", tmp_path / "map.csv", "--custodian-dir", tmp_path / "secrets")

    assert ran.code == 2
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if path.name != "patients.csv"} == {
        path: data for path, data in before.items() if path.name != "patients.csv"
    }


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_that_a_library_took_for_a_wrong_value_is_a_stop(monkeypatch, capsys, number, code):
    """Where the exception of a signal became another one on its way, the command still says that it was stopped."""
    monkeypatch.setattr(main, "STOPPED_BY", [number])
    assert main.run(["verify", "nowhere"]) == code
    assert "nothing was written" in capsys.readouterr().err
