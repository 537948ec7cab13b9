"""Sets of terms in released records, counted anew: every itemset of some size, and the sets of a privacy policy."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Table = NDArray[np.int32]

SETS_AT_ONCE = 1024
"""Sets whose records are looked at together."""

BYTE = 8


def has_rare_itemset(offsets: Integers, items: Table, k: int, m: int) -> bool:
    """Whether some set of up to m terms is held by 1 to k - 1 records.

    Parameters
    ----------
    offsets, items : the records, ascending terms
    """
    distinct = Counter(_tuples(offsets, items))
    lengths = np.array([len(record) for record in distinct], dtype=np.int64)
    flat = np.array([term for record in distinct for term in record], dtype=np.int64)
    ends = np.repeat(np.cumsum(lengths), lengths)
    weights = np.repeat(np.array(list(distinct.values()), dtype=np.int64), lengths)
    return _is_rare(np.arange(len(flat)), flat, ends, weights, (k, m))


def _is_rare(places: Integers, items: Integers, ends: Integers, weights: Integers, bounds: tuple[int, int]) -> bool:
    """Whether one of the items at these places is rare, or is so with up to m - 1 items that follow it in its record.

    Parameters
    ----------
    items, ends, weights : of each place: the item, where its record ends, how many records are like it
    bounds : k and m
    """
    k, m = bounds
    found = items[places]
    counts = np.bincount(found, weights=weights[places])
    if np.any((counts > 0) & (counts < k)):
        return True
    if m == 1 or not len(places):
        return False
    order = np.argsort(found, kind="stable")
    cuts = np.flatnonzero(np.diff(found[order])) + 1
    return any(
        _is_rare(_following(same, ends), items, ends, weights, (k, m - 1)) for same in np.split(places[order], cuts)
    )


def _following(places: Integers, ends: Integers) -> Integers:
    """All places after each of some places, in the same record."""
    later = ends[places] - places - 1
    before = np.repeat(np.cumsum(later) - later, later)
    following: Integers = np.repeat(places + 1, later) + np.arange(len(before)) - before
    return following


def has_rare_part(offsets: Integers, items: Table, n_terms: int, wanted: Table, k: int) -> bool:
    """Whether some set, or what a record has of it, is held by 1 to k - 1 records.

    Parameters
    ----------
    offsets, items : the records, ascending terms
    wanted : (n_sets, width) terms of each set, below 0 where there is none
    """
    sets = _distinct(np.where(wanted < 0, n_terms, wanted).astype(np.int32), n_terms)
    bits = _bits(offsets, items, n_terms)
    for start in range(0, len(sets), SETS_AT_ONCE):
        some = sets[start : start + SETS_AT_ONCE]
        held = _held(bits, some)
        if np.any((held > 0) & (held < k)):
            return True
        if np.any(held == 0) and _parts_rare(offsets, items, some[held == 0], n_terms, k):
            return True
    return False


def _distinct(sets: Table, n_terms: int) -> Table:
    """Each set of terms once, a term once in each; ``n_terms`` stands for no term."""
    sets = np.sort(sets, axis=1)
    repeated = np.zeros(sets.shape, dtype=np.bool_)
    repeated[:, 1:] = sets[:, 1:] == sets[:, :-1]
    sets = np.sort(np.where(repeated, n_terms, sets), axis=1)
    return np.unique(sets, axis=0).astype(np.int32)


def _bits(offsets: Integers, items: Table, n_terms: int) -> NDArray[np.uint8]:
    """Records of each term, one bit a record; one more row for what every record holds."""
    n_records = len(offsets) - 1
    record = np.repeat(np.arange(n_records), np.diff(offsets))
    bits = np.zeros((n_terms + 1, -(-n_records // BYTE)), dtype=np.uint8)
    np.bitwise_or.at(bits, (items, record // BYTE), np.uint8(128) >> (record % BYTE).astype(np.uint8))
    bits[n_terms] = np.packbits(np.ones(n_records, dtype=np.bool_))
    return bits


def _held(bits: NDArray[np.uint8], sets: Table) -> Integers:
    common = bits[sets[:, 0]]
    for column in sets.T[1:]:
        common &= bits[column]
    held: Integers = np.bitwise_count(common).sum(axis=1, dtype=np.int64)
    return held


def _parts_rare(offsets: Integers, items: Table, sets: Table, n_terms: int, k: int) -> bool:
    """Whether what some record has of a set that none has as a whole is rare."""
    records = Counter(frozenset(record) for record in _tuples(offsets, items))
    for terms in sets.tolist():
        wanted = frozenset(terms) - {n_terms}
        parts: Counter[frozenset[int]] = Counter()
        for record, count in records.items():
            parts[record & wanted] += count
        del parts[frozenset()]
        for part in parts:
            if sum(count for other, count in parts.items() if part <= other) < k:
                return True
    return False


def _tuples(offsets: Integers, items: Table) -> Iterator[Sequence[int]]:
    bounds, values = offsets.tolist(), items.tolist()
    for start, end in pairwise(bounds):
        yield tuple(values[start:end])
