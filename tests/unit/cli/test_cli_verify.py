"""``cloister verify``: it passes what protect wrote, and nothing that was changed since."""

import csv
import io
import json

import polars as pl
import pytest
from tests.made.patients import COMMON, HEADER
from tests.made.tampering import forged
from tests.unit.cli.conftest import OPTIONS, PATIENTS


def rewrite(folder, change):
    """Change the rows of a released data file, and seal it again."""
    with (folder / "data.csv").open(newline="") as file:
        head, *rows = list(csv.reader(file))
    rows = change(rows)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    (folder / "data.csv").write_text(text.getvalue())
    forged(folder)


@pytest.fixture
def coarse(released, data):
    """A release whose ages and ZIP codes are generalized."""
    words = ("protect", "table", "patients.csv", *OPTIONS, "--levels", "age=1,sex=0,zip=2")
    return released(*words, **{"patients.csv": PATIENTS})


ORIGINAL = ("--original", "patients.csv")


@pytest.mark.parametrize("words", [(), ORIGINAL, ("-k", "5"), ("-k", "2"), ("-k", "5", "--qi", "age", "--qi", "sex")])
def test_what_was_released_holds(cloister, coarse, words):
    """A release passes, from its files alone, against its original, and against what a recipient may ask."""
    ran = cloister("verify", coarse, *words)

    assert (ran.code, ran.err) == (0, "")
    assert "records" in ran.out


def test_a_line_for_each_guarantee_and_one_for_the_rest(cloister, coarse):
    """What holds is stated in the words of the report, then what was not checked; ``--verbose`` lists every check."""
    short, long = (cloister("verify", coarse, *words).out.splitlines() for words in ((), ("-v",)))

    assert "shared by at least" in short[1]
    assert short[2:] == [
        "  losses are estimates, which were not recomputed",
        f"  {len(long) - 2} checks: all hold; -v lists them.",
    ]
    assert len(long) > 10
    assert long[0] == short[0]


def test_json(cloister, coarse):
    """``--json`` says what was checked, in one object."""
    ran = cloister("verify", coarse, "--json")

    assert (ran.code, ran.err) == (0, "")
    assert ran.json["holds"] is True
    assert len(ran.json["checks"]) > 5


def test_quiet(cloister, coarse):
    """``-q`` says nothing where the release holds."""
    ran = cloister("verify", coarse, "-q")

    assert (ran.code, ran.out, ran.err) == (0, "", "")


def put_back(rows):
    """One generalized age put back to the value it had."""
    return [[row[0], "30", *row[2:]] if row[0] == "1" else row for row in rows]


def renumbered(rows):
    """Rows with ids from 1 on."""
    return [[str(number), *row[1:]] for number, row in enumerate(rows, 1)]


CHANGES = {
    "one cell put back": (put_back, "fewer than 5 records"),
    "one row removed": (lambda rows: rows[:-1], "as many records as release.json states (1 violation)"),
    "two rows swapped": (lambda rows: [rows[-1], *rows[1:-1], rows[0]], "not so: rows are sorted"),
    "an original id": (lambda rows: [["M000", *rows[0][1:]], *rows[1:]], "not so: ids are 1, 2, 3"),
    "no rows": (lambda rows: [], "no records"),
    "a label nobody knows": (
        lambda rows: [[*row[:1], "[99-99]", *row[2:]] if row[1] == rows[-1][1] else row for row in rows],
        "codebook.csv does not say what the files say",
    ),
}


@pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES)
def test_changed_data_do_not_hold(cloister, coarse, change, words):
    """Data that were changed are refused with exit 1, even where the hashes were made to fit."""
    rewrite(coarse, change)
    ran = cloister("verify", coarse)

    assert (ran.code, ran.out) == (1, "")
    assert words in ran.err
    assert "Traceback" not in ran.err


def raise_k(m):
    """Promise 31 instead of 5, wherever a manifest says so."""
    m["guarantee"]["rules"][0].update(k=31)
    m["settings"].update(k=31, rules=["k-anonymity=31"])
    m["records"].update({"in": f"<{m['records']['released'] + 31}", "suppressed": "<31"})


