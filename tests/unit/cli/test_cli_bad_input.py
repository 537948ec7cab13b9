"""Bad input: one sentence that says what to do, the right exit code, and nothing written."""

import errno
import json
import os
import re
import stat
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest
from tests.made.patients import COMMON, HEADER


def mode(path):
    """Permissions of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode)


FILES = {
    "empty": (b"", "patients.csv is empty"),
    "blank": (b"\n\n", "is empty"),
    "only a header": (HEADER.encode(), "no records"),
    "ragged": ((HEADER + "".join(COMMON[:3]) + "M1,N\n").encode(), "record 4, line 5 has 2 cells, the header has 6"),
    "undecodable": (HEADER.encode() + b"M1,M\xfcller,30,F,02130,001\n", "undecodable bytes: line 2"),
    "open quote": ((HEADER + '"M1,N,30,F,02130,001\n').encode(), "quote"),
    "twice the same column": (b"mrn,mrn\n1,2\n", "columns 1 and 2 have the same name"),
    "no name": (b"mrn,\n1,2\n", "column 2 has no name"),
}


@pytest.mark.parametrize(("content", "words"), FILES.values(), ids=FILES)
def test_bad_files(protect, refused, data, content, words):
    """A file that is no table is refused with the place of the defect."""
    data.write_bytes(content)

    assert words in refused(protect())


def test_missing_file(protect, refused, tmp_path):
    """A file that is not there is named."""
    assert "nowhere.csv" in refused(protect(source=tmp_path / "nowhere.csv"))


def test_undecodable_bytes_name_the_option(protect, data):
    """The advice for undecodable bytes is an option that then works."""
    data.write_bytes((HEADER + "".join(COMMON)).replace("Name", "Mül").encode("latin-1"))

    assert "--encoding" in protect().err
    assert protect("-q", "--encoding", "latin-1").code == 0


def test_unknown_column(protect, refused):
    """A column that is not there is refused, with the nearest name and the first there are."""
    message = refused(protect("--keep", "diagnosi"))

    assert "'diagnosi'" in message
    assert "Did you mean 'diagnosis'?" in message
    assert "mrn, name, age, sex, zip and 1 more" in message


def test_value_outside_its_hierarchy(protect, refused, data):
    """Values that a builder does not cover are counted, not shown; ``--unmatched-values`` lists them for the owner."""
    data.write_text(HEADER + "".join(COMMON) + "M1,N,unknown,F,02130,001\nM2,N,about 40,F,02130,001\n")
    message = refused(protect("--unmatched-values", "outside.csv"), new=frozenset({"outside.csv"}))

    assert "2 of 8 distinct values of column 'age'" in message
    assert "unknown" not in message
    listed = data.parent / "outside.csv"
    assert listed.read_text() == "column,value\nage,about 40\nage,unknown\n"
    assert mode(listed) == 0o600


def test_values_are_not_listed_over_a_file(protect, data):
    """``--unmatched-values`` replaces no file."""
    data.write_text(HEADER + "".join(COMMON) + "M1,N,unknown,F,02130,001\n")
    before = data.read_bytes()
    ran = protect("--unmatched-values", data)

    assert ran.code == 2
    assert data.read_bytes() == before


def test_value_outside_a_hierarchy_file(bare, refused, tmp_path):
    """Values that a file does not list are counted, and the file is named."""
    (tmp_path / "zip.csv").write_text("02130;0213*;*\n02131;0213*;*\n")
    ran = bare("-k", "5", "--undecided", "drop", "--qi", f"zip={tmp_path / 'zip.csv'}")
    message = refused(ran, new=frozenset({"zip.csv"}))

    assert "2 of 4 distinct values of column 'zip' are not listed in zip.csv" in message
    assert str(tmp_path) not in message


HIERARCHIES = {
    "not nested": ("02130;a;x;*\n02131;a;y;*\n", "do not nest"),
    "two roots": ("02130;a;*\n02131;a;+\n", "2 different labels"),
    "duplicate": ("02130;a;*\n02130;a;*\n", "stands again on line 2"),
    "ragged": ("02130;a;*\n02131;*\n", "columns"),
    "empty": ("", "no rows"),
}


@pytest.mark.parametrize(("content", "words"), HIERARCHIES.values(), ids=HIERARCHIES)
@pytest.mark.parametrize("way", ["--qi", "--hierarchies", "check"])
def test_illegal_hierarchies(bare, cloister, refused, tmp_path, content, words, way):
    """A hierarchy that is not legal is refused with its file and lines, however it was given."""
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    (folder / "zip.csv").write_text(content)
    if way == "check":
        ran = cloister("hierarchy", "check", folder / "zip.csv")
    else:
        given = ("--qi", f"zip={folder / 'zip.csv'}") if way == "--qi" else ("--hierarchies", folder)
        ran = bare("-k", "5", "--undecided", "drop", *given)
    message = refused(ran, new=frozenset({"hierarchies"}))

    assert words in message
    assert "02131" not in message


SETTINGS = {
    "k below 2": (("-k", "1"), "k must be a whole number from 2"),
    "k no number": (("-k", "five"), "valid integer"),
    "suppression above 1": (("--suppression", "1.01"), "from 0 to 1"),
    "suppression below 0": (("--suppression", "-0.1"), "from 0 to 1"),
    "suppression no number": (("--suppression", "five"), "from 0 to 1"),
    "suppression nan": (("--suppression", "nan"), "from 0 to 1"),
    "loss": (("--loss", "irengar"), "Did you mean iyengar?"),
    "search": (("--search", "optimum"), "Did you mean optimal?"),
    "rule": (("--rule", "k-anonimity=3"), "Did you mean k-anonymity?"),
    "rule without number": (("--rule", "k-anonymity=many"), "is written as in k-anonymity=5"),
    "builder": (("--qi", "diagnosis=intervall:5"), "Did you mean interval?"),
    "builder without arguments": (("--qi", "diagnosis=interval"), "interval:5,10,20"),
    "weight of no column": (("--weight", "hight=2"), "'hight'"),
    "weight without number": (("--weight", "age"), "--weight takes COLUMN=NUMBER"),
    "weight of nothing": (("--weight", "age=0"), "more than 0"),
    "k beyond all tables": (("-k", "9" * 20), "no table has as many"),
    "weight too large": (("--weight", "age=1e308", "--weight", "sex=1e308"), "to 1e+06"),
    "weight infinite": (("--weight", "age=inf"), "more than 0"),
    "time limit": (("--time-limit", "0"), "must be a number of seconds above 0"),
    "endless time limit": (("--time-limit", "inf"), "must be a number of seconds above 0"),
    "negative seed": (("--seed", "-1"), "must be a whole number from 0"),
    "threads": (("--threads", "0"), "--threads must be a whole number from 1, not 0"),
    "engine": (("--engine", "sparkle"), "auto, memory"),
    "undecided": (("--undecided", "release"), "drop, sensitive, keep"),
    "levels of some": (("--levels", "age=1"), "Not named: sex, zip"),
    "level too high": (("--levels", "age=3,sex=0,zip=0"), "levels 0 to 2"),
    "level infinite": (("--levels", "age=inf,sex=0,zip=0"), "whole number"),
    "level in parts": (("--levels", "age=0.5,sex=0,zip=0"), "whole number"),
    "levels and like": (("--levels", "age=1", "--levels-from", "."), "Give one of them"),
    "like nothing": (("--levels-from", "nowhere"), "no folder nowhere"),
    "two roles": (("--keep", "sex"), "both quasi-identifier and kept"),
    "same column twice": (("--qi", "age=suppress"), "named twice"),
    "no hierarchies": (("--hierarchies", "nowhere"), "no such folder"),
    "ids": (("--ids", "random"), "drop, number or hmac"),
    "ids without key": (("--ids", "hmac"), "hmac:KEYFILE"),
    "key not there": (("--ids", "hmac:nowhere"), "nowhere cannot be read"),
    "encoding": (("--encoding", "klingon"), "no text encoding"),
    "delimiter": (("--delimiter", "::"), "one ASCII character"),
    "unknown option": (("--supression", "0.1"), "--suppression"),
    "crosswalk inside": (("--crosswalk", "release/map.csv"), "outside the release folder"),
    "crosswalk over data": (("--crosswalk", "patients.csv"), "exists already"),
    "internal inside": (("--custodian-dir", "release/secret"), "outside the release folder"),
    "internal is it": (("--custodian-dir", "release"), "outside the release folder"),
    "internal around it": (("--custodian-dir", "."), "outside the release folder"),
}


@pytest.mark.parametrize(("words", "said"), SETTINGS.values(), ids=SETTINGS)
def test_bad_settings(protect, refused, words, said):
    """A setting that makes no sense is refused with what would."""
    assert said in refused(protect(*words))


@pytest.mark.parametrize(("words", "said"), SETTINGS.values(), ids=SETTINGS)
def test_bad_settings_as_json(protect, tmp_path, words, said):
    """With ``--json`` the same refusal is one object on standard output, and nothing else anywhere."""
    ran = protect(*words, "--json")
    error = ran.json["error"]

    assert ran.code == 2
    assert ran.err == ""
    assert ran.json.keys() == {"error"}
    assert error.keys() >= {"kind", "message", "file", "row", "column"}
    assert error["kind"] == "input"
    assert said in error["message"]
    assert {path.name for path in tmp_path.iterdir()} == {"patients.csv"}


def test_errors_as_json_say_where(protect, data):
    """File, row and column of an error are fields of their own."""
    data.write_text(HEADER + "".join(COMMON[:3]) + "M1,N\n")
    ragged = protect("--json").json["error"]
    unknown = protect("--json", "--keep", "nam").json["error"]

    assert (ragged["file"], ragged["row"], ragged["line"], ragged["column"]) == ("patients.csv", 4, 5, None)
    data.write_text(HEADER + "".join(COMMON))
    unknown = protect("--json", "--keep", "nam").json["error"]
    assert (unknown["file"], unknown["row"], unknown["column"]) == ("patients.csv", None, "nam")


def test_k_that_cannot_be_reached(protect, refused):
    """No safe release is exit 1 with counts, and no empty table."""
    message = refused(protect("-k", "100"), 1)

    assert "needs classes of at least 100 records, but the table has only 62" in message


def test_limits_that_cannot_be_kept(protect, bare, refused):
    """Fixed levels or level bounds that suppress too much are exit 1."""
    assert "2 of 62 records in classes that violate the rules" in refused(
        protect("--levels", "age=0,sex=0,zip=0", "--suppression", "0"), 1
    )
    bounded = ("--qi", "age=interval:10/top=90/bottom=0@0", "--qi", "sex=suppress@0", "--qi", "zip=prefix:5@0-1")
    message = refused(bare("-k", "5", "--undecided", "drop", "--suppression", "0.01", *bounded), 1)
    assert "coarser levels" in message


def test_no_safe_release_as_json(protect):
    """The kind of error tells a script that nothing is wrong with the input."""
    ran = protect("-k", "100", "--json")

    assert (ran.code, ran.json["error"]["kind"]) == (1, "no-safe-release")


def test_nothing_left_to_release(protect, refused, data):
    """Suppressing everything is no release, even where the limit allows it."""
    data.write_text(HEADER + "".join(COMMON[:4]))

    assert "only 4" in refused(protect("--suppression", "1"), 1)


@pytest.mark.parametrize("what", ["folder", "file", "link", "dead link"])
def test_output_that_exists(protect, refused, tmp_path, what):
    """Nothing that stands where the release should go is touched."""
    place = tmp_path / "release"
    if what == "folder":
        place.mkdir()
        (place / "mine.txt").write_text("mine")
    elif what == "file":
        place.write_text("mine")
    else:
        place.symlink_to(tmp_path / ("patients.csv" if what == "link" else "nothing"))
    for words in ((), ("--overwrite",)):
        message = refused(protect(*words), new=frozenset({"release"}))
        assert "release" in message
    assert what != "folder" or (place / "mine.txt").read_text() == "mine"
    assert what != "file" or place.read_text() == "mine"


@pytest.mark.parametrize("out", ["", "."])
def test_output_without_a_name(cloister, refused, data, out):
    """A release needs a folder of its own."""
    assert refused(cloister("protect", "table", data, "--qi", "sex", "--undecided", "drop", "-k", "5", "--out", out))


def test_output_in_a_folder_that_is_not_there(protect, refused):
    """The folder around a release must be there already."""
    assert "does not exist" in refused(protect(out="nowhere/release"))


LATE = {
    "output": ("--out", "nowhere/release"),
    "crosswalk": ("--crosswalk", "nowhere/map.csv"),
    "crosswalk over a file": ("--crosswalk", "patients.csv"),
    "internal": ("--custodian-dir", "nowhere/secret"),
    "values": ("--unmatched-values", "nowhere/outside.csv"),
}


@pytest.mark.parametrize("words", LATE.values(), ids=LATE)
def test_what_would_fail_at_the_end_fails_at_once(cloister, refused, data, monkeypatch, words):
    """A place that cannot be written to is refused before any search."""
    monkeypatch.setattr("cloister.pipeline.tables.protect", lambda *_: 1 / 0)
    given = ("protect", "table", data, "-k", "5", "--qi", "sex", "--undecided", "drop", "--out", "release")

    assert words[1].rpartition("/")[2] in refused(cloister(*given, *words))


def test_unwritable_folder(protect, refused, tmp_path, monkeypatch):
    """A folder that may not be written to is exit 2."""
    real = os.mkdir

    def forbidden(path, *args, **kwargs):
        if ".release.partial" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "mkdir", forbidden)

    assert "permission" in refused(protect())


@pytest.mark.parametrize(
    "file", ["data.csv", "codebook.csv", "report.html", "release.json", "map.csv", "internal.json"]
)
def test_disk_full(protect, refused, monkeypatch, file):
    """Whichever file fills the disk, the refusal says so and nothing is left."""
    real = os.fsync

    def full(descriptor):
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(file):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor)

    monkeypatch.setattr(os, "fsync", full)

    assert "the disk is full" in refused(protect("--crosswalk", "map.csv", "--custodian-dir", "secret"))


def test_no_command_is_help(cloister):
    """Without a command there is help, not a traceback."""
    ran = cloister()

    assert "cloister init patients.csv" in ran.out
    assert "Traceback" not in ran.err


def test_a_defect_of_ours_is_exit_3(protect, refused, monkeypatch):
    """An exception that nobody expected tells its type and place, and where to report it."""

    def broken(*_args):
        raise KeyError("a value")

    monkeypatch.setattr("cloister.pipeline.tables.encode", broken)
    message = refused(protect(), 3)

    assert "KeyError" in message
    assert "defect of cloister" in message
    assert "a value" not in message


def test_a_verifier_that_refuses_our_output_is_exit_3(protect, refused, monkeypatch):
    """If protection went wrong, verification stops the release: that is our bug and not the user's."""
    from cloister.pipeline import tables

    protect_rightly = tables.protect

    def put_back(*words):
        """Protect, and put a value of the original back."""
        found = protect_rightly(*words)
        ages = pl.Series("age", ["33", *found.tally.frame["age"][1:]])
        return replace(found, tally=found.tally.replace_rows(found.tally.frame.with_columns(ages)))

    monkeypatch.setattr(tables, "protect", put_back)
    message = refused(protect(), 3)

    assert "did not pass verification" in message


