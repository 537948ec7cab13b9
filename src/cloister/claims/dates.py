"""Dates and whole numbers in columns of text."""

import polars as pl

from cloister.errors import InputError

ISO = r"^\s*([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]|\s*$)"
COMPACT = r"^\s*([0-9]{8})\s*$"
WHOLE = r"^\s*([0-9]{1,9})(?:\.[0-9]*)?\s*$"


def days_in(text: pl.Series) -> pl.Series:
    """The days of dates written ``YYYY-MM-DD`` (a time after them is dropped) or ``YYYYMMDD``; null for all else."""
    distinct = text.drop_nulls().unique()  # few, however many claims there are
    iso = distinct.str.extract(ISO).str.to_date("%Y-%m-%d", strict=False)
    days = iso.zip_with(iso.is_not_null(), distinct.str.extract(COMPACT).str.to_date("%Y%m%d", strict=False))
    return text.replace_strict(distinct, days, default=None, return_dtype=pl.Date)


def whole_numbers_in(text: pl.Series) -> pl.Series:
    """The numbers from 0 on below 10^9, decimals rounded down; null for all else."""
    return text.str.extract(WHOLE).cast(pl.Int64)


def dates_of(text: pl.Series, table: str) -> pl.Series:
    """The days of a column of dates, null where missing; see `days_in`.

    Raises
    ------
    InputError
        A value is no such date; says how many, never which.
    """
    return _whole(days_in(text), text, table, "dates", "Write dates as YYYY-MM-DD")


def numbers_of(text: pl.Series, table: str) -> pl.Series:
    """The whole numbers of a column of text, null where missing; see `whole_numbers_in`.

    Raises
    ------
    InputError
        A value is no such number; says how many, never which.
    """
    advice = "Correct them, or give the column another role"
    return _whole(whole_numbers_in(text), text, table, "numbers from 0 on", advice)


def _whole(read: pl.Series, text: pl.Series, table: str, needed: str, advice: str) -> pl.Series:
    wrong = int((read.is_null() & text.is_not_null()).sum())
    if wrong:
        raise InputError(
            f"Column {text.name!r} of {table}: {wrong} values are not {needed}. {advice}.", column=text.name
        )
    return read
