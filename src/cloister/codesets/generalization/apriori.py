"""AA: k^m-anonymity by generalizing whole subtrees of a hierarchy, sets of one code first, then of two, up to m.

Source: Terrovitis, Mamoulis, Kalnis (2008), "Privacy-preserving anonymization of set-valued data", PVLDB 1(1),
section 4 (Apriori-based anonymization). An itemset that fewer than k records hold is mended by the cheapest choice of
nodes above its items that makes k records hold it.

Deviations: itemsets of one size are taken by support, the largest first, then by codes, not in the order of a count
tree, and one choice of nodes is looked for among all. The loss is NCP, an item's share of the codes that its node
covers, weighted by occurrences; ties: the lowest heights, in the order of the items. Nothing is suppressed.
"""

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.data import CodeSets, starts_of
from cloister.errors import InputError
from cloister.kernels.terms import first_below, supports

from .data import Integers, Numbers, Sets
from .losses import CodeTree
from .privacy_policy import combinations_in, from_table
from .terms import Repeated, record_bits

MOST_CHOICES = 5_000_000
"""Choices of nodes that are tried, some minutes; more are refused."""

Node = int
Bits = NDArray[np.uint64]


@dataclass(frozen=True, eq=False, repr=False)
class SubtreeRecoding:
    """A cut through the hierarchy: the height to which each code is generalized, the same for all below a node."""

    # (n_codes, top + 1) the node above each code at each height, itself at 0; numbered through all heights; where
    # diagnoses repeat, the code itself is one more node, above its occurrences
    nodes: Integers
    bits: Bits  # (n_nodes, n_words) uint64, records that hold a code below each node
    sizes: Integers  # (n_nodes,) codes below each node
    occurrences: Integers  # (n_codes,) records of each code
    height: Integers  # (n_codes,) changed in place

    @classmethod
    def of(cls, codes: CodeSets, tree: CodeTree) -> "SubtreeRecoding":
        """Begin with every code as it is."""
        plain = [Repeated.of(codes.vocabulary).code] if codes.repeats else []
        levels = [np.arange(codes.n_codes), *plain, *tree.paths.T.astype(np.int64)]
        first = np.cumsum([0, *(int(level.max()) + 1 for level in levels)])
        nodes = np.stack([level + start for level, start in zip(levels, first[:-1], strict=True)], axis=1)
        own = record_bits(codes)
        bits = np.zeros((int(first[-1]), own.shape[1]), dtype=np.uint64)
        for level in nodes.T:
            np.bitwise_or.at(bits, level, own)
        sizes = np.bincount(nodes.reshape(-1), minlength=int(first[-1]))
        return cls(nodes, bits, sizes, codes.supports(), np.zeros(codes.n_codes, dtype=np.int64))

    def current(self) -> Numbers:
        """Return the node of each code."""
        rows = self.nodes[np.arange(len(self.height)), self.height]
        return rows.astype(np.int32)


def recode(codes: CodeSets, tree: CodeTree, k: int, m: int) -> Numbers:
    """Return the smallest code of the term that each code is in, when all sets of up to m codes have k records."""
    tried = 0
    cut = SubtreeRecoding.of(codes, tree)
    records = Sets(codes.offsets, codes.items)
    for size in range(1, m + 1):
        # Sets of so many terms that some record holds, each named by the smallest codes of its terms.
        names = _smallest(cut.current())
        keys = np.unique(records.owners() * len(names) + names[records.items])
        owner, name = np.divmod(keys, len(names))
        offsets = starts_of(np.bincount(owner, minlength=len(records)))
        sets = from_table(combinations_in(Sets(offsets, name.astype(np.int32)), size, len(names)))
        if not len(sets):
            break
        held = supports(cut.current(), cut.bits, sets.offsets, sets.items, k)
        queue = sets.chosen(np.argsort(-held, kind="stable"))
        at = first_below(cut.current(), cut.bits, queue.offsets, queue.items, k, 0)
        while at < len(queue):
            tried += prod(cut.nodes.shape[1] - height for height in cut.height[queue.members(at)].tolist())
            if tried > MOST_CHOICES:
                raise InputError(
                    f"There are too many ways to generalize sets of {size} codes along the hierarchy (more than "
                    f"{MOST_CHOICES:,} were to be tried). Ask for a smaller m, or choose the method cba or ugaclip."
                )
            _mend(cut, queue.members(at), k)
            at = first_below(cut.current(), cut.bits, queue.offsets, queue.items, k, at + 1)
    return _smallest(cut.current())


def _smallest(current: Numbers) -> Numbers:
    """The smallest code below the same node."""
    _, first, place = np.unique(current, return_index=True, return_inverse=True)
    return first[place].astype(np.int32)


def _mend(cut: SubtreeRecoding, codes: Numbers, k: int) -> None:
    """Generalize the items of an itemset in the cheapest way that makes k records hold it."""
    # A code below a node loses its occurrences times the codes below that, nothing if it is alone there.
    covered = np.where(cut.sizes > 1, cut.sizes, 0)
    paid = cut.occurrences * covered[cut.current()]
    best: tuple[int, int, tuple[int, ...]] | None = None
    top = cut.nodes.shape[1]
    for heights in product(*(range(height, top) for height in cut.height[codes].tolist())):
        nodes = _topmost(cut, codes, heights)
        held = np.bitwise_count(np.bitwise_and.reduce(cut.bits[list(nodes)])).sum(dtype=np.int64)
        if held < k:
            continue
        below = {node: cut.nodes[:, height] == node for node, height in nodes.items()}
        added = sum(
            int(cut.occurrences[codes_below].sum()) * int(covered[node]) - int(paid[codes_below].sum())
            for node, codes_below in below.items()
        )
        option = (added, sum(heights), heights)
        best = option if best is None else min(best, option)
    if best is None:
        raise ValueError("there are fewer than k records")
    for node, height in _topmost(cut, codes, best[2]).items():
        cut.height[cut.nodes[:, height] == node] = height


def _topmost(cut: SubtreeRecoding, codes: Numbers, heights: tuple[int, ...]) -> dict[Node, int]:
    chosen = {int(cut.nodes[code, height]): height for code, height in zip(codes.tolist(), heights, strict=True)}
    above = {
        int(cut.nodes[code, height]): {int(node) for node in cut.nodes[code, height + 1 :]}
        for code, height in zip(codes.tolist(), heights, strict=True)
    }
    return {node: height for node, height in chosen.items() if not above[node] & chosen.keys()}
