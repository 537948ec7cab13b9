"""Count the records that contain a set of items known to an adversary: for all sets of a size, and for single sets."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .words import GOLDEN, bits_set, by_number, starts_of, table_size

AT_ONCE = 1 << 18
"""Sets that are counted in one table, so that it stays in the cache."""

WIDEST = 1 << 21
"""Items that keys of three fit into 63 bits with."""

LARGEST = 3
"""Sets of up to so many items are counted all."""


class ItemSets(NamedTuple):
    """Records as sets of items."""

    offsets: NDArray[np.int64]  # (n_records + 1,) where the items of each record begin
    items: NDArray[np.int32]  # (n_occurrences,) ascending within a record


class ItemRecords(NamedTuple):
    """Records with each item: offsets (n_items + 1,) int64 into records (n_occurrences,) int32, ascending."""

    offsets: NDArray[np.int64]
    records: NDArray[np.int32]


class Starts(NamedTuple):
    """Every occurrence of an item, by item: (n_occurrences,) int64 records, and places in ``items``."""

    records: NDArray[np.int64]
    places: NDArray[np.int64]


class Tallies(NamedTuple):
    """Counts over the sets of one size.

    least : (n_records,) int64, records that hold the rarest set of each record; 0 for records of fewer items
    """

    least: NDArray[np.int64]
    alone: NDArray[np.int64]  # (n_records,) sets of each record that no other record holds
    few: NDArray[np.int64]  # (n_records,) sets of each record that fewer than k records hold
    distinct: NDArray[np.int64]  # (3,) distinct sets: all, those in one record, those in fewer than k


@inner
def _visit(keys, counts, shift, key, counting):
    """Count a key, or return how often it was counted."""
    mask = keys.shape[0] - 1
    # The highest bits of the product: keys that follow each other are spread more evenly than by any random hash.
    slot = np.int64((np.uint64(key) * GOLDEN) >> shift)
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    if counting:
        keys[slot] = key
        counts[slot] += 1
    return counts[slot]


@inner
def _note(tallies, record, found, k):
    """Add one set of a record, which so many records hold."""
    if tallies.least[record] == 0 or found < tallies.least[record]:
        tallies.least[record] = found
    if found == 1:
        tallies.alone[record] += 1
    if found < k:
        tallies.few[record] += 1


@inner
def _pass(sets, starts, span, size, table, tallies, k):
    """Go through the sets that begin with some occurrences: count them, or with k above 0 report the counts."""
    keys, counts, shift, width = table
    for number in range(span[0], span[1]):
        record = starts.records[number]
        place = starts.places[number]
        end = sets.offsets[record + 1]
        for second in range(place + 1, end):
            key = np.int64(sets.items[place]) * width + sets.items[second]
            if size == 2:
                found = _visit(keys, counts, shift, key, k == 0)
                if k > 0:
                    _note(tallies, record, found, k)
                continue
            for third in range(second + 1, end):
                found = _visit(keys, counts, shift, key * width + sets.items[third], k == 0)
                if k > 0:
                    _note(tallies, record, found, k)


@jit
def _count_span(sets, starts, span, size, width, tallies, k, n_sets):
    """Count the sets that begin with some occurrences, which are all of their items, and report the counts."""
    keys = np.full(table_size(n_sets), -1, dtype=np.int64)
    counts = np.zeros(keys.shape[0], dtype=np.int32)
    shift = np.uint64(64 - bits_set(np.uint64(keys.shape[0] - 1)))
    table = (keys, counts, shift, np.int64(width))
    _pass(sets, starts, span, size, table, tallies, 0)
    _pass(sets, starts, span, size, table, tallies, k)
    for count in counts:
        if count > 0:
            tallies.distinct[0] += 1
            tallies.distinct[1] += count == 1
            tallies.distinct[2] += count < k


@inner
def _holds(sets, record, item):
    """Whether a record holds an item."""
    low = sets.offsets[record]
    high = sets.offsets[record + 1]
    while low < high:
        middle = (low + high) // 2
        if sets.items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low < sets.offsets[record + 1] and sets.items[low] == item


@inner
def _holds_all(sets, record, items, start, end):
    """Whether a record holds some items."""
    for at in range(start, end):
        if not _holds(sets, record, items[at]):
            return False
    return True


@inner
def _n_records(holders, item):
    return holders.offsets[item + 1] - holders.offsets[item]


@jit
def _supports(sets, holders, offsets, wanted, found):
    """Fill ``found`` with the number of records that hold each set wanted."""
    for number in range(found.shape[0]):
        start = offsets[number]
        end = offsets[number + 1]
        # Anyone who holds the set is among the records of its rarest item, the fewest that must be looked at.
        rarest = wanted[start]
        for at in range(start + 1, end):
            if _n_records(holders, wanted[at]) < _n_records(holders, rarest):
                rarest = wanted[at]
        found[number] = 0
        for at in range(holders.offsets[rarest], holders.offsets[rarest + 1]):
            found[number] += _holds_all(sets, holders.records[at], wanted, start, end)


@jit
def _least_of(sets, holders, items, size, enough, work):
    """Fewest records that hold ``size`` of these items; ends at ``enough``; -1 - fewest so far if the work runs out.

    The items come rarest first. Any set that is looked at on the way can be grown to ``size`` items, which only
    makes its records fewer.
    """
    n = items.shape[0]
    longest = 0
    for item in items:
        longest = max(longest, _n_records(holders, item))
    left = np.empty((size, longest), dtype=np.int32)
    n_left = np.zeros(size, dtype=np.int64)
    chosen = np.full(size, -1, dtype=np.int64)
    best = longest
    depth = 0
    while depth >= 0:
        chosen[depth] += 1
        if chosen[depth] > n - (size - depth):
            depth -= 1
            continue
        item = items[chosen[depth]]
        kept = 0
        if depth == 0:
            for at in range(holders.offsets[item], holders.offsets[item + 1]):
                left[0, kept] = holders.records[at]
                kept += 1
        else:
            for at in range(n_left[depth - 1]):
                record = left[depth - 1, at]
                if _holds(sets, record, item):
                    left[depth, kept] = record
                    kept += 1
            work -= n_left[depth - 1]
        n_left[depth] = kept
        best = min(best, kept)
        if best <= enough:
            return best
        if work < 0:
            return -1 - best
        if depth < size - 1:
            depth += 1
            chosen[depth] = chosen[depth - 1]
    return best


def item_sets(offsets: NDArray[np.int64], items: NDArray[np.int32]) -> ItemSets:
    """Return records as sets of items, checked."""
    offsets = np.ascontiguousarray(offsets, dtype=np.int64)
    items = np.ascontiguousarray(items, dtype=np.int32)
    if offsets.ndim != 1 or offsets[0] != 0 or offsets[-1] != items.size or np.any(np.diff(offsets) < 0):
        raise ValueError("offsets must begin with 0, never fall, and end with the number of items")
    falls = np.flatnonzero(np.diff(items) <= 0) + 1
    if (items.size and items.min() < 0) or not np.isin(falls, offsets).all():
        raise ValueError("items must be from 0 on, and ascending within each record")
    return ItemSets(offsets, items)


def records_of_items(sets: ItemSets, n_items: int) -> ItemRecords:
    """Return the records that contain each of ``n_items`` items."""
    offsets, places = by_number(sets.items, n_items)
    owner = np.repeat(np.arange(sets.offsets.size - 1, dtype=np.int32), np.diff(sets.offsets))
    return ItemRecords(offsets, owner[places])


def count_sets(sets: ItemSets, size: int, k: int) -> Tallies:
    """Count all sets of two or three items."""
    width = int(sets.items.max(initial=0)) + 1
    if size not in range(2, LARGEST + 1) or k < 1 or width > WIDEST:
        raise ValueError(f"sets of 2 or {LARGEST} items below {WIDEST} are counted, with k of at least 1")
    n_records = sets.offsets.size - 1
    least, alone, few = (np.zeros(n_records, dtype=np.int64) for _ in range(3))
    tallies = Tallies(least, alone, few, np.zeros(3, dtype=np.int64))
    places = np.argsort(sets.items, kind="stable")
    owner = np.repeat(np.arange(n_records, dtype=np.int64), np.diff(sets.offsets))
    starts = Starts(owner[places], places)
    after = sets.offsets[starts.records + 1] - places - 1
    n_sets = starts_of(after if size == 2 else after * (after - 1) // 2)
    ends = np.flatnonzero(np.diff(sets.items[places], append=-1)) + 1  # of the occurrences of one item
    low = 0
    for high, following in zip(ends, [*ends[1:], 0], strict=True):
        # Sets that begin with one item are counted in one table, so that no set is spread over two.
        if following and n_sets[following] - n_sets[low] <= AT_ONCE:
            continue
        _count_span(sets, starts, (low, int(high)), size, width, tallies, k, n_sets[high] - n_sets[low])
        low = int(high)
    return tallies


def supports(
    sets: ItemSets, holders: ItemRecords, offsets: NDArray[np.int64], wanted: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return the number of records that contain each set wanted, shape (n_wanted,) int64.

    Parameters
    ----------
    offsets : (n_wanted + 1,) where each set begins in ``wanted``; none is empty
    wanted : items
    """
    if np.any(np.diff(offsets) < 1) or (
        wanted.size and not 0 <= wanted.min() <= wanted.max() < holders.offsets.size - 1
    ):
        raise ValueError("sets wanted must have items, and items must exist")
    found = np.zeros(offsets.size - 1, dtype=np.int64)
    _supports(sets, holders, np.ascontiguousarray(offsets, np.int64), np.ascontiguousarray(wanted, np.int32), found)
    return found


