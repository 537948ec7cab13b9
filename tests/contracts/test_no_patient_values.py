"""No patient's value in any message, log, traceback, manifest or file: a planted marker is looked for everywhere.

Each form of release is a record in `tests/made/marked/`, and every test here is about all of them.
"""

import gzip
import json
import logging
import os
import subprocess
import sys
import traceback
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import pytest
from tests.made.examples import IS_FULL
from tests.made.jobs_files import BOTH, JOB, hospital, write_hospital
from tests.made.marked.forms import MARKED
from tests.made.marked.record import CUT, MARKER, RAISED
from tests.made.tampering import replaced_one_by_one

import cloister as cl
from cloister.cli.main import run

WAYS = (("--verbose",), ("--json", "--verbose"))
SAID = (("--verbose", "--custodian-dir", "secret"), ("--json", "--crosswalk", "map.csv"), ("--json", "--verbose"))
OURS = [form for form, record in MARKED.items() if record.register is None]


class Watched:
    """A folder in which commands run, and all that they say and write is searched for the marker."""

    def __init__(self, folder, capsys, caplog):
        self.folder, self.capsys, self.caplog = folder, capsys, caplog
        self.given = set()

    def write(self, files):
        """Write input, which may hold the marker."""
        self.given |= {*files}
        for name, content in files.items():
            (self.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    def run(self, *words):
        """Run a command, search, and return its exit code."""
        self.capsys.readouterr()
        code = run([*words])
        said = self.capsys.readouterr()
        self.search(said.out, said.err, self.caplog.text, str(sys.exc_info()))
        if "--json" in words:
            json.loads(said.out)
        return code

    def search(self, *texts):
        """Find the marker in none of the texts and in no name or content of a file that was not given."""
        for text in texts:
            assert CUT not in text
        for path in self.folder.rglob("*"):
            assert CUT not in path.name
            if path.is_file() and path.relative_to(self.folder).parts[0] not in self.given:
                content = path.read_bytes()
                content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
                assert CUT.encode() not in content, path.name

    def new(self):
        """Names of what was written beside the input."""
        return {path.name for path in self.folder.iterdir()} - self.given


@pytest.fixture
def place(tmp_path, monkeypatch, capsys, caplog):
    """A folder that is watched; entered with the input of a form."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)

    def enter(form, attempt=None):
        record, watched = MARKED[form], Watched(tmp_path, capsys, caplog)
        if record.register:
            record.register(monkeypatch)
        watched.write(record.files)
        watched.write(attempt.files if attempt else {})
        watched.given |= record.written
        return record, watched

    return enter


def words_of(record, attempt, kept=()):
    """The whole command of an attempt."""
    return (*(attempt.words or record.words), *kept, *attempt.more)


def cases(attribute):
    """Every form with each of its attempts."""
    found = [(form, name) for form, record in MARKED.items() for name in getattr(record, attribute)]
    return pytest.mark.parametrize(("form", "name"), found, ids=[f"{form}: {name}" for form, name in found])


FORMS = pytest.mark.parametrize("form", MARKED)
PLAIN = [(form, more) for form in MARKED for more in SAID if "--crosswalk" not in more or form in OURS]


@pytest.mark.sampled(16)
@cases("releases")
def test_a_release(place, form, name):
    """Nothing of the patient who was left out, and no id, is in a release, whatever was asked for, nor when checked."""
    attempt = MARKED[form].releases[name]
    record, watched = place(form, attempt)

    assert watched.run(*words_of(record, attempt, record.kept)) == 0
    assert (watched.folder / "release" / "report.html").is_file()
    assert watched.run("verify", "release") == 0
    assert watched.run("verify", "release", *(attempt.against or record.against), "--verbose") == 0


@pytest.mark.parametrize(("form", "more"), PLAIN, ids=[f"{form}: {' '.join(more)}" for form, more in PLAIN])
def test_a_release_and_what_is_said_of_it(place, form, more):
    """Nor is it on the screen, in JSON or among the custodian's files; the crosswalk alone holds ids."""
    record, watched = place(form)

    assert watched.run(*record.words, *more) == 0
    crosswalk = watched.folder / "map.csv"
    if crosswalk.is_file():
        assert (MARKER in crosswalk.read_text()) == ("map.csv" in record.written)
        assert watched.run("verify", "release") == 0


@cases("refusals")
def test_a_refusal(place, form, name):
    """No refusal of a setting, a file or unsafe data shows a value, and nothing is written."""
    attempt = MARKED[form].refusals[name]
    record, watched = place(form, attempt)

    for more in WAYS:
        assert watched.run(*words_of(record, attempt), *more) in attempt.codes, more
        assert not (watched.folder / "release").exists()


@pytest.mark.sampled(14)
@cases("commands")
def test_another_command(place, form, name):
    """An assessment, a first job or a first plan shows no value, on the screen, in JSON or in what it writes."""
    attempt = MARKED[form].commands[name]
    record, watched = place(form, attempt)

    for more in (*WAYS, ("--quiet",)):
        assert watched.run(*words_of(record, attempt), *more) in attempt.codes, more
        for new in watched.new():
            (watched.folder / new).unlink()


STAGES = [
    (form, during, stage)
    for form, record in MARKED.items()
    for during, stages in record.stages.items()
    for stage in stages
]
ACCIDENTS = [
    (*stage, [*RAISED][(turn + 3 * again) % len(RAISED)], WAYS[again if stage[1] == "protect" else 0])
    for turn, stage in enumerate(STAGES)
    for again in range(2 if IS_FULL else 1)
]
"""Every stage fails in one way, in the full profile in two and said in two, and the seven ways take turns."""


@pytest.mark.sampled(28)
@pytest.mark.parametrize(
    ("form", "during", "stage", "error", "more"), ACCIDENTS, ids=[": ".join(one[:4]) for one in ACCIDENTS]
)
def test_an_accident_in_any_stage(place, monkeypatch, form, during, stage, error, more):
    """Whatever is raised, wherever, with the value in its message: nobody sees it, and nothing is left."""
    attempt = MARKED[form].commands.get(during)
    record, watched = place(form, attempt)

    def broken(*args, **_options):
        kept = args  # a traceback with local variables would show them
        try:
            raise KeyError(MARKER)
        except KeyError as cause:
            if kept is not None:
                raise RAISED[error] from cause

    monkeypatch.setattr(stage, broken)
    if stage in record.idle:
        monkeypatch.setattr(record.idle[stage], lambda *_args: None)
    words = words_of(record, attempt) if attempt else record.words
    is_late = stage.endswith("protect.show")
    code = watched.run(*words, *more)
    assert is_late or code in ((130,) if error == "interruption" else (2, 3))
    assert watched.new() == ({"release"} if is_late else set())


@FORMS
def test_a_release_that_was_changed(place, form):
    """The verifier says what does not hold in counts, never with what somebody put there, on screen or in Python."""
    record, watched = place(form)
    assert run([*record.words, *record.kept, "--quiet"]) == 0
    asked = [(), ("--json",), ("--verbose",), ("-k", "11"), record.against, *record.asked]
    ways = [lambda: said_by_the_library(lambda: cl.verify_folder("release").require())]
    ways += [partial(said_by_verify, watched, words) for words in asked]
    turns = cycle(ways)
    for name in replaced_one_by_one(watched.folder / "release", record.changes):
        assert MARKER in (watched.folder / "release" / name).read_text(), "the change changes nothing"
        for way in islice(turns, 3 if IS_FULL else 2):
            assert CUT not in way(), name


def said_by_verify(watched, words):
    """All that the verifier says of a release that it rejects."""
    watched.capsys.readouterr()
    assert run(["verify", "release", *words]) in (1, 2)
    said = watched.capsys.readouterr()
    return said.out + said.err + watched.caplog.text


def said_by_the_library(call):
    """All that the error of a call holds: its words, its fields and its printed traceback."""
    with pytest.raises(cl.CloisterError) as caught:
        call()
    error = caught.value
    assert (error.__cause__, error.__context__) == (None, None)
    return "".join([str(error), repr(error), repr(vars(error)), *traceback.format_exception(error)])


@FORMS
def test_errors_of_the_library(place, form):
    """The exceptions that Python users get hold no value in words, fields, causes or printed tracebacks."""
    record, _watched = place(form)

    for call in record.calls():
        assert CUT not in said_by_the_library(call).replace("(MARKER, 1)", "")


@FORMS
def test_what_objects_show_of_themselves(place, form):
    """Data, releases and assessments in a notebook or a log show no records, codes or ids."""
    record, _watched = place(form)

    for shown in record.shown():
        assert not any(value in repr(shown) for value in (CUT, "M000", "250.00"))


@FORMS
def test_an_attack_and_an_exploration(place, form):
    """Whoever attacks a release or compares settings sees counts, and so do their files."""
    record, watched = place(form)
    assert watched.run(*record.words, *record.kept) == 0

    assert watched.run("attack", "release", *record.against, "--verbose") in (0, 1)
    assert watched.run("attack", "release", *record.against, "--json") in (0, 1)
    if record.grid and form in OURS:
        assert watched.run(*record.explored, "--verbose") == 0


BROKEN = ("ragged", "undecodable", "value outside", "duplicate id")
BAD_FILES = [
    (form, next(name for name in islice(cycle(BROKEN), turn, None) if name in MARKED[form].refusals))
    for turn, form in enumerate(OURS)
]
"""One for each form, in turn."""


def ran(folder, *command):
    """A command in a process of its own, with warnings and debugging on."""
    environment = os.environ | {"POLARS_VERBOSE": "1", "RUST_BACKTRACE": "1"}
    python = [sys.executable, "-X", "dev", "-W", "default"]
    return subprocess.run([*python, *command], cwd=folder, capture_output=True, text=True, env=environment)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("form", "name"), BAD_FILES, ids=[": ".join(one) for one in BAD_FILES])
