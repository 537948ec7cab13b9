"""Odd input: names that no file can have, numbers that nobody means, columns with `=` in them, libraries that panic."""

import json
import os
import subprocess
import sys

import polars as pl
import pytest
from tests.made.patients import COMMON, HEADER

from cloister.release.folder import json_bytes

LONG = "x" * 300
DIGITS = "9" * 5000


def command(*words, cwd=None):
    """Run the command as a process of its own; words may be bytes."""
    return subprocess.run([sys.executable, "-m", "cloister", *words], cwd=cwd, capture_output=True)


@pytest.fixture
def with_unknown(data):
    """The patients and one whose age is in words."""
    data.write_text(HEADER + "".join(COMMON) + "M1,N,unknown,F,02130,001\n")
    return data


PLACES = ("--out", "--crosswalk", "--custodian-dir", "--unmatched-values", "--hierarchies", "--levels-from")


@pytest.mark.parametrize("option", PLACES)
@pytest.mark.parametrize("name", [LONG, f"{LONG}/x", "loop/x"], ids=["long", "in long", "loop"])
def test_places_that_cannot_be(protect, refused, tmp_path, option, name):
    """A name too long, or links in a circle, are refused wherever a place can be named."""
    (tmp_path / "loop").symlink_to("loop")

    assert refused(protect(option, name), new=frozenset({"loop"})) if option != "--out" else protect(out=name).code == 2


@pytest.mark.parametrize("name", [LONG, "loop", "loop/x"], ids=["long", "loop", "in loop"])
@pytest.mark.parametrize(
    "words",
    [
        ("verify", "NAME"),
        ("verify", "NAME", "--qi", "age"),
        ("hierarchy", "check", "NAME"),
        ("hierarchy", "check", "suppress", "NAME"),
        ("hierarchy", "preview", "NAME"),
        ("hierarchy", "build", "suppress", "patients.csv", "--column", "sex", "--out", "NAME"),
        ("demo", "NAME"),
        ("protect", "table", "NAME", "--qi", "sex", "-k", "5", "--out", "release"),
        ("protect", "table", "patients.csv", "--qi", "sex=NAME", "--undecided", "drop", "-k", "5", "--out", "release"),
        (
            *("protect", "table", "patients.csv", "--qi", "sex=NAME@1", "--undecided", "drop", "-k", "5"),
            *("--out", "release"),
        ),
    ],
    ids=lambda words: " ".join(words),
)
def test_files_that_cannot_be(cloister, refused, data, tmp_path, words, name):
    """The same for every file and folder that is read."""
    (tmp_path / "loop").symlink_to("loop")

    assert refused(cloister(*(word.replace("NAME", name) for word in words)), new=frozenset({"loop"}))


def test_a_loop_among_hierarchies(bare, refused, tmp_path):
    """A hierarchy file that is a link to itself is refused by name."""
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "sex.csv").symlink_to("sex.csv")

    message = refused(
        bare("-k", "5", "--hierarchies", "hierarchies", "--undecided", "drop"), new=frozenset({"hierarchies"})
    )
    assert "sex.csv" in message


@pytest.mark.parametrize("search", [[], None, 3, {}, {"levels": []}, {"levels": None}, "x"], ids=repr)
def test_like_a_release_without_levels(protect, release, search):
    """``--levels-from`` needs the levels of the other release."""
    manifest = json.loads((release / "release.json").read_bytes())
    (release / "release.json").write_bytes(json_bytes(manifest | {"search": search}))
    ran = protect("--levels-from", "release", out="second")

    assert ran.code == 2
    assert "release.json is not what a release says: search" in ran.err


