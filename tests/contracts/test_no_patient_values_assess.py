"""No patient's value in anything that an assessment says or writes: a planted marker is looked for."""

import errno
import json
import os
import subprocess
import sys
import traceback

import polars as pl
import pytest

import cloister as cl
from cloister.cli.main import run

MARKER = "PATIENT-7-SECRET"
GIVEN = {"data.csv", "data.parquet", "codes.csv", "people.csv", "visits.csv", "patients.csv", "claims.csv"}
PLAN = """
[patients]
roles = {mrn = "id", ward = "quasi-identifier"}
qi = {ward = "suppress"}
[claims]
roles = {mrn = "id", date = "date", dx = "diagnosis"}
qi = {dx = "diagnosis"}
"""
CLAIMS = ("claims", "patients.csv", "claims.csv", "--plan", "plan.toml")
COMMON = "".join(f"M{i:03d},{30 + i % 5},{'AB'[i % 2]},n{i % 3}\n" for i in range(60))
HEADER = "mrn,age,ward,note\n"
QI = ("--qi", "age", "--qi", "ward", "--qi", "note")
VARIANTS = [("--verbose",), ("--json",), ("--json", "--verbose"), ()]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table, its population and code sets, that hold the marker wherever they can."""
    marked = f"{MARKER},{MARKER},{MARKER},{MARKER}\n"
    (tmp_path / "data.csv").write_text(HEADER + COMMON + marked)
    (tmp_path / "people.csv").write_text(HEADER + COMMON * 2 + marked)
    codes = "".join(f"{i},001 25{i % 3}.0 V51\n" for i in range(60))
    (tmp_path / "codes.csv").write_text(f"id,codes\n{codes}{MARKER},001 {MARKER}\n")
    visits = "".join(f"{i},25{i % 3}.0,{30 + i % 4}\n" for i in range(60))
    (tmp_path / "visits.csv").write_text(f"id,code,age\n{visits}{MARKER},{MARKER},41\n")
    people = "".join(f"{i},{'AB'[i % 2]}\n" for i in range(60))
    (tmp_path / "patients.csv").write_text(f"mrn,ward\n{people}{MARKER},{MARKER}\n")
    claims = "".join(f"{i},2024-03-11,25{i % 3}.0\n" for i in range(60))
    (tmp_path / "claims.csv").write_text(f"mrn,date,dx\n{claims}{MARKER},2024-01-02,401.1\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def look(place, capsys, caplog):
    """Run ``assess`` and look for the marker in all that it said and wrote; return its exit code."""

    def command(*words):
        capsys.readouterr()
        code = run(["assess", *words])
        said = capsys.readouterr()
        for text in (said.out, said.err, caplog.text, str(sys.exc_info())):
            assert MARKER[:9] not in text
        for path in place.rglob("*"):
            if path.is_file() and path.name not in GIVEN:
                assert MARKER[:9].encode() not in path.read_bytes()
        if "--json" in words:
            json.loads(said.out)
        return code

    return command


@pytest.mark.parametrize("more", [*VARIANTS, ("--out", "risk.json"), ("--quiet",)], ids=" ".join)
def test_an_assessment_shows_no_values(look, more):
    """Neither screen nor JSON nor file, with a population of any kind, holds a value of a record that stands out."""
    assert look("table", "data.csv", *QI, *more) == 0
    more = [word for word in more if word not in ("--out", "risk.json")]
    assert look("table", "data.csv", *QI, "--population", "people.csv", *more) == 0
    assert look("table", "data.csv", *more) == 0
    assert look("codes", "codes.csv", "-m", "1,2,3,5", *more) == 0
    assert look("trajectories", "visits.csv", "-m", "1,4", *more) == 0
    assert look("trajectories", "visits.csv", "--released", *more) == 0
    assert look(*CLAIMS, "-m", "1,4", *more) == 0
    assert look(*CLAIMS, "--released", *more) == 0


@pytest.mark.parametrize("more", VARIANTS, ids=" ".join)
def test_refusals_show_no_values(look, place, more):
    """Nor does a refusal of settings or of files."""
    assert look("table", "data.csv", "--qi", "agee", *more) == 2
    assert look("table", "people.csv", *QI, "--population", "data.csv", *more) == 2
    (place / "data.csv").write_text(HEADER + COMMON + f"{MARKER},{MARKER}\n")
    assert look("table", "data.csv", *QI, *more) == 2
    (place / "codes.csv").write_text(f"id,codes\n{MARKER},001\n{MARKER},{MARKER}\n")
    assert look("codes", "codes.csv", *more) == 2
    (place / "codes.csv").write_text(f"id,codes\n1,001\n{MARKER},\n")
    assert look("codes", "codes.csv", *more) == 2
    (place / "visits.csv").write_text(f"id,code,age\n1,001,{MARKER}\n")
    assert look("trajectories", "visits.csv", *more) == 2
    (place / "claims.csv").write_text(f"mrn,date,dx\n{MARKER}9,2024-01-02,401.1\n")
    assert look(*CLAIMS, *more) == 2
    assert look(*CLAIMS, "--released", *more) == 2


STAGES = [
    ("table", "cloister.risk.assessment.look_for_identifiers"),
    ("table", "cloister.risk.assessment.group"),
    ("table", "cloister.risk.assessment.estimated_risk"),
    ("table", "cloister.risk.assessment.find_special_uniques"),
    ("table", "cloister.cli.assess.show"),
    ("codes", "cloister.api.assess.partial_knowledge"),
    ("codes", "cloister.risk.partial_knowledge.sample_worst"),
    ("codes", "cloister.shapes.codes.data.encode"),
    ("trajectories", "cloister.cli.assess.read_code_events"),
    ("trajectories", "cloister.risk.assessment.partial_knowledge"),
    ("claims", "cloister.api.assess.prepare"),
    ("claims", "cloister.api.assess.cells_of"),
    ("claims", "cloister.risk.assessment.measure_risk"),
    ("claims", "cloister.cli.assess.show"),
]
RAISED = {
    "ValueError": ValueError(f"cannot parse {MARKER!r}"),
    "OSError": OSError(errno.EIO, MARKER),
    "Polars": pl.exceptions.ComputeError(f"conversion of {MARKER} failed"),
    "memory": MemoryError(MARKER),
    "interruption": KeyboardInterrupt(MARKER),
}
WORDS = {
    "table": ("data.csv", *QI, "--sampling-fraction", "0.1"),
    "codes": ("codes.csv", "-m", "1,5"),
    "trajectories": ("visits.csv",),
    "claims": CLAIMS[1:],
}


@pytest.mark.sampled(20)
@pytest.mark.parametrize("error", RAISED.values(), ids=RAISED)
@pytest.mark.parametrize(("shape", "stage"), STAGES)
def test_accidents_in_every_stage(look, monkeypatch, shape, stage, error):
    """Whatever is raised, wherever, with the value in its message: nobody sees it."""

    def broken(*_args, **_options):
        try:
            raise KeyError(MARKER)
        except KeyError as cause:
            raise error from cause

    monkeypatch.setattr(stage, broken)
    assert look(shape, *WORDS[shape], "--verbose") in (2, 3, 130)


def test_what_assessments_show_of_themselves(place):
    """Results and exceptions in a notebook or a log hold no values."""
    table = cl.assess(pl.read_csv("data.csv", infer_schema=False), quasi_identifiers=["age", "ward", "note", "mrn"])
    codes = cl.assess(cl.CodeSets.read("codes.csv"), m=[1, 2, 5])
    for shown in (repr(table), repr(table.summary()), repr(table.special_uniques), repr(table.findings), repr(codes)):
        assert MARKER[:9] not in shown
        assert "M000" not in shown
    people = pl.read_csv("people.csv", infer_schema=False)
    with pytest.raises(cl.InputError) as caught:
        cl.assess(people, quasi_identifiers=["ward"], population=people.head(60))
    assert MARKER[:9] not in "".join([repr(vars(caught.value)), *traceback.format_exception(caught.value)])


def test_the_command_as_users_run_it(place):
    """In a process of its own, with warnings shown, nothing on either stream holds the marker."""
    command = [sys.executable, "-X", "dev", "-W", "default", "-m", "cloister", "assess", "table", "data.csv", *QI]
    environment = os.environ | {"POLARS_VERBOSE": "1", "RUST_BACKTRACE": "1"}
    ran = subprocess.run([*command, "--verbose"], capture_output=True, text=True, env=environment)

    assert ran.returncode == 0
    assert MARKER[:9] not in ran.stdout + ran.stderr
