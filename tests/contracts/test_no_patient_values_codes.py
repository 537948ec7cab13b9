"""No patient's value in any message, log, manifest or file where code sets are protected: a marker is looked for."""

import errno
import gzip
import io
import json
import logging
import os
import subprocess
import sys
import traceback

import polars as pl
import pytest
from tests.made.tampering import replaced_one_by_one

import cloister as cl
from cloister.cli.main import run

MARKER = "PATIENT-7-SECRET"
"""Stands as an id, as a code, and in a column that is not released, of a patient who has no other code."""

HEADER = "mrn,codes,note\n"
COMMON = [f"M{i:03d},{('001 250.00', '250.00 V51', '001 401.9')[i % 3]},n{i % 3}\n" for i in range(60)]
ROLES = ("--id", "mrn", "--codes", "codes")
BASE = ("codes.csv", "-k", "5", "--out", "release")
VARIANTS = [("--verbose",), ("--json",), ("--json", "--verbose"), ()]
GIVEN = {"codes.csv", "codes.csv.gz", "codes.parquet", "map.csv", "policy.json"}
"""What a test writes itself, and what the owner asked to hold values."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with code sets whose ids and notes, of one patient, are the marker."""
    (tmp_path / "codes.csv").write_text(HEADER + "".join([*COMMON, f"{MARKER},001 V51,{MARKER}\n"]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_silent(folder, *texts):
    """The marker is in none of the texts and in no file that was written."""
    for text in texts:
        assert MARKER[:9] not in text
    for path in folder.rglob("*"):
        assert MARKER[:9] not in path.name
        if path.is_file() and (path.name not in GIVEN or path.parent.name == "release"):
            content = path.read_bytes()
            whole = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
            assert MARKER.encode()[:9] not in whole


@pytest.fixture
def look(place, capsys, caplog):
    """Run a command and look for the marker in all that it said and wrote; return its exit code."""
    caplog.set_level(logging.DEBUG)

    def command(*words):
        capsys.readouterr()
        code = run([*map(str, words)] if words[0] == "verify" else ["protect", "codes", *map(str, words)])
        said = capsys.readouterr()
        assert_silent(place, said.out, said.err, caplog.text, *map(str, (sys.exc_info(),)))
        if "--json" in words:
            json.loads(said.out)
        return code

    return command


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "more",
    [
        *VARIANTS,
        ("--ids", "drop"),
        ("--custodian-dir", "secret"),
        ("--crosswalk", "map.csv"),
        ("--workload", "random:40"),
    ],
)
def test_a_release_holds_no_ids(look, place, more):
    """Ids and columns that are not released stand nowhere, whatever was asked for."""
    assert look(*BASE, *ROLES, *more) == 0
    assert look("verify", "release") == 0
    assert (place / "release" / "report.html").is_file()


@pytest.mark.parametrize("kind", ["gzip", "parquet", "categories", "long"])
def test_a_release_of_another_file(look, place, kind):
    """The same for compressed, Parquet and long files."""
    data = place / "codes.csv"
    frame = pl.read_csv(data, infer_schema=False)
    name, roles = "codes.parquet", ROLES
    if kind == "gzip":
        name = "codes.csv.gz"
        (place / name).write_bytes(gzip.compress(data.read_bytes()))
    elif kind == "long":
        frame.with_columns(code=pl.col("codes").str.split(" ")).drop("codes").explode("code").write_parquet(
            place / name
        )
        roles = ("--id", "mrn")
    else:
        categories = frame.with_columns(pl.all().cast(pl.Categorical))
        (categories if kind == "categories" else frame).write_parquet(place / name)

    assert look(name, *BASE[1:], *roles) == 0


SETTINGS = {
    "unknown column": ("--id", "nothing"),
    "no id": ("--codes", "nothing"),
    "id is the codes": ("--id", "codes", "--codes", "codes"),
    "k unreachable": ("-k", "99"),
    "k": ("-k", "0"),
    "m": ("-m", "0"),
    "policy": ("--policy", "level:7"),
    "policy of nothing": ("--codes", "note", "--policy", "level:1"),
    "policy unknown": ("--policy", "policy.json"),
    "sensitive": ("--sensitive", "999.9"),
    "sensitive and frequent": ("--sensitive", "250.00"),
    "keyed ids": ("--ids", "hmac:key"),
    "workload": ("--workload", "nothing"),
    "output in nothing": ("--out", "nowhere/release"),
    "output is the data": ("--out", "codes.csv", "--overwrite"),
    "crosswalk over the data": ("--crosswalk", "codes.csv"),
    "other encoding": ("--encoding", "utf-16"),
    "other delimiter": ("--delimiter", ";"),
}


@pytest.mark.parametrize("more", VARIANTS, ids=" ".join)
@pytest.mark.parametrize("words", SETTINGS.values(), ids=SETTINGS)
def test_refused_settings(look, place, words, more):
    """No refusal of a setting shows a value of the data."""
    (place / "policy.json").write_text(json.dumps({"a": ["999.9"]}))

    assert look(*BASE, *ROLES, *words, *more) in (1, 2)
    assert not (place / "release").exists()


MARKED = f"{MARKER},{MARKER} {MARKER},{MARKER}\n"
CONTENTS = {
    "ragged": HEADER + "".join(COMMON) + f"{MARKER},{MARKER}\n",
    "ragged, long": HEADER + "".join(COMMON) + MARKED.strip() + f",{MARKER}\n",
    "open quote": HEADER + "".join(COMMON) + f'"{MARKER}\n',
    "stray quote": HEADER + "".join(COMMON) + MARKED.replace(" PAT", ' "PAT'),
    "undecodable": (HEADER + "".join(COMMON)).encode() + MARKER.encode() + b"\xff\x81,x,1\n",
    "NUL": HEADER + "".join(COMMON) + MARKED.replace(" ", "\0"),
    "duplicate id": HEADER + "".join(COMMON) + MARKED + MARKED,
    "missing id": HEADER + "".join(COMMON) + f",{MARKER},{MARKER}\n",
    "no code": HEADER + "".join(COMMON) + f"{MARKER},,{MARKER}\n",
    "only the record": HEADER + MARKED,
    "no header": MARKED.replace(",", " "),
}


@pytest.mark.parametrize("more", VARIANTS, ids=" ".join)
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_refused_files(look, place, content, more):
    """No refusal of a file shows what stands in it."""
    (place / "codes.csv").write_bytes(content if isinstance(content, bytes) else content.encode())

    assert look(*BASE, *ROLES, *more) in (1, 2)
    assert not (place / "release").exists()


@pytest.mark.parametrize("more", VARIANTS, ids=" ".join)
def test_refused_codes(look, place, more):
    """Codes that cannot be released are counted and not shown: white space inside, numbered already, decimals."""
    frame = pl.DataFrame({"id": ["1", "2"], "code": [f"{MARKER} x", f"{MARKER}#1"]})
    frame.write_parquet(place / "codes.parquet")
    assert look("codes.parquet", *BASE[1:], *more) == 2
    frame.tail(1).write_parquet(place / "codes.parquet")
    assert look("codes.parquet", *BASE[1:], "--repeats", *more) == 2
    pl.DataFrame({"id": [MARKER], "code": [250.1]}).write_parquet(place / "codes.parquet")
    assert look("codes.parquet", *BASE[1:], *more) == 2
    whole = io.BytesIO()
    frame.write_parquet(whole, compression="uncompressed")
    (place / "codes.parquet").write_bytes(whole.getvalue()[:-20] + b"PAR1")
    assert look("codes.parquet", *BASE[1:], *more) == 2


STAGES = [
    "cloister.pipeline.codes_shape.read_given",
    "cloister.pipeline.codes_shape.parse_policy",
    "cloister.pipeline.codes_shape.protect_codes",
    "cloister.shapes.codes.data.read_code_lists",
    "cloister.shapes.codes.data.encode",
    "cloister.pipeline.codes.disassociate",
    "cloister.pipeline.codes.verify",
    "cloister.pipeline.codes.exact_figures",
    "cloister.pipeline.codes.describe_disassociation",
    "cloister.pipeline.codes.reconstruct",
    "cloister.pipeline.codes.data_frame",
    "cloister.pipeline.codes.codebook",
    "cloister.shapes.disassociation.method.protect.partition_horizontally",
    "cloister.shapes.disassociation.method.protect.partition_vertically",
    "cloister.shapes.disassociation.method.protect.refine",
    "cloister.shapes.disassociation.method.release.write_clusters",
    "cloister.shapes.disassociation.method.release.read_clusters",
    "cloister.shapes.disassociation.method.release.write_csv",
    "cloister.release.release.report_files",
    "cloister.release.release.write_private",
    "cloister.cli.protect.show",
]
RAISED = {
    "RuntimeError": RuntimeError(MARKER),
    "ValueError": ValueError(f"cannot parse {MARKER!r}"),
    "OSError": OSError(errno.EIO, MARKER),
    "disk full": OSError(errno.ENOSPC, f"No space for {MARKER}"),
    "Polars": pl.exceptions.ComputeError(f"conversion of {MARKER} failed"),
    "memory": MemoryError(MARKER),
    "interruption": KeyboardInterrupt(MARKER),
}


@pytest.mark.sampled(30)
@pytest.mark.parametrize("error", RAISED.values(), ids=RAISED)
@pytest.mark.parametrize("stage", STAGES)
def test_accidents_in_every_stage(look, place, monkeypatch, stage, error):
    """Whatever is raised, wherever, with the value in its message: nobody sees it, and nothing is left."""

    def broken(*_args, **_options):
        try:
            raise KeyError(MARKER)
        except KeyError as cause:
            raise error from cause

    monkeypatch.setattr(stage, broken)
    code = look(*BASE, *ROLES, "--policy", "level:1", "--json", "--verbose")
    assert code in (2, 3, 130) or stage.endswith("protect.show")
    assert (place / "release").exists() == stage.endswith("protect.show")


def tampered(folder):
    """A release in whose files the marker was written where it does not belong, one file at a time."""
    changes = (
        ("clusters.json", '"001"', f'"{MARKER}"'),
        ("clusters.json", '"size": ', f'"size": "{MARKER}", "x": '),
        ("clusters.json", "[", f"[{MARKER}"),
        ("clusters.json", '"k": 5', f'"k": "{MARKER}"'),
        ("data.csv", "001", MARKER),
        ("data.csv", "1,", f"{MARKER},"),
        ("data.csv", "\n", f'\n"{MARKER}'),
        ("codebook.csv", "as recorded", MARKER),
        ("codebook.csv", "\n", f"\n{MARKER}\n"),
        ("release.json", '"schema": 2', f'"schema": "{MARKER}"'),
        ("release.json", '"k": 5', f'"k": "{MARKER}"'),
        ("release.json", '"released"', f'"{MARKER}"'),
        ("release.json", '"number"', f'"{MARKER}"'),
        ("release.json", '"policy": null', f'"policy": "{MARKER}"'),
        ("release.json", "{", f"{{{MARKER}"),
        ("report.json", '"schema"', f'"{MARKER}": 1, "schema"'),
        ("report.html", "<h1>", f"<h1>{MARKER}"),
        ("README.txt", "FILES", f"FILES{MARKER}"),
    )
    return replaced_one_by_one(folder, changes)


def test_verifying_a_tampered_release(place, capsys):
    """The verifier says what does not hold in counts, never with what it found there."""
    assert run(["protect", "codes", *BASE, *ROLES, "-q", "--crosswalk", "map.csv"]) == 0
    against = ("--original", "codes.csv", "--crosswalk", "map.csv")
    capsys.readouterr()
    for name in tampered(place / "release"):
        for more in ((), ("--json",), ("--verbose",), ("-k", "11"), against):
            code = run(["verify", "release", *more])
            said = capsys.readouterr()
            assert MARKER not in said.out + said.err, name
            assert code in (1, 2), name


def test_errors_of_the_library_hold_nothing(place):
    """The exceptions that Python users get hold no value in words, fields, causes or printed tracebacks."""
    codes = cl.CodeSets.from_records([[MARKER, "001"]] * 9)
    attempts = [
        lambda: cl.CodeSets.from_records([[MARKER], []]),
        lambda: cl.disassociate(codes, k=10),
        lambda: cl.disassociate(codes, k=3, sensitive=[MARKER]),
        lambda: cl.disassociate(codes, k=3, policy=cl.UtilityPolicy.of({"a": ["002"]})),
        lambda: cl.disassociate(codes, k=3, workload="nothing"),
        lambda: cl.UtilityPolicy.by_level(cl.CodeSets.from_records([[MARKER]]), 1),
        lambda: cl.CodeSets.read("codes.csv", codes="note", id="codes"),
    ]
    for attempt in attempts:
        with pytest.raises(cl.CloisterError) as caught:
            attempt()
        error = caught.value
        seen = [str(error), repr(error), repr(vars(error)), *traceback.format_exception(error)]
        assert error.__cause__ is None
        assert MARKER not in "".join(seen)


def test_what_code_sets_show_of_themselves(place):
    """Code sets and releases in a notebook or a log show no codes and no ids."""
    codes = cl.CodeSets.read("codes.csv", id="mrn")
    release = cl.disassociate(codes, k=3)

    for shown in (
        repr(codes),
        repr(release),
        repr(release.clusters),
        repr(release.custody),
        repr(release.reconstruct()),
    ):
        assert MARKER not in shown
        assert "M000" not in shown
        assert "250.00" not in shown


def test_the_command_as_users_run_it(place):
    """In a process of its own, with --verbose and warnings shown, nothing on either stream holds the marker."""
    (place / "codes.csv").write_text(CONTENTS["duplicate id"])
    command = [sys.executable, "-X", "dev", "-W", "default", "-m", "cloister", "protect", "codes", *BASE, *ROLES]
    environment = os.environ | {"POLARS_VERBOSE": "1", "RUST_BACKTRACE": "1"}
    ran = subprocess.run([*command, "--verbose"], capture_output=True, text=True, env=environment)

    assert ran.returncode == 2
    assert "  at " in ran.stderr
    assert_silent(place, ran.stdout, ran.stderr)