@pytest.mark.parametrize("ids", ["number", "drop"])
def test_a_large_release_of_patients_with_several_records(bare, cloister, data, tmp_path, monkeypatch, ids):
    """Records of patients are compared one by one, however many they are, and never merged into runs."""
    header, *rows = data.read_text().splitlines()
    whose = [f"M{place // 2},{row.partition(',')[2]}" for place, row in enumerate(rows)]
    data.write_text("\n".join([header, *whose, ""]))
    qi = ("--qi", "age=interval:10,50", "--qi", "sex=suppress", "--qi", "zip=suppress")
    assert (
        bare(
            *qi,
            "--patient",
            "mrn",
            "--ids",
            ids,
            "--drop",
            "name",
            "--keep",
            "diagnosis",
            "--suppression",
            "0.2",
            "-k",
            "3",
        ).code
        == 0
    )
    monkeypatch.setattr("cloister.io.batches.LARGE", 1)
    monkeypatch.setattr("cloister.io.batches.LARGE_BYTES", 1)

    assert cloister("verify", tmp_path / "release", "--original", data).code == 0
    assert cloister("verify", tmp_path / "release").code == (0 if ids == "number" else 1)


@pytest.mark.parametrize("name", ["nowhere", "patients.csv", "."])
def test_what_is_no_release(cloister, data, name):
    """A place that is no release is bad input."""
    assert cloister("verify", name).code == 2


MORE = [("-k", "31"), ("-k", "31", "--qi", "sex"), ("-k", "11", "--qi", "age", "--qi", "sex", "--qi", "diagnosis")]


@pytest.mark.parametrize("words", MORE, ids=" ".join)
def test_a_recipient_may_expect_more(cloister, coarse, words):
    """``-k`` and ``--qi`` are the recipient's own expectation, whatever the manifest says."""
    ran = cloister("verify", coarse, *words)

    assert (ran.code, f"fewer than {words[1]} records" in ran.err) == (1, True)


def test_an_expected_column_that_is_not_there(cloister, coarse):
    """An expected column must be released."""
    ran = cloister("verify", coarse, "--qi", "agee")

    assert ran.code == 2
    assert "Did you mean 'age'?" in ran.err


def test_an_expectation_of_a_release_with_stars(cloister, protect, data):
    """Rows of ``*`` are nobody: they are no class that fails an expectation."""
    data.write_text(HEADER + "".join(COMMON) + "".join(f"M90{i},N,{70 + i},F,{i}9999,00{i}\n" for i in range(6)))
    assert protect("-q", "--keep-suppressed", "--suppression", "0.1", "-k", "6").code == 0

    assert cloister("verify", "release").code == 0
    assert cloister("verify", "release", *ORIGINAL).code == 0
    assert cloister("verify", "release", "-k", "10").code == 0
    assert cloister("verify", "release", "-k", "11").code == 1


def test_kept_values_that_are_not_those_of_the_original(cloister, coarse):
    """Sensitive values moved from one record to another are found by comparing with the original."""

    def swap(rows):
        first = next(row for row in rows if row[4] == "001")
        last = next(row for row in reversed(rows) if row[4] == "V51")
        assert first[1] != last[1]
        first[4], last[4] = last[4], first[4]
        return renumbered(sorted(rows, key=lambda row: row[1:]))

    rewrite(coarse, swap)
    ran = cloister("verify", coarse, *ORIGINAL)

    assert cloister("verify", coarse).code == 0
    assert ran.code == 1
    assert "4 combinations of values differ" in ran.err


@pytest.fixture
def hierarchy(tmp_path):
    """A hierarchy file for ZIP codes."""
    (tmp_path / "hierarchies").mkdir()
    path = tmp_path / "hierarchies" / "zip.csv"
    path.write_text("02130;0213*;*\n02131;0213*;*\n99999;99999;*\n88888;88888;*\n")
    return path


