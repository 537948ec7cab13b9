"""Codes on their way to generalized terms: merged two at a time, or suppressed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import occurrence
from cloister.kernels.terms import SUPPRESSED, Groups, Terms, cheapest_pair, first_below, supports

from .data import Integers, Numbers, Sets
from .losses import CodeTree

WORD = 64


class WorkingTerms:
    """The partition of the codes as it is now. A term is named by its smallest code.

    Where diagnoses repeat, who has an occurrence of a code has all earlier ones, and terms keep to that: an occurrence
    is a term alone, or in one with all others of its code; with it, all later ones are suppressed. So whoever knows
    how often a patient has a code, and looks for the terms of all these occurrences, finds what the last one tells.
    What a merger costs is counted without the occurrences that join.

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
        own = self.repeated.of_the_same(self.members(kept))
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
        found = [occurrence(name) or (name, 1) for name in vocabulary]
        places = {code: place for place, code in enumerate(dict.fromkeys(code for code, _ in found))}
        return cls(np.array([places[code] for code, _ in found]), np.array([number for _, number in found]))

    def of_the_same(self, occurrences: Integers) -> Numbers:
        """Return all occurrences of the codes that these are of."""
        return np.flatnonzero(np.isin(self.code, self.code[occurrences])).astype(np.int32)

    def with_later(self, occurrences: Integers) -> Integers:
        """Return these occurrences, and the later ones of their codes."""
        first = np.full(int(self.code.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(first, self.code[occurrences], self.number[occurrences])
        return np.flatnonzero(self.number >= first[self.code])


def record_bits(codes: CodeSets) -> NDArray[np.uint64]:
    """Return the records of each code, one bit a record: (n_codes, ceil(n_records / 64))."""
    bits = np.zeros((codes.n_codes, -(-codes.n_records // WORD)), dtype=np.uint64)
    record = np.repeat(np.arange(codes.n_records), np.diff(codes.offsets))
    places = (codes.items, record // WORD)
    np.bitwise_or.at(bits, places, np.uint64(1) << (record % WORD).astype(np.uint64))
    return bits


def grouped(constraints: Sequence[Sequence[int]], n_codes: int, *, uncovered_together: bool) -> Groups:
    """Return utility constraints as arrays.

    Parameters
    ----------
    constraints : disjoint sets of codes
    uncovered_together : whether codes of no constraint are one more constraint; else each is alone
    """
    group = np.full(n_codes, -1, dtype=np.int32)
    for number, members in enumerate(constraints):
        group[list(members)] = number
    rest = np.flatnonzero(group < 0)
    group[rest] = len(constraints) + (0 if uncovered_together else np.arange(len(rest)))
    codes = np.argsort(group, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(group))]).astype(np.int64)
    return Groups(starts, codes, group)
