"""Tables as they come: dates in other forms, decimal commas, lines that are no records, rows that repeat."""

import polars as pl
import pytest

from cloister.errors import InputError
from cloister.io import read_table
from cloister.settings.reading import formats_of


def table(folder, text, **how):
    """A file with this text, as it is read."""
    path = folder / "data.csv"
    path.write_text(text, encoding="utf-8")
    return read_table(path, **how)


def column(folder, values, **how):
    """A column of these values beside another one, as it is read."""
    rows = "".join(f"{value};x\n" for value in values)
    return table(folder, f"value;other\n{rows}", **how).frame["value"].to_list()


@pytest.mark.parametrize(
    ("form", "values", "days"),
    [
        ("dd.mm.yyyy", ["31.12.2020", "", " 01.02.2021 "], ["2020-12-31", None, "2021-02-01"]),
        ("m/d/yy", ["12/31/68", "1/2/69"], ["2068-12-31", "1969-01-02"]),
        ("value=yyyymmdd", ["20200131"], ["2020-01-31"]),
        ("d.m.yyyy hh:mm", ["1.2.2020 07:30"], ["2020-02-01"]),
        ("%d-%b-%Y", ["05-Mar-2020"], ["2020-03-05"]),
    ],
)
def test_dates_are_read_as_days_of_the_calendar(tmp_path, form, values, days):
    """Dates in a form that is stated become YYYY-MM-DD; a time is left out, missing stays missing."""
    assert column(tmp_path, values, date_format=(form,)) == days


def test_a_date_that_does_not_fit_is_counted_and_not_shown(tmp_path):
    """The message says how many of how many, where the first is, and what to do."""
    values = ["31.12.2020", "31.02.2020", "", "05.05.2021", "secret", "06.05.2021"]
    with pytest.raises(InputError) as caught:
        column(tmp_path, values, date_format=("dd.mm.yyyy",))

    message = caught.value.message
    assert "2 of 5 values are no dates as dd.mm.yyyy in column 'value' (the first is record 2)" in message
    assert "secret" not in caught.value.message
    assert caught.value.row == 2


def test_a_format_for_all_columns_leaves_others_alone(tmp_path):
    """A format without a column is for the columns most of whose values fit; a note names them."""
    source = table(tmp_path, "a,b\n31.12.2020,x\n01.01.2021,31.12.2020\n02.01.2021,y\n", date_format=("dd.mm.yyyy",))

    assert source.frame.columns == ["a", "b"]
    assert source.frame["a"].to_list() == ["2020-12-31", "2021-01-01", "2021-01-02"]
    assert source.frame["b"].to_list() == ["x", "31.12.2020", "y"]
    assert source.notes == ("dates as dd.mm.yyyy were read in a",)


def test_a_format_that_no_column_has_is_told(tmp_path):
    """Nothing that was asked for is done in silence."""
    source = table(tmp_path, "a,b\n1,x\n", date_format=("dd.mm.yyyy",), decimal=",")

    assert source.notes == (
        "numbers with decimal commas were read in no column",
        "dates as dd.mm.yyyy were read in no column of data.csv",
    )


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["3,5", "-2,25", "7", ""], ["3.5", "-2.25", "7", None]),
        (["1.234,5", "1.234", "12"], ["1234.5", "1234", "12"]),
        (["1,5", "2,5", "<0,1"], ["1.5", "2.5", "<0,1"]),
        (["250.10", "401.9"], ["250.10", "401.9"]),
        (["A,1", "B,2", "3,5"], ["A,1", "B,2", "3,5"]),
    ],
)
def test_decimal_commas_become_points(tmp_path, values, numbers):
    """Numbers get a point in columns that mostly hold numbers, some with a comma; all else stays as it is."""
    assert column(tmp_path, values, decimal=",") == numbers


def test_commas_and_points_in_one_column_are_refused(tmp_path):
    """Where both separate decimals, nobody knows which."""
    with pytest.raises(InputError, match="2 numbers with a decimal comma and 1 with a decimal point"):
        column(tmp_path, ["3,5", "4,5", "4.5"], decimal=",")


@pytest.mark.parametrize(
    ("form", "days"),
    [((), ["2020-02-28", None, "2020-03-01"]), ("d.m.yyyy", [None, None, None]), ("seen=d.m.yyyy", [None] * 3)],
)
def test_what_is_no_date_is_read_as_missing_and_counted(form, days, tmp_path):
    """A date is one of the calendar, in the form that its column is said to have, or as YYYY-MM-DD."""
    source = table(tmp_path, "seen,n\n2020-02-28,1\n2020-02-30,2\n2020-03-01,3\n", dates="seen", date_format=form)

    read = days if not form or "=" in form else ["2020-02-28", None, "2020-03-01"]
    assert source.frame["seen"].to_list() == read
    assert f"{read.count(None)} of 3 values are no dates and were read as missing, in seen" in source.notes


def test_what_is_no_number_is_read_as_missing_and_counted(tmp_path):
    """In the columns that are named alone, and without the value in the note."""
    source = table(tmp_path, "age,note\n40,x\napprox 40,y\n,z\n 41.5 ,w\n", numbers="age")

    assert source.frame["age"].to_list() == ["40", None, None, " 41.5 "]
    assert source.frame["note"].to_list() == ["x", "y", "z", "w"]
    assert source.notes == ("1 of 3 values are no numbers and were read as missing, in age",)
    with pytest.raises(InputError, match=r"names 'height', but .* has no such column"):
        table(tmp_path, "age,note\n40,x\n", numbers=["height"])


