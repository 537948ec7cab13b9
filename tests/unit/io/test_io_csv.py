"""What is read from CSV, and what is refused."""

import csv
import io
import random
import re
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.errors import InputError
from cloister.io import read_table


def written(tmp_path: Path, text: str, name: str = "data.csv") -> Path:
    """A new file of that content."""
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


def rows(tmp_path: Path, text: str, **options: str) -> list[tuple[str | None, ...]]:
    """The records of a CSV file of that content."""
    return read_table(written(tmp_path, text), **options).frame.rows()


def refusal(tmp_path: Path, text: str, **options: str) -> InputError:
    """The error with which the file is refused; it names the file."""
    with pytest.raises(InputError) as caught:
        read_table(written(tmp_path, text), **options)
    assert caught.value.file == "data.csv"
    return caught.value


def test_cells_stay_as_written(tmp_path):
    """Codes, leading zeros, numbers, booleans and spaces are text, letter for letter."""
    cells = ["001", "250.10", "V51", "E95", "1e5", "true", "NA", "?", "NaN", "null", " x ", "2020-01-02", "#1", "'a'"]

    source = read_table(written(tmp_path, "code,n\n" + "".join(f"{cell},1\n" for cell in cells)))

    assert source.frame["code"].to_list() == cells
    assert set(source.frame.dtypes) == {pl.String}


def test_an_empty_cell_is_null(tmp_path):
    """A cell with nothing or only blanks in it is missing, quoted or not; blanks around a value stay."""
    assert rows(tmp_path, 'a,b\n,""\n"",\n ," \t"\nx, y \n') == [(None, None)] * 3 + [("x", " y ")]


def test_a_column_without_values_is_text(tmp_path):
    """A column of empty cells is text too."""
    assert read_table(written(tmp_path, "a,b\n1,\n2,\n")).frame.schema == {"a": pl.String, "b": pl.String}


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_delimiters_are_detected(tmp_path, mark):
    """Comma, semicolon, tab and vertical bar are told from the header and the first records."""
    source = read_table(written(tmp_path, f"a{mark}b{mark}c\n1{mark}2{mark}3\n"))

    assert source.frame.rows() == [("1", "2", "3")]
    assert source.delimiter == mark


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("a;b\n1,5;2,5\n", ";"),
        ('"x,y,z";b\n1;2\n', ";"),
        ("name, first;age;sex\nDoe;5;m\n", ";"),
        ("a|b|c,d\n1|2|3,4\n", "|"),
        ('"p;q",b\n"1\n;",2\n', ","),
        ("a\tb,c\n1\t2\n", "\t"),
    ],
)
def test_delimiters_inside_cells_do_not_mislead(tmp_path, text, mark):
    """Quoted cells do not count, nor a mark that the records do not repeat; then more cells win."""
    assert read_table(written(tmp_path, text)).delimiter == mark


def test_two_equal_delimiters_are_refused(tmp_path):
    """Where two marks fit equally well the user must say which."""
    assert "comma or semicolon" in refusal(tmp_path, "a,b;c\n1,2;3\n").message
    assert rows(tmp_path, "a,b;c\n1,2;3\n", delimiter=";") == [("1,2", "3")]


def test_a_named_delimiter_overrules(tmp_path):
    """The delimiter that the user names is the one used."""
    assert rows(tmp_path, "a,b:c\n1,2:3\n", delimiter=":") == [("1,2", "3")]
    assert rows(tmp_path, "a,b\n1,2\n", delimiter="\t") == [("1,2",)]


@pytest.mark.parametrize("mark", ["", ",,", '"', "\n", "\r", "\0", "é"])
def test_a_delimiter_that_cannot_be_is_refused(tmp_path, mark):
    """A delimiter is one ASCII character without a meaning of its own."""
    with pytest.raises(InputError, match="delimiter"):
        read_table(written(tmp_path, "a,b\n1,2\n"), delimiter=mark)


def test_one_column_is_a_table(tmp_path):
    """A file of one column is read, spaces and semicolons being part of its cells."""
    assert rows(tmp_path, "codes\n296.00 296.01\n1;2\n") == [("296.00 296.01",), ("1;2",)]
    assert read_table(written(tmp_path, "codes\n1,5\n", "data.tsv")).frame.rows() == [("1,5",)]


def test_one_column_with_commas_is_refused(tmp_path):
    """A header of one name over records of several cells is ragged, not one column."""
    error = refusal(tmp_path, "codes\n250,401\n")

    assert (error.row, error.line) == (1, 2)


