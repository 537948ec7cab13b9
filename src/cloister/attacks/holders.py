"""Records that hold codes, or terms that stand for several, in which known codes are looked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from cloister.codesets.data import CodeSets

from .adversary import Integers, Sight
from .labelled import sight_of

NO_TERM = -1


@dataclass(frozen=True, eq=False, repr=False)
class Holders:
    """Records that hold sets of terms.

    Attributes
    ----------
    postings : for each term, the records that hold it, ascending
    term_of : term that each code is in, or `NO_TERM`: then nothing is told of it, and any record may hide it
    codes : what is known of patients
    sizes : (n_records,) ones
    own : (n_patients,) the patient's own record, `GONE` or `NOT_KNOWN`
    """

    postings: Sequence[Integers]
    term_of: Integers
    codes: CodeSets
    sizes: Integers
    own: Integers

    def groups(self, target: int, known: Sequence[int]) -> Integers:
        """Return the records that hold a term for each known code of a target."""
        begin = int(self.codes.offsets[target])
        terms = {int(self.term_of[self.codes.items[begin + item]]) for item in known} - {NO_TERM}
        if not terms:
            return np.arange(self.sizes.size)
        wanted = sorted((self.postings[term] for term in terms), key=len)
        return reduce(_both, wanted[1:], wanted[0])

    def look(self, target: int, known: Sequence[int]) -> Sight:
        """Return what somebody sees who knows some codes of a target."""
        return sight_of(self.groups(target, known), self.sizes, int(self.own[target]))


def _both(few: Integers, many: Integers) -> Integers:
    """The numbers that stand in both of two ascending lists."""
    if not many.size:
        return many
    place = np.minimum(np.searchsorted(many, few), many.size - 1)
    found: Integers = few[many[place] == few]
    return found


def as_recorded(codes: CodeSets) -> Holders:
    """Return the original records, each known to be its patient's."""
    owners = np.repeat(np.arange(codes.n_records), np.diff(codes.offsets))
    return Holders(
        postings(codes.items, owners, codes.n_codes),
        np.arange(codes.n_codes),
        codes,
        np.ones(codes.n_records, dtype=np.int64),
        np.arange(codes.n_records),
    )


def postings(items: Any, owners: Integers, n_items: int) -> list[Integers]:
    """Return the owners of each item, ascending; owners ascend already."""
    order = np.argsort(items, kind="stable")
    bounds = np.searchsorted(items[order], np.arange(n_items + 1))
    return [owners[order[bounds[item] : bounds[item + 1]]] for item in range(n_items)]
