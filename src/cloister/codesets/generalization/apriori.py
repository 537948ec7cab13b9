"""AA: k^m-anonymity by generalizing whole subtrees of a hierarchy, sets of one code first, then of two, up to m.

Source: Terrovitis, Mamoulis, Kalnis (2008), "Privacy-preserving anonymization of set-valued data", PVLDB 1(1),
section 4 (Apriori-based anonymization). An itemset that fewer than k records hold is mended by the cheapest choice of
nodes above its items that makes k records hold it.

Deviations: itemsets of one size are taken by support, the largest first, then by codes, not in the order of a count
tree, and one choice of nodes is looked for among all. The loss is NCP, an item's share of the codes that its node
covers, weighted by occurrences; ties: the lowest heights, in the order of the items. Nothing is suppressed.
"""

from itertools import product
from math import prod

import numpy as np

from cloister.codesets.data import CodeSets, starts_of
from cloister.errors import InputError
from cloister.kernels.terms import first_below, supports

from .data import Numbers, Sets, record_bits
from .losses import CodeTree
from .privacy_policy import combinations_in, from_table
from .terms import Repeated

MOST_CHOICES = 5_000_000  # Choices of nodes that are tried, some minutes; more are refused


class SubtreeRecoding:
    """A cut through the hierarchy: the height to which each code is generalized, the same for all below a node."""

    def __init__(self, codes: CodeSets, tree: CodeTree) -> None:
        plain = [Repeated.of(codes.vocabulary).code] if codes.repeats else []
        levels = [np.arange(codes.n_codes), *plain, *tree.paths.T.astype(np.int64)]
        first = np.cumsum([0, *(int(level.max()) + 1 for level in levels)])
        # (n_codes, top + 1) the node above each code at each height, itself at 0; numbered through all heights; where
        # diagnoses repeat, the code itself is one more node, above its occurrences
        self.nodes = np.stack([level + start for level, start in zip(levels, first[:-1], strict=True)], axis=1)
        own = record_bits(codes)
        self.bits = np.zeros((int(first[-1]), own.shape[1]), dtype=np.uint64)  # records below each node
        for level in self.nodes.T:
            np.bitwise_or.at(self.bits, level, own)
        self.sizes = np.bincount(self.nodes.reshape(-1), minlength=int(first[-1]))  # codes below each node
        self.occurrences = codes.supports()
        self.height = np.zeros(codes.n_codes, dtype=np.int64)  # of each code

    def current(self) -> Numbers:
        """Return the node of each code."""
        rows = self.nodes[np.arange(len(self.height)), self.height]
        return rows.astype(np.int32)


def recode(codes: CodeSets, tree: CodeTree, k: int, m: int) -> Numbers:
    """Return the smallest code of the term that each code is in, when all sets of up to m codes have k records."""
    tried = 0
    cut = SubtreeRecoding(codes, tree)
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
    """Generalize the items of an itemset in the cheapest way that makes k records hold it; all hold the root."""
    # A code below a node loses its occurrences times the codes below that, nothing if it is alone there.
    covered = np.where(cut.sizes > 1, cut.sizes, 0)
    paid = cut.occurrences * covered[cut.current()]
    options: list[tuple[int, int, tuple[int, ...]]] = []
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
        options.append((added, sum(heights), heights))
    for node, height in _topmost(cut, codes, min(options)[2]).items():
        cut.height[cut.nodes[:, height] == node] = height


def _topmost(cut: SubtreeRecoding, codes: Numbers, heights: tuple[int, ...]) -> dict[int, int]:
    paths = [cut.nodes[code, height:].tolist() for code, height in zip(codes.tolist(), heights, strict=True)]
    chosen = {path[0]: height for path, height in zip(paths, heights, strict=True)}
    return {path[0]: chosen[path[0]] for path in paths if chosen.keys().isdisjoint(path[1:])}
