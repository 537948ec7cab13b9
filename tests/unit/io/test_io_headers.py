"""First lines as programs write them: delimiters that they state, comments, row indexes, a comma too many."""

import pytest

from cloister.errors import InputError
from cloister.hierarchy import hierarchy_file
from cloister.io import read_table

PLAIN = [{"age": "30", "sex": "F"}, {"age": "40", "sex": "M"}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age,sex,\n30,F\n40,M\n", "ends in a delimiter"),
        ("age;sex;\r\n30;F\r\n40;M\r\n", "ends in a delimiter"),
        ('"","age","sex"\n"1","30","F"\n"2","40","M"\n', "numbers the rows"),
        (",age,sex\n0,30,F\n1,40,M\n", "numbers the rows"),
        ("Unnamed: 0,age,sex\n0,30,F\n1,40,M\n", "numbers the rows"),
        ("# of a registry\n# 2024\nage,sex\n30,F\n40,M\n", "2 lines before the header"),
        ("sep=;\nage;sex\n30;F\n40;M\n", ""),
        ('"sep=|"\r\nage|sex\r\n30|F\r\n40|M\r\n', ""),
    ],
)
def test_files_of_other_programs_are_read_and_it_is_noted(text, words, tmp_path):
    """What is no data is not read as data, and the reader is told."""
    (tmp_path / "some.csv").write_bytes(text.encode())
    found = read_table(tmp_path / "some.csv")

    assert found.frame.to_dicts() == PLAIN
    assert words in " ".join(found.notes)


@pytest.mark.parametrize(
    ("name", "kept"), [("", "row_index"), ("Unnamed: 0", "Unnamed: 0")], ids=["without a name", "as pandas calls it"]
)
def test_a_row_index_is_kept_where_that_is_asked(name, kept, tmp_path):
    """A first column that numbers the rows is a column like any other, under its name or that of the option."""
    (tmp_path / "some.csv").write_text(f"{name},age,sex\n7,30,F\n8,40,M\n")
    found = read_table(tmp_path / "some.csv", row_index="keep")

    assert found.frame.to_dicts() == [{kept: place} | row for place, row in zip(("7", "8"), PLAIN, strict=True)]
    assert found.notes == ()


def test_a_kept_row_index_does_not_hide_a_column_of_that_name(tmp_path):
    """Where there is a column of the name that it gets, it gets another."""
    (tmp_path / "some.csv").write_text(",row_index,sex\n7,1,F\n8,2,M\n")

    assert read_table(tmp_path / "some.csv", row_index="keep").frame.columns == ["row_index_2", "row_index", "sex"]


@pytest.mark.parametrize(
    ("text", "words"),
    [(",age\n1,30\n1,40\n", "column 1 .* has no name"), ("age,sex,\n30,F,x\n40,M\n", "has 2 cells, the header has 3")],
)
def test_what_may_be_data_is_refused(text, words, tmp_path):
    """A column without a name whose values repeat may be data; so is a cell below an empty name."""
    (tmp_path / "some.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        read_table(tmp_path / "some.csv")


def test_a_header_that_begins_with_a_hash_is_one(tmp_path):
    """Tools of genetics write #CHROM as the name of a column."""
    (tmp_path / "some.csv").write_text("#CHROM,POS\n1,7\n2,9\n")
    assert read_table(tmp_path / "some.csv").frame.columns == ["#CHROM", "POS"]


def test_a_hierarchy_file_with_names_of_columns_is_refused_with_the_cure(tmp_path):
    """The line to remove is named; one more column would make the names a value."""
    (tmp_path / "age.csv").write_text("age;level1;level2\n18;10-19;*\n20;20-29;*\n")
    with pytest.raises(InputError, match=r"Line 1 looks like names of columns.* Remove it"):
        hierarchy_file(tmp_path / "age.csv")


def test_values_written_otherwise_in_a_hierarchy_are_counted(tmp_path):
    """Case, spaces and decimal zeros are named as the reason."""
    (tmp_path / "state.csv").write_text("ny;*\n34;*\nMA;*\n")
    with pytest.raises(InputError, match="2 of them stand there written otherwise"):
        hierarchy_file(tmp_path / "state.csv").bind("state", ["NY", "34.0", "TX", "MA"])
