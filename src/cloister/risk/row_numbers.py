"""Replace values by numbers: rows with equal values in some columns get the same number."""

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
FEW_ROWS = 1_000  # a query takes longer than to look at so many


def number_values(values: pl.Series) -> Numbers:
    """Number the values of a column of any type: equal ones by the row of the first of them; missing is a value."""
    if values.dtype == pl.String and len(values) < FEW_ROWS:
        first = dict[str | None, int]()
        return np.array([first.setdefault(one, row) for row, one in enumerate(values.to_list())], dtype=np.int64)
    rows = pl.DataFrame({"value": values}).with_row_index("row")
    return rows.select(pl.col("row").cast(pl.Int64).min().over("value")).to_series().to_numpy()


def refine(classes: Numbers, values: Numbers) -> Numbers:
    """Number the pairs of two numbers of each row, from 0."""
    pairs = classes * (int(values.max(initial=0)) + 1) + values
    numbers: Numbers = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbers


def number_rows(columns: Iterable[pl.Series]) -> Numbers:
    """Number the rows of one column or more: rows that agree in all get the same number."""
    first, *others = map(number_values, columns)
    for one in others:
        first = refine(first, one)
    return first


def count_unique(classes: Numbers) -> int:
    """Count the rows with a unique number."""
    return int((np.unique(classes, return_counts=True)[1] == 1).sum())
