"""Sequences of numbers, one after the other in one array: put in lexicographic order, picked, told apart."""

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit


@inner
def _before(starts, values, one, other):
    """Whether one sequence comes strictly before another; a shorter one before its continuations."""
    a = starts[one]
    b = starts[other]
    shared = min(starts[one + 1] - a, starts[other + 1] - b)
    for i in range(shared):
        if values[a + i] != values[b + i]:
            return values[a + i] < values[b + i]
    return starts[one + 1] - a < starts[other + 1] - b


@inner
def _sort_range(starts, values, order, spare, low, high):
    """Sort the sequences numbered in ``order[low:high]``, keeping equal ones as they stand."""
    for i in range(low + 1, high if high - low <= 16 else low):
        item = order[i]
        j = i - 1
        while j >= low and _before(starts, values, item, order[j]):
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = item
    if high - low <= 16:
        return
    width = 1
    while width < high - low:
        for left in range(low, high, 2 * width):
            middle = min(left + width, high)
            end = min(left + 2 * width, high)
            i = left
            j = middle
            for at in range(left, end):
                # The right one goes first only if it is strictly before the left: equal ones stay as they stand.
                if i < middle and (j >= end or not _before(starts, values, order[j], order[i])):
                    spare[at] = order[i]
                    i += 1
                else:
                    spare[at] = order[j]
                    j += 1
        for at in range(low, high):
            order[at] = spare[at]
        width *= 2


@jit
def _classes(starts, values, order, label):
    """Number of each sequence among the distinct ones, ``order`` being sorted."""
    found = 0
    for i in range(order.shape[0]):
        if i > 0 and _before(starts, values, order[i - 1], order[i]):
            found += 1
        label[order[i]] = found


@jit
def _lengths(starts, chosen, new_starts):
    """Where the chosen sequences begin once they stand one after the other."""
    for i in range(chosen.shape[0]):
        new_starts[i + 1] = new_starts[i] + starts[chosen[i] + 1] - starts[chosen[i]]


@jit
def _copy(starts, values, chosen, new_starts, new_values):
    """Copy the chosen sequences."""
    for i in range(chosen.shape[0]):
        begin = starts[chosen[i]]
        for j in range(starts[chosen[i] + 1] - begin):
            new_values[new_starts[i] + j] = values[begin + j]


@jit
def _sort_groups(groups, starts, values, order, spare):
    """Sort the sequences within each group of neighbours; ``groups`` is where each group begins."""
    for i in range(groups.shape[0] - 1):
        if groups[i + 1] - groups[i] > 1:
            _sort_range(starts, values, order, spare, groups[i], groups[i + 1])


def _checked(starts: NDArray[np.int64], values: NDArray[np.int32]) -> int:
    if starts[0] != 0 or starts[-1] != values.size or np.any(np.diff(starts) < 0):
        raise ValueError("starts must rise from 0 to the number of values")
    return starts.size - 1


def sequence_order(
    starts: NDArray[np.int64], values: NDArray[np.int32], groups: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Numbers of the sequences in lexicographic order, shape (n,) int64; equal ones in the order given.

    Parameters
    ----------
    starts, values : sequence i is ``values[starts[i]:starts[i + 1]]``
    groups : where groups of neighbours begin that are sorted each on its own; all together if not given
    """
    n = _checked(starts, values)
    if groups is None:
        groups = np.array([0, n], dtype=np.int64)
    if groups[0] != 0 or groups[-1] != n or np.any(np.diff(groups) < 0):
        raise ValueError("groups must rise from 0 to the number of sequences")
    order = np.arange(n, dtype=np.int64)
    _sort_groups(groups, starts, values, order, np.empty(n, dtype=np.int64))
    return order


def sequence_classes(
    starts: NDArray[np.int64], values: NDArray[np.int32], order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Number of each sequence among the distinct ones in lexicographic order, ``order`` being their sorted order."""
    label = np.empty(_checked(starts, values), dtype=np.int64)
    _classes(starts, values, order, label)
    return label


def take_sequences(
    starts: NDArray[np.int64], values: NDArray[np.int32], chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The chosen sequences one after the other, as starts and values."""
    n = _checked(starts, values)
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < n:
        raise ValueError(f"chosen must be from 0 to {n - 1}")
    new_starts = np.zeros(chosen.size + 1, dtype=np.int64)
    _lengths(starts, chosen, new_starts)
    new_values = np.empty(int(new_starts[-1]), dtype=values.dtype)
    _copy(starts, values, chosen, new_starts, new_values)
    return new_starts, new_values
