"""Sets of codes that lie in other sets."""

import numpy as np
from numpy.typing import NDArray

from ._jit import jit


@jit
def _lies_in(items, first, last, other, end):
    """Whether an ascending run of items is part of another."""
    for i in range(first, last):
        while other < end and items[other] < items[i]:
            other += 1
        if other == end or items[other] != items[i]:
            return False
    return True


@jit
def _mark_covered(offsets, items, starts, holders, covered):
    """Mark sets that lie in a larger one, looked for among the sets that hold the rarest of their items."""
    largest = 0
    for s in range(offsets.shape[0] - 1):
        largest = max(largest, offsets[s + 1] - offsets[s])
    for s in range(offsets.shape[0] - 1):
        first, last = offsets[s], offsets[s + 1]
        if last - first == largest:
            continue
        if last == first:
            covered[s] = True
            continue
        rarest = items[first]
        for i in range(first, last):
            if starts[items[i] + 1] - starts[items[i]] < starts[rarest + 1] - starts[rarest]:
                rarest = items[i]
        for at in range(starts[rarest], starts[rarest + 1]):
            other = holders[at]
            if offsets[other + 1] - offsets[other] <= last - first:
                continue
            if _lies_in(items, first, last, offsets[other], offsets[other + 1]):
                covered[s] = True
                break


def covered_sets(offsets: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which sets are part of a larger one, shape (n_sets,); the empty set is part of any other.

    Parameters
    ----------
    offsets : (n_sets + 1,) where each set begins
    items : item numbers from 0, ascending within a set
    """
    if not offsets.size or offsets[0] != 0 or offsets[-1] != items.size or (items.size and items.min() < 0):
        raise ValueError("offsets must span the items, and items be numbers from 0 on")
    starts = np.zeros(int(items.max(initial=-1)) + 2, dtype=np.int64)
    np.cumsum(np.bincount(items), out=starts[1:]) if items.size else None
    holders = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))[np.argsort(items, kind="stable")]
    covered = np.zeros(offsets.size - 1, dtype=np.bool_)
    _mark_covered(offsets, items, starts, holders, covered)
    return covered
