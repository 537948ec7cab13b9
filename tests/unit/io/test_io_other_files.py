"""Files of Excel, Stata, SPSS and SAS: read with their labels where the extra is installed, named where it is not."""

import sys
import zipfile
from datetime import date

import polars as pl
import pytest

from cloister.engines.choice import choose_engine
from cloister.errors import InputError
from cloister.io import read_table
from cloister.io.other_files import typed_texts

WHY = "the extra files is not installed (make .venv/installed-files)"
FRAME = {
    "id": [1, 2, 3],
    "sex": [1, 2, 1],
    "age": [30.5, 98.0, None],
    "note": ["x", "1", None],
    "born": [date(1990, 1, 31)] * 3,
}


PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
    'Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{sheets}</sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    "{places}</Relationships>",
    "xl/styles.xml": '<styleSheet xmlns="{main}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
    "</styleSheet>",
}
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def cell(value):
    """A cell of a sheet; a day is the number of days since the end of 1899, in the format of dates."""
    if value is None:
        return "<c/>"
    if isinstance(value, date):
        return f'<c s="1"><v>{(value - date(1899, 12, 30)).days}</v></c>'
    return f'<c t="inlineStr"><is><t>{value}</t></is></c>' if isinstance(value, str) else f"<c><v>{value}</v></c>"


def workbook(path, *sheets):
    """A workbook with these sheets of rows."""
    numbers = range(1, len(sheets) + 1)
    told = {
        "main": MAIN,
        "office": OFFICE,
        "sheets": "".join(f'<sheet name="S{n}" sheetId="{n}" r:id="s{n}"/>' for n in numbers),
        "places": f'<Relationship Id="style" Type="{OFFICE}/styles" Target="styles.xml"/>'
        + "".join(f'<Relationship Id="s{n}" Type="{OFFICE}/worksheet" Target="sheet{n}.xml"/>' for n in numbers),
    }
    with zipfile.ZipFile(path, "w") as book:
        for name, text in PARTS.items():
            book.writestr(name, text.format(**told))
        for n, rows in zip(numbers, sheets, strict=True):
            lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            book.writestr(f"xl/sheet{n}.xml", f'<worksheet xmlns="{MAIN}"><sheetData>{lines}</sheetData></worksheet>')
    return path


def test_the_first_sheet_of_a_workbook_is_read(tmp_path):
    """Whole numbers, decimals, days and texts are told apart by all rows; other sheets are told."""
    pytest.importorskip("fastexcel", reason=WHY)
    rows = [["id", "bmi", "visit", "mixed"], *([n, n / 2, date(2020, 1, n), str(n)] for n in (1, 2)), [3]]
    source = read_table(workbook(tmp_path / "clinic.xlsx", rows, rows))

    assert source.frame.to_dict(as_series=False) == {
        "id": [1, 2, 3],
        "bmi": [0.5, 1.0, None],
        "visit": [date(2020, 1, 1), date(2020, 1, 2), None],
        "mixed": ["1", "2", None],
    }
    assert source.notes == ("of the 2 sheets of clinic.xlsx the first was read",)
    assert source.name == "clinic.xlsx"


def test_texts_of_a_workbook_are_put_in_order_like_any_others(tmp_path):
    """Dates that a workbook holds as texts are read in the form that is stated."""
    pytest.importorskip("fastexcel", reason=WHY)
    path = workbook(tmp_path / "clinic.xlsx", [["visit"], ["31.12.2020"], ["NA"]])

    assert read_table(path, date_format=("dd.mm.yyyy",), missing=("NA",)).frame["visit"].to_list() == [
        "2020-12-31",
        None,
    ]


