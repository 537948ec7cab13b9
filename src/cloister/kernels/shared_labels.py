"""The cost of labels shared by several rows: growing clusters, merging classes, least common labels."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .layout import FEW_ROWS, LevelMaps, Rows

NEARLY = 1e-9
"""Rounding of sums of prices, and more."""


@jit
def _common_levels(rows, maps, members, start, lowest, levels):
    """Fill ``levels``, (n_classes, n_attributes), with the lowest level from ``lowest`` on that a class shares."""
    for one in range(levels.shape[0]):
        for j in range(levels.shape[1]):
            level = lowest[j]
            first = rows.codes[j, members[start[one]]]
            for i in range(start[one] + 1, start[one + 1]):
                other = rows.codes[j, members[i]]
                # Labels that are equal at a level are equal above it: the level only rises from row to row.
                while (
                    maps.up[maps.start[j, 0, level] + first] != maps.up[maps.start[j, 0, level] + other]
                    and level + 1 < maps.heights[j]
                ):
                    level += 1
            levels[one, j] = level


def common_levels(
    rows: Rows,
    maps: LevelMaps,
    members: NDArray[np.int64],
    start: NDArray[np.int64],
    lowest: NDArray[np.int64],
    few: int = FEW_ROWS,
) -> NDArray[np.int64]:
    """Return the lowest levels at which all members of each class have one label, shape (n_classes, n_attributes).

    Parameters
    ----------
    members : (n_members,) int64, rows, class after class
    start : (n_classes + 1,) int64, where each class begins in ``members``; no class is empty
    lowest : (n_attributes,) int64, levels below which nothing is looked for
    few : members up to which no kernel is used; never changes the answer
    """
    if members.size and not 0 <= int(members.min()) <= int(members.max()) < rows.records.shape[0]:
        raise ValueError("members must be numbers of rows")
    if start[0] != 0 or start[-1] != members.size or np.any(np.diff(start) < 1):
        raise ValueError("classes must follow each other, and none may be empty")
    if lowest.shape != maps.heights.shape or np.any(lowest < 0) or np.any(lowest >= maps.heights):
        raise ValueError(f"levels must be one per attribute, each below {maps.heights.tolist()}")
    levels = np.tile(lowest, (start.size - 1, 1))
    if members.size > few:
        _common_levels(rows, maps, members, start, lowest, levels)
        return levels
    sizes = np.diff(start)
    for j, height in enumerate(maps.heights.tolist()):
        for level in range(int(lowest[j]), height - 1):
            labels = maps.up[maps.start[j, 0, level] + rows.codes[j, members].astype(np.int64)]
            differ = np.logical_or.reduceat(labels != np.repeat(labels[start[:-1]], sizes), start[:-1])
            # Labels that are equal at a level are equal above it.
            if not differ.any():
                break
            levels[differ, j] = level + 1
    return levels


class Prices(NamedTuple):
    """The costs of labels, and their highest allowed levels.

    price : flat float64; ``price[start[j, a] + c]`` is the weighted loss of code c at level a of attribute j
    low, high : flat float64; the interval of code c at level 0 of attribute j reaches from ``low[place[j] + c]`` to
        ``high[place[j] + c]``, in leaves; endless where intervals are not joined
    bit : flat uint64; ``bit[place[j] + c]`` marks code c among those of attribute j that a label may list; all bits
        where it may not
    """

    price: NDArray[np.float64]
    start: NDArray[np.int64]  # (n_attributes, n_levels) offsets into ``price``
    lowest: NDArray[np.int64]  # lowest, highest: (n_attributes,) levels allowed
    highest: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    place: NDArray[np.int64]  # (n_attributes,) offsets into ``low`` and ``high``
    of_leaf: NDArray[np.float64]  # (n_attributes,) weighted loss of one leaf more
    bit: NDArray[np.uint64]
    listed: NDArray[np.int64]  # (n_attributes,) values that a label may list at most, below 64


class Clusters(NamedTuple):
    """Clusters by their labels."""

    levels: NDArray[np.int64]  # levels, codes: (n_clusters, n_attributes) the label of each attribute
    codes: NDArray[np.int64]
    low: NDArray[np.float64]  # low, high: (n_clusters, n_attributes) from where to where its joined intervals reach
    high: NDArray[np.float64]
    bits: NDArray[np.uint64]  # (n_clusters, n_attributes) the values that its labels may list
    sizes: NDArray[np.int64]  # (n_clusters,) records; 0 where a cluster is no more


@inner
def _joint_label(maps, clusters, one, other, j, highest):
    """The least common label of two clusters, as level and code, and the code of the other where it is too high."""
    low = clusters.levels[one, j]
    level = clusters.levels[other, j]
    code = clusters.codes[one, j]
    goal = clusters.codes[other, j]
    # Labels of unlike levels are first brought to the higher of them; from there both rise together.
    if low < level:
        code = np.int64(maps.up[maps.start[j, low, level] + code])
    elif level < low:
        goal = np.int64(maps.up[maps.start[j, level, low] + goal])
        level = low
    while code != goal and level < highest:
        rise = maps.start[j, level, level + 1]
        code = np.int64(maps.up[rise + code])
        goal = np.int64(maps.up[rise + goal])
        level += 1
    return level, code, goal


@inner
def _joint_reach(prices, clusters, one, other, j):
    """Leaves of the shortest label of an attribute that joins intervals, or lists the values, of two clusters."""
    if prices.listed[j] > 0:
        # How many bits are set: in pairs, in fours, in bytes, and in all bytes.
        bits = clusters.bits[one, j] | clusters.bits[other, j]
        bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
        bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
        bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        n = np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))
        return np.float64(n) if n <= prices.listed[j] else np.inf
    return max(clusters.high[one, j], clusters.high[other, j]) - min(clusters.low[one, j], clusters.low[other, j])


@inner
def _joint_price_in(maps, prices, clusters, one, other, j):
    """What an attribute of two clusters costs at their least common label, or where their groups are joined.

    Infinite where the label is not allowed.
    """
    reach = _joint_reach(prices, clusters, one, other, j)
    if reach < np.inf and prices.highest[j] == maps.heights[j] - 1:
        # What is joined lies beneath the common label, which need not be found: only one that they share may cost less.
        price = (reach - 1.0) * prices.of_leaf[j]
        level, code = clusters.levels[one, j], clusters.codes[one, j]
        is_shared = level == clusters.levels[other, j] and code == clusters.codes[other, j]
        return min(price, prices.price[prices.start[j, level] + code]) if is_shared else price
    level, code, goal = _joint_label(maps, clusters, one, other, j, prices.highest[j])
    if code != goal:
        return np.inf
    price = prices.price[prices.start[j, level] + code]
    return min(price, (reach - 1.0) * prices.of_leaf[j]) if reach < np.inf else price


@inner
def _joint_price(maps, prices, clusters, one, other, most):
    """What a record of two clusters costs at their least common labels; infinite where these are not allowed."""
    total = 0.0
    for j in range(clusters.levels.shape[1]):
        total += _joint_price_in(maps, prices, clusters, one, other, j)
        # Prices are not negative: what is too dear by some attributes is too dear by all.
        if total > most:
            break
    return total


@inner
def _join_labels(maps, clusters, one, other):
    """Raise the labels of one cluster until they cover another, and add its records."""
    for j in range(clusters.levels.shape[1]):
        level, code, _ = _joint_label(maps, clusters, one, other, j, maps.heights[j] - 1)
        clusters.levels[one, j] = level
        clusters.codes[one, j] = code
        clusters.low[one, j] = min(clusters.low[one, j], clusters.low[other, j])
        clusters.high[one, j] = max(clusters.high[one, j], clusters.high[other, j])
        clusters.bits[one, j] |= clusters.bits[other, j]
    clusters.sizes[one] += clusters.sizes[other]


@jit
def _join(maps, clusters, one, other):
    """Join two clusters."""
    _join_labels(maps, clusters, one, other)


@jit
def _grow(maps, prices, pool, owner, one, least):
    """Add the row that makes a record of the cluster cheapest until there are enough records or nothing fits."""
    while pool.sizes[one] < least:
        best = -1
        lowest = np.inf
        for row in range(owner.shape[0]):
            if owner[row] < 0:
                price = _joint_price(maps, prices, pool, one, row, lowest)
                if price < lowest:
                    lowest = price
                    best = row
        if best < 0:
            break
        _join_labels(maps, pool, one, best)
        owner[best] = one


@jit
def _furthest(maps, prices, pool, owner, one):
    """The free row that costs most together with another row; -1 if none is free."""
    best = -1
    highest = -1.0
    for row in range(owner.shape[0]):
        if owner[row] < 0:
            price = _joint_price(maps, prices, pool, one, row, np.inf)
            if price > highest:
                highest = price
                best = row
    return best


@inner
def _may_add_less(maps, prices, clusters, one, other, lowest):
    """Whether joining two clusters may add less to the loss: no attribute adds less than nothing."""
    most = lowest * (1.0 + NEARLY) + NEARLY
    added = 0.0
    for j in range(clusters.levels.shape[1]):
        joint = _joint_price_in(maps, prices, clusters, one, other, j)
        mine = _joint_price_in(maps, prices, clusters, one, one, j)
        own = _joint_price_in(maps, prices, clusters, other, other, j)
        if joint == np.inf:
            return False
        added += clusters.sizes[one] * (joint - mine) + clusters.sizes[other] * (joint - own)
        if added > most:
            return False
    return True


@jit
def _nearest(maps, prices, clusters, one):
    """The other cluster that costs least to join with one; -1 if none can be joined."""
    best = -1
    lowest = np.inf
    own = _joint_price(maps, prices, clusters, one, one, np.inf)
    for other in range(clusters.sizes.shape[0]):
        if other != one and clusters.sizes[other] > 0 and _may_add_less(maps, prices, clusters, one, other, lowest):
            joint = _joint_price(maps, prices, clusters, one, other, np.inf)
            if joint < np.inf:
                alone = _joint_price(maps, prices, clusters, other, other, np.inf)
                cost = clusters.sizes[one] * (joint - own) + clusters.sizes[other] * (joint - alone)
                if cost < lowest:
                    lowest = cost
                    best = other
    return best


def single_clusters(rows: Rows, maps: LevelMaps, prices: Prices, spare: int = 0) -> Clusters:
    """Return each row as a cluster of its own at the lowest levels, and empty ones after them."""
    lowest = prices.lowest
    if lowest.shape != maps.heights.shape or np.any(lowest < 0) or np.any(lowest >= maps.heights):
        raise ValueError(f"levels must be one per attribute, each below {maps.heights.tolist()}")
    n_rows = rows.records.shape[0]
    codes = np.zeros((n_rows + spare, lowest.size), dtype=np.int64)
    low, high, bits = np.zeros(codes.shape), np.zeros(codes.shape), np.zeros(codes.shape, dtype=np.uint64)
    for j, level in enumerate(lowest.tolist()):
        places = prices.place[j] + rows.codes[j].astype(np.int64)
        low[:n_rows, j], high[:n_rows, j], bits[:n_rows, j] = (
            prices.low[places],
            prices.high[places],
            prices.bit[places],
        )
        codes[:n_rows, j] = maps.up[maps.start[j, 0, level] + rows.codes[j].astype(np.int64)]
    sizes = np.concatenate([rows.records, np.zeros(spare, dtype=np.int64)])
    return Clusters(np.tile(lowest, (n_rows + spare, 1)), codes, low, high, bits, sizes)


def _check_clusters(clusters: Clusters, *places: int) -> None:
    n_clusters = clusters.sizes.shape[0]
    if clusters.levels.shape != clusters.codes.shape or clusters.levels.shape[0] != n_clusters:
        raise ValueError("clusters must have one level and one code for each attribute")
    if not all(0 <= place < n_clusters for place in places):
        raise ValueError(f"clusters must be numbered from 0 to {n_clusters - 1}")


def grow(maps: LevelMaps, prices: Prices, pool: Clusters, owner: NDArray[np.int64], one: int, least: int) -> None:
    """Add free rows to a cluster until it has enough records or nothing fits; of equal rows, add the first.

    Parameters
    ----------
    pool : the rows, and after them at least one cluster; its labels and sizes are changed in place
    owner : (n_rows,) int64, cluster of each row, -1 where it is free; changed in place
    one : number of the cluster in the pool, beyond the rows
    least : records wanted
    """
    _check_clusters(pool, one)
    if one < owner.shape[0]:
        raise ValueError("a row cannot grow: copy it to a cluster first")
    _grow(maps, prices, pool, owner, one, least)


def furthest(maps: LevelMaps, prices: Prices, pool: Clusters, owner: NDArray[np.int64], one: int) -> int:
    """Return the free row that costs most together with row ``one``, the first of equal ones; -1 if none is free."""
    _check_clusters(pool, one, *([owner.shape[0] - 1] if owner.shape[0] else []))
    return int(_furthest(maps, prices, pool, owner, one))


def nearest(maps: LevelMaps, prices: Prices, clusters: Clusters, one: int) -> int:
    """Return the cluster that adds least to the loss when it joins ``one``; -1 if none may be joined."""
    _check_clusters(clusters, one)
    return int(_nearest(maps, prices, clusters, one))


def join(maps: LevelMaps, clusters: Clusters, one: int, other: int) -> None:
    """Raise the labels of a cluster until they cover another one, and add its records; the other is left as it is."""
    _check_clusters(clusters, one, other)
    _join(maps, clusters, one, other)


class MergedClasses(NamedTuple):
    """Classes of a table, each by its first row.

    codes : (n_attributes, n_levels, n) int64, label of the row at each level; levels beyond the top repeat it
    """

    codes: NDArray[np.int64]
    costs: NDArray[np.float64]  # (n_attributes, n_levels, n) loss of that label, in [0, 1]
    levels: NDArray[np.int64]  # (n_attributes, n) level of each class now
    sizes: NDArray[np.int64]  # (n,) records
    is_there: NDArray[np.bool_]  # (n,) whether the class was not merged into another


def merge_prices(
    classes: MergedClasses, one: int, weights: NDArray[np.float64], highest: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return what merging a class with each other one adds to the weighted loss of records.

    Parameters
    ----------
    weights, highest : (n_attributes,) weight, and highest level allowed

    Returns
    -------
    prices : (n,) float64; infinite where classes are gone or may not be merged
    """
    attributes, _, n = classes.codes.shape
    if classes.costs.shape != classes.codes.shape or classes.levels.shape != (attributes, n):
        raise ValueError("codes, costs and levels must have the same attributes and classes")
    if not (classes.sizes.shape == classes.is_there.shape == (n,)) or not 0 <= one < n:
        raise ValueError("sizes and is_there must have one entry a class, and the class be one of them")
    if weights.shape != (attributes,) or highest.shape != (attributes,):
        raise ValueError("weights and highest must have one entry an attribute")
    if n and np.any(classes.codes[:, -1] != classes.codes[:, -1, :1]):
        raise ValueError("all classes must have one label at the last level")
    prices = np.where(classes.is_there, 0.0, np.inf)
    prices[one] = np.inf
    every = np.arange(n)
    for j, (codes, costs, levels) in enumerate(zip(classes.codes, classes.costs, classes.levels, strict=True)):
        level = np.maximum(levels, levels[one])
        # The lowest level at which both have one label; all have one at the last level: this ends.
        while (apart := codes[level, every] != codes[level, one]).any():
            level[apart] += 1
        mine = costs[level, one] - costs[levels[one], one]
        theirs = costs[level, every] - costs[levels, every]
        prices += weights[j] * (mine * classes.sizes[one] + theirs * classes.sizes)
        prices[level > highest[j]] = np.inf
    return prices