def test_blank_lines_of_one_column_are_missing_values(tmp_path):
    """In a file of one column a blank line is a patient with a missing value, and that is said."""
    source = read_table(written(tmp_path, 'a\n1\n\n""\n\n'))

    assert source.frame["a"].to_list() == ["1", None, None, None]
    assert "2 in all" in source.notes[0]
    assert read_table(written(tmp_path, 'a\n1\n""\n')).notes == ()


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n\n", "\r\n\r\n", "\n\r\n", "\r"])
def test_the_end_of_the_file_does_not_matter(tmp_path, end):
    """A last line may lack its end, or blank lines may follow it, where there are several columns."""
    assert rows(tmp_path, "a,b\n1,x\n2," + end) == [("1", "x"), ("2", None)]
    assert rows(tmp_path, 'a,b\n1,x\n2,"y"' + end) == [("1", "x"), ("2", "y")]


def test_windows_line_ends_are_no_part_of_cells(tmp_path):
    r"""\r\n ends a line; inside quotes it stays, and so does a lone \r."""
    text = 'a,b\r\n1,\r\n"p\r\nq","x\ry"\r\n"\rz",""\r\n'

    assert rows(tmp_path, text) == [("1", None), ("p\r\nq", "x\ry"), ("\rz", None)]


def test_quotes_newlines_and_delimiters_inside_cells(tmp_path):
    """Quoted cells may hold anything, in the header too."""
    text = 'a,"b, ""c""\nd"\n"1,""2""\n\n3",""""\n'

    source = read_table(written(tmp_path, text))

    assert source.frame.columns == ["a", 'b, "c"\nd']
    assert source.frame.rows() == [('1,"2"\n\n3', '"')]


@pytest.mark.parametrize(
    ("text", "row", "line", "found", "asked"),
    [
        ("a,b,c\n1,2,3\n4,5\n", 2, 3, "2 cells", "3 cells"),
        ("a,b\n1,2\n3,4,5\n1\n", 2, 3, "3 cells", "2 cells"),
        ("a,b\n1,2\n\n3,4\n", 2, 3, "1 cell", "2 cells"),
        ('a,b\n"1\n\n",2\n3\n', 2, 5, "1 cell", "2 cells"),
        ('"a\n",b\n1,"2,3"\n1,2,"x\ny"\n', 2, 4, "3 cells", "2 cells"),
        ("a\n1,2\n", 1, 2, "2 cells", "1 cell"),
        ("a,b\r\n1,2,\r\n", 1, 2, "3 cells", "2 cells"),
    ],
)
def test_ragged_records_are_refused(tmp_path, text, row, line, found, asked):
    """A record with fewer or more cells than the header is named by record and line, which differ after quotes."""
    error = refusal(tmp_path, text)

    assert (error.row, error.line) == (row, line)
    assert f"record {row}, line {line} has {found}, the header has {asked}" in error.message


@pytest.mark.parametrize(
    ("text", "row", "line", "words"),
    [
        ('a,b\n1,2\n3,"x\n4,5\n', 2, 3, "never closed"),
        ('a,b\n"1\n2",3\n4,"x\ny"\n5,"z', 3, 6, "never closed"),
        ('a,b\n1,"x"y\n', 1, 2, "quote inside a cell"),
        ('a,b\n1,x"y\n', 1, 2, "quote inside a cell"),
        ('a,b\n1,"x" \n', 1, 2, "quote inside a cell"),
        ('a,b\n1, "x"\n', 1, 2, "quote inside a cell"),
        ("a,b\n1,5'10\"\n2,6'\"\n", 1, 2, "quote inside a cell"),
        ('a,b"\n1,2\n', None, 1, "the header"),
        ('"a,b\n1,2\n', None, 1, "the header"),
    ],
)
def test_stray_quotes_are_refused(tmp_path, text, row, line, words):
    """A quote that is not closed, or stands inside a cell, is named by record and line."""
    error = refusal(tmp_path, text)

    assert (error.row, error.line) == (row, line)
    assert words in error.message


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "a,b\n\n\n", "a", "a\n", '"a\nb",c\r\n'])
def test_a_header_alone_is_refused(tmp_path, text):
    """A file without records is no table."""
    assert "no records" in refusal(tmp_path, text).message


