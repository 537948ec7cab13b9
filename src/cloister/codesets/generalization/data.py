"""The forms of generalized code sets: what is asked, what is released, and what it costs; sets of numbers as arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.data import LARGEST, CodeSets, owners, spread, starts_of
from cloister.codesets.request import CodesRequest
from cloister.errors import InputError
from cloister.hierarchy.bound import Hierarchy

Integers = NDArray[np.int64]
Numbers = NDArray[np.int32]
RECORDS, VISITS, ALL = "records", "visits", "all"  # Words that a policy begins with where it is no JSON file
WORD = 64
OPEN, CLOSE, BETWEEN = "(", ")", ","  # What a term of several codes is written with


@dataclass(frozen=True, eq=False, repr=False)
class Sets:
    """Sets of numbers, one after the other."""

    offsets: Integers  # (n_sets + 1,) int64, where each set begins in ``items``
    items: Numbers  # int32, numbers from 0, ascending within a set

    def __len__(self) -> int:
        return self.offsets.size - 1

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> "Sets":
        """Take sets in the order they come in."""
        ordered = [sorted(set(each)) for each in sets]
        offsets = starts_of([len(each) for each in ordered])
        return cls(offsets, np.array([item for each in ordered for item in each], dtype=np.int32))

    @property
    def sizes(self) -> Integers:
        """Numbers in each set, shape (n_sets,)."""
        return np.diff(self.offsets)

    def members(self, number: int) -> Numbers:
        """Return one set."""
        return self.items[self.offsets[number] : self.offsets[number + 1]]

    def chosen(self, which: NDArray[np.bool_] | Integers) -> "Sets":
        """Return some of the sets, in the order asked for."""
        numbers = np.flatnonzero(which) if which.dtype == np.bool_ else which
        sizes = self.sizes[numbers]
        offsets = starts_of(sizes)
        return Sets(offsets, self.items[spread(self.offsets[numbers], sizes)])

    def owners(self) -> Integers:
        """Return the number of the set that each item is in."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def joined(self, *others: "Sets") -> "Sets":
        """Return these sets and others after them."""
        every = (self, *others)
        offsets = starts_of(np.concatenate([sets.sizes for sets in every]))
        return Sets(offsets, np.concatenate([sets.items for sets in every]))

    def distinct(self) -> "Sets":
        """Return each set once, in the order of their numbers; a set comes before those that go on from it."""
        order = self.order()
        table = self._padded()[order]
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = np.any(table[1:] != table[:-1], axis=1)
        return self.chosen(order[first])

    def order(self) -> Integers:
        """Return the numbers of the sets in the order of their numbers, equal ones as they stand: (n_sets,)."""
        table = self._padded()
        return np.lexsort(table.T[::-1]) if table.shape[1] else np.arange(len(self))

    def _padded(self) -> Numbers:
        """One row a set, -1 after its end."""
        sizes = self.sizes
        table = np.full((len(self), int(sizes.max(initial=0))), -1, dtype=np.int32)
        table[np.arange(table.shape[1]) < sizes[:, None]] = self.items
        return table


