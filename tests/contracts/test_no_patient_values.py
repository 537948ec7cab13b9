"""No patient's value in any message, log, traceback, manifest or file: a planted marker is looked for everywhere."""

import errno
import gzip
import io
import json
import logging
import os
import subprocess
import sys
import traceback
from pathlib import Path

import polars as pl
import pytest
from tests.made.tampering import replaced_one_by_one

from cloister.cli.main import run

MARKER = "PATIENT-7-SECRET"
HEADER = "mrn,name,age,ward,diagnosis,note\n"
COMMON = [f"M{i:03d},Name {i},{30 + 10 * (i % 2)},{'AB'[i % 2]},{('001', 'V51')[i % 2]},n{i % 3}\n" for i in range(60)]
MARKED = f"{MARKER},{MARKER},77,{MARKER},{MARKER},{MARKER}\n"
ROLES = ("--id", "mrn", "--drop", "name", "--sensitive", "diagnosis", "--keep", "note", "--purpose", "one-coding")
QI = ("--qi", "age=interval:10/top=90/bottom=0", "--qi", "ward=suppress")
GIVEN = {"data.csv", "data.csv.gz", "data.parquet", "hierarchy.csv", "map.csv", "key"}
"""What a test writes itself, and what the owner asked to hold values."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table that holds the marker in every column, in a record that stands out."""
    (tmp_path / "data.csv").write_text(HEADER + "".join([*COMMON, MARKED]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything_on_disk(folder):
    """Names and contents of all files below a folder but those given, unpacked where packed."""
    for path in folder.rglob("*"):
        yield str(path.relative_to(folder)).encode()
        if (path.is_file() and path.name not in GIVEN | {"outside.csv"}) or (
            path.parent.name == "release" and path.is_file()
        ):
            content = path.read_bytes()
            yield gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def assert_silent(folder, *texts):
    """The marker is in none of the texts and in no file that was written."""
    for text in texts:
        assert MARKER not in text
        assert MARKER[:9] not in text
    for content in everything_on_disk(folder):
        assert MARKER.encode() not in content
        assert MARKER.encode()[:9] not in content


@pytest.fixture
def look(place, capsys, caplog):
    """Run a command and look for the marker in all that it said and wrote; return its exit code."""
    caplog.set_level(logging.DEBUG)

    def command(*words):
        capsys.readouterr()
        code = run(
            ["protect", "table", *map(str, words)] if words[0] not in ("verify", "hierarchy") else [*map(str, words)]
        )
        said = capsys.readouterr()
        assert_silent(place, said.out, said.err, caplog.text, *map(str, (sys.exc_info(),)))
        if "--json" in words:
            json.loads(said.out)
        return code

    return command


VARIANTS = [("--verbose",), ("--json",), ("--json", "--verbose"), ()]
BASE = ("data.csv", "-k", "5", "--out", "release")


@pytest.mark.parametrize(
    "more",
    [
        *VARIANTS,
        *(("--loss", "arx"), ("--ids", "drop"), ("--custodian-dir", "secret"), ("--crosswalk", "map.csv")),
        *(
            ("--local-recoding",),
            ("--microaggregate", "age=mean"),
            ("--local-recoding", "--microaggregate", "age=median"),
        ),
    ],
)
def test_a_release_without_the_record(look, place, more):
    """Where the marked record was suppressed, nothing of it is in the release, whatever was asked for."""
    assert look(*BASE, *ROLES, *QI, *more) == 0
    assert (place / "release" / "report.html").is_file()
    crosswalk = place / "map.csv"
    assert not crosswalk.exists() or MARKER not in crosswalk.read_text()


@pytest.mark.parametrize("more", [(), ("--json",), ("--verbose",)], ids=" ".join)
@pytest.mark.parametrize(
    "method", [(), ("--local-recoding",), ("--method", "mondrian"), ("--method", "cluster")], ids=" ".join
)
def test_methods_that_fail(look, place, method, more):
    """No method tells a value where text was to be averaged, or where levels are bounded so that nothing is safe."""
    assert look(*BASE, *ROLES, *QI, *method, "--microaggregate", "ward=mean", *more) == 2
    bounded = ("--qi", "age=interval:10/top=90/bottom=0@0", "--qi", "ward=suppress@0", "--suppression", "0")
    assert look(*BASE, *ROLES, *bounded, *method, *more) == 1
    assert not (place / "release").exists()


@pytest.mark.parametrize("kind", ["gzip", "parquet", "categories"])
def test_a_release_of_another_file(look, place, kind):
    """The same for compressed and for Parquet files, whose dictionaries would list suppressed values."""
    data = place / "data.csv"
    if kind == "gzip":
        name = "data.csv.gz"
        (place / name).write_bytes(gzip.compress(data.read_bytes()))
    else:
        name = "data.parquet"
        frame = pl.read_csv(data, infer_schema=False)
        if kind == "categories":
            frame = frame.with_columns(pl.col("ward", "diagnosis", "note").cast(pl.Categorical))
        frame.write_parquet(place / name)

    assert look(name, *BASE[1:], *ROLES, *QI) == 0


def test_a_release_of_a_hierarchy_file(look, place):
    """A hierarchy file that lists the marker puts it into no manifest and no codebook."""
    (place / "hierarchy.csv").write_text(f"A;low;*\nB;low;*\n{MARKER};high;*\n")

    assert look(*BASE, *ROLES, *QI[:2], "--qi", "ward=hierarchy.csv") == 0
    assert look("verify", "release", "--original", "data.csv", "--qi", "ward=hierarchy.csv", "--qi", "age") == 0


SETTINGS = {
    "unknown column": (*ROLES, *QI, "--keep", "nothing"),
    "no role": QI,
    "kept rest": (*QI, "--undecided", "keep"),
    "k unreachable": (*ROLES, *QI, "-k", "99"),
    "fixed levels": (*ROLES, *QI, "--levels", "age=0,ward=0", "--suppression", "0"),
    "suppression": (*ROLES, *QI, "--suppression", "5"),
    "outside interval": (*ROLES[:6], "--qi", "note=interval:5"),
    "outside prefix": (*ROLES[:6], "--qi", "note=prefix:3"),
    "outside date": (*ROLES[:6], "--qi", "note=date:month"),
    "outside icd9": (*ROLES[:6], "--qi", "note=icd9"),
    "outside icd10": (*ROLES[:6], "--qi", "note=icd10"),
    "outside listed": (*ROLES[:6], "--qi", "note=icd10", "--unmatched-values", "outside.csv"),
    "outside not listable": (*ROLES[:6], "--qi", "note=icd10", "--unmatched-values", "nowhere/outside.csv"),
    "no quasi-identifier": ROLES,
    "two roles": (*ROLES, *QI, "--keep", "ward"),
    "no such builder": (*ROLES, "--qi", "ward=nothing"),
    "too short a key": (*ROLES, *QI, "--ids", "hmac:key"),
    "stars": (*ROLES, *QI, "--keep-suppressed"),
    "output in nothing": (*ROLES, *QI, "--out", "nowhere/release"),
    "output is the data": (*ROLES, *QI, "--out", "data.csv", "--overwrite"),
    "crosswalk over the data": (*ROLES, *QI, "--crosswalk", "data.csv"),
    "other encoding": (*ROLES, *QI, "--encoding", "utf-16"),
    "other delimiter": (*ROLES, *QI, "--delimiter", ";"),
    "id is the note": ("--id", "note", "--undecided", "drop", *QI),
    "weights": (*ROLES, *QI, "--weight", "note=2"),
}


@pytest.mark.parametrize("more", VARIANTS, ids=" ".join)
@pytest.mark.parametrize("words", SETTINGS.values(), ids=SETTINGS)
def test_refused_settings(look, place, words, more):
    """No refusal of a setting shows a value of the data."""
    (place / "key").write_bytes(b"short")
    (place / "key").chmod(0o600)

    assert look(*BASE, *words, *more) in (1, 2)
    assert not (place / "release").exists()


CONTENTS = {
    "ragged": HEADER + "".join(COMMON) + f"{MARKER},{MARKER}\n",
    "ragged, long": HEADER + "".join(COMMON) + MARKED.strip() + f",{MARKER}\n",
    "open quote": HEADER + "".join(COMMON) + f'"{MARKER}\n',
    "stray quote": HEADER + "".join(COMMON) + MARKED.replace(",77,", f',7"7{MARKER},'),
    "undecodable": (HEADER + "".join(COMMON) + MARKED).encode() + MARKER.encode() + b"\xff\x81,x,1,A,B,C\n",
    "NUL": HEADER + "".join(COMMON) + MARKED.replace(",77", "\0,77"),
    "duplicate id": HEADER + "".join(COMMON) + MARKED + MARKED,
    "missing id": HEADER + "".join(COMMON) + MARKED.replace(MARKER, "", 1),
    "value outside": HEADER + "".join(COMMON) + MARKED.replace(",77,", f",{MARKER},"),
    "only the record": HEADER + MARKED,
}


@pytest.mark.parametrize("more", VARIANTS, ids=" ".join)
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_refused_files(look, place, content, more):
    """No refusal of a file shows what stands in it."""
    (place / "data.csv").write_bytes(content if isinstance(content, bytes) else content.encode())

    assert look(*BASE, *ROLES, *QI, *more) in (1, 2)
    assert not (place / "release").exists()


@pytest.mark.parametrize("more", VARIANTS, ids=" ".join)
def test_refused_parquet(look, place, more):
    """No refusal of a Parquet file shows what stands in it: nested columns, bytes, half a file."""
    frame = pl.DataFrame(
        {"ward": ["A"] * 9 + [MARKER], "codes": [[MARKER]] * 10, "bytes": [MARKER.encode() + b"\xff"] * 10}
    )
    whole = io.BytesIO()
    frame.select("ward").write_parquet(whole, compression="uncompressed")
    data = place / "data.parquet"
    for columns in (["ward", "codes"], ["ward", "bytes"], None):
        if columns:
            frame.select(columns).write_parquet(data)
        else:
            data.write_bytes(whole.getvalue()[:-20] + b"PAR1")
        assert look("data.parquet", "-k", "5", "--qi", "ward", "--undecided", "keep", "--out", "release", *more) == 2


LADDERS = {
    "not nested": f"A;x;{MARKER};*\nB;x;y;*\n{MARKER};z;y;*\n",
    "two roots": f"A;x;*\nB;x;*\n{MARKER};x;{MARKER}\n",
    "duplicate": f"A;*\nB;*\n{MARKER};*\n{MARKER};*\n",
    "ragged": f"A;x;*\nB;x;*\n{MARKER}\n",
    "not listed": "A;x;*\nB;x;*\n",
    "not text": f"A;x;*\nB;\x81{MARKER};*\n",
}


@pytest.mark.parametrize("more", [("--json",), ("--verbose",)], ids=" ".join)
@pytest.mark.parametrize("content", LADDERS.values(), ids=LADDERS)
def test_refused_hierarchies(look, place, content, more):
    """No refusal of a hierarchy shows a label, by whichever command."""
    (place / "hierarchy.csv").write_bytes(content.encode("latin-1"))

    assert look(*BASE, *ROLES, *QI[:2], "--qi", "ward=hierarchy.csv", *more) == 2
    assert look("hierarchy", "check", "hierarchy.csv", "data.csv", "--column", "ward", *more) == 2


STAGES = [
    "cloister.pipeline.table_shape.read_table",
    "cloister.pipeline.table_shape.protect_table",
    "cloister.pipeline.tables.encode",
    "cloister.pipeline.tables.protect",
    "cloister.pipeline.tables.verify",
    "cloister.shapes.table.method.describe.facts_of",
    "cloister.shapes.table.method.describe.public_utility",
    "cloister.pipeline.tables.described",
    "cloister.pipeline.tables.codebook",
    "cloister.shapes.table.method.encode.distinct_rows",
    "cloister.shapes.table.method.recoding.choice.search",
    "cloister.shapes.table.method.recoding.choice.at_level",
    "cloister.release.release.write_csv",
    "cloister.release.release.read_data",
    "cloister.release.release.report_files",
    "cloister.release.release.write_private",
    "cloister.io.folder.make_private",
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

    def broken(*args, **_options):
        record = args
        try:
            raise KeyError(MARKER)
        except KeyError as cause:
            if record is not None:
                raise error from cause

    monkeypatch.setattr(stage, broken)
    for more in (("--verbose",), ("--json", "--verbose")):
        code = look(*BASE, *ROLES, *QI, "--overwrite", *more)
        assert code in (2, 3, 130) or stage.endswith("protect.show")
        assert (place / "release").exists() == stage.endswith("protect.show")


def tampered(folder):
    """A release in whose files the marker was written where it does not belong, one file at a time."""
    changes = (
        ("data.csv", "A,001", f"{MARKER},001"),
        ("data.csv", "001", MARKER),
        ("data.csv", "n0\n", f"n0,{MARKER}\n"),
        ("data.csv", "1,[", f"{MARKER},["),
        ("data.csv", "\n", f'\n"{MARKER}'),
        ("codebook.csv", "as recorded", MARKER),
        ("codebook.csv", ",A,", f",{MARKER},"),
        ("codebook.csv", "\n", f"\n{MARKER}\n"),
        ("release.json", '"schema": 2', f'"schema": "{MARKER}"'),
        ("release.json", '"k": 5\n', f'"k": "{MARKER}"\n'),
        ("release.json", '"level": 0', f'"level": "{MARKER}"'),
        ("release.json", '"released"', f'"{MARKER}"'),
        ("release.json", "{", f"{{{MARKER}"),
        ("report.json", '"schema"', f'"{MARKER}": 1, "schema"'),
        ("report.html", "<h1>", f"<h1>{MARKER}"),
        ("README.txt", "FILES", f"FILES{MARKER}"),
    )
    return replaced_one_by_one(folder, changes)


def test_verifying_a_tampered_release(place, capsys):
    """The verifier says what does not hold in counts, never with what it found there."""
    assert run(["protect", "table", *BASE, *ROLES, *QI, "-q", "--levels", "age=1,ward=0"]) == 0
    for name in tampered(place / "release"):
        for more in ((), ("--json",), ("--verbose",), ("--original", "data.csv"), ("-k", "11")):
            code = run(["verify", "release", *more])
            said = capsys.readouterr()
            assert MARKER not in said.out + said.err, name
            assert code in (1, 2) or name == "codebook.csv"


def test_errors_of_the_library_hold_nothing(place, monkeypatch):
    """The exceptions that Python users get hold no value in words, fields, causes or printed tracebacks."""
    import cloister as cl

    frame = pl.read_csv(place / "data.csv", infer_schema=False)
    wanted = [
        {"quasi_identifiers": {"note": "interval:5"}, "undecided": ["drop"]},
        {"quasi_identifiers": {"ward": "suppress"}, "undecided": ["keep"]},
        {"quasi_identifiers": {"ward": "suppress"}, "id": "note", "undecided": ["drop"]},
        {
            "quasi_identifiers": {"ward": "suppress"},
            "undecided": ["drop"],
            "suppression_limit": 0,
            "levels": {"ward": 0},
        },
        {
            "quasi_identifiers": {"ward": "suppress"},
            "undecided": ["drop"],
            "id": "mrn",
            "ids": "hmac",
            "id_key": b"short",
        },
    ]
    for options in wanted:
        with pytest.raises(cl.CloisterError) as caught:
            cl.anonymize(frame, rules=["k-anonymity=5"], **options)
        error = caught.value
        seen = [str(error), repr(error), repr(vars(error)), *traceback.format_exception(error)]
        assert error.__cause__ is None
        assert error.__context__ is None
        assert MARKER not in "".join(seen)


def test_what_a_release_shows_of_itself(place):
    """A release in a notebook or a log shows no records of its own and none of the crosswalk."""
    import cloister as cl

    frame = pl.read_csv(place / "data.csv", infer_schema=False)
    release = cl.anonymize(
        frame, quasi_identifiers={"ward": "suppress"}, rules=["k-anonymity=5"], id="mrn", undecided="drop"
    )

    assert MARKER not in repr(release)
    assert "M000" not in repr(release)
    assert "M000" not in repr(release.custody)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "content",
    [CONTENTS["ragged"], CONTENTS["undecodable"], CONTENTS["value outside"], CONTENTS["duplicate id"]],
    ids=["ragged", "undecodable", "value outside", "duplicate id"],
)
def test_the_command_as_users_run_it(place, content):
    """In a process of its own, with --verbose and warnings shown, nothing on either stream holds the marker."""
    (place / "data.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    ran = subprocess.run(
        [
            sys.executable,
            "-X",
            "dev",
            "-W",
            "default",
            "-m",
            "cloister",
            "protect",
            "table",
            *BASE,
            *ROLES,
            *QI,
            "--verbose",
        ],
        capture_output=True,
        text=True,
        env=os.environ | {"POLARS_VERBOSE": "1", "RUST_BACKTRACE": "1"},
    )

    assert ran.returncode == 2
    assert "  at " in ran.stderr
    assert_silent(place, ran.stdout, ran.stderr)


def test_nothing_is_written_elsewhere(place, tmp_path_factory, monkeypatch, capsys):
    """No temporary file is made outside the release's own partial folder."""
    elsewhere = tmp_path_factory.mktemp("temporary")
    for name in ("TMPDIR", "TEMP", "TMP", "POLARS_TEMP_DIR"):
        monkeypatch.setenv(name, str(elsewhere))
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    opened: list[Path] = []
    real = os.open

    def watched(path, flags, *args, **options):
        if flags & (os.O_WRONLY | os.O_RDWR):
            opened.append(Path(path))
        return real(path, flags, *args, **options)

    monkeypatch.setattr(os, "open", watched)
    assert run(["protect", "table", *BASE, *ROLES, *QI, "-q"]) == 0

    assert list(elsewhere.iterdir()) == []
    assert opened
    assert all(".release.partial-" in path.parts[len(place.parts)] for path in opened)