def test_quotes_inside_cells_are_refused_with_a_cure_that_works(tmp_path):
    """Whichever way a line is wrongly quoted, its number is said, and leaving it out reads the others."""
    rows = [f"{n},M,n{n}" for n in range(1, 13)]
    for wrong in ('ab "quoted" x', '"ab "quoted" x"', '"ab x', '"ab" x', 'ab"', '"a, "b", c"', '"a \\"b\\" c"', '5"'):
        text = "\n".join(["id,sex,note", *rows[:2], f"3,M,{wrong}", *rows[3:], ""])
        with pytest.raises(InputError, match=r"line 4 .* quote") as caught:
            table(tmp_path, text)

        assert "1 line is so" in caught.value.message
        assert wrong not in caught.value.message
        source = table(tmp_path, text, bad_lines="drop")
        assert (source.frame.height, source.left_out.bad_lines) == (11, 1)


RAGGED = 'id,note\n1,a\n2,b,c\n3,5" pipe\n4\n5,"e\nf"\n6,"open\n'


def test_bad_lines_are_refused_with_their_number(tmp_path):
    """The message of the first says how many there are, and how to leave them out."""
    with pytest.raises(InputError) as caught:
        table(tmp_path, "a,b\n1,2\n3,4,5\n6,7\n8\n9,10\n")

    assert "record 2, line 3 has 3 cells" in caught.value.message
    assert '2 lines are so: bad_lines="drop" leaves out' in caught.value.message


def test_bad_lines_are_left_out_and_counted(tmp_path):
    """Lines with other numbers of cells, or with a quote inside a cell, are left out; a note says how many."""
    source = table(tmp_path, RAGGED, bad_lines="drop")

    assert source.frame.rows() == [("1", "a"), ("5", "e\nf")]
    assert source.left_out.bad_lines == 4
    assert source.notes == ("4 lines were dropped, with other than 2 cells or a quote inside one",)


def test_whole_files_are_read_the_same_with_and_without(tmp_path):
    """Where there are no bad lines, dropping them changes nothing."""
    text = 'a,b\n1,"x, y"\r\n2,"line\nbreak"\n,""\n'
    kept, dropped = table(tmp_path, text), table(tmp_path, text, bad_lines="drop")

    assert kept.frame.equals(dropped.frame)
    assert dropped.left_out.bad_lines == 0


def test_repeated_rows_are_kept_left_out_or_refused(tmp_path):
    """Rows that repeat an earlier one in all columns: as they are unless asked otherwise."""
    text = "a,b\n1,x\n2,y\n1,x\n1,z\n"
    dropped = table(tmp_path, text, duplicates="drop")

    assert table(tmp_path, text).frame.height == 4
    assert dropped.frame.rows() == [("1", "x"), ("2", "y"), ("1", "z")]
    assert dropped.left_out.duplicates == 1
    assert dropped.notes == ("1 of 4 rows repeats an earlier one in all columns and was left out",)
    with pytest.raises(InputError, match=r'1 of 4 rows repeats an earlier one.*duplicates="drop"'):
        table(tmp_path, text, duplicates="error")


def test_rows_that_repeat_are_found_after_missing_values_are(tmp_path):
    """Two ways to say missing are one."""
    assert table(tmp_path, "a,b\n1,NA\n1,\n", missing=("NA",), duplicates="drop").frame.height == 1


@pytest.mark.parametrize(("name", "word"), [("decimal", ";"), ("bad_lines", "keep"), ("duplicates", "first")])
def test_words_that_there_are_not_are_refused(tmp_path, name, word):
    """A setting names the words that it can be."""
    with pytest.raises(InputError, match=f"{name}.* must be "):
        table(tmp_path, "a,b\n1,2\n", **{name: word})


def test_dates_of_other_types_are_left_alone(tmp_path):
    """Parquet knows what a date is."""
    frame = pl.DataFrame({"day": pl.Series(["2020-01-31"]).str.to_date(), "text": ["31.01.2020"]})
    frame.write_parquet(tmp_path / "data.parquet")

    read = read_table(tmp_path / "data.parquet", date_format=("dd.mm.yyyy",)).frame

    assert read["day"].dtype == pl.Date
    assert read["text"].to_list() == ["2020-01-31"]


def test_another_encoding_is_proposed_with_what_it_would_change(tmp_path):
    """Of bytes that are not UTF-8 the message says how many characters and letters cp1252 makes of them."""
    (tmp_path / "data.csv").write_bytes("name,size\nJosé,5\nZoë,6 °\n".encode("cp1252"))
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / "data.csv")

    assert 'encoding="cp1252"' in caught.value.message
    assert "3 characters beyond ASCII in 2 of its lines, 2 of these letters" in caught.value.message


def test_numbers_with_units_are_numbers_where_they_are_asked_for(tmp_path):
    """A unit that most values have, a currency and commas between thousands are left out; another unit is missing."""
    heights = ["165 cm", "170cm", "1.80 m", "172", ""]
    assert column(tmp_path, heights, numbers=["value"]) == ["165", "170", None, "172", None]
    costs = ["$1,234.50", "$9", "", "$2,000", "free"]
    assert column(tmp_path, costs, numbers=["value"]) == ["1234.50", "9", None, "2000", None]
    assert column(tmp_path, heights) == [*heights[:4], None]


def test_a_time_may_follow_any_date(tmp_path):
    """A time of the day, with AM or PM or not, is left out of a date in any format."""
    times = ["1/5/2020 3:04 PM", "12/31/2020 11:59:59", "2/3/2021"]
    assert column(tmp_path, times, date_format=["m/d/yyyy"]) == ["2020-01-05", "2020-12-31", "2021-02-03"]
    assert formats_of(times) == (["m/d/yyyy"], 3)
    with pytest.raises(InputError, match="1 of 4 value is no date"):
        column(tmp_path, [*times, "2/3/2021 noon"], date_format=["value=m/d/yyyy"])
