"""Walking through a lattice of transformations: those of one rank, and paths upwards, past all that is already known.

What is known is either inherited from stored transformations (implicit: memory grows with what was checked) or flagged
one by one (explicit: a byte for each transformation of the lattice).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .antichain import Antichain, inherits


class KnownNodes(NamedTuple):
    """The known properties of the transformations of a lattice."""

    lowest: NDArray[np.int64]  # lowest, highest: (n_attributes,) levels that a transformation may have
    highest: NDArray[np.int64]
    flags: NDArray[np.uint8]  # (n_transformations,) 0 where nothing is known; empty if kept implicitly
    stride: NDArray[np.int64]  # (n_attributes,) place of a transformation among the flags: stride . (levels - lowest)
    quality: Antichain  # transformations of insufficient quality, inherited upwards
    protection: Antichain  # transformations of insufficient protection, inherited downwards
    safe: Antichain  # transformations known to be safe, inherited upwards


class Order(NamedTuple):
    """The order in which transformations of one rank are tried: less of the first, of the second, then lower levels."""

    first: NDArray[np.float64]  # first, second: (n_attributes, n_levels) what each level adds
    second: NDArray[np.float64]


@inner
def _place(known, levels):
    """Place of a transformation among the flags."""
    place = 0
    for j in range(levels.shape[0]):
        place += known.stride[j] * (levels[j] - known.lowest[j])
    return place


@inner
def _is_known(known, levels, mask):
    """Whether a transformation has a property of the mask: bit 0 quality, 1 protection, 2 safe, 3 measured."""
    if known.flags.shape[0] > 0:
        return (known.flags[_place(known, levels)] & mask) != 0
    if mask & 1 and inherits(known.quality, levels):
        return True
    if mask & 2 and inherits(known.protection, levels):
        return True
    return (mask & 4) != 0 and inherits(known.safe, levels)


@jit
def _fill_up(known, levels, first, rank):
    """Spread a rank over the attributes from ``first`` on, the last ones highest; False if there is no room for it."""
    for j in range(levels.shape[0] - 1, first - 1, -1):
        levels[j] = known.lowest[j] + min(rank, known.highest[j] - known.lowest[j])
        rank -= levels[j] - known.lowest[j]
    return rank == 0


@inner
def _follow(known, levels):
    """Turn a transformation into the next of its rank in the order of level vectors; False after the last."""
    behind = 0
    for j in range(levels.shape[0] - 1, -1, -1):
        # The last attribute that can take a level of those behind it; these are filled up anew, the last ones highest.
        if behind > 0 and levels[j] < known.highest[j]:
            levels[j] += 1
            return _fill_up(known, levels, j + 1, behind - 1)
        behind += levels[j] - known.lowest[j]
    return False


@jit
def _collect(known, mask, cursor, block):
    """Fill the block with unknown transformations from the cursor on; return how many, and whether more follow."""
    found = 0
    while found < block.shape[0]:
        if not _is_known(known, cursor, mask):
            for j in range(cursor.shape[0]):
                block[found, j] = cursor[j]
            found += 1
        if not _follow(known, cursor):
            return found, False
    return found, True


@jit
def _next_open(known, mask, block, position):
    """First place of the block, from a position on, whose transformation is not known."""
    while position < block.shape[0] and _is_known(known, block[position], mask):
        position += 1
    return position


@jit
def _which_known(known, mask, transformations, found):
    """Fill ``found`` with whether each transformation is known."""
    for i in range(transformations.shape[0]):
        found[i] = _is_known(known, transformations[i], mask)


@inner
def _prefer(order, known, levels, above, choice):
    """Sort the attributes that can be raised by the order in which their transformations are tried; how many."""
    n = 0
    for j in range(levels.shape[0]):
        if levels[j] < known.highest[j]:
            first = order.first[j, levels[j] + 1] - order.first[j, levels[j]]
            second = order.second[j, levels[j] + 1] - order.second[j, levels[j]]
            place = n
            while place > 0 and (
                first < above[place - 1, 0] or (first == above[place - 1, 0] and second <= above[place - 1, 1])
            ):
                above[place, 0] = above[place - 1, 0]
                above[place, 1] = above[place - 1, 1]
                choice[place] = choice[place - 1]
                place -= 1
            above[place, 0] = first
            above[place, 1] = second
            choice[place] = j
            n += 1
    return n


@jit
def _climb(known, order, mask, path):
    """Extend the path upwards from its first transformation, greedily, through unknown ones; return its end."""
    m = path.shape[1]
    above = np.empty((m, 2), dtype=np.float64)
    choice = np.empty(m, dtype=np.int64)
    length = 1
    while True:
        levels = path[length - 1]
        n = _prefer(order, known, levels, above, choice)
        found = False
        for i in range(n):
            for j in range(m):
                path[length, j] = levels[j]
            path[length, choice[i]] += 1
            if not _is_known(known, path[length], mask):
                found = True
                break
        if not found:
            return length
        length += 1


def _check_levels(known: KnownNodes, levels: NDArray[np.int64]) -> NDArray[np.int64]:
    levels = np.ascontiguousarray(levels, dtype=np.int64)
    if levels.shape[-1:] != known.lowest.shape or np.any(levels < known.lowest) or np.any(levels > known.highest):
        raise ValueError("a transformation must lie within the lattice")
    return levels


class Block(NamedTuple):
    """Transformations of one rank, shape (n, n_attributes), and where to go on: None after the last."""

    transformations: NDArray[np.int64]
    cursor: NDArray[np.int64] | None


def first_of_rank(known: KnownNodes, rank: int) -> NDArray[np.int64] | None:
    """First transformation, in the order of level vectors, that is ``rank`` above the lowest; None if there is none."""
    levels = known.lowest.copy()
    return levels if rank >= 0 and _fill_up(known, levels, 0, rank) else None


def collect(known: KnownNodes, mask: int, cursor: NDArray[np.int64], most: int) -> Block:
    """Up to ``most`` transformations from the cursor on, of its rank, that have none of the properties of the mask."""
    cursor = _check_levels(known, cursor).copy()
    block = np.empty((most, cursor.size), dtype=np.int64)
    found, more = _collect(known, mask, cursor, block)
    return Block(block[:found], cursor if more else None)


def next_open(known: KnownNodes, mask: int, transformations: NDArray[np.int64], position: int) -> int:
    """First place from a position on whose transformation has none of the properties; their number after the last.

    ``transformations`` comes from `collect`, or is checked by the caller once: this is called for every transformation.
    """
    return int(_next_open(known, mask, transformations, position))


def which_known(known: KnownNodes, mask: int, transformations: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each of the transformations, shape (n, n_attributes), has one of the properties; shape (n,)."""
    found = np.zeros(transformations.shape[0], dtype=np.bool_)
    _which_known(known, mask, _check_levels(known, transformations), found)
    return found


def climb(known: KnownNodes, order: Order, mask: int, start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Path upwards from a transformation, through such as have none of the properties, shape (length, n_attributes)."""
    start = _check_levels(known, start)
    path = np.empty((int((known.highest - start).sum()) + 2, start.size), dtype=np.int64)
    path[0] = start
    return path[: _climb(known, order, mask, path)]


def in_order(order: Order, transformations: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same transformations in the order in which they are tried."""
    attribute = np.arange(transformations.shape[1])
    first = order.first[attribute, transformations].sum(axis=1).round(9)
    second = order.second[attribute, transformations].sum(axis=1).round(9)
    keys = [*(transformations[:, j] for j in reversed(attribute.tolist())), second, first]
    return np.ascontiguousarray(transformations[np.lexsort(keys)])
