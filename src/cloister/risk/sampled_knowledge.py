"""What cannot be counted is sampled, with an interval: sets of many items."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.knowing import Holders, ItemSets, least_of, supports

Integers = NDArray[np.int64]
Random = np.random.Generator

DRAWS = 10_000
"""Sets that are drawn for a mean."""

SEARCHED = 1_000
"""Records that are searched for a telling set."""

WORK = 3_000_000
"""Records that are looked at in the search for one record's most telling set before it is given up."""

AT_ONCE = 1_000
NORMAL = 1.959963984540054
"""Of a normal variable, 95 % lie within so many standard deviations."""


@dataclass(frozen=True)
class Estimate:
    """A share with an interval that covers the true one in 95 % of samples; the ends are equal where it was counted."""

    value: float
    low: float
    high: float


def exactly(value: float) -> Estimate:
    """Return a share that was counted."""
    return Estimate(value, value, value)


def sample_chances(sets: ItemSets, holders: Holders, m: int, k: int, random: Random) -> tuple[Estimate, Estimate]:
    """Return the mean share of records' sets of ``m`` items, or of all items if fewer, in one record or below k."""
    records = random.integers(0, sets.offsets.size - 1, DRAWS)
    found = _supports_of_draws(sets, holders, records, m, random)
    return share_of(int((found == 1).sum()), DRAWS), share_of(int((found < k).sum()), DRAWS)


def sample_distinct(
    sets: ItemSets, holders: Holders, m: int, k: int, random: Random
) -> tuple[Estimate, Estimate] | None:
    """Return the share of the distinct sets of ``m`` items in one record, or below k; None if no record has so many.

    A set is drawn as often as records hold it, so each draw counts for one over that.
    """
    sizes = np.diff(sets.offsets)
    logs = np.array([_log_binomial(size, m) for size in range(int(sizes.max()) + 1)])[sizes]
    if np.isneginf(logs).all():
        return None
    weight = np.cumsum(np.exp(logs - logs.max()))
    records = np.searchsorted(weight, random.random(DRAWS) * weight[-1], side="right")
    found = _supports_of_draws(sets, holders, np.minimum(records, sizes.size - 1), m, random)
    return _ratio(found, 2), _ratio(found, k)


def sample_worst(
    sets: ItemSets, holders: Holders, m: int, open_records: Integers, enough: int, random: Random
) -> tuple[Estimate, int]:
    """Return the share of these records with a set of ``m`` items that at most ``enough`` records hold.

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
        least = least_of(sets, holders, record, size, enough, WORK)
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


def _supports_of_draws(sets: ItemSets, holders: Holders, records: Integers, m: int, random: Random) -> Integers:
    """Records that hold a set of ``m`` items, or all, drawn from each of some records."""
    parts = [
        _some_supports(sets, holders, records[start : start + AT_ONCE], m, random)
        for start in range(0, records.size, AT_ONCE)
    ]
    return np.concatenate(parts)


def _some_supports(sets: ItemSets, holders: Holders, records: Integers, m: int, random: Random) -> Integers:
    sizes = sets.offsets[records + 1] - sets.offsets[records]
    order = random.random((records.size, int(sizes.max())))
    order[np.arange(order.shape[1]) >= sizes[:, None]] = 2.0
    taken = np.argsort(order, axis=1)[:, :m]
    there = np.arange(taken.shape[1]) < np.minimum(sizes, m)[:, None]
    wanted = sets.items[np.where(there, taken + sets.offsets[records][:, None], 0)][there]
    offsets = np.concatenate([[0], np.cumsum(np.minimum(sizes, m))])
    return supports(sets, holders, offsets, wanted)


def _log_binomial(n: int, m: int) -> float:
    return math.log(math.comb(n, m)) if n >= m else -math.inf
