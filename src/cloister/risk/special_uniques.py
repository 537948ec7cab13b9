"""Special uniques: records that few columns are enough to find; and which columns tell records apart."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.special_uniques import stand_out

from .prosecutor import GroupedRecords

Combination = tuple[int, ...]

USUAL_LARGEST = 3
MOST_SETS = 200_000
"""Sets of columns that are looked at, at most."""

MOST_CELLS = 1_000_000_000
"""Classes times sets of columns up to which the usual size is looked at unasked: some half a minute."""

MOST_BYTES = 4 * 2**30
"""Memory for what is known of sets of columns of one size, at most."""

SHOWN = 10
"""Sets of columns of each size that are told, those that tell most apart."""


@dataclass(frozen=True)
class Separation:
    """How well some columns tell records apart.

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
    """Minimal sample uniques: sets of columns that make a record unique while no part of them does.

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


def allowed_largest(grouped: GroupedRecords, asked: int | None) -> int:
    """Return up to how many columns are looked at together: as asked, or 3 or fewer where that would take long."""
    n_columns = len(grouped.columns)
    if asked is None:
        fits = [
            size
            for size in range(1, min(USUAL_LARGEST, n_columns) + 1)
            if _n_sets(n_columns, size) <= min(MOST_SETS, MOST_CELLS // grouped.sizes.size)
        ]
        return max(fits, default=1)
    if asked < 1:
        raise InputError("Special uniques have 1 column or more: the largest size is a whole number from 1 on.")
    largest = min(asked, n_columns)
    if _n_sets(n_columns, largest) > MOST_SETS:
        raise InputError(
            f"Up to {largest} of {n_columns} columns are {_n_sets(n_columns, largest):,} sets, but at most "
            f"{MOST_SETS:,} are looked at. Ask for smaller sets, or name fewer quasi-identifiers."
        )
    if comb(n_columns, largest - 1) * grouped.sizes.size > MOST_BYTES:
        raise InputError(
            f"Up to {largest} of {n_columns} columns of {grouped.sizes.size:,} classes would need more than 4 GiB of "
            "memory. Ask for smaller sets, or name fewer quasi-identifiers."
        )
    return largest


def _n_sets(n_columns: int, largest: int) -> int:
    return sum(comb(n_columns, size) for size in range(1, largest + 1))


def find_special_uniques(grouped: GroupedRecords, largest: int, threads: int = 1) -> SpecialUniques:
    """Return the minimal sample uniques of up to ``largest`` columns, and how well sets of columns tell records apart.

    Sets of columns are gone through by size. What is unique by a part of a set is unique by the set: such records
    need not be looked at again, and what else stands alone is a minimal sample unique.
    """
    n_columns = len(grouped.columns)
    found = _FoundSets(grouped, largest)
    nothing = np.zeros(grouped.sizes.size, dtype=np.bool_)
    below: dict[Combination, NDArray[np.bool_]] = {(): nothing}
    for size in range(1, largest + 1):
        unique: dict[Combination, NDArray[np.bool_]] = {}
        for columns, covered, alone, separated in _level(grouped, size, below, threads):
            found.add(columns, alone, int(covered.sum()), separated)
            if size < largest:
                unique[columns] = covered | alone
        below = unique
    return found.outcome(n_columns)


_Looked = tuple[Combination, NDArray[np.bool_], NDArray[np.bool_], tuple[int, int]]


def _level(
    grouped: GroupedRecords, size: int, below: dict[Combination, NDArray[np.bool_]], threads: int
) -> Iterator[_Looked]:
    """Look at all sets of a size, in order; memory holds a few of them at a time."""

    def look(columns: Combination) -> _Looked:
        covered = np.zeros(grouped.sizes.size, dtype=np.bool_)
        for left_out in range(size if size > 1 else 0):
            covered |= below[columns[:left_out] + columns[left_out + 1 :]]
        alone = np.empty_like(covered)
        separated = stand_out(grouped.cells, np.array(columns), covered, alone)
        return columns, covered, alone, (separated.n_classes, separated.pairs)

    every = list(combinations(range(len(grouped.columns)), size))
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(every), 4 * threads):
            yield from pool.map(look, every[start : start + 4 * threads])


class _FoundSets:
    """What was found so far."""

    def __init__(self, grouped: GroupedRecords, largest: int) -> None:
        self.grouped, self.largest = grouped, largest
        self.by_size = [0] * largest
        self.scores = np.zeros(grouped.sizes.size, dtype=np.int64)
        self.of_columns = [0] * len(grouped.columns)
        self.separations: list[Separation] = []

    def add(self, columns: Combination, alone: NDArray[np.bool_], n_covered: int, separated: tuple[int, int]) -> None:
        """Take in what one set of columns tells."""
        n = len(self.grouped.columns)
        weight = 1
        for size in range(len(columns), min(self.largest, n - 1) + 1):
            weight *= n - size
        n_alone = int(alone.sum())
        self.by_size[len(columns) - 1] += n_alone
        if n_alone:
            self.scores[alone] += weight
        for column in columns:
            self.of_columns[column] += weight * n_alone
        classes, pairs = separated
        records = self.grouped.n_records
        every = records * (records - 1) // 2
        self.separations.append(
            Separation(
                tuple(self.grouped.columns[column] for column in columns),
                classes,
                classes / records,
                1 - pairs / every if every else 0.0,
                n_covered + n_alone,
            )
        )

    def outcome(self, n_columns: int) -> SpecialUniques:
        """Return all of it."""
        total = int(self.scores.sum())
        names = self.grouped.columns
        shares = {names[j]: self.of_columns[j] / total if total else 0.0 for j in range(n_columns)}
        told: list[Separation] = []
        for size in range(1, self.largest + 1):
            of_size = sorted(
                (s for s in self.separations if len(s.columns) == size),
                key=lambda s: (-s.uniques, -s.distinction, s.columns),
            )
            told += of_size if size == 1 else of_size[:SHOWN]
        scores = self.scores[self.grouped.labels]
        return SpecialUniques(
            self.largest, tuple(self.by_size), int(np.count_nonzero(scores)), scores, shares, tuple(told)
        )
