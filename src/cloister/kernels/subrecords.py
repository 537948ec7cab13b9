"""Chunks filled with the subrecords of their records."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import jit
from .joining import Pieces, Pool
from .parts import Entries
from .sequences import sequence_order, take_sequences
from .splitting import Records, Split


class Filled(NamedTuple):
    """Chunks with their subrecords in lexicographic order.

    Attributes
    ----------
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
        if smallest == piece:
            heads[found] = piece
            found += 1
    return found


@jit
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
