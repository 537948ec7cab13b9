"""Vertical partitioning of all parts, so that no reconstructed record may be empty; the occurrences that they hold."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, inner_with_arrays, jit
from .horpart import Records, Split
from .verpart import BARRED, KEPT_BACK, Rule, Table, partition
from .words import starts_of


class Entries(NamedTuple):
    """The codes of each part."""

    offsets: NDArray[np.int64]  # (n_parts + 1,) where each part's codes begin
    code: NDArray[np.int32]  # ascending within a part
    support: NDArray[np.int32]  # records of the part that have the code
    place: NDArray[np.int32]  # number of the record chunk in the part, ITEM_CHUNK or KEPT_BACK


class Marks(NamedTuple):
    """Of each part: whether its record chunks alone leave records empty, and whether a code was moved for that."""

    needs_item: NDArray[np.bool_]
    repaired: NDArray[np.bool_]


@inner_with_arrays
def _table_of(records, split, family, entries, part, local):
    """The table of a part; ``local`` receives the numbers of its codes."""
    begin = entries.offsets[part]
    n_codes = entries.offsets[part + 1] - begin
    code_start = np.zeros(n_codes + 1, dtype=np.int64)
    for j in range(n_codes):
        local[entries.code[begin + j]] = j
        code_start[j + 1] = code_start[j] + entries.support[begin + j]
    unit = np.empty(n_codes, dtype=np.int32)
    constraint = np.empty(n_codes, dtype=np.int32)
    for j in range(n_codes):
        code = entries.code[begin + j]
        unit[j] = local[family[code]]
        constraint[j] = BARRED if records.passed_over[code] else records.constraint[code]
    low = split.starts[part]
    row_start = np.zeros(split.starts[part + 1] - low + 1, dtype=np.int64)
    row_codes = np.empty(code_start[n_codes], dtype=np.int32)
    code_rows = np.empty(code_start[n_codes], dtype=np.int32)
    free = code_start[:-1].copy()
    at = 0
    for row in range(row_start.shape[0] - 1):
        record = split.order[low + row]
        for item in range(records.offsets[record], records.offsets[record + 1]):
            code = local[records.items[item]]
            row_codes[at] = code
            code_rows[free[code]] = row
            free[code] += 1
            at += 1
        row_start[row + 1] = at
    return Table(row_start, row_codes, code_start, code_rows, unit, constraint)


@inner_with_arrays
def _leaves_empty(table, rule, place, chunks):
    """Whether the record chunks alone may leave a reconstructed record empty (the condition the paper omits)."""
    rows = table.row_start.shape[0] - 1
    used = np.zeros(chunks, dtype=np.bool_)
    seen = np.full(chunks, -1, dtype=np.int64)
    subrecords = 0
    for row in range(rows):
        for at in range(table.row_start[row], table.row_start[row + 1]):
            chunk = place[table.row_codes[at]]
            if chunk >= 0 and seen[chunk] != row:
                seen[chunk] = row
                used[chunk] = True
                subrecords += 1
    filled = np.sum(used)
    # So many subrecords can be laid out that no row is bare, whichever m of them are put into k rows together.
    return filled == 0 or subrecords < rows + rule.k * (min(rule.m, filled) - 1)


@inner
def _keeps_constraint(table, place, code):
    """Whether all codes of the code's constraint that the part has are in one record chunk."""
    own = table.constraint[code]
    if own < 0:
        return False
    for other in range(place.shape[0]):
        if table.constraint[other] == own and place[other] != place[code]:
            return False
    return True


@inner
def _repair(table, place):
    """Move the unit of least support to the item chunk for good, rather one that breaks no constraint kept whole."""
    best = -1
    best_keeps = True
    best_support = 0
    for code in range(place.shape[0]):
        if table.unit[code] != code or place[code] < 0:
            continue
        support = table.code_start[code + 1] - table.code_start[code]
        keeps = _keeps_constraint(table, place, code)
        if best < 0 or (best_keeps and not keeps) or (best_keeps == keeps and support < best_support):
            best = code
            best_keeps = keeps
            best_support = support
    for code in range(place.shape[0]):
        if table.unit[code] == best:
            place[code] = KEPT_BACK


