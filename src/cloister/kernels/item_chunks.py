"""What parts hold in their item chunks, by code; and what is left there once shared chunks took theirs."""

import numpy as np
from numpy.typing import NDArray

from ._jit import jit
from .horpart import Records, Split
from .parts import Entries
from .shared_chunks import LEVEL, Fixed, Pieces, Pool
from .verpart import ITEM_CHUNK, KEPT_BACK

SHARED = -4
"""Place of a code that went to a shared chunk."""


@jit
def _count_units(entries, unit, is_pooled, start):
    """Count the parts that hold each unit in the item chunk to give away, or elsewhere; ``start`` receives them."""
    for at in range(entries.code.shape[0]):
        code = entries.code[at]
        # A unit is counted once, at its first code, whose records include those of all others.
        if unit[code] == code and (entries.place[at] == ITEM_CHUNK) == is_pooled:
            start[code + 1] += 1
    for code in range(start.shape[0] - 1):
        start[code + 1] += start[code]


@jit
def _fill_fixed(entries, unit, start, part_of):
    """List the parts that hold each unit elsewhere."""
    free = start[:-1].copy()
    for part in range(entries.offsets.shape[0] - 1):
        for at in range(entries.offsets[part], entries.offsets[part + 1]):
            code = entries.code[at]
            if unit[code] == code and entries.place[at] != ITEM_CHUNK:
                part_of[free[code]] = part
                free[code] += 1


@jit
def _fill_pool(entries, unit, level, pool):
    """List the parts that hold each unit in the item chunk, their states, and how many occurrences they give."""
    free = pool.start[:-1].copy()
    for part in range(entries.offsets.shape[0] - 1):
        for at in range(entries.offsets[part], entries.offsets[part + 1]):
            code = entries.code[at]
            if entries.place[at] == ITEM_CHUNK and unit[code] == code:
                pool.part[free[code]] = part
                pool.state[free[code]] = 0
                free[code] += 1
        for at in range(entries.offsets[part], entries.offsets[part + 1]):
            code = entries.code[at]
            if entries.place[at] == ITEM_CHUNK:
                entry = free[unit[code]] - 1
                # The level stands in the high bits: the maximum is that of the rarest occurrence, with its records.
                state = (np.int64(level[code]) << LEVEL) + entries.support[at]
                pool.state[entry] = max(pool.state[entry], state)
                pool.occurrence[entry + 1] += entries.support[at]
    for entry in range(pool.part.shape[0]):
        pool.occurrence[entry + 1] += pool.occurrence[entry]


@jit
def _fill_occurrences(records, split, entries, unit, pool):
    """List the occurrences of each entry of the pool."""
    free = pool.occurrence[:-1].copy()
    reached = pool.start[:-1].copy()
    entry = np.full(unit.shape[0], -1, dtype=np.int64)
    for part in range(entries.offsets.shape[0] - 1):
        for at in range(entries.offsets[part], entries.offsets[part + 1]):
            code = entries.code[at]
            if entries.place[at] == ITEM_CHUNK and unit[code] == code:
                entry[code] = reached[code]
                reached[code] += 1
        for place in range(split.starts[part], split.starts[part + 1]):
            record = split.order[place]
            for at in range(records.offsets[record], records.offsets[record + 1]):
                own = entry[unit[records.items[at]]]
                if own >= 0:
                    pool.place[free[own]] = place
                    pool.code[free[own]] = records.items[at]
                    free[own] += 1
        for at in range(entries.offsets[part], entries.offsets[part + 1]):
            # Only what was used is cleared, so that a part costs its entries and no more.
            entry[entries.code[at]] = -1


@jit
def _mark_shared(entries, pool, pieces):
    """Give the codes that went to shared chunks their place."""
    for piece in range(pieces.node.shape[0]):
        if pieces.node[piece] < 0:
            continue
        for entry in range(pieces.first[piece], pieces.last[piece] + 1):
            begin = entries.offsets[pool.part[entry]]
            end = entries.offsets[pool.part[entry] + 1]
            before = -1
            for i in range(pool.occurrence[entry], pool.occurrence[entry + 1]):
                # Neighbours are mostly of one code, which is then looked up once; codes of a part ascend.
                if pool.code[i] != before:
                    before = pool.code[i]
                    entries.place[begin + np.searchsorted(entries.code[begin:end], before)] = SHARED


