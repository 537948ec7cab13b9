"""The working copy of the rows inside a box of policies: groups of equal rows, in segments that can no longer mix.

A box is all policies between a lower and an upper one. Rows in different classes of the upper policy stay apart at
every policy of the box, so each such class is a contiguous *segment*. A segment is left out once it is decided: all
of it suppressed (smaller than k even at the upper policy) or all of it kept (every group reaches k even as it is).
What remains shrinks as the box does, and so does the cost of everything done to it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import jit
from .classes import GOLDEN


class Pool(NamedTuple):
    """A stack of group lists, one list per open box, and scratch space.

    codes : (n_attributes, capacity), codes at the level the list was brought to; kept only for open attributes
    records : (capacity,) records per group
    key : (capacity,) key of the codes
    bounds : (capacity,) where segments begin, relative to their list; one more than there are segments
    total, members, small, seen : (largest number of codes,) per-code scratch; all zero between calls
    order : (n_groups,) scratch
    slot_key, slot_group, slot_stamp : hash table of a power of two slots
    stamp : (1,) stamp of the current use of the hash table, so that it never needs clearing
    """

    codes: NDArray[np.uint32]
    records: NDArray[np.int64]
    key: NDArray[np.int64]
    bounds: NDArray[np.int64]
    total: NDArray[np.int64]
    members: NDArray[np.int64]
    small: NDArray[np.bool_]
    seen: NDArray[np.int64]
    order: NDArray[np.int64]
    slot_key: NDArray[np.int64]
    slot_group: NDArray[np.int64]
    slot_stamp: NDArray[np.int64]
    stamp: NDArray[np.int64]


class Span(NamedTuple):
    """One list in the pool: first group, number of groups, first bound, number of segments."""

    start: int
    size: int
    bound: int
    segments: int


@jit
def suppressed_if_split(pool, span, attribute, up, k, budget):
    """Records suppressed in these segments if the attribute rose no further than ``up``; stops counting past budget."""
    column = pool.codes[attribute]
    records = pool.records
    total = pool.total
    suppressed = 0
    for q in range(span.bound, span.bound + span.segments):
        first = span.start + pool.bounds[q]
        end = span.start + pool.bounds[q + 1]
        for i in range(first, end):
            total[up[column[i]]] += records[i]
        for i in range(first, end):
            code = up[column[i]]
            if total[code] < k:
                suppressed += total[code]
            total[code] = 0
        if suppressed > budget:
            return suppressed
    return suppressed


@jit
def _tally(pool, first, end, column, up, k):
    """Count groups, records and small groups per code of one segment; return how many codes were seen."""
    n_seen = 0
    for i in range(first, end):
        code = up[column[i]]
        if pool.members[code] == 0:
            pool.seen[n_seen] = code
            n_seen += 1
        pool.total[code] += pool.records[i]
        pool.members[code] += 1
        if pool.records[i] < k:
            pool.small[code] = True
    return n_seen


@jit
def split(pool, span, attribute, up, k, is_open, target):
    """Write the undecided parts of segments split by an attribute behind ``target``; return size, segments, suppressed.

    ``target`` names the first free group and the first free bound.
    """
    column = pool.codes[attribute]
    size = 0
    segments = 0
    suppressed = 0
    pool.bounds[target.bound] = 0
    for q in range(span.bound, span.bound + span.segments):
        first = span.start + pool.bounds[q]
        end = span.start + pool.bounds[q + 1]
        n_seen = _tally(pool, first, end, column, up, k)
        place = size
        for s in range(n_seen):
            code = pool.seen[s]
            members = pool.members[code]
            if pool.total[code] < k:
                suppressed += pool.total[code]
                pool.members[code] = -1
            elif not pool.small[code]:
                pool.members[code] = -1
            else:
                pool.members[code] = place
                place += members
                segments += 1
                pool.bounds[target.bound + segments] = place
        if place > size:
            for i in range(first, end):
                code = up[column[i]]
                if pool.members[code] >= 0:
                    pool.order[pool.members[code]] = i
                    pool.members[code] += 1
        size = place
        for s in range(n_seen):
            code = pool.seen[s]
            pool.total[code] = 0
            pool.members[code] = 0
            pool.small[code] = False
    _gather(pool, size, is_open, target.start)
    return size, segments, suppressed


@jit
def _gather(pool, size, is_open, start):
    """Copy the groups listed in ``order`` to ``start``; columns of closed attributes are never read again."""
    for j in range(is_open.shape[0]):
        if is_open[j]:
            column = pool.codes[j]
            for x in range(size):
                column[start + x] = column[pool.order[x]]
    for x in range(size):
        pool.records[start + x] = pool.records[pool.order[x]]
        pool.key[start + x] = pool.key[pool.order[x]]


@jit
def move(pool, source, target, is_open):
    """Copy a list down the pool onto an earlier place."""
    for j in range(is_open.shape[0]):
        if is_open[j]:
            column = pool.codes[j]
            for x in range(source.size):
                column[target.start + x] = column[source.start + x]
    for x in range(source.size):
        pool.records[target.start + x] = pool.records[source.start + x]
        pool.key[target.start + x] = pool.key[source.start + x]
    for q in range(source.segments + 1):
        pool.bounds[target.bound + q] = pool.bounds[source.bound + q]


@jit
def raise_codes(pool, span, attribute, up, stride):
    """Bring one attribute of a list to a coarser level; groups that have become equal still stand side by side."""
    column = pool.codes[attribute]
    for i in range(span.start, span.start + span.size):
        code = up[column[i]]
        pool.key[i] += stride * (np.int64(code) - np.int64(column[i]))
        column[i] = code


@jit
def _equal(pool, is_open, one, other):
    """Whether two groups of a segment have the same codes in every open attribute."""
    for j in range(is_open.shape[0]):
        if is_open[j] and pool.codes[j, one] != pool.codes[j, other]:
            return False
    return True


@jit
def _place(pool, i, mask, shift, is_open, exact):
    """Slot that holds the group equal to group ``i``, or the free one where it belongs."""
    slot = np.int64((np.uint64(pool.key[i]) * GOLDEN) >> shift)
    while pool.slot_stamp[slot] == pool.stamp[0]:
        other = pool.slot_group[slot]
        if pool.slot_key[slot] == pool.key[i] and (exact or _equal(pool, is_open, other, i)):
            return slot
        slot = (slot + 1) & mask
    return slot


@jit
def _merge_segment(pool, first, end, write, is_open, exact):
    """Merge the equal groups of one segment, written from ``write`` on; return where they end."""
    bits = 2
    while (1 << bits) < 2 * (end - first):
        bits += 1
    mask = (1 << bits) - 1
    shift = np.uint64(64 - bits)
    pool.stamp[0] += 1
    for i in range(first, end):
        slot = _place(pool, i, mask, shift, is_open, exact)
        if pool.slot_stamp[slot] == pool.stamp[0]:
            pool.records[pool.slot_group[slot]] += pool.records[i]
            continue
        pool.slot_stamp[slot] = pool.stamp[0]
        pool.slot_key[slot] = pool.key[i]
        pool.slot_group[slot] = write
        if write != i:
            for j in range(is_open.shape[0]):
                if is_open[j]:
                    pool.codes[j, write] = pool.codes[j, i]
            pool.records[write] = pool.records[i]
            pool.key[write] = pool.key[i]
        write += 1
    return write


@jit
def merge(pool, span, k, is_open, exact):
    """Merge equal groups in place and drop segments decided by that; return size and segments."""
    write = span.start
    segments = 0
    begin = pool.bounds[span.bound]
    for q in range(span.bound, span.bound + span.segments):
        first = span.start + begin
        begin = pool.bounds[q + 1]
        end = span.start + begin
        start = write
        write = _merge_segment(pool, first, end, write, is_open, exact)
        undecided = False
        for i in range(start, write):
            if pool.records[i] < k:
                undecided = True
                break
        if undecided:
            segments += 1
            pool.bounds[span.bound + segments] = write - span.start
        else:
            write = start
    return write - span.start, segments
