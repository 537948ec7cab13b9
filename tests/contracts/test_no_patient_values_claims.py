"""No patient's value in any message, log, repr or plan where claims are prepared: a marker is looked for."""

import json
import logging
import sys
import traceback

import pytest
from tests.made.claims_data import CLAIMS, OF_CLAIMS, OF_PATIENTS, PATIENTS, PLAN, claims
from tests.made.claims_files import PLAN as FILES_PLAN
from tests.made.claims_files import write_files

from cloister.cli.main import run
from cloister.errors import InputError
from cloister.shapes.claims.method.encode import encode
from cloister.shapes.claims.method.prepare import prepare

MARKER = "PATIENT-7-SECRET"
EVENT = CLAIMS[0]


def with_marker(row, place):
    """A row with the marker in one cell."""
    return (*row[:place], MARKER, *row[place + 1 :])


def written(path, columns, rows):
    """A CSV file, missing values empty."""
    path.write_text("\n".join(",".join(cell or "" for cell in row) for row in [columns, *rows]) + "\n")
    return path


@pytest.mark.sampled(2)
@pytest.mark.parametrize("table", ["patients", "claims"])
@pytest.mark.parametrize("more", [(), ("--json",), ("--verbose",)], ids=" ".join)
def test_a_first_plan(tmp_path, monkeypatch, capsys, caplog, table, more):
    """Whatever cell holds the marker, neither the plan nor what is said of it does, refusals included."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    base, columns = (PATIENTS, OF_PATIENTS) if table == "patients" else (CLAIMS, OF_CLAIMS)
    names = {"dx": "icd9", "all_dx": "icd9_all", "pos": "place", "spec": "specialty", "born": "birth_date"}
    for place in range(len(columns)):
        rows = [with_marker(base[0], place), *base[1:]]
        people, events = (rows, CLAIMS) if table == "patients" else (PATIENTS, rows)
        written(tmp_path / "patients.csv", [names.get(name, name) for name in OF_PATIENTS], people)
        written(tmp_path / "claims.csv", [names.get(name, name) for name in OF_CLAIMS], events)
        (tmp_path / "plan.toml").unlink(missing_ok=True)
        code = run(["init", "claims", "patients.csv", "claims.csv", "--out", "plan.toml", *more])
        said = capsys.readouterr()
        plan = (tmp_path / "plan.toml").read_text() if code == 0 else ""

        assert code in (0, 2)
        assert (code == 0) == (place > 0)
        for text in (said.out, said.err, caplog.text, plan, str(sys.exc_info())):
            assert MARKER[:9] not in text
        if "--json" in more:
            json.loads(said.out)


@pytest.mark.parametrize("place", range(len(OF_CLAIMS)))
def test_steps_of_claims(place):
    """Steps with the marker in any cell of a claim say nothing of it, whether they succeed or refuse."""
    quiet([*CLAIMS, with_marker(EVENT, place)], PATIENTS)


@pytest.mark.parametrize("place", range(len(OF_PATIENTS)))
def test_steps_of_patients(place):
    """The same with a patient."""
    quiet(CLAIMS, [*PATIENTS, with_marker(("P9", "1950-01-01", "F"), place)])


def quiet(events, people):
    """Take claims through steps 1 to 6 and look for the marker in what is told, or in the refusal and its traceback."""
    told = ""
    text = PLAN + '[[top_coding]]\ncolumn = "pay_delay"\n'
    try:
        data = claims(people, events, text)
        done = prepare(data)
        encoding = encode(done.claims)
        told = repr([data, done, encoding, encoding.claims, done.representativeness, data.plan])
        told += json.dumps([line.masked(20).published() for line in done.lines] + [line.exact() for line in done.lines])
    except InputError as refusal:
        told = refusal.message + "".join(traceback.format_exception(refusal))

    assert MARKER[:9] not in told


GIVEN = {"patients.csv", "claims.csv", "plan.toml", "map.csv", "register.csv"}
STAGES = (
    "prepare",
    "read_population",
    "encode",
    "deidentify",
    "lay_out",
    "verify",
    "facts_of",
    "evaluate",
    "described",
    "exact_figures",
    "codebook",
    "completed",
)


def marked(folder):
    """Files in which a patient's id, provider and diagnosis, a remark and names of people are the marker."""
    claims = f"{MARKER},2024-03-11,{MARKER},Office,{MARKER},n0\n"
    plan = FILES_PLAN.replace('note = "keep"', 'note = "drop"') + '[population]\npatients = "register.csv"\n'
    write_files(folder, plan=plan, last=[f"{MARKER},1970-01-01,F\n", claims])
    (folder / "register.csv").write_text("name,sex\n" + 400 * f"{MARKER},F\n{MARKER},M\n")
    text = (folder / "claims.csv").read_text()
    (folder / "claims.csv").write_text(text.replace(",n0\n", f",{MARKER}\n"))


def look(folder, capsys, caplog, *words):
    """Run a command and look for the marker in what it said and wrote; return its exit code."""
    code = run([*words])
    said = capsys.readouterr()
    assert MARKER[:9] not in said.out + said.err + caplog.text
    for path in folder.rglob("*"):
        if path.is_file() and (path.name not in GIVEN or path.parent != folder):
            assert MARKER.encode()[:9] not in path.read_bytes()
    return code


PROTECT = ("protect", "claims", "patients.csv", "claims.csv", "--plan", "plan.toml", "--out", "release")


@pytest.mark.full
def test_a_release_of_claims(tmp_path, monkeypatch, capsys, caplog):
    """Ids, what is dropped, and what is no diagnosis stand nowhere in a release, nor in what is said of it."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    marked(tmp_path)
    original = ("--original", "patients.csv", "claims.csv", "--plan", "plan.toml", "--crosswalk", "map.csv")

    assert look(tmp_path, capsys, caplog, *PROTECT, "--crosswalk", "map.csv", "--custodian-dir", "secrets", "-v") == 0
    assert look(tmp_path, capsys, caplog, "verify", "release", *original, "--verbose") == 0
    assert MARKER in (tmp_path / "map.csv").read_text()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("error", [ValueError(MARKER), KeyboardInterrupt(MARKER)], ids=["defect", "interruption"])
def test_accidents_in_every_stage(tmp_path, monkeypatch, capsys, caplog, stage, error):
    """Whatever is raised, wherever, with the value in its message: nobody sees it, and nothing is left."""

    def broken(*_args, **_options):
        raise error

    monkeypatch.chdir(tmp_path)
    marked(tmp_path)
    monkeypatch.setattr(f"cloister.pipeline.claims.{stage}", broken)

    assert look(tmp_path, capsys, caplog, *PROTECT, "--verbose") == (130 if isinstance(error, KeyboardInterrupt) else 3)
    assert {path.name for path in tmp_path.iterdir()} == GIVEN - {"map.csv"}
