"""Local search over classes: nearby classes are regrouped, or one is dissolved, where that costs less."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .classes import number_by_first
from .layout import LevelMaps, Rows
from .shared_labels import Clusters, Prices, _join_labels, _joint_price, single_clusters

NEIGHBOURS = 2  # classes that are regrouped together with one (1 to 7 tried)
STARTS = 6  # rows with which a grouping begins, one after the other; the best one counts (6 to 12 tried)
MOST_ROWS = 120  # distinct rows that are regrouped at once: the work grows with their square
PASSES = 6  # over all rows; later ones change little
LESS = 1e-9
"""What a change must save, in records that lose everything: rounding alone saves nothing."""


class Classes(NamedTuple):
    """Classes of rows, as lists that are changed in place."""

    pool: Clusters  # the rows, and after them room for classes
    worth: NDArray[np.float64]  # (n_slots,) what a record loses, of a row and a class
    head: NDArray[np.int64]  # (n_slots,) first row of a class; -1 where there is none
    after: NDArray[np.int64]  # (n_rows,) next row of the class; -1 at the end
    owner: NDArray[np.int64]  # (n_rows,) class of each row, as a slot of the pool


class Regrouping(NamedTuple):
    """Rows that are regrouped."""

    members: NDArray[np.int64]  # (n_rows,) the rows, as far as there are any
    group: NDArray[np.int64]  # (n_rows,) slot of the group of each; -1 while it has none
    best: NDArray[np.int64]  # (n_rows,) the groups of the cheapest grouping so far, numbered from 0
    slots: NDArray[np.int64]  # (1 + NEIGHBOURS,) a class and those to which one of its rows adds least; -1 for none
    costs: NDArray[np.float64]  # (NEIGHBOURS,) what the row adds to each of these


@inner
def _copy(classes, target, source):
    """Give a slot the labels and the number of records of another one."""
    pool = classes.pool
    for j in range(pool.levels.shape[1]):
        pool.levels[target, j] = pool.levels[source, j]
        pool.codes[target, j] = pool.codes[source, j]
        pool.low[target, j] = pool.low[source, j]
        pool.high[target, j] = pool.high[source, j]
        pool.bits[target, j] = pool.bits[source, j]
    pool.sizes[target] = pool.sizes[source]
    classes.worth[target] = classes.worth[source]


@inner
def _cover(maps, prices, classes, slot, row):
    """Let the labels of a slot cover a row as well, and count its records; return what is lost more."""
    before = classes.pool.sizes[slot] * classes.worth[slot]
    if classes.pool.sizes[slot] == 0:
        _copy(classes, slot, row)
    else:
        _join_labels(maps, classes.pool, slot, row)
        classes.worth[slot] = _joint_price(maps, prices, classes.pool, slot, slot, np.inf)
    return classes.pool.sizes[slot] * classes.worth[slot] - before


@inner
def _link(classes, slot, row):
    """Make a row a member of the class of a slot."""
    classes.after[row] = classes.head[slot]
    classes.head[slot] = row
    classes.owner[row] = slot


@inner
def _empty(classes, slot):
    """Empty a slot."""
    classes.head[slot] = -1
    classes.pool.sizes[slot] = 0


@inner
def _list_members(classes, slot, grouping, n):
    """Add the members of a class to the rows to regroup, as far as there is room; return how many there are."""
    row = classes.head[slot]
    while row >= 0 and n <= MOST_ROWS:
        if n < MOST_ROWS:
            grouping.members[n] = row
        n += 1
        row = classes.after[row]
    return n


@inner
def _added(maps, prices, classes, slot, row, most):
    """What the class of a slot loses more with a row; some number above ``most`` where it is above."""
    pool = classes.pool
    before = pool.sizes[slot] * classes.worth[slot]
    size = pool.sizes[slot] + pool.sizes[row]
    return size * _joint_price(maps, prices, pool, slot, row, (most + before) / size) - before


@inner
def _nearest(maps, prices, classes, grouping, row, last, n, most):
    """Find the ``n`` classes to which a row adds least, and less than ``most``; return what the first one adds.

    Least first; -1 where there is none. The class of the row is not asked.
    """
    near, costs = grouping.slots, grouping.costs
    near[1:] = -1
    costs[:n] = most
    for slot in range(classes.owner.shape[0], last):
        size = classes.pool.sizes[slot]
        # Labels only become coarser: the row itself loses at least what the records of the class do.
        if size > 0 and slot != classes.owner[row] and classes.pool.sizes[row] * classes.worth[slot] < costs[n - 1]:
            cost = _added(maps, prices, classes, slot, row, costs[n - 1])
            if cost < costs[n - 1]:
                place = n - 1
                while place > 0 and costs[place - 1] > cost:
                    costs[place] = costs[place - 1]
                    near[place + 1] = near[place]
                    place -= 1
                costs[place] = cost
                near[place + 1] = slot
    return costs[0]


@inner
def _cheapest_free(maps, prices, classes, grouping, n, slot):
    """The place of the free member that makes a record of a group cheapest; -1 if none may join it."""
    best = -1
    lowest = np.inf
    for i in range(n):
        if grouping.group[i] < 0:
            price = _joint_price(maps, prices, classes.pool, slot, grouping.members[i], lowest)
            if price < lowest:
                lowest = price
                best = i
    return best


@inner
def _furthest_free(maps, prices, classes, grouping, n, row):
    """The place of the free member that costs most together with a row; -1 if none is free."""
    best = -1
    highest = -1.0
    for i in range(n):
        if grouping.group[i] < 0:
            price = _joint_price(maps, prices, classes.pool, row, grouping.members[i], np.inf)
            if price > highest:
                highest = price
                best = i
    return best


@inner
def _place_rest(maps, prices, classes, grouping, n, first, n_groups):
    """Let each member that is left join the group to which it adds least; return what all add."""
    total = 0.0
    for i in range(n):
        if grouping.group[i] < 0:
            lowest = np.inf
            best = first
            for slot in range(first, first + n_groups):
                added = _added(maps, prices, classes, slot, grouping.members[i], lowest)
                if added < lowest:
                    lowest = added
                    best = slot
            grouping.group[i] = best
            total += lowest
            if lowest == np.inf:
                break
            _cover(maps, prices, classes, best, grouping.members[i])
    return total


@inner
def _group(maps, prices, classes, grouping, n, begin, least, most):
    """Group the members greedily, beginning with one; return what they lose, or a number not below ``most``.

    A group takes the cheapest member until it has enough records; the next one begins with the member that is furthest
    from where the last one began. Members that are left join the group to which they add least.
    """
    pool, first, slot, cost = classes.pool, classes.worth.shape[0] - MOST_ROWS, classes.worth.shape[0] - MOST_ROWS, 0.0
    left = 0
    for i in range(n):
        grouping.group[i] = -1
        left += pool.sizes[grouping.members[i]]
    while left >= least and begin >= 0:
        pool.sizes[slot] = 0
        at = begin
        while at >= 0:
            grouping.group[at] = slot
            left -= pool.sizes[grouping.members[at]]
            _cover(maps, prices, classes, slot, grouping.members[at])
            at = -1 if pool.sizes[slot] >= least else _cheapest_free(maps, prices, classes, grouping, n, slot)
        cost += pool.sizes[slot] * classes.worth[slot]
        if pool.sizes[slot] < least or cost >= most:
            return np.inf
        slot += 1
        begin = _furthest_free(maps, prices, classes, grouping, n, grouping.members[begin])
    return cost + _place_rest(maps, prices, classes, grouping, n, first, slot - first)


@inner
def _dissolve(maps, prices, classes, grouping, n, last):
    """Let each member of a class join the class to which it adds least; whether that saves something.

    If it does not, the others are as they were.
    """
    first = classes.worth.shape[0] - MOST_ROWS
    own = classes.owner[grouping.members[0]]
    left = classes.pool.sizes[own] * classes.worth[own] - LESS
    n_changed = 0
    for i in range(n):
        left -= _nearest(maps, prices, classes, grouping, grouping.members[i], last, 1, left)
        if left <= 0.0:
            break
        is_new, near = True, grouping.slots[1]
        for earlier in range(n_changed):
            is_new &= grouping.best[earlier] != near
        if is_new:
            _copy(classes, first + n_changed, near)
            grouping.best[n_changed] = near
            n_changed += 1
        _cover(maps, prices, classes, near, grouping.members[i])
        grouping.group[i] = near
    if left <= 0.0:
        for i in range(n_changed):
            _copy(classes, grouping.best[i], first + i)
    return left > 0.0


@inner
def _regroup(maps, prices, classes, grouping, n, least, lost):
    """What the cheapest of some groupings loses if it saves something, else ``lost``; the groups are the best ones."""
    first, best = classes.worth.shape[0] - MOST_ROWS, lost - LESS
    n_starts = min(STARTS, n)
    for start in range(n_starts):
        cost = _group(maps, prices, classes, grouping, n, start * n // n_starts, least, best)
        if cost < best:
            best = cost
            for i in range(n):
                grouping.best[i] = grouping.group[i] - first
    return best if best < lost - LESS else lost


@inner
def _rebuild(maps, prices, classes, grouping, n, last):
    """Make the best groups classes, in the first slots that are free; return where the slots in use end."""
    slot = classes.owner.shape[0]
    n_groups = 0
    for i in range(n):
        n_groups = max(n_groups, grouping.best[i] + 1)
    for group in range(n_groups):
        while classes.pool.sizes[slot] > 0:
            slot += 1
        for i in range(n):
            if grouping.best[i] == group:
                _cover(maps, prices, classes, slot, grouping.members[i])
                _link(classes, slot, grouping.members[i])
    return max(last, slot + 1)


@inner
def _regroup_members(maps, prices, classes, grouping, least):
    """Regroup the members of the classes that were found, if that saves something; return how many members changed."""
    n = 0
    lost = 0.0
    for slot in grouping.slots:
        if slot >= 0:
            n = _list_members(classes, slot, grouping, n)
            lost += classes.pool.sizes[slot] * classes.worth[slot]
    if n > MOST_ROWS or _regroup(maps, prices, classes, grouping, n, least, lost) >= lost:
        return 0
    for slot in grouping.slots:
        if slot >= 0:
            _empty(classes, slot)
    return n


@inner
def _improve_at(maps, prices, classes, grouping, row, least, last):
    """Dissolve the class of a row, split it, or regroup it and its neighbours, if that saves something.

    Returns how many members changed, and where the slots in use end.
    """
    own = classes.owner[row]
    n = _list_members(classes, own, grouping, 0)
    if n <= MOST_ROWS and _dissolve(maps, prices, classes, grouping, n, last):
        _empty(classes, own)
        for i in range(n):
            _link(classes, grouping.group[i], grouping.members[i])
        return n, last
    grouping.slots[0] = own
    grouping.slots[1:] = -1
    n = 0
    if classes.pool.sizes[own] >= 2 * least:
        n = _regroup_members(maps, prices, classes, grouping, least)
    if n == 0:
        _nearest(maps, prices, classes, grouping, row, last, NEIGHBOURS, np.inf)
        n = _regroup_members(maps, prices, classes, grouping, least)
    return n, _rebuild(maps, prices, classes, grouping, n, last) if n > 0 else last


@jit
def _fill(maps, prices, classes):
    """Make every row a member of the class that owns it."""
    for row in range(classes.owner.shape[0] - 1, -1, -1):
        classes.worth[row] = _joint_price(maps, prices, classes.pool, row, row, np.inf)
        _cover(maps, prices, classes, classes.owner[row], row)
        _link(classes, classes.owner[row], row)


@jit
def _improve(maps, prices, classes, grouping, least, last):
    """Improve class after class, at its first row and its last one, until nothing is saved or each had its turns."""
    n_rows = classes.owner.shape[0]
    is_settled = np.zeros(n_rows, dtype=np.bool_)
    for _ in range(PASSES):
        n_changed = 0
        for row in range(n_rows):
            own = classes.owner[row]
            is_end = classes.after[row] < 0 or classes.head[own] == row
            if is_end and not is_settled[row] and classes.worth[own] > 0.0:
                is_settled[row] = True
                changed, last = _improve_at(maps, prices, classes, grouping, row, least, last)
                n_changed += changed
                for i in range(changed):
                    is_settled[grouping.members[i]] = False
        if n_changed == 0:
            break


def regroup_classes(
    rows: Rows, maps: LevelMaps, prices: Prices, class_of: NDArray[np.int64], least: int
) -> NDArray[np.int64]:
    """Return classes of less or equal loss, shape (n_rows,), numbered by their first rows.

    Parameters
    ----------
    rows : distinct rows of all classes
    class_of : (n_rows,) int64, class of each row, from 0 on; each has at least ``least`` records. Which number a class
        has changes nothing: it may come from the order of a file
    least : records that every class must have
    """
    n_rows = rows.records.size
    if class_of.shape != (n_rows,) or (n_rows and not 0 <= class_of.min() <= class_of.max() < n_rows):
        raise ValueError("class_of must be the number of a class for each row")
    n_slots = n_rows + MOST_ROWS
    pool = single_clusters(rows, maps, prices, spare=n_slots)
    numbered, firsts = number_by_first(class_of)  # of two classes with equal costs, the first one is used
    classes = Classes(
        pool=pool,
        worth=np.zeros(n_rows + n_slots),
        head=np.full(n_rows + n_slots, -1, dtype=np.int64),
        after=np.full(n_rows, -1, dtype=np.int64),
        owner=n_rows + numbered,
    )
    members, group, best = (np.zeros(MOST_ROWS, dtype=np.int64) for _ in range(3))
    slots, costs = np.full(1 + NEIGHBOURS, -1, dtype=np.int64), np.zeros(NEIGHBOURS)
    grouping = Regrouping(members, group, best, slots, costs)
    _fill(maps, prices, classes)
    _improve(maps, prices, classes, grouping, least, n_rows + firsts.size)
    return number_by_first(classes.owner)[0]
