"""The working copy of the rows inside a box: groups of equal rows, in segments that can no longer mix.

A box is all transformations between a lower and an upper one. Rows in different classes of the upper one stay apart at
every transformation of the box, so each such class is a contiguous *segment*. A segment is omitted once it is decided:
all of it suppressed (smaller than k even at the upper one) or all of it kept (every group reaches k even as it is).
What remains shrinks as the box does, and so does the cost of everything done to it.

The codes of a group are packed into few machine words, so that a group is copied and compared as a whole.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner
from .layout import Task
from .words import GOLDEN, hash_word


class Pool(NamedTuple):
    """A stack of group lists, one list per open box, and scratch space.

    bounds : (capacity,) where segments begin, relative to their list; one more than there are segments
    total, members, small, seen : (largest number of codes,) per-code scratch; all zero between calls
    """

    words: NDArray[np.uint64]  # (capacity, n_words) packed codes of each group, at the level its list was brought to
    records: NDArray[np.int64]  # (capacity,) records per group
    bounds: NDArray[np.int64]
    total: NDArray[np.int64]
    members: NDArray[np.int64]
    small: NDArray[np.bool_]
    seen: NDArray[np.int64]
    order: NDArray[np.int64]  # (n_groups,) scratch
    slot_group: NDArray[np.int64]  # slot_group, slot_stamp: hash table of a power of two slots
    slot_stamp: NDArray[np.int64]
    stamp: NDArray[np.int64]  # (1,) stamp of the current use of the hash table, so that it never needs clearing


class Span(NamedTuple):
    """One list in the pool: first group, number of groups, first bound, number of segments."""

    start: int
    size: int
    bound: int
    segments: int


class Rise(NamedTuple):
    """One attribute seen at a coarser level: where its code is packed, and what each code becomes."""

    word: int
    shift: np.uint64
    mask: np.uint64
    up: NDArray[np.uint32]


@inner
def _risen(pool, i, rise):
    """Code of a group at the coarser level."""
    return rise.up[np.int64((pool.words[i, rise.word] >> rise.shift) & rise.mask)]


@inner
def suppressed_if_split(pool, span, rise, k, budget):
    """Records suppressed in these segments if the attribute rose no further; stops counting past the budget."""
    records = pool.records
    total = pool.total
    suppressed = 0
    for q in range(span.bound, span.bound + span.segments):
        first = span.start + pool.bounds[q]
        end = span.start + pool.bounds[q + 1]
        for i in range(first, end):
            total[_risen(pool, i, rise)] += records[i]
        # The first group of a code takes all of its total and clears it, so that the scratch is zero again behind it.
        for i in range(first, end):
            code = _risen(pool, i, rise)
            if total[code] < k:
                suppressed += total[code]
            total[code] = 0
        if suppressed > budget:
            return suppressed
    return suppressed


@inner
def _tally(pool, first, end, rise, k):
    """Count groups, records and small groups per code of one segment; return how many codes were seen."""
    n_seen = 0
    for i in range(first, end):
        code = _risen(pool, i, rise)
        if pool.members[code] == 0:
            pool.seen[n_seen] = code
            n_seen += 1
        pool.total[code] += pool.records[i]
        pool.members[code] += 1
        if pool.records[i] < k:
            pool.small[code] = True
    return n_seen


@inner
def split(pool, span, rise, k, target):
    """Write the undecided parts of segments split by an attribute to ``target``; return size, segments, suppressed.

    ``target`` names the first free group and the first free bound. Groups marked -1 are omitted: a class below k stays
    below k at every finer transformation, and one whose groups all reach k is kept throughout the box.
    """
    size = 0
    segments = 0
    suppressed = 0
    pool.bounds[target.bound] = 0
    for q in range(span.bound, span.bound + span.segments):
        first = span.start + pool.bounds[q]
        end = span.start + pool.bounds[q + 1]
        n_seen = _tally(pool, first, end, rise, k)
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
                code = _risen(pool, i, rise)
                if pool.members[code] >= 0:
                    pool.order[pool.members[code]] = i
                    pool.members[code] += 1
        size = place
        for s in range(n_seen):
            code = pool.seen[s]
            pool.total[code] = 0
            pool.members[code] = 0
            pool.small[code] = False
    for x in range(size):
        _copy(pool, pool.order[x], target.start + x)
    return size, segments, suppressed


@inner
def _copy(pool, source, target):
    """Copy one group over another."""
    for w in range(pool.words.shape[1]):
        pool.words[target, w] = pool.words[source, w]
    pool.records[target] = pool.records[source]


@inner
def move(pool, source, target):
    """Copy a list down the pool onto an earlier place."""
    for x in range(source.size):
        _copy(pool, source.start + x, target.start + x)
    for q in range(source.segments + 1):
        pool.bounds[target.bound + q] = pool.bounds[source.bound + q]


@inner
def raise_codes(pool, span, rise):
    """Bring one attribute of a list to a coarser level; groups that have become equal still stand side by side."""
    for i in range(span.start, span.start + span.size):
        code = np.uint64(_risen(pool, i, rise))
        rest = pool.words[i, rise.word] & ~(rise.mask << rise.shift)
        pool.words[i, rise.word] = rest | (code << rise.shift)


@inner
def _place(pool, i, mask, shift):
    """Slot that holds the group equal to group ``i``, or the free one where it belongs."""
    key = np.uint64(0)
    for w in range(pool.words.shape[1]):
        key = hash_word(key, pool.words[i, w])
    # The upper bits of a further product: groups whose codes follow one another are spread evenly.
    slot = np.int64((key * GOLDEN) >> shift)
    while pool.slot_stamp[slot] == pool.stamp[0]:
        other = pool.slot_group[slot]
        equal = True
        for w in range(pool.words.shape[1]):
            if pool.words[other, w] != pool.words[i, w]:
                equal = False
                break
        if equal:
            return slot
        slot = (slot + 1) & mask
    return slot


@inner
def _merge_segment(pool, first, end, write):
    """Merge the equal groups of one segment, written from ``write`` on; return where they end."""
    bits = 2
    while (1 << bits) < 2 * (end - first):
        bits += 1
    mask, shift = (1 << bits) - 1, np.uint64(64 - bits)
    # Slots with an older stamp count as free, so that the table is empty without being cleared.
    pool.stamp[0] += 1
    for i in range(first, end):
        slot = _place(pool, i, mask, shift)
        if pool.slot_stamp[slot] == pool.stamp[0]:
            pool.records[pool.slot_group[slot]] += pool.records[i]
            continue
        pool.slot_stamp[slot] = pool.stamp[0]
        pool.slot_group[slot] = write
        if write != i:
            _copy(pool, i, write)
        write += 1
    return write


@inner
def merge(pool, span, k):
    """Merge equal groups in place and drop segments decided by that; return size and segments."""
    write = span.start
    segments = 0
    begin = pool.bounds[span.bound]
    for q in range(span.bound, span.bound + span.segments):
        first = span.start + begin
        begin = pool.bounds[q + 1]
        end = span.start + begin
        start = write
        write = _merge_segment(pool, first, end, write)
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


FEWEST_LISTS = 2
"""Lists of all groups that a pool must hold: one, and room to split it."""


class Stack(NamedTuple):
    """Open boxes, deepest last.

    lower, upper, level : (depth, n_attributes); ``level`` is where the groups of the box stand, at or below ``lower``
    cut : (depth, 2) attribute and level of the cut whose upper half is still to be done; attribute -1 if none
    """

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    level: NDArray[np.int64]
    span: NDArray[np.int64]  # (depth, 4) the list of groups in the pool
    suppressed: NDArray[np.int64]  # (depth,) records suppressed throughout the box
    cut: NDArray[np.int64]
    depth: NDArray[np.int64]  # (1,) number of open boxes


class Workspace:
    """The memory one thread needs to explore boxes of one task; used by one thread at a time."""

    def __init__(self, task: Task, lists: int = 12) -> None:
        n_attributes, n_groups = task.rows.codes.shape
        lists = max(lists, FEWEST_LISTS)
        capacity = lists * n_groups + 64
        codes = int(task.maps.sizes.max(initial=1))
        slots = 16
        while slots < 2 * n_groups:
            slots *= 2
        self.pool = Pool(
            words=np.empty((capacity, task.packing.n_words), dtype=np.uint64),
            records=np.empty(capacity, dtype=np.int64),
            bounds=np.empty(capacity + 64, dtype=np.int64),
            total=np.zeros(codes, dtype=np.int64),
            members=np.zeros(codes, dtype=np.int64),
            small=np.zeros(codes, dtype=np.bool_),
            seen=np.zeros(codes, dtype=np.int64),
            order=np.empty(n_groups, dtype=np.int64),
            slot_group=np.empty(slots, dtype=np.int64),
            slot_stamp=np.zeros(slots, dtype=np.int64),
            stamp=np.zeros(1, dtype=np.int64),
        )
        depth = int(task.maps.heights.sum()) + 2
        shape = (depth, n_attributes)
        self.stack = Stack(
            lower=np.zeros(shape, dtype=np.int64),
            upper=np.zeros(shape, dtype=np.int64),
            level=np.zeros(shape, dtype=np.int64),
            span=np.zeros((depth, 4), dtype=np.int64),
            suppressed=np.zeros(depth, dtype=np.int64),
            cut=np.full((depth, 2), -1, dtype=np.int64),
            depth=np.zeros(1, dtype=np.int64),
        )
        self.lists = lists
