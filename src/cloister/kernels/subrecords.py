"""Chunks filled with the subrecords of their records; joint clusters, nested and written as sequences to be ordered."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .canonical_order import sequence_order, take_sequences
from .horpart import Records, Split
from .parts import Entries
from .shared_chunks import Pieces, Pool


class Filled(NamedTuple):
    """Chunks with their subrecords in lexicographic order.

    owner : (n_chunks,) int64, part or node
    domain_starts, domain : codes of each chunk, ascending
    starts : (n_chunks + 1,) int64, where each chunk's subrecords begin
    item_starts, items : codes of each subrecord, ascending
    """

    owner: NDArray[np.int64]
    domain_starts: NDArray[np.int64]
    domain: NDArray[np.int32]
    starts: NDArray[np.int64]
    item_starts: NDArray[np.int64]
    items: NDArray[np.int32]


@jit
def _number_chunks(entries, chunk, first):
    """Number all chunks, those of a part by their smallest code; ``chunk`` has one entry a code, -1 for none."""
    found = 0
    number = np.full(16, -1, dtype=np.int64)
    for part in range(entries.offsets.shape[0] - 1):
        first[part] = found
        begin = entries.offsets[part]
        end = entries.offsets[part + 1]
        if end - begin > number.shape[0]:
            number = np.full(2 * (end - begin), -1, dtype=np.int64)
        for at in range(begin, end):
            chunk[at] = -1
            if entries.place[at] >= 0:
                if number[entries.place[at]] < 0:
                    number[entries.place[at]] = found
                    found += 1
                chunk[at] = number[entries.place[at]]
        # Only what was used is cleared, so that a part costs its entries and no more.
        for at in range(begin, end):
            if entries.place[at] >= 0:
                number[entries.place[at]] = -1
    first[entries.offsets.shape[0] - 1] = found


@jit
def _domains(entries, chunk, starts, domain, item_room):
    """Codes of each chunk, ascending, and the occurrences it will hold (one place on)."""
    for at in range(chunk.shape[0]):
        if chunk[at] >= 0:
            starts[chunk[at] + 1] += 1
            item_room[chunk[at] + 1] += entries.support[at]
    for c in range(starts.shape[0] - 1):
        starts[c + 1] += starts[c]
        item_room[c + 1] += item_room[c]
    free = starts[:-1].copy()
    for at in range(chunk.shape[0]):
        if chunk[at] >= 0:
            domain[free[chunk[at]]] = entries.code[at]
            free[chunk[at]] += 1


@jit
def _count_subrecords(records, split, entries, chunk, starts):
    """Count the non-empty subrecords of each chunk, one place on."""
    local = np.full(records.constraint.shape[0], -1, dtype=np.int64)
    seen = np.full(starts.shape[0], -1, dtype=np.int64)
    for part in range(entries.offsets.shape[0] - 1):
        for at in range(entries.offsets[part], entries.offsets[part + 1]):
            # All codes of a part's records are entries of it: nothing of the part before is looked up.
            local[entries.code[at]] = chunk[at]
        for place in range(split.starts[part], split.starts[part + 1]):
            record = split.order[place]
            for at in range(records.offsets[record], records.offsets[record + 1]):
                own = local[records.items[at]]
                if own >= 0 and seen[own] != place:
                    seen[own] = place
                    starts[own + 1] += 1


@jit
def _fill_subrecords(records, split, entries, chunk, filled, item_room):
    """Write the subrecords of each chunk in the order of the records."""
    local = np.full(records.constraint.shape[0], -1, dtype=np.int64)
    seen = np.full(filled.starts.shape[0], -1, dtype=np.int64)
    subrecord = filled.starts.copy()
    free = item_room.copy()
    for part in range(entries.offsets.shape[0] - 1):
        for at in range(entries.offsets[part], entries.offsets[part + 1]):
            local[entries.code[at]] = chunk[at]
        for place in range(split.starts[part], split.starts[part + 1]):
            record = split.order[place]
            for at in range(records.offsets[record], records.offsets[record + 1]):
                own = local[records.items[at]]
                if own < 0:
                    continue
                if seen[own] != place:
                    seen[own] = place
                    filled.item_starts[subrecord[own]] = free[own]
                    subrecord[own] += 1
                filled.items[free[own]] = records.items[at]
                free[own] += 1


@jit
def _ring_heads(pieces, heads):
    """First piece of each chunk, and how many chunks there are."""
    found = 0
    for piece in range(pieces.node.shape[0]):
        if pieces.node[piece] < 0:
            continue
        smallest = piece
        other = pieces.link[piece]
        while other != piece:
            smallest = min(smallest, other)
            other = pieces.link[other]
        # A ring is listed once, by its smallest piece.
        if smallest == piece:
            heads[found] = piece
            found += 1
    return found


@inner
def _ring_size(pool, pieces, head):
    """Occurrences of a shared chunk."""
    n = 0
    piece = head
    while True:
        n += pool.occurrence[pieces.last[piece] + 1] - pool.occurrence[pieces.first[piece]]
        piece = pieces.link[piece]
        if piece == head:
            return n


@jit
def _sizes(pool, pieces, heads, item_room):
    """Occurrences of each shared chunk, added up, one place on."""
    for c in range(heads.shape[0]):
        item_room[c + 1] = item_room[c] + _ring_size(pool, pieces, heads[c])


@jit
def _fill_shared(pool, pieces, heads, item_room, codes, places):
    """Write the occurrences of each shared chunk by record, the codes of a record ascending."""
    for c in range(heads.shape[0]):
        at = item_room[c]
        piece = heads[c]
        while True:
            for i in range(pool.occurrence[pieces.first[piece]], pool.occurrence[pieces.last[piece] + 1]):
                codes[at] = pool.code[i]
                places[at] = pool.place[i]
                at += 1
            piece = pieces.link[piece]
            if piece == heads[c]:
                break
        begin = item_room[c]
        keys = np.empty(at - begin, dtype=np.int64)
        for i in range(at - begin):
            # Codes are below 2**31: one key sorts by record, then by code.
            keys[i] = (np.int64(places[begin + i]) << 31) + codes[begin + i]
        keys.sort()
        for i in range(at - begin):
            codes[begin + i] = keys[i] & 0x7FFFFFFF
            places[begin + i] = keys[i] >> 31


@jit
def _count_shared(places, codes, item_room, starts, domain_starts):
    """Count the subrecords and the distinct codes of each shared chunk, one place on."""
    for c in range(item_room.shape[0] - 1):
        begin = item_room[c]
        end = item_room[c + 1]
        starts[c + 1] = starts[c]
        for i in range(begin, end):
            if i == begin or places[i] != places[i - 1]:
                starts[c + 1] += 1
        domain_starts[c + 1] = domain_starts[c] + np.unique(codes[begin:end]).shape[0]


@jit
def _cut_shared(places, item_room, filled):
    """Note where the subrecords of each shared chunk begin, and its codes."""
    for c in range(item_room.shape[0] - 1):
        subrecord = filled.starts[c]
        for i in range(item_room[c], item_room[c + 1]):
            if i == item_room[c] or places[i] != places[i - 1]:
                filled.item_starts[subrecord] = i
                subrecord += 1
        codes = np.unique(filled.items[item_room[c] : item_room[c + 1]])
        for j in range(codes.shape[0]):
            filled.domain[filled.domain_starts[c] + j] = codes[j]


def _in_order(filled: Filled) -> Filled:
    order = sequence_order(filled.item_starts, filled.items, filled.starts)
    item_starts, items = take_sequences(filled.item_starts, filled.items, order)
    return filled._replace(item_starts=item_starts, items=items)


def _room(owner: NDArray[np.int64], starts: NDArray[np.int64], domain: NDArray[np.int64], n_items: int) -> Filled:
    return Filled(
        owner,
        domain,
        np.empty(int(domain[-1]), dtype=np.int32),
        starts,
        np.full(int(starts[-1]) + 1, n_items, dtype=np.int64),
        np.empty(n_items, dtype=np.int32),
    )


def record_chunks(records: Records, split: Split, entries: Entries) -> Filled:
    """The record chunks of all parts; ``owner`` is the part, and a part's chunks stand by their smallest code."""
    parts = split.starts.size - 1
    if entries.offsets.size != parts + 1:
        raise ValueError("entries must have one offset a part")
    chunk = np.empty(entries.code.size, dtype=np.int64)
    first = np.empty(parts + 1, dtype=np.int64)
    _number_chunks(entries, chunk, first)
    n = int(first[-1])
    domain_starts, item_room, starts = (np.zeros(n + 1, dtype=np.int64) for _ in range(3))
    domain = np.empty(int(np.count_nonzero(chunk >= 0)), dtype=np.int32)
    _domains(entries, chunk, domain_starts, domain, item_room)
    _count_subrecords(records, split, entries, chunk, starts)
    np.cumsum(starts, out=starts)
    owner = np.repeat(np.arange(parts), np.diff(first))
    filled = _room(owner, starts, domain_starts, int(item_room[-1]))._replace(domain=domain)
    _fill_subrecords(records, split, entries, chunk, filled, item_room)
    return _in_order(filled)