@pytest.mark.parametrize(("end", "write"), [("dta", "write_dta"), ("sav", "write_sav"), ("xpt", "write_xport")])
def test_files_of_statistics_are_read_with_their_labels(tmp_path, end, write):
    """Where all values have a label they are read as these; where only some have, as they are, and it is told."""
    pyreadstat, path = pytest.importorskip("pyreadstat", reason=WHY), tmp_path / f"trial.{end}"
    labels = {"sex": {1: "male", 2: "female"}, "age": {98: "not known"}}
    told = {} if end == "xpt" else {"variable_value_labels": labels}
    getattr(pyreadstat, write)(pl.DataFrame(FRAME), str(path), **told)
    source = read_table(path)

    assert source.frame["id"].to_list() == [1, 2, 3]
    assert source.frame["sex"].to_list() == ([1, 2, 1] if end == "xpt" else ["male", "female", "male"])
    assert source.frame["age"].to_list() == [30.5, 98.0, None]
    assert source.frame["note"].to_list() == ["x", "1", None]
    assert source.frame["born"].to_list() == [date(1990, 1, 31)] * 3
    assert source.notes == (
        ()
        if end == "xpt"
        else (
            "values were read as their labels in sex",
            "values were read as they are, since not all have a label of their own, in age",
        )
    )


@pytest.mark.parametrize("end", ["xlsx", "xls", "ods", "dta", "sav", "por", "sas7bdat", "xpt"])
def test_what_is_no_such_file_is_refused(tmp_path, end):
    """A message names the file and its program, and nothing that is in it."""
    pytest.importorskip("fastexcel", reason=WHY)
    pytest.importorskip("pyreadstat", reason=WHY)
    path = tmp_path / f"trial.{end}"
    path.write_bytes(b"secret,1\n" * 100)
    with pytest.raises(InputError, match=f"trial.{end} cannot be read as a file of") as caught:
        read_table(path)

    assert "secret" not in caught.value.message


@pytest.mark.parametrize(("end", "program"), [("xlsx", "Excel"), ("DTA", "Stata"), ("sav", "SPSS"), ("xpt", "SAS")])
def test_without_the_extra_the_message_names_it(tmp_path, monkeypatch, end, program):
    """Who lacks the readers hears what kind of file it is, and what to install."""
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    path = tmp_path / f"trial.{end}"
    path.write_bytes(b"anything")
    with pytest.raises(InputError, match=rf'file of {program}.*pip install "cloister\[files\]"'):
        read_table(path)


@pytest.mark.parametrize("end", ["rds", "RData"])
def test_files_of_r_are_named(tmp_path, end):
    """What R keeps is not read; the message says how R writes CSV."""
    (tmp_path / f"trial.{end}").write_bytes(b"anything")
    with pytest.raises(InputError, match=r'file of R.*write\.csv\(x, "trial\.csv"'):
        read_table(tmp_path / f"trial.{end}")


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path):
    """The file is looked for before its reader is."""
    with pytest.raises(InputError, match="There is no file"):
        read_table(tmp_path / "trial.sav")


def test_engines_that_read_files_refuse_them(tmp_path):
    """Files of other programs are read into memory."""
    (tmp_path / "trial.sav").write_bytes(b"\n" * 10_000_000)

    assert choose_engine("auto", tmp_path / "trial.sav", None).where == "memory"
    with pytest.raises(InputError, match="no files of SPSS"):
        choose_engine("duckdb", tmp_path / "trial.sav", None)


def test_titles_above_the_header_of_a_sheet_are_left_out(tmp_path):
    """The header is the first row with a text in each column."""
    pytest.importorskip("fastexcel", reason=WHY)
    rows = [["Register of 2020", None, None], [None, None, None], ["id", "age", "sex"], [1, 40, "F"], [2, 50, None]]
    source = read_table(workbook(tmp_path / "clinic.xlsx", rows))

    assert source.frame.to_dicts() == [{"id": 1, "age": 40, "sex": "F"}, {"id": 2, "age": 50, "sex": None}]
    assert source.notes == ("2 rows above the header of clinic.xlsx were left out",)


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1e-04", "0.5"], [0.0001, 0.5]),  # as R writes them
        (["-3.673900000080721e-4", "5.4468173500000034", None], [-3.673900000080721e-4, 5.4468173500000034, None]),
        (["1e+05", "100000"], None),  # two texts of one number
        (["12E3", "4"], None),  # may be a code
        (["250.1", "250.10"], None),
        (["12345678901234567890", "1"], None),  # no whole number has so many digits without being rounded
    ],
)
def test_texts_become_numbers_where_nothing_is_lost(texts, numbers):
    """Scientific notation is that of a number; what may be a code, or would be rounded or merged, stays text."""
    text = pl.Series("x", texts)

    assert typed_texts(text).to_list() == (texts if numbers is None else numbers)
