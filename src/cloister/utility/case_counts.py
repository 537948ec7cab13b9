"""Case counts: records with all codes of a query, or any code of a constraint, and the errors of estimates.

Counts are also estimated from records of terms; a term is a set of codes, and its record has one or more of them. The
actual subset is unknown, so answers are expectations: by the first reading all non-empty subsets are equally likely; by
the second each code of a term is there with one chance in the size of the term, whatever the others are.

References
----------
Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), "Disassociation for electronic health record privacy",
Journal of Biomedical Informatics 50, section 3.3 (ARE, MRE) and section 6.5 (intervals of MRE). A query is answered by
records that hold *all* of its codes; a constraint is matched by records that hold *at least one*. Terrovitis,
Liagouris, Mamoulis, Skiadopoulos (2012), PVLDB 5(10), section 7 (tKd, relative error of pairs). Loukides,
Gkoulalas-Divanis, Malin (2010), IEEE ITAB, section III.B (a term represents any non-empty subset of its codes) and
section V.B (queries).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from itertools import pairwise

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
    """A set of items, in ascending order, and the number of records that contain all of them."""

    items: tuple[int, ...]
    support: int


def frequent_itemsets(offsets: Offsets, items: Items, least: int, *, largest: int | None = None) -> list[Itemset]:
    """Return every set of items that at least ``least`` records contain, in the order of its items.

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
    waiting = [_Prefix((), frequent, item_bits(offsets, items, frequent), supports[frequent])]
    found: list[Itemset] = []
    while waiting:
        prefix = waiting.pop()
        ends = zip(prefix.last.tolist(), prefix.supports.tolist(), strict=True)
        found += (Itemset((*prefix.items, item), count) for item, count in ends)
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

    def longer(self, least: int) -> Iterator["_Prefix"]:
        for place in range(len(self.last) - 1):
            both = self.bits[place + 1 :] & self.bits[place]
            supports = np.bitwise_count(both).sum(axis=1, dtype=np.int64)
            kept = np.flatnonzero(supports >= least)
            if len(kept):
                items = (*self.items, int(self.last[place]))
                yield _Prefix(items, self.last[place + 1 :][kept], both[kept], supports[kept])


def item_bits(offsets: Offsets, items: Items, wanted: NDArray[np.int64]) -> Bits:
    """Return a bit matrix, one row per wanted item and one bit per record: (n_wanted, ceil(n_records / 64))."""
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
    """Return the sets that are part of no other set, most frequent first; ties: the larger, then by items."""
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


Query = tuple[int, ...]
Counts = NDArray[np.int64]
Means = NDArray[np.float64]

MOST_BITS = 1 << 32
"""Bits that are held at a time: half a gibibyte."""

EDGES = (-0.10, -0.05, -0.025, 0.0, 0.025, 0.05, 0.10)
"""Where the intervals of the histogram of matching errors meet; the first and the last are open."""


