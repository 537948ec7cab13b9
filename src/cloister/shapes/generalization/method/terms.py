"""Codes on their way to generalized terms: merged two at a time, or suppressed, by CBA or UGACLIP; or by AA, `recode`.

CBA: generalize or suppress codes until every set of the privacy policy leads to k patients.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), "Privacy-preserving publication of diagnosis codes for effective
biomedical analysis", IEEE ITAB, Algorithm 1.

Deviations: sets of equal support are sorted by size, the larger first, and then by their codes. Two terms are merged
whatever the merger does for the set at hand, as the paper says; equal losses are decided by the names of the terms.
Where no pair is left, one term of the set at a time is suppressed in all records, the one that loses least; the paper
does not say which. Pairs are not kept in a queue: a bound on the loss of each pair rules nearly all of them out.

UGACLIP: the method that CBA is compared with; it fixes the term to generalize and suppresses whole constraints.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), "Anonymization of electronic medical records for validating
genome-wide association studies", Proceedings of the National Academy of Sciences 107, as described in sections II and
IV of the paper above.

Step by step: of the sets that are not protected the one that most records hold; of its terms the one that fewest
records hold is fixed, and merged with the term of the same utility constraint that loses least together with it, until
the set is protected. Where no such term is left, all codes of that constraint are suppressed, and the set is chosen
anew like any other. Ties: the larger set, then by codes; the smaller name of a term.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from cloister.errors import InputError
from cloister.kernels.ragged import starts_of
from cloister.kernels.terms import (
    SUPPRESSED,
    Groups,
    Terms,
    Waiting,
    cheapest_pair,
    first_below,
    most_held_below,
    supports,
)
from cloister.shapes.codes.data import CodeSets, occurrences
from cloister.shapes.generalization.format.data import Integers, Numbers, Sets, record_bits
from cloister.shapes.generalization.format.privacy_policy import combinations_in, from_table

from .losses import CodeTree

NEVER = -1
MOST_CHOICES = 5_000_000  # Choices of nodes that are tried, some minutes; more are refused


class WorkingTerms:
    """The partition of the codes as it is now. A term is named by its smallest code.

    Where diagnoses repeat, who has an occurrence of a code has all earlier ones, and terms keep to that: an occurrence
    is a term alone, or in one with all others of its code; with it, all later ones are suppressed. So someone who knows
    how often a patient has a code learns as much from the term of the last occurrence as from those of all of them. The
    cost of a merger is counted without the occurrences that join.

    Parameters
    ----------
    codes : the original; every code of the vocabulary occurs
    tree : how close codes are
    groups : codes that may be generalized together, each code in one
    """

    def __init__(self, codes: CodeSets, tree: CodeTree, groups: Groups) -> None:
        counts = codes.supports()
        self.groups = groups
        self.tree = tree
        self.repeated = Repeated.of(codes.vocabulary) if codes.repeats else None
        self.occurrences = counts.copy()
        self.arrays = Terms(
            np.arange(codes.n_codes, dtype=np.int32),
            record_bits(codes),
            np.ones(codes.n_codes, dtype=np.int64),
            counts.copy(),
            np.zeros(codes.n_codes, dtype=np.int64),
            tree.paths,
        )

    @property
    def term_of(self) -> Numbers:
        """Name of the term that each code is in, `SUPPRESSED` for none; changes as terms do."""
        return self.arrays.term

    def terms_of(self, codes: Numbers) -> Numbers:
        """Return the terms of some codes, ascending; suppressed codes vanish."""
        found = np.unique(self.term_of[codes])
        return found[found >= 0]

    def members(self, term: int) -> Integers:
        """Return the codes of a term."""
        return np.flatnonzero(self.term_of == term)

    def held(self, codes: Numbers, limit: int) -> int:
        """Return how many records hold the terms of some codes, counted up to a limit."""
        offsets = np.array([0, len(codes)], dtype=np.int64)
        return int(supports(self.term_of, self.arrays.bits, offsets, codes, limit)[0])

    def first_below(self, sets: Sets, k: int, start: int) -> int:
        """Return the number of the first set from ``start`` on that is not protected, the number of sets if none."""
        return first_below(self.term_of, self.arrays.bits, sets.offsets, sets.items, k, start)

    def cheapest_pair(self, terms: Numbers, *, exponential: bool) -> tuple[int, int] | None:
        """Return the two terms that cost least together: one of these, and one of the same utility constraint."""
        first, second = cheapest_pair(self.arrays, self.groups, terms, exponential=exponential)
        return None if first < 0 else (first, second)

    def merge(self, kept: int, other: int) -> int:
        """Make one term of two, and of all occurrences of its codes; return its name. The smaller name comes first."""
        self._merge(kept, other)
        if self.repeated is None:
            return kept
        codes = self.repeated.code  # of each occurrence, all of which go together
        own = np.flatnonzero(np.isin(codes, codes[self.members(kept)])).astype(np.int32)
        for term in [term for term in self.terms_of(own).tolist() if term != kept]:
            self._merge(min(kept, term), max(kept, term))
            kept = min(kept, term)
        return kept

    def _merge(self, kept: int, other: int) -> None:
        terms = self.arrays
        level = max(terms.level[kept], terms.level[other], 1)
        while terms.paths[kept, level - 1] != terms.paths[other, level - 1]:
            level += 1
        terms.level[kept] = level
        terms.bits[kept] |= terms.bits[other]
        terms.size[kept] += terms.size[other]
        terms.support[kept] = np.bitwise_count(terms.bits[kept]).sum(dtype=np.int64)
        self.occurrences[kept] += self.occurrences[other]
        terms.term[terms.term == other] = kept

    def suppress(self, term: int) -> None:
        """Take all codes of a term out of the data, and all later occurrences of these codes."""
        codes = self.members(term)
        self.arrays.term[codes if self.repeated is None else self.repeated.with_later(codes)] = SUPPRESSED


@dataclass(frozen=True, eq=False, repr=False)
class Repeated:
    """Which code each of the numbered occurrences is of, and the how many-th it is: both (n_codes,) int64."""

    code: Integers
    number: Integers

    @classmethod
    def of(cls, vocabulary: Sequence[str]) -> "Repeated":
        """Take numbered occurrences apart."""
        return cls(*occurrences(vocabulary))

    def with_later(self, occurrences: Integers) -> Integers:
        """Return these occurrences, and the later ones of their codes."""
        first = np.full(int(self.code.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(first, self.code[occurrences], self.number[occurrences])
        return np.flatnonzero(self.number >= first[self.code])


def group_constraints(constraints: Sequence[Sequence[int]], n_codes: int, *, uncovered_together: bool) -> Groups:
    """Return utility constraints as arrays; codes of no constraint are one more, or each is alone."""
    group = np.full(n_codes, -1, dtype=np.int32)
    for number, members in enumerate(constraints):
        group[list(members)] = number
    rest = np.flatnonzero(group < 0)
    group[rest] = len(constraints) + (0 if uncovered_together else np.arange(len(rest)))
    codes = np.argsort(group, kind="stable").astype(np.int32)
    starts = starts_of(np.bincount(group))
    return Groups(starts, codes, group)


def cluster(terms: WorkingTerms, sets: Sets, k: int, *, exponential: bool = False) -> None:
    """Generalize and suppress until no set has 1 to k - 1 records: CBA.

    The terms are changed in place. Each set is held by some record, and they are in the order of their codes. Where
    ``exponential``, losses grow exponentially with the codes of a term.
    """
    # Sets that fewer than k records hold: by support, the largest first, then the larger, then by codes.
    held = supports(terms.term_of, terms.arrays.bits, sets.offsets, sets.items, k)
    below = np.flatnonzero((held > 0) & (held < k))
    queue = sets.chosen(below[np.lexsort((-sets.sizes[below], -held[below]))])
    at = terms.first_below(queue, k, 0)
    while at < len(queue):
        codes = queue.members(at)
        while 0 < terms.held(codes, k) < k:  # Algorithm 1, lines 11 to 16
            own = terms.terms_of(codes)
            pair = terms.cheapest_pair(own, exponential=exponential)
            if pair is None:
                # This one removes the fewest codes from records; of equal ones argmin takes the smallest name.
                terms.suppress(int(own[np.argmin(terms.occurrences[own])]))
            else:
                terms.merge(*pair)
        at = terms.first_below(queue, k, at + 1)


def clip(terms: WorkingTerms, sets: Sets, k: int, *, exponential: bool = False) -> None:
    """Generalize and suppress until no set has 1 to k - 1 records: UGACLIP, of arguments like those of `cluster`."""
    sets = sets.chosen(np.argsort(-sets.sizes, kind="stable"))
    waiting = Waiting(
        np.arange(len(sets)),
        np.full(len(sets), NEVER, dtype=np.int64),
        np.zeros(len(sets), dtype=np.int64),
        np.zeros(len(terms.term_of), dtype=np.int64),
    )
    n_waiting, step = len(sets), 0
    while n_waiting:
        best, n_waiting = most_held_below(terms.arrays, sets.offsets, sets.items, k, waiting, n_waiting)
        if best >= 0:
            step += 1
            changed = _protect_set(terms, sets.members(best), k, exponential=exponential)
            waiting.changed[changed] = step


def _protect_set(terms: WorkingTerms, codes: Numbers, k: int, *, exponential: bool) -> Numbers:
    """Merge the least supported term of a set until that is safe, or suppress its constraint; return what changed."""
    own = terms.terms_of(codes)
    fixed = int(own[np.argmin(terms.arrays.support[own])])
    while 0 < terms.held(codes, k) < k:
        pair = terms.cheapest_pair(np.array([fixed], dtype=np.int32), exponential=exponential)
        if pair is None:
            # All codes that may be generalized with it go.
            before = terms.term_of.copy()
            group = terms.groups.group[fixed]
            together = terms.groups.codes[terms.groups.starts[group] : terms.groups.starts[group + 1]]
            for one in terms.terms_of(together).tolist():
                terms.suppress(one)
            return np.flatnonzero(before != terms.term_of).astype(np.int32)
        fixed = terms.merge(*pair)
    return terms.members(fixed).astype(np.int32)


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
    """Return the smallest code of the term that each code is in, when all sets of up to m codes have k records: AA.

    Whole subtrees of a hierarchy are generalized, for sets of one code first, then of two, up to m. An itemset that
    fewer than k records hold is mended by the cheapest choice of nodes above its items that makes k records hold it.
    Source: Terrovitis, Mamoulis, Kalnis (2008), "Privacy-preserving anonymization of set-valued data", PVLDB 1(1),
    section 4 (Apriori-based anonymization). Deviations: itemsets of one size are tried by support, the largest first,
    then by codes, not in the order of a count tree, and one choice of nodes is looked for among all. The loss is NCP,
    an item's share of the codes that its node covers, weighted by occurrences; ties: the lowest heights, in the order
    of the items. Nothing is suppressed.
    """
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
