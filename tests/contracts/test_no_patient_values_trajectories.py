"""No patient's value in any message, log, manifest or file where trajectories are protected: a marker is looked for.

The marker is the id and the ward of a patient, and in some tests the patient's code.
"""

import errno
import json
import logging
import traceback

import polars as pl
import pytest
from tests.made.tampering import replaced_one_by_one

import cloister as cl
from cloister.cli.main import run

MARKER = "PATIENT-7-SECRET"
CODES = ("001", "250.00", "401.9", "V51")
COMMON = [f"M{i:03d},{CODES[(i + j) % 4]},{60 + i % 7 + j},n{i % 3}\n" for i in range(40) for j in range(1 + i % 3)]
OWN = f"{MARKER},401.9,61,{MARKER}\n{MARKER},250.00,103,{MARKER}\n"
IDS = ("--id", "mrn")
BASE = ("visits.csv", "-k", "4", "--out", "release")
VARIANTS = [("--verbose",), ("--json",), ("--json", "--verbose"), ()]
GIVEN = {"visits.csv", "samples.csv", "map.csv", "codes.csv"}
"""What a test writes itself, and what the owner asked to hold values."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with trajectories of which one is that of the patient who is looked for."""
    (tmp_path / "visits.csv").write_text("mrn,code,age,ward\n" + "".join([*COMMON, OWN]))
    ids = [*(f"M{i:03d}" for i in range(40)), MARKER]
    (tmp_path / "samples.csv").write_text("mrn,sex\n" + "".join(f"{one},{'FM'[i % 2]}\n" for i, one in enumerate(ids)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def look(place, capsys, caplog):
    """Run a command and look for the marker in all that it said and wrote; return its exit code."""
    caplog.set_level(logging.DEBUG)

    def command(*words):
        capsys.readouterr()
        code = run([*map(str, words)] if words[0] == "verify" else ["protect", "trajectories", *map(str, words)])
        said = capsys.readouterr()
        assert MARKER[:9] not in said.out + said.err + caplog.text
        for path in place.rglob("*"):
            assert MARKER[:9] not in path.name
            if path.is_file() and (path.name not in GIVEN or path.parent.name == "release"):
                assert MARKER.encode()[:9] not in path.read_bytes()
        if "--json" in words:
            json.loads(said.out)
        return code

    return command


@pytest.mark.parametrize(
    "more",
    [*VARIANTS, ("--crosswalk", "map.csv"), ("--method", "baseline"), ("--custodian-dir", "secrets")],
    ids=" ".join,
)
def test_a_release_holds_no_ids_and_no_other_columns(look, more):
    """Ids and columns that are not released stand nowhere, whatever was asked for; nor does an age above the bound."""
    assert look(*BASE, *IDS, "--attributes", "samples.csv", *more) == 0
    assert look("verify", "release") == 0
    assert look("verify", "release", "--original", "visits.csv", "--attributes", "samples.csv") == 0


SETTINGS = {
    "k unreachable": ("-k", "99"),
    "k": ("-k", "0"),
    "weights": ("--weights", "2,-1"),
    "hierarchy": ("--code-hierarchy", "icd10"),
    "hierarchy file": ("--code-hierarchy", "codes.csv"),
    "ages": ("--age-hierarchy", "codes.csv"),
    "dates": ("--date", "ward", "--anchor", "first"),
    "age is text": ("--age", "ward"),
    "ids dropped": ("--ids", "drop"),
    "keyed ids": ("--ids", "hmac:key"),
    "crosswalk over the data": ("--crosswalk", "visits.csv"),
    "id is the code": ("--id", "code"),
    "sensitive": ("--attributes", "samples.csv", "--sensitive", "sex", "--diversity", "9"),
    "no such sensitive": ("--attributes", "samples.csv", "--sensitive", "dna"),
    "side is the data": ("--attributes", "visits.csv"),
    "side is no file": ("--attributes", "nowhere.csv"),
}


@pytest.mark.parametrize("more", VARIANTS[1:3], ids=" ".join)
@pytest.mark.parametrize("words", SETTINGS.values(), ids=SETTINGS)
def test_refused_settings(look, place, words, more):
    """No refusal of a setting shows a value of the data."""
    (place / "codes.csv").write_text(f"{MARKER};*\n")

    assert look(*BASE, *IDS, *words, *more) in (1, 2)
    assert not (place / "release").exists()


LINES = {
    "code": f"M001,{MARKER},33,n\n",
    "age": f"M001,001,{MARKER},n\n",
    "no code": f"{MARKER},,33,n\n",
    "no age": f"{MARKER},001,,n\n",
    "no patient": f",{MARKER},33,n\n",
    "negative": f"{MARKER},001,-33,n\n",
    "root": f"{MARKER},*,33,n\n",
    "ragged": f"{MARKER},001\n",
    "unknown to the side": f"{MARKER}2,001,33,n\n",
}


@pytest.mark.parametrize("more", VARIANTS[1:3], ids=" ".join)
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_refused_lines(look, place, line, more):
    """A line that cannot be used is named by its number."""
    with (place / "visits.csv").open("a") as file:
        file.write(line)

    assert look(*BASE, *IDS, "--attributes", "samples.csv", *more) == 2


SIDES = {"twice": f"{MARKER},F\n", "another": f"{MARKER}2,F\n", "nobody": f",{MARKER}\n", "ragged": f"{MARKER}\n"}


@pytest.mark.parametrize("line", SIDES.values(), ids=SIDES)
def test_refused_side_lines(look, place, line):
    """A side file that does not fit is refused in counts."""
    with (place / "samples.csv").open("a") as file:
        file.write(line)

    assert look(*BASE, *IDS, "--attributes", "samples.csv") == 2


STAGES = [
    "cloister.pipeline.trajectories_shape.read_given",
    "cloister.pipeline.trajectories_shape.usual_codes",
    "cloister.pipeline.trajectories_shape.protect_trajectories",
    "cloister.pipeline.trajectories.fitted",
    "cloister.pipeline.trajectories.anonymize",
    "cloister.pipeline.trajectories.order_of",
    "cloister.pipeline.trajectories.written",
    "cloister.pipeline.trajectories.verify",
    "cloister.pipeline.trajectories.exact_figures",
    "cloister.pipeline.trajectories.facts_of",
    "cloister.pipeline.trajectories.codebook",
    "cloister.release.release.write_csv",
    "cloister.shapes.trajectories.method.release.write_csv",
    "cloister.shapes.trajectories.method.release.read_data",
    "cloister.release.release.report_files",
    "cloister.cli.protect.show",
]
RAISED = {
    "RuntimeError": RuntimeError(MARKER),
    "ValueError": ValueError(f"cannot parse {MARKER!r}"),
    "disk full": OSError(errno.ENOSPC, f"No space for {MARKER}"),
    "Polars": pl.exceptions.ComputeError(f"conversion of {MARKER} failed"),
    "interruption": KeyboardInterrupt(MARKER),
}


ACCIDENTS = [(stage, kind) for at, stage in enumerate(STAGES) for kind in (list(RAISED)[at % 4], "interruption")]
"""Every stage is interrupted, and fails in one of the other ways, which take turns."""


@pytest.mark.parametrize(
    ("stage", "error"), [(stage, RAISED[kind]) for stage, kind in ACCIDENTS], ids=[" ".join(each) for each in ACCIDENTS]
)
def test_accidents_in_every_stage(look, place, monkeypatch, stage, error):
    """Whatever is raised, wherever, with the value in its message: nobody sees it, and nothing is left."""

    def broken(*_args, **_options):
        try:
            raise KeyError(MARKER)
        except KeyError:
            raise error  # noqa: B904  (chained as foreign code does it)

    monkeypatch.setattr(stage, broken)

    assert look(*BASE, *IDS, "--attributes", "samples.csv", "--verbose") in (2, 3, 130)
    late = stage.endswith("protect.show")
    assert {path.name for path in place.iterdir()} - {"visits.csv", "samples.csv"} == ({"release"} if late else set())


def test_a_release_that_was_changed(look, place):
    """What somebody put into a release is not repeated by the one who checks it."""
    assert look(*BASE, *IDS, "--attributes", "samples.csv") == 0
    changes = [
        ("data.csv", "1,", f"{MARKER},"),
        ("attributes.csv", "F", MARKER),
        ("codebook.csv", "any", MARKER),
        ("release.json", '"a-gs"', f'"{MARKER}"'),
        ("release.json", '"k": 4', f'"k": "{MARKER}"'),
        ("release.json", '"icd9"', f'"{MARKER}"'),
        ("release.json", '"role": "auxiliary"', f'"role": "{MARKER}"'),
    ]
    for name in replaced_one_by_one(place / "release", changes):
        with (place / "release" / name).open() as file:
            assert MARKER in file.read()
        code, said = _verified(place)
        assert code in (1, 2)
        assert MARKER not in said


def _verified(place):
    """Exit code of verify, and what it raised."""
    try:
        cl.verify_folder(place / "release")
    except cl.CloisterError as error:
        return error.exit_code, "".join(traceback.format_exception(error)) + repr(vars(error))
    return 0, ""


def test_python_tells_no_values():
    """Forms print as counts, and refusals of the verb hold no value."""
    trajectories = cl.Trajectories.from_records([[(MARKER, 33)], [(MARKER, 34)], [(MARKER, 35)]])
    said = [repr(trajectories)]
    for options in ({}, {"code_hierarchy": cl.icd9()}, {"code_hierarchy": cl.suppress(), "weights": (MARKER, 1)}):
        with pytest.raises(cl.InputError) as refused:
            cl.anonymize_trajectories(trajectories, k=2, **options)
        said.append("".join(traceback.format_exception(refused.value)))
    release = cl.anonymize_trajectories(trajectories, k=2, code_hierarchy=cl.suppress())
    said += [repr(release), repr(release.anonymized), json.dumps(release.summary())]

    assert [text for text in said if MARKER in text.replace('"weights": (MARKER, 1)', "")] == []
