"""The columns of records: their names, and conversions of their text."""

from collections.abc import Mapping, Sequence

import polars as pl

from cloister.io.codes import WHOLE_DATE

FILE, ROW = "\0file", "\0row"  # Columns with the location of a record; no column of the input has such a name
AGE = "\0age"  # The column of ages in completed years, if a system has it in place of a date
ID, BIRTH, SEX, CODE, DATE, END = "patient_id", "birth_date", "sex", "code", "date", "end_date"
RUN_TOGETHER = r"^([0-9]{4})([0-9]{2})([0-9]{2})$"  # A date without hyphens

Columns = Mapping[str, str | pl.Expr]


def parse_dates(text: pl.Series) -> pl.DataFrame:
    """Parse dates, one row each.

    Returns
    -------
    pl.DataFrame
        ``start``, the day, or the first one of the month or year; null where missing. ``whole``, whether the day is
        known. ``odd``, whether the text is not a date.

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


def as_records(frame: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Select columns or expressions under these names, with the place of each record in its file."""
    found = [(pl.col(one) if isinstance(one, str) else one).alias(name) for name, one in columns.items()]
    return frame.select(*found, FILE, ROW)


def first_and_rest(frame: pl.DataFrame, key: str, code: str, first: str, rest: str) -> pl.DataFrame:
    """Return one row per key: its first code, and the others separated by spaces; null where there are none.

    Examples
    --------
    >>> frame = pl.DataFrame({"visit": ["1", "1", "1"], "code": ["401.9", "250.00", "401.9"]})
    >>> first_and_rest(frame, "visit", "code", "diagnosis", "diagnoses").rows()
    [('1', '401.9', '250.00')]
    """
    grouped = frame.group_by(key, maintain_order=True).agg(pl.col(code).unique(maintain_order=True).alias("all"))
    return grouped.select(key, *split_first_code("all", first, rest))


def split_first_code(column: str, first: str, rest: str) -> Sequence[pl.Expr]:
    """Split a column of code lists into the first code and the others, separated by spaces."""
    others = pl.col(column).list.slice(1).list.join(" ")
    return (pl.col(column).list.first().alias(first), pl.when(pl.col(column).list.len() > 1).then(others).alias(rest))


def list_codes(columns: Sequence[str] | Sequence[pl.Expr]) -> pl.Expr:
    """Collect the codes of some columns in a list, in column order, without repeats and missing values."""
    return pl.concat_list(columns).list.drop_nulls().list.unique(maintain_order=True)
