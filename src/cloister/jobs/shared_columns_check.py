"""The same question as in `shared_columns`, answered by other means for `cloister verify`: no joins, depth first."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .shared_columns import MOST_SETS, TOO_MANY

Numbers = NDArray[np.intp]


def leading_to_few(one: pl.DataFrame, two: pl.DataFrame, k: int, exempt: frozenset[str]) -> str | None:
    """Return why rows of two tables lead to each other; see `shared_columns.leading_to_few`.

    The rows of both tables are split by one column after the other. Only groups with rows of both are split further.
    """
    values, counts = _distinct(one, two)
    n_rows = counts.shape[1]
    waiting: list[tuple[tuple[int, ...], Numbers, Numbers]] = [((), np.arange(n_rows), np.zeros(n_rows, np.intp))]
    n_sets = 0
    while waiting:
        subset, rows, groups = waiting.pop()
        for column in range(subset[-1] + 1 if subset else 0, len(values)):
            split = _split(groups, values[column][rows])
            fewest = np.minimum(*(np.bincount(split, weights=side[rows]) for side in counts))
            if not fewest.any():
                continue
            names = [one.columns[place] for place in (*subset, column)]
            n_sets += 1
            if n_sets > MOST_SETS:
                return TOO_MANY
            if fewest[fewest > 0].min() < k and not exempt.issuperset(names):
                return f"values of {', '.join(names)} lead to fewer than {k}"
            agreeing = fewest[split] > 0
            waiting.append(((*subset, column), rows[agreeing], split[agreeing]))
    return None


def _distinct(one: pl.DataFrame, two: pl.DataFrame) -> tuple[list[Numbers], Numbers]:
    """Numbers for the values of distinct rows, column by column, and how many rows of each table each stands for."""
    both = [pl.concat([one[column], two[column]]) for column in one.columns]
    values = [column.rank("dense").fill_null(0).to_numpy().astype(np.intp) for column in both]
    rows = np.zeros(one.height + two.height, np.intp)
    for numbers in values:
        rows = _split(rows, numbers)
    first = np.unique(rows, return_index=True)[1]
    counts = [np.bincount(side, minlength=first.size) for side in (rows[: one.height], rows[one.height :])]
    return [numbers[first] for numbers in values], np.array(counts)


def _split(groups: Numbers, values: Numbers) -> Numbers:
    """Numbers of groups that also have one value in common."""
    split: Numbers = np.unique(groups * (values.max(initial=0) + 1) + values, return_inverse=True)[1]
    return split
