"""Tallies: the rows of a table, and the number of records that each row represents.

A function that counts records takes a `Tally`, of a table in memory as well; a function that only looks at cells takes
a frame. So a count of rows is never mistaken for a count of records.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from cloister.errors import InternalError

RECORDS = "\0records"  # Name of the counts inside an expression; no column of a table is called so


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """The rows of a table, and the number of records that each row represents.

    Attributes
    ----------
    frame : the columns of the table
    counts : (n_rows,) number of records of each row, Int64; None for a table with one row for each record

    Examples
    --------
    >>> counted = Tally(pl.DataFrame({"sex": ["F", "F", None]})).merge()
    >>> sorted(counted.frame["sex"].to_list(), key=str), counted.n_records
    (['F', None], 3)
    """

    frame: pl.DataFrame
    counts: pl.Series | None = None

    def __post_init__(self) -> None:
        """Reject counts of other rows."""
        if self.counts is not None and len(self.counts) != self.frame.height:
            raise InternalError("A tally has counts of other rows.")

    @property
    def n_records(self) -> int:
        """The number of records."""
        return self.frame.height if self.counts is None else int(self.counts.sum())

    @property
    def weights(self) -> pl.Series:
        """The number of records that each row represents, Int64; ones for a table with one row for each record."""
        return pl.ones(self.frame.height, dtype=pl.Int64, eager=True) if self.counts is None else self.counts

    def replace_rows(self, frame: pl.DataFrame) -> "Tally":
        """Return a tally of other rows, each made from the row of this tally in the same place."""
        return Tally(frame, self.counts)

    def filter(self, is_kept: pl.Series) -> "Tally":
        """Return some rows with their records; ``is_kept``: (n_rows,) whether to keep each row."""
        return Tally(self.frame.filter(is_kept), None if self.counts is None else self.counts.filter(is_kept))

    def gather(self, places: pl.Series) -> "Tally":
        """Return the rows at these places with their records."""
        return Tally(self.frame[places], None if self.counts is None else self.counts.gather(places))

    def count(self, keys: Sequence[str | pl.Expr], name: str = "records") -> pl.DataFrame:
        """Return each combination of values once, in no particular order, with its records in the column ``name``."""
        if self.counts is None:
            return self.frame.group_by(keys).agg(pl.len().cast(pl.Int64).alias(name))
        counted = self.frame.with_columns(self.counts.alias(RECORDS))
        return counted.group_by(keys).agg(pl.col(RECORDS).sum().alias(name))

    def merge(self) -> "Tally":
        """Return the tally in which equal rows are one; in no particular order."""
        places = {column: f"c{place}" for place, column in enumerate(self.frame.columns)}  # no names are patterns
        found = self.replace_rows(self.frame.rename(places)).count([*places.values()], RECORDS)
        return Tally(found.drop(RECORDS).rename(dict(zip(places.values(), places, strict=True))), found[RECORDS])

    def head(self, n: int) -> "Tally":
        """Return the first ``n`` records."""
        if self.counts is None:
            return Tally(self.frame.head(n))
        left = (n - (self.counts.cum_sum() - self.counts)).clip(lower_bound=0)
        counts = left.zip_with(left < self.counts, self.counts)
        return Tally(self.frame, counts).filter(counts > 0)


def concat_tallies(parts: Sequence[Tally]) -> Tally:
    """Return the rows of several tallies, one after the other."""
    frame = pl.concat([part.frame for part in parts])
    is_counted = any(part.counts is not None for part in parts)
    return Tally(frame, pl.concat([part.weights for part in parts]) if is_counted else None)
