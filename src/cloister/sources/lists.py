"""Several codes of one claim -> the first one, and a list of the others."""

from collections.abc import Sequence

import polars as pl


def first_and_rest(frame: pl.DataFrame, key: str, code: str, first: str, rest: str) -> pl.DataFrame:
    """One row a key: the first of its codes, and the others separated by spaces; null where there are none.

    Examples
    --------
    >>> frame = pl.DataFrame({"visit": ["1", "1", "1"], "code": ["401.9", "250.00", "401.9"]})
    >>> first_and_rest(frame, "visit", "code", "diagnosis", "diagnoses").rows()
    [('1', '401.9', '250.00')]
    """
    grouped = frame.group_by(key, maintain_order=True).agg(pl.col(code).unique(maintain_order=True).alias("all"))
    return grouped.select(key, *parted("all", first, rest))


def parted(column: str, first: str, rest: str) -> Sequence[pl.Expr]:
    """The first of the codes in a column of lists, and the others separated by spaces."""
    others = pl.col(column).list.slice(1).list.join(" ")
    return (
        pl.col(column).list.first().alias(first),
        pl.when(pl.col(column).list.len() > 1).then(others).alias(rest),
    )


def listed(columns: Sequence[str] | Sequence[pl.Expr]) -> pl.Expr:
    """A list of the codes in some columns, in their order, each once, without what is missing."""
    return pl.concat_list(columns).list.drop_nulls().list.unique(maintain_order=True)
