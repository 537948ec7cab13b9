"""The lowest level at which the members of a class share a label, attribute by attribute."""

import numpy as np
from numpy.typing import NDArray

from ._jit import jit
from .layout import Ladders, Rows


@jit
def _common_levels(rows, ladders, members, start, lowest, levels):
    """Fill ``levels``, (n_classes, n_attributes), with the lowest level from ``lowest`` on that a class shares."""
    for one in range(levels.shape[0]):
        for j in range(levels.shape[1]):
            level = lowest[j]
            first = rows.codes[j, members[start[one]]]
            for i in range(start[one] + 1, start[one + 1]):
                other = rows.codes[j, members[i]]
                while (
                    ladders.up[ladders.start[j, 0, level] + first] != ladders.up[ladders.start[j, 0, level] + other]
                    and level + 1 < ladders.heights[j]
                ):
                    level += 1
            levels[one, j] = level


def common_levels(
    rows: Rows, ladders: Ladders, members: NDArray[np.int64], start: NDArray[np.int64], lowest: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the lowest levels at which all members of each class have one label, shape (n_classes, n_attributes).

    Parameters
    ----------
    members : (n_members,) int64, rows, class after class
    start : (n_classes + 1,) int64, where each class begins in ``members``; no class is empty
    lowest : (n_attributes,) int64, levels below which nothing is looked for

    Raises
    ------
    ValueError
        A row or a level does not exist, or a class is empty.
    """
    if members.size and not 0 <= int(members.min()) <= int(members.max()) < rows.records.shape[0]:
        raise ValueError("members must be numbers of rows")
    if start[0] != 0 or start[-1] != members.size or np.any(np.diff(start) < 1):
        raise ValueError("classes must follow each other, and none may be empty")
    if lowest.shape != ladders.heights.shape or np.any(lowest < 0) or np.any(lowest >= ladders.heights):
        raise ValueError(f"levels must be one per attribute, each below {ladders.heights.tolist()}")
    levels = np.empty((start.size - 1, lowest.size), dtype=np.int64)
    _common_levels(rows, ladders, members, start, lowest, levels)
    return levels