def test_original_with_hierarchy_files(cloister, bare, hierarchy):
    """Hierarchies that came from files are given again, by ``--qi`` or by their folder; without, that is said."""
    assert bare("-k", "5", "-q", "--undecided", "drop", "--qi", f"zip={hierarchy}@1", "--qi", "sex").code == 0

    assert cloister("verify", "release", *ORIGINAL, "--qi", f"zip={hierarchy}", "--qi", "sex").code == 0
    assert cloister("verify", "release", *ORIGINAL, "--hierarchies", hierarchy.parent).code == 0
    ran = cloister("verify", "release", *ORIGINAL)
    assert ran.code == 2
    assert "--qi zip=FILE" in ran.err
    hierarchy.write_text("02130;0213*;*\n02131;0214*;*\n99999;99999;*\n88888;88888;*\n")
    assert cloister("verify", "release", *ORIGINAL, "--hierarchies", hierarchy.parent).code == 1


def test_original_with_missing_texts(cloister, bare, data):
    """``--missing`` of the original is given again."""
    data.write_text("sex,zip\n" + "F,?\n" * 5 + "F,02130\n" * 5)
    assert bare("-k", "5", "-q", "--qi", "sex", "--qi", "zip=prefix:5", "--missing", "?").code == 0

    assert cloister("verify", "release", *ORIGINAL, "--missing", "?").code == 0
    assert cloister("verify", "release", *ORIGINAL).code == 1


def test_a_refusal_as_json(cloister, coarse):
    """With ``--json`` a release that does not hold is an object too."""
    rewrite(coarse, put_back)
    ran = cloister("verify", coarse, "--json")

    assert (ran.code, ran.err) == (1, "")
    assert ran.json["error"]["kind"] == "guarantee-violation"


def test_a_data_file_that_cannot_be_read(cloister, coarse):
    """A data file that is no table any more does not hold."""
    (coarse / "data.csv").write_bytes(b'a,b\n"1\n')

    assert cloister("verify", coarse).code == 1


def test_files_named_outside_the_folder(cloister, coarse, tmp_path):
    """A manifest cannot make the verifier look at files elsewhere."""
    (tmp_path / "elsewhere.csv").write_text("x")
    forged(coarse, lambda m: m["files"].update({"../elsewhere.csv": "sha256:0"}))
    ran = cloister("verify", coarse)

    assert ran.code == 1
    assert "a release says: files" in ran.err


def test_a_second_data_file_does_not_belong(cloister, coarse):
    """A manifest cannot list more files than a release of a table has, nor make room for other data."""
    (coarse / "data.parquet").write_bytes(b"M000")
    (coarse / "notes.csv").write_text("M000 is in class 3")
    forged(coarse, lambda m: m["files"].update({"data.parquet": "", "notes.csv": ""}))
    forged(coarse)
    ran = cloister("verify", coarse)

    assert ran.code == 1
    assert "must list data.csv and codebook.csv, no more" in ran.err
    assert "1 file does not belong to the release" in ran.err


def test_a_manifest_by_a_link_is_none(cloister, coarse, tmp_path):
    """The manifest stands in the folder itself."""
    (coarse / "release.json").rename(tmp_path / "elsewhere.json")
    (coarse / "release.json").symlink_to(tmp_path / "elsewhere.json")

    assert cloister("verify", coarse).code == 2


def with_k(k, *, everywhere=False):
    """A change of k, in the rules alone or wherever it is told."""

    def change(m):
        m["guarantee"]["rules"] = [{"model": "k-anonymity", "k": k}]
        if everywhere:
            m["settings"].update(k=k, rules=[f"k-anonymity={k}"])

    return change


