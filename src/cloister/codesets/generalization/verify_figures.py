"""The figures of a release of generalized code sets, counted anew from what the data file says.

Shares no code with `measure`, `losses` and `outcomes`: counts are plain Python's.
"""

from collections import Counter
from collections.abc import Sequence
from math import fsum
from typing import Any, Protocol

from cloister.codesets.encode import plain_code
from cloister.codesets.policy import CLASSIFICATIONS, is_built
from cloister.hierarchy.icd import load_classification

from .data import Generalization
from .recheck_settings import StatedSettings

AGREEMENT = 1e-9
"""How far a loss may be from the one recomputed."""

CONSTRAINTS = ("constraints", "constraints_satisfied", "constraints_preserved")
TOP = 4
"""Height of the root of a classification: category, section, chapter, root."""


class ConstraintSets(Protocol):
    """Disjoint sets of codes."""

    @property
    def constraints(self) -> tuple[frozenset[str], ...]:
        """The sets."""


def counts_of(released: Generalization, codes: int, suppressed: int) -> dict[str, int]:
    """Return the numbers of ``utility`` that say how many codes and terms there are; one that repeats counts once.

    Parameters
    ----------
    codes, suppressed : as they are said to be; of a code that repeats some occurrences may be suppressed, so that
        there may be fewer codes than those in terms and those suppressed
    """
    terms = [{plain_code(code, repeats=released.repeats) for code in term} for term in released.named_terms()]
    present = len(set().union(*terms))
    # A code with released and suppressed occurrences counts among both.
    least, most = (max(present, suppressed) if released.repeats else present + suppressed), present + suppressed
    several = [term for term in terms if len(term) > 1]
    return {
        "codes": min(max(codes, least), most),
        "suppressed_codes": suppressed,
        "terms": len(terms),
        "terms_of_several_codes": len(several),
        "generalized_codes": sum(map(len, several)),
        "largest_term": max(map(len, terms)),
    }


def rarity_of(released: Generalization) -> dict[str, int]:
    """Return the numbers of ``risk``."""
    records = released.named_records()
    held = Counter(term for record in records for term in record)
    return {
        "smallest_term": min(held.values()),
        "terms_below_k": sum(count < released.k for count in held.values()),
        "unique_records": sum(count == 1 for count in Counter(records).values()),
    }


def loss_of_terms(released: Generalization, n_codes: int, classification: str) -> tuple[float, float]:
    """Return what the terms lose, by ILM, as a lower and an upper bound: equal where the weights are known.

    Parameters
    ----------
    n_codes : of the original; one that repeats counts once
    classification : where weights come from; of a user's hierarchy only that they are from 0 to 1 is known
    """
    held = Counter(released.records.items.tolist())
    known = classification in CLASSIFICATIONS
    losses = []
    for term, codes in enumerate(released.named_terms()):
        if len(codes) > 1:
            weight = _height(released, codes, classification) / TOP if known else 1.0
            several = {plain_code(code, repeats=released.repeats) for code in codes}
            losses.append(len(several) / n_codes * weight * held[term] / released.n_records)
    return (fsum(losses) if known else 0.0), fsum(losses)


def _height(released: Generalization, codes: Sequence[str], classification: str) -> int:
    """The height of the lowest node above several codes; a code that is not classified is under the root alone.

    Occurrences of one code are of one category.
    """
    tables = load_classification(classification)
    names = {plain_code(code, repeats=released.repeats) for code in codes}
    if len(names) == 1:
        return 1
    paths = [tables.path(name) for name in names]
    if any(path is None for path in paths):
        return TOP
    found = [(str(path.category), str(path.section), str(path.chapter)) for path in paths if path is not None]
    return next((height for height, nodes in enumerate(zip(*found, strict=True), start=1) if len(set(nodes)) == 1), TOP)


def figures_agree(
    utility: dict[str, Any], asked: StatedSettings, released: Generalization, policy: ConstraintSets | None
) -> bool:
    """Return whether ``utility`` is as counted anew, and nothing is there that does not follow.

    Parameters
    ----------
    policy : the utility policy; None where it is not known
    """
    counts = counts_of(released, asked.codes, asked.suppressed)
    known = utility.keys() == {*counts, "ilm", "ilm_terms", *CONSTRAINTS, "are"}
    counted = known and all(type(utility[name]) is int and utility[name] == count for name, count in counts.items())
    if not counted or type(utility["ilm_terms"]) is not float or utility["are"] is not None:
        return False
    low, high = loss_of_terms(released, counts["codes"], asked.code_hierarchy)
    follows = low - AGREEMENT <= utility["ilm_terms"] <= high + AGREEMENT
    whole = utility["ilm"] == (None if asked.suppressed else utility["ilm_terms"])
    return bool(follows and whole) and _constraints_agree(utility, asked, released, policy)


def _constraints_agree(
    utility: dict[str, Any], asked: StatedSettings, released: Generalization, policy: ConstraintSets | None
) -> bool:
    """Without a policy, and of frequent sets, nothing is told.

    Sets of which no code is released are satisfied. Each suppressed code may be all there is of one more set, and may
    be what another one lacks.
    """
    stated = [utility[name] for name in CONSTRAINTS]
    if asked.policy is None or asked.is_frequent:
        return stated == [None] * len(CONSTRAINTS)
    if not all(type(number) is int and number >= 0 for number in stated):
        return False
    sets, satisfied, preserved = stated
    if not satisfied - asked.suppressed <= preserved <= satisfied <= sets or (asked.by_sets and satisfied < sets):
        return False
    if policy is None:
        return True
    constraints = policy.constraints
    if is_built(asked.policy):
        # A builder makes sets of all codes of the original, but counts only those of which a code is released.
        present = {plain_code(code, repeats=released.repeats) for term in released.named_terms() for code in term}
        constraints = tuple(each for each in constraints if each & present)
    kept, whole = constraints_kept(released, constraints)
    unseen = sets - len(constraints)
    if unseen and is_built(asked.policy):
        return False
    if released.suppressed.size:
        return bool(unseen == 0 and (satisfied, preserved) == (kept, whole))
    return bool(0 <= unseen <= asked.suppressed and satisfied == kept + unseen)


def constraints_kept(released: Generalization, constraints: Sequence[frozenset[str]]) -> tuple[int, int]:
    """Return how many sets of a utility policy no term reaches beyond, and of how many nothing is suppressed either.

    The second is right where it is known which codes are suppressed.
    """
    terms = [{plain_code(code, repeats=released.repeats) for code in term} for term in released.named_terms()]
    gone = {plain_code(released.vocabulary[code], repeats=released.repeats) for code in released.suppressed.tolist()}
    satisfied = [each for each in constraints if all(term <= each for term in terms if term & each)]
    return len(satisfied), sum(not each & gone for each in satisfied)
