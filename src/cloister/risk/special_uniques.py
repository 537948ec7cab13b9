"""Special uniques: records that a few columns single out; and the columns that distinguish records."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, combinations
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.classes import stand_out

from .prosecutor import GroupedRecords

Combination = tuple[int, ...]

USUAL_LARGEST = 3
MOST_SETS = 200_000  # sets of columns that are looked at, at most
MOST_CELLS = 1_000_000_000
"""Classes times sets of columns up to which the usual size is looked at unasked: some half a minute."""

MOST_BYTES = 4 * 2**30  # memory for what is known of sets of columns of one size, at most
SHOWN = 10  # sets of columns of each size that are listed, those that distinguish most


@dataclass(frozen=True)
class Separation:
    """The power of columns to distinguish records.

    Attributes
    ----------
    distinction : classes / records, in (0, 1]
    separation : share of the pairs of records that differ in some of them, in [0, 1]; 0 for a single record

    References
    ----------
    Motwani, Xu (2007), "Efficient algorithms for masking and finding quasi-identifiers".
    """

    columns: tuple[str, ...]
    classes: int
    distinction: float
    separation: float
    uniques: int


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """Minimal sample uniques: sets of columns that make a record unique while no proper subset does.

    Attributes
    ----------
    scores : (n_records,) int64, SUDA score of each record, in the order of the data; 0 where nothing makes it unique
    contributions : share of all scores that sets with a column hold, by column

    References
    ----------
    Elliot, Manning, Ford (2002), "A computational algorithm for handling the special uniques problem": a set of k of n
    columns scores (n - k) (n - k - 1) ... (n - M), M the largest size, less than n; Manning, Haglin, Keane (2008), "A
    recursive search algorithm for statistical disclosure assessment" (SUDA2).
    """

    largest: int
    by_size: tuple[int, ...]
    records: int
    scores: NDArray[np.int64]
    contributions: dict[str, float]
    separations: tuple[Separation, ...]

    def __repr__(self) -> str:
        return f"SpecialUniques({sum(self.by_size)} of up to {self.largest} columns in {self.records} records)"

    def riskiest(self, n: int) -> list[tuple[int, int]]:
        """Return (number, score) of up to ``n`` records of the highest scores, numbered from 1; ties by number."""
        most = np.lexsort((np.arange(self.scores.size), -self.scores))[:n]
        return [(int(row) + 1, int(self.scores[row])) for row in most if self.scores[row]]


def allowed_largest(grouped: GroupedRecords, wanted: int | None) -> int:
    """Return the maximum size of column sets: as requested, or by default 3, or fewer if these would take long."""
    n_columns, n_classes = len(grouped.columns), grouped.sizes.size
    n_sets = list(accumulate(comb(n_columns, size) for size in range(1, n_columns + 1)))
    if wanted is None:
        most = min(MOST_SETS, MOST_CELLS // n_classes)
        return max(1, sum(sets <= most for sets in n_sets[:USUAL_LARGEST]))
    if wanted < 1:
        raise InputError("Special uniques have 1 column or more: the largest size is a whole number from 1 on.")
    largest = min(wanted, n_columns)
    if n_sets[largest - 1] > MOST_SETS:
        raise InputError(
            f"Up to {largest} of {n_columns} columns are {n_sets[largest - 1]:,} sets, but at most "
            f"{MOST_SETS:,} are looked at. Ask for smaller sets, or name fewer quasi-identifiers."
        )
    if comb(n_columns, largest - 1) * n_classes > MOST_BYTES:
        raise InputError(
            f"Up to {largest} of {n_columns} columns of {n_classes:,} classes would need more than 4 GiB of "
            "memory. Ask for smaller sets, or name fewer quasi-identifiers."
        )
    return largest


def separation_of(grouped: GroupedRecords) -> Separation:
    """Measure how well all columns together distinguish the records."""
    sizes, records = grouped.sizes, grouped.n_records
    every = records * (records - 1) // 2
    separation = 1 - int((sizes * (sizes - 1) // 2).sum()) / every if every else 0.0
    return Separation(grouped.columns, sizes.size, sizes.size / records, separation, int((sizes == 1).sum()))


def find_special_uniques(grouped: GroupedRecords, largest: int, threads: int = 1) -> SpecialUniques:
    """Find minimal sample uniques of up to ``largest`` columns, and measure how well column sets distinguish records.

    Go through the sets of columns by size. A record that is unique by a subset is unique by the set, and need not be
    examined again. Any other record that is unique by the set is a minimal sample unique.
    """
    names, records = grouped.columns, grouped.n_records
    by_size, of_columns = [0] * largest, [0] * len(names)
    scores = np.zeros(grouped.sizes.size, dtype=np.int64)
    separations: list[Separation] = []
    below: dict[Combination, NDArray[np.bool_]] = {(): np.zeros(grouped.sizes.size, dtype=np.bool_)}
    for size in range(1, largest + 1):
        weight = prod(len(names) - larger for larger in range(size, min(largest, len(names) - 1) + 1))
        unique: dict[Combination, NDArray[np.bool_]] = {}
        of_size = []
        for columns, covered, alone, (n_classes, pairs) in _level(grouped, size, below, threads):
            n_alone, every = int(alone.sum()), records * (records - 1) // 2
            by_size[size - 1] += n_alone
            scores[alone] += weight
            for column in columns:
                of_columns[column] += weight * n_alone
            own = tuple(names[column] for column in columns)
            separation = 1 - pairs / every if every else 0.0
            of_size.append(Separation(own, n_classes, n_classes / records, separation, int(covered.sum()) + n_alone))
            if size < largest:
                unique[columns] = covered | alone
        of_size.sort(key=lambda one: (-one.uniques, -one.distinction, one.columns))
        separations += of_size if size == 1 else of_size[:SHOWN]
        below = unique
    total = int(scores.sum())
    of_records = scores[grouped.labels]
    return SpecialUniques(
        largest,
        tuple(by_size),
        int(np.count_nonzero(of_records)),
        of_records,
        {name: score / total if total else 0.0 for name, score in zip(names, of_columns, strict=True)},
        tuple(separations),
    )


_Looked = tuple[Combination, NDArray[np.bool_], NDArray[np.bool_], tuple[int, int]]


def _level(
    grouped: GroupedRecords, size: int, below: dict[Combination, NDArray[np.bool_]], threads: int
) -> Iterator[_Looked]:
    """Look at all sets of a size, in order; memory holds a few of them at a time."""

    def look(columns: Combination) -> _Looked:
        covered = np.zeros(grouped.sizes.size, dtype=np.bool_)
        for omitted in range(size if size > 1 else 0):
            covered |= below[columns[:omitted] + columns[omitted + 1 :]]
        alone = np.empty_like(covered)
        separated = stand_out(grouped.cells, np.array(columns), covered, alone)
        return columns, covered, alone, (separated.n_classes, separated.pairs)

    every = list(combinations(range(len(grouped.columns)), size))
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(every), 4 * threads):
            yield from pool.map(look, every[start : start + 4 * threads])
