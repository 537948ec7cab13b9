"""Ragged arrays: lists of different lengths in one array, with their starts, owners and postings."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def starts_of(lengths: Sequence[int] | NDArray[np.integer] | NDArray[np.bool_]) -> Integers:
    """Return the start of each of several runs with these lengths, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def expand_runs(starts: Integers, lengths: Integers) -> Integers:
    """Return the places of runs that begin at ``starts``, one run after the other.

    Examples
    --------
    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before: Integers = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def take_runs(offsets: Integers, which: NDArray[np.integer]) -> tuple[Integers, Integers]:
    """Return where some runs begin, and end, when they alone are there in this order; and where their values stood."""
    lengths = np.diff(offsets)[which]
    return starts_of(lengths), expand_runs(offsets[which], lengths)


def owners(offsets: Integers) -> Integers:
    """Return the number of the run that each value is in, of runs that begin at these places."""
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def postings(items: NDArray[np.integer], owners: Integers, n_items: int) -> list[Integers]:
    """Return the owners of each item, ascending; owners ascend already."""
    order = np.argsort(items, kind="stable")
    bounds = np.searchsorted(items[order], np.arange(n_items + 1)).tolist()
    found = owners[order]
    return [found[bounds[item] : bounds[item + 1]] for item in range(n_items)]


def are_runs(offsets: Integers, end: int) -> bool:
    """Whether these are valid offsets of runs, from 0 to the end."""
    return bool(offsets.size and offsets[0] == 0 and offsets[-1] == end and np.all(np.diff(offsets) >= 0))


def strictly_increasing(values: NDArray[np.int32], offsets: Integers) -> bool:
    """Whether values increase strictly within each run."""
    inside = np.ones(values.size, dtype=np.bool_)
    inside[offsets[:-1][np.diff(offsets) > 0]] = False
    return bool(np.all(np.diff(values, prepend=np.int32(-1))[inside] > 0))
