"""Sets of terms in released records, counted anew: every itemset of some size, and the sets of a privacy policy."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.data import owners, spread, starts_of
from cloister.errors import InputError

Integers = NDArray[np.int64]
Table = NDArray[np.int32]
Flags = NDArray[np.bool_]
SETS_AT_ONCE = 1024  # Sets whose records are looked at together
BYTE = 8
MOST_STEPS = 10_000_000  # Itemsets that are continued, some minutes to an hour; more are refused
FEW, MANY = 64, 4  # Records that are looked at one by one, where so many terms or more are still to come


def has_rare_itemset(offsets: Integers, items: Table, k: int, m: int) -> bool:
    """Whether some set of up to m terms is held by 1 to k - 1 records.

    Every part of a set that k records hold is held by k. So only records that fewer than k are like are open; if m is
    not small, all terms of one of up to m are counted together, and of a longer one the sets that may be rare.
    """
    values = items.tolist()
    bounds = pairwise(offsets.tolist())
    distinct: Counter[Sequence[int]] = Counter(tuple(values[start:end]) for start, end in bounds)
    counting = _Counting(distinct, k)
    lengths = np.array([len(record) for record in distinct], dtype=np.int64)
    is_few = np.array(list(distinct.values()), dtype=np.int64) < k
    # Every part of a record is held by k records if the record itself is: of a short one that is one count.
    is_short = is_few & (lengths <= m) if m >= MANY else np.zeros(len(lengths), dtype=np.bool_)
    short = (record for record, alone in zip(distinct, is_short.tolist(), strict=True) if alone and record)
    if any(counting.is_rare(record) for record in short):
        return True
    places = np.arange(len(counting.items))
    return counting.has_rare(places, np.repeat(is_few & ~is_short, lengths), (), m)


class _Counting:
    """Distinct records one after the other, and how far the search has come."""

    def __init__(self, distinct: Counter[Sequence[int]], k: int) -> None:
        lengths = np.array([len(record) for record in distinct], dtype=np.int64)
        self.likes = np.array(list(distinct.values()), dtype=np.int64)  # how many records are like each
        # Of each place the term, where its record ends, and how many records are like it.
        self.items = np.array([term for record in distinct for term in record], dtype=np.int64)
        self.ends, self.weights = np.repeat(np.cumsum(lengths), lengths), np.repeat(self.likes, lengths)
        n_terms = int(self.items.max(initial=-1)) + 1
        self.bits = _bits(starts_of(lengths), self.items.astype(np.int32), n_terms)
        self.k, self.steps = k, 0  # itemsets that were continued

    def is_rare(self, terms: Sequence[int]) -> bool:
        """Whether fewer than k records hold all of some terms that one holds."""
        common = np.bitwise_and.reduce(self.bits[list(terms)])
        if int(np.bitwise_count(common).sum(dtype=np.int64)) >= self.k:
            return False
        return int(self.likes[np.flatnonzero(np.unpackbits(common, count=len(self.likes)))].sum()) < self.k

    def has_rare(self, places: Integers, is_open: Flags, begun: tuple[int, ...], m: int) -> bool:
        """Whether a set that was begun is rare with the term of a place, or with it and up to m - 1 that follow.

        ``places`` are all that follow the set in the records that hold it; they are open where sets of their record
        are not known to be held by k.
        """
        if not is_open.any():
            return False
        found = self.items[places]
        counts = np.bincount(found, weights=self.weights[places])
        if np.any((counts > 0) & (counts < self.k)):
            return True
        if m == 1:
            return False
        order = np.argsort(found, kind="stable")
        cuts = np.flatnonzero(np.diff(found[order])) + 1
        groups = zip(np.split(places[order], cuts), np.split(is_open[order], cuts), strict=True)
        return any(
            self._continued(same, opened, (*begun, int(self.items[same[0]])), m - 1)
            for same, opened in groups
            if opened.any()
        )

    def _continued(self, places: Integers, is_open: Flags, begun: tuple[int, ...], m: int) -> bool:
        """Go on with the set that ends at these places.

        With all that follows it in a record it is a set that k records hold, and the record is closed; or it is rare if
        that is not too much; or it is looked at part by part. Where little is left to try, that is quicker.
        """
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise InputError(
                f"The records have too many sets of terms to count all of the size asked for (more than {MOST_STEPS:,} "
                "were continued). Ask for sets of fewer codes."
            )
        left = self.ends[places] - places - 1
        is_open = is_open & (left > 0)
        if m >= MANY:
            few = np.count_nonzero(is_open) <= FEW
            for at in np.flatnonzero(is_open & (few | (left <= m))).tolist():
                tail = self.items[places[at] + 1 : self.ends[places[at]]].tolist()
                rare = self.is_rare((*begun, *tail))
                if rare and len(tail) <= m:
                    return True
                # Where k records hold all that follows as well, they hold every part of it: nothing rare is left in
                # this record.
                is_open[at] = rare
        return self.has_rare(spread(places + 1, left), np.repeat(is_open, left), begun, m)


def has_rare_part(offsets: Integers, items: Table, n_terms: int, wanted: Table, k: int) -> bool:
    """Whether some set, or what a record has of it, is held by 1 to k - 1 records.

    ``wanted``: (n_sets, width) terms of each set, below 0 where there is none
    """
    # Each set of terms once, a term once in each; the number of terms stands for no term.
    sets = np.sort(np.where(wanted < 0, n_terms, wanted).astype(np.int32), axis=1)
    repeated = np.zeros(sets.shape, dtype=np.bool_)
    repeated[:, 1:] = sets[:, 1:] == sets[:, :-1]
    sets = np.unique(np.sort(np.where(repeated, n_terms, sets), axis=1), axis=0).astype(np.int32)
    bits = _bits(offsets, items, n_terms)
    starts = np.cumsum(np.bincount(items, minlength=n_terms))
    records = np.split(owners(offsets)[np.argsort(items, kind="stable")], starts[:-1])  # of each term, ascending
    for some in _at_a_time(sets):
        held = _held(bits, some)
        if np.any((held > 0) & (held < k)):
            return True
        # A set that no record holds may still have a part that few hold.
        for terms in some[held == 0].tolist():
            parts = _parts({term: records[term] for term in terms if term < n_terms}, n_terms)
            if any(np.any(_held(bits, block) < k) for block in _at_a_time(parts)):
                return True
    return False


def _at_a_time(sets: Table) -> Iterator[Table]:
    return (sets[start : start + SETS_AT_ONCE] for start in range(0, len(sets), SETS_AT_ONCE))


def _parts(records: Mapping[int, Integers], n_terms: int) -> Table:
    """What records have of some terms, ascending, each once: rows of terms, ``n_terms`` beyond the end."""
    term = np.repeat(list(records), [len(found) for found in records.values()])
    record = np.concatenate(list(records.values()))
    order = np.argsort(record, kind="stable")
    row = np.cumsum(np.diff(record[order], prepend=-1) > 0) - 1
    sizes = np.bincount(row)
    table = np.full((len(sizes), int(sizes.max(initial=0))), n_terms, dtype=np.int32)
    table[np.arange(table.shape[1]) < sizes[:, None]] = term[order]
    return np.unique(table, axis=0) if table.size else table


def _bits(offsets: Integers, items: Table, n_terms: int) -> NDArray[np.uint8]:
    """Records of each term, one bit a record; one more row for what every record holds."""
    n_records = len(offsets) - 1
    record = owners(offsets)
    bits = np.zeros((n_terms + 1, -(-n_records // BYTE)), dtype=np.uint8)
    np.bitwise_or.at(bits, (items, record // BYTE), np.uint8(128) >> (record % BYTE).astype(np.uint8))
    # No term is a row of ones, which changes no intersection.
    bits[n_terms] = np.packbits(np.ones(n_records, dtype=np.bool_))
    return bits


def _held(bits: NDArray[np.uint8], sets: Table) -> Integers:
    common = bits[sets[:, 0]]
    for column in sets.T[1:]:
        common &= bits[column]
    held: Integers = np.bitwise_count(common).sum(axis=1, dtype=np.int64)
    return held
