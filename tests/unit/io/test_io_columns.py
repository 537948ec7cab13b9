"""The canonical text of columns."""

import datetime as dt
import math
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloister.errors import InputError
from cloister.io import as_text
from cloister.io.columns import as_held, as_numbers, check_names, code_texts, map_categories, pack_text

UTC = dt.UTC


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (pl.Series([39, -1, None]), ["39", "-1", None]),
        (pl.Series([39, 255], dtype=pl.UInt8), ["39", "255"]),
        (pl.Series([39.0, -0.0, None, math.nan]), ["39", "0", None, None]),
        (pl.Series([40.5, 250.1, 0.1 + 0.2]), ["40.5", "250.1", "0.30000000000000004"]),
        (pl.Series([0.1, 39.0], dtype=pl.Float32), ["0.1", "39"]),
        (pl.Series([0.5, 39.0, None], dtype=pl.Float16), ["0.5", "39", None]),
        (pl.Series([1e16, 2.0**62, math.inf]), ["10000000000000000", "4611686018427387904", "inf"]),
        (pl.Series([True, False, None]), ["true", "false", None]),
        (pl.Series([dt.date(2020, 1, 2), dt.date(980, 1, 2), None]), ["2020-01-02", "0980-01-02", None]),
        (pl.Series([dt.datetime(2020, 1, 2), None]), ["2020-01-02T00:00:00", None]),
        (pl.Series([dt.datetime(2020, 1, 2, 3, 4, 5, 678000)]), ["2020-01-02T03:04:05.678"]),
        (pl.Series([dt.datetime(2020, 1, 2, tzinfo=UTC)]), ["2020-01-02T00:00:00+00:00"]),
        (pl.Series([dt.time(3, 4), None]), ["03:04:00", None]),
        (pl.Series([dt.timedelta(days=1, seconds=4)]), ["1.0000462962962962"]),
        (pl.Series([Decimal("1.50"), None], dtype=pl.Decimal(5, 2)), ["1.50", None]),
        (pl.Series(["001", "", " ", " NA", None]), ["001", None, None, " NA", None]),
        (pl.Series(["b", "a", None], dtype=pl.Categorical), ["b", "a", None]),
        (pl.Series(["b", "", None], dtype=pl.Enum(["", "b", "unused"])), ["b", None, None]),
        (pl.Series([None, None]), [None, None]),
        (pl.Series([], dtype=pl.Float64), []),
    ],
)
def test_the_text_of_a_column(series, expected):
    """Each type has one text for a value, and null for what is missing."""
    text = as_text(series.alias("name"))

    assert text.to_list() == expected
    assert text.dtype == pl.String
    assert text.name == "name"


@given(st.lists(st.none() | st.floats(allow_nan=False)))
@settings(deadline=None)
def test_floats_read_back(values):
    """The text of a float is the number itself."""
    text = as_text(pl.Series(values, dtype=pl.Float64)).to_list()

    assert [None if cell is None else float(cell) for cell in text] == values


@given(st.lists(st.none() | st.integers(-(2**53), 2**53)))
@settings(deadline=None)
def test_integers_read_the_same_as_floats(values):
    """A column of integers has the same text where missing values made it floats."""
    integers = pl.Series(values, dtype=pl.Int64)

    assert as_text(integers).equals(as_text(integers.cast(pl.Float64)))


@pytest.mark.parametrize("values", [[[1]], [{"a": 1}], [object()], [b"\xff"]])
def test_values_that_are_many_have_no_text(values):
    """Lists, structs, objects and bytes that are no text are refused by column."""
    series = pl.Series("codes", values, dtype=pl.Object if type(values[0]) is object else None)

    with pytest.raises(InputError, match="'codes'"):
        as_text(series)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a", "a"], "columns 1 and 2"),
        (["a", ""], "column 2 has no name"),
        ([" ", "a"], "column 1 .* has no name"),
        (["a", 3], "name of column 2 is not text"),
        ([("a", "b")], "name of column 1 is not text"),
    ],
)
def test_names_that_do_not_tell_apart_are_refused(names, words):
    """Names must be text, say something, and differ; a refused one is said by position."""
    with pytest.raises(InputError, match=words):
        check_names(names)


TEXTS = st.lists(st.sampled_from([None, "a", "b", "é", "z", "Z", "10", "9"]), max_size=12).map(
    lambda one: pl.Series("text", one, dtype=pl.String)
)


@given(TEXTS, st.booleans())
def test_packed_text_is_the_text(text, always):
    """In its values, in what is said of each, and in the order of its numbers, also where values have gone since."""
    held = pack_text(text, always=always)
    some = held.filter(held.is_in(["a", "é", "9"]) | held.is_null())
    texts, numbers = code_texts(some)

    assert as_text(held).equals(text, null_equal=True)
    assert as_held(held).equals(held, null_equal=True)
    assert map_categories(held, lambda one: one.str.len_bytes()).equals(text.str.len_bytes(), null_equal=True)
    assert texts == sorted({*some.drop_nulls().to_list()}, key=str.encode)
    assert [None if number < 0 else texts[number] for number in numbers] == as_text(some).to_list()


@given(st.lists(TEXTS, max_size=3), st.booleans())
def test_columns_as_numbers_agree(columns, always):
    """Equal texts have equal numbers in all columns, greater ones greater, and missing stays missing."""
    numbers = as_numbers([pack_text(column, always=always) for column in columns])
    pairs = [pair for text, own in zip(columns, numbers, strict=True) for pair in zip(text, own, strict=True)]
    order = sorted({pair for pair in pairs if pair[0] is not None}, key=lambda pair: pair[0].encode())

    assert all((text is None) == (number is None) for text, number in pairs)
    assert [number for _, number in order] == sorted({number for _, number in order})
    assert len({text for text, _ in order}) == len(order)