class Least(NamedTuple):
    """The fewest records that contain a set, and whether that is proven."""

    records: int
    proven: bool


def least_of(sets: ItemSets, holders: ItemRecords, record: int, size: int, enough: int, work: int) -> Least:
    """Return how many records contain the rarest set of some items of a record, or at most ``enough`` as soon as known.

    Parameters
    ----------
    size : of the sets, from 1 to the items of the record
    work : records that may be looked at before giving up with what was found by then
    """
    if not 0 <= record < sets.offsets.size - 1 or not 1 <= size <= sets.offsets[record + 1] - sets.offsets[record]:
        raise ValueError("the record must exist, and have as many items as the sets")
    items = sets.items[sets.offsets[record] : sets.offsets[record + 1]]
    rarest_first = items[np.argsort(np.diff(holders.offsets)[items], kind="stable")]
    found = int(_least_of(sets, holders, rarest_first, size, enough, work))
    return Least(found, True) if found >= 0 else Least(-1 - found, False)


@jit
def _mark_covered(sets, lengths, holders, covered):
    """Mark sets that lie in a larger one, looked for among the sets that hold the rarest of their items."""
    largest = 0
    for length in lengths:
        largest = max(largest, length)
    for s in range(lengths.shape[0]):
        # Only a larger set counts: of two equal ones neither is part of the other.
        if lengths[s] == largest:
            continue
        rarest = -1
        for item in sets.items[sets.offsets[s] : sets.offsets[s + 1]]:
            if rarest < 0 or _n_records(holders, item) < _n_records(holders, rarest):
                rarest = item
        covered[s] = rarest < 0
        for at in range(holders.offsets[rarest], holders.offsets[rarest + 1] if rarest >= 0 else 0):
            other = holders.records[at]
            if lengths[other] > lengths[s] and _holds_all(
                sets, other, sets.items, sets.offsets[s], sets.offsets[s + 1]
            ):
                covered[s] = True
                break


def covered_sets(offsets: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which sets are part of a larger one, shape (n_sets,); the empty set is part of any other.

    Parameters
    ----------
    offsets : (n_sets + 1,) where each set begins
    items : item numbers from 0, ascending within a set
    """
    if not offsets.size or offsets[0] != 0 or offsets[-1] != items.size or (items.size and items.min() < 0):
        raise ValueError("offsets must span the items, and items be numbers from 0 on")
    sets = ItemSets(offsets, items)
    covered = np.zeros(offsets.size - 1, dtype=np.bool_)
    _mark_covered(sets, np.diff(sets.offsets), records_of_items(sets, int(items.max(initial=-1)) + 1), covered)
    return covered