def shared_chunks(pool: Pool, pieces: Pieces) -> Filled:
    """The shared chunks; ``owner`` is the node."""
    if pieces.node.size and int(pieces.last.max()) >= pool.part.size:
        raise ValueError("the pieces name entries that the pool has not")
    heads = np.empty(pieces.node.size, dtype=np.int64)
    heads = heads[: _ring_heads(pieces, heads)]
    item_room, starts, domain_starts = (np.zeros(heads.size + 1, dtype=np.int64) for _ in range(3))
    _sizes(pool, pieces, heads, item_room)
    codes, places = (np.empty(int(item_room[-1]), dtype=np.int32) for _ in range(2))
    _fill_shared(pool, pieces, heads, item_room, codes, places)
    _count_shared(places, codes, item_room, starts, domain_starts)
    filled = _room(pieces.node[heads].astype(np.int64), starts, domain_starts, codes.size)._replace(items=codes)
    _cut_shared(places, item_room, filled)
    return _in_order(filled)


BREAK = -1


class Nest(NamedTuple):
    """The innermost joint around each joint and each part, -1 for none; steps from each joint down to its deepest."""

    joint_parent: NDArray[np.int64]
    part_parent: NDArray[np.int64]
    height: NDArray[np.int64]


@jit
def _nest(low, high, nest):
    """Sweep over the parts with a stack of open joints; joints stand by their first part, the larger before."""
    joints = low.shape[0]
    stack = np.empty(joints, dtype=np.int64)
    opened = 0
    at = 0
    for part in range(nest.part_parent.shape[0]):
        # Open joints lie in each other, so that those that end first are on top.
        while opened > 0 and high[stack[opened - 1]] < part:
            opened -= 1
        while at < joints and low[at] == part:
            nest.joint_parent[at] = stack[opened - 1] if opened > 0 else -1
            stack[opened] = at
            opened += 1
            at += 1
        nest.part_parent[part] = stack[opened - 1] if opened > 0 else -1
    for joint in range(joints - 1, -1, -1):
        parent = nest.joint_parent[joint]
        if parent >= 0:
            nest.height[parent] = max(nest.height[parent], nest.height[joint] + 1)


