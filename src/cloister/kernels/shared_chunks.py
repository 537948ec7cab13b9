"""Refining: codes leave the item chunks of neighbouring parts for shared chunks of joint clusters.

The entries of a unit (a code, or all occurrences of one) are the parts that hold it in their item chunk, in the order
of the tree. Below each node they form a *range*. Of a range we know what is still pending, and which *pieces* of it
went to shared chunks. Where each unit's pieces stand is settled first, then the pieces of a node are put into chunks.

A *state* packs the highest occurrence number and the records that have it: the rarest occurrence decides.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, inner_with_arrays, jit
from .horpart import Records, Split, Tree, _meeting
from .parts import Entries, occurrences
from .verpart import ITEM_CHUNK, Rule, Table, partition
from .words import by_number, starts_of

LEVEL = 40
COUNT = (1 << LEVEL) - 1


class Pool(NamedTuple):
    """What the parts hold in their item chunks and may give away, and what they hold elsewhere.

    fixed_start, fixed_part : parts that hold each unit elsewhere (a record chunk, or kept back), by unit
    """

    start: NDArray[np.int64]  # (n_codes + 1,) where each unit's entries begin; a unit has the number of its first code
    part: NDArray[np.int32]  # (n_entries,) ascending within a unit
    state: NDArray[np.int64]  # (n_entries,) int64
    occurrence: NDArray[np.int64]  # (n_entries + 1,) where each entry's occurrences begin
    place: NDArray[np.int32]  # place, code: place of the record and the code of each occurrence
    code: NDArray[np.int32]
    fixed_start: NDArray[np.int64]
    fixed_part: NDArray[np.int32]
    unit: NDArray[np.int32]  # unit, constraint: of each code
    constraint: NDArray[np.int32]


class Ranges(NamedTuple):
    """Ranges by first entry (``first`` by last): pending, whole, first and last piece, end."""

    pending: NDArray[np.int64]
    whole: NDArray[np.int64]
    piece: NDArray[np.int32]
    tail: NDArray[np.int32]
    last: NDArray[np.int32]
    first: NDArray[np.int32]


class Pieces(NamedTuple):
    """Pieces of shared chunks: first and last entry, node (-1: gone), and a link.

    The link is the next piece of the range at first, and in the end the chunk, named by the first of its pieces.
    """

    first: NDArray[np.int32]
    last: NDArray[np.int32]
    node: NDArray[np.int32]
    link: NDArray[np.int32]


@inner
def _sum(state, other):
    """The state of two sets of records together."""
    # Of two highest occurrences the higher is the rarer one and decides; of equal ones the records add up.
    if (state >> LEVEL) == (other >> LEVEL):
        return state + (other & COUNT)
    return max(state, other)


@jit
def _events(tree, pool, k, node, left):
    """Where neighbouring entries of a unit meet; return how many such events there are."""
    found = 0
    for unit in range(pool.start.shape[0] - 1):
        begin = pool.start[unit]
        end = pool.start[unit + 1]
        records = pool.occurrence[end] - pool.occurrence[begin]
        # A shared chunk holds each unit k times at least: what is rarer in all never goes up.
        if records < k:
            continue
        for entry in range(begin, end - 1):
            meeting = _meeting(tree, pool.part[entry], pool.part[entry + 1])
            if tree.depth[meeting] >= 0:
                node[found] = meeting
                left[found] = entry
                found += 1
    return found


@inner
def _unite(ranges, pieces, entry):
    """Unite the range that ends with an entry and the range behind it; return the first entry."""
    first = ranges.first[entry]
    behind = entry + 1
    ranges.pending[first] = _sum(ranges.pending[first], ranges.pending[behind])
    ranges.whole[first] = _sum(ranges.whole[first], ranges.whole[behind])
    ranges.last[first] = ranges.last[behind]
    ranges.first[ranges.last[behind]] = first
    # Head and tail of the chain of pieces are known, so that chains are joined without walking along them.
    if ranges.piece[behind] >= 0:
        if ranges.piece[first] < 0:
            ranges.piece[first] = ranges.piece[behind]
        else:
            pieces.link[ranges.tail[first]] = ranges.piece[behind]
        ranges.tail[first] = ranges.tail[behind]
    return first


@inner_with_arrays
def _is_foreign(pool, unit, low, high):
    """Whether a part from ``low`` to ``high`` holds the unit in a record chunk or keeps it back."""
    begin = pool.fixed_start[unit]
    end = pool.fixed_start[unit + 1]
    at = begin + np.searchsorted(pool.fixed_part[begin:end], low)
    return at < end and pool.fixed_part[at] <= high


@inner_with_arrays
def _number_codes(pool, code, local):
    """Number the distinct codes, ascending, in ``local``; return unit and constraint of each."""
    n = code.shape[0]
    by_code = np.argsort(code)
    codes = np.empty(n, dtype=np.int64)
    n_codes = 0
    for i in range(n):
        if i == 0 or code[by_code[i]] != codes[n_codes - 1]:
            codes[n_codes] = code[by_code[i]]
            local[codes[n_codes]] = n_codes
            n_codes += 1
    unit = np.empty(n_codes, dtype=np.int32)
    constraint = np.empty(n_codes, dtype=np.int32)
    for j in range(n_codes):
        unit[j] = local[pool.unit[codes[j]]]
        constraint[j] = pool.constraint[codes[j]]
    return unit, constraint


@inner_with_arrays
def _table(pool, pieces, chosen, local):
    """The records that have units of the chosen pieces, as a table; ``local`` receives the numbers of its codes."""
    n = 0
    for piece in chosen:
        n += pool.occurrence[pieces.last[piece] + 1] - pool.occurrence[pieces.first[piece]]
    place = np.empty(n, dtype=np.int64)
    code = np.empty(n, dtype=np.int64)
    at = 0
    for piece in chosen:
        for source in range(pool.occurrence[pieces.first[piece]], pool.occurrence[pieces.last[piece] + 1]):
            place[at] = pool.place[source]
            code[at] = pool.code[source]
            at += 1
    unit, constraint = _number_codes(pool, code, local)
    row_start = np.zeros(n + 1, dtype=np.int64)
    row_codes = np.empty(n, dtype=np.int32)
    row_of = np.empty(n, dtype=np.int32)
    code_start = np.zeros(unit.shape[0] + 1, dtype=np.int64)
    # Rows stand by their place in the split tree, in whatever order the pieces were chosen.
    by_place = np.argsort(place)
    rows = 0
    for i in range(n):
        if i > 0 and place[by_place[i]] != place[by_place[i - 1]]:
            rows += 1
        row_codes[i] = local[code[by_place[i]]]
        row_of[i] = rows
        row_start[rows + 1] = i + 1
        code_start[row_codes[i] + 1] += 1
    code_rows = _by_code(row_codes, row_of, code_start)
    return Table(row_start[: rows + 2], row_codes, code_start, code_rows, unit, constraint)


@inner_with_arrays
def _by_code(row_codes, rows, code_start):
    """Rows of each code; turns the counts in ``code_start`` into where each code begins."""
    for j in range(1, code_start.shape[0]):
        code_start[j] += code_start[j - 1]
    free = code_start[:-1].copy()
    code_rows = np.empty(row_codes.shape[0], dtype=np.int32)
    for i in range(row_codes.shape[0]):
        code_rows[free[row_codes[i]]] = rows[i]
        free[row_codes[i]] += 1
    return code_rows


@inner
def _settle(ranges, pieces, k, first, node, used):
    """Bring a range to a shared chunk at a node if it can go there; return how many pieces were made so far."""
    piece = ranges.piece[first]
    pending = ranges.pending[first]
    single = piece >= 0 and pieces.link[piece] < 0
    enough = ranges.whole[first] if single else pending
    if pending == 0 or (enough & COUNT) < k:
        return used
    if piece < 0:
        piece = used
        used += 1
    other = piece if ranges.piece[first] < 0 else pieces.link[piece]
    # A complete range goes to one node: pieces at lower nodes move back into this one.
    while other >= 0 and other != piece:
        pieces.node[other] = -1
        other = pieces.link[other]
    pieces.link[piece] = -1
    pieces.first[piece] = first
    pieces.last[piece] = ranges.last[first]
    pieces.node[piece] = node
    ranges.piece[first] = piece
    ranges.tail[first] = piece
    ranges.pending[first] = 0
    return used


@jit
def _climb(ranges, pieces, k, nodes, lefts):
    """Go up the tree, from event to event, and settle what meets there; return how many pieces were made."""
    used = 0
    for i in range(nodes.shape[0]):
        first = _unite(ranges, pieces, lefts[i])
        used = _settle(ranges, pieces, k, first, nodes[i], used)
    return used


@inner_with_arrays
def _group(pool, pieces, rule, chosen, local):
    """Put pieces of a node into chunks by vertical partitioning."""
    table = _table(pool, pieces, chosen, local)
    place = np.empty(table.unit.shape[0], dtype=np.int32)
    chunks = partition(table, rule, place)
    head = np.full(chunks, pieces.node.shape[0], dtype=np.int64)
    chunk = np.empty(chosen.shape[0], dtype=np.int64)
    for i in range(chosen.shape[0]):
        chunk[i] = place[local[pool.code[pool.occurrence[pieces.first[chosen[i]]]]]]
        head[chunk[i]] = min(head[chunk[i]], chosen[i])
    for i in range(chosen.shape[0]):
        pieces.link[chosen[i]] = head[chunk[i]]


@jit
def _group_all(tree, pool, pieces, rule, by_node):
    """Make chunks of the pieces of each node: foreign codes stay alone; afterwards pieces are linked to their first."""
    local = np.empty(pool.unit.shape[0], dtype=np.int64)
    chosen = np.empty(by_node.shape[0], dtype=np.int64)
    arrived = 0
    for i in range(by_node.shape[0]):
        piece = by_node[i]
        node = pieces.node[piece]
        pieces.link[piece] = piece
        unit = pool.unit[pool.code[pool.occurrence[pieces.first[piece]]]]
        if not _is_foreign(pool, unit, tree.low[node], tree.high[node]):
            chosen[arrived] = piece
            arrived += 1
        if i + 1 == by_node.shape[0] or pieces.node[by_node[i + 1]] != node:
            if arrived > 1:
                _group(pool, pieces, rule, chosen[:arrived], local)
            arrived = 0


def _pool(
    records: Records, split: Split, entries: Entries, unit: NDArray[np.int32], level: NDArray[np.int32]
) -> tuple[Pool, NDArray[np.int32]]:
    """What the parts hold; and the entry of the pool that each entry of the parts is in, -1 for none."""
    n_codes, code, support = unit.size, entries.code, entries.support
    part_of = np.repeat(np.arange(entries.offsets.size - 1, dtype=np.int32), np.diff(entries.offsets))
    pooled, is_first = entries.place == ITEM_CHUNK, unit[code] == code
    # A unit counts once in a part, at its first code, whose records include those of all others.
    heads = np.flatnonzero(pooled & is_first)
    start, order = by_number(code[heads], n_codes)
    heads = heads[order]
    number = np.full(code.size, -1, dtype=np.int32)
    number[heads] = np.arange(heads.size, dtype=np.int32)
    # The level is in the high bits: the maximum is that of the rarest occurrence, with its records.
    states = (level[code].astype(np.int64) << LEVEL) + support
    state = states[heads]
    others = np.flatnonzero(pooled & ~is_first)
    if others.size:
        keys = part_of * np.int64(n_codes) + code
        number[others] = number[np.searchsorted(keys, keys[others] - code[others] + unit[code[others]])]
        np.maximum.at(state, number[others], states[others])
    fixed = np.flatnonzero(~pooled & is_first)
    fixed_start, order = by_number(code[fixed], n_codes)
    held = occurrences(records, split, entries, number, heads.size)
    fixed_part = part_of[fixed[order]]
    return Pool(start, part_of[heads], state, *held, fixed_start, fixed_part, unit, records.constraint), number


def _standing(tree: Tree, pool: Pool, rule: Rule) -> Pieces:
    """The pieces of shared chunks, by the nodes at which they stand, not put together yet."""
    n = pool.part.size
    node, left = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    found = _events(tree, pool, rule.k, node, left)
    node, left = node[:found], left[:found]
    rank = np.empty(tree.depth.size, dtype=np.int32)
    rank[np.argsort(-tree.depth, kind="stable")] = np.arange(tree.depth.size, dtype=np.int32)
    _, order = by_number(rank[node], rank.size)
    places = np.arange(n, dtype=np.int32)
    piece, tail = (np.full(n, -1, dtype=np.int32) for _ in range(2))
    ranges = Ranges(pool.state.copy(), pool.state.copy(), piece, tail, places, places.copy())
    room = min(pool.place.size // rule.k, found) + 1
    pieces = Pieces(*(np.full(room, -1, dtype=np.int32) for _ in range(4)))
    used = int(_climb(ranges, pieces, rule.k, node[order], left[order]))
    return Pieces(*(array[:used] for array in pieces))


class Shared(NamedTuple):
    """Shared chunks: the node of each, (n_chunks,) int32, and the chunk of each entry of the parts, -1 for none."""

    node: NDArray[np.int32]
    chunk: NDArray[np.int64]


def share(
    tree: Tree,
    records: Records,
    split: Split,
    entries: Entries,
    unit: NDArray[np.int32],
    level: NDArray[np.int32],
    rule: Rule,
) -> Shared:
    """Move what can be shared from item chunks to shared chunks.

    Parameters
    ----------
    unit : (n_codes,) the first of the codes that stay together with each code
    level : (n_codes,) number of the occurrence that a code represents, 0 if diagnoses do not repeat
    """
    if not unit.shape == level.shape == records.constraint.shape:
        raise ValueError("unit and level must have one entry a code")
    if not tree.depth.size + 1 == split.starts.size - 1 == entries.offsets.size - 1:
        raise ValueError("tree, split and entries must have the same parts")
    pool, number = _pool(records, split, entries, unit, level)
    pieces = _standing(tree, pool, rule)
    standing = np.flatnonzero(pieces.node >= 0)
    by_node = standing[np.lexsort((pieces.first[standing], pieces.node[standing]))]
    _group_all(tree, pool, pieces, rule, by_node)
    heads, chunk = np.unique(pieces.link[standing], return_inverse=True)
    lengths = pieces.last[standing] - pieces.first[standing] + 1
    # Pieces are runs of entries that do not overlap: how far each entry is from the first of its run follows.
    begun = np.repeat(pieces.first[standing] - starts_of(lengths)[:-1], lengths)
    chunk_of = np.full(pool.part.size + 1, -1, dtype=np.int64)  # the last one for entries that are not in the pool
    chunk_of[begun + np.arange(begun.size)] = np.repeat(chunk, lengths)
    return Shared(pieces.node[heads], chunk_of[number])


def entries_to_keep(
    entries: Entries,
    shared: Shared,
    unit: NDArray[np.int32],
    needs_item: NDArray[np.bool_],
    barred: NDArray[np.bool_],
    total: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Which entries stay in item chunks that would be empty but must not be: (n_entries,).

    Of each a unit: of least support, then most frequent, then smallest.

    Parameters
    ----------
    needs_item : (n_parts,) whether the part's own record chunks leave records empty
    barred : (n_codes,) codes that do not make an item chunk one that has a code
    total : (n_codes,) records that have each code
    """
    if needs_item.size != entries.offsets.size - 1 or not total.shape == unit.shape == barred.shape:
        raise ValueError("needs_item must have one entry a part, barred and total one a code")
    part_of = np.repeat(np.arange(needs_item.size), np.diff(entries.offsets))
    is_shared, keys = shared.chunk >= 0, part_of * np.int64(unit.size) + unit[entries.code]
    plain = ~barred[entries.code]
    # An item chunk that keeps a code anyhow needs none.
    has_item = np.zeros(needs_item.size, dtype=np.bool_)
    has_item[part_of[plain & ~is_shared & (entries.place < 0)]] = True
    choice = np.flatnonzero(
        plain & is_shared & (unit[entries.code] == entries.code) & (needs_item & ~has_item)[part_of]
    )
    choice = choice[np.lexsort((-total[entries.code[choice]], entries.support[choice], part_of[choice]))]
    _, first = np.unique(part_of[choice], return_index=True)
    return np.isin(keys, keys[choice[first]]) if choice.size else np.zeros(keys.size, dtype=np.bool_)