def named(sets: Sets, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the sets with names in place of numbers."""
    words = [names[item] for item in sets.items.tolist()]
    return [tuple(words[start:end]) for start, end in pairwise(sets.offsets.tolist())]


@dataclass(frozen=True, eq=False, repr=False)
class PrivacySets:
    """Sets of codes of a privacy policy, as it states them."""

    vocabulary: tuple[str, ...]  # the codes that are named, in the order of their UTF-8 bytes
    sets: Sets  # positions in the vocabulary
    spec: str = "given"  # where the policy came from: ``all:2``, ``visits:FILE``, ``records``, a file's name
    m: int | None = None  # most codes of a set where all sets of so many codes are meant, for ``all:m``

    def __len__(self) -> int:
        return len(self.sets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec!r}, {len(self)} sets of codes)"


def record_bits(codes: CodeSets) -> NDArray[np.uint64]:
    """Return the records of each code, one bit a record: (n_codes, ceil(n_records / 64))."""
    bits = np.zeros((codes.n_codes, -(-codes.n_records // WORD)), dtype=np.uint64)
    record = owners(codes.offsets)
    places = (codes.items, record // WORD)
    np.bitwise_or.at(bits, places, np.uint64(1) << (record % WORD).astype(np.uint64))
    return bits


class GeneralizationMethod(StrEnum):
    """How codes are generalized."""

    CBA = "cba"
    UGACLIP = "ugaclip"
    APRIORI = "apriori"


class Uncovered(StrEnum):
    """What may become of codes that are in no set of the utility policy where they cannot stay as they are."""

    GENERALIZE = "generalize"
    SUPPRESS = "suppress"


class TermLoss(StrEnum):
    """What methods keep low: a term of n codes counts n (ILM) or 2^n - 1 (UL)."""

    ILM = "ilm"
    UL = "ul"


class Status(StrEnum):
    """What became of a set of the privacy policy."""

    SATISFIED = "satisfied"
    VACUOUS = "vacuous"
    SUPPRESSED = "protected by suppression"
    VIOLATED = "violated"


@dataclass(frozen=True)
class GeneralizationRequest(CodesRequest):
    """What is asked of a generalization.

    Codes are generalized only with codes of the same set of ``policy``; without one with any, or with none where
    uncovered codes are suppressed. AA generalizes along the hierarchy whatever the policy.
    """

    privacy: PrivacySets
    method: GeneralizationMethod = GeneralizationMethod.CBA
    uncovered: Uncovered = Uncovered.GENERALIZE  # codes of no set are one more, or suppressed
    loss: TermLoss = TermLoss.ILM  # what CBA and UGACLIP keep low
    hierarchy: Hierarchy | None = None  # how close codes are; None: ICD-9-CM or ICD-10-CM, whichever knows more

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= LARGEST:
            raise InputError(f"k is {self.k!r}, but must be a whole number from 1 to {LARGEST}.")
        if self.method is GeneralizationMethod.APRIORI and self.privacy.m is None:
            raise InputError(
                "The method apriori protects all sets of up to m codes, but the privacy policy is "
                f"{self.privacy.spec}. Give -m, or choose the method cba or ugaclip."
            )

    @property
    def by_sets(self) -> bool:
        """Whether terms keep to the sets of the utility policy."""
        return self.method is not GeneralizationMethod.APRIORI


def term_text(codes: Sequence[str]) -> str:
    """Return a term as it is written: a code, or codes in brackets.

    Examples
    --------
    >>> term_text(["296.00"]), term_text(["296.00", "296.01"])
    ('296.00', '(296.00,296.01)')
    """
    return codes[0] if len(codes) == 1 else f"{OPEN}{BETWEEN.join(codes)}{CLOSE}"


@dataclass(frozen=True, eq=False, repr=False)
class Generalization:
    """Code sets whose codes stand in sets: a record that has a term has one or more of its codes."""

    k: int
    vocabulary: tuple[str, ...]  # the codes that occur in the original, in the order of their UTF-8 bytes
    terms: Sets  # the terms as sets of positions in the vocabulary, disjoint, in the order of their smallest codes
    suppressed: Numbers  # int32, codes of no term, ascending
    # the terms of each record, as sets of term numbers, in their order; empty where all codes are suppressed, which is
    # so for no record or for k at least
    records: Sets
    m: int | None = None  # sets of up to so many codes are protected, if that is what is promised
    repeats: bool = False  # whether the codes are numbered occurrences

    def __repr__(self) -> str:
        return f"Generalization({len(self.records)} records, {len(self.terms)} terms)"

    @property
    def n_records(self) -> int:
        """How many records are released, those without any term included."""
        return len(self.records)

    def term_of(self) -> Numbers:
        """Return the number of the term that each code is in, -1 for none: (n_codes,) int32."""
        found = np.full(len(self.vocabulary), -1, dtype=np.int32)
        found[self.terms.items] = self.terms.owners()
        return found

    def supports(self) -> Integers:
        """Return the records that hold each term, shape (n_terms,)."""
        return np.bincount(self.records.items, minlength=len(self.terms)).astype(np.int64)

    def named_terms(self) -> list[tuple[str, ...]]:
        """Return the codes of each term."""
        return named(self.terms, self.vocabulary)

    def named_records(self) -> list[tuple[str, ...]]:
        """Return the terms of each record as they are written: a code, or codes in brackets."""
        return named(self.records, [term_text(codes) for codes in self.named_terms()])


@dataclass(frozen=True)
class PolicySetOutcome:
    """What became of one set of the utility policy: how many of its codes occur, and how many of them are suppressed.

    It is satisfied if no term that holds one of its codes reaches beyond it (Definition 3.2), and fully preserved if
    nothing of it is suppressed either: the patients with any of its codes are as many.
    """

    name: str
    codes: int
    suppressed: int
    satisfied: bool

    @property
    def fully_preserved(self) -> bool:
        """Whether the set is satisfied and nothing of it suppressed."""
        return self.satisfied and not self.suppressed


@dataclass(frozen=True)
class GeneralizationFigures:
    """What was lost; for the custodian, since occurrences are told of codes that few have."""

    ilm: float  # information loss metric over all terms and suppressed codes
    log_ul: float  # natural logarithm of the exponential loss; -inf where nothing is lost
    ncp: float  # normalized certainty penalty, in [0, 1]
    # suppressed_codes, suppressed_occurrences: distinct codes, and codes of records
    suppressed_codes: int
    suppressed_occurrences: int
    # empty_records, left_out: records that keep no term, and those of them that are not released
    empty_records: int
    left_out: int
    ilm_terms: float  # information loss of the terms alone, over the released records
    closeness: str  # the hierarchy that weights were taken from
    statuses: Mapping[Status, int]
    outcomes: tuple[PolicySetOutcome, ...]


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizedCodes:
    """Generalized code sets, and what only the custodian may know."""

    released: Generalization
    origin: Integers  # (n_released,) int64, record of the original behind each released one; secret
    original: CodeSets  # the original, without codes that occur nowhere
    figures: GeneralizationFigures
