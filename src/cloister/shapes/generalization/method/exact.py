"""The terms of least loss, exactly, where there are few codes.

Codes are decided one after the other, those of most records first: each is suppressed, or becomes part of a term with
codes that are not decided. Three bounds end most attempts early: what the codes that are left lose at least, if no set
of the privacy policy stood in the way of two terms; a set whose decided terms are together in fewer than k records,
which will be in no more; and a set that no record holds, of which some decided terms are together in 1 to k - 1. Equal
records are counted once, so that the time does not depend on their number. The search is ours, not from a paper.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from cloister.shapes.codes.data import CodeSets, Integers
from cloister.shapes.generalization.format.data import Numbers, Sets

from .moves import TermSearch

MOST_CODES = 12
"""Codes of which all terms are looked at: there are 2^12, and some ten million ways to choose from them."""

MOST_COUNTED = 30_000_000
"""Sets that are counted at most, some twenty seconds; then the search ends with the best that was found."""

IsReleased = Callable[[Numbers], bool]


class _Term(NamedTuple):
    """A term that may be released; codes and records are the bits of a number."""

    codes: int
    price: int
    records: int
    sets: list[int]  # the sets with one of its codes that some record holds
    apart: list[int]  # the same of sets that no record holds


class _Decided(NamedTuple):
    """The records that have what is decided: of each set, and of each part of each set that no record holds."""

    sets: list[int]
    parts: list[list[int]]


class ExactSearch:
    """The choice of terms that loses least of all that are protected.

    ``search``: knows the hierarchy, the groups and the sets that some record holds
    ``apart``: the sets that no record holds
    ``is_released``: whether terms can be released
    """

    def __init__(self, codes: CodeSets, search: TermSearch, apart: Sets, is_released: IsReleased) -> None:
        self.search, self.is_released = search, is_released
        self.order = np.argsort(-search.occurrences, kind="stable")  # a bit of codes is a place in this order
        self.place = np.argsort(self.order)
        self.pays = (search.occurrences[self.order] * search.unit).tolist()
        self.sets = [self._bits_of(search.required.members(number)) for number in range(len(search.required))]
        self.apart = [self._bits_of(apart.members(number)) for number in range(len(apart))]
        self._count_equal_records(codes)
        self.counted = 0
        self.by_first: list[list[_Term]] = [[] for _ in self.pays]
        for group in np.unique(search.group).tolist():
            self._add_terms(self.order[search.group[self.order] == group])
        for terms in self.by_first:
            terms.sort(key=lambda term: (term.price, term.codes))
        self.least = self._least_losses()

    @property
    def is_complete(self) -> bool:
        """Whether the search came to its end; else the terms need not lose least."""
        return self.counted < MOST_COUNTED

    @property
    def bound(self) -> int:
        """What any terms lose at least."""
        return self.best_loss if self.is_complete else self.least[-1]

    def find(self, start: Numbers) -> Numbers:
        """Return the terms that lose least, as the smallest code of the term of each code, -1 where it is suppressed.

        ``start``: protected terms; they are returned if no others lose less
        """
        self.best, self.best_loss = start, self.search.loss_of(start)
        everyone = (1 << self.n_patterns) - 1
        held = _Decided([everyone] * len(self.sets), [[everyone] for _ in self.apart])
        self._decide(len(self.least) - 1, [], 0, held)
        return self.best

    def _bits_of(self, codes: Numbers | Integers) -> int:
        return sum(1 << place for place in self.place[codes].tolist())

    def _count_equal_records(self, codes: CodeSets) -> None:
        """Number the distinct records; of each code, which have it, and of each power of two, which are so many."""
        owners = np.repeat(np.arange(codes.n_records), np.diff(codes.offsets))
        patterns = np.zeros(codes.n_records, dtype=np.int64)
        np.bitwise_or.at(patterns, owners, np.left_shift(1, self.place[codes.items]))
        distinct, counts = np.unique(patterns, return_counts=True)
        self.n_patterns = distinct.size
        self.having = [_packed(distinct >> place & 1) for place in range(len(self.pays))]
        self.powers = [_packed(counts >> power & 1) for power in range(int(counts.max()).bit_length())]

    def _count(self, records: int) -> int:
        """Return the number of records of some distinct ones."""
        return sum((records & many).bit_count() << power for power, many in enumerate(self.powers))

    def _add_terms(self, group: Integers) -> None:
        """Add the terms of a group that protect the sets they are in by themselves."""
        places = self.place[group].tolist()
        for chosen in range(1, 1 << len(places)):
            own = [place for number, place in enumerate(places) if chosen >> number & 1]
            bits, records = sum(1 << place for place in own), 0
            for place in own:
                records |= self.having[place]
            n_records, codes = self._count(records), self.order[own]
            sets = [number for number, one in enumerate(self.sets) if one & bits]
            apart = [number for number, one in enumerate(self.apart) if one & bits]
            if n_records >= self.search.k or not (sets or apart):
                price = codes.size * self.search.tree.joint_level(codes) * n_records
                self.by_first[_first(bits)].append(_Term(bits, price, records, sets, apart))

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

    def _decide(self, left: int, chosen: list[_Term], loss: int, held: _Decided) -> None:
        """Decide the first code that is left in every way that can still lose less than the best."""
        if loss + self.least[left] >= self.best_loss or not self.is_complete:
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

    def _hold(self, term: _Term, held: _Decided) -> _Decided | None:
        """Return which records have what is decided, with a further term; None if too few have it."""
        sets, parts = held.sets.copy(), held.parts.copy()
        for number in term.sets:
            self.counted += 1
            sets[number] &= term.records
            if self._count(sets[number]) < self.search.k:
                return None
        for number in term.apart:
            more = [both for part in parts[number] if (both := part & term.records)]
            self.counted += len(more)
            if any(self._count(part) < self.search.k for part in more):
                return None
            parts[number] = [*parts[number], *more]
        return _Decided(sets, parts)

    def _keep(self, chosen: Sequence[_Term], loss: int) -> None:
        found = np.full(self.search.n_codes, -1, dtype=np.int32)
        for term in chosen:
            codes = [int(code) for place, code in enumerate(self.order) if term.codes >> place & 1]
            found[codes] = min(codes)
        if chosen and self.is_released(found):
            self.best, self.best_loss = found, loss


def _packed(flags: Integers) -> int:
    """Return flags as the bits of a number."""
    return int.from_bytes(np.packbits(flags.astype(np.bool_), bitorder="little").tobytes(), "little")


def _first(codes: int) -> int:
    """The first place of some codes."""
    return (codes & -codes).bit_length() - 1
