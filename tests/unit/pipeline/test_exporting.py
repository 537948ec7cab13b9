"""A released table as a file of another program: what it says is what the release says, or it does not appear."""

import sys
from datetime import date

import polars as pl
import pytest

import cloister as cl
from cloister.io import read_table

WHY = "the extra files is not installed (make .venv/installed-files)"
ENDS = ("xlsx", "dta", "sav")
FRAME = pl.DataFrame(
    {
        "id": range(1, 13),
        "age": [3, 4, 4, 12, 13, 14, 13, 12, 4, 3, 12, 3],
        "sex": ["F", "M"] * 6,
        "code": ["007", "250.10", "250.1"] * 4,
        "bmi": ["22.50", "23.00", None] * 4,
        "visit": [date(2020, 1, 31), None, date(2019, 2, 28)] * 4,
        "note": ["=1+1", "https://x.org", 'a "b"\nc é'] * 4,
    }
)


@pytest.fixture
def released(tmp_path):
    """A release in a folder, of the table or of one like it."""

    def write(frame=FRAME, name="release"):
        quasi = {"age": cl.intervals(5, 10), "sex": cl.suppress()}
        rest = [column for column in frame.columns if column not in ("id", *quasi)]
        told = {"qi": quasi, "sensitive": rest, "id": "id", "levels": {"age": 1, "sex": 0}}
        cl.protect_table(frame, rule=["k-anonymity=2"], **told).write(tmp_path / name)
        return tmp_path / name

    return write


def export(folder, end, name="out"):
    """Export, and return the path."""
    pytest.importorskip("xlsxwriter" if end == "xlsx" else "pyreadstat", reason=WHY)
    path = folder.parent / f"{name}.{end}"
    cl.export(folder, path)
    return path


@pytest.mark.parametrize("end", ENDS)
def test_the_file_says_what_the_release_says(released, end):
    """Numbers and days are such; texts, codes with zeros and what looks like a formula stay what they are."""
    path = export(released(), end)
    found, data = read_table(path).frame, read_table(released(name="again") / "data.csv").frame

    assert found.columns == data.columns
    assert found.select("age", "sex", "code", "note").equals(data.select("age", "sex", "code", "note"))
    assert found["bmi"].equals(data["bmi"].cast(pl.Float64))
    assert found["visit"].equals(data["visit"].str.to_date())
    assert found["id"].to_list() == [*range(1, 13)]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("end", "read"), [("dta", "read_dta"), ("sav", "read_sav")])
def test_quasi_identifiers_are_labelled_numbers_in_order(released, end, read):
    """Younger ages have smaller numbers, and columns say what they are."""
    _, facts = getattr(pytest.importorskip("pyreadstat", reason=WHY), read)(str(export(released(), end)))

    assert [*facts.variable_value_labels["age"].values()] == ["[0-4]", "[10-14]"]
    assert facts.column_labels[:3] == ["identifier", "quasi-identifier, interval", "quasi-identifier, suppress"]


@pytest.mark.parametrize("end", ENDS)
def test_equal_releases_give_equal_files(released, end, monkeypatch):
    """No file tells when it was written."""
    first, moment = export(released(), end).read_bytes(), b"2000" if end != "sav" else b"01 Jan 0000:00:00"
    second = export(released(name="again"), end, "again").read_bytes()

    assert first == second
    assert end == "xlsx" or moment in first


@pytest.mark.parametrize(
    ("name", "end", "other"),
    [
        ("home town", "dta", "home_town"),
        ("SEX", "sav", "SEX_2"),
        ("int", "dta", "int_"),
        ("by", "sav", "by_"),
        ("é.2", "dta", "e_2"),
        ("2nd", "dta", "v2nd"),
        ("x" * 40, "sav", "x" * 32),
        ("home town", "xlsx", "home town"),
    ],
)
def test_a_name_that_the_program_has_not_is_spelled_as_one_that_it_has(released, name, end, other):
    """The caller learns the other name, and the label of the column has its own."""
    folder = released(FRAME.rename({"note": name}))
    pytest.importorskip("xlsxwriter" if end == "xlsx" else "pyreadstat", reason=WHY)

    assert cl.export(folder, folder.parent / f"out.{end}") == ({} if name == other else {name: other})
    found = read_table(folder.parent / f"out.{end}")
    assert found.frame.columns[-1] == other
    assert name == other or found.labels[other].startswith(f"{name}: ")


def test_numbers_of_a_workbook_have_the_digits_that_excel_keeps(released):
    """A mean of seventeen digits is written with fifteen."""
    folder = released(FRAME.with_columns(note=pl.Series([0.1 + 0.2, 2 / 3, 7e30 / 9] * 4)))
    found = read_table(export(folder, "xlsx")).frame["note"]

    assert {*found} == {0.3, 0.666666666666667, float(f"{7e30 / 9:.15g}")}


def test_what_does_not_come_back_does_not_appear(released, tmp_path):
    """Texts that SPSS would cut are refused, by column and without the text."""
    folder = released(FRAME.with_columns(note=pl.lit("marker  ")))
    with pytest.raises(cl.InputError, match="Column 'note' does not come back") as caught:
        export(folder, "sav")

    assert "marker" not in caught.value.message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release"]


def test_a_release_that_does_not_hold_is_not_exported(released):
    """The folder is verified before anything of it is handed on."""
    folder = released()
    (folder / "data.csv").write_text((folder / "data.csv").read_text().replace("[0-4]", "[5-9]", 1))
    with pytest.raises(cl.GuaranteeViolation):
        export(folder, "sav")


def test_other_places_and_releases_are_refused(released, tmp_path):
    """Not over a file, not into a release, not under another ending, and tables alone."""
    pytest.importorskip("pyreadstat", reason=WHY)
    folder = released()
    (tmp_path / "there.sav").write_text("")
    cl.protect_codes(cl.CodeSets.from_records([["a"], ["a"]]), k=2, m=1).write(tmp_path / "codes")
    for source, place, why in (
        (folder, "there.sav", "exists already"),
        (folder, "release/out.sav", "inside a release"),
        (folder, "out.xpt", "must end in one of .dta, .sav, .xlsx"),
        (tmp_path / "codes", "out.sav", "no release of one table"),
    ):
        with pytest.raises(cl.InputError, match=why):
            cl.export(source, tmp_path / place)


@pytest.mark.parametrize("end", ENDS)
def test_without_the_extra_the_message_names_it(released, tmp_path, monkeypatch, end):
    """Who lacks the writers hears what to install."""
    folder = released()
    for name in ("xlsxwriter", "pyreadstat"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(cl.InputError, match=r'pip install "cloister\[files\]"'):
        cl.export(folder, tmp_path / f"out.{end}")
