"""Equivalence classes: of rows at one transformation, with suppression and loss; and by some columns only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, inner_with_arrays, jit
from .layout import Costs, LevelMaps, Rows, Threshold
from .words import hash_word, table_size


class Measured(NamedTuple):
    """Suppressed records, classes that are kept, records of the smallest class, and leaves lost per attribute."""

    suppressed: int
    n_classes: int
    smallest: int
    leaves: NDArray[np.int64]


class Grouping(NamedTuple):
    """The equivalence classes of rows, numbered in order of first appearance."""

    labels: NDArray[np.int64]  # (n_rows,) class of each row
    sizes: NDArray[np.int64]  # (n_classes,) records of each class
    first: NDArray[np.int64]  # (n_classes,) the first row of each class


@inner_with_arrays
def _raise(rows, maps, base, levels, raised):
    """The key of each row, of codes at ``base``, at coarser levels; fills ``raised`` with the codes, if it has room."""
    keys = np.zeros(rows.records.shape[0], dtype=np.int64)
    has_room = raised.shape[1] > 0
    for j in range(levels.shape[0]):
        rise = maps.start[j, base[j], levels[j]]
        stride = maps.stride[j]
        for i in range(keys.shape[0]):
            code = maps.up[rise + rows.codes[j, i]]
            keys[i] += stride * np.int64(code)
            if has_room:
                raised[j, i] = code
    return keys


@inner_with_arrays
def _number_rows(keys, codes, exact, labels, first):
    """Number rows by key in order of first appearance, and note the first row of each; how many there are.

    codes : (n_codes, n_rows), compared where keys are equal, unless ``exact`` says that different rows have different
        keys
    """
    slots = np.full(table_size(keys.shape[0]), -1, dtype=np.int32)
    mask = slots.shape[0] - 1
    # The keys of classes stand close together, so that few classes are compared within few cache lines.
    known = np.empty_like(keys)
    found = 0
    for i in range(keys.shape[0]):
        slot = np.int64(hash_word(np.uint64(0), np.uint64(keys[i]))) & mask
        while slots[slot] >= 0:
            if known[slots[slot]] == keys[i] and (exact or _same_codes(codes, first[slots[slot]], i)):
                break
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = found
            known[found] = keys[i]
            first[found] = i
            found += 1
        labels[i] = slots[slot]
    return found


@inner
def _same_codes(codes, one, other):
    """Whether two rows have the same codes."""
    for j in range(codes.shape[0]):
        if codes[j, one] != codes[j, other]:
            return False
    return True


@jit
def _classes(rows, maps, levels, labels, first):
    """Label each row with its class at these levels, in order of appearance; return how many there are."""
    # Sums of strides are different for different rows where 63 bits are enough; only then codes need not be compared.
    raised = np.empty((levels.shape[0], 0 if maps.exact else labels.shape[0]), dtype=np.uint32)
    keys = _raise(rows, maps, np.zeros_like(levels), levels, raised)
    return _number_rows(keys, raised, maps.exact, labels, first)


@jit
def _roll_up(rows, maps, base, levels, codes, records):
    """Group rows at a coarser transformation into ``codes`` and ``records``; return how many classes there are."""
    keys = _raise(rows, maps, base, levels, codes)
    labels = np.empty_like(keys)
    first = np.empty_like(keys)
    found = _number_rows(keys, codes, maps.exact, labels, first)
    records[:found] = 0
    for i in range(keys.shape[0]):
        records[labels[i]] += rows.records[i]
    # No class has a higher number than its first row: a row is read before another takes its place.
    for j in range(codes.shape[0]):
        for label in range(found):
            codes[j, label] = codes[j, first[label]]
    return found


@jit
def _cost(codes, records, found, costs, levels, k, leaves):
    """Suppressed records, kept classes and smallest class; fills ``leaves`` with what the kept records lose."""
    suppressed = 0
    kept = 0
    smallest = records[0]
    for i in range(found):
        smallest = min(smallest, records[i])
        if records[i] < k:
            suppressed += records[i]
        else:
            kept += 1
    # Sums are of whole numbers, so that they are the same in any order of the classes.
    for j in range(levels.shape[0]):
        cost = costs.start[j, levels[j]]
        total = 0
        for i in range(found):
            if records[i] >= k:
                total += records[i] * costs.leaves[cost + codes[j, i]]
        leaves[j] = total
    return suppressed, kept, smallest


def _check_levels(maps: LevelMaps, levels: NDArray[np.int64]) -> NDArray[np.int64]:
    levels = np.ascontiguousarray(levels, dtype=np.int64)
    if levels.shape != maps.heights.shape or np.any(levels < 0) or np.any(levels >= maps.heights):
        raise ValueError(f"levels must be one per attribute, each below {maps.heights.tolist()}")
    return levels


def measure(rows: Rows, maps: LevelMaps, costs: Costs, levels: NDArray[np.int64], threshold: Threshold) -> Measured:
    """Suppressed records, kept classes and leaves lost at one transformation.

    Parameters
    ----------
    levels : (n_attributes,) level of each attribute
    """
    levels = _check_levels(maps, levels)
    codes, records = np.empty_like(rows.codes), np.empty_like(rows.records)
    found = int(_roll_up(rows, maps, np.zeros_like(levels), levels, codes, records))
    return _measure_classes(codes, records, found, costs, levels, threshold.k)


def _measure_classes(
    codes: NDArray[np.uint32], records: NDArray[np.int64], found: int, costs: Costs, levels: NDArray[np.int64], k: int
) -> Measured:
    leaves = np.zeros_like(levels)
    suppressed, kept, smallest = _cost(codes, records, found, costs, levels, k, leaves)
    return Measured(int(suppressed), int(kept), int(smallest), leaves)


def group(rows: Rows, maps: LevelMaps, levels: NDArray[np.int64]) -> Grouping:
    """Return the classes of the rows at one transformation.

    Parameters
    ----------
    levels : (n_attributes,) level of each attribute
    """
    labels, first = np.empty((2, rows.records.size), dtype=np.int64)
    return _grouping(rows.records, labels, first, int(_classes(rows, maps, _check_levels(maps, levels), labels, first)))


def _grouping(records: NDArray[np.int64], labels: NDArray[np.int64], first: NDArray[np.int64], found: int) -> Grouping:
    # Weights are added up as floating-point numbers, exact below 2**53 records.
    return Grouping(labels, np.bincount(labels, records, found).astype(np.int64), first[:found].copy())


def leaves_lost(
    rows: Rows, maps: LevelMaps, costs: Costs, levels: NDArray[np.int64], grouping: Grouping, is_kept: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the whole leaves that the kept classes lose at one transformation, shape (n_attributes,) int64.

    Parameters
    ----------
    is_kept : (n_classes,) whether each class at these levels is kept
    """
    records, codes = grouping.sizes[is_kept], rows.codes[:, grouping.first[is_kept]]
    lost = []
    for j, level in enumerate(_check_levels(maps, levels)):
        raised = maps.up[maps.start[j, 0, level] + codes[j]]
        lost.append(records @ costs.leaves[costs.start[j, level] + raised])
    return np.array(lost, dtype=np.int64)


