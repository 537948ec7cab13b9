"""Guessing a further code of a patient from the records that fit all others: inference where nothing is sensitive."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .adversary import Integers, order_of
from .figures import Inference
from .holders import NO_TERM, Holders

A_FURTHER_CODE = "a further code"
"""What is guessed, in place of the name of a column."""


@dataclass(frozen=True, eq=False, repr=False)
class FurtherCode:
    """Released records, or reconstructed ones, from which a code is guessed that stands with known ones.

    Attributes
    ----------
    among : the records
    """

    among: Holders

    def infer(self, targets: Integers, seed: int) -> Inference:
        """Hide the last code of each target, and guess it from the records that fit the others.

        The term is guessed that is right most often, and of a term of several codes one of them. Targets with one code,
        or without a match, are left out.
        """
        supports = np.array([rows.size for rows in self.among.postings], dtype=np.int64)
        records, terms = self._by_record()
        right = blind = 0.0
        certain = n = 0
        for hidden, known, rows in self._hidden(targets, seed):
            n += 1
            fits = np.zeros(self.among.sizes.size, dtype=np.bool_)
            fits[rows] = True
            counts = np.bincount(terms[fits[records]], minlength=supports.size)
            right += self._chance(counts, hidden, known)
            blind += self._chance(supports, hidden, known)
            certain += hidden != NO_TERM and self._sizes[hidden] == 1 and counts[hidden] == rows.size
        of = max(1, n)
        return Inference(A_FURTHER_CODE, n, right / of, blind / of, certain / of)

    @property
    def _sizes(self) -> Integers:
        """Codes of each term."""
        term_of = self.among.term_of
        return np.bincount(term_of[term_of != NO_TERM], minlength=len(self.among.postings))

    def _by_record(self) -> tuple[Integers, Integers]:
        """The record and the term of each occurrence."""
        terms = np.repeat(np.arange(len(self.among.postings)), [rows.size for rows in self.among.postings])
        return np.concatenate([*self.among.postings, np.empty(0, dtype=np.int64)]), terms

    def _hidden(self, targets: Integers, seed: int) -> Iterator[tuple[int, set[int], Integers]]:
        """For each target the term of the hidden code, those of the known ones, and the records that fit."""
        codes, term_of = self.among.codes, self.among.term_of
        for target in targets.tolist():
            begin, end = (int(bound) for bound in codes.offsets[target : target + 2])
            *known, last = order_of(target, end - begin, seed)
            rows = self.among.groups(target, known) if known else np.empty(0, dtype=np.int64)
            if rows.size:
                yield (
                    int(term_of[codes.items[begin + last]]),
                    {int(term_of[codes.items[begin + i]]) for i in known},
                    rows,
                )

    def _chance(self, counts: Integers, hidden: int, known: set[int]) -> float:
        """How likely the best guess is right, by how often each term stands there."""
        sizes = self._sizes
        worth = np.divide(counts, sizes, out=np.zeros(counts.size), where=sizes > 0)
        worth[[term for term in known if term != NO_TERM]] = 0
        guess = int(np.argmax(worth)) if worth.size else NO_TERM
        return 1 / int(sizes[guess]) if guess == hidden and worth[guess] > 0 else 0.0