@pytest.mark.parametrize("trap", [KeyboardInterrupt, MemoryError])
def test_interrupted_while_working(protect, refused, monkeypatch, trap):
    """An interruption inside the work is 130, too little memory is told as such, and nothing is left."""

    def stopped(*_args, **_options):
        raise trap

    monkeypatch.setattr("cloister.pipeline.tables.protect", stopped)
    ran = protect()

    if trap is KeyboardInterrupt:
        assert "interrupted" in refused(ran, 130)
    else:
        assert "memory" in refused(ran, 2)


def test_a_full_standard_output(data, tmp_path):
    """Where the summary cannot be told, the release is written all the same, and the message says so."""
    words = ("-k", "5", "--qi", "sex", "--undecided", "drop")
    for more in ((), ("--json",)):
        out = tmp_path / f"release{len(more)}"
        with open("/dev/full", "w") as full:
            ran = subprocess.run(
                [sys.executable, "-m", "cloister", "protect", "table", str(data), *words, "--out", str(out), *more],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        assert ran.returncode == 2
        assert (out / "release.json").is_file()
        assert "Traceback" not in ran.stderr
        assert more or "was written, but" in ran.stderr


def test_json_errors_are_utf8(protect):
    """Names with letters beyond ASCII stay readable."""
    assert json.loads(protect("--json", "--keep", "größe").out)["error"]["column"] == "größe"


RECORDS = "M00000,Maria Mustermann0,30,F,HIV\nM00001,Erika Beispiel,31,M,flu\nM00002,Otto Normal,32,F,flu\n"


@pytest.mark.parametrize(
    "words",
    [
        ("protect", "table", "lines.csv", "--qi", "age", "-k", "2", "--out", "out"),
        ("protect", "table", "lines.csv", "--qi", "Maria Mustermann", "-k", "2", "--out", "out"),
        ("protect", "table", "lines.csv", "--qi", "F=suppress", "-k", "2", "--out", "out"),
        ("protect", "table", "lines.csv", "--qi", "age", "-k", "2", "--out", "out", "--json"),
        ("protect", "table", "lines.csv", "--qi", "age", "-k", "2", "--out", "out", "--engine", "duckdb"),
        ("protect", "codes", "lines.csv", "-k", "2", "-m", "2", "--codes", "codes", "--out", "out"),
        ("protect", "trajectories", "lines.csv", "-k", "2", "--code", "code", "--out", "out"),
        ("explore", "table", "lines.csv", "--qi", "age", "--grid", "k=2,3", "--out", "out"),
        ("hierarchy", "check", "interval:5", "lines.csv"),
        ("hierarchy", "preview", "interval:5", "lines.csv", "--column", "age"),
        ("init", "table", "lines.csv", "--out", "job.toml"),
        ("init", "claims", "lines.csv", "lines.csv", "--out", "plan.toml"),
        ("assess", "table", "lines.csv"),
        ("assess", "table", "lines.csv", "--qi", "age", "--json"),
    ],
    ids=" ".join,
)
def test_a_file_without_header_shows_no_patient(cloister, tmp_path, words):
    """What stands in the first line may be a record: columns go by position until a header is known to be one."""
    (tmp_path / "lines.csv").write_text(RECORDS)
    refused = cloister(*words)
    said = refused.out + refused.err

    assert refused.code == 2
    assert not any(word in said.replace("'Maria Mustermann'", "").replace("'F'", "") for word in ("M0", "Maria", "HIV"))
    assert "first line" in said


def test_columns_with_names_are_listed(cloister, tmp_path):
    """A header that is one is shown whole, cut only where it is very long."""
    (tmp_path / "few.csv").write_text("mrn,age\n1,2\n")
    wide = ",".join(f"feature_{place}" for place in range(60))
    (tmp_path / "many.csv").write_text(f"{wide}\n{wide}\n")
    few, many = (
        cloister("protect", "table", name, "--qi", "sex", "-k", "2", "--out", "out").err
        for name in ("few.csv", "many.csv")
    )

    assert "Its columns: mrn, age." in few
    assert "feature_4 and 55 more." in many


ENDLESS = {
    "arrays": "name = " + "[" * 20_000,
    "tables": "[" + ".".join("a" * 20_000) + "]\n",
    "sections": "\n".join("[" + ".".join("a" * depth) + "]" for depth in range(200, 2_000, 600)),
    "inline tables": "name = " + "{a=" * 20_000,
    "a long number": f"k = {'9' * 5_000}",
    "a number": f"k = {'9' * 4_000}",
    "a number of a plan": f"seed = {'9' * 4_000}",
    "a hexadecimal number": f"k = 0x{'f' * 40_000}",
    "a fraction": f"k = 0.{'9' * 50_000}",
    "a power": "k = 1e999999999",
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_toml_without_end_is_refused(cloister, tmp_path, text):
    """Settings nested deeper, or numbers longer, than can be read are the file's fault, said in one line."""
    (tmp_path / "odd.toml").write_text(text + "\n")
    (tmp_path / "lines.csv").write_text("mrn,age\n1,2\n")
    claims = ("protect", "claims", "lines.csv", "lines.csv", "--plan", "odd.toml", "--out", "out")

    for words in (("run", "odd.toml"), ("run", "odd.toml", "--dry-run"), claims):
        refused = cloister(*words)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "odd.toml" in refused.err


def test_a_message_names_five_columns_at_most(cloister, tmp_path):
    """Of fifty columns a refusal names five, and how many there are besides."""
    names = [f"{one}{other}" for one in ("dose", "ward", "test", "scan", "unit") for other in "abcdefghij"]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + (",".join("F" * 50) + "\n") * 9)
    for words, n in ((("--qi", "nope"), 45), (("--qi", "dosea"), 44)):
        said = cloister("protect", "table", "wide.csv", *words, "-k", "3", "--out", "out").err
        assert f"and {n} more" in said
        assert sum(name in re.findall(r"\w+", said.partition(" more")[0]) for name in names) <= 5
