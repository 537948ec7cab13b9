"""Numbers for labels: how the values of a table become arrays that kernels work on."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, InternalError
from cloister.hierarchy import BoundHierarchy
from cloister.kernels.layout import CODE, Costs, LevelMaps, Rows, key_strides
from cloister.utility import AttributeLoss

MOST_LEAVES = 2**62  # sums of leaves over all records must fit into 64 bits


class Coded:
    """A bound hierarchy with numbers for labels: by level, its labels, codes of its values and leaves of its codes.

    Parameters
    ----------
    wider : bound to these values and those of population tables; ``hierarchy`` itself if there are none
    """

    def __init__(self, hierarchy: BoundHierarchy, wider: BoundHierarchy) -> None:
        self.hierarchy = hierarchy
        self.values = wider.values
        self.labels: list[list[str | None]] = []
        self.codes: list[NDArray[np.int64]] = []
        self.leaves: list[NDArray[np.int64]] = []
        own = {value: place for place, value in enumerate(hierarchy.values)}
        here = np.array([own.get(value, -1) for value in wider.values], dtype=np.int64)
        for labels, leaves in zip(wider.labels, hierarchy.leaves, strict=True):
            number: dict[str | None, int] = {}
            codes = np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.int64)
            # a label of population records only covers no leaf of the table; none of its records loses anything.
            covered = np.ones(len(number), dtype=np.int64)
            covered[codes[here >= 0]] = leaves[here[here >= 0]]
            if not np.array_equal(covered[codes[here >= 0]], leaves[here[here >= 0]]):
                raise InternalError(f"Column {hierarchy.column!r}: one label covers different numbers of leaves.")
            self.labels.append(list(number))
            self.codes.append(codes)
            self.leaves.append(covered)

    def rows(self, text: pl.Series) -> NDArray[np.int64]:
        """Code at level 0 of each record."""
        present = [value for value in self.values if value is not None]
        position = text.cast(pl.Enum(present)).to_physical().cast(pl.Int64).fill_null(len(present)).to_numpy()
        codes: NDArray[np.int64] = self.codes[0][position]
        return codes

    def rise(self, low: int, high: int) -> NDArray[np.int64]:
        """Code at level ``high`` of each code at level ``low``."""
        up = np.zeros(self.leaves[low].size, dtype=np.int64)
        up[self.codes[low]] = self.codes[high]
        if not np.array_equal(up[self.codes[low]], self.codes[high]):
            raise InternalError(f"Column {self.hierarchy.column!r}: levels {low} and {high} are not nested.")
        return up


def level_maps(coded: Sequence[Coded]) -> LevelMaps:
    """Return how codes rise from level to level."""
    n_levels = max(len(c.codes) for c in coded)
    start = np.zeros((len(coded), n_levels, n_levels), dtype=np.int64)
    sizes = np.zeros((len(coded), n_levels), dtype=np.int64)
    tables: list[NDArray[np.int64]] = []
    length = 0
    for j, one in enumerate(coded):
        for low in range(len(one.codes)):
            sizes[j, low] = one.leaves[low].size
            for high in range(low, len(one.codes)):
                start[j, low, high] = length
                tables.append(one.rise(low, high))
                length += tables[-1].size
    stride, exact = key_strides(sizes[:, 0])
    return LevelMaps(
        up=np.concatenate(tables).astype(CODE),
        start=start,
        sizes=sizes,
        heights=np.array([len(c.codes) for c in coded], dtype=np.int64),
        number=np.tile(np.arange(n_levels, dtype=np.int64), (len(coded), 1)),
        stride=stride,
        exact=exact,
    )


def costs_of(coded: Sequence[Coded], rows: Rows, weights: Sequence[float], loss: AttributeLoss) -> Costs:
    """Return what generalized values cost.

    Parameters
    ----------
    rows : distinct rows at level 0, with how many records have each
    weights : (n_attributes,) positive
    """
    n_records = int(rows.records.sum())
    n_levels = max(len(c.codes) for c in coded)
    shape = (len(coded), n_levels)
    start, mean, worst = np.zeros(shape, dtype=np.int64), np.zeros(shape), np.ones(shape)
    # What a suppressed value costs, in whole leaves or levels; at least 1.
    highest = [(c.hierarchy.n_levels if loss.by_level else c.hierarchy.n_leaves) - 1 for c in coded]
    domain = np.array([max(1, cost) for cost in highest], dtype=np.int64)
    tables: list[NDArray[np.int64]] = []
    length = 0
    for one, leaves in zip(coded, domain.tolist(), strict=True):
        if n_records * leaves > MOST_LEAVES:
            raise InputError(
                f"The hierarchy of column {one.hierarchy.column!r} spans {leaves + 1} values, too many to add up over "
                f"{n_records} records. Bound it, as in interval:5,10/top=90/bottom=0, or correct extreme values.",
                column=one.hierarchy.column,
            )
    for j, one in enumerate(coded):
        # Weights are added up as floating-point numbers, exact below 2**53 records.
        records = np.bincount(rows.codes[j], rows.records, one.leaves[0].size).astype(np.int64)
        for level, leaves in enumerate(one.leaves):
            lost = np.full(leaves.size, level, dtype=np.int64) if loss.by_level else leaves - 1
            start[j, level] = length
            tables.append(lost)
            length += lost.size
            mean[j, level] = int(records @ lost[one.rise(0, level)]) / (n_records * int(domain[j]))
            worst[j, level] = int(lost.max()) / int(domain[j])
    whole = sum(weights)
    weight = np.array([w / whole for w in weights], dtype=np.float64)
    return Costs(np.concatenate(tables), start, domain, mean, worst, weight, loss.geometric)
