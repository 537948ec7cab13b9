"""Equivalence classes of the distinct rows at one transformation: sizes, what is suppressed, and what that costs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .layout import Costs, LevelMaps, Rows, Threshold
from .words import hashed, number_rows, same_codes, table_size


class Measured(NamedTuple):
    """Suppressed records, classes that are kept, records of the smallest class, and leaves lost per attribute."""

    suppressed: int
    n_classes: int
    smallest: int
    leaves: NDArray[np.int64]


class Grouping(NamedTuple):
    """The equivalence classes of rows at one transformation, numbered in order of first appearance.

    labels : (n_rows,) int64, class of each row
    sizes : (n_classes,) int64, records of each class
    first : (n_classes,) int64, the first row of each class
    """

    labels: NDArray[np.int64]
    sizes: NDArray[np.int64]
    first: NDArray[np.int64]


@inner
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


@jit
def _classes(rows, maps, levels, labels, sizes):
    """Label each row with its class, in order of appearance, and add up class sizes; return how many there are."""
    n = labels.shape[0]
    # Sums of strides are different for different rows where 63 bits are enough; only then codes need not be compared.
    raised = np.empty((levels.shape[0], 0 if maps.exact else n), dtype=np.uint32)
    keys = _raise(rows, maps, np.zeros_like(levels), levels, raised)
    found = number_rows(keys, raised, maps.exact, labels, np.empty(n, dtype=np.int64))
    for label in range(found):
        sizes[label] = 0
    for i in range(n):
        sizes[labels[i]] += rows.records[i]
    return found


@jit
def _leaves_lost(rows, maps, costs, levels, is_kept, leaves):
    """Fill ``leaves`` with what the rows that are kept lose at these levels."""
    for j in range(levels.shape[0]):
        rise = maps.start[j, 0, levels[j]]
        cost = costs.start[j, levels[j]]
        total = 0
        for i in range(is_kept.shape[0]):
            if is_kept[i]:
                total += rows.records[i] * costs.leaves[cost + maps.up[rise + rows.codes[j, i]]]
        leaves[j] = total


@jit
def _measure(rows, maps, costs, levels, k, leaves):
    """Suppressed records, kept classes and smallest class at these levels; fills ``leaves`` with what is lost."""
    n = rows.records.shape[0]
    # Sums are of whole numbers, so that they are the same in any order of the rows.
    labels = np.empty(n, dtype=np.int64)
    sizes = np.empty(n, dtype=np.int64)
    found = _classes(rows, maps, levels, labels, sizes)
    suppressed = 0
    kept = 0
    smallest = sizes[0]
    for label in range(found):
        smallest = min(smallest, sizes[label])
        if sizes[label] < k:
            suppressed += sizes[label]
        else:
            kept += 1
    is_kept = np.empty(n, dtype=np.bool_)
    for i in range(n):
        is_kept[i] = sizes[labels[i]] >= k
    _leaves_lost(rows, maps, costs, levels, is_kept, leaves)
    return suppressed, kept, smallest


def _checked(maps: LevelMaps, levels: NDArray[np.int64]) -> NDArray[np.int64]:
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
    leaves = np.zeros(maps.heights.shape[0], dtype=np.int64)
    suppressed, kept, smallest = _measure(rows, maps, costs, _checked(maps, levels), threshold.k, leaves)
    return Measured(int(suppressed), int(kept), int(smallest), leaves)


def group(rows: Rows, maps: LevelMaps, levels: NDArray[np.int64]) -> Grouping:
    """Return the classes of the rows at one transformation.

    Parameters
    ----------
    levels : (n_attributes,) level of each attribute
    """
    n = rows.records.shape[0]
    labels = np.empty(n, dtype=np.int64)
    sizes = np.empty(n, dtype=np.int64)
    found = int(_classes(rows, maps, _checked(maps, levels), labels, sizes))
    return Grouping(labels, sizes[:found].copy(), _first_of(labels, found))


def leaves_lost(
    rows: Rows, maps: LevelMaps, costs: Costs, levels: NDArray[np.int64], is_kept: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the whole leaves that the kept rows lose at one transformation, shape (n_attributes,) int64.

    Parameters
    ----------
    is_kept : (n_rows,) whether each row is kept
    """
    if is_kept.shape != rows.records.shape or is_kept.dtype != np.bool_:
        raise ValueError("is_kept must be one truth value a row")
    leaves = np.zeros(maps.heights.shape[0], dtype=np.int64)
    _leaves_lost(rows, maps, costs, _checked(maps, levels), is_kept, leaves)
    return leaves


