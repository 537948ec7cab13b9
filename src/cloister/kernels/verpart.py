"""Vertical partitioning: assign the codes of a group of records to chunks (VERPART), and test k^m-anonymity.

A *table* is a group of records with its codes numbered from 0. A *unit* is what must not be parted: one code, or all
occurrences of a code where diagnoses repeat.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, inner_with_arrays
from .words import bits_set, hash_word

MOST_SETS = 1 << 16
"""Sets of records, shared by codes of one chunk, that may be looked at for it; their number can grow exponentially."""

TOO_MANY = -1
NOT_HELD = -2

ITEM_CHUNK = -1
KEPT_BACK = -2
"""In the item chunk, and never to leave it."""
WAITING = -3
SHARED = -4
"""Place of a code that went to a shared chunk."""
BARRED = -2
"""Constraint of a code that may be in no chunk."""
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE = np.uint64(1)


class Table(NamedTuple):
    """Records of a group by row and by code."""

    row_start: NDArray[np.int64]  # row_start, row_codes: the codes of each row
    row_codes: NDArray[np.int32]
    code_start: NDArray[np.int64]  # code_start, code_rows: the rows of each code
    code_rows: NDArray[np.int32]
    unit: NDArray[np.int32]  # smallest code of the unit that each code is in
    constraint: NDArray[np.int32]  # of each code, -1 for none, BARRED where the code must be in no chunk


class Rule(NamedTuple):
    """The condition of a chunk: k^m-anonymity, and no pair of confidence ``threshold`` or more (above 1: any)."""

    k: int
    m: int
    threshold: float


@inner
def _place_of(masks, places, mask):
    """Where a set of rows is in the hash table, or could be put."""
    key = ONE
    for w in range(mask.shape[0]):
        key = hash_word(key, mask[w])
    at = np.int64(key & np.uint64(places.shape[0] - 1))
    # The table is at most half full (`_enlarge`), so that the search for a free place ends.
    while places[at] >= 0:
        same = True
        for w in range(mask.shape[0]):
            same = same and masks[places[at], w] == mask[w]
        if same:
            break
        at = (at + 1) & (places.shape[0] - 1)
    return at


@inner
def _set_row(masks, at, mask):
    """Write a set of rows."""
    # In a loop, as everywhere in kernels: for an array assigned to a slice, Numba compiles the words of a complaint.
    for w in range(mask.shape[0]):
        masks[at, w] = mask[w]


@inner_with_arrays
def _enlarge(masks, depth, size):
    """Twice the room for sets of rows, and a hash table of those there are."""
    longer = np.empty((2 * size, masks.shape[1]), dtype=np.uint64)
    deeper = np.zeros(2 * size, dtype=np.int64)
    places = np.full(4 * size, -1, dtype=np.int64)
    for e in range(size):
        _set_row(longer, e, masks[e])
        deeper[e] = depth[e]
        places[_place_of(longer, places, longer[e])] = e
    return longer, deeper, places


# Sets that a column makes come behind those there were, so that no column is met twice. Where several sets of columns
# share the same rows, the smallest counts: it leaves most room to add others.
@inner_with_arrays
def _sets_hold(columns, k, most, allowed):
    """How many sets of rows up to ``most`` columns share; NOT_HELD if one has 1 to k - 1 rows, TOO_MANY if more."""
    words = columns.shape[1]
    masks = np.empty((16, words), dtype=np.uint64)
    depth = np.zeros(16, dtype=np.int64)
    places = np.full(32, -1, dtype=np.int64)
    masks[0] = ONES
    places[_place_of(masks, places, masks[0])] = 0
    size = 1
    mask = np.empty(words, dtype=np.uint64)
    for j in range(columns.shape[0]):
        for e in range(size):
            if depth[e] >= most:
                continue
            count = 0
            same = True
            for w in range(words):
                mask[w] = masks[e, w] & columns[j, w]
                count += bits_set(mask[w])
                same = same and mask[w] == masks[e, w]
            if count == 0 or same:
                continue
            if count < k:
                return NOT_HELD
            if depth[e] + 1 == most:
                continue
            if size == masks.shape[0]:
                masks, depth, places = _enlarge(masks, depth, size)
            at = _place_of(masks, places, mask)
            if places[at] >= 0:
                depth[places[at]] = min(depth[places[at]], depth[e] + 1)
                continue
            if size == allowed:
                return TOO_MANY
            places[at] = size
            _set_row(masks, size, mask)
            depth[size] = depth[e] + 1
            size += 1
    return size


@inner_with_arrays
def _columns(table, code, slot, found):
    """Rows of the new code that each code met there has, as bits, shape (found, words)."""
    first = table.code_start[code]
    rows = table.code_start[code + 1] - first
    columns = np.zeros((found, (rows + 63) >> 6), dtype=np.uint64)
    for i in range(rows):
        row = table.code_rows[first + i]
        for at in range(table.row_start[row], table.row_start[row + 1]):
            met = slot[table.row_codes[at]]
            if met >= 0:
                columns[met, i >> 6] |= ONE << np.uint64(i & 63)
    return columns


@inner_with_arrays
def _fits(table, rule, inside, slot, met, spent, code):
    """Whether a chunk stays k^m-anonymous when a code is added that no pair forbids; ``slot`` is -1 before and after.

    Where that takes too long to find out, the code does not fit. ``spent`` counts what was looked at for the chunk.
    """
    found = 0
    for i in range(table.code_start[code], table.code_start[code + 1]):
        row = table.code_rows[i]
        for at in range(table.row_start[row], table.row_start[row + 1]):
            other = table.row_codes[at]
            if inside[other] and slot[other] < 0:
                slot[other] = found
                met[found] = other
                found += 1
    holds = True
    # Sets without the new code were tested when their last code came in; those with it lie in its own rows.
    if found >= 2:
        sets = _sets_hold(_columns(table, code, slot, found), rule.k, rule.m - 1, MOST_SETS - spent[0])
        holds = sets > 0
        # What takes too long counts as unfit: fewer codes in the chunk, never a chunk that is not k^m-anonymous.
        spent[0] += max(0, sets)
    for j in range(found):
        slot[met[j]] = -1
    return holds


@inner_with_arrays
def _in_order(table, n_codes, k):
    """Codes whose unit is frequent throughout: by constraint, then support, then number; units stand together."""
    top = np.zeros(n_codes, dtype=np.int64)
    least = np.full(n_codes, np.int64(1) << 62, dtype=np.int64)
    most = 0
    for code in range(n_codes):
        support = table.code_start[code + 1] - table.code_start[code]
        unit = table.unit[code]
        top[unit] = max(top[unit], support)
        least[unit] = min(least[unit], support)
        most = max(most, support)
    chosen = np.empty(n_codes, dtype=np.int64)
    keys = np.empty(n_codes, dtype=np.int64)
    kept = 0
    for code in range(n_codes):
        unit = table.unit[code]
        if least[unit] >= k and table.constraint[code] != BARRED:
            chosen[kept] = code
            # One number sorts by falling support of the unit, then by unit, then by code.
            keys[kept] = ((most - top[unit]) * n_codes + unit) * n_codes + code
            kept += 1
    if kept > 1:
        chosen = chosen[:kept][np.argsort(keys[:kept])]
        _by_group(table, chosen, keys)
        chosen = chosen[np.argsort(keys[:kept])]
    return chosen[:kept]


@inner_with_arrays
def _by_group(table, chosen, keys):
    """Return sort keys that move the codes of a constraint to the position of its first code."""
    kept = chosen.shape[0]
    group = np.arange(kept)
    for i in range(kept):
        keys[i] = table.constraint[chosen[i]] * kept + i
    by_constraint = np.argsort(keys[:kept])
    for i in range(1, kept):
        here = by_constraint[i]
        before = by_constraint[i - 1]
        own = table.constraint[chosen[here]]
        if own >= 0 and own == table.constraint[chosen[before]]:
            group[here] = group[before]
    for i in range(kept):
        keys[i] = group[i] * kept + i


@inner_with_arrays
def _conflicts(table, rule, place):
    """For each waiting code the other waiting codes that may not be in one chunk with it, as starts and codes."""
    n_codes = place.shape[0]
    starts = np.zeros(n_codes + 1, dtype=np.int64)
    found = np.empty(64, dtype=np.int32)
    counts = np.zeros(n_codes, dtype=np.int64)
    met = np.empty(n_codes, dtype=np.int32)
    size = 0
    for code in range(n_codes):
        seen = 0
        for i in range(table.code_start[code], table.code_start[code + 1] if place[code] == WAITING else 0):
            row = table.code_rows[i]
            for at in range(table.row_start[row], table.row_start[row + 1]):
                other = table.row_codes[at]
                if counts[other] == 0:
                    met[seen] = other
                    seen += 1
                counts[other] += 1
        if size + seen > found.shape[0]:
            longer = np.empty(2 * (size + seen), dtype=np.int32)
            for j in range(size):
                longer[j] = found[j]
            found = longer
        support = table.code_start[code + 1] - table.code_start[code]
        for j in range(seen):
            other = met[j]
            least = min(support, table.code_start[other + 1] - table.code_start[other])
            few = rule.m >= 2 and counts[other] < rule.k
            tied = table.unit[other] != table.unit[code] and counts[other] >= rule.threshold * least
            if other != code and place[other] == WAITING and (few or tied):
                found[size] = other
                size += 1
            counts[other] = 0
        starts[code + 1] = size
    return starts, found


@inner
def _joins(table, rule, members, inside, blocked, round_number, scratch):
    """Put a unit into the chunk if it fits; whether it does."""
    for j in range(members.shape[0]):
        if blocked[members[j]] == round_number:
            return False
    slot, met, spent = scratch
    for j in range(members.shape[0]):
        # `blocked` covers all pairs; with m up to 2 there is nothing else to test.
        if rule.m >= 3 and not _fits(table, rule, inside, slot, met, spent, members[j]):
            for i in range(j):
                inside[members[i]] = False
            return False
        inside[members[j]] = True
    return True


@inner
def _gather(table, rule, order, place, inside, blocking, round_number, scratch):
    """Put into the next chunk each waiting unit, in order, that fits; those refused are passed over (line 10)."""
    starts, conflicts, blocked = blocking
    i = 0
    while i < order.shape[0]:
        end = i
        unit = table.unit[order[i]]
        while end < order.shape[0] and table.unit[order[end]] == unit:
            end += 1
        if place[order[i]] == WAITING and _joins(table, rule, order[i:end], inside, blocked, round_number, scratch):
            for j in range(i, end):
                for at in range(starts[order[j]], starts[order[j] + 1]):
                    blocked[conflicts[at]] = round_number
        i = end


@inner
def _release_partial(table, order, place, inside):
    """Take out the codes of other constraints than the first code's that are not all in (lines 15 to 17)."""
    first = -1
    for i in range(order.shape[0]):
        if inside[order[i]]:
            first = table.constraint[order[i]]
            break
    i = 0
    while i < order.shape[0]:
        own = table.constraint[order[i]]
        end = i + 1
        whole = True
        while end < order.shape[0] and own >= 0 and table.constraint[order[end]] == own:
            end += 1
        for j in range(i, end):
            whole = whole and (inside[order[j]] or place[order[j]] != WAITING)
        if own >= 0 and own != first and not whole:
            for j in range(i, end):
                inside[order[j]] = False
        i = end


@inner_with_arrays
def partition(table, rule, place):
    """Give each code the number of its chunk or ITEM_CHUNK; return the number of chunks."""
    n_codes = place.shape[0]
    order = _in_order(table, n_codes, rule.k)
    for code in range(n_codes):
        place[code] = ITEM_CHUNK
    for i in range(order.shape[0]):
        place[order[i]] = WAITING
    if order.shape[0] == 0:
        return 0
    inside = np.zeros(n_codes, dtype=np.bool_)
    starts, conflicts = _conflicts(table, rule, place)
    blocking = (starts, conflicts, np.full(n_codes, -1, dtype=np.int64))
    scratch = (np.full(n_codes, -1, dtype=np.int64), np.empty(n_codes, dtype=np.int64), np.zeros(1, dtype=np.int64))
    left = order.shape[0]
    chunk = 0
    # Ends: alone in a chunk the first waiting unit fits, so that each round places one at least.
    while left > 0:
        scratch[2][0] = 0
        _gather(table, rule, order, place, inside, blocking, chunk, scratch)
        _release_partial(table, order, place, inside)
        for i in range(order.shape[0]):
            if inside[order[i]]:
                inside[order[i]] = False
                place[order[i]] = chunk
                left -= 1
        chunk += 1
    return chunk
