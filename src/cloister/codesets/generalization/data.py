"""The forms of generalized code sets: what is released, and what it costs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from cloister.codesets.data import CodeSets

from .sets import Integers, Numbers, Sets, named


class Status(StrEnum):
    """What became of a set of the privacy policy."""

    SATISFIED = "satisfied"
    VACUOUS = "vacuous"
    SUPPRESSED = "protected by suppression"
    VIOLATED = "violated"


@dataclass(frozen=True, eq=False, repr=False)
class Generalization:
    """Code sets whose codes stand in sets: a record that has a term has one or more of its codes.

    Attributes
    ----------
    k : what is promised
    vocabulary : the codes that occur in the original, in the order of their UTF-8 bytes
    terms : the terms as sets of positions in the vocabulary, disjoint, in the order of their smallest codes
    suppressed : int32, codes of no term, ascending
    records : the terms of each record, as sets of term numbers, in their order; empty where all codes are suppressed
    m : sets of up to so many codes are protected, if that is what is promised
    repeats : whether the codes are numbered occurrences
    """

    k: int
    vocabulary: tuple[str, ...]
    terms: Sets
    suppressed: Numbers
    records: Sets
    m: int | None = None
    repeats: bool = False

    def __repr__(self) -> str:
        return f"Generalization({len(self.records)} records, {len(self.terms)} terms)"

    @property
    def n_records(self) -> int:
        """How many patients there are, those without any term included."""
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
        texts = [codes[0] if len(codes) == 1 else f"({','.join(codes)})" for codes in self.named_terms()]
        return named(self.records, texts)


@dataclass(frozen=True)
class ConstraintOutcome:
    """What became of one set of the utility policy.

    Attributes
    ----------
    name : of the set
    codes : codes of it that occur
    suppressed : those of them that are suppressed
    satisfied : whether no term that holds one of its codes reaches beyond it (Definition 3.2)
    """

    name: str
    codes: int
    suppressed: int
    satisfied: bool

    @property
    def fully_preserved(self) -> bool:
        """Whether the set is satisfied and nothing of it suppressed: the patients with any of its codes are as many."""
        return self.satisfied and not self.suppressed


@dataclass(frozen=True)
class GeneralizationFigures:
    """What was lost; for the custodian, since occurrences are told of codes that few have.

    Attributes
    ----------
    ilm : information loss metric over all terms and suppressed codes
    log_ul : natural logarithm of the exponential loss; -inf where nothing is lost
    ncp : normalized certainty penalty, in [0, 1]
    suppressed_codes, suppressed_occurrences : distinct codes, and codes of records
    empty_records : records that keep no term
    statuses : sets of the privacy policy by what became of them
    outcomes : sets of the utility policy, in its order
    """

    ilm: float
    log_ul: float
    ncp: float
    suppressed_codes: int
    suppressed_occurrences: int
    empty_records: int
    statuses: Mapping[Status, int] = field(default_factory=dict)
    outcomes: tuple[ConstraintOutcome, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizedCodes:
    """Generalized code sets, and what only the custodian may know.

    Attributes
    ----------
    released : what is released
    origin : (n_records,) int64, record of the original behind each released one; secret
    original : the original, without codes that occur nowhere
    figures : what was lost
    """

    released: Generalization
    origin: Integers
    original: CodeSets
    figures: GeneralizationFigures

    def __repr__(self) -> str:
        return f"GeneralizedCodes({self.released!r})"
