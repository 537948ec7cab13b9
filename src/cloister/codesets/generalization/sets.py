"""Many sets of numbers as arrays."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Numbers = NDArray[np.int32]


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

    def _padded(self) -> Numbers:
        """One row a set, -1 after its end."""
        sizes = self.sizes
        table = np.full((len(self), int(sizes.max(initial=0))), -1, dtype=np.int32)
        table[np.arange(table.shape[1]) < sizes[:, None]] = self.items
        return table


def named(sets: Sets, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the sets with names in place of numbers."""
    return [tuple(names[item] for item in sets.members(number).tolist()) for number in range(len(sets))]
