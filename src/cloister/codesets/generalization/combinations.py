"""Sets of codes enumerated, reduced to those that lie in no other, and their parts that occur in records."""

from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np

from cloister.codesets.data import CodeSets
from cloister.errors import InputError
from cloister.kernels.itemset_support import covered_sets
from cloister.kernels.terms import supports

from .data import Integers, Numbers, Sets
from .terms import record_bits

AT_ONCE = 5_000_000
"""Sets that are enumerated before those that were met before are left out."""

MOST_SETS = 500_000_000
"""More sets than these, counted once for each record that holds them, are refused."""


def maximal(sets: Sets) -> Sets:
    """Return the sets that lie in no other, each once, in the order of their numbers; the empty set is left out."""
    once = sets.distinct()
    return once.chosen(~covered_sets(once.offsets, once.items) & (once.sizes > 0))


def combinations_in(records: Sets, size: int, width: int) -> Numbers:
    """Return every set of so many numbers that some record holds, each once, in order: (n_sets, size).

    Parameters
    ----------
    size : at least 1
    width : all numbers are below this

    Raises
    ------
    InputError
        There are too many.
    """
    many = np.array([float(comb(length, size)) for length in range(int(records.sizes.max(initial=0)) + 1)])
    ends = np.cumsum(many[records.sizes])
    if ends.size and ends[-1] > MOST_SETS:
        raise InputError(
            f"The patients have {ends[-1]:.1e} sets of {size} codes, but at most {MOST_SETS:.0e} can be looked at. "
            "Ask for sets of fewer codes."
        )
    cuts = np.unique(np.searchsorted(ends, np.arange(AT_ONCE, ends[-1], AT_ONCE)) + 1) if ends.size else np.arange(0)
    found = np.empty((0, size), dtype=np.int32)
    for first, last in pairwise([0, *cuts.tolist(), len(records)]):
        start, end = records.offsets[[first, last]].tolist()
        block = Sets(records.offsets[first : last + 1] - start, records.items[start:end])
        found = _once(np.concatenate([found, _combinations(block, size)]), width)
    return found


def _combinations(records: Sets, size: int) -> Numbers:
    """Every set as often as it occurs: each is continued by every later number of its record."""
    ends = np.repeat(records.offsets[1:], records.sizes)
    places = np.arange(records.items.size)[:, None]
    for _ in range(size - 1):
        last = places[:, -1]
        later = ends[last] - last - 1
        before = np.repeat(np.cumsum(later) - later, later)
        following = np.repeat(last + 1, later) + np.arange(before.size) - before
        places = np.column_stack([np.repeat(places, later, axis=0), following])
    return records.items[places]


def _once(table: Numbers, width: int) -> Numbers:
    """Distinct rows in order."""
    size = table.shape[1]
    if float(width) ** size >= 2.0**62:
        return np.unique(table, axis=0)
    keys = np.zeros(len(table), dtype=np.int64)
    for column in table.T:
        keys = keys * width + column
    keys = np.unique(keys)
    rows = np.empty((len(keys), size), dtype=np.int32)
    for place in range(size - 1, -1, -1):
        keys, rows[:, place] = np.divmod(keys, width)
    return rows


def from_table(rows: Numbers) -> Sets:
    """Return the rows of a table as sets."""
    return Sets(np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1], rows.reshape(-1))


@dataclass(frozen=True, eq=False, repr=False)
class CodePostings:
    """Records by code: those of code ``c`` are ``records[starts[c]:starts[c + 1]]``, ascending."""

    starts: Integers
    records: Integers

    @classmethod
    def of(cls, records: Sets, n_codes: int) -> "CodePostings":
        """Index records."""
        starts = np.zeros(n_codes + 1, dtype=np.int64)
        np.cumsum(np.bincount(records.items, minlength=n_codes), out=starts[1:])
        return cls(starts, records.owners()[np.argsort(records.items, kind="stable")])

    def restricted(self, codes: Numbers) -> Sets:
        """Return what records have of some codes, as places in the list, for each record that has any.

        Parameters
        ----------
        codes : ascending
        """
        held = [self.records[self.starts[code] : self.starts[code + 1]] for code in codes.tolist()]
        place = np.repeat(np.arange(len(codes), dtype=np.int32), [len(found) for found in held])
        record = np.concatenate(held) if held else np.empty(0, dtype=np.int64)
        order = np.argsort(record, kind="stable")
        ends = np.flatnonzero(np.diff(record[order], append=-1))
        return Sets(np.concatenate([[0], ends + 1]).astype(np.int64), place[order])


def maximal_parts(codes: Numbers, postings: CodePostings) -> Sets:
    """Return the largest parts of a set of codes that some record holds; none where none of its codes occurs."""
    parts = maximal(postings.restricted(codes))
    return Sets(parts.offsets, codes[parts.items])


def rare_parts(terms: Numbers, postings: CodePostings, k: int) -> Sets:
    """Return the parts of a set of terms that 1 to k - 1 records hold, of those that are all a record has of it."""
    records = postings.restricted(terms)
    parts = records.distinct()
    names = tuple(map(str, range(len(terms))))
    every = np.arange(len(terms), dtype=np.int32)
    bits = record_bits(CodeSets(names, records.offsets, records.items))
    rare = parts.chosen(supports(every, bits, parts.offsets, parts.items, k) < k)
    return Sets(rare.offsets, terms[rare.items])


def joined(sets: list[Sets]) -> Sets:
    """Return the sets of all, one after the other."""
    items = [each.items for each in sets]
    sizes = [each.sizes for each in sets]
    return Sets(
        np.concatenate([[0], np.cumsum(np.concatenate([*sizes, np.empty(0, dtype=np.int64)]))]).astype(np.int64),
        np.concatenate([*items, np.empty(0, dtype=np.int32)]),
    )
