"""The terms of least loss, exactly, where there are few codes.

Codes are decided one after the other, those of most records first: each is suppressed, or becomes part of a term with
codes that are not decided. Two bounds end most attempts early: what the codes that are left lose at least, if no set of
the privacy policy stood in the way of two terms; and a set whose decided terms are together in fewer than k records
will be in no more. The search is ours, not from a paper.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cloister.shapes.codes.data import Integers
from cloister.shapes.generalization.format.data import Numbers

from .moves import TermSearch

MOST_CODES = 12
"""Codes of which all terms are looked at: there are 2^12, and some ten million ways to choose from them."""

IsProtected = Callable[[Numbers], bool]


class _Term(NamedTuple):
    """A term that may be released; codes and records are the bits of a number, and sets those with one of its codes."""

    codes: int
    price: int
    records: int
    sets: list[int]


class ExactSearch:
    """The choice of terms that loses least of all that are protected.

    ``search``: knows the codes, the hierarchy, the groups and the sets
    ``is_protected``: whether terms protect the sets that occur in no record as well, in whole and in part
    """

    def __init__(self, search: TermSearch, is_protected: IsProtected) -> None:
        self.search, self.is_protected = search, is_protected
        self.order = np.argsort(-search.occurrences, kind="stable")  # a bit of a number is a place in this order
        self.place = np.argsort(self.order)
        self.pays = (search.occurrences[self.order] * search.unit).tolist()
        self.sets = [self._bits_of(search.required.members(number)) for number in range(len(search.required))]
        self.by_first: list[list[_Term]] = [[] for _ in self.pays]
        for group in np.unique(search.group).tolist():
            self._add_terms(self.order[search.group[self.order] == group])
        for terms in self.by_first:
            terms.sort(key=lambda term: (term.price, term.codes))
        self.least = self._least_losses()

    def find(self, start: Numbers) -> Numbers:
        """Return the terms that lose least, as the smallest code of the term of each code, -1 where it is suppressed.

        ``start``: protected terms; they are returned if no others lose less
        """
        self.best, self.best_loss = start, self.search.loss_of(start)
        everyone = (1 << 64 * self.search.base.shape[1]) - 1
        self._decide(len(self.least) - 1, [], 0, [everyone] * len(self.sets))
        return self.best

    def _bits_of(self, codes: Numbers | Integers) -> int:
        return sum(1 << place for place in self.place[codes].tolist())

    def _add_terms(self, group: Integers) -> None:
        """Add the terms of a group that protect the sets they are in by themselves."""
        search = self.search
        rows = [int.from_bytes(search.base[code].tobytes(), "little") for code in group.tolist()]
        for chosen in range(1, 1 << len(rows)):
            places = [place for place in range(len(rows)) if chosen >> place & 1]
            codes, records = group[places], 0
            for place in places:
                records |= rows[place]
            bits, n_records = self._bits_of(codes), records.bit_count()
            sets = [number for number, one in enumerate(self.sets) if one & bits]
            if n_records >= search.k or not sets:
                price = codes.size * search.tree.joint_level(codes) * n_records
                self.by_first[_first(bits)].append(_Term(bits, price, records, sets))

    def _least_losses(self) -> list[int]:
        """Return what codes lose at least, by the bits of their places, if no two terms stand in each other's way."""
        least = [0] * (1 << len(self.pays))
        for codes in range(1, len(least)):
            first = _first(codes)
            found = self.pays[first] + least[codes & (codes - 1)]
            for term in self.by_first[first]:
                if term.price >= found:
                    break
                if not term.codes & ~codes:
                    found = min(found, term.price + least[codes & ~term.codes])
            least[codes] = found
        return least

    def _decide(self, left: int, chosen: list[_Term], loss: int, held: list[int]) -> None:
        """Decide the first code that is left in every way that can still lose less than the best.

        ``held``: the records that have what is decided of each set
        """
        if loss + self.least[left] >= self.best_loss:
            return
        if not left:
            self._keep(chosen, loss)
            return
        first = _first(left)
        for term in self.by_first[first]:
            if loss + term.price >= self.best_loss:
                break
            rest = left & ~term.codes
            if term.codes & ~left or loss + term.price + self.least[rest] >= self.best_loss:
                continue
            now = self._hold(term, held)
            if now is not None:
                self._decide(rest, [*chosen, term], loss + term.price, now)
        self._decide(left & (left - 1), chosen, loss + self.pays[first], held)

    def _hold(self, term: _Term, held: list[int]) -> list[int] | None:
        """Return the records that have what is decided of each set, with a further term; None if one has too few."""
        now, records, k = held.copy(), term.records, self.search.k
        for number in term.sets:
            now[number] &= records
            if now[number].bit_count() < k:
                return None
        return now

    def _keep(self, chosen: list[_Term], loss: int) -> None:
        found = np.full(self.search.n_codes, -1, dtype=np.int32)
        for term in chosen:
            codes = [int(code) for place, code in enumerate(self.order) if term.codes >> place & 1]
            found[codes] = min(codes)
        if chosen and self.is_protected(found):
            self.best, self.best_loss = found, loss


def _first(codes: int) -> int:
    """The first place of some codes."""
    return (codes & -codes).bit_length() - 1