def test_a_refusal_as_users_see_it(place, form, name):
    """In a process of its own, with --verbose and warnings shown, nothing on either stream holds the marker."""
    attempt = MARKED[form].refusals[name]
    record, watched = place(form, attempt)
    done = ran(watched.folder, "-m", "cloister", *words_of(record, attempt), "--verbose")

    assert done.returncode == 2
    assert "  at " in done.stderr
    watched.search(done.stdout, done.stderr)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", [form for form in OURS if "assess" in MARKED[form].commands])
def test_an_assessment_as_users_see_it(place, form):
    """The same of an assessment that succeeds."""
    attempt = MARKED[form].commands["assess"]
    _record, watched = place(form, attempt)
    done = ran(watched.folder, "-m", "cloister", *attempt.words, "--verbose")

    assert done.returncode == 0
    watched.search(done.stdout, done.stderr)


KILLED = """
import os, sys
from unittest import mock
from cloister.cli.main import run
with mock.patch("cloister.release.release.report_files", lambda *_args, **_options: os._exit(9)):
    run(sys.argv[1:])
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", OURS)
def test_a_run_that_was_killed(place, form):
    """What a run leaves that is killed while it writes holds no more than a release does, and says no more."""
    record, watched = place(form)
    done = ran(watched.folder, "-c", KILLED, *record.words, "--verbose")

    assert done.returncode == 9
    assert not (watched.folder / "release").exists()
    watched.search(done.stdout, done.stderr)


@pytest.mark.sampled(3)
@FORMS
def test_nothing_is_written_elsewhere(place, tmp_path_factory, monkeypatch, form):
    """No temporary file is made outside the release's own partial folder."""
    record, watched = place(form)
    elsewhere = tmp_path_factory.mktemp("temporary")
    for name in ("TMPDIR", "TEMP", "TMP", "POLARS_TEMP_DIR"):
        monkeypatch.setenv(name, str(elsewhere))
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    opened, real = [], os.open

    def noted(path, flags, *args, **options):
        if flags & (os.O_WRONLY | os.O_RDWR):
            opened.append(Path(path))
        return real(path, flags, *args, **options)

    monkeypatch.setattr(os, "open", noted)
    assert run([*record.words, "--quiet"]) == 0

    assert list(elsewhere.iterdir()) == []
    assert opened
    assert all(".release.partial-" in path.parts[len(watched.folder.parts)] for path in opened)