@dataclass(frozen=True)
class CountedSets:
    """Records as sets of items, indexed for counting."""

    offsets: Offsets  # (n_records + 1,) int64, where the items of each record begin
    items: Items  # item numbers from 0, ascending within a record
    n_items: int
    starts: Offsets  # (n_items + 1,) int64, where the records of each item begin in ``records``
    records: Counts  # records that hold an item, ascending, item by item

    @classmethod
    def of(cls, offsets: Offsets, items: Items, n_items: int) -> "CountedSets":
        """Index sets of items."""
        record = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
        starts = np.zeros(n_items + 1, dtype=np.int64)
        np.cumsum(np.bincount(items, minlength=n_items), out=starts[1:])
        return cls(offsets, items, n_items, starts, record[np.argsort(items, kind="stable")])

    def count(self, query: Query) -> int:
        """Count the records that contain all items of a query."""
        # Shortest first: what is in common is never longer, and each further list is only looked up in.
        lists = sorted((self.records[self.starts[item] : self.starts[item + 1]] for item in query), key=len)
        common = lists[0]
        for other in lists[1:]:
            if not len(common):
                break
            place = np.minimum(np.searchsorted(other, common), max(0, len(other) - 1))
            common = common[other[place] == common]
        return len(common)

    def counts(self, queries: Sequence[Query]) -> Counts:
        """Count the records that contain all items of each query: (n_queries,).

        With a bit for each record and item where that fits into memory, else query by query.
        """
        used = np.unique(np.array([item for query in queries for item in query], dtype=np.int64))
        if not len(used) or len(used) * (len(self.offsets) - 1) > MOST_BITS:
            return np.array([self.count(query) for query in queries], dtype=np.int64)
        bits = item_bits(self.offsets, self.items, used)
        rows = dict(zip(used.tolist(), bits, strict=True))
        common = (reduce(np.bitwise_and, [rows[item] for item in query]) for query in queries)
        return np.array([np.bitwise_count(held).sum(dtype=np.int64) for held in common], dtype=np.int64)

    def matches(self, constraints: Sequence[Query]) -> Counts:
        """Count the records that contain at least one item of each of these disjoint sets: (n_constraints,)."""
        number = np.full(self.n_items, -1, dtype=np.int64)
        for place, constraint in enumerate(constraints):
            number[list(constraint)] = place
        of_item = number[self.items]
        record = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))[of_item >= 0]
        keys = np.unique(record * max(1, len(constraints)) + of_item[of_item >= 0])
        return np.bincount(keys % max(1, len(constraints)), minlength=len(constraints)).astype(np.int64)


@dataclass(frozen=True)
class QueryErrors:
    """Relative errors of the answers to a workload."""

    # average_relative_error: over the queries that are answered by some record; NaN where there are none
    average_relative_error: float
    deviation: float  # standard deviation of ARE over the estimates
    # answered, unanswerable: queries with a true answer above 0, and those that are omitted as theirs is 0
    answered: int
    unanswerable: int
    by_size: dict[int, tuple[float, int]]  # number of codes -> (ARE, answered queries)


def query_errors(true: Counts, estimates: Sequence[Counts | Means], queries: Sequence[Query]) -> QueryErrors:
    """Compare the mean of several estimates with the true answers (Definition 2).

    Parameters
    ----------
    true : (n_queries,) answers on the original
    estimates : answers on reconstructions, or expected ones, each (n_queries,)
    """
    answered = true > 0
    truth = true[answered].astype(np.float64)
    each = np.array([counts[answered] for counts in estimates], dtype=np.float64)
    errors = np.abs(each.mean(axis=0) - truth) / truth
    alone = np.abs(each - truth) / truth
    sizes = np.array([len(query) for query in queries], dtype=np.int64)[answered]
    by_size = {
        int(size): (float(errors[sizes == size].mean()), int((sizes == size).sum())) for size in np.unique(sizes)
    }
    return QueryErrors(
        average_relative_error=float(errors.mean()) if len(errors) else float("nan"),
        deviation=float(alone.mean(axis=1).std()) if len(errors) else float("nan"),
        answered=len(errors),
        unanswerable=len(true) - len(errors),
        by_size=by_size,
    )


def matching_errors(true: Counts, estimates: Sequence[Counts]) -> Means:
    """Return the signed error (true - estimated) / true of each constraint, estimates averaged (Definition 3).

    Parameters
    ----------
    true : (n_constraints,) records of the original that match, at least 1
    """
    truth = true.astype(np.float64)
    errors: Means = (truth - np.mean(np.array(estimates, dtype=np.float64), axis=0)) / truth
    return errors


def error_histogram(errors: Means) -> dict[str, int]:
    """Count constraints by interval of their matching error (Figs 18 to 20): each interval includes its lower end."""
    place = np.searchsorted(EDGES, errors, side="right")
    counts = np.bincount(place, minlength=len(EDGES) + 1)
    names = [f"[{low:+.1%}, {high:+.1%})" for low, high in pairwise(EDGES)]
    labels = [f"below {EDGES[0]:+.1%}", *names, f"{EDGES[-1]:+.1%} and above"]
    return dict(zip(labels, counts.tolist(), strict=True))