@pytest.mark.parametrize("level", ["x", None, True, 0.5, [], 10**40, -1], ids=repr)
def test_like_a_release_with_odd_levels(protect, release, level):
    """A level is a whole number that the hierarchy has."""
    manifest = json.loads((release / "release.json").read_bytes())
    manifest["search"]["levels"]["age"] = level
    (release / "release.json").write_bytes(json_bytes(manifest))
    ran = protect("--levels-from", "release", out="second")

    assert (ran.code, ran.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("words", [("verify", "release"), ("--overwrite",), ("--levels-from", "release")], ids=" ".join)
def test_a_manifest_nested_without_end(cloister, protect, release, words):
    """A manifest that exhausts the reader of JSON is none."""
    (release / "release.json").write_text("[" * 100_000)
    out = "release" if "--overwrite" in words else "second"
    ran = cloister(*words) if words[0] == "verify" else protect(*words, out=out)

    assert (ran.code, ran.err.count("\n")) == (2, 1)


NUMBERS = {
    "k": ("-k", DIGITS),
    "rule": ("--rule", f"k-anonymity={DIGITS}"),
    "rule beyond all tables": ("--rule", f"k-anonymity={'9' * 90}"),
    "bound": ("--qi", f"diagnosis=suppress@{DIGITS}"),
    "bounds": ("--qi", f"diagnosis=suppress@0-{DIGITS}"),
    "levels": ("--levels", f"age={DIGITS}"),
    "level": ("--levels", "age=1e300,sex=0,zip=0"),
    "weight": ("--weight", f"age={DIGITS}"),
    "threads": ("--threads", DIGITS),
    "seed": ("--seed", DIGITS),
    "time limit": ("--time-limit", "nan"),
    "interval": ("--qi", f"diagnosis=interval:{DIGITS}"),
    "prefix": ("--qi", f"diagnosis=prefix:{DIGITS}"),
    "suppression": ("--suppression", "1e-99999999"),
    "suppression of many digits": ("--suppression", "0." + "0" * 100_000 + "1"),
    "suppression nothing": ("--suppression", "0e-99999999"),
    "suppression nothing at all": ("--suppression", "0e99999999"),
    "suppression beyond decimals": ("--suppression", "1e-99999999999999999999"),
    "suppression infinite": ("--suppression", "-inf"),
}


@pytest.mark.parametrize("words", NUMBERS.values(), ids=NUMBERS)
def test_numbers_that_nobody_means(protect, refused, words):
    """Numbers too long for Python, or for exact arithmetic, are refused."""
    assert len(refused(protect(*words))) < 10_000


def test_values_are_never_listed_in_a_release(protect, with_unknown, tmp_path):
    """``--unmatched-values`` must lie outside the release, the one that is to be replaced included."""
    assert protect("--unmatched-values", "release/outside.csv").code == 2
    (tmp_path / "release").mkdir()
    for place in ("release", "release/outside.csv", "."):
        ran = protect("--overwrite", "--unmatched-values", place)
        assert ran.code == 2
        assert "--unmatched-values contains secrets and must be outside the release folder" in ran.err
    assert list((tmp_path / "release").iterdir()) == []


@pytest.mark.parametrize("option", ["--custodian-dir", "--crosswalk", "--unmatched-values"])
@pytest.mark.parametrize("place", ["release/secret", "release/deep/secret"])
def test_secrets_are_kept_out_of_other_releases(protect, release, tmp_path, option, place):
    """What only the custodian may see is not written into a release that is there already, however deep."""
    (tmp_path / "release" / "deep").mkdir()
    before = {path.name for path in release.rglob("*")}
    ran = protect(option, tmp_path / place, out="another")

    assert ran.code == 2
    assert f"{option} contains secrets, but release around it is a release" in ran.err
    assert {path.name for path in release.rglob("*")} == before
    assert not (tmp_path / "another").exists()


def test_a_panic_is_exit_3(protect, refused, monkeypatch):
    """A panic of Polars is no exception to the rule: one sentence, and nothing of what it says."""

    def panicking(*_args):
        raise pl.exceptions.PanicException("a value")

    monkeypatch.setattr("cloister.pipeline.tables.encode", panicking)
    message = refused(protect(), 3)

    assert "PanicException" in message
    assert "a value" not in message
    assert protect("--json").json["error"]["kind"] == "internal"


def test_what_nobody_can_handle_is_not_swallowed(protect, monkeypatch):
    """Only panics are caught beyond exceptions."""

    def leaving(*_args):
        raise GeneratorExit

    monkeypatch.setattr("cloister.pipeline.tables.encode", leaving)
    with pytest.raises(GeneratorExit):
        protect()


def test_refusals_of_the_system_are_exit_2(protect, refused, monkeypatch):
    """Where the system refuses what nobody foresaw, the kind of refusal is told and nothing else."""

    def refusing(*_args):
        raise OSError(5, "a value", "a path")

    monkeypatch.setattr("cloister.pipeline.tables.encode", refusing)
    message = refused(protect())

    assert os.strerror(5) in message
    assert "a value" not in message
    assert "a path" not in message


def test_an_error_without_number_is_ours(protect, refused, monkeypatch):
    """Libraries raise OSError for other reasons as well."""

    def refusing(*_args):
        raise OSError("a value")

    monkeypatch.setattr("cloister.pipeline.tables.encode", refusing)
    assert "a value" not in refused(protect(), 3)


PANIC = """
import os, sys
from cloister.cli import main
from cloister.release.folder import json_bytes
def noisy(_):
    os.write(2, b"a value")
    print("ours", file=sys.stderr)
    return 0
main.run = noisy
main.main()
"""


def test_only_cloister_speaks():
    """What a library writes to standard error by itself is not shown; what cloister writes is."""
    ran = subprocess.run([sys.executable, "-c", PANIC], capture_output=True, text=True)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "ours\n")


