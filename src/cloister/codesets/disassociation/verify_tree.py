"""Joint clusters laid out in a row: each one's clusters stand next to each other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data import Integers
from .data import Disassociation


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """Where clusters and joint clusters stand.

    Attributes
    ----------
    position : (n_clusters,) place of each cluster
    low, high : (n_joints,) first place of each joint cluster, and the one behind its last
    sizes : (n_joints,) records, added up from the clusters
    """

    position: Integers
    low: Integers
    high: Integers
    sizes: Integers


def is_forest(released: Disassociation) -> bool:
    """Whether each joint cluster has two children or more, all made before it, and nothing has two parents."""
    joints = np.arange(released.n_joints)
    if np.any(np.diff(released.child_offsets) < 2):
        return False
    owner = np.repeat(joints, np.diff(released.child_offsets))
    earlier = (released.children >= 0) & (released.children < released.n_clusters + owner)
    ascending = np.diff(released.children) > 0
    ascending[released.child_offsets[1:-1] - 1] = True
    once = np.unique(released.children).size == released.children.size
    return bool(once and earlier.all() and ascending.all())


def lay_out(released: Disassociation) -> Layout:
    """Lay a forest out, its trees one after the other."""
    n, joints = released.n_clusters, released.n_joints
    parent = np.full(n + joints, -1, dtype=np.int64)
    parent[released.children] = n + np.repeat(np.arange(joints), np.diff(released.child_offsets))
    levels = _levels(released, parent)
    clusters = np.concatenate([np.ones(n, dtype=np.int64), np.zeros(joints, dtype=np.int64)])
    records = np.concatenate([released.sizes, np.zeros(joints, dtype=np.int64)])
    for level in reversed(levels):
        inside = level[parent[level] >= 0]
        np.add.at(clusters, parent[inside], clusters[inside])
        np.add.at(records, parent[inside], records[inside])
    start = np.zeros(n + joints, dtype=np.int64)
    for level in levels:
        before = np.cumsum(clusters[level]) - clusters[level]
        first = np.flatnonzero(np.diff(parent[level], prepend=-2))
        if parent[level[0]] >= 0:
            lengths = np.diff(np.append(first, level.size))
            before += np.repeat(start[parent[level[first]]] - before[first], lengths)
        start[level] = before
    return Layout(start[:n], start[n:], start[n:] + clusters[n:], records[n:])


def _levels(released: Disassociation, parent: Integers) -> list[Integers]:
    """Clusters and joint clusters by how many joint clusters are around them; siblings stand together."""
    n = released.n_clusters
    level = np.flatnonzero(parent < 0)
    levels: list[NDArray[np.int64]] = []
    while level.size:
        levels.append(level)
        joints = level[level >= n] - n
        lengths = released.child_offsets[joints + 1] - released.child_offsets[joints]
        before = np.repeat(np.cumsum(lengths) - lengths, lengths)
        at = np.repeat(released.child_offsets[joints], lengths) + np.arange(before.size) - before
        level = released.children[at]
    return levels
