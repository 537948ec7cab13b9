"""Frequent itemsets: sets of codes that at least so many records hold, mined with bit sets.

Depth first over prefixes, one bit a record (Zaki 2000, IEEE Transactions on Knowledge and Data Engineering 12(3),
algorithm Eclat); the supports of all extensions of a prefix are counted in one step by NumPy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError

Bits = NDArray[np.uint64]
Items = NDArray[np.int32]
Offsets = NDArray[np.int64]

MOST_ITEMSETS = 200_000
"""More sets than these are refused: they grow exponentially, and nobody can read so many."""

WORD = 64


@dataclass(frozen=True)
class Itemset:
    """A set of items, in ascending order, and the number of records that hold all of them."""

    items: tuple[int, ...]
    support: int


def frequent_itemsets(offsets: Offsets, items: Items, least: int, *, largest: int | None = None) -> list[Itemset]:
    """Return every set of items that at least ``least`` records hold, in the order of its items.

    Parameters
    ----------
    offsets : (n_records + 1,) int64, where the items of each record begin
    items : item numbers from 0, ascending within a record
    least : smallest support, at least 1
    largest : most items of a set; None for any number
    """
    if least < 1:
        raise ValueError(f"the support must be at least 1, not {least}")
    supports = np.bincount(items)
    frequent = np.flatnonzero(supports >= least)
    start = _Prefix((), frequent, item_bits(offsets, items, frequent), supports[frequent])
    found: list[Itemset] = []
    waiting = [start]
    while waiting:
        prefix = waiting.pop()
        found += (Itemset((*prefix.items, item), count) for item, count in prefix.extensions())
        if len(found) > MOST_ITEMSETS:
            raise InputError(
                f"More than {MOST_ITEMSETS:,} sets of codes are that frequent. Ask for a higher share of the records."
            )
        if largest is None or len(prefix.items) + 1 < largest:
            waiting += prefix.longer(least)
    return sorted(found, key=lambda itemset: itemset.items)


@dataclass(frozen=True)
class _Prefix:
    """Sets with a common beginning: the last item of each, the records that hold it as bits, how many those are."""

    items: tuple[int, ...]
    last: NDArray[np.int64]
    bits: Bits
    supports: NDArray[np.int64]

    def extensions(self) -> Iterator[tuple[int, int]]:
        return zip(self.last.tolist(), self.supports.tolist(), strict=True)

    def longer(self, least: int) -> Iterator["_Prefix"]:
        for place in range(len(self.last) - 1):
            both = self.bits[place + 1 :] & self.bits[place]
            supports = np.bitwise_count(both).sum(axis=1, dtype=np.int64)
            kept = np.flatnonzero(supports >= least)
            if len(kept):
                items = (*self.items, int(self.last[place]))
                yield _Prefix(items, self.last[place + 1 :][kept], both[kept], supports[kept])


def item_bits(offsets: Offsets, items: Items, wanted: NDArray[np.int64]) -> Bits:
    """Return one row for each wanted item, one bit for each record: (n_wanted, ceil(n_records / 64))."""
    n_records = len(offsets) - 1
    rank = np.full(int(max(items.max(initial=-1), wanted.max(initial=-1))) + 1, -1, dtype=np.int64)
    rank[wanted] = np.arange(len(wanted))
    record = np.repeat(np.arange(n_records), np.diff(offsets))
    row = rank[items]
    record, row = record[row >= 0], row[row >= 0]
    bits = np.zeros((len(wanted), -(-n_records // WORD)), dtype=np.uint64)
    np.bitwise_or.at(bits, (row, record // WORD), np.uint64(1) << (record % WORD).astype(np.uint64))
    return bits


def maximal(itemsets: Sequence[Itemset]) -> list[Itemset]:
    """Return those that are part of no other, most frequent first; ties: the larger, then by items."""
    holding: dict[int, int] = {}
    kept: list[Itemset] = []
    for itemset in sorted(itemsets, key=lambda found: -len(found.items)):
        common = -1
        for item in itemset.items:
            common &= holding.get(item, 0)
        if common:
            continue
        for item in itemset.items:
            holding[item] = holding.get(item, 0) | 1 << len(kept)
        kept.append(itemset)
    return sorted(kept, key=lambda found: (-found.support, -len(found.items), found.items))
