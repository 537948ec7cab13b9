"""What stands in a release folder, byte for byte where that is promised."""

import csv
import hashlib
import json
import os
import stat

import polars as pl
import pyarrow.parquet as pq
import pytest
from tests.made.patients import COMMON, HEADER, RARE
from tests.made.tampering import report_rewritten

from cloister.release.folder import read_figures
from cloister.release.head import REPORTS


def mode(path):
    """Permissions of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode)


def without_the_run(manifest):
    """A manifest without what may differ between two runs that release the same."""
    kept = {key: value for key, value in manifest.items() if key not in ("created", "machine", "seconds")}
    kept["search"] = kept["search"] | {"checked": None}
    kept["files"] = {name: one for name, one in kept["files"].items() if name not in REPORTS}
    return kept


KEYS = {
    "": "schema cloister shape method settings seed created machine columns records guarantee utility risk files "
    "seconds search",
    "records": "in released suppressed",
    "guarantee": "rules verified",
    "utility": "loss",
    "risk": "highest average share_above_threshold",
    "files": "data.csv",
    "seconds": "start read encode search verify measure write total",
    "search": "levels lattice checked optimal bound gap",
}


@pytest.mark.parametrize(("part", "keys"), KEYS.items(), ids=lambda text: text[:10] or "manifest")
def test_keys_of_the_manifest(release, manifest, part, keys):
    """Every key that scripts read is there."""
    found = manifest()[part] if part else manifest()

    assert set(keys.split()) - found.keys() == set()


def test_values_of_the_manifest(release, manifest):
    """What scripts rely on has the form of the contract."""
    said = manifest()

    assert (said["schema"], said["cloister"], said["shape"], said["method"]) == (3, "0.2.0", "table", "full-domain")
    assert said["columns"]["sex"] == {"role": "quasi-identifier", "hierarchy": "suppress", "level": 0}
    assert said["guarantee"]["rules"] == [{"model": "k-anonymity", "k": 5}]
    assert said["guarantee"]["verified"] is True
    assert list(said["search"]["levels"]) == ["age", "sex", "zip"]
    assert said["seconds"]["total"] == pytest.approx(sum(said["seconds"].values()) / 2, abs=1e-4)


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_only_the_owner_can_read(protect, tmp_path, umask):
    """Folders are 0700 and files 0600, whatever the umask."""
    before = os.umask(umask)
    try:
        code = protect("-q", "--crosswalk", "map.csv", "--custodian-dir", "secret").code
    finally:
        os.umask(before)

    assert code == 0
    assert [mode(tmp_path / name) for name in ("release", "secret")] == [0o700] * 2
    files = [*(tmp_path / "release").iterdir(), *(tmp_path / "secret").iterdir(), tmp_path / "map.csv"]
    assert {mode(path) for path in files} == {0o600}


def test_a_small_number_of_suppressed_records_is_kept_back(release, manifest):
    """Where fewer than k records were suppressed, their number is ``<k`` and that of the input is hidden too."""
    assert manifest()["records"] == {"in": "<65", "released": 60, "suppressed": "<5"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--time-limit", "60"),
        ("--levels", "age=0,sex=0,zip=0"),
        ("--levels", "age=1,sex=0,zip=2"),
        ("--loss", "arx"),
    ],
)
def test_a_small_number_cannot_be_worked_out(protect, data, manifest, tmp_path, words):
    """Whether 1 or 4 records were suppressed changes nothing in the folder: not the loss, not the bound, nothing."""
    rare = [*RARE, "M902,N,99,F,77777,001\n", "M903,N,66,M,66666,001\n"]
    for n in (1, 2, 4):
        data.write_text(HEADER + "".join([*COMMON, *rare[:n]]))
        assert protect("-q", "--suppression", "0.07", *words, out=f"with{n}").code == 0

    said = [without_the_run(manifest(f"with{n}")) for n in (1, 2, 4)]
    assert said[0] == said[1] == said[2]
    texts = [(tmp_path / f"with{n}" / "release.json").read_text() for n in (1, 2, 4)]
    assert not [text for text in texts if '"in": 6' in text]


def test_none_suppressed_is_told(protect, data, manifest):
    """No suppressed record is no secret."""
    data.write_text(HEADER + "".join(COMMON))
    assert protect("-q").code == 0

    assert manifest()["records"] == {"in": 60, "released": 60, "suppressed": 0}
    assert manifest()["utility"]["loss"] == 0.0


def test_k_suppressed_are_told(protect, data, manifest):
    """From k on the number of suppressed records stands as it is, and the loss is exact."""
    data.write_text(HEADER + "".join(COMMON) + "".join(f"M90{i},N,{70 + i},F,{i}9999,001\n" for i in range(5)))
    assert protect("-q", "--suppression", "0.1", "--levels", "age=0,sex=0,zip=0").code == 0

    assert manifest()["records"] == {"in": 65, "released": 60, "suppressed": 5}
    assert manifest()["utility"]["loss"] == pytest.approx(5 / 65, abs=1e-15)


def test_json_is_the_manifest_and_more(protect, manifest):
    """``--json`` prints one object: the manifest as in the file, the folder, and warnings and notes."""
    ran = protect("--json")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("\n}") == 1
    extras = ran.json.keys() - manifest().keys()
    assert extras == {"warnings", "out", "notes"}
    assert next(iter(ran.json)) == "warnings"
    assert {key: value for key, value in ran.json.items() if key not in extras} == manifest()


def test_internal_holds_what_the_custodian_alone_may_see(protect, tmp_path):
    """``--custodian-dir`` writes exact counts and losses, the path and the hash of the input, outside the release."""
    assert protect("-q", "--custodian-dir", "secret").code == 0
    said = json.loads((tmp_path / "secret" / "internal.json").read_text())

    assert (said["records"], said["suppressed"]) == (62, 2)
    assert said["loss"] == pytest.approx(2 / 62)
    assert said["path"] == str(tmp_path / "patients.csv")
    assert said["sha256"] == hashlib.sha256((tmp_path / "patients.csv").read_bytes()).hexdigest()
    assert said["manifest"]["records"]["suppressed"] == "<5"


def test_internal_is_not_written_over(protect, refused, tmp_path):
    """A folder that exists is not used for internal files; the release does not appear either."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "mine.txt").write_text("mine")

    assert "secret" in refused(protect("--custodian-dir", "secret"), new=frozenset({"secret"}))


