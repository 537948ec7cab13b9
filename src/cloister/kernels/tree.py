"""The split tree of a horizontal partitioning: its nodes are the borders between parts."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import jit


class Tree(NamedTuple):
    """Inner nodes of a binary forest over parts; node i stands between part i and part i + 1.

    Attributes
    ----------
    depth : (n_nodes,) int32, depth of each node; -1 where the parts on its sides are in different trees
    low, high : (n_nodes,) int32, first and last part below each node
    highest : (n_steps, n_nodes) int32, the node of least depth among 2**step nodes from each on
    """

    depth: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    highest: NDArray[np.int32]


@jit
def _spans(depth, low, high):
    """First and last part below each node: it reaches as far as nodes are deeper."""
    n = depth.shape[0]
    stack = np.empty(n, dtype=np.int64)
    waiting = 0
    for node in range(n):
        low[node] = node
        while waiting > 0 and depth[stack[waiting - 1]] > depth[node]:
            waiting -= 1
            high[stack[waiting]] = node
            low[node] = low[stack[waiting]]
        stack[waiting] = node
        waiting += 1
    for i in range(waiting):
        high[stack[i]] = n


@jit
def _fill_highest(depth, highest):
    """Fill the table of least depths, each step from the one before."""
    n = depth.shape[0]
    for node in range(n):
        highest[0, node] = node
    for step in range(1, highest.shape[0]):
        half = 1 << (step - 1)
        for node in range(n):
            highest[step, node] = highest[step - 1, node]
            if node + half < n:
                other = highest[step - 1, node + half]
                if depth[other] < depth[highest[step, node]]:
                    highest[step, node] = other


@jit
def _meeting(tree, part, other):
    """The lowest node above two parts, ``part`` standing before ``other``."""
    step = 0
    while (2 << step) <= other - part:
        step += 1
    left = tree.highest[step, part]
    right = tree.highest[step, other - (1 << step)]
    return left if tree.depth[left] <= tree.depth[right] else right


def make_tree(depth: NDArray[np.int32]) -> Tree:
    """Make a tree of the depths of its nodes in their order.

    Raises
    ------
    ValueError
        Two nodes that are neighbours in the tree have the same depth.
    """
    depth = np.ascontiguousarray(depth, dtype=np.int32)
    n = depth.size
    low, high = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    _spans(depth, low, high)
    steps = max(1, int(n).bit_length())
    highest = np.empty((steps, n), dtype=np.int32)
    _fill_highest(depth, highest)
    if np.any((depth[1:] == depth[:-1]) & (depth[1:] >= 0)):
        raise ValueError("neighbouring nodes must differ in depth")
    return Tree(depth, low, high, highest)