CLOSED = (("2>&-", "-k 5"), ("1>&-", "-k 5 --json"), ("1>&- 2>&-", "-k 100"), ("1>&-", "-k 5"), ("2>&-", "-k 100"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("closing", "more"), CLOSED)
def test_closed_streams(data, tmp_path, closing, more):
    """Where a stream is closed, the exit code is still right."""
    words = f"protect table patients.csv --qi sex --undecided drop {more} --out release"
    ran = subprocess.run(
        f"{sys.executable} -m cloister {words} {closing}", shell=True, cwd=tmp_path, capture_output=True
    )

    assert ran.returncode == (1 if "100" in more else 0)
    assert b"Traceback" not in ran.stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize("more", [(), ("--json",)], ids=["text", "json"])
def test_file_names_that_are_not_utf8(data, tmp_path, more):
    """Bytes of a name that are no text are replaced where the name is shown."""
    odd, hierarchies = os.fsencode(tmp_path) + b"/pat\xff.csv", os.fsencode(tmp_path) + b"/sex\xff.csv"
    os.rename(data, odd)
    with open(hierarchies, "w") as file:
        file.write("F;*\nM;*\nX;*\n")
    out = os.fsencode(tmp_path) + b"/rel\xff"
    words = (
        *("--qi", b"sex=" + hierarchies, "--undecided", "drop", "-k", "5", "--suppression", "0.1"),
        *("--out", out, *more),
    )
    ran = command("protect", "table", odd, *words)

    assert ran.returncode == 0, ran.stderr
    with open(out + b"/release.json") as file:
        settings = json.load(file)["settings"]
    assert settings["source"] == "pat\N{REPLACEMENT CHARACTER}.csv"
    assert settings["hierarchies"] == {"sex": "sex\N{REPLACEMENT CHARACTER}.csv"}
    assert command("verify", out, *more).returncode == 0
    again = command("protect", "table", odd, *words)
    assert again.returncode == 2
    assert b"Traceback" not in again.stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize("option", ["--missing", "--missing-as", "--keep", "--id", "--qi", "--levels", "--rule"])
def test_words_that_are_not_utf8(data, tmp_path, option):
    """Words that are no text are refused or do nothing, in one sentence."""
    words = ("--qi", "sex", "--undecided", "drop", "-k", "5", "--out", tmp_path / "release", "-q")
    ran = command("protect", "table", data, *words, option, b"a\xff=1")

    assert ran.returncode == (0 if option.startswith("--missing") else 2), ran.stderr


EQUALS = "mrn,a=b,a,c,d\n" + "".join(f"{i},{i % 2},{i % 3},{i % 2},{i % 2}\n" for i in range(60))


@pytest.fixture
def equals(cloister, data, tmp_path):
    """Run ``protect table`` on columns with odd names; return the manifest."""
    data.write_text(EQUALS)
    roles = ("--undecided", "drop", "-k", "5", "--purpose", "one-coding")

    def ran(*words):
        done = cloister("protect", "table", data, *roles, *words, "--out", "release", "-q")
        assert done.code == 0, done.err
        return json.loads((tmp_path / "release" / "release.json").read_bytes())

    return ran


def test_columns_with_equals_signs(cloister, equals):
    """The longest column that begins a ``COLUMN=HIERARCHY`` is meant."""
    manifest = equals("--qi", "a=b=interval:2", "--qi", "a=suppress", "--weight", "a=b=2", "--levels", "a=b=1,a=0")

    assert manifest["settings"]["hierarchies"] == {"a=b": "interval:2", "a": "suppress"}
    assert manifest["settings"]["weights"] == {"a=b": 2}
    assert manifest["search"]["levels"] == {"a=b": 1, "a": 0}
    assert cloister("verify", "release", "-k", "5", "--qi", "a=b", "--qi", "a").code == 0
    assert cloister("verify", "release", "--original", "patients.csv", "--qi", "a=b=interval:2").code == 0


def test_columns_with_commas(equals, data):
    """A column with a comma can have a weight and a level, if it is named by itself."""
    data.write_text(EQUALS.replace("a=b", '"a,c"', 1))
    manifest = equals("--qi", "a,c", "--qi", "d", "--weight", "a,c=2", "--levels", "a,c=1", "--levels", "d=0")

    assert manifest["settings"]["weights"] == {"a,c": 2}
    assert manifest["search"]["levels"] == {"a,c": 1, "d": 0}


def test_bounds_without_a_hierarchy(equals, tmp_path):
    """``COLUMN@LOW-HIGH`` bounds the levels of the hierarchy file, or of value or nothing."""
    assert equals("--qi", "a@1", "--qi", "c@0-1")["settings"]["level_bounds"] == {"a": [1, 1], "c": [0, 1]}
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "a.csv").write_text("0;x;*\n1;x;*\n2;y;*\n")
    manifest = equals("--qi", "a@1-2", "--hierarchies", "hierarchies", "--overwrite")
    assert manifest["columns"]["a"]["hierarchy"] == "file"
    assert manifest["search"]["levels"]["a"] == 1


