"""Many sets of codes as arrays: put in order, enumerated, reduced to those that lie in no other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.covering import covered_sets

Integers = NDArray[np.int64]
Numbers = NDArray[np.int32]

AT_ONCE = 5_000_000
"""Sets that are enumerated before those that were met before are left out."""

MOST_SETS = 500_000_000
"""More sets than these, counted once for each record that holds them, are refused."""


@dataclass(frozen=True, eq=False, repr=False)
class Sets:
    """Sets of numbers, one after the other.

    Attributes
    ----------
    offsets : (n_sets + 1,) int64, where each set begins in ``items``
    items : int32, numbers from 0, ascending within a set
    """

    offsets: Integers
    items: Numbers

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __repr__(self) -> str:
        return f"Sets({len(self)} sets)"

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> "Sets":
        """Take sets in the order they come in."""
        ordered = [sorted(set(each)) for each in sets]
        offsets = np.zeros(len(ordered) + 1, dtype=np.int64)
        np.cumsum([len(each) for each in ordered], out=offsets[1:])
        return cls(offsets, np.array([item for each in ordered for item in each], dtype=np.int32))

    @property
    def sizes(self) -> Integers:
        """Numbers in each set, shape (n_sets,)."""
        return np.diff(self.offsets)

    def members(self, number: int) -> Numbers:
        """Return one set."""
        return self.items[self.offsets[number] : self.offsets[number + 1]]

    def chosen(self, which: NDArray[np.bool_] | Integers) -> "Sets":
        """Return some of the sets, in the order asked for."""
        numbers = np.flatnonzero(which) if which.dtype == np.bool_ else which
        sizes = self.sizes[numbers]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        begin = np.repeat(self.offsets[numbers] - offsets[:-1], sizes)
        return Sets(offsets, self.items[begin + np.arange(offsets[-1])])

    def owners(self) -> Integers:
        """Return the number of the set that each item is in."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def joined(self, other: "Sets") -> "Sets":
        """Return these sets and others after them."""
        return Sets(
            np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]]),
            np.concatenate([self.items, other.items]),
        )

    def distinct(self) -> "Sets":
        """Return each set once, in the order of their numbers; a set comes before those that go on from it."""
        order = self.order()
        table = self._padded()[order]
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = np.any(table[1:] != table[:-1], axis=1)
        return self.chosen(order[first])

    def order(self) -> Integers:
        """Return the numbers of the sets in the order of their numbers, equal ones as they stand: (n_sets,)."""
        table = self._padded()
        return np.lexsort(table.T[::-1]) if table.shape[1] else np.arange(len(self))

    def maximal(self) -> "Sets":
        """Return the sets that lie in no other, each once, in the order of their numbers."""
        once = self.distinct()
        return once.chosen(~covered_sets(once.offsets, once.items) & (once.sizes > 0))

    def _padded(self) -> Numbers:
        """One row a set, -1 after its end."""
        sizes = self.sizes
        table = np.full((len(self), int(sizes.max(initial=0))), -1, dtype=np.int32)
        table[np.arange(table.shape[1]) < sizes[:, None]] = self.items
        return table


def combinations_in(records: Sets, size: int, width: int) -> Numbers:
    """Return every set of so many numbers that some record holds, each once, in order: (n_sets, size).

    Parameters
    ----------
    size : at least 1
    width : all numbers are below this

    Raises
    ------
    InputError
        There are too many.
    """
    many = np.array([float(comb(length, size)) for length in range(int(records.sizes.max(initial=0)) + 1)])
    ends = np.cumsum(many[records.sizes])
    if ends.size and ends[-1] > MOST_SETS:
        raise InputError(
            f"The patients have {ends[-1]:.1e} sets of {size} codes, but at most {MOST_SETS:.0e} can be looked at. "
            "Ask for sets of fewer codes."
        )
    cuts = np.unique(np.searchsorted(ends, np.arange(AT_ONCE, ends[-1], AT_ONCE)) + 1) if ends.size else np.arange(0)
    found = np.empty((0, size), dtype=np.int32)
    for first, last in pairwise([0, *cuts.tolist(), len(records)]):
        block = Sets(records.offsets[first : last + 1] - records.offsets[first], _slice(records, first, last))
        found = _once(np.concatenate([found, _combinations(block, size)]), width)
    return found


def _slice(records: Sets, first: int, last: int) -> Numbers:
    return records.items[records.offsets[first] : records.offsets[last]]


def _combinations(records: Sets, size: int) -> Numbers:
    """Every set as often as it occurs: each is continued by every later number of its record."""
    ends = np.repeat(records.offsets[1:], records.sizes)
    places = np.arange(records.items.size)[:, None]
    for _ in range(size - 1):
        last = places[:, -1]
        later = ends[last] - last - 1
        before = np.repeat(np.cumsum(later) - later, later)
        following = np.repeat(last + 1, later) + np.arange(before.size) - before
        places = np.column_stack([np.repeat(places, later, axis=0), following])
    return records.items[places]


def _once(table: Numbers, width: int) -> Numbers:
    """Distinct rows in order."""
    size = table.shape[1]
    if float(width) ** size >= 2.0**62:
        return np.unique(table, axis=0)
    keys = np.zeros(len(table), dtype=np.int64)
    for column in table.T:
        keys = keys * width + column
    keys = np.unique(keys)
    rows = np.empty((len(keys), size), dtype=np.int32)
    for place in range(size - 1, -1, -1):
        keys, rows[:, place] = np.divmod(keys, width)
    return rows


def from_table(rows: Numbers) -> Sets:
    """Return the rows of a table as sets."""
    return Sets(np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1], rows.reshape(-1))


def named(sets: Sets, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the sets with names in place of numbers."""
    return [tuple(names[item] for item in sets.members(number).tolist()) for number in range(len(sets))]
