"""Measure how far one column explains another: the share of the doubt about its values that it removes."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .row_numbers import refine

Groups = NDArray[np.int64]

LEAST_RECORDS = 100  # from fewer nothing follows
LARGEST = float(np.finfo(np.float64).max)


class OrderedValues(NamedTuple):
    """Values that another column may explain, in their order; records without a value are omitted."""

    rows: NDArray[np.int64]  # of the records, by value
    values: NDArray[np.float64]  # the numbers; of texts their places in the order
    are_numbers: bool


def order_values(text: pl.Series) -> pl.Series:
    """Convert text to sortable values: numbers, days as numbers of days; other text stays unchanged.

    Among numbers, infinite ones lie as far beyond the others as these reach, and nan is missing.
    """
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() == text.null_count():
        finite = numbers.filter(numbers.is_finite()).to_numpy()
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        beyond = high - low or 1.0
        return numbers.fill_nan(None).clip(max(low - beyond, -LARGEST), min(high + beyond, LARGEST))
    days = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    are_days = days.null_count() == text.null_count() < len(text)
    return days.to_physical().cast(pl.Float64) if are_days else text


def prepare_values(column: pl.Series) -> OrderedValues:
    """Prepare a column of numbers or texts for `share_explained`."""
    are_numbers = column.dtype.is_numeric()
    values = (column if are_numbers else column.rank("dense")).cast(pl.Float64)
    rows = np.flatnonzero(values.is_not_null().to_numpy())
    present = values.drop_nulls().to_numpy()
    largest = float(np.abs(present).max(initial=0.0)) if are_numbers else 0.0
    present = present / largest if largest > 0 else present  # shares of it, as sums of the largest numbers overflow
    order = np.argsort(present, kind="stable")
    return OrderedValues(rows[order], present[order], are_numbers)


def group_records(column: pl.Series) -> Groups:
    """Number the values of a column from 0 for each record; -1 where it has none."""
    return column.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1


def share_explained(column: OrderedValues, groups: Groups) -> float:
    """Return the share of the doubt about a column's values that the group of a record removes; at most 1.

    The doubt is how far a record is from another: their difference where values are numbers, else whether they differ.
    What is left of it is how far it is from another of its group. Records that are alone in their group, or have no
    group, are not compared; where fewer than `LEAST_RECORDS` are, the share is 0.

    References
    ----------
    Goodman, Kruskal (1954), "Measures of association for cross classifications", tau; for numbers with Gini's mean
    difference in place of the probability to differ.
    """
    of_record = groups[column.rows]
    is_grouped = of_record >= 0
    grouped, values = of_record[is_grouped], column.values[is_grouped]
    sizes = np.bincount(grouped)
    is_compared = sizes[grouped] > 1
    n = int(is_compared.sum())
    if n < LEAST_RECORDS or values[0] == values[-1]:  # equal values leave no doubt; their sums would, by rounding
        return 0.0
    if column.are_numbers:
        places = np.arange(1 - values.size, values.size, 2)  # the mean difference of values in order, n times
        doubt = 2 * n * float(places @ values) / (values.size * (values.size - 1))
        left = _differences(grouped, values)[is_compared]
    else:
        doubt = float(_share_of_others(np.zeros_like(grouped), values)[is_compared].sum())
        left = _share_of_others(grouped, values)[is_compared]
    return 1.0 - float(left.sum()) / doubt if doubt > 0 else 0.0


def _differences(groups: Groups, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean difference of two records of a group, for each record; values are in order."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    place = np.arange(order.size) - (np.cumsum(sizes) - sizes)[groups[order]]
    weights = 2.0 * place + 1 - sizes[groups[order]]
    sums = np.bincount(groups[order], weights=weights * values[order])
    mean: NDArray[np.float64] = (2 * sums / np.maximum(1, sizes * (sizes - 1)))[groups]
    return mean


def _share_of_others(groups: Groups, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the others of its group that have another value, for each record."""
    alike = refine(groups, values.astype(np.int64))
    others = np.maximum(1, np.bincount(groups)[groups] - 1)
    share: NDArray[np.float64] = 1 - (np.bincount(alike)[alike] - 1) / others
    return share
