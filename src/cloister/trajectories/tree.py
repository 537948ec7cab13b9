"""A hierarchy bound to the values present, as a tree: what two values have in common, and how much that covers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cloister.hierarchy.bound import ROOT, BoundHierarchy

Nodes = NDArray[np.int32]
Counts = NDArray[np.int64]
Other = tuple[str, list[int]]


@dataclass(frozen=True, eq=False, repr=False)
class ValueTree:
    """The values of an attribute as leaves, and above them every node that some of them meet in.

    Nodes are numbered: leaves first, in the order of the values; then what covers two leaves or more, from few leaves
    to many; the root is last. A node of the hierarchy with a single value below is left out: values never meet in it.
    Where labels of several levels cover the same values, the finest stands; what only the hierarchy's root covers is
    `*`.

    **Recorded and coarse under one label.** A value that was recorded and is also the label of others, `401` beside
    `401.1`, is a leaf of its own under that label. Alignment tells the two apart. Text cannot: `401` in a release means
    "401 or any code below it", never "401 and no more was said". So whatever shares a label is *released as* the lowest
    node that covers it all (``released``), and counts as that node in exact losses, in answers to queries and in what
    is verified. The reader never takes the coarse for the exact. The same holds for labels that the hierarchy has, but
    that are no node here, since they are over a single one.

    Examples
    --------
    >>> from cloister.hierarchy import intervals
    >>> tree = ValueTree.of(intervals(2, 4).bind("age", ["33", "34", "35"]), ["33", "34", "35"])
    >>> tree.labels, tree.leaves.tolist(), tree.parent.tolist()
    (('33', '34', '35', '[34-35]', '[32-35]'), [0, 0, 0, 2, 3], [4, 3, 3, 4, -1])
    """

    labels: tuple[str, ...] = field(repr=False)
    parent: Nodes  # (n_nodes,) int32, the node above; -1 for the root
    leaves: Counts  # (n_nodes,) int64, leaves below; 0 for a leaf, as the loss metric wants it
    n_values: int
    # low, high: (n_nodes,) int32; node x covers leaf y where ``low[x] <= low[y] < high[x]``
    low: Nodes
    high: Nodes
    released: Nodes  # (n_nodes,) int32, the node that each one is released as; itself unless another has the same label

    @classmethod
    def of(cls, hierarchy: BoundHierarchy, values: Sequence[str]) -> "ValueTree":
        """Return the tree of a bound hierarchy."""
        position = {value: number for number, value in enumerate(hierarchy.values)}
        where = [position[value] for value in values]
        levels = [[level[at] for at in where] for level in hierarchy.labels[1:-1]]
        return cls.from_levels(values, levels)

    @classmethod
    def from_levels(cls, leaf_labels: Sequence[str], levels: Sequence[Sequence[str | None]]) -> "ValueTree":
        """Return the tree of labels by level, fine to coarse; values with one label at a level meet there.

        A label of None (a gap in a hierarchy) brings no values together. All meet in the root.
        """
        n = len(leaf_labels)
        labels, parent = list(leaf_labels), [-1] * n
        top, others = list(range(n)), [(ROOT, list(range(n)))]
        for level in levels:
            others += _join(level, top, labels, parent)
        if len(set(top)) != 1 or top[0] < n:
            _join([ROOT] * n, top, labels, parent, force=True)
        size, least = [1] * n + [0] * len(labels[n:]), [*range(n), *(n for _ in labels[n:])]
        for node, above in enumerate(parent):  # those above were made later
            if above >= 0:
                size[above] += size[node]
                least[above] = min(least[above], least[node])
        order = [*range(n), *sorted(range(n, len(labels)), key=lambda node: (size[node], least[node], node))]
        number = {node: at for at, node in enumerate(order)}
        over = np.array([number.get(parent[node], -1) for node in order], dtype=np.int32)
        leaves = np.array([0] * n + [size[node] for node in order[n:]], dtype=np.int64)
        # First and last leaf rank of each node, from the root down: a node takes what is free of the one above.
        width, low, free = np.maximum(leaves, 1), np.zeros(over.size, dtype=np.int32), np.zeros(over.size, np.int64)
        for node in range(over.size - 2, -1, -1):
            low[node] = free[over[node]]
            free[node] = low[node]
            free[over[node]] += width[node]
        high = (low + width).astype(np.int32)
        names = tuple(labels[node] for node in order)
        plain = ValueTree(names, over, leaves, n, low, high, np.arange(len(order), dtype=np.int32))
        return replace(plain, released=_distinguished(plain, others))

    @property
    def n_nodes(self) -> int:
        """Leaves and all nodes above."""
        return len(self.labels)

    @property
    def root(self) -> int:
        """The node above all others; called `*`, unless something finer than the hierarchy's root covers all values."""
        return self.n_nodes - 1

    def covers(self, node: int, other: int) -> bool:
        """Whether a node is another or above it."""
        return bool(self.low[node] <= self.low[other] and self.high[other] <= self.high[node])

    def meet(self, node: int, other: int) -> int:
        """Return the lowest node that covers both (Definition 5)."""
        while not self.covers(node, other):
            node = int(self.parent[node])
        return node

    def leaves_below(self, node: int) -> list[int]:
        """Return the leaves that a node covers, ascending; a leaf covers itself."""
        low = self.low[: self.n_values]
        return np.flatnonzero((low >= self.low[node]) & (low < self.high[node])).tolist()


def _join(
    level: Sequence[str | None], top: list[int], labels: list[str], parent: list[int], *, force: bool = False
) -> list[Other]:
    """Put a node above those that have one label at a level, unless there is one only (``force``: even then).

    Returns the labels that got no node, with the leaves that they stand for.
    """
    others: list[Other] = []
    groups: dict[str, list[int]] = {}
    for leaf, label in enumerate(level):
        if label is not None:
            groups.setdefault(label, []).append(leaf)
    for label, members in groups.items():
        joined = sorted({top[leaf] for leaf in members})
        if len(joined) < 2 and not force:
            others.append((label, members))
            continue
        for node in joined:
            parent[node] = len(labels)
        for leaf in members:
            top[leaf] = len(labels)
        labels.append(label)
        parent.append(-1)
    return others


def _distinguished(tree: ValueTree, others: Sequence[Other]) -> Nodes:
    """The node that each is released as, so that no two released nodes share a label, nor one with what got no node."""
    named = frozenset(tree.labels)
    # The lowest node that a label may be released as. It is kept from round to round: a label whose leaf was moved up
    # stands for a recorded value still.
    lowest: dict[str, int] = {}
    for label, leaves in others:
        if label in named:
            ranks = tree.low[leaves]
            node = tree.meet(leaves[int(ranks.argmin())], leaves[int(ranks.argmax())])
            lowest[label] = tree.meet(lowest.get(label, node), node)
    released = np.arange(tree.n_nodes, dtype=np.int32)
    while True:
        for node in released.tolist():
            label = tree.labels[node]
            lowest[label] = tree.meet(lowest.get(label, node), node)
        coarser = np.array([lowest[tree.labels[node]] for node in released.tolist()], dtype=np.int32)
        if np.array_equal(coarser, released):
            return released
        released = coarser
