"""Privacy policies: the sets of codes by which someone might recognize a patient.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), "Privacy-preserving publication of diagnosis codes for effective
biomedical analysis", IEEE ITAB, sections III.D and V.

Whoever may know a set may know any part of it, so a policy is reduced to its maximal sets. A set that no record holds
protects nothing by itself, although parts of it may occur: there the paper is silent, and cloister protects the
largest parts that do occur.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from pathlib import Path

import numpy as np

from cloister.errors import InputError
from cloister.kernels.itemset_support import covered_sets
from cloister.kernels.ragged import expand_runs, starts_of
from cloister.kernels.terms import supports
from cloister.settings.constraints import Interval, check_value
from cloister.shapes.codes.data import MARK, CodeSets, occurrence

from .data import (
    ALL,
    VISITS,
    Integers,
    Numbers,
    PrivacySets,
    Sets,
    VisitsFile,
    record_bits,
    sets_in,
    sets_of,
    sets_of_json,
    sets_of_records,
    sets_of_visits,
    size_in,
)

WHOLE = 1  # One record is enough for a set to occur
AT_ONCE = 5_000_000  # Sets that are enumerated before those that were met before are omitted
MOST_SETS = 500_000_000  # More sets than these, counted once for each record that holds them, are refused


class PrivacyPolicy(PrivacySets):
    """Sets of codes that must match at least k patients, or none: maximal sets, each once, in order.

    Examples
    --------
    >>> policy = PrivacyPolicy.of([["401.0", "480.1"], ["480.1"]])
    >>> len(policy), policy.vocabulary
    (1, ('401.0', '480.1'))
    """

    @classmethod
    def of(cls, sets: Iterable[Iterable[str]], spec: str = "given") -> "PrivacyPolicy":
        """Make a policy of sets of codes; codes that do not occur in the data are allowed."""
        return cls.maximal_of(sets_of(sets, spec))

    @classmethod
    def maximal_of(cls, given: PrivacySets) -> "PrivacyPolicy":
        """Return the policy of the sets that no other set contains."""
        return cls(given.vocabulary, maximal(given.sets), given.spec)

    @classmethod
    def all_combinations(cls, codes: CodeSets, m: int = 2) -> "PrivacyPolicy":
        """Every set of up to m codes that some patient has."""
        check_value("m", m, Interval(int, 1))
        records = Sets(codes.offsets, codes.items)
        largest = min(m, int(records.sizes.max(initial=1)))
        found = from_table(combinations_in(records, largest, codes.n_codes))
        short = records.chosen(records.sizes < largest)
        return cls(codes.vocabulary, maximal(found.joined(short)), f"{ALL}:{m}", m)

    @classmethod
    def records(cls, codes: CodeSets) -> "PrivacyPolicy":
        """All the codes of each patient."""
        return cls.maximal_of(sets_of_records(codes))

    @classmethod
    def visits(cls, visits: str | Path | Sequence[Iterable[str]], read_as: VisitsFile | None = None) -> "PrivacyPolicy":
        """Codes that were recorded together, as at one visit.

        ``visits``: lists of codes; or a file with one visit a line, codes separated by spaces (``codes``), or one code
            a line (``visit_id,code``; without such a column, what was recorded of a patient counts as one visit);
            ids of visits must differ also between patients
        """
        if not isinstance(visits, str | Path):
            return cls.of(visits, VISITS)
        return cls.maximal_of(sets_of_visits(visits, read_as))

    @classmethod
    def from_json(cls, path: str | Path) -> "PrivacyPolicy":
        """Read a policy: a list of lists of codes."""
        return cls.maximal_of(sets_of_json(path))


@dataclass(frozen=True, eq=False, repr=False)
class PrivacyConstraints:
    """A privacy policy on data; sets of numbers of codes that occur."""

    given: Sets  # what occurs of each set of the policy, in its order; empty where nothing does
    required: Sets  # the largest sets that some record holds, of those given and their parts, in order
    apart: Sets  # the largest given sets whose codes all occur, but in no record together


def constraints_on(policy: PrivacySets, codes: CodeSets) -> PrivacyConstraints:
    """Return the constraints of a policy; if diagnoses repeat, a code means its first occurrence.

    Whoever knows an occurrence of a code knows of the earlier ones, so that these are part of the set. Of sets of up to
    m codes every set with earlier ones in place is one as well, and terms see to the rest (`WorkingTerms`).
    """
    given = _occurring(policy, codes)
    distinct = maximal(given)
    every = np.arange(codes.n_codes, dtype=np.int32)
    occurs = supports(every, record_bits(codes), distinct.offsets, distinct.items, WHOLE) > 0
    apart, required = distinct.chosen(~occurs), distinct.chosen(occurs)
    if len(apart):
        postings = CodePostings.of(Sets(codes.offsets, codes.items), codes.n_codes)
        parts = [maximal_parts(apart.members(number), postings) for number in range(len(apart))]
        required = maximal(required.joined(*parts))
    return PrivacyConstraints(given, required, apart)


def _occurring(policy: PrivacySets, codes: CodeSets) -> Sets:
    """What occurs of each set of a policy, in numbers of the data."""
    number = {code: place for place, code in enumerate(codes.vocabulary)}
    if codes.repeats and policy.m is None:
        occurrences: list[list[int]] = []
        for name in policy.vocabulary:
            code, last = occurrence(name) or (name, 1)
            numbered = (number.get(f"{code}{MARK}{place}") for place in range(1, min(last, len(number)) + 1))
            occurrences.append([place for place in numbered if place is not None])
        members = (policy.sets.members(at).tolist() for at in range(len(policy.sets)))
        return Sets.of([item for named in each for item in occurrences[named]] for each in members)
    held = codes.supports() > 0
    position = np.array([number.get(code, -1) for code in policy.vocabulary], dtype=np.int32)
    position[position >= 0] = np.where(held[position[position >= 0]], position[position >= 0], -1)
    items = position[policy.sets.items]
    known = items >= 0
    sizes = np.bincount(policy.sets.owners()[known], minlength=len(policy.sets))
    return Sets(starts_of(sizes), items[known])


def parse_privacy(spec: str, codes: CodeSets, read_as: VisitsFile | None = None) -> PrivacyPolicy:
    """Parse a policy: ``all:2``, ``visits:FILE``, ``records`` or a JSON file."""
    m = size_in(spec)
    if m is not None:
        return PrivacyPolicy.all_combinations(codes, m)
    return PrivacyPolicy.maximal_of(sets_in(spec, codes, read_as))


def maximal(sets: Sets) -> Sets:
    """Return the sets that no other set contains, each once, in number order, without the empty set."""
    once = sets.distinct()
    return once.chosen(~covered_sets(once.offsets, once.items) & (once.sizes > 0))


def combinations_in(records: Sets, size: int, width: int) -> Numbers:
    """Return every set of ``size`` numbers, all below ``width``, that some record holds, each once, in order."""
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
        # Every set as often as it occurs: each is continued by every later number of its record.
        block_ends = np.repeat(block.offsets[1:], block.sizes)
        places = np.arange(block.items.size)[:, None]
        for _ in range(size - 1):
            last_place = places[:, -1]
            later = block_ends[last_place] - last_place - 1
            places = np.column_stack([np.repeat(places, later, axis=0), expand_runs(last_place + 1, later)])
        found = _once(np.concatenate([found, block.items[places]]), width)
    return found


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
        starts = starts_of(np.bincount(records.items, minlength=n_codes))
        return cls(starts, records.owners()[np.argsort(records.items, kind="stable")])

    def restrict_to(self, codes: Numbers) -> Sets:
        """Return what records have of some ascending codes, as places in the list, for each record that has any."""
        held = [self.records[self.starts[code] : self.starts[code + 1]] for code in codes.tolist()]
        place = np.repeat(np.arange(len(codes), dtype=np.int32), [len(found) for found in held])
        record = np.concatenate(held) if held else np.empty(0, dtype=np.int64)
        order = np.argsort(record, kind="stable")
        ends = np.flatnonzero(np.diff(record[order], append=-1))
        return Sets(np.concatenate([[0], ends + 1]).astype(np.int64), place[order])


def maximal_parts(codes: Numbers, postings: CodePostings) -> Sets:
    """Return the largest parts of a set of codes that some record holds; none where none of its codes occurs."""
    parts = maximal(postings.restrict_to(codes))
    return Sets(parts.offsets, codes[parts.items])


def rare_parts(terms: Numbers, postings: CodePostings, k: int) -> Sets:
    """Return the parts of a set of terms that 1 to k - 1 records hold, of those that are all a record has of it."""
    records = postings.restrict_to(terms)
    parts = records.distinct()
    names = tuple(map(str, range(len(terms))))
    every = np.arange(len(terms), dtype=np.int32)
    bits = record_bits(CodeSets(names, records.offsets, records.items))
    rare = parts.chosen(supports(every, bits, parts.offsets, parts.items, k) < k)
    return Sets(rare.offsets, terms[rare.items])
