"""The machine around a run: odd environments, links, other runs, input that changes meanwhile."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.made.processes import handled

from cloister.cli.main import TOO_LARGE, TOO_LITTLE
from cloister.testing import hospital

PROTECT = [
    *("protect", "table", "patients.csv", "-k", "5", "--qi", "age=interval:10,20,40", "--qi", "sex=suppress"),
    *("--undecided", "drop", "--out", "release"),
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a small hospital in it."""
    hospital(n=60).write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def started(*words, env=None):
    """A command as a process of its own."""
    command = [sys.executable, "-m", "cloister", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def ended(process):
    """Its exit code and what it said."""
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    return process.returncode, out, err


ENVIRONMENTS = {
    "no HOME and no TMPDIR": dict.fromkeys(("HOME", "XDG_CACHE_HOME", "TMPDIR", "TMP", "TEMP")),
    "HOME and TMPDIR that are not there": {"HOME": "/nowhere", "TMPDIR": "/nowhere"},
    "no UTF-8": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "nothing but the PATH": {},
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_odd_environments(place, name):
    """Without HOME, TMPDIR, UTF-8 or anything else in the environment the same is released, and can be printed."""
    (place / "patients.csv").rename(place / "größe.csv")
    keep = ("PATH", "PYTHONPATH", "NUMBA_CACHE_DIR")
    base = {key: os.environ[key] for key in keep if key in os.environ} if not ENVIRONMENTS[name] else dict(os.environ)
    given = {key: value for key, value in (base | ENVIRONMENTS[name]).items() if value is not None}
    words = ["größe.csv" if word == "patients.csv" else word for word in PROTECT]

    code, out, err = ended(started(*words, env=given))

    assert (code, err) == (0, "")
    assert "release" in out
    assert (place / "release" / "release.json").is_file()


def test_a_reader_that_stops_reading(place):
    """``| head`` takes a line and closes the pipe: no traceback, and the release is there."""
    with subprocess.Popen(
        f"{sys.executable} -m cloister {' '.join(PROTECT)} | head -n 1", shell=True, stderr=subprocess.PIPE, text=True,
        stdout=subprocess.DEVNULL,
    ) as shell:  # fmt: skip
        err = shell.communicate(timeout=120)[1]

    assert "Traceback" not in err
    assert (place / "release" / "release.json").is_file()


def test_nohup_is_heeded(place):
    """A run that is to outlive its terminal does."""
    with handled(signal.SIGHUP, signal.SIG_IGN):
        process = started(*PROTECT)
    while process.poll() is None:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.05)

    assert ended(process)[0] == 0


@pytest.mark.full
def test_output_through_a_link_and_on_another_disk(place):
    """A folder reached by a link, on another file system where there is one: the release is there, and replaced."""
    other = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "."
    elsewhere = subprocess.run(["mktemp", "-d", "-p", other], capture_output=True, text=True, check=True).stdout.strip()
    try:
        (place / "link").symlink_to(elsewhere)
        words = [*PROTECT[:-1], "link/release", "--custodian-dir", "secret", "-q"]
        assert ended(started(*words)) == (0, "", "")
        assert ended(started(*words, "--overwrite")) == (0, "", "")
        assert os.listdir(elsewhere) == ["release"]
        assert sorted(os.listdir(f"{elsewhere}/release")) == sorted(os.listdir("link/release"))
    finally:
        subprocess.run(["rm", "-r", elsewhere], check=True)


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
@pytest.mark.sampled(1)
def test_runs_to_one_output(place, overwrite):
    """Of two runs at once one releases; the other does so after it, or says in one sentence that it did."""
    processes = [started(*PROTECT, *overwrite, "-q") for _ in range(2)]
    runs = [ended(process) for process in processes]

    assert [code for code, _, _ in runs].count(0) == 1 or overwrite
    assert 0 in [code for code, _, _ in runs]
    for code, _, err in runs:
        assert code == 0 or (code, err.count("\n")) == (2, 1)
        assert code == 0 or "exists already" in err or "replaced" in err
    assert ended(started("verify", "release", "-q")) == (0, "", "")
    assert [name for name in os.listdir() if name.startswith(".")] == []


@pytest.mark.parametrize("change", ["grows", "shrinks", "goes", "is another"])
def test_input_that_changes_after_it_was_read(place, cloister, monkeypatch, change):
    """What was read is what is released and recorded, whatever becomes of the file meanwhile."""
    from cloister.pipeline import tables

    encode, data = tables.encode, place / "patients.csv"

    def meanwhile(*words, **options):
        text = data.read_text()
        new = {"grows": text + text.split("\n", 1)[1], "shrinks": text[: len(text) // 2], "is another": "a\n1\n"}
        data.unlink() if change == "goes" else data.write_text(new[change])
        return encode(*words, **options)

    monkeypatch.setattr(tables, "encode", meanwhile)
    ran = cloister(*PROTECT)

    assert ran.code == 0, ran.err
    assert json.loads((place / "release" / "release.json").read_text())["records"]["in"] in (60, "<65")


def test_a_clock_that_jumps(place, cloister, monkeypatch):
    """A clock set back during a run makes no time negative and no release invalid."""
    hours = iter(range(10**6, 0, -1))
    monkeypatch.setattr(time, "time", lambda: next(hours) * 3600.0)

    assert cloister(*PROTECT, "-q").code == 0

    seconds = json.loads((place / "release" / "release.json").read_text())["seconds"]
    assert all(value is None or value >= 0 for value in seconds.values())
    assert cloister("verify", "release", "-q").code == 0


@pytest.mark.parametrize("gigabytes", [0.7, 1.5])
def test_a_limit_on_memory(place, gigabytes):
    """Where the shell leaves too little memory, that is one sentence, exit code 2, and nothing is left."""
    before = set(os.listdir(place))
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({int(gigabytes * 2**30)},) * 2); "
    main = f"import sys; sys.argv[1:] = {[*PROTECT, '--quiet']}; from cloister.cli.main import main; main()"
    process = subprocess.run([sys.executable, "-c", limit + main], capture_output=True, text=True, timeout=120)

    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr == f"cloister: {TOO_LITTLE}\n"
    assert set(os.listdir(place)) == before


def test_a_limit_on_memory_that_is_large_enough(place):
    """With room enough the answer is that of a run without a limit, and a stop is handed on."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**36,) * 2); "
    main = f"import sys; sys.argv[1:] = {[*PROTECT, '--quiet']}; from cloister.cli.main import main; main()"
    assert subprocess.run([sys.executable, "-c", limit + main], timeout=120).returncode == 0
    assert (place / "release" / "data.csv").exists()


def test_the_child_that_is_watched_dies(place, monkeypatch):
    """A library that ends the process leaves nothing of what had been begun."""
    script = f"""
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2**36,) * 2)
sys.argv[1:] = {PROTECT}
import cloister.release.release
cloister.release.release.Release.write_into = lambda *_, **__: os.abort()
from cloister.cli.main import main
main()
"""
    before = set(os.listdir(place))
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)

    assert (process.returncode, process.stderr) == (2, f"cloister: {TOO_LARGE}\n")
    assert set(os.listdir(place)) == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stop_in_a_destructor(place, number, code):
    """A signal at a moment when Python drops what is raised stops the command all the same, without a traceback."""
    script = f"""
