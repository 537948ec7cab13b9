"""Vertical partitioning of all parts, one by one, with the condition that no reconstructed record may be empty."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .horpart import Records, Split
from .verpart import BARRED, KEPT_BACK, Rule, Table, _partition


class Entries(NamedTuple):
    """The codes of each part.

    offsets : (n_parts + 1,) int64, where each part's codes begin
    code : int32, ascending within a part
    support : int32, records of the part that have the code
    place : int32, number of the record chunk in the part, ITEM_CHUNK or KEPT_BACK
    """

    offsets: NDArray[np.int64]
    code: NDArray[np.int32]
    support: NDArray[np.int32]
    place: NDArray[np.int32]


class Marks(NamedTuple):
    """Of each part: whether its record chunks alone leave records empty, and whether a code was moved for that."""

    needs_item: NDArray[np.bool_]
    repaired: NDArray[np.bool_]


@jit
def _count_entries(records, split, offsets):
    """Write the number of distinct codes of each part to ``offsets``, one place on."""
    seen = np.full(records.constraint.shape[0], -1, dtype=np.int64)
    for part in range(split.starts.shape[0] - 1):
        found = 0
        for place in range(split.starts[part], split.starts[part + 1]):
            record = split.order[place]
            for at in range(records.offsets[record], records.offsets[record + 1]):
                if seen[records.items[at]] != part:
                    seen[records.items[at]] = part
                    found += 1
        offsets[part + 1] = found


@inner
def _codes_of(records, split, low, high, local, n_codes):
    """Codes of a part, ascending; ``local`` receives their numbers."""
    codes = np.empty(n_codes, dtype=np.int32)
    found = 0
    for place in range(low, high):
        record = split.order[place]
        for at in range(records.offsets[record], records.offsets[record + 1]):
            code = records.items[at]
            if local[code] < 0:
                local[code] = 0
                codes[found] = code
                found += 1
    codes.sort()
    for j in range(n_codes):
        local[codes[j]] = j
    return codes


@inner
def _table_of(records, split, family, low, high, local, codes):
    """The table of a part."""
    n_codes = codes.shape[0]
    row_start = np.zeros(high - low + 1, dtype=np.int64)
    code_start = np.zeros(n_codes + 1, dtype=np.int64)
    for row in range(high - low):
        record = split.order[low + row]
        row_start[row + 1] = row_start[row] + records.offsets[record + 1] - records.offsets[record]
    row_codes = np.empty(row_start[high - low], dtype=np.int32)
    at = 0
    for row in range(high - low):
        record = split.order[low + row]
        for item in range(records.offsets[record], records.offsets[record + 1]):
            row_codes[at] = local[records.items[item]]
            code_start[row_codes[at] + 1] += 1
            at += 1
    code_rows = np.empty(at, dtype=np.int32)
    free = np.empty(n_codes, dtype=np.int64)
    unit = np.empty(n_codes, dtype=np.int32)
    constraint = np.empty(n_codes, dtype=np.int32)
    for j in range(n_codes):
        code_start[j + 1] += code_start[j]
        free[j] = code_start[j]
        unit[j] = local[family[codes[j]]]
        constraint[j] = BARRED if records.passed_over[codes[j]] else records.constraint[codes[j]]
    for row in range(high - low):
        for at in range(row_start[row], row_start[row + 1]):
            code_rows[free[row_codes[at]]] = row
            free[row_codes[at]] += 1
    return Table(row_start, row_codes, code_start, code_rows, unit, constraint)


@inner
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
def _partition_parts(records, split, family, rule, entries, marks, first, last):
    """Partition the parts from ``first`` up to ``last``."""
    local = np.full(family.shape[0], -1, dtype=np.int64)
    for part in range(first, last):
        low = split.starts[part]
        high = split.starts[part + 1]
        at = entries.offsets[part]
        n_codes = entries.offsets[part + 1] - at
        codes = _codes_of(records, split, low, high, local, n_codes)
        table = _table_of(records, split, family, low, high, local, codes)
        place = entries.place[at : at + n_codes]
        chunks = _partition(table, rule, n_codes, place)
        marks.needs_item[part], marks.repaired[part] = _finish(table, rule, place, chunks)
        for j in range(n_codes):
            entries.code[at + j] = codes[j]
            entries.support[at + j] = table.code_start[j + 1] - table.code_start[j]
            local[codes[j]] = -1


def part_entries(records: Records, split: Split) -> Entries:
    """Room for the codes of each part, still without contents."""
    offsets = np.zeros(split.starts.size, dtype=np.int64)
    _count_entries(records, split, offsets)
    np.cumsum(offsets, out=offsets)
    n = int(offsets[-1])
    return Entries(offsets, *(np.empty(n, dtype=np.int32) for _ in range(3)))


def partition_parts(
    records: Records, split: Split, family: NDArray[np.int32], rule: Rule, entries: Entries, marks: Marks
) -> None:
    """Partition every part vertically; fills ``entries`` and ``marks``.

    Parameters
    ----------
    family : (n_codes,) the first of the codes that must stay together with each code, itself for most
    """
    parts = split.starts.size - 1
    if family.shape != records.constraint.shape or entries.offsets.shape != (parts + 1,):
        raise ValueError("family must have one entry a code, and entries one offset a part")
    if marks.needs_item.shape != (parts,) or marks.repaired.shape != (parts,):
        raise ValueError("marks must have one entry a part")
    _partition_parts(records, split, family, rule, entries, marks, 0, parts)
