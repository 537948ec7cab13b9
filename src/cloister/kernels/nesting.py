"""Joint clusters inside joint clusters, and clusters written as sequences to be put in order."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import jit
from .subrecords import Filled

BREAK = -1


class Nest(NamedTuple):
    """The innermost joint around each joint and each part, -1 for none; steps from each joint down to its deepest."""

    joint_parent: NDArray[np.int64]
    part_parent: NDArray[np.int64]
    height: NDArray[np.int64]


@jit
def _nest(low, high, nest):
    """Sweep over the parts with a stack of open joints; joints stand by their first part, the larger before."""
    joints = low.shape[0]
    stack = np.empty(joints, dtype=np.int64)
    opened = 0
    at = 0
    for part in range(nest.part_parent.shape[0]):
        while opened > 0 and high[stack[opened - 1]] < part:
            opened -= 1
        while at < joints and low[at] == part:
            nest.joint_parent[at] = stack[opened - 1] if opened > 0 else -1
            stack[opened] = at
            opened += 1
            at += 1
        nest.part_parent[part] = stack[opened - 1] if opened > 0 else -1
    for joint in range(joints - 1, -1, -1):
        parent = nest.joint_parent[joint]
        if parent >= 0:
            nest.height[parent] = max(nest.height[parent], nest.height[joint] + 1)


@jit
def _measure(filled, first, owners, extra, starts):
    """How long the sequence of each owner is, added up."""
    for i in range(owners.shape[0]):
        owner = owners[i]
        length = 2 + extra[i + 1] - extra[i]
        for c in range(first[owner], first[owner + 1]):
            length += 2 + filled.domain_starts[c + 1] - filled.domain_starts[c]
            length += filled.starts[c + 1] - filled.starts[c]
            length += filled.item_starts[filled.starts[c + 1]] - filled.item_starts[filled.starts[c]]
        starts[i + 1] = starts[i] + length


@jit
def _write_chunk(filled, c, values, at):
    """Write a chunk: its codes and its subrecords, each with their number before them; return the next place."""
    values[at] = filled.domain_starts[c + 1] - filled.domain_starts[c]
    at += 1
    for i in range(filled.domain_starts[c], filled.domain_starts[c + 1]):
        values[at] = filled.domain[i]
        at += 1
    values[at] = filled.starts[c + 1] - filled.starts[c]
    at += 1
    for s in range(filled.starts[c], filled.starts[c + 1]):
        values[at] = filled.item_starts[s + 1] - filled.item_starts[s]
        at += 1
        for i in range(filled.item_starts[s], filled.item_starts[s + 1]):
            values[at] = filled.items[i]
            at += 1
    return at


@jit
def _write(filled, first, owners, sizes, extra, extra_values, starts, values):
    """Write each owner's size, chunks and extra values."""
    for i in range(owners.shape[0]):
        at = starts[i]
        values[at] = sizes[owners[i]]
        at += 1
        for c in range(first[owners[i]], first[owners[i] + 1]):
            at = _write_chunk(filled, c, values, at)
        values[at] = BREAK
        at += 1
        for j in range(extra[i], extra[i + 1]):
            values[at] = extra_values[j]
            at += 1


def nest(low: NDArray[np.int64], high: NDArray[np.int64], parts: int) -> Nest:
    """How joints lie in each other.

    Parameters
    ----------
    low, high : (n_joints,) first and last part of each, by ``low`` and then the larger first

    Raises
    ------
    ValueError
        The joints are not in order.
    """
    rising = (low[1:] > low[:-1]) | ((low[1:] == low[:-1]) & (high[1:] < high[:-1]))
    if not np.all(rising) or np.any(high < low) or (high.size and int(high.max()) >= parts):
        raise ValueError("joints must stand by their first part, the larger before the smaller")
    found = Nest(
        np.full(low.size, -1, dtype=np.int64), np.full(parts, -1, dtype=np.int64), np.zeros(low.size, dtype=np.int64)
    )
    _nest(low, high, found)
    return found


def written(
    filled: Filled,
    first: NDArray[np.int64],
    owners: NDArray[np.int64],
    sizes: NDArray[np.int64],
    extra: tuple[NDArray[np.int64], NDArray[np.int32]],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """All that is released of some owners, one sequence each, as starts and values.

    Parameters
    ----------
    first : (n_owners + 1,) where each owner's chunks begin
    owners : those that are written
    sizes : (n_owners,) records of each
    extra : what follows the chunks of each that is written, as starts and values
    """
    if first[0] != 0 or first[-1] != filled.owner.size or extra[0].size != owners.size + 1:
        raise ValueError("first must span the chunks, and extra have one start for each that is written")
    starts = np.zeros(owners.size + 1, dtype=np.int64)
    _measure(filled, first, owners, extra[0], starts)
    values = np.empty(int(starts[-1]), dtype=np.int32)
    _write(filled, first, owners, sizes, extra[0], extra[1], starts, values)
    return starts, values