@pytest.mark.parametrize("text", [",b\nx,2\n", "a, \n1,2\n", 'a,""\n1,2\n', "a,\n1,2\n"])
def test_empty_names_are_refused(tmp_path, text):
    """Every column needs a name."""
    assert "no name" in refusal(tmp_path, text, delimiter=",").message


@pytest.mark.parametrize("text", ["\na,b\n1,2\n", "\r\na\n1\n"])
def test_a_blank_first_line_is_refused(tmp_path, text):
    """The first line names the columns; a blank one names none."""
    assert "first line is blank" in refusal(tmp_path, text).message


@pytest.mark.parametrize("text", ['a,b\n"x\ny",z\n1,x\ry\n', 'a,b\n"x\ny",z\n\r,1\n'])
def test_lone_carriage_returns_are_refused(tmp_path, text):
    """A carriage return that ends no line must be in quotes, as readers disagree about it."""
    error = refusal(tmp_path, text)

    assert "carriage return" in error.message
    assert (error.row, error.line) == (2, 4)


def test_equal_names_are_refused(tmp_path):
    """Two columns of one name are said by position, as a file without a header would show a patient's values."""
    error = refusal(tmp_path, "39,m,39\n40,f,40\n")

    assert "columns 1 and 3 have the same name" in error.message
    assert "39" not in error.message


def test_many_columns(tmp_path):
    """Twenty thousand columns are no problem, even where the header alone outgrows the sample."""
    names = [f"column_{position}_{'x' * 60}" for position in range(20_000)]
    text = ";".join(names) + "\n" + ";".join("1" for _ in names) + "\n"

    frame = read_table(written(tmp_path, text)).frame

    assert frame.shape == (1, 20_000)
    assert frame.columns == names


def test_names_that_look_like_patterns(tmp_path):
    """A column name that Polars would take for a pattern is refused by its position; others are names."""
    for name in ("^.*$", "*"):
        with pytest.raises(InputError, match="the name of column 2 reads as a pattern"):
            read_table(written(tmp_path, f"a,{name}\n1,2\n"))
    assert read_table(written(tmp_path, '^.*,*a,a$\n1,"",3\n')).frame.rows() == [("1", None, "3")]


def test_large_quoted_files_are_read_as_pythons_csv_reads_them(tmp_path):
    """Newlines in quotes do not mislead a reader that splits a large file among threads."""
    draw = random.Random(7)
    cells = ["x", "", "a\nb", 'q"', "\n\n", ",", "1,2\n3", "long " * 20]
    table = [["h1", "h2", "h3"], *(["r", *draw.choices(cells, k=2)] for _ in range(60_000))]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)

    frame = read_table(written(tmp_path, text.getvalue())).frame

    assert frame.rows() == [tuple(cell if cell.strip() else None for cell in row) for row in table[1:]]


def test_a_reader_that_loses_records_is_refused(tmp_path, monkeypatch):
    """Should Polars find another number of records than were counted, nothing is returned."""
    monkeypatch.setattr("cloister.io.csv.count_records", lambda *_: 7)

    assert "cannot be read" in refusal(tmp_path, "a,b\n1,2\n").message


CELLS = st.text(st.sampled_from(list('ab",;\n\r 0')), max_size=4)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=3), min_size=2, max_size=4))
@settings(deadline=None)
def test_what_is_read_is_what_pythons_csv_reads(table):
    """Whatever is accepted has as many cells as the header in each record, and the cells that Python's csv finds."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(table)
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), text.getvalue())
        numbers = [row[0] for row in table[1:] if re.fullmatch("[0-9]+", row[0])]
        if not table[0][0] and len({*numbers}) == len(table) - 1:
            table = [row[1:] for row in table]  # a row index is not read
        if (
            len({len(row) for row in table}) > 1
            or not all(map(str.strip, table[0]))
            or len(set(table[0])) < len(table[0])
        ):
            with pytest.raises(InputError):
                read_table(path, delimiter=",")
            return
        frame = read_table(path, delimiter=",").frame
    assert [frame.columns, *map(list, frame.rows())] == [
        table[0],
        *([c if c.strip() else None for c in row] for row in table[1:]),
    ]


@given(st.text(st.sampled_from(list('ab",\n\r')), max_size=20))
@examples(300)
def test_any_text_is_read_or_refused(text):
    """No text whatever raises another error than ours, and an accepted one has the cells that a strict csv finds."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), "h1,h2\n" + text)
        try:
            frame = read_table(path, delimiter=",").frame
        except InputError:
            return
    found = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    assert frame.rows() == [tuple(cell or None for cell in row) for row in found]