def test_a_job_and_what_goes_wrong_with_it(place):
    """Whatever a job with all shapes does or refuses, on the screen and in files; a first job of each as well."""
    _record, watched = place("table")
    (watched.folder / "data.csv").unlink()
    marker = MARKER.replace("-", "")  # in a column of words
    lines = hospital(60)
    own = lines["patients.csv"][0].partition(",")[0]
    lines = {name: [row.replace(f"{own},", f"{MARKER},") for row in rows] for name, rows in lines.items()}
    lines["patients.csv"][0] = f"{MARKER},{MARKER},44,F,{MARKER},401.9\n"
    write_hospital(watched.folder, lines=lines)
    watched.given |= {*lines, "job.toml", "patients.map.csv", "visits.map.csv"}

    assert watched.run("run", "job.toml", "--dry-run", "--verbose") == 0
    assert watched.run("run", "job.toml", "--custodian-dir", "secret") == 0
    assert watched.run("run", "job.toml", "--json") == 2
    assert watched.run("verify", "release", "--json") == 0
    for old, new in (
        ('sex = "suppress"', 'ward = "interval:5"'),
        ('sex = "suppress"', 'name = "date:month"'),
        ('source = "diagnoses"\nm', 'source = "patients"\nm'),
        ('source = "visits"', 'source = "patients"\ncode = "ward"'),
        ('sensitive = ["diagnosis"]', f'sensitive = ["{marker[:7]}"]'),
        (BOTH, BOTH.replace('undecided = ["drop"]', 'undecided = ["keep"]')),
    ):
        (watched.folder / "job.toml").write_text(JOB.replace(old, new))
        assert watched.run("run", "job.toml", "--overwrite", "--verbose") == 2
    for shape, file in (("table", "patients"), ("codes", "diagnoses"), ("trajectories", "visits")):
        assert watched.run("init", shape, f"{file}.csv", "--out", f"{file}.toml") == 0
