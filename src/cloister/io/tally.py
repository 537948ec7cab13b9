"""Tallies: distinct records with their number.

A tally is a frame with one more column, `RECORDS`, whose name no table can have. Every count of a frame goes through
`count_records` or `n_records`, so that a table and its tally give the same figures.
"""

import polars as pl

RECORDS = "\0tally\0records"  # Column of a tally that says how many records each row stands for


def is_tally(frame: pl.DataFrame) -> bool:
    """Whether a frame is a tally: each row represents one or more equal records."""
    return RECORDS in frame.columns


def count_records(frame: pl.DataFrame) -> pl.Expr:
    """Return the expression that counts the records of a group."""
    return (pl.col(RECORDS).sum() if is_tally(frame) else pl.len()).cast(pl.Int64)


def n_records(frame: pl.DataFrame) -> int:
    """Return the number of records in a frame."""
    return int(frame[RECORDS].sum()) if is_tally(frame) else frame.height


def records_of(frame: pl.DataFrame) -> pl.Series:
    """Return the number of records that each row represents, as Int64."""
    return frame[RECORDS].cast(pl.Int64) if is_tally(frame) else pl.ones(frame.height, dtype=pl.Int64, eager=True)


def table_columns(frame: pl.DataFrame) -> list[str]:
    """Return the names of the columns of the table itself."""
    return [column for column in frame.columns if column != RECORDS]


def with_records_of(frame: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Return a frame, row by row made from another, as a tally if the other is one."""
    return frame.with_columns(other[RECORDS]) if is_tally(other) else frame


def first_records(frame: pl.DataFrame, n: int) -> pl.DataFrame:
    """Return the first ``n`` records of a frame."""
    if not is_tally(frame):
        return frame.head(n)
    before = pl.col(RECORDS).cum_sum() - pl.col(RECORDS)
    taken = (pl.lit(n, dtype=pl.Int64) - before).clip(lower_bound=0)
    return frame.with_columns(pl.min_horizontal(pl.col(RECORDS), taken).alias(RECORDS)).filter(pl.col(RECORDS) > 0)


def tally_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the tally of a frame, or merge equal rows of a tally; in no particular order.

    Examples
    --------
    >>> tallied(pl.DataFrame({"sex": ["F", "F", None]})).sort("sex").rows()
    [(None, 1), ('F', 2)]
    """
    columns = table_columns(frame)
    places = frame.rename({column: f"c{place}" for place, column in enumerate(columns)})
    found = places.group_by([f"c{place}" for place in range(len(columns))]).agg(count_records(frame).alias(RECORDS))
    return found.rename({f"c{place}": column for place, column in enumerate(columns)})
