"""Equivalence classes of the distinct rows at one policy: sizes, what is suppressed, and what that costs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import jit
from .layout import Costs, Ladders, Rows, Threshold

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Fibonacci hashing: multiply by 2**64 / golden ratio and keep the upper bits."""


class Measured(NamedTuple):
    """Suppressed records, classes that are kept, records of the smallest class, and leaves lost per attribute."""

    suppressed: int
    n_classes: int
    smallest: int
    leaves: NDArray[np.int64]


class Grouping(NamedTuple):
    """The equivalence classes of rows at one policy, numbered in order of first appearance.

    labels : (n_rows,) int64, class of each row
    sizes : (n_classes,) int64, records of each class
    first : (n_classes,) int64, the first row of each class
    """

    labels: NDArray[np.int64]
    sizes: NDArray[np.int64]
    first: NDArray[np.int64]


@jit
def _same(rows, ladders, levels, one, other):
    """Whether two rows have the same codes at these levels."""
    for j in range(levels.shape[0]):
        rise = ladders.start[j, 0, levels[j]]
        if ladders.up[rise + rows.codes[j, one]] != ladders.up[rise + rows.codes[j, other]]:
            return False
    return True


@jit
def _keys(rows, ladders, levels, keys):
    """Add up the key of each row at these levels, attribute by attribute; ``keys`` is zeroed by the caller."""
    for j in range(levels.shape[0]):
        rise = ladders.start[j, 0, levels[j]]
        stride = ladders.stride[j]
        for i in range(keys.shape[0]):
            keys[i] += stride * np.int64(ladders.up[rise + rows.codes[j, i]])


@jit
def _classes(rows, ladders, levels, labels, sizes):
    """Label each row with its class, in order of appearance, and add up class sizes; return how many there are."""
    n = labels.shape[0]
    bits = 4
    while (1 << bits) < 2 * n:
        bits += 1
    mask = (1 << bits) - 1
    shift = np.uint64(64 - bits)
    slots = np.full(1 << bits, -1, dtype=np.int64)
    keys = np.zeros(n, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    _keys(rows, ladders, levels, keys)
    found = 0
    for i in range(n):
        slot = np.int64((np.uint64(keys[i]) * GOLDEN) >> shift)
        while slots[slot] >= 0:
            seen = first[slots[slot]]
            if keys[seen] == keys[i] and (ladders.exact or _same(rows, ladders, levels, seen, i)):
                break
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = found
            first[found] = i
            sizes[found] = 0
            found += 1
        labels[i] = slots[slot]
        sizes[labels[i]] += rows.records[i]
    return found


@jit
def _leaves_lost(rows, ladders, costs, levels, is_kept, leaves):
    """Fill ``leaves`` with what the rows that are kept lose at these levels."""
    for j in range(levels.shape[0]):
        rise = ladders.start[j, 0, levels[j]]
        cost = costs.start[j, levels[j]]
        total = 0
        for i in range(is_kept.shape[0]):
            if is_kept[i]:
                total += rows.records[i] * costs.leaves[cost + ladders.up[rise + rows.codes[j, i]]]
        leaves[j] = total


@jit
def _measure(rows, ladders, costs, levels, k, leaves):
    """Suppressed records, kept classes and smallest class at these levels; fills ``leaves`` with what is lost."""
    n = rows.records.shape[0]
    labels = np.empty(n, dtype=np.int64)
    sizes = np.empty(n, dtype=np.int64)
    found = _classes(rows, ladders, levels, labels, sizes)
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
    _leaves_lost(rows, ladders, costs, levels, is_kept, leaves)
    return suppressed, kept, smallest


def _checked(ladders: Ladders, levels: NDArray[np.int64]) -> NDArray[np.int64]:
    levels = np.ascontiguousarray(levels, dtype=np.int64)
    if levels.shape != ladders.heights.shape or np.any(levels < 0) or np.any(levels >= ladders.heights):
        raise ValueError(f"levels must be one per attribute, each below {ladders.heights.tolist()}")
    return levels


def measure(rows: Rows, ladders: Ladders, costs: Costs, levels: NDArray[np.int64], threshold: Threshold) -> Measured:
    """Suppressed records, kept classes and leaves lost at one policy.

    Parameters
    ----------
    levels : (n_attributes,) level of each attribute

    Raises
    ------
    ValueError
        A level does not exist.
    """
    leaves = np.zeros(ladders.heights.shape[0], dtype=np.int64)
    suppressed, kept, smallest = _measure(rows, ladders, costs, _checked(ladders, levels), threshold.k, leaves)
    return Measured(int(suppressed), int(kept), int(smallest), leaves)


def group(rows: Rows, ladders: Ladders, levels: NDArray[np.int64]) -> Grouping:
    """Return the classes of the rows at one policy.

    Parameters
    ----------
    levels : (n_attributes,) level of each attribute

    Raises
    ------
    ValueError
        A level does not exist.
    """
    n = rows.records.shape[0]
    labels = np.empty(n, dtype=np.int64)
    sizes = np.empty(n, dtype=np.int64)
    found = int(_classes(rows, ladders, _checked(ladders, levels), labels, sizes))
    return Grouping(labels, sizes[:found].copy(), _first_of(labels, found))


def leaves_lost(
    rows: Rows, ladders: Ladders, costs: Costs, levels: NDArray[np.int64], is_kept: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the whole leaves that the kept rows lose at one policy, shape (n_attributes,) int64.

    Parameters
    ----------
    is_kept : (n_rows,) whether each row is kept

    Raises
    ------
    ValueError
        A level does not exist, or not every row is either kept or not.
    """
    if is_kept.shape != rows.records.shape or is_kept.dtype != np.bool_:
        raise ValueError("is_kept must be one truth value a row")
    leaves = np.zeros(ladders.heights.shape[0], dtype=np.int64)
    _leaves_lost(rows, ladders, costs, _checked(ladders, levels), is_kept, leaves)
    return leaves


def class_sizes(rows: Rows, ladders: Ladders, levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Size of the class of each distinct row at one policy, shape (n_groups,) int64."""
    n = rows.records.shape[0]
    labels = np.empty(n, dtype=np.int64)
    sizes = np.empty(n, dtype=np.int64)
    _classes(rows, ladders, _checked(ladders, levels), labels, sizes)
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


def distinct_rows(codes: NDArray[np.uint32], ladders: Ladders, count: NDArray[np.int64] | None = None) -> Distinct:
    """Distinct rows with how often each occurs, in order of first appearance.

    Parameters
    ----------
    codes : (n_attributes, n_rows) codes at level 0
    count : (n_rows,) int64, how often each row occurs; once if not given
    """
    n_attributes, n_rows = codes.shape
    every = Rows(codes, np.ones(n_rows, dtype=np.int64) if count is None else count)
    labels = np.empty(n_rows, dtype=np.int64)
    sizes = np.empty(n_rows, dtype=np.int64)
    found = _classes(every, ladders, np.zeros(n_attributes, dtype=np.int64), labels, sizes)
    first = _first_of(labels, found)
    return Distinct(Rows(np.ascontiguousarray(codes[:, first]), sizes[:found].copy()), labels)
