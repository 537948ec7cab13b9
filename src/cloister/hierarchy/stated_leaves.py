"""Leaves of labels that a hierarchy states by itself, whatever values occur.

Most hierarchies count the values that occur below a label. Losses then say how many there are, which can settle what a
label hides. Here a label covers what its hierarchy says alone: the rows of a file, the width of an interval, the days
of a period, and two labels of the level below elsewhere, as few of the possible ones occur. Missing is no leaf more.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np

from .bound import BoundHierarchy, Hierarchy
from .build import DateHierarchy
from .file_hierarchy import FileHierarchy
from .interval import IntervalHierarchy

BRANCHES = 2  # labels of the level below, where a hierarchy does not say how many
OF_ROOT = 4  # longest intervals or periods in the root, where it has no bounds
OF_FINEST = 4  # leaves of the finest interval
DAYS = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365, "decade": 3652}


def state_leaves(bound: BoundHierarchy, hierarchy: Hierarchy) -> BoundHierarchy:
    """Return a bound hierarchy with the leaves that the hierarchy itself states.

    Examples
    --------
    >>> from cloister.hierarchy import intervals
    >>> ages = intervals(5, 10)
    >>> few, many = (state_leaves(ages.bind("age", values), ages) for values in (["44"], ["44", "7", "81.5"]))
    >>> few.leaves[:, 0].tolist(), many.leaves[:, 0].tolist()
    ([1, 4, 8, 32], [1, 4, 8, 32])
    """
    if isinstance(hierarchy, FileHierarchy):
        whole = max(1, len(hierarchy.rows))
        rows = [Counter(level) for level in zip(*hierarchy.rows, strict=True)]
        of_labels = [[n[label or ""] for label in labels] for n, labels in zip(rows[1:], bound.labels[1:], strict=True)]
        leaves = np.array([[1] * len(bound.values), *of_labels], dtype=np.int64)
    else:
        by_level = _stated_levels(hierarchy, bound.n_levels)
        is_missing = np.array([[label is None for label in labels] for labels in bound.labels]).reshape(
            len(by_level), -1
        )
        leaves = np.where(is_missing, 1, np.array(by_level)[:, np.newaxis])
        # A value beyond a bound has the label of an open group from the start.
        beyond = [label != value for label, value in zip(bound.labels[0], bound.values, strict=True)]
        leaves[0, beyond] = leaves[min(1, len(by_level) - 1), beyond]
        whole = by_level[-1]
    leaves.flags.writeable = False
    return replace(bound, leaves=leaves, n_leaves=whole)


def _stated_levels(hierarchy: Hierarchy, n_levels: int) -> list[int]:
    """Return the leaves of a label by level, from 1 of a value to those of the root."""
    if isinstance(hierarchy, IntervalHierarchy):
        finest = hierarchy.widths[0]
        inner = [round(OF_FINEST * Fraction(width) / Fraction(finest)) for width in hierarchy.widths]
        top, bottom = hierarchy.top, hierarchy.bottom
        if top is None or bottom is None:
            return [1, *inner, OF_ROOT * inner[-1]]
        span = OF_FINEST * (Fraction(top) - Fraction(bottom)) / Fraction(finest)
        return [1, *inner, max(round(span), inner[-1])]
    if isinstance(hierarchy, DateHierarchy):
        inner = [DAYS[unit] for unit in hierarchy.units]
        return [1, *inner, OF_ROOT * inner[-1]]
    return [BRANCHES**level for level in range(n_levels)]