def class_sizes(rows: Rows, maps: LevelMaps, levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Size of the class of each distinct row at one transformation, shape (n_groups,) int64."""
    found = group(rows, maps, levels)
    return found.sizes[found.labels]


class Distinct(NamedTuple):
    """Distinct rows, and which of them each row given is, (n_rows,)."""

    rows: Rows
    labels: NDArray[np.int64]


def distinct_rows(
    codes: NDArray[np.uint32], maps: LevelMaps, count: NDArray[np.int64] | None = None, few: int = 0
) -> Distinct:
    """Distinct rows with how often each occurs, in order of first appearance.

    Parameters
    ----------
    codes : (n_attributes, n_rows) codes at level 0
    count : (n_rows,) int64, how often each row occurs; once by default
    few : rows up to which no kernel is used, as where nothing else loads the compiler; never changes the answer
    """
    n_attributes, n_rows = codes.shape
    every = Rows(codes, np.ones(n_rows, dtype=np.int64) if count is None else np.require(count, np.int64, "W"))
    if n_rows <= few:
        columns = codes.astype(np.int64)
        labels, first = number_by_first(maps.stride @ columns if maps.exact else classes_of(list(columns))[0])
        found = _grouping(every.records, labels, first, first.size)
    else:
        found = group(every, maps, np.zeros(n_attributes, dtype=np.int64))
    return Distinct(Rows(np.ascontiguousarray(codes[:, found.first]), found.sizes), found.labels)


def classes_of(columns: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], int]:
    """Number the combinations of values of some columns, in their order; return how many there are as well."""
    classes, n_classes = np.zeros(columns[0].size, dtype=np.int64), min(1, columns[0].size)
    for column in columns:
        # Numbers stay below the square of the rows, whatever the columns hold.
        found, place = np.unique(classes * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
        classes, n_classes = place.astype(np.int64), found.size
    return classes, n_classes


def number_by_first(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number distinct keys in order of first appearance; return the number at each place, and each first place.

    Examples
    --------
    >>> [found.tolist() for found in number_by_first(np.array([7, 2, 7, 5]))]
    [[0, 1, 0, 2], [0, 1, 3]]
    """
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank[place], first[order]


class Grouped(NamedTuple):
    """The classes at a transformation: rows with codes at its levels, and these levels, (n_attributes,) int64."""

    rows: Rows
    levels: NDArray[np.int64]


def roll_up(grouped: Grouped, maps: LevelMaps, levels: NDArray[np.int64]) -> Grouped:
    """Group rows further, at a coarser transformation.

    Parameters
    ----------
    levels : (n_attributes,) level of each attribute, none below those that the rows are grouped at
    """
    levels = np.ascontiguousarray(levels, dtype=np.int64)
    heights = maps.heights
    if levels.shape != heights.shape or np.any(levels < grouped.levels) or np.any(levels >= heights):
        raise ValueError(
            f"levels must be one per attribute, from {grouped.levels.tolist()} to below {heights.tolist()}"
        )
    codes = np.empty_like(grouped.rows.codes)
    records = np.empty_like(grouped.rows.records)
    found = int(_roll_up(grouped.rows, maps, grouped.levels, levels, codes, records))
    return Grouped(Rows(np.ascontiguousarray(codes[:, :found]), records[:found].copy()), levels)


def measure_grouped(grouped: Grouped, costs: Costs, k: int) -> Measured:
    """Suppressed records, kept classes, the smallest class and leaves lost at the levels that rows are grouped at."""
    rows = grouped.rows
    return _measure_classes(rows.codes, rows.records, rows.records.size, costs, grouped.levels, k)


ROOMY = 4
"""Tables of totals are addressed directly while they have at most so many places for each row."""


class Cells(NamedTuple):
    """Rows of numbered values."""

    values: NDArray[np.uint32]  # (n_columns, n_rows) below the width of their column
    widths: NDArray[np.int64]  # (n_columns,) at least 1
    records: NDArray[np.int64]  # (n_rows,) how often each row occurs, at least 1


class Separated(NamedTuple):
    """Number of classes, and pairs of records that are in one class."""

    n_classes: int
    pairs: int


@jit
def _label(values, columns, rows, labels, first):
    """Number the classes of some rows by these columns; returns how many there are."""
    keys = np.zeros(rows.shape[0], dtype=np.int64)
    codes = np.empty((columns.shape[0], rows.shape[0]), dtype=np.uint32)
    for j in range(columns.shape[0]):
        for i in range(rows.shape[0]):
            codes[j, i] = values[columns[j], rows[i]]
            keys[i] = np.int64(hash_word(np.uint64(keys[i]), np.uint64(codes[j, i])))
    return _number_rows(keys, codes, False, labels, first)


@jit
def _stand_out(cells, columns, rows, alone):
    """Mark which of some rows are alone by these columns; return their classes and the pairs not distinguished."""
    n = rows.shape[0]
    places = 1.0
    for j in columns:
        places *= cells.widths[j]
    labels = np.zeros(n, dtype=np.int64)
    if places <= ROOMY * n + 1024:
        # Labels are addresses then, and without a gap or not they distinguish the classes.
        for i in range(n):
            for j in columns:
                labels[i] = labels[i] * cells.widths[j] + np.int64(cells.values[j, rows[i]])
        n_places = np.int64(places)
    else:
        n_places = _label(cells.values, columns, rows, labels, np.empty(n, dtype=np.int64))
    totals = np.zeros(n_places, dtype=np.int64)
    for i in range(n):
        totals[labels[i]] += cells.records[rows[i]]
    n_classes = 0
    pairs = 0
    for total in totals:
        if total > 0:
            n_classes += 1
            pairs += total * (total - 1) // 2
    for i in range(n):
        alone[rows[i]] = totals[labels[i]] == 1
    return n_classes, pairs


def cells_of(values: NDArray[np.uint32], widths: NDArray[np.int64], records: NDArray[np.int64] | None = None) -> Cells:
    """Return rows of numbered values, checked.

    Parameters
    ----------
    values : (n_columns, n_rows)
    widths : (n_columns,), above every value of the column
    records : (n_rows,), how often each row occurs; once by default
    """
    values = np.ascontiguousarray(values, dtype=np.uint32)
    widths = np.ascontiguousarray(widths, dtype=np.int64)
    counts = np.ones(values.shape[1], dtype=np.int64) if records is None else np.ascontiguousarray(records, np.int64)
    if widths.shape != values.shape[:1] or counts.shape != values.shape[1:] or values.shape[1] >= 2**31:
        raise ValueError("widths must be one a column, records one a row, and rows fewer than 2**31")
    if values.size and (np.any(values.max(axis=1) >= widths) or counts.min() < 1):
        raise ValueError("values must be below the width of their column, and rows occur at least once")
    return Cells(values, widths, counts)


def classes(cells: Cells, columns: NDArray[np.int64]) -> Grouping:
    """Return the classes of all rows by these columns."""
    labels, first = np.empty((2, cells.records.size), dtype=np.int64)
    every = np.arange(cells.records.size)
    return _grouping(
        cells.records, labels, first, int(_label(cells.values, _look_up(cells, columns), every, labels, first))
    )


def stand_out(
    cells: Cells, columns: NDArray[np.int64], covered: NDArray[np.bool_], alone: NDArray[np.bool_]
) -> Separated:
    """Mark the rows that are unique by these columns, and count classes and pairs of records not distinguished.

    Parameters
    ----------
    columns : some columns
    covered : (n_rows,) rows known to stand alone by fewer of the columns; they are classes of their own
    alone : (n_rows,) is overwritten: rows of one record that stand alone, but for those covered
    """
    for array in (covered, alone):
        if array.shape != cells.records.shape or array.dtype != np.bool_:
            raise ValueError("covered and alone must be one truth value a row")
    rows = np.flatnonzero(~covered)
    alone[:] = False
    n_classes, pairs = _stand_out(cells, _look_up(cells, columns), rows, alone)
    # A row that is unique by fewer columns is unique by more: covered rows are classes of one.
    return Separated(int(n_classes) + covered.size - rows.size, int(pairs))


def _look_up(cells: Cells, columns: NDArray[np.int64]) -> NDArray[np.int64]:
    columns = np.ascontiguousarray(columns, dtype=np.int64)
    if columns.ndim != 1 or np.any(columns < 0) or np.any(columns >= cells.widths.shape[0]):
        raise ValueError("columns must be numbers of columns")
    return columns