import os, sys
sys.argv[1:] = {PROTECT}
import cloister.release.release
class Dropped:
    def __del__(self):
        os.kill(os.getpid(), {int(number)})
        sum(range(1000))
write = cloister.release.release.Release.write_into
def slowly(*arguments, **options):
    import time
    Dropped()
    time.sleep(5)
    return write(*arguments, **options)
cloister.release.release.Release.write_into = slowly
from cloister.cli.main import main
main()
"""
    before = set(os.listdir(place))
    with handled(signal.SIGINT):
        process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)

    assert process.returncode == code
    assert process.stderr.count("\n") == 1
    assert "nothing was written" in process.stderr
    assert set(os.listdir(place)) == before


def test_input_that_changes_while_it_is_read(place):
    """A file that somebody writes to meanwhile is read as it is at one moment, or refused; nothing half is released."""
    whole = (place / "patients.csv").read_text()
    stopped = threading.Event()

    def change():
        while not stopped.wait(0.002):
            with (place / "patients.csv").open("r+") as file:
                file.truncate(len(whole) // 2)
                file.write(whole)

    writer = threading.Thread(target=change)
    writer.start()
    try:
        code, _, err = ended(started(*PROTECT))
    finally:
        stopped.set()
        writer.join()

    assert code in (0, 1, 2), err
    assert (place / "release").exists() == (code == 0)
    if code == 0:
        assert ended(started("verify", "release"))[0] == 0
