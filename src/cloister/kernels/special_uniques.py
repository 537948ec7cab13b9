"""How rows fall into classes by some of their columns, and which of them stand alone."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .words import hashed, number_rows

ROOMY = 4
"""Tables of totals are addressed directly while they have at most so many places for each row."""


class Cells(NamedTuple):
    """Rows of numbered values.

    values : (n_columns, n_rows) uint32, below the width of their column
    widths : (n_columns,) int64, at least 1
    records : (n_rows,) int64, how often each row occurs, at least 1
    """

    values: NDArray[np.uint32]
    widths: NDArray[np.int64]
    records: NDArray[np.int64]


class Classes(NamedTuple):
    """Classes of rows, numbered in order of first appearance.

    labels : (n_rows,) int64, class of each row
    first : (n_classes,) int64, the first row of each class
    sizes : (n_classes,) int64, records of each class
    """

    labels: NDArray[np.int64]
    first: NDArray[np.int64]
    sizes: NDArray[np.int64]


class Separated(NamedTuple):
    """Number of classes, and pairs of records that are in one class."""

    n_classes: int
    pairs: int


@jit
def _label(values, columns, rows, labels, first):
    """Number the classes of some rows by these columns; returns how many there are."""
    keys = np.zeros(rows.shape[0], dtype=np.int64)
    codes = np.empty((columns.shape[0], rows.shape[0]), dtype=np.uint32)
    for j in range(columns.shape[0]):
        for i in range(rows.shape[0]):
            codes[j, i] = values[columns[j], rows[i]]
            keys[i] = np.int64(hashed(np.uint64(keys[i]), np.uint64(codes[j, i])))
    return number_rows(keys, codes, False, labels, first)


@inner
def _address(values, widths, columns, rows, labels):
    """Number each of some rows by its values, without gaps closed: the number is an address."""
    for i in range(rows.shape[0]):
        key = np.int64(0)
        for j in columns:
            key = key * widths[j] + np.int64(values[j, rows[i]])
        labels[i] = key


@inner
def _outside(covered):
    """Rows that are not covered, ascending."""
    n = 0
    for i in range(covered.shape[0]):
        if not covered[i]:
            n += 1
    rows = np.empty(n, dtype=np.int64)
    n = 0
    for i in range(covered.shape[0]):
        if not covered[i]:
            rows[n] = i
            n += 1
    return rows


@jit
def _stand_out(cells, columns, covered, alone):
    """Mark rows alone by these columns, covered ones aside; return classes and pairs of records not told apart."""
    rows = _outside(covered)
    n = rows.shape[0]
    places = 1.0
    for j in columns:
        places *= cells.widths[j]
    labels = np.empty(n, dtype=np.int64)
    if places <= ROOMY * n + 1024:
        _address(cells.values, cells.widths, columns, rows, labels)
        n_places = np.int64(places)
    else:
        n_places = _label(cells.values, columns, rows, labels, np.empty(n, dtype=np.int64))
    totals = np.zeros(n_places, dtype=np.int64)
    for i in range(n):
        totals[labels[i]] += cells.records[rows[i]]
    # A row that stands alone by fewer columns stands alone by more: covered rows are classes of one.
    n_classes = covered.shape[0] - n
    pairs = 0
    for total in totals:
        if total > 0:
            n_classes += 1
            pairs += total * (total - 1) // 2
    for i in range(covered.shape[0]):
        alone[i] = False
    for i in range(n):
        alone[rows[i]] = totals[labels[i]] == 1
    return n_classes, pairs


def cells_of(values: NDArray[np.uint32], widths: NDArray[np.int64], records: NDArray[np.int64] | None = None) -> Cells:
    """Return rows of numbered values, checked.

    Parameters
    ----------
    values : (n_columns, n_rows)
    widths : (n_columns,), above every value of the column
    records : (n_rows,), how often each row occurs; once if not given
    """
    values = np.ascontiguousarray(values, dtype=np.uint32)
    widths = np.ascontiguousarray(widths, dtype=np.int64)
    counts = np.ones(values.shape[1], dtype=np.int64) if records is None else np.ascontiguousarray(records, np.int64)
    if widths.shape != values.shape[:1] or counts.shape != values.shape[1:] or values.shape[1] >= 2**31:
        raise ValueError("widths must be one a column, records one a row, and rows fewer than 2**31")
    if values.size and (np.any(values.max(axis=1) >= widths) or counts.min() < 1):
        raise ValueError("values must be below the width of their column, and rows occur at least once")
    return Cells(values, widths, counts)


def classes(cells: Cells, columns: NDArray[np.int64]) -> Classes:
    """Return the classes of all rows by these columns."""
    n = cells.records.shape[0]
    labels, first = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    found = int(_label(cells.values, _checked(cells, columns), np.arange(n), labels, first))
    sizes = np.bincount(labels, weights=cells.records, minlength=found).astype(np.int64)
    return Classes(labels, first[:found].copy(), sizes)


def stand_out(
    cells: Cells, columns: NDArray[np.int64], covered: NDArray[np.bool_], alone: NDArray[np.bool_]
) -> Separated:
    """Mark the rows that stand alone by these columns, and count classes and pairs of records not told apart.

    Parameters
    ----------
    columns : some columns
    covered : (n_rows,) rows known to stand alone by fewer of the columns; they are classes of their own
    alone : (n_rows,) is overwritten: rows of one record that stand alone, but for those covered
    """
    for array in (covered, alone):
        if array.shape != cells.records.shape or array.dtype != np.bool_:
            raise ValueError("covered and alone must be one truth value a row")
    return Separated(*map(int, _stand_out(cells, _checked(cells, columns), covered, alone)))


def _checked(cells: Cells, columns: NDArray[np.int64]) -> NDArray[np.int64]:
    columns = np.ascontiguousarray(columns, dtype=np.int64)
    if columns.ndim != 1 or np.any(columns < 0) or np.any(columns >= cells.widths.shape[0]):
        raise ValueError("columns must be numbers of columns")
    return columns
