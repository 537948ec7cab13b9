"""The manifest of generalized code sets: what a recipient may know of how they were made."""

from collections.abc import Mapping, Sequence
from typing import Any

from cloister.codesets.manifest import columns_of, input_settings, one_row
from cloister.codesets.policy import is_built
from cloister.codesets.request import CodesRequest, GivenCodes
from cloister.results import Manifest, Verdict

from .data import ConstraintOutcome, Generalization, GeneralizationFigures, GeneralizationRequest, Method
from .left_out import counts_of
from .measure import TermFigures

BY_SIZE, BY_POLICY = "k^m-anonymity", "privacy-constrained anonymity"
FREQUENT = "sup:"
"""How a utility policy begins whose sets were chosen because they are frequent."""


def describe(
    given: GivenCodes,
    request: CodesRequest[GeneralizationRequest],
    released: Generalization,
    verdict: Verdict,
    settings: Mapping[str, Any],
    figures: Mapping[str, Mapping[str, Any]],
) -> Manifest:
    """Return the part of ``release.json`` that is particular to generalized code sets.

    Parameters
    ----------
    settings : those of the method
    figures : ``utility`` and ``risk``
    """
    few = given.codes.n_records - released.n_records
    return {
        "shape": "codes",
        "method": str(request.method.method),
        "settings": dict(settings) | input_settings(given, request),
        "columns": columns_of(request.numbered),
        "records": counts_of(released.n_records, given.n_empty, few, released.k),
        "guarantee": {
            "rules": rules_of(released, request.method.privacy.spec),
            "sentences": sentences_of(released, request.method.privacy.spec),
            "verified": verdict.holds,
            "one_row_per_patient": one_row(given.columns.id, given.codes.ids is not None),
        },
        "utility": dict(figures["utility"]),
        "risk": dict(figures["risk"]),
    }


def settings_of(request: GeneralizationRequest, policy: str | None, closeness: str) -> dict[str, Any]:
    """Return what was asked of the method; what the method does not look at is null.

    Parameters
    ----------
    policy : the utility policy in words
    closeness : the hierarchy that weights were taken from
    """
    by_sets = request.method is not Method.APRIORI
    return {
        "k": request.k,
        "m": request.privacy.m,
        "privacy": request.privacy.spec,
        "policy": policy,
        "uncovered": str(request.uncovered) if by_sets else None,
        "loss": str(request.loss) if by_sets else None,
        "code_hierarchy": closeness,
    }


def rules_of(released: Generalization, privacy: str) -> list[dict[str, Any]]:
    """Return what is promised, as data."""
    if released.m is not None:
        return [{"model": BY_SIZE, "k": released.k, "m": released.m}]
    return [{"model": BY_POLICY, "k": released.k, "privacy": privacy}]


def sentences_of(released: Generalization, privacy: str) -> list[str]:
    """Return what is promised, in words."""
    if released.m is None:
        known = f"a set of codes of the privacy policy {privacy}, or a part of one"
    else:
        known = "one code" if released.m == 1 else f"{released.m} codes or fewer"
        if released.repeats:
            known += f", and that the patient has {'it' if released.m == 1 else 'each'} at least so often"
    return [
        f"Whoever knows of a patient {known}, and looks for the terms that these codes are in, finds no record or at "
        f"least {released.k}"
    ]


def outcomes_told(figures: GeneralizationFigures, policy: str) -> tuple[ConstraintOutcome, ...]:
    """Return what became of the sets of a utility policy, of those that may be counted.

    Sets that a builder makes of the data's own codes are counted if one of their codes is released. How many others
    there are tells which suppressed codes belong together, and everybody knows the diseases of ``gwas``.
    """
    if not is_built(policy):
        return figures.outcomes
    return tuple(outcome for outcome in figures.outcomes if outcome.suppressed < outcome.codes)


def utility_of(
    terms: TermFigures,
    figures: GeneralizationFigures,
    outcomes: Sequence[ConstraintOutcome] | None,
    codes: tuple[int, int],
) -> dict[str, Any]:
    """Return what was lost, as far as the released records tell it, and how many codes are suppressed.

    The loss ILM counts occurrences of suppressed codes. It is told where there are none; else only what terms lose.
    Nothing is told of the error of a workload: null.

    Parameters
    ----------
    outcomes : of the utility policy; None without one, and of sets that were chosen because they are frequent
    codes : how many the original has, and of how many something is suppressed
    """
    return {
        "codes": codes[0],
        "suppressed_codes": codes[1],
        "terms": terms.terms,
        "terms_of_several_codes": terms.several,
        "generalized_codes": terms.generalized_codes,
        "largest_term": terms.largest_term,
        "ilm": None if figures.suppressed_codes else figures.ilm_terms,
        "ilm_terms": figures.ilm_terms,
        "constraints": None if outcomes is None else len(outcomes),
        "constraints_satisfied": None if outcomes is None else sum(each.satisfied for each in outcomes),
        "constraints_preserved": None if outcomes is None else sum(each.fully_preserved for each in outcomes),
        "are": None,
    }


def risk_of(terms: TermFigures) -> dict[str, Any]:
    """Return how rare what is released is."""
    return {
        "smallest_term": terms.smallest_support,
        "terms_below_k": terms.rare_terms,
        "unique_records": terms.unique_records,
    }