FORGED = {
    "k raised": (raise_k, "fewer than 31 records", 1),
    "k of 1 everywhere": (with_k(1, everywhere=True), "a release says: guarantee.rules", 1),
    "k lowered in the rules": (with_k(3), "settings.k in release.json does not follow", 1),
    "released raised": (lambda m: m["records"].update({"released": 61, "in": "<66"}), "as many records as", 1),
    "records without secrets": (
        lambda m: m["records"].update({"in": 62, "suppressed": 2}),
        "should follow from the",
        1,
    ),
    "negative records": (lambda m: m["records"].update({"in": 55, "suppressed": -5}), "a release says: records", 1),
    "a column renamed": (lambda m: m["columns"].update(age2=m["columns"].pop("age")), "columns", 1),
    "two ids": (lambda m: m["columns"]["diagnosis"].update(role="identifier", ids="number"), "says: columns", 1),
    "files not listed": (lambda m: m["files"].clear(), "3 files do not belong", 1),
    "other schema": (lambda m: m.update(schema=1), "reads 2 and 3", 2),
    "other shape": (lambda m: m.update(shape="images"), "not a release of a shape", 2),
    "other ids": (lambda m: m["settings"].update(ids="hmac"), "a release says: settings.ids", 1),
    "no suppression allowed": (lambda m: m["settings"].update(suppression=0.0), "says: settings.suppression", 1),
    "other levels": (lambda m: m["search"]["levels"].update(age=0), "a release says: search.levels", 1),
    "a released column hidden": (lambda m: m["settings"]["not_released"].append("age"), "settings.not_released", 1),
    "less risk": (lambda m: m["risk"].update(highest=0.01), "the risks in release.json", 1),
    "fewer labels": (lambda m: m["utility"]["columns"]["age"].update(labels=1), "utility.columns.age.labels in", 1),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("change", "words", "code"), FORGED.values(), ids=FORGED)
def test_forged_manifests_do_not_hold(cloister, coarse, change, words, code):
    """What a manifest says must agree with itself and with the data, though hashes and report were made to fit."""
    forged(coarse, change)
    ran = cloister("verify", coarse)

    assert (ran.code, ran.out) == (code, ""), ran
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_a_unique_record_slipped_in(cloister, coarse):
    """A record that stands alone is found, whatever k the rules of the manifest were lowered to."""
    rewrite(coarse, lambda rows: renumbered(sorted([*rows, ["", "*", "X", "*", "001"]], key=lambda row: row[1:])))
    forged(coarse, lambda m: [with_k(1)(m), m["records"].update(released=61)])
    assert cloister("verify", coarse).code == 1
    forged(coarse, lambda m: with_k(2)(m))

    assert cloister("verify", coarse).code == 1


@pytest.fixture
def exact(protect, tmp_path):
    """A release that suppressed nothing, so that its losses are exact."""
    assert protect("-q", "--levels", "age=2,sex=1,zip=5").code == 0
    assert json.loads((tmp_path / "release" / "release.json").read_bytes())["utility"]["exact"]
    return tmp_path / "release"


def test_exact_losses_are_recomputed(cloister, exact):
    """Exact losses follow from each other; with the original they are recomputed."""
    assert cloister("verify", exact, *ORIGINAL).code == 0
    forged(exact, lambda m: m["utility"]["losses"].update(arx=0.1))
    ran = cloister("verify", exact)
    assert ran.code == 1
    assert "does not: utility.losses.arx." in ran.err

    def halve(m):
        m["utility"].update(loss=0.5, losses=m["utility"]["losses"] | {"iyengar": 0.5, "arx": 0.5})
        for column in m["utility"]["columns"].values():
            column["loss"] = 0.5

    forged(exact, halve)
    assert cloister("verify", exact).code == 0
    ran = cloister("verify", exact, *ORIGINAL)
    assert ran.code == 1
    assert "utility.columns.age.loss" in ran.err


def test_a_number_kept_back_must_be_small(cloister, exact):
    """``<k`` stands for at least one suppressed record: with the original that is counted."""
    forged(exact, lambda m: [m["records"].update({"in": "<67", "suppressed": "<5"}), m["utility"].update(exact=False)])

    assert cloister("verify", exact).code == 0
    ran = cloister("verify", exact, *ORIGINAL)
    assert ran.code == 1
    assert "it should be none or more" in ran.err


@pytest.mark.parametrize("mark", [":", "/", "~", ";", "\t", "|"])
def test_any_delimiter(cloister, protect, data, mark):
    """A release is read with the delimiter it was written with, which its manifest names."""
    data.write_text(data.read_text().replace(",", mark))
    assert protect("-q", "--delimiter", mark).code == 0

    assert cloister("verify", "release", "-q").code == 0


@pytest.mark.parametrize("delimiter", [";", '"', "", None])
def test_a_delimiter_that_is_not_the_one(cloister, coarse, delimiter):
    """Data cannot be read in another way than they were written."""
    forged(coarse, lambda m: m["settings"].update(delimiter=delimiter))

    assert cloister("verify", coarse).code == 1


