"""Refining: codes leave the item chunks of neighbouring parts for shared chunks of joint clusters.

The entries of a unit (a code, or all occurrences of one) are the parts that hold it in their item chunk, in the order
of the tree. Below each node they form a *range*. Of a range we know what is still pending, and which *pieces* of it
went to shared chunks. Where each unit's pieces stand is settled first, then the pieces of a node are put into chunks.

A *state* packs the highest occurrence number and the records that have it: the rarest occurrence decides.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .horpart import Tree, _meeting
from .verpart import Rule, Table, _partition

LEVEL = 40
COUNT = (1 << LEVEL) - 1


class Pool(NamedTuple):
    """What the parts hold in their item chunks and may give away.

    start : (n_codes + 1,) int64, where each unit's entries begin; a unit has the number of its first code
    part : (n_entries,) int32, ascending within a unit
    state : (n_entries,) int64
    occurrence : (n_entries + 1,) int64, where each entry's occurrences begin
    place, code : int32, place of the record and the code of each occurrence
    """

    start: NDArray[np.int64]
    part: NDArray[np.int32]
    state: NDArray[np.int64]
    occurrence: NDArray[np.int64]
    place: NDArray[np.int32]
    code: NDArray[np.int32]


class Fixed(NamedTuple):
    """Parts that hold each unit elsewhere (a record chunk, or kept back), by unit; unit and constraint of each code."""

    start: NDArray[np.int64]
    part: NDArray[np.int32]
    unit: NDArray[np.int32]
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
    """Pieces of shared chunks: first and last entry, node (-1: gone), and the next piece of the range or the chunk."""

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


@jit
def _by_rank(rank, node, left, found, start, sorted_left):
    """Sort events by the rank of their node, keeping the order of units; ``start`` is where each rank begins."""
    for i in range(found):
        start[rank[node[i]] + 1] += 1
    for i in range(1, start.shape[0]):
        start[i] += start[i - 1]
    for i in range(found):
        at = rank[node[i]]
        sorted_left[start[at]] = left[i]
        start[at] += 1
    # Filling moved each start to its end, which is the start of the next rank.
    for i in range(start.shape[0] - 1, 0, -1):
        start[i] = start[i - 1]
    start[0] = 0


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


@inner
def _is_foreign(fixed, unit, low, high):
    """Whether a part from ``low`` to ``high`` holds the unit in a record chunk or keeps it back."""
    begin = fixed.start[unit]
    end = fixed.start[unit + 1]
    at = begin + np.searchsorted(fixed.part[begin:end], low)
    return at < end and fixed.part[at] <= high


@inner
def _table(pool, fixed, pieces, chosen, local):
    """The records that have units of the chosen pieces, as a table; the codes, ascending."""
    n = 0
    for i in range(chosen.shape[0]):
        n += pool.occurrence[pieces.last[chosen[i]] + 1] - pool.occurrence[pieces.first[chosen[i]]]
    place = np.empty(n, dtype=np.int64)
    code = np.empty(n, dtype=np.int32)
    at = 0
    for i in range(chosen.shape[0]):
        for source in range(pool.occurrence[pieces.first[chosen[i]]], pool.occurrence[pieces.last[chosen[i]] + 1]):
            place[at] = pool.place[source]
            code[at] = pool.code[source]
            at += 1
    codes = np.unique(code)
    n_codes = codes.shape[0]
    unit = np.empty(n_codes, dtype=np.int32)
    constraint = np.empty(n_codes, dtype=np.int32)
    code_start = np.zeros(n_codes + 1, dtype=np.int64)
    for j in range(n_codes):
        local[codes[j]] = j
        unit[j] = local[fixed.unit[codes[j]]]
        constraint[j] = fixed.constraint[codes[j]]
    row_start = np.zeros(n + 1, dtype=np.int64)
    row_codes = np.empty(n, dtype=np.int32)
    rows_by_code = np.empty(n, dtype=np.int32)
    # Rows stand by their place in the split tree, in whatever order the pieces were chosen.
    by_place = np.argsort(place)
    rows = 0
    for i in range(n):
        if i > 0 and place[by_place[i]] != place[by_place[i - 1]]:
            rows += 1
        row_codes[i] = local[code[by_place[i]]]
        rows_by_code[i] = rows
        row_start[rows + 1] = i + 1
        code_start[row_codes[i] + 1] += 1
    code_rows = _by_code(row_codes, rows_by_code, code_start)
    return Table(row_start[: rows + 2], row_codes, code_start, code_rows, unit, constraint), codes


@inner
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
    # A range goes to one node as a whole: pieces that stood further down are taken back into this one.
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
def _climb(ranges, pieces, k, nodes, start, lefts):
    """Go up the tree, node by node, and settle what meets there; return how many pieces were made."""
    used = 0
    for i in range(nodes.shape[0]):
        for at in range(start[i], start[i + 1]):
            first = _unite(ranges, pieces, lefts[at])
            used = _settle(ranges, pieces, k, first, nodes[i], used)
    return used


@inner
def _group(pool, fixed, pieces, rule, chosen, local):
    """Put pieces of a node into chunks by vertical partitioning: each is linked to the next of its chunk."""
    table, codes = _table(pool, fixed, pieces, chosen, local)
    place = np.empty(codes.shape[0], dtype=np.int32)
    chunks = _partition(table, rule, codes.shape[0], place)
    head = np.full(chunks, -1, dtype=np.int64)
    for i in range(chosen.shape[0]):
        piece = chosen[i]
        chunk = place[local[pool.code[pool.occurrence[pieces.first[piece]]]]]
        if head[chunk] >= 0:
            pieces.link[piece] = pieces.link[head[chunk]]
            pieces.link[head[chunk]] = piece
        head[chunk] = piece


@jit
def _group_all(tree, pool, fixed, pieces, rule, by_node):
    """Make chunks of the pieces of each node: foreign codes stay alone; afterwards pieces are linked in rings."""
    local = np.empty(fixed.unit.shape[0], dtype=np.int64)
    chosen = np.empty(by_node.shape[0], dtype=np.int64)
    arrived = 0
    for i in range(by_node.shape[0]):
        piece = by_node[i]
        node = pieces.node[piece]
        pieces.link[piece] = piece
        unit = fixed.unit[pool.code[pool.occurrence[pieces.first[piece]]]]
        if not _is_foreign(fixed, unit, tree.low[node], tree.high[node]):
            chosen[arrived] = piece
            arrived += 1
        if i + 1 == by_node.shape[0] or pieces.node[by_node[i + 1]] != node:
            if arrived > 1:
                _group(pool, fixed, pieces, rule, chosen[:arrived], local)
            arrived = 0


def _checked(tree: Tree, pool: Pool, fixed: Fixed) -> int:
    n_codes = fixed.unit.size
    if pool.start.shape != (n_codes + 1,) or fixed.start.shape != (n_codes + 1,):
        raise ValueError("pool and fixed must have one start a code")
    if pool.occurrence.size != pool.part.size + 1 or pool.state.size != pool.part.size:
        raise ValueError("pool must have one state and one start of occurrences an entry")
    if pool.part.size and not 0 <= pool.part.min() <= pool.part.max() <= tree.depth.size:
        raise ValueError("the pool names parts that the tree has not")
    return n_codes


def join(tree: Tree, pool: Pool, fixed: Fixed, rule: Rule) -> Pieces:
    """Pieces of shared chunks, and the nodes at which they stand."""
    _checked(tree, pool, fixed)
    n = pool.part.size
    node, left = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    found = _events(tree, pool, rule.k, node, left)
    nodes = np.argsort(-tree.depth, kind="stable").astype(np.int32)
    rank = np.empty(nodes.size, dtype=np.int32)
    rank[nodes] = np.arange(nodes.size, dtype=np.int32)
    start, lefts = np.zeros(nodes.size + 1, dtype=np.int64), np.empty(found, dtype=np.int32)
    _by_rank(rank, node, left, found, start, lefts)
    del node, left
    places = np.arange(n, dtype=np.int32)
    piece, tail = (np.full(n, -1, dtype=np.int32) for _ in range(2))
    ranges = Ranges(pool.state.copy(), pool.state.copy(), piece, tail, places, places.copy())
    room = min(pool.place.size // rule.k, found) + 1
    blank = [np.full(room, -1, dtype=np.int32) for _ in range(4)]
    used = int(_climb(ranges, Pieces(*blank), rule.k, nodes, start, lefts))
    pieces = Pieces(*(array[:used] for array in blank))
    del ranges, piece, tail, places, start, lefts
    standing = np.flatnonzero(pieces.node >= 0)
    by_node = standing[np.lexsort((pieces.first[standing], pieces.node[standing]))]
    _group_all(tree, pool, fixed, pieces, rule, by_node)
    return pieces