def share_within(errors: Means, bound: float) -> float:
    """Return the share of constraints whose error is in [-bound, bound)."""
    return float(((errors >= -bound) & (errors < bound)).mean()) if len(errors) else float("nan")


def pair_errors(original: CountedSets, estimates: Sequence[CountedSets], ranks: tuple[int, int] = (200, 220)) -> float:
    """Return the mean relative error of the supports of pairs: |s - s'| / mean(s, s'), in [0, 2].

    Parameters
    ----------
    ranks : pairs are of the codes from the first to before the second of these ranks by support; fewer codes than that
        take the last ones there are
    """
    supports = np.diff(original.starts)
    order = np.argsort(-supports, kind="stable")[: ranks[1]]
    chosen = sorted(order[-(ranks[1] - ranks[0]) :].tolist())
    pairs = [(a, b) for place, a in enumerate(chosen) for b in chosen[place + 1 :]]
    true = original.counts(pairs).astype(np.float64)
    found = np.mean([estimate.counts(pairs) for estimate in estimates], axis=0) if pairs else true
    both = (true + found) / 2
    present = both > 0
    return float((np.abs(true - found)[present] / both[present]).mean()) if present.any() else 0.0


def lost_top_itemsets(original: CountedSets, estimate: CountedSets, top: int = 1000) -> float:
    """Return tKd: the share of the ``top`` most frequent sets of two or more codes that are not among those found."""
    before, after = (_top(found, top) for found in (original, estimate))
    return 1 - len(before & after) / len(before) if before else 0.0


def _top(sets: CountedSets, top: int) -> set[Query]:
    """The most frequent sets of two or more items; ties by items."""
    least = len(sets.offsets) - 1
    found: list[tuple[int, Query]] = []
    while least > 1 and len(found) < top:
        least = max(1, least // 2)
        itemsets = frequent_itemsets(sets.offsets, sets.items, least, largest=4)
        found = [(-itemset.support, itemset.items) for itemset in itemsets if len(itemset.items) > 1]
    return {items for _, items in sorted(found)[:top]}


class Reading(StrEnum):
    """An assumption on the probability that a record with a term has given codes of the term."""

    SUBSETS = "subsets"
    INVERSE_SIZE = "inverse-size"

    def chance(self, size: int, queried: int) -> float:
        """Return the probability that a record with a term has all of these codes of the term.

        Parameters
        ----------
        size, queried : codes of the term, and how many of them are asked for, from 1 to ``size``

        Examples
        --------
        >>> Reading.SUBSETS.chance(2, 1), Reading.INVERSE_SIZE.chance(2, 1)
        (0.6666666666666666, 0.5)
        """
        if self is Reading.INVERSE_SIZE:
            return float(float(size) ** -queried)
        return float(2.0**-queried / (1.0 - 2.0**-size))


@dataclass(frozen=True, eq=False, repr=False)
class TermSets:
    """Records of terms, indexed for queries about codes."""

    counted: CountedSets
    term_of: NDArray[np.int32]
    sizes: NDArray[np.int64]

    def answers(self, queries: Sequence[Query], reading: Reading = Reading.SUBSETS) -> Means:
        """Return the expected number of records with all codes of each query; 0 if a code is suppressed."""
        asked = [Counter(self.term_of[list(query)].tolist()) for query in queries]
        known = [number for number, terms in enumerate(asked) if min(terms) >= 0]
        held = self.counted.counts([tuple(sorted(asked[number])) for number in known])
        found = np.zeros(len(queries))
        for number, records in zip(known, held.tolist(), strict=True):
            chance = 1.0
            for term, queried in sorted(asked[number].items()):
                size = int(self.sizes[term])
                chance *= 1.0 if size == 1 else reading.chance(size, queried)
            found[number] = records * chance
        return found