def test_overwrite(protect, release, manifest, tmp_path):
    """``--overwrite`` replaces an earlier release, internal files included."""
    assert protect("-q", "--custodian-dir", "secret", "--overwrite").code == 0
    assert protect("-q", "--custodian-dir", "secret", "--overwrite", "-k", "10").code == 0

    assert manifest()["settings"]["k"] == 10
    assert {path.name for path in tmp_path.iterdir()} == {"patients.csv", "release", "secret"}


@pytest.mark.parametrize("mark", [";", "\t"])
def test_the_delimiter_stays(protect, data, cloister, tmp_path, mark):
    """The released file has the delimiter of the input, whatever it was; the codebook has commas."""
    data.write_text(data.read_text().replace(",", mark))
    assert protect("-q").code == 0

    lines = (tmp_path / "release" / "data.csv").read_text().splitlines()
    assert lines[0] == mark.join(["mrn", "age", "sex", "zip", "diagnosis"])
    assert (tmp_path / "release" / "codebook.csv").read_text().startswith("column,role,")
    assert cloister("verify", "release").code == 0


def test_codes_survive(release):
    """Leading zeros and trailing zeros of codes are as recorded."""
    text = (release / "data.csv").read_text()

    assert ",02130,001\n" in text
    assert ",250.10\n" in text


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["F", "M", "X", "never"]), pl.String])
def test_parquet_gives_parquet(protect, cloister, data, tmp_path, kind):
    """Parquet is released as Parquet of plain types, without dictionary types that would list suppressed values."""
    frame = pl.read_csv(data, schema_overrides={"zip": pl.String, "diagnosis": pl.String})
    path = tmp_path / "patients.parquet"
    frame.with_columns(pl.col("sex").cast(kind), pl.col("diagnosis").cast(pl.Categorical)).write_parquet(path)
    assert protect("-q", source=path).code == 0
    written = tmp_path / "release" / "data.parquet"
    schema = pq.read_schema(written)

    assert {str(field.type).removeprefix("large_") for field in schema if field.name not in ("mrn", "age")} == {
        "string"
    }
    assert (str(schema.field("mrn").type), str(schema.field("age").type)) == ("int64", "int64")  # as recorded
    assert pl.read_parquet(written).height == 60
    content = written.read_bytes()
    assert not [mark for mark in (b"never", b"99999", b"88888", b"M900") if mark in content]
    assert cloister("verify", "release", "--original", path).code == 0


def test_parquet_keeps_numbers_that_are_kept(bare, tmp_path):
    """A column that is kept has in Parquet the type that it came with."""
    path = tmp_path / "patients.parquet"
    pl.DataFrame({"sex": ["F", "M"] * 5, "height": [1.5, None] * 5, "parity": [1, 2] * 5}).write_parquet(path)
    assert bare("-k", "5", "-q", "--qi", "sex", "--keep", "height", "--sensitive", "parity", source=path).code == 0

    frame = pl.read_parquet(tmp_path / "release" / "data.parquet")
    assert frame.schema == {"sex": pl.String, "height": pl.Float64, "parity": pl.Int64}
    assert frame["height"].null_count() == 5


