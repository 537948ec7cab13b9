"""Dates in columns of text."""

import polars as pl

from cloister.errors import InputError

ISO = r"^\d{4}-\d{2}-\d{2}"
COMPACT = r"^\d{8}$"


def dates_of(text: pl.Series, table: str) -> pl.Series:
    """The days of ISO dates (a time after them is dropped) or of dates written ``YYYYMMDD``; null where missing.

    Raises
    ------
    InputError
        A value is no such date; names the record, never the value.
    """
    iso = text.str.extract(f"({ISO})").str.to_date("%Y-%m-%d", strict=False)
    compact = text.str.extract(f"({COMPACT})").str.to_date("%Y%m%d", strict=False)
    days = iso.zip_with(iso.is_not_null(), compact)
    _refuse(days, text, table, "dates", "Write dates as YYYY-MM-DD")
    return days


def numbers_of(text: pl.Series, table: str) -> pl.Series:
    """The whole numbers in a column of text, decimals rounded down; null where missing.

    Raises
    ------
    InputError
        A value is no number from 0 on; names the record, never the value.
    """
    numbers = text.str.extract(r"^\s*(\d{1,9})(?:\.\d*)?\s*$").cast(pl.Int64)
    _refuse(numbers, text, table, "numbers from 0 on", "Correct them, or give the column another role")
    return numbers


def _refuse(read: pl.Series, text: pl.Series, table: str, needed: str, advice: str) -> None:
    wrong = read.is_null() & text.is_not_null()
    if wrong.any():
        raise InputError(
            f"Column {text.name!r} of {table}: {wrong.sum()} values are not {needed}, the first in record "
            f"{wrong.arg_true()[0] + 1} of those left. {advice}.",
            column=text.name,
        )
