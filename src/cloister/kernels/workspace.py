"""The memory that one thread needs to explore boxes: a stack of open boxes and a pool of their groups."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .layout import Task
from .segments import Pool

FEWEST_LISTS = 2
"""Lists of all groups that a pool must hold: one, and room to split it."""


class Stack(NamedTuple):
    """Open boxes, deepest last.

    lower, upper, level : (depth, n_attributes); ``level`` is where the groups of the box stand, at or below ``lower``
    span : (depth, 4) the list of groups in the pool
    suppressed : (depth,) records suppressed throughout the box
    cut : (depth, 2) attribute and level of the cut whose upper half is still to be done; attribute -1 if none
    depth : (1,) number of open boxes
    """

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    level: NDArray[np.int64]
    span: NDArray[np.int64]
    suppressed: NDArray[np.int64]
    cut: NDArray[np.int64]
    depth: NDArray[np.int64]


class Workspace:
    """The memory one thread needs to explore boxes of one task; used by one thread at a time."""

    def __init__(self, task: Task, lists: int = 12) -> None:
        n_attributes, n_groups = task.rows.codes.shape
        lists = max(lists, FEWEST_LISTS)
        capacity = lists * n_groups + 64
        codes = int(task.ladders.sizes.max(initial=1))
        slots = 4
        while slots < 2 * n_groups:
            slots *= 2
        self.pool = Pool(
            words=np.empty((capacity, task.packing.n_words), dtype=np.uint64),
            records=np.empty(capacity, dtype=np.int64),
            bounds=np.empty(capacity + 64, dtype=np.int64),
            total=np.zeros(codes, dtype=np.int64),
            members=np.zeros(codes, dtype=np.int64),
            small=np.zeros(codes, dtype=np.bool_),
            seen=np.zeros(codes, dtype=np.int64),
            order=np.empty(n_groups, dtype=np.int64),
            slot_group=np.empty(slots, dtype=np.int64),
            slot_stamp=np.zeros(slots, dtype=np.int64),
            stamp=np.zeros(1, dtype=np.int64),
        )
        depth = int(task.ladders.heights.sum()) + 2
        shape = (depth, n_attributes)
        self.stack = Stack(
            lower=np.zeros(shape, dtype=np.int64),
            upper=np.zeros(shape, dtype=np.int64),
            level=np.zeros(shape, dtype=np.int64),
            span=np.zeros((depth, 4), dtype=np.int64),
            suppressed=np.zeros(depth, dtype=np.int64),
            cut=np.full((depth, 2), -1, dtype=np.int64),
            depth=np.zeros(1, dtype=np.int64),
        )
        self.lists = lists