FOLLOWING = ["type", "order", "lower", "upper"]


def test_the_codebook_lists_released_labels_alone(release):
    """Every label that occurs is explained, and no other."""
    with (release / "codebook.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert list(rows[0]) == ["column", "role", "hierarchy", "level", "label", "meaning", *FOLLOWING]
    assert [row["label"] for row in rows if row["column"] == "sex"] == ["F", "M"]
    assert [row["label"] for row in rows if row["column"] == "zip"] == ["02130", "02131"]


def test_cells_with_delimiters_are_quoted(bare, data, cloister):
    """Commas, quotes and line breaks inside cells survive."""
    data.write_text("sex,note\n" + 'F,"a, ""b""\nc"\n' * 6)
    assert bare("-k", "5", "-q", "--qi", "sex", "--keep", "note").code == 0

    assert 'F,"a, ""b""\nc"\n' in (data.parent / "release" / "data.csv").read_text()
    assert cloister("verify", "release").code == 0


def test_formulas_are_told(bare, data):
    """Cells that a spreadsheet would run are released as they are, and their columns are named."""
    data.write_text("sex,a,b,c,d\n" + "F,=1+1,-5,x,+x\n" * 6)
    ran = bare("-k", "5", "--qi", "sex", "--undecided", "keep")

    assert "run cells of a, d as formulas" in ran.err
    assert "F,=1+1,-5,x,+x\n" in (data.parent / "release" / "data.csv").read_text()


def test_formulas_are_escaped_where_that_is_asked(bare, data, cloister):
    """With ``--escape-formulas`` no cell would be run; the release is verified, also with the original."""
    data.write_text("id,sex,a,b\n" + "".join(f"{n},F,=1+{n % 2},-5\n" for n in range(12)))
    asked = ("--id", "id", "--qi", "sex", "--sensitive", "a", "--undecided", "keep", "--escape-formulas")
    ran = bare("-k", "5", *asked, "--attack")
    folder = data.parent / "release"

    assert (ran.code, "as formulas" in ran.err) == (0, False), ran.err
    assert "F,'=1+0,-5\n" in (folder / "data.csv").read_text()
    assert cloister("verify", folder, "--original", data).code == 0
    assert cloister("attack", folder, "--original", data).code == 0


def test_formulas_are_told_to_the_recipient(bare, data, cloister):
    """The report says of which columns a cell or the name would be run; a report that does not is refused."""
    data.write_text("sex,-2+3|x,c\n" + "F,1,-2+3+cmd|' /C calc'!A0\n" * 6)
    ran = bare("-k", "5", "--qi", "sex", "--undecided", "keep")
    folder = data.parent / "release"

    assert "run cells of -2+3|x, c as formulas" in ran.err
    assert "a spreadsheet would run cells of -2+3|x, c as formulas" in (folder / "report.html").read_text()
    assert cloister("verify", folder).code == 0
    figures = read_figures(folder)
    assert figures["formulas"] == {"data.csv": ["-2+3|x", "c"], "codebook.csv": ["column"]}
    report_rewritten(folder, figures | {"formulas": {}})
    ran = cloister("verify", folder)
    assert (ran.code, "report.json does not say" in ran.err) == (1, True)


def test_a_time_limit_gives_an_answer_with_its_gap(protect, manifest):
    """With a time limit the manifest says what is proven."""
    assert protect("-q", "--time-limit", "60").code == 0

    assert manifest()["search"]["optimal"] is True
    assert manifest()["settings"]["time_limit"] == 60


def test_exhaustive_search_gives_the_same(protect, tmp_path):
    """The exhaustive search, and another seed, release the same table."""
    assert protect("-q", out="first").code == 0
    assert protect("-q", "--search", "exhaustive", "--seed", "7", out="second").code == 0

    assert (tmp_path / "first" / "data.csv").read_bytes() == (tmp_path / "second" / "data.csv").read_bytes()


def test_a_release_is_exported(release, cloister, tmp_path):
    """To the file that --out names, and as JSON what was written."""
    pytest.importorskip("pyreadstat", reason="the extra files is not installed (make .venv/installed-files)")
    found = cloister("export", release, "--out", tmp_path / "table.sav", "--json")

    assert found.json == {"out": "table.sav", "release": release.name, "renamed": {}}
    assert (tmp_path / "table.sav").stat().st_size > 0