def test_a_column_with_an_at_sign(equals, data):
    """A column that is called like bounds is that column."""
    data.write_text(EQUALS.replace("a=b", "a@1", 1))

    assert equals("--qi", "a@1")["settings"]["level_bounds"] == {}


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_negative_zero_keeps_no_order(cloister, tmp_path, engine):
    """Values that differ in nothing but the sign of zero are one, so that they do not tell the order of the input."""
    people = [{"sex": sex, "lab": value} for sex in "FM" for value in (0.0, -0.0, 1.5)] * 5
    written = []
    for name, rows in (("one", people), ("two", people[::-1])):
        source = tmp_path / f"{name}.parquet"
        pl.DataFrame(rows).write_parquet(source)
        columns = ("--qi", "sex", "--keep", "lab", "--engine", engine)
        assert cloister("protect", "table", source, *columns, "-k", "5", "--out", tmp_path / name).code == 0
        written.append((tmp_path / name / "data.parquet").read_bytes())

    assert written[0] == written[1]
    assert "-0.0" not in str(pl.read_parquet(tmp_path / "one" / "data.parquet")["lab"].to_list())


@pytest.mark.full
def test_a_lattice_without_end_is_refused(cloister, tmp_path):
    """What no search can finish is said before it begins; searches that take one way through the lattice go on."""
    names = [f"feature_{place}" for place in range(110)]
    lines = [",".join(names), *(",".join(str((row + place) % 2) for place in range(110)) for row in range(20))]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    words = (
        *("protect", "table", "wide.csv", "-k", "5", "--purpose", "one-coding"),
        *(word for name in names for word in ("--qi", f"{name}=suppress")),
    )
    refused = cloister(*words, "--out", "one")

    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "110 quasi-identifiers" in refused.err
    assert "Give a time limit" in refused.err
    assert cloister(*words, "--search", "datafly", "--out", "two").code == 0


@pytest.mark.parametrize("words", [["protect"], ["explore"], []])
def test_data_without_a_shape(cloister, tmp_path, monkeypatch, words):
    """Whoever names a file alone reads what comes before it, or that there is no such file; and all commands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age\n1\n")
    ran, other = cloister(*words, "people.csv"), cloister(*words, "nobody.csv")
    example = " ".join(["cloister", *words, "table" if words else "init", "people.csv"])
    assert (ran.code, f"as in {example}. Commands there:" in ran.err) == (2, True)
    assert (other.code, "There is no file nobody.csv" in other.err) == (2, True)


def test_what_is_there_is_proposed_for_the_command_that_takes_it(cloister, tmp_path, monkeypatch):
    """A job is run, a folder opened, and a name with a blank or a quote can be pasted."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name, example in {"my job.toml": "run 'my job.toml'", "folder": "ui folder", "it's.csv": "init"}.items():
        if name != "folder":
            (tmp_path / name).write_text("")
        assert f"as in cloister {example}" in cloister(name).err
