"""Lists of codes are read as they stand, from every layout, and what is wrong is said without a value."""

import gzip

import polars as pl
import pytest

from cloister.errors import InputError
from cloister.io import CodeColumns
from cloister.io.codes import code_lists
from cloister.io.csv import Source
from cloister.sources import read_code_lists

WIDE = "id,codes\n7,001 250.10\n8,V51\n"
LONG = "id,code\n7,001\n7,250.10\n8,V51\n"


@pytest.fixture
def written(tmp_path):
    """Write a file and return its path."""

    def write(content, name="codes.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_wide(written):
    """One patient a line: the codes stay text."""
    source = read_code_lists(written(WIDE))

    assert source.layout == "wide"
    assert source.cells.to_list() == ["001 250.10", "V51"]
    assert source.ids.to_list() == ["7", "8"]


def test_long(written):
    """One code a line, for whom the id says."""
    source = read_code_lists(written(LONG))

    assert source.layout == "long"
    assert source.cells.to_list() == ["001", "250.10", "V51"]
    assert source.ids.to_list() == ["7", "7", "8"]


def test_codes_alone(written):
    """One patient a line without ids; that each is another patient is said to be assumed."""
    source = read_code_lists(written("codes\n001 250.10\nV51\n"))

    assert source.ids is None
    assert any("assumed" in note for note in source.notes)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(written, delimiter):
    """The delimiter is detected."""
    source = read_code_lists(written(WIDE.replace(",", delimiter)))

    assert source.delimiter == delimiter
    assert source.cells.to_list() == ["001 250.10", "V51"]


def test_gzip(written):
    """A gzip'd file is read like a plain one."""
    source = read_code_lists(written(gzip.compress(WIDE.encode()), "codes.csv.gz"))

    assert source.cells.to_list() == ["001 250.10", "V51"]


def test_parquet(tmp_path):
    """Parquet in both layouts; whole numbers are taken as text."""
    wide, long = tmp_path / "wide.parquet", tmp_path / "long.parquet"
    pl.DataFrame({"person_id": [1, 2], "codes": ["001 002", "003"]}).write_parquet(wide)
    pl.DataFrame({"person_id": [1, 2], "condition_concept_id": [4329847, 12]}).write_parquet(long)

    assert read_code_lists(wide).cells.to_list() == ["001 002", "003"]
    assert read_code_lists(long).cells.to_list() == ["4329847", "12"]
    assert read_code_lists(long).ids.to_list() == ["1", "2"]


@pytest.mark.parametrize("column", ["id", "patient_id", "person_id", "subject_id", "member_id"])
@pytest.mark.parametrize("code", ["code", "icd9", "icd10", "condition_concept_id"])
def test_usual_names_are_found_and_said(written, column, code):
    """Columns with the usual names are taken, and which ones is told."""
    source = read_code_lists(written(LONG.replace("id,code", f"{column},{code}")))

    assert (source.columns.id, source.columns.code) == (column, code)
    assert f"the column '{column}' was taken as id" in source.notes
    assert f"the column '{code}' was taken as code" in source.notes


def test_named_columns(written):
    """Columns can be named; those left over are not released, and listed."""
    path = written("who,what,codes,ward\n7,001 002,x,A\n8,003,y,B\n")
    source = read_code_lists(path, columns=CodeColumns(id="who", codes="what"))

    assert source.cells.to_list() == ["001 002", "003"]
    assert source.not_released == ("codes", "ward")
    assert "columns not released: codes, ward" in source.notes
    assert not any("taken" in note for note in source.notes)


REFUSED = {
    "no codes": ("id,age\n1,2\n", {}, "has no column of codes"),
    "lists columns": ("id,age\n1,2\n", {}, "Its columns: id, age"),
    "no header": ("001 250.10\nV51\n", {}, "its first line may be a record"),
    "both layouts": ("id,code,codes\n1,2,3\n", {}, "Name the one to use"),
    "both named": ("id,code,codes\n1,2,3\n", {"code": "code", "codes": "codes"}, "Give one"),
    "no usual name": ("who,what\n1,2\n", {"id": "wo"}, "its first line may be a record"),
    "long without id": ("code,age\n1,2\n", {}, "Name it with id"),
    "one code a row, of nobody": (
        "nr,diagnosis\n1,a\n1,b\n2,a\n",
        {"codes": "diagnosis"},
        "each row would count as another patient",
    ),
    "unknown column": (WIDE, {"codes": "cods"}, "Did you mean 'codes'?"),
    "one column twice": (WIDE, {"id": "codes", "codes": "codes"}, "both the id and the codes"),
    "repeated id": (WIDE + "7,V51\n", {}, "3 lines and 2 distinct values of 'id'"),
    "missing id": (WIDE + ",V51\n", {}, "the first is record 3"),
    "missing id, long": (LONG + ",V51\n", {}, "the first is record 4"),
}


@pytest.mark.parametrize(("content", "columns", "words"), REFUSED.values(), ids=REFUSED)
def test_refused(written, content, columns, words):
    """What cannot be used is refused with the place of the defect."""
    with pytest.raises(InputError, match=None) as caught:
        read_code_lists(written(content), columns=CodeColumns(**columns))

    assert words in caught.value.message


def test_a_file_without_header_is_refused_without_its_first_patient(written):
    """The first line of a file without a header is a patient, and is not shown."""
    for line in ("SECRET.1 SECRET.2", "SECRET7,SECRET.00 401.9", "SECRET7,SECRET.00", "id,SECRET.00 401.9", "SECRET7"):
        for columns in (
            CodeColumns(),
            CodeColumns(codes="SECRET8"),
            CodeColumns(id="SECRE"),
            CodeColumns(code="other"),
        ):
            with pytest.raises(InputError) as caught:
                read_code_lists(written(f"{line}\n1,V51\n" if "," in line else f"{line}\nV51\n"), columns=columns)
            said = caught.value.message.replace(f"{columns.codes!r}", "").replace(f"{columns.id!r}", "")
            assert "SECRE" not in said


def test_decimal_numbers_are_refused(tmp_path):
    """Numbers with decimals have lost the text that codes are."""
    path = tmp_path / "codes.parquet"
    pl.DataFrame({"id": [1, 2], "code": [250.1, 401.9]}).write_parquet(path)
    with pytest.raises(InputError, match="Export it as text"):
        read_code_lists(path)


def test_the_source_shows_no_values(written):
    """What was read says how much it is, and not what."""
    assert repr(read_code_lists(written(WIDE))) == "CodeSource('codes.csv', wide, 2 lines)"


FEW_LISTS = ["a b", "a c", "a b", "a c"]
ROWS_OF_A_PATIENT = {
    "a name of patients": ({"USUBJID": ["a", "a", "b"], "codes": ["1 2", "3 4", "5 6"]}, "Values of 'USUBJID' repeat"),
    "one patient": ({"ID": ["a", "a"], "codes": ["1 2", "3 4"]}, "Values of 'ID' repeat"),
    "names of diagnoses": ({"who": ["a", "a", "b", "c"], "codes": ["sore throat"] * 3 + ["rash"]}, "seems to have one"),
    "single codes": ({"who": ["a", "a", "b"], "codes": ["1", "2", "3"]}, "has one code"),
}
ROWS_ARE_PATIENTS = {
    "lists that differ": {"age": ["4", "4", "5"], "codes": ["1 2", "3 4", "5 6"]},
    "few lists": {"USUBJID": ["a", "b", "c", "d"], "age": ["4", "4", "5", "6"], "codes": FEW_LISTS},
    "few lists, next to groups": {"sex": [*"fmfm"] * 20, "codes": FEW_LISTS * 20},
    "one code of each": {"mrn": ["a", "b", "c"], "codes": ["1", "1", "2"]},
}


@pytest.mark.parametrize("name", ROWS_OF_A_PATIENT)
def test_rows_of_one_patient_are_not_patients(name):
    """Without an id each row would count as a patient, which a file that shows otherwise does not get."""
    columns, said = ROWS_OF_A_PATIENT[name]
    source = Source(pl.DataFrame(columns), "csv", ",", "utf-8", "codes.csv")
    with pytest.raises(InputError, match=said):
        code_lists(source, CodeColumns(codes="codes"))


@pytest.mark.parametrize("name", ROWS_ARE_PATIENTS)
def test_rows_that_may_be_patients_are(name):
    """Another column may repeat, such as the age, and an id by its name that does not repeat settles it."""
    source = Source(pl.DataFrame(ROWS_ARE_PATIENTS[name]), "csv", ",", "utf-8", "codes.csv")
    assert code_lists(source, CodeColumns(codes="codes")).ids is None


def test_a_column_of_a_first_line_that_may_be_a_record_is_not_proposed():
    """The name of the column could be that of a patient."""
    source = Source(pl.DataFrame({"Miller": ["Smith", "Smith"], "asthma": ["rash", "gout"]}), "csv", ",", "utf-8", "x")
    with pytest.raises(InputError, match='id="COLUMN"') as raised:
        code_lists(source, CodeColumns(codes="asthma"))
    assert "Miller" not in str(raised.value)


def test_a_header_alone_settles_nothing():
    """An engine asks before it has read a row: a column called after patients may repeat."""
    header = pl.DataFrame(schema={"USUBJID": pl.String, "codes": pl.String})
    with pytest.raises(InputError, match="no column is given as the id"):
        code_lists(Source(header, "csv", ",", "utf-8", "codes.csv"), CodeColumns(codes="codes"))
