"""What generalization kept: figures that the released records tell by themselves, and answers to a workload.

Which codes were suppressed, and how often they occur, is not told; so neither is a loss that counts their occurrences,
nor the error of a workload, which a recipient could compare with that of a guess. They are the custodian's.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import plain_code
from cloister.codesets.measure import counted
from cloister.codesets.workload import Workload
from cloister.utility import CountedSets, QueryErrors, Reading, TermSets, query_errors

from .data import Generalization
from .sets import Integers


@dataclass(frozen=True)
class TermFigures:
    """What the released records tell of the terms.

    Attributes
    ----------
    codes : distinct codes in terms; here and below one that repeats counts once
    terms, several : terms, and those that hold more than one code
    generalized_codes : codes in terms of more than one
    largest_term : codes of the largest term
    smallest_support : records of the rarest term
    rare_terms : terms that fewer than k records hold, which a privacy policy allows that does not name their codes
    unique_records : records whose terms no other record has
    """

    codes: int
    terms: int
    several: int
    generalized_codes: int
    largest_term: int
    smallest_support: int
    rare_terms: int
    unique_records: int


def measure_terms(released: Generalization) -> TermFigures:
    """Return what a recipient may know of the terms: a function of the released records and of nothing else."""
    sizes, supports = sizes_in_codes(released), released.supports()
    alike = Counter(released.named_records())
    return TermFigures(
        codes=len({code for term in _plain_terms(released) for code in term}),
        terms=len(sizes),
        several=int(np.sum(sizes > 1)),
        generalized_codes=int(sizes[sizes > 1].sum()),
        largest_term=int(sizes.max()),
        smallest_support=int(supports.min()),
        rare_terms=int(np.sum(supports < released.k)),
        unique_records=sum(count == 1 for count in alike.values()),
    )


def sizes_in_codes(released: Generalization) -> Integers:
    """Return the codes of each term, shape (n_terms,); one that repeats counts once."""
    return np.array([len(codes) for codes in _plain_terms(released)], dtype=np.int64)


def _plain_terms(released: Generalization) -> list[set[str]]:
    return [{plain_code(code, repeats=released.repeats) for code in term} for term in released.named_terms()]


def asked_about(released: Generalization) -> TermSets:
    """Index released records for questions about codes of their vocabulary."""
    records = released.records
    return TermSets(
        CountedSets.of(records.offsets, records.items, len(released.terms)), released.term_of(), released.terms.sizes
    )


def workload_errors(codes: CodeSets, released: Generalization, workload: Workload, reading: Reading) -> QueryErrors:
    """Compare the answers to a workload with the original's.

    Parameters
    ----------
    codes : the original, with the vocabulary of what is released
    """
    answers = asked_about(released).answers(workload.queries, reading)
    return query_errors(counted(codes).counts(workload.queries), [answers], workload.queries)
