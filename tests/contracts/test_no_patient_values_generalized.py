"""No patient's value in any message, log, manifest or file where codes are generalized: a marker is looked for.

The marker is the id and the note of a patient, and a code that is suppressed.
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
HEADER = "mrn,codes,note\n"
COMMON = [f"M{i:03d},{('001 250.00', '250.00 V51', '001 401.9')[i % 3]},n{i % 3}\n" for i in range(60)]
ROLES = ("--id", "mrn", "--codes", "codes")
BASE = ("codes.csv", "--method", "cba", "-k", "5", "--policy", "level:1", "--out", "release")
VARIANTS = [("--verbose",), ("--json",), ("--json", "--verbose"), ()]
GIVEN = {"codes.csv", "map.csv", "privacy.json", "policy.json"}
"""What a test writes itself, and what the owner asked to hold values."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with code sets of which one patient has a code that nobody else has."""
    (tmp_path / "codes.csv").write_text(HEADER + "".join([*COMMON, f"{MARKER},001 {MARKER},{MARKER}\n"]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def look(place, capsys, caplog):
    """Run a command and look for the marker in all that it said and wrote; return its exit code."""
    caplog.set_level(logging.DEBUG)

    def command(*words):
        capsys.readouterr()
        code = run([*map(str, words)] if words[0] == "verify" else ["protect", "codes", *map(str, words)])
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


@pytest.mark.sampled(4)
@pytest.mark.parametrize("method", ["cba", "ugaclip"])
@pytest.mark.parametrize(
    "more", [*VARIANTS, ("--ids", "drop"), ("--crosswalk", "map.csv"), ("--workload", "random:40")]
)
def test_a_release_holds_no_ids_and_no_suppressed_codes(look, more, method):
    """Ids, columns that are not released and suppressed codes stand nowhere, whatever was asked for."""
    assert look(*BASE, *ROLES, *more, "--method", method) == 0
    assert look("verify", "release") == 0
    assert look("verify", "release", "--original", "codes.csv") == 0


SETTINGS = {
    "k unreachable": ("-k", "99"),
    "everything suppressed": ("-k", "58"),
    "k": ("-k", "0"),
    "m": ("-m", "0"),
    "policy": ("--policy", "policy.json"),
    "policy unknown": ("--policy", "level:7"),
    "no disease": ("--codes", "note", "--policy", "gwas"),
    "privacy": ("--privacy", "privacy.json"),
    "privacy unknown": ("--privacy", "nowhere.json"),
    "visits": ("--privacy", "visits:privacy.json"),
    "of another method": ("--sensitive", "001"),
    "hierarchy": ("--code-hierarchy", "policy.json"),
    "keyed ids": ("--ids", "hmac:key"),
    "crosswalk over the data": ("--crosswalk", "codes.csv"),
    "id is the codes": ("--id", "codes"),
}


@pytest.mark.parametrize("more", VARIANTS, ids=" ".join)
@pytest.mark.parametrize("words", SETTINGS.values(), ids=SETTINGS)
def test_refused_settings(look, place, words, more):
    """No refusal of a setting shows a value of the data."""
    (place / "policy.json").write_text(json.dumps({"a": ["999.9"]}))
    (place / "privacy.json").write_text(json.dumps([["999.9"], [MARKER, 7]]))

    assert look(*BASE, *ROLES, *words, *more) in (1, 2)
    assert not (place / "release").exists()


@pytest.mark.parametrize("code", [f"({MARKER})", f"{MARKER})"])
def test_refused_codes(look, place, code):
    """Codes that cannot be told from terms are counted and not shown."""
    pl.DataFrame({"id": ["1", "2"], "code": [code, "001"]}).write_parquet(place / "odd.parquet")
    (place / "odd.parquet").rename(place / "map.csv").rename(place / "codes.csv")

    assert look(*BASE, "--code", "code", "--id", "id") == 2


STAGES = [
    "cloister.pipeline.codes_shape.read_given",
    "cloister.pipeline.codes_shape.parse_policy",
    "cloister.pipeline.generalized_codes.protect_by_generalization",
    "cloister.pipeline.generalized_codes.generalize",
    "cloister.pipeline.generalized_codes.verify",
    "cloister.pipeline.generalized_codes.exact_figures",
    "cloister.pipeline.generalized_codes.facts_of",
    "cloister.pipeline.generalized_codes.data_frame",
    "cloister.pipeline.generalized_codes.codebook",
    "cloister.shapes.generalization.method.protect.constraints_on",
    "cloister.shapes.generalization.method.protect.cluster",
    "cloister.release.release.write_csv",
    "cloister.shapes.generalization.method.release.read_released",
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


@pytest.mark.sampled(20)
@pytest.mark.parametrize("error", RAISED.values(), ids=RAISED)
@pytest.mark.parametrize("stage", STAGES)
def test_accidents_in_every_stage(look, place, monkeypatch, stage, error):
    """Whatever is raised, wherever, with the value in its message: nobody sees it, and nothing is left."""

    def broken(*_args, **_options):
        try:
            raise KeyError(MARKER)
        except KeyError as cause:
            raise error from cause

    if stage.endswith("cluster"):  # kernels are loaded with it, too
        monkeypatch.setattr("cloister.pipeline.generalized_codes.load_kernels", lambda: None)
    monkeypatch.setattr(stage, broken)
    code = look(*BASE, *ROLES, "--json", "--verbose")
    assert code in (2, 3, 130) or stage.endswith("protect.show")
    assert (place / "release").exists() == stage.endswith("protect.show")


def tampered(folder):
    """A release in whose files the marker was written where it does not belong, one file at a time."""
    changes = (
        ("data.csv", "001", MARKER),
        ("data.csv", "001", f"({MARKER},)"),
        ("data.csv", "1,", f"{MARKER},"),
        ("data.csv", "\n", f'\n"{MARKER}'),
        ("codebook.csv", "as recorded", MARKER),
        ("codebook.csv", "\n", f"\n{MARKER}\n"),
        ("release.json", '"schema": 2', f'"schema": "{MARKER}"'),
        ("release.json", '"method": "cba"', f'"method": "{MARKER}"'),
        ("release.json", '"k": 5', f'"k": "{MARKER}"'),
        ("release.json", '"all:2"', f'"{MARKER}"'),
        ("release.json", '"level:1/icd9"', f'"{MARKER}"'),
        ("release.json", '"icd9"', f'"{MARKER}"'),
        ("release.json", '"generalize"', f'"{MARKER}"'),
        ("release.json", '"released"', f'"{MARKER}"'),
        ("release.json", "{", f"{{{MARKER}"),
        ("report.json", '"schema"', f'"{MARKER}": 1, "schema"'),
        ("report.html", "<h1>", f"<h1>{MARKER}"),
        ("README.txt", "FILES", f"FILES{MARKER}"),
    )
    return replaced_one_by_one(folder, changes)


def test_verifying_a_tampered_release(place, capsys):
    """The verifier says what does not hold in counts, never with what it found there."""
    assert run(["protect", "codes", *BASE, *ROLES, "-q", "--crosswalk", "map.csv"]) == 0
    (place / "privacy.json").write_text(json.dumps([[MARKER, 7]]))
    against = ("--original", "codes.csv", "--crosswalk", "map.csv")
    capsys.readouterr()
    for name in tampered(place / "release"):
        for more in ((), ("--json",), ("--verbose",), ("-k", "11"), against, ("--privacy", "privacy.json")):
            code = run(["verify", "release", *more])
            said = capsys.readouterr()
            assert MARKER not in said.out + said.err, name
            assert code in (1, 2), name


def test_errors_and_objects_of_the_library_hold_nothing():
    """Exceptions that Python users get, and what releases show of themselves, hold no code and no id."""
    codes = cl.CodeSets.from_records([[MARKER, "001"]] * 9, pl.Series([f"{MARKER}{n}" for n in range(9)]))
    release = cl.generalize_codes(codes, k=3)
    attempts = [
        lambda: cl.generalize_codes(codes, k=10),
        lambda: cl.generalize_codes(codes, k=3, method="nothing"),
        lambda: cl.generalize_codes(codes, k=3, workload="nothing"),
        lambda: cl.generalize_codes(codes, k=3, privacy=cl.PrivacyPolicy.of([["002"]])),
        lambda: cl.generalize_codes(cl.CodeSets.from_records([[f"({MARKER}"]] * 9), k=3),
        lambda: cl.generalize_codes(codes, k=3, method="apriori", privacy=cl.PrivacyPolicy.records(codes)),
        lambda: cl.PrivacyPolicy.of([[MARKER], []]),
    ]
    for attempt in attempts:
        with pytest.raises(cl.CloisterError) as caught:
            attempt()
        seen = [
            str(caught.value),
            repr(caught.value),
            repr(vars(caught.value)),
            *traceback.format_exception(caught.value),
        ]
        assert caught.value.__cause__ is None
        assert MARKER not in "".join(seen)
    rare = cl.CodeSets.from_records([["001"]] * 8 + [["001", MARKER]])
    release = cl.generalize_codes(rare, k=3, uncovered="suppress")
    assert release.custody.figures["suppressed"] == [MARKER]
    for shown in (release, release.generalized, release.custody, cl.PrivacyPolicy.records(codes)):
        assert MARKER not in repr(shown)
