"""Risk from adversaries with partial knowledge: some items of a patient (codes, or pairs of a code and an age).

Sets of a few items are counted; sets of many are sampled, with an interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.itemset_support import (
    LARGEST,
    WIDEST,
    ItemRecords,
    ItemSets,
    count_sets,
    item_sets,
    least_of,
    records_of_items,
    supports,
)

Integers = NDArray[np.int64]
Random = np.random.Generator

DRAWS = 10_000  # sets that are drawn for a mean
SEARCHED = 1_000  # records that are searched for an identifying set
WORK = 3_000_000  # records to examine in the search for the most identifying set of a record before giving up
AT_ONCE = 1_000
NORMAL = 1.959963984540054  # of a normal variable, 95 % lie within so many standard deviations


@dataclass(frozen=True)
class Estimate:
    """A share with its 95 % confidence interval; the ends are equal if the share was counted."""

    value: float
    low: float
    high: float


def exactly(value: float) -> Estimate:
    """Return a counted share."""
    return Estimate(value, value, value)


def sample_distinct(
    sets: ItemSets, postings: ItemRecords, m: int, k: int, random: Random
) -> tuple[Estimate, Estimate] | None:
    """Return the share of the distinct sets of ``m`` items in one record, or below k; None if no record has so many.

    A set is drawn as often as records hold it, so each draw counts for one over that.
    """
    sizes = np.diff(sets.offsets)
    binomials = (math.comb(size, m) for size in range(int(sizes.max()) + 1))
    logs = np.array([math.log(count) if count else -math.inf for count in binomials])[sizes]
    if np.isneginf(logs).all():
        return None
    weight = np.cumsum(np.exp(logs - logs.max()))
    records = np.searchsorted(weight, random.random(DRAWS) * weight[-1], side="right")
    found = _supports_of_draws(sets, postings, np.minimum(records, sizes.size - 1), m, random)
    return _ratio(found, 2), _ratio(found, k)


def sample_worst(
    sets: ItemSets, postings: ItemRecords, m: int, open_records: Integers, enough: int, random: Random
) -> tuple[Estimate, int]:
    """Return the share of these records with a set of ``m`` items that at most ``enough`` records contain.

    Records with fewer items are known by all of them. The second number is of records for which the search was given
    up; the upper end allows for them.
    """
    if open_records.size == 0:
        return exactly(0.0), 0
    all_of_them = open_records.size <= SEARCHED
    looked_at = open_records if all_of_them else random.choice(open_records, SEARCHED, replace=False)
    hits = undecided = 0
    for record in looked_at.tolist():
        size = min(m, int(sets.offsets[record + 1] - sets.offsets[record]))
        least = least_of(sets, postings, record, size, enough, WORK)
        hits += least.records <= enough
        undecided += least.records > enough and not least.proven
    n = looked_at.size
    if all_of_them:
        return Estimate(hits / n, hits / n, (hits + undecided) / n), undecided
    return Estimate(hits / n, share_of(hits, n).low, share_of(hits + undecided, n).high), undecided


def share_of(hits: int, draws: int) -> Estimate:
    """Return a share of draws with Wilson's interval.

    Examples
    --------
    >>> share_of(0, 100).low, round(share_of(0, 100).high, 3)
    (0.0, 0.037)
    """
    share, z = hits / draws, NORMAL
    middle = (share + z * z / (2 * draws)) / (1 + z * z / draws)
    half = z / (1 + z * z / draws) * math.sqrt(share * (1 - share) / draws + z * z / (4 * draws * draws))
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    return Estimate(share, low, 1.0 if hits == draws else min(1.0, middle + half))


def _ratio(found: Integers, below: int) -> Estimate:
    """Share of distinct sets in fewer than ``below`` records, from draws by occurrence."""
    weight = 1.0 / found
    is_below = found < below
    share = float((weight * is_below).sum() / weight.sum())
    off = weight * (is_below - share)
    half = NORMAL * math.sqrt(float((off * off).sum())) / float(weight.sum())
    plain = share_of(round(share * found.size), found.size)  # wider where all draws agree
    return Estimate(share, max(0.0, min(share - half, plain.low)), min(1.0, max(share + half, plain.high)))


def _supports_of_draws(sets: ItemSets, postings: ItemRecords, records: Integers, m: int, random: Random) -> Integers:
    """Records that hold a set of ``m`` items, or all, drawn from each of some records."""
    parts = []
    for begin in range(0, records.size, AT_ONCE):
        some = records[begin : begin + AT_ONCE]
        sizes = sets.offsets[some + 1] - sets.offsets[some]
        order = random.random((some.size, int(sizes.max())))
        order[np.arange(order.shape[1]) >= sizes[:, None]] = 2.0
        chosen = np.argsort(order, axis=1)[:, :m]
        there = np.arange(chosen.shape[1]) < np.minimum(sizes, m)[:, None]
        wanted = sets.items[np.where(there, chosen + sets.offsets[some][:, None], 0)][there]
        offsets = np.concatenate([[0], np.cumsum(np.minimum(sizes, m))])
        parts.append(supports(sets, postings, offsets, wanted))
    return np.concatenate(parts)


MOST_KNOWN = 20
MOST_COUNTED = 500_000_000  # sets of one size that are counted all, at most: some minute


@dataclass(frozen=True)
class KnowledgeRisk:
    """Risk from an adversary who knows m items of a patient, or all items of a patient with fewer.

    Attributes
    ----------
    exact : whether every set was counted; else shares are estimates with an interval of 95 %
    records_unique, records_below_k : share of the records with a set of items that nobody else has, or fewer than k
        records have: the risk from an attacker who knows the most identifying items
    chance_unique, chance_below_k : mean over the records of the share of their sets that nobody else has, or fewer than
        k records have: the risk from an attacker who knows random items
    sets_unique, sets_below_k : share of the distinct sets of m items that one record has, or fewer than k have
    undecided : records for which the search for an identifying set was given up; the intervals allow for them

    References
    ----------
    Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), "Disassociation for electronic health record privacy",
    section 6.2 and figure 12: the share of sets.
    """

    m: int
    exact: bool
    records_unique: Estimate
    records_below_k: Estimate
    chance_unique: Estimate
    chance_below_k: Estimate
    sets_unique: Estimate | None
    sets_below_k: Estimate | None
    undecided: int = 0


@dataclass(frozen=True)
class PartialKnowledge:
    """Risk from adversaries of increasing knowledge."""

    n_records: int
    n_items: int
    k: int
    seed: int
    risks: tuple[KnowledgeRisk, ...]


@dataclass(frozen=True)
class _CountedSets:
    """Counts of the sets of up to m items of each record."""

    m: int
    least: Integers  # (n_records,) records that hold the rarest set of each
    # alone, few: (n_records,) share of each record's sets that one record holds, or fewer than k hold
    alone: NDArray[np.float64]
    few: NDArray[np.float64]
    distinct: Integers


def partial_knowledge(
    offsets: Integers, items: NDArray[np.int32], *, known: Sequence[int], k: int, seed: int = 0
) -> PartialKnowledge:
    """Return the risk from adversaries who know these numbers of items of a patient.

    Sets of up to three items are counted all; larger ones, or more than half a billion, are sampled. Whoever is found
    by three items is found by more, so the share of records found is sampled among the others only.

    Parameters
    ----------
    offsets : (n_records + 1,) where the items of each record begin; every record has some
    items : numbers of items, ascending within a record; an item may be anything that an attacker can know
    k : at least 2
    """
    if not known or any(m not in range(1, MOST_KNOWN + 1) for m in known):
        raise InputError(f"Adversaries know from 1 to {MOST_KNOWN} items of a patient; give whole numbers, as 1,2,3,5.")
    if k < 2:
        raise InputError(f"k = {k} was asked for, but a set in fewer than k records means something from k = 2 on.")
    sets = item_sets(offsets, items)
    sizes = np.diff(sets.offsets)
    if not sizes.size or not sizes.all():
        raise InputError("There are no records, or one has no items. Leave such records out.")
    n_items = int(items.max(initial=-1)) + 1
    postings = records_of_items(sets, n_items)
    records_by_size = list(zip(*np.unique(sizes, return_counts=True), strict=True))
    levels: list[_CountedSets] = []
    risks: dict[int, KnowledgeRisk] = {}
    for m in range(1, max(known) + 1):
        counted = m <= LARGEST and len(levels) == m - 1
        if counted and m > 1:
            every = sum(comb(int(size), m) * int(count) for size, count in records_by_size)
            counted = every <= MOST_COUNTED and n_items <= WIDEST
        if counted:
            levels.append(_count_sets(sets, postings, sizes, m, k, levels))
        if m in known:
            risks[m] = _exact(levels[-1], k) if counted else _sample_sets(sets, postings, m, k, levels[-1], seed)
    occurring = int(np.count_nonzero(np.diff(postings.offsets)))
    return PartialKnowledge(sizes.size, occurring, k, seed, tuple(risks[m] for m in sorted(risks)))


def _count_sets(
    sets: ItemSets, postings: ItemRecords, sizes: Integers, m: int, k: int, levels: list[_CountedSets]
) -> _CountedSets:
    """Count the sets of ``m`` items; records with fewer items keep the result of their whole set."""
    if m == 1:
        support = np.diff(postings.offsets)
        each, start = support[sets.items], sets.offsets[:-1]
        present = support[support > 0]
        distinct = np.array([present.size, (present == 1).sum(), (present < k).sum()])
        alone, few = np.add.reduceat(each == 1, start, dtype=np.int64), np.add.reduceat(each < k, start, dtype=np.int64)
        return _CountedSets(1, np.minimum.reduceat(each, start), alone / sizes, few / sizes, distinct)
    below = levels[-1]
    tallies = count_sets(sets, m, k)
    enough = sizes >= m
    binomials = np.array([comb(size, m) for size in range(int(sizes.max()) + 1)], dtype=np.float64)
    n_sets = np.where(enough, binomials[sizes], 1.0)
    return _CountedSets(
        m,
        np.where(enough, tallies.least, below.least),
        np.where(enough, tallies.alone / n_sets, below.alone),
        np.where(enough, tallies.few / n_sets, below.few),
        tallies.distinct,
    )


def _exact(level: _CountedSets, k: int) -> KnowledgeRisk:
    every = int(level.distinct[0])
    alone, few = (exactly(int(count) / every) if every else None for count in level.distinct[1:])
    return KnowledgeRisk(
        level.m,
        True,
        exactly(float((level.least == 1).mean())),
        exactly(float((level.least < k).mean())),
        exactly(float(level.alone.mean())),
        exactly(float(level.few.mean())),
        alone,
        few,
    )


def _sample_sets(
    sets: ItemSets, postings: ItemRecords, m: int, k: int, level: _CountedSets, seed: int
) -> KnowledgeRisk:
    random = np.random.default_rng([seed, m])
    more = np.diff(sets.offsets) > level.m
    worst, given_up = [], 0
    for enough in (1, k - 1):
        settled = int((level.least <= enough).sum())
        open_records = np.flatnonzero(more & (level.least > enough))
        found, undecided = sample_worst(sets, postings, m, open_records, enough, random)
        # Some records are known to be found, and of the open ones a share is.
        shares = (found.value, found.low, found.high)
        worst.append(Estimate(*((settled + open_records.size * share) / level.least.size for share in shares)))
        given_up += undecided
    records = random.integers(0, sets.offsets.size - 1, DRAWS)
    supported = _supports_of_draws(sets, postings, records, m, random)
    chances = [share_of(int((supported < below).sum()), DRAWS) for below in (2, k)]
    distinct = sample_distinct(sets, postings, m, k, random) or (None, None)
    return KnowledgeRisk(m, False, worst[0], worst[1], chances[0], chances[1], distinct[0], distinct[1], given_up)