@pytest.mark.parametrize(
    "spec", ["hierarchies/zip.csv", "suppress/../hierarchies/zip.csv", "icd9/zip.csv", "/etc/passwd"]
)
@pytest.mark.parametrize("kind", ["file", "prefix"])
def test_a_manifest_names_no_file_to_open(cloister, coarse, hierarchy, spec, kind):
    """Hierarchies by the words of a manifest are builders; what might be a file of this machine is not opened."""
    (hierarchy.parent.parent / "suppress").mkdir()
    forged(
        coarse, lambda m: [m["settings"]["hierarchies"].update(zip=spec), m["columns"]["zip"].update(hierarchy=kind)]
    )
    ran = cloister("verify", coarse, *ORIGINAL)

    assert ran.code == 1
    assert "a release says: settings.hierarchies" in ran.err


def test_keyed_ids(cloister, protect, tmp_path):
    """A release whose ids are keyed hashes holds beside its original."""
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    assert protect("-q", "--levels", "age=1,sex=0,zip=2", "--ids", f"hmac:{key}").code == 0

    assert cloister("verify", "release", *ORIGINAL).code == 0


@pytest.fixture
def in_parquet(protect, data, tmp_path):
    """A release in Parquet, where the sex of some patients is missing."""
    source = tmp_path / "patients.parquet"
    table = pl.read_csv(data, infer_schema=False).with_columns(pl.col("age").cast(pl.Int64))
    table.with_columns(pl.col("sex").replace("M", None)).write_parquet(source)
    assert protect("-q", source=source).code == 0
    return tmp_path / "release"


def with_metadata(path):
    """The same table, with text beside its columns."""
    pl.read_parquet(path).write_parquet(path, statistics=False, metadata={"note": "M001 is the mayor"})


def with_an_empty_text(path):
    """One sex that is missing put to an empty text: to whoever reads the file, a class of one."""
    frame = pl.read_parquet(path)
    lone = frame["sex"].is_null().arg_true()[0]
    texts = ["" if row == lone else label for row, label in enumerate(frame["sex"])]
    frame.with_columns(pl.Series("sex", texts)).lazy().sink_parquet(path, statistics=False, row_group_size=1 << 18)


def with_bytes_between(path):
    """Bytes that no reader of Parquet looks at."""
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little") + 8
    path.write_bytes(content[:-length] + b"M001 is the mayor" + content[-length:])


@pytest.mark.parametrize("change", [with_metadata, with_an_empty_text, with_bytes_between])
def test_parquet_carries_the_table_and_nothing_else(cloister, in_parquet, change):
    """What reads as the same table in other bytes is refused: text beside columns, other missing values."""
    path = in_parquet / "data.parquet"
    assert cloister("verify", "release", "-k", "5").code == 0
    change(path)
    forged(in_parquet)
    ran = cloister("verify", "release", "-k", "5")

    assert ran.code == 1
    assert "data.parquet is not written in the one way there is" in ran.err
    assert "mayor" not in ran.err


def test_parquet_of_another_polars_is_not_passed(cloister, in_parquet):
    """Bytes of another version of Polars cannot be compared: that is reported, and does not hold unless accepted."""
    with_metadata(in_parquet / "data.parquet")
    forged(in_parquet, lambda manifest: manifest["machine"].update(polars="1.0.0"))
    ran = cloister("verify", "release")

    assert ran.code == 1
    assert "another version of Polars wrote them" in ran.err
    assert cloister("verify", "release", "--accept-unchecked", "bytes").code == 0


@pytest.mark.parametrize(("name", "code"), [("0.0.9", 0), ("99", 0), ("", 1), (None, 1), (0.1, 1), ("the newest", 1)])
def test_the_schema_decides_and_not_the_version(coarse, cloister, name, code):
    """A release that another version wrote is checked by its schema; its version must be one."""
    forged(coarse, lambda manifest: manifest.update(cloister=name))
    ran = cloister("verify", coarse)

    assert ran.code == code
    assert ("a release says: cloister" in ran.err) == (code == 1)