def class_sizes(rows: Rows, maps: LevelMaps, levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Size of the class of each distinct row at one transformation, shape (n_groups,) int64."""
    n = rows.records.shape[0]
    labels = np.empty(n, dtype=np.int64)
    sizes = np.empty(n, dtype=np.int64)
    _classes(rows, maps, _checked(maps, levels), labels, sizes)
    return sizes[labels]


def _first_of(labels: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    """Return the first row of each class."""
    first = np.empty(n_classes, dtype=np.int64)
    first[labels[::-1]] = np.arange(labels.shape[0] - 1, -1, -1)
    return first


class Distinct(NamedTuple):
    """Distinct rows, and which of them each row given is, shape (n_rows,) int64."""

    rows: Rows
    labels: NDArray[np.int64]


def distinct_rows(codes: NDArray[np.uint32], maps: LevelMaps, count: NDArray[np.int64] | None = None) -> Distinct:
    """Distinct rows with how often each occurs, in order of first appearance.

    Parameters
    ----------
    codes : (n_attributes, n_rows) codes at level 0
    count : (n_rows,) int64, how often each row occurs; once if not given
    """
    n_attributes, n_rows = codes.shape
    every = Rows(codes, np.ones(n_rows, dtype=np.int64) if count is None else np.require(count, np.int64, "W"))
    labels = np.empty(n_rows, dtype=np.int64)
    sizes = np.empty(n_rows, dtype=np.int64)
    found = _classes(every, maps, np.zeros(n_attributes, dtype=np.int64), labels, sizes)
    first = _first_of(labels, found)
    return Distinct(Rows(np.ascontiguousarray(codes[:, first]), sizes[:found].copy()), labels)


@inner
def _merge(keys, codes, records, exact):
    """Move the first row of each class to the front and add up its records; return how many classes there are."""
    slots = np.full(table_size(keys.shape[0]), -1, dtype=np.int32)
    mask = slots.shape[0] - 1
    found = 0
    for i in range(keys.shape[0]):
        slot = np.int64(hashed(np.uint64(0), np.uint64(keys[i]))) & mask
        while slots[slot] >= 0:
            seen = slots[slot]
            # Class ``seen`` stands at the front already, so that few classes are compared within few cache lines.
            if keys[seen] == keys[i] and (exact or same_codes(codes, seen, i)):
                break
            slot = (slot + 1) & mask
        if slots[slot] >= 0:
            records[slots[slot]] += records[i]
            continue
        slots[slot] = found
        # found <= i: a row is read before another takes its place.
        keys[found] = keys[i]
        records[found] = records[i]
        for j in range(codes.shape[0]):
            codes[j, found] = codes[j, i]
        found += 1
    return found


@jit
def _roll_up(rows, maps, base, levels, codes, records):
    """Group rows at a coarser transformation into ``codes`` and ``records``; return how many classes there are."""
    keys = _raise(rows, maps, base, levels, codes)
    records[:] = rows.records
    return _merge(keys, codes, records, maps.exact)


@jit
def _cost(classes, costs, levels, k, leaves):
    """Suppressed records, kept classes and smallest class; fills ``leaves`` with what the kept records lose."""
    suppressed = 0
    kept = 0
    smallest = classes.records[0]
    for i in range(classes.records.shape[0]):
        smallest = min(smallest, classes.records[i])
        if classes.records[i] < k:
            suppressed += classes.records[i]
        else:
            kept += 1
    for j in range(levels.shape[0]):
        cost = costs.start[j, levels[j]]
        total = 0
        for i in range(classes.records.shape[0]):
            if classes.records[i] >= k:
                total += classes.records[i] * costs.leaves[cost + classes.codes[j, i]]
        leaves[j] = total
    return suppressed, kept, smallest


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
    leaves = np.zeros(grouped.levels.shape[0], dtype=np.int64)
    suppressed, kept, smallest = _cost(grouped.rows, costs, grouped.levels, k, leaves)
    return Measured(int(suppressed), int(kept), int(smallest), leaves)
