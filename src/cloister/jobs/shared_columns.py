"""By which sets of shared columns rows of two tables lead to each other, while a job is protected.

Sets grow by one column at a time, as in Apriori: where no row of one table agrees with a row of the other on a set,
none agrees on a larger one. All of them are compared, not just all columns at once: one column that never agrees would
hide the others.
"""

from collections.abc import Sequence
from itertools import combinations

import polars as pl

MOST_SETS = 4_096
"""Sets of columns that are compared, each with one count of the rows; twelve columns have so many."""

TOO_MANY = f"they agree on more than {MOST_SETS:,} sets of columns, too many to compare"


def leading_to_few(one: pl.DataFrame, two: pl.DataFrame, k: int, exempt: frozenset[str]) -> str | None:
    """Return why rows of two tables lead to each other by values of the same columns, in words; None if they do not.

    ``k``: rows that share any values that occur in both
    ``exempt``: columns that need not be compared where no other column is known
    """
    columns = [column for column in one.columns if not set(one[column].unique()).isdisjoint(two[column].unique())]
    counts = [frame.group_by(columns).agg(pl.len().alias(" n")) for frame in (one, two) if columns]
    grown: list[tuple[str, ...]] = [(column,) for column in columns]
    compared = 0
    while grown:
        agreeing = []
        for subset in grown:
            if compared == MOST_SETS:
                return TOO_MANY
            compared += 1
            fewest = _fewest(counts, subset)
            if fewest is not None:
                agreeing.append(subset)
                if fewest < k and not exempt.issuperset(subset):
                    return f"values of {', '.join(subset)} lead to fewer than {k}"
        # sets of one column more, all of whose parts agree somewhere
        known = set(agreeing)
        larger = [(*subset, column) for subset in agreeing for column in columns[columns.index(subset[-1]) + 1 :]]
        grown = [subset for subset in larger if known.issuperset(combinations(subset, len(subset) - 1))]
    return None


def _fewest(counts: Sequence[pl.DataFrame], subset: tuple[str, ...]) -> int | None:
    """The fewest rows of either table with values that occur in both; None where no values do."""
    one, two = (frame.group_by(subset).agg(pl.col(" n").sum()) for frame in counts)
    both = one.join(two, on=subset, how="inner", nulls_equal=True, suffix=" of the other")
    fewest: int | None = both.select(pl.min_horizontal(" n", " n of the other").min()).item()
    return fewest
