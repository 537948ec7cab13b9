"""How far the sensitive values of each class are from those of the whole input: the earth mover's distance.

With Q the shares of the values in a class and P those in the input, the distance is the least work that turns one into
the other, the work of moving a share being the share times how far apart the two values are, from 0 to 1. What differs
below is only that ground distance.
"""

import numpy as np
from numpy.typing import NDArray

from .cells import Counts, class_of_cell, class_sums, recorded, recorded_whole, shares
from .rule import Histogram
from .threshold import Figures


def equal_distance(histogram: Histogram) -> Figures:
    """Return the distance of each class if any two values are 1 apart, shape (n_classes,): the total variation."""
    whole = histogram.whole / histogram.whole.sum()
    gained = shares(histogram) - whole[histogram.value]
    return class_sums(histogram, np.maximum(gained, 0.0))


def ordered_distance(histogram: Histogram) -> Figures:
    """Return the distance of each class if values are apart by the values between them, shape (n_classes,).

    The m recorded values stand in a row, neighbours 1 / (m - 1) apart. Missing has no place in the row: it is 1 apart
    from every value. With q and p the shares of missing in class and input, the figure is

        abs(q - p) + sum over i of abs(Q1 + ... + Qi - (1 - q) / (1 - p) (P1 + ... + Pi)) / (m - 1)

    which is the distance of Li et al. where nothing is missing, and otherwise the work of one way of moving, so never
    less than the distance.
    """
    counts, whole = recorded(histogram), recorded_whole(histogram)
    known = class_sums(histogram, counts)
    share, share_of_whole = known / class_sums(histogram, histogram.records), whole.sum() / histogram.whole.sum()
    return np.asarray(np.abs(share - share_of_whole) + share * _row_distance(histogram, counts, known))


def hierarchical_distance(histogram: Histogram) -> Figures:
    """Return the distance of each class if values are apart by their lowest common ancestor, shape (n_classes,).

    Two values are (level of the ancestor) / (highest level) apart. The sum of Li et al. over the nodes of the
    hierarchy equals the mean, over all levels below the root, of the total variation between the groups of the level:
    the work done at a node is half of what its children are off, less half of what it is off itself.
    """
    groups = histogram.groups
    if groups is None or len(groups) < 2:
        return np.zeros(len(histogram.start) - 1)
    order = _by_group(histogram, groups)
    value, records, owner = histogram.value[order], histogram.records[order], class_of_cell(histogram)
    sizes = class_sums(histogram, histogram.records)
    work = np.zeros(len(sizes))
    for names in groups[:-1]:
        whole = np.bincount(names, histogram.whole) / histogram.whole.sum()
        run = np.flatnonzero(_begins_run(owner, names[value]))
        share = np.add.reduceat(records, run) / sizes[owner[run]]
        gained = np.maximum(share - whole[names[value[run]]], 0.0)
        work += np.bincount(owner[run], gained, minlength=len(sizes))
    return np.asarray(work / (len(groups) - 1))


def _row_distance(histogram: Histogram, counts: Counts, known: Counts) -> Figures:
    """Ordered distance between the recorded values of each class and of the input, missing left out; 0 where none are.

    Between two values of a class its cumulated share stands still while that of the input climbs, so the sum of the
    differences follows from where the second passes the first, and from sums of sums.

    Parameters
    ----------
    counts, known : records of each cell and of each class, missing left out
    """
    n_values = len(histogram.whole) - (histogram.missing >= 0)
    if n_values < 2:
        return np.zeros(len(known))
    climbed = np.cumsum(histogram.whole[:n_values])
    below = np.concatenate(([0], np.cumsum(climbed)))
    total = climbed[-1]
    begin, end = _stretches(histogram, n_values)
    level = _cumulated(histogram, counts) / np.repeat(np.maximum(known, 1), np.diff(histogram.start))
    passing = np.clip(np.searchsorted(climbed / total, level), begin, end)
    off = level * (2 * passing - begin - end) + (below[begin] + below[end] - 2 * below[passing]) / total
    before = below[begin[histogram.start[:-1]]] / total
    return np.where(known > 0, (before + class_sums(histogram, off)) / (n_values - 1), 0.0)


def _stretches(histogram: Histogram, n_values: int) -> tuple[Counts, Counts]:
    """From each cell's value to that of the next cell of its class; the last reaches to the end, missing is empty."""
    end = np.append(histogram.value[1:], n_values)
    end[histogram.start[1:] - 1] = n_values
    return histogram.value, end


def _cumulated(histogram: Histogram, counts: Counts) -> Counts:
    """Records of the class up to and with each cell."""
    climbed = np.cumsum(counts)
    first = histogram.start[:-1]
    return np.asarray(climbed - np.repeat(climbed[first] - counts[first], np.diff(histogram.start)))


def _by_group(histogram: Histogram, groups: NDArray[np.int64]) -> Counts:
    """Order of cells that keeps classes and, at every level, the groups inside a class together."""
    rank = np.empty(len(histogram.whole), dtype=np.int64)
    rank[np.lexsort(groups)] = np.arange(len(rank))
    return np.argsort(class_of_cell(histogram) * len(rank) + rank[histogram.value], kind="stable")


def _begins_run(owner: Counts, group: Counts) -> NDArray[np.bool_]:
    """Where a cell is the first of its class and group."""
    begins = np.ones(len(owner), dtype=np.bool_)
    begins[1:] = (owner[1:] != owner[:-1]) | (group[1:] != group[:-1])
    return begins
