"""Searching one box as far as class sizes go, with more memory where there is no progress."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.bounds import Best
from cloister.kernels.boxes import STATISTICS, Box, explore
from cloister.kernels.layout import Task
from cloister.kernels.workspace import Workspace


@dataclass(frozen=True)
class Explored:
    """What an exploration brings back from a box.

    Attributes
    ----------
    best : what was known of good policies, and what was found
    statistics : (STATISTICS,) int64, what was done; see `cloister.kernels.boxes`
    left : boxes left undone
    workspace : the memory used, for the next box
    """

    best: Best
    statistics: NDArray[np.int64]
    left: list[Box]
    workspace: Workspace


def explored(task: Task, workspace: Workspace, box: Box, best: Best, work: int) -> Explored:
    """Search one box for about so many visits of row groups; for more, with more memory, where that changed nothing.

    A box of which something was handed over never comes back as it was: it was cut before, or is done with.
    """
    statistics = np.zeros(STATISTICS, dtype=np.int64)
    while True:
        left = explore(task, workspace, box, best, statistics, work)
        if not (len(left) == 1 and _is_same(left[0], box)):
            return Explored(best, statistics, left, workspace)
        workspace, work = Workspace(task, 2 * workspace.lists), 2 * work


def _is_same(one: Box, other: Box) -> bool:
    return np.array_equal(one.lower, other.lower) and np.array_equal(one.upper, other.upper)
