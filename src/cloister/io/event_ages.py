"""Ages of events: numbers written in one way, or counted from dates."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Literal

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import as_text

AgeUnit = Literal["years", "days"]

NUMBER = re.compile(r"\+?([0-9]{1,9})(?:\.([0-9]{0,9}))?|\+?\.([0-9]{1,9})")
DATE = "%Y-%m-%d"
TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
WHOLE_DATE = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{TIME})?$"
"""A date, with or without a time of the day."""

Refused = Callable[[str, int, str | None], InputError]
"""Makes the error about a record: message with ``{place}``, record from 1, column."""


def plain_ages(column: pl.Series, file: str, refused: Refused) -> pl.Series:
    """Return ages as text, equal numbers alike: ``33`` for 33, 33.0 and +33, ``33.5`` for 33.50.

    Raises
    ------
    InputError : one is no number from 0 on, of at most nine digits before the point and nine after it
    """
    text = as_text(column)
    written = {age: _plain(age, is_number=column.dtype.is_numeric()) for age in text.unique().to_list()}
    odd = [age for age, plain in written.items() if plain is None]
    if odd:
        bad = text.is_in(odd)
        count = int(bad.sum())
        are = "1 age" if count == 1 else f"{count} ages"
        raise refused(
            f"{are} in column {column.name!r} of {file} {'is' if count == 1 else 'are'} no number from 0 on "
            f"({{place}}{' is the first' if count > 1 else ''}). Correct or remove such lines.",
            int(bad.arg_true()[0]) + 1,
            column.name,
        )
    return text.replace_strict(list(written), [str(plain) for plain in written.values()], return_dtype=pl.String)


def _plain(age: str, *, is_number: bool) -> str | None:
    """The shortest text of an age; None where it is none."""
    text = age.strip()
    if is_number and "e" in text.lower():  # how a floating-point number may be written
        text = format(Decimal(text), "f")
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    whole, fraction = (found[1] or "0").lstrip("0") or "0", (found[2] or found[3] or "").rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def ages_from_dates(
    dates: pl.Series, anchor: pl.Series | None, ids: pl.Series, unit: AgeUnit, file: str, refused: Refused
) -> pl.Series:
    """Return ages counted from dates: completed years, or days.

    Parameters
    ----------
    anchor : the date to count from, of each event; None: the first date of its patient
    ids : whose event it is

    Raises
    ------
    InputError : something is no date, or a date lies before the one to count from
    """
    days = _as_dates(dates, file, refused)
    if anchor is None:
        frame = pl.DataFrame({"id": ids, "date": days})
        starts = frame.select(pl.col("date").min().over("id")).to_series()
    else:
        starts = _as_dates(anchor, file, refused)
    early = days < starts
    if early.any():
        raise refused(
            f"{int(early.sum())} of {len(days)} dates in column {dates.name!r} of {file} lie before the date that ages "
            "are counted from ({place} is the first). Correct or remove such lines.",
            int(early.arg_true()[0]) + 1,
            dates.name,
        )
    if unit == "days":
        return (days - starts).dt.total_days().cast(pl.String)
    return completed_years(starts, days).cast(pl.String)


def completed_years(starts: pl.Series, ends: pl.Series) -> pl.Series:
    """Return how many years were completed from one date to another; below 0 where the end lies before the start.

    Examples
    --------
    >>> from datetime import date
    >>> completed_years(pl.Series([date(1999, 3, 31)]), pl.Series([date(2024, 4, 1)])).to_list()
    [25]
    """
    not_yet = _day_of_year(ends) < _day_of_year(starts)
    return ends.dt.year() - starts.dt.year() - not_yet.cast(pl.Int32)


def _day_of_year(days: pl.Series) -> pl.Series:
    """A number that orders the days of a year; months are numbered in eight bits, which hold no hundreds."""
    return days.dt.month().cast(pl.Int32) * 100 + days.dt.day()


def _as_dates(column: pl.Series, file: str, refused: Refused) -> pl.Series:
    """Dates of a column of dates, times, or texts that are an ISO date, with a time or without."""
    if column.dtype in (pl.Date, pl.Datetime):
        return column.cast(pl.Date)
    text = as_text(column).str.strip_chars()
    found = text.str.head(10).str.to_date(DATE, strict=False)
    found = found.set(~text.str.contains(WHOLE_DATE), None)
    odd = found.is_null()
    if odd.any():
        raise refused(
            f"{int(odd.sum())} of {len(odd)} values in column {column.name!r} of {file} are no dates written as "
            "YYYY-MM-DD ({place} is the first). Write them so.",
            int(odd.arg_true()[0]) + 1,
            column.name,
        )
    return found
