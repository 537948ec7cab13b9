"""Coded events from files: columns found, ages in one text, dates counted, and what is refused, with its line."""

from datetime import date

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloister import InputError
from cloister.io import EventColumns
from cloister.io.codes import completed_years
from cloister.sources import read_code_events


@pytest.fixture
def read(tmp_path):
    """Write a file and read its events."""

    def command(text, **columns):
        path = tmp_path / "events.csv"
        path.write_text(text)
        return read_code_events(path, columns=EventColumns(**columns))

    return command


@pytest.mark.parametrize(
    ("written", "age"),
    [("33", "33"), ("33.0", "33"), ("033", "33"), ("+33", "33"), (" 33 ", "33"), ("33.50", "33.5"), (".5", "0.5")],
)
def test_equal_ages_have_one_text(read, written, age):
    """However a number is written, it is one age."""
    assert read(f"id,code,age\n1,a,{written}\n").ages.to_list() == [age]


@pytest.mark.parametrize("age", ["x", "-1", "-0.5", "1e3", "nan", "33 years", "1234567890", "1,5"])
def test_what_is_no_age_is_refused_with_its_line(read, age):
    """An age that is no number from 0 on is named by record and line, and not by its text."""
    with pytest.raises(InputError) as refused:
        read(f'id,code,age\n1,"a\nb",2\n1,b,"{age}"\n1,b,"{age}"\n')

    assert (refused.value.row, refused.value.line, refused.value.column) == (2, 4, "age")
    assert (
        "2 of 3 ages in column 'age' of events.csv are no number from 0 on (record 2, line 4" in refused.value.message
    )
    assert age not in refused.value.message.replace("record 2, line 4", "").replace("from 0 on", "")


@pytest.mark.parametrize(
    ("line", "what"), [(",a,3", "patient"), (" ,a,3", "patient"), ("1,,3", "code"), ("1, ,3", "code"), ("1,a,", "age")]
)
def test_incomplete_lines_are_refused(read, line, what):
    """A line without its patient, code or age is named."""
    with pytest.raises(
        InputError, match=rf"1 of 2 lines have no {what} in column .* \(record 2, line 3 is the first\)"
    ):
        read(f"id,code,age\n1,a,3\n{line}\n")


def test_columns_are_found_by_their_usual_names(read):
    """What is not named is looked for, said, and the rest is not released."""
    source = read("note,person_id,icd9,age_years\nx,7,401.1,3\n")

    assert (source.columns.id, source.columns.code, source.columns.age) == ("person_id", "icd9", "age_years")
    assert source.not_released == ("note",)
    assert "columns not released: note" in source.notes


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"age": "agee"}, "Did you mean 'age'"),
        ({"id": "code"}, "cannot be two things"),
        ({"date": "age"}, "date and anchor"),
        ({"date": "age", "anchor": "first", "age": "age"}, "Give one of them"),
    ],
)
def test_columns_that_cannot_be_are_refused(read, columns, words):
    """Columns that are not there, or that contradict each other, are said."""
    with pytest.raises(InputError, match=words):
        read("id,code,age\n1,a,3\n", **columns)


@pytest.mark.parametrize("text", ["1,401.1,33\n2,V5,4\n", "patient 7\nx\n"])
def test_a_file_without_a_header_is_not_quoted(read, text):
    """The first line may be a patient's: its cells are not listed."""
    with pytest.raises(InputError) as refused:
        read(text)

    assert "as in: id,code,age" in refused.value.message
    assert "401" not in refused.value.message


DATES = "id,code,when,born\n1,a,2000-02-28,1980-02-29\n1,b,2001-03-01,1980-02-29\n2,a,1999-12-31,1999-12-31\n"


def test_ages_are_counted_from_a_date(read):
    """Completed years, or days, from the date of each line."""
    assert read(DATES, date="when", anchor="born").ages.to_list() == ["19", "21", "0"]
    assert read(DATES, date="when", anchor="born", unit="days").ages.to_list() == ["7304", "7671", "0"]


@given(st.dates(date(1900, 1, 1), date(2030, 12, 31)), st.dates(date(1900, 1, 1), date(2030, 12, 31)))
def test_years_are_counted_as_people_count_birthdays(start, end):
    """A year is completed on the day of the same month and number, else on the next there is."""
    later = [(year, start.month, start.day) for year in range(start.year + 1, 2031)]
    birthdays = sum(day <= (end.year, end.month, end.day) for day in later)
    found = completed_years(pl.Series([start]), pl.Series([end])).to_list()

    assert found == [birthdays] if end >= start else found[0] < 0


def test_ages_are_counted_from_the_first_date(read):
    """Each patient's first date is 0."""
    assert read(DATES, date="when", anchor="first", unit="days").ages.to_list() == ["0", "367", "0"]
    assert read(DATES, date="when", anchor="first").not_released == ("born",)


@pytest.mark.parametrize("time", ["", " ", "T00:00", " 23:59:59", "T23:59:59.123456Z", "T10:00:00+02:00"])
def test_dates_may_have_a_time(read, time):
    """The time of the day does not count."""
    text = f"id,code,when\n1,a,2000-02-28\n1,b,2000-02-29{time}\n"

    assert read(text, date="when", anchor="first", unit="days").ages.to_list() == ["0", "1"]


ODD_DATES = (
    "01/02/1999",
    "2020-01-011",
    "2020-01-01junk",
    "2021-02-20T99:99",
    "2021-02-30",
    "2021-02-20T",
    "2021-2-20",
)


@pytest.mark.parametrize(
    ("when", "words"), [("1979-01-01", "are before"), *((when, "no dates written as") for when in ODD_DATES)]
)
def test_dates_that_cannot_be_are_refused(read, when, words):
    """A date before the one to count from, or in another form, is named by its line."""
    with pytest.raises(InputError, match=rf"{words}.*\(record 4, line 5 is the first\)"):
        read(f"{DATES}3,a,{when},1980-01-01\n", date="when", anchor="born")


def test_parquet_keeps_numbers_and_dates(tmp_path):
    """Numbers and dates of a Parquet file are ages as well; a file of no lines of text has records only."""
    path = tmp_path / "events.parquet"
    frame = {"id": [1, 1], "code": ["a", "b"], "age": [33.0, 1e-5], "when": [date(2000, 1, 2), date(2000, 1, 1)]}
    pl.DataFrame(frame).write_parquet(path)

    assert read_code_events(path).ages.to_list() == ["33", "0.00001"]
    columns = EventColumns(date="when", anchor="first", unit="days")
    assert read_code_events(path, columns=columns).ages.to_list() == ["1", "0"]


def test_codes_that_are_decimal_numbers_are_refused(tmp_path):
    """A code that was made a number has lost its text."""
    path = tmp_path / "events.parquet"
    pl.DataFrame({"id": [1], "code": [250.1], "age": [33]}).write_parquet(path)

    with pytest.raises(InputError, match="codes are text"):
        read_code_events(path)
