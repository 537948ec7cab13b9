"""What became of the sets of the privacy policy and of the utility policy."""

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.data import CodeSets
from cloister.kernels.terms import supports

from .data import ConstraintOutcome, Generalization, Status, UtilitySets
from .parts import Holders, joined, rare_parts
from .privacy_policy import PrivacyConstraints
from .sets import Numbers, Sets
from .terms import record_bits


def unprotected_parts(apart: Sets, released: Generalization) -> Sets:
    """Return parts of sets, as terms, that 1 to k - 1 released records hold.

    Parameters
    ----------
    apart : sets of codes that occur in no record of the original together; their terms may
    """
    if not len(apart):
        return joined([])
    holders = Holders.of(released.records, len(released.terms))
    return joined([rare_parts(terms, holders, released.k) for terms in _as_terms(apart, released)])


def _as_terms(sets: Sets, released: Generalization) -> list[Numbers]:
    """The terms of some sets of codes, each once and without suppressed codes."""
    term_of = released.term_of()
    mapped = {tuple(np.unique(term_of[sets.members(number)]).tolist()) for number in range(len(sets))}
    kept = sorted({tuple(term for term in terms if term >= 0) for terms in mapped} - {()})
    return [np.array(terms, dtype=np.int32) for terms in kept]


def statuses(constraints: PrivacyConstraints, released: Generalization) -> dict[Status, int]:
    """Count the sets of the privacy policy by what became of them."""
    given = constraints.given
    vacuous = given.sizes == 0
    gone = released.term_of() < 0
    suppressed = np.bincount(given.owners()[gone[given.items]], minlength=len(given)) > 0
    violated = _violated(given, released)
    return {
        Status.SATISFIED: int(np.sum(~vacuous & ~violated & ~suppressed)),
        Status.VACUOUS: int(vacuous.sum()),
        Status.SUPPRESSED: int(np.sum(suppressed & ~violated)),
        Status.VIOLATED: int(violated.sum()),
    }


def _violated(given: Sets, released: Generalization) -> NDArray[np.bool_]:
    """Whether some part of each set is held by 1 to k - 1 records."""
    term_of = released.term_of()
    as_codes = CodeSets(tuple(map(str, range(len(released.terms)))), released.records.offsets, released.records.items)
    held = supports(term_of, record_bits(as_codes), given.offsets, given.items, released.k)
    violated = (held > 0) & (held < released.k)
    holders = Holders.of(released.records, len(released.terms))
    for number in np.flatnonzero((held == 0) & (given.sizes > 0)).tolist():
        terms = _as_terms(given.chosen(np.array([number])), released)
        violated[number] = any(len(rare_parts(each, holders, released.k)) for each in terms)
    return violated


def outcomes(policy: UtilitySets | None, codes: CodeSets, released: Generalization) -> tuple[ConstraintOutcome, ...]:
    """Tell of each set of the utility policy whether it is satisfied, and what of it is suppressed."""
    if policy is None:
        return ()
    term_of = released.term_of()
    found = []
    for name, members in zip(policy.names, policy.item_numbers(codes), strict=True):
        items = np.array(members, dtype=np.int64)
        terms = np.unique(term_of[items])
        reached = released.terms.chosen(terms[terms >= 0].astype(np.int64)).items
        gone = int(np.sum(term_of[items] < 0))
        found.append(ConstraintOutcome(name, len(items), gone, bool(np.all(np.isin(reached, items)))))
    return tuple(found)
