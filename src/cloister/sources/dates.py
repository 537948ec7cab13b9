"""Dates as such systems write them: to the day, with or without a time, or to the month or the year."""

import polars as pl

from cloister.io.code_events import WHOLE_DATE

RUN_TOGETHER = r"^([0-9]{4})([0-9]{2})([0-9]{2})$"


def parsed(text: pl.Series) -> pl.DataFrame:
    """What dates say, one row each.

    Returns
    -------
    pl.DataFrame
        ``start``, the day, or the first one of the month or year; null where missing. ``whole``, whether the day is
        told. ``odd``, whether there is something that is no date.

    Examples
    --------
    >>> parsed(pl.Series(["2024-05-31T10:00:00Z", "20240531", "2024", None, "soon"])).rows()[2:]
    [(datetime.date(2024, 1, 1), False, False), (None, False, False), (None, False, True)]
    """
    written = text.str.strip_chars().str.replace(RUN_TOGETHER, "$1-$2-$3")
    whole = written.str.contains(WHOLE_DATE).fill_null(value=False)
    day = pl.DataFrame({"text": written, "whole": whole}).select(
        pl.when(pl.col("whole"))
        .then(pl.col("text").str.head(10))
        .when(pl.col("text").str.contains(r"^[0-9]{4}-[0-9]{2}$"))
        .then(pl.col("text") + "-01")
        .when(pl.col("text").str.contains(r"^[0-9]{4}$"))
        .then(pl.col("text") + "-01-01")
    )
    start = day.to_series().str.to_date("%Y-%m-%d", strict=False)
    return pl.DataFrame(
        {"start": start, "whole": whole & start.is_not_null(), "odd": text.is_not_null() & start.is_null()}
    )