@inner
def _finish(table, rule, place, chunks):
    """Keep barred codes back, see to the omitted condition without them; return what `Marks` says."""
    items = False
    for code in range(place.shape[0]):
        if table.constraint[code] == BARRED:
            place[code] = KEPT_BACK
        elif place[code] < 0:
            items = True
    needs = _leaves_empty(table, rule, place, chunks)
    # A bare row is filled from the item chunk; where that is empty, the rarest unit goes there for good.
    if needs and not items:
        _repair(table, place)
        return True, True
    return needs, False


@jit
def _partition_parts(records, split, family, rule, entries, marks):
    """Partition every part."""
    local = np.empty(family.shape[0], dtype=np.int64)
    for part in range(entries.offsets.shape[0] - 1):
        table = _table_of(records, split, family, entries, part, local)
        place = entries.place[entries.offsets[part] : entries.offsets[part + 1]]
        chunks = partition(table, rule, place)
        marks.needs_item[part], marks.repaired[part] = _finish(table, rule, place, chunks)


@jit
def _spread(records, split, entries, number, free, found):
    """Write the occurrences of each lot; ``free`` is where each lot has come to."""
    local = np.empty(records.constraint.shape[0], dtype=np.int64)
    for part in range(entries.offsets.shape[0] - 1):
        for at in range(entries.offsets[part], entries.offsets[part + 1]):
            # All codes of a part's records are entries of it: nothing of the part before is looked up.
            local[entries.code[at]] = number[at]
        for place in range(split.starts[part], split.starts[part + 1]):
            record = split.order[place]
            for at in range(records.offsets[record], records.offsets[record + 1]):
                lot = local[records.items[at]]
                if lot >= 0:
                    found.place[free[lot]] = place
                    found.code[free[lot]] = records.items[at]
                    free[lot] += 1


def partition_parts(records: Records, split: Split, family: NDArray[np.int32], rule: Rule) -> tuple[Entries, Marks]:
    """Partition every part vertically.

    Parameters
    ----------
    family : (n_codes,) the first of the codes that must stay together with each code, itself for most
    """
    parts, n_codes = split.starts.size - 1, records.constraint.size
    if family.shape != (n_codes,):
        raise ValueError("family must have one entry a code")
    lengths = np.diff(records.offsets)
    part_of = np.empty(lengths.size, dtype=np.int64)
    part_of[split.order] = np.repeat(np.arange(parts), np.diff(split.starts))
    keys = np.repeat(part_of, lengths)
    keys *= n_codes
    keys += records.items
    keys.sort()
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])
    part_of, code = np.divmod(keys[first], n_codes)
    support = np.diff(first, append=keys.size).astype(np.int32)
    offsets = np.searchsorted(part_of, np.arange(parts + 1))
    entries = Entries(offsets, code.astype(np.int32), support, np.empty(code.size, dtype=np.int32))
    marks = Marks(np.zeros(parts, dtype=np.bool_), np.zeros(parts, dtype=np.bool_))
    _partition_parts(records, split, family, rule, entries, marks)
    return entries, marks


class Occurrences(NamedTuple):
    """Occurrences of codes in lots."""

    starts: NDArray[np.int64]  # (n_lots + 1,) where those of each lot begin
    place: NDArray[np.int32]  # place, code: place of the record and the code of each, by place, then by code
    code: NDArray[np.int32]


def occurrences(
    records: Records, split: Split, entries: Entries, lots: NDArray[np.integer], n_lots: int
) -> Occurrences:
    """Return the occurrences of all entries of each lot.

    Parameters
    ----------
    lots : (n_entries,) the lot of each entry, -1 for none
    """
    if lots.shape != entries.code.shape or lots.max(initial=-1) >= n_lots:
        raise ValueError(f"lots must be from -1 to {n_lots - 1}, one an entry")
    inside = lots >= 0
    # Weights are added up as floating-point numbers, exact below 2**53.
    starts = starts_of(np.bincount(lots[inside], entries.support[inside], n_lots))
    n = int(starts[-1])
    found = Occurrences(starts, np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32))
    _spread(records, split, entries, lots.astype(np.int32, copy=False), starts[:-1].copy(), found)
    return found