@jit
def _measure(filled, first, owners, extra, starts):
    """How long the sequence of each owner is, added up."""
    for i in range(owners.shape[0]):
        owner = owners[i]
        length = 2 + extra[i + 1] - extra[i]
        for c in range(first[owner], first[owner + 1]):
            length += 2 + filled.domain_starts[c + 1] - filled.domain_starts[c]
            length += filled.starts[c + 1] - filled.starts[c]
            length += filled.item_starts[filled.starts[c + 1]] - filled.item_starts[filled.starts[c]]
        starts[i + 1] = starts[i] + length


@inner
def _write_chunk(filled, c, values, at):
    """Write a chunk: its codes and its subrecords, each with their number before them; return the next place."""
    values[at] = filled.domain_starts[c + 1] - filled.domain_starts[c]
    at += 1
    for i in range(filled.domain_starts[c], filled.domain_starts[c + 1]):
        values[at] = filled.domain[i]
        at += 1
    values[at] = filled.starts[c + 1] - filled.starts[c]
    at += 1
    for s in range(filled.starts[c], filled.starts[c + 1]):
        values[at] = filled.item_starts[s + 1] - filled.item_starts[s]
        at += 1
        for i in range(filled.item_starts[s], filled.item_starts[s + 1]):
            values[at] = filled.items[i]
            at += 1
    return at


@jit
def _write(filled, first, owners, sizes, extra, extra_values, starts, values):
    """Write each owner's size, chunks and extra values."""
    for i in range(owners.shape[0]):
        at = starts[i]
        values[at] = sizes[owners[i]]
        at += 1
        for c in range(first[owners[i]], first[owners[i] + 1]):
            at = _write_chunk(filled, c, values, at)
        values[at] = BREAK
        at += 1
        for j in range(extra[i], extra[i + 1]):
            values[at] = extra_values[j]
            at += 1


def nest(low: NDArray[np.int64], high: NDArray[np.int64], parts: int) -> Nest:
    """How joints lie in each other.

    Parameters
    ----------
    low, high : (n_joints,) first and last part of each, by ``low`` and then the larger first
    """
    rising = (low[1:] > low[:-1]) | ((low[1:] == low[:-1]) & (high[1:] < high[:-1]))
    if not np.all(rising) or np.any(high < low) or (high.size and int(high.max()) >= parts):
        raise ValueError("joints must stand by their first part, the larger before the smaller")
    found = Nest(
        np.full(low.size, -1, dtype=np.int64), np.full(parts, -1, dtype=np.int64), np.zeros(low.size, dtype=np.int64)
    )
    _nest(low, high, found)
    return found


def written(
    filled: Filled,
    first: NDArray[np.int64],
    owners: NDArray[np.int64],
    sizes: NDArray[np.int64],
    extra: tuple[NDArray[np.int64], NDArray[np.int32]],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """All that is released of some owners, one sequence each, as starts and values.

    Parameters
    ----------
    first : (n_owners + 1,) where each owner's chunks begin
    owners : those that are written
    sizes : (n_owners,) records of each
    extra : what follows the chunks of each that is written, as starts and values
    """
    if first[0] != 0 or first[-1] != filled.owner.size or extra[0].size != owners.size + 1:
        raise ValueError("first must span the chunks, and extra have one start for each that is written")
    starts = np.zeros(owners.size + 1, dtype=np.int64)
    _measure(filled, first, owners, extra[0], starts)
    values = np.empty(int(starts[-1]), dtype=np.int32)
    _write(filled, first, owners, sizes, extra[0], extra[1], starts, values)
    return starts, values