@jit
def _bare(entries, needs_item, barred, pins, total, unit):
    """For each part that needs a code in its item chunk and has none, the entry to keep there, else -1."""
    for part in range(needs_item.shape[0]):
        pins[part] = -1
        if not needs_item[part]:
            continue
        best = np.int64(-1)
        for at in range(entries.offsets[part], entries.offsets[part + 1]):
            code = entries.code[at]
            if barred[code]:
                continue
            if entries.place[at] == ITEM_CHUNK or entries.place[at] == KEPT_BACK:
                # The item chunk keeps a code anyhow: nothing has to be pinned.
                best = -1
                break
            if entries.place[at] == SHARED and unit[code] == code:
                fewer = best < 0 or entries.support[at] < entries.support[best]
                equal = best >= 0 and entries.support[at] == entries.support[best]
                if fewer or (equal and total[code] > total[entries.code[best]]):
                    best = at
        pins[part] = best


def _room(entries: Entries, unit: NDArray[np.int32], is_pooled: bool) -> NDArray[np.int64]:
    start = np.zeros(unit.size + 1, dtype=np.int64)
    _count_units(entries, unit, is_pooled, start)
    return start


def make_fixed(entries: Entries, unit: NDArray[np.int32], constraint: NDArray[np.int32]) -> Fixed:
    """Which parts hold each unit in a record chunk, or keep it back."""
    if unit.shape != constraint.shape:
        raise ValueError("unit and constraint must have one entry a code")
    start = _room(entries, unit, False)
    part = np.empty(int(start[-1]), dtype=np.int32)
    _fill_fixed(entries, unit, start, part)
    return Fixed(start, part, unit, constraint)


def make_pool(
    records: Records, split: Split, entries: Entries, unit: NDArray[np.int32], level: NDArray[np.int32]
) -> Pool:
    """What the parts hold in their item chunks and may give away.

    Parameters
    ----------
    unit : (n_codes,) the first of the codes that stay together with each code
    level : (n_codes,) number of the occurrence that a code stands for, 0 where diagnoses do not repeat
    """
    if unit.shape != level.shape or unit.shape != records.constraint.shape:
        raise ValueError("unit and level must have one entry a code")
    start = _room(entries, unit, True)
    n = int(start[-1])
    n_occurrences = int(entries.support[entries.place == ITEM_CHUNK].sum())
    pool = Pool(
        start,
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.zeros(n + 1, dtype=np.int64),
        np.empty(n_occurrences, dtype=np.int32),
        np.empty(n_occurrences, dtype=np.int32),
    )
    _fill_pool(entries, unit, level, pool)
    _fill_occurrences(records, split, entries, unit, pool)
    return pool


def mark_shared(entries: Entries, pool: Pool, pieces: Pieces) -> None:
    """Give the codes that went to shared chunks the place SHARED in ``entries``."""
    if pool.part.size and int(pool.part.max()) >= entries.offsets.size - 1:
        raise ValueError("the pool names parts that have no entries")
    _mark_shared(entries, pool, pieces)


def codes_to_pin(
    entries: Entries,
    needs_item: NDArray[np.bool_],
    barred: NDArray[np.bool_],
    total: NDArray[np.int64],
    unit: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Entries to keep in item chunks that would be empty but must not be: least support, then most frequent, smallest.

    Parameters
    ----------
    needs_item : (n_parts,) whether the part's own record chunks leave records empty
    barred : (n_codes,) codes that do not make an item chunk one that has a code
    total : (n_codes,) records that have each code
    """
    if needs_item.size != entries.offsets.size - 1 or not total.shape == unit.shape == barred.shape:
        raise ValueError("needs_item must have one entry a part, barred and total one a code")
    pins = np.empty(needs_item.size, dtype=np.int64)
    _bare(entries, needs_item, barred, pins, total, unit)
    return pins[pins >= 0]
