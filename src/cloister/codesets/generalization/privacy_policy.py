"""Privacy policies: the sets of codes by which somebody might recognize a patient.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), "Privacy-preserving publication of diagnosis codes for effective
biomedical analysis", IEEE ITAB, sections III.D and V.

Whoever may know a set may know any part of it, so a policy is reduced to its maximal sets. A set that no record holds
protects nothing by itself, although parts of it may occur: there the paper is silent, and cloister protects the
largest parts that do occur.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import MARK, occurrence
from cloister.errors import InputError
from cloister.kernels.terms import supports

from .combinations import CodePostings, combinations_in, from_table, joined, maximal, maximal_parts
from .data import PrivacySets, Sets, VisitsFile
from .privacy_files import ALL, RECORDS, VISITS, StatedSets, sets_of, sets_of_json, sets_of_records, sets_of_visits
from .terms import record_bits

WHOLE = 1
"""One record is enough for a set to occur."""


@dataclass(frozen=True, eq=False, repr=False)
class PrivacyPolicy:
    """Sets of codes that must lead to k patients at least, or to none.

    Attributes
    ----------
    vocabulary : the codes that are named, in the order of their UTF-8 bytes
    sets : the maximal sets, each once, in the order of their codes
    spec : where the policy came from, as on the command line: ``all:2``, ``visits:FILE``, ``records``, a file's name
    m : for ``all:m``, else None

    Examples
    --------
    >>> policy = PrivacyPolicy.of([["401.0", "480.1"], ["480.1"]])
    >>> len(policy), policy.vocabulary
    (1, ('401.0', '480.1'))
    """

    vocabulary: tuple[str, ...]
    sets: Sets
    spec: str = "given"
    m: int | None = None

    def __len__(self) -> int:
        return len(self.sets)

    def __repr__(self) -> str:
        return f"PrivacyPolicy({self.spec!r}, {len(self)} sets of codes)"

    @classmethod
    def of(cls, sets: Iterable[Iterable[str]], spec: str = "given") -> "PrivacyPolicy":
        """Make a policy of sets of codes; codes that do not occur in the data are allowed.

        Raises
        ------
        InputError
            There is no set, or one is empty.
        """
        return cls._maximal(sets_of(sets, spec))

    @classmethod
    def _maximal(cls, stated: StatedSets) -> "PrivacyPolicy":
        return cls(stated.vocabulary, maximal(stated.sets), stated.spec)

    @classmethod
    def all_combinations(cls, codes: CodeSets, m: int = 2) -> "PrivacyPolicy":
        """Every set of up to m codes that some patient has.

        Raises
        ------
        InputError
            m is not a whole number from 1 on, or there are too many sets.
        """
        if isinstance(m, bool) or not isinstance(m, int) or m < 1:
            raise InputError(f"m is {m!r}, but must be a whole number from 1 on.")
        records = _records(codes)
        largest = min(m, int(records.sizes.max(initial=1)))
        found = from_table(combinations_in(records, largest, codes.n_codes))
        short = records.chosen(records.sizes < largest)
        return cls(codes.vocabulary, maximal(found.joined(short)), f"{ALL}:{m}", m)

    @classmethod
    def records(cls, codes: CodeSets) -> "PrivacyPolicy":
        """All the codes of each patient."""
        return cls._maximal(sets_of_records(codes))

    @classmethod
    def visits(cls, visits: str | Path | Sequence[Iterable[str]], read_as: VisitsFile | None = None) -> "PrivacyPolicy":
        """Codes that were recorded together, as at one visit.

        Parameters
        ----------
        visits : lists of codes; or a file with one visit a line, codes separated by spaces (``codes``), or one code
            a line (``visit_id,code``; without such a column, what was recorded of a patient counts as one visit);
            ids of visits must differ also between patients
        read_as : of a file, its columns and how it is written, where that must be told

        Raises
        ------
        InputError
            The file cannot be read, or a visit has no code.
        """
        if not isinstance(visits, str | Path):
            return cls.of(visits, VISITS)
        return cls._maximal(sets_of_visits(visits, read_as))

    @classmethod
    def from_json(cls, path: str | Path) -> "PrivacyPolicy":
        """Read a policy: a list of lists of codes.

        Raises
        ------
        InputError
            The file is not that.
        """
        return cls._maximal(sets_of_json(path))


@dataclass(frozen=True, eq=False, repr=False)
class PrivacyConstraints:
    """A privacy policy on data; sets of numbers of codes that occur.

    Attributes
    ----------
    given : what occurs of each set of the policy, in its order; empty where nothing does
    required : the largest sets that some record holds, of those given and their parts, in the order of their numbers
    apart : the largest given sets whose codes all occur, but in no record together
    """

    given: Sets
    required: Sets
    apart: Sets


def constraints_on(policy: PrivacySets, codes: CodeSets) -> PrivacyConstraints:
    """Return what a policy asks of data; where diagnoses repeat, a code stands for its first occurrence.

    Whoever knows an occurrence of a code knows of the earlier ones, so that these are part of the set. Of sets of up to
    m codes every set with earlier ones in place is one as well, and terms see to the rest (`WorkingTerms`).
    """
    number = {code: place for place, code in enumerate(codes.vocabulary)}
    if codes.repeats and policy.m is None:
        return _constraints(_with_earlier(policy, number), codes)
    held = codes.supports() > 0
    position = np.array([number.get(code, -1) for code in policy.vocabulary], dtype=np.int32)
    position[position >= 0] = np.where(held[position[position >= 0]], position[position >= 0], -1)
    items = position[policy.sets.items]
    known = items >= 0
    sizes = np.bincount(policy.sets.owners()[known], minlength=len(policy.sets))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return _constraints(Sets(offsets, items[known]), codes)


def _with_earlier(policy: PrivacySets, number: Mapping[str, int]) -> Sets:
    """The sets of a policy as numbers of occurrences, every one with the earlier ones of its code."""
    occurrences: list[list[int]] = []
    for name in policy.vocabulary:
        code, last = occurrence(name) or (name, 1)
        numbered = (number.get(f"{code}{MARK}{place}") for place in range(1, min(last, len(number)) + 1))
        occurrences.append([place for place in numbered if place is not None])
    return Sets.of(
        [item for named in policy.sets.members(at).tolist() for item in occurrences[named]]
        for at in range(len(policy.sets))
    )


def _constraints(given: Sets, codes: CodeSets) -> PrivacyConstraints:
    distinct = maximal(given)
    every = np.arange(codes.n_codes, dtype=np.int32)
    bits = record_bits(codes)
    occurs = supports(every, bits, distinct.offsets, distinct.items, WHOLE) > 0
    apart = distinct.chosen(~occurs)
    required = distinct.chosen(occurs)
    if len(apart):
        postings = CodePostings.of(_records(codes), codes.n_codes)
        parts = joined([maximal_parts(apart.members(number), postings) for number in range(len(apart))])
        required = maximal(required.joined(parts))
    return PrivacyConstraints(given, required, apart)


def parse_privacy(spec: str, codes: CodeSets, read_as: VisitsFile | None = None) -> PrivacyPolicy:
    """Return a policy by its words: ``all:2``, ``visits:FILE``, ``records`` or a JSON file."""
    kind, colon, rest = spec.partition(":")
    if spec == RECORDS:
        return PrivacyPolicy.records(codes)
    if kind == VISITS and colon:
        return PrivacyPolicy.visits(rest, read_as)
    if kind != ALL or not colon:
        return PrivacyPolicy.from_json(spec)
    if not rest.isascii() or not rest.isdigit():
        raise InputError(f"The privacy policy {spec!r} needs a whole number after the colon, as in all:2.")
    return PrivacyPolicy.all_combinations(codes, int(rest))


def _records(codes: CodeSets) -> Sets:
    return Sets(codes.offsets, codes.items)
