"""The manifest of generalized code sets: what a recipient may know of how they were made.

Patients without codes are left out if that was asked for; and patients all of whose codes are suppressed, if they are
fewer than k. Of these no number is told, nor one that it follows from: their sum with the others is a bound (decisions
6 and 8). Figures are either for the recipient, or for the custodian alone.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np
import polars as pl

from cloister.codesets.encode import plain_code
from cloister.codesets.manifest import columns_of, input_settings, one_row
from cloister.codesets.policy import is_built
from cloister.codesets.request import CodesRequest, GivenCodes
from cloister.masking import records_below
from cloister.release_folder import same
from cloister.results import Manifest, Verdict
from cloister.utility import Reading

from .data import (
    Generalization,
    GeneralizationFigures,
    GeneralizationMethod,
    GeneralizationRequest,
    GeneralizedCodes,
    PolicySetOutcome,
)
from .losses import TermFigures, measure_terms, workload_errors
from .release import order_in_file, record_texts

BOUND = re.compile(r"<([1-9][0-9]*)")


def counts_of(released: int, n_empty: int, few: int, k: int) -> dict[str, int | str]:
    """Return how many records there were, are, and were left out.

    Parameters
    ----------
    n_empty : patients without codes that were left out
    few : patients without any code that is released, who were left out; fewer than k
    """
    most = n_empty if n_empty == 0 or n_empty >= k else k - 1
    if few:
        most += k - 1
    if few or 0 < n_empty < k:
        return records_below(released, most + 1)
    return {"in": released + n_empty, "released": released, "suppressed": n_empty}


def counts_agree(manifest: Manifest, released: Generalization) -> bool:
    """Return whether the numbers of records of a manifest fit together, and none tells of fewer than k."""
    records, drops, k = manifest["records"], manifest["settings"]["drop_empty"] is True, released.k
    left_out = records["suppressed"]
    if isinstance(left_out, str):
        found = BOUND.fullmatch(left_out)
        bound = int(found[1]) if found else 0
        may_be = k > 1 and (bound == k or (drops and bound >= 2 * k - 1))
        return may_be and same(records, records_below(released.n_records, bound))
    exact = type(left_out) is int and (left_out == 0 or (drops and left_out >= k))
    return exact and same(records, counts_of(released.n_records, left_out, 0, k))


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
    """Return the part of ``release.json`` that is particular to generalized code sets."""
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
    by_sets = request.method is not GeneralizationMethod.APRIORI
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


def outcomes_told(figures: GeneralizationFigures, policy: str) -> tuple[PolicySetOutcome, ...]:
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
    outcomes: Sequence[PolicySetOutcome] | None,
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


@dataclass(frozen=True)
class GeneralizedFigures:
    """Numbers about a release.

    Attributes
    ----------
    told : ``utility`` and ``risk``, for the manifest
    exact : for the custodian alone
    """

    told: dict[str, dict[str, Any]]
    exact: dict[str, Any]

    def __repr__(self) -> str:
        return "GeneralizedFigures()"


def work_out(
    given: GivenCodes, request: CodesRequest[GeneralizationRequest], protected: GeneralizedCodes
) -> GeneralizedFigures:
    """Return the figures of a release."""
    released, figures, policy = protected.released, protected.figures, request.policy
    terms = measure_terms(released)
    is_frequent = policy is not None and policy.support is not None
    told = None if policy is None or is_frequent else outcomes_told(figures, policy.spec)
    utility = utility_of(terms, figures, told, _codes(released))
    exact: dict[str, Any] = {"records": given.codes.n_records + given.n_empty, "without_codes": given.n_empty}
    exact |= asdict(figures)
    exact["log_ul"] = figures.log_ul if isfinite(figures.log_ul) else None
    exact["statuses"] = {str(status): count for status, count in figures.statuses.items()}
    exact["suppressed"] = [released.vocabulary[code] for code in released.suppressed.tolist()]
    if request.workload is not None:
        exact["accuracy"] = {
            str(reading): asdict(workload_errors(protected.original, released, request.workload, reading))
            for reading in Reading
        }
    return GeneralizedFigures({"utility": utility, "risk": risk_of(terms)}, exact)


def _codes(released: Generalization) -> tuple[int, int]:
    """Codes of the original, and those of which something is suppressed; one that repeats counts once.

    The suppressed occurrences of one code would tell how often some patient has it.
    """
    plain = [plain_code(code, repeats=released.repeats) for code in released.vocabulary]
    return len(set(plain)), len({plain[code] for code in released.suppressed.tolist()})


def crosswalk(given: GivenCodes, protected: GeneralizedCodes) -> pl.DataFrame:
    """Return the secret map: the number of each released record, and the patient's id, or the record in the file."""
    codes = given.codes
    origin = protected.origin[order_in_file(record_texts(protected.released))]
    lines = np.arange(codes.n_records) if given.lines is None else given.lines
    original = pl.Series(lines + 1) if codes.ids is None else codes.ids
    return pl.DataFrame(
        [pl.Series("released", np.arange(1, len(origin) + 1)), original.gather(origin).alias("original")]
    )
