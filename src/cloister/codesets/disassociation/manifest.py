"""The manifest of disassociated code sets: what a recipient may know of how they were made."""

from collections.abc import Mapping
from typing import Any

from cloister.results import Manifest, Verdict

from ..manifest import columns_of, input_settings, one_row, records_of
from ..request import CodesRequest, GivenCodes
from .data import Disassociation, DisassociationRequest
from .measure import CodesUtility

MODEL, DIVERSITY = "k^m-anonymity", "l-diversity"
METHOD = "disassociation"


def describe(
    given: GivenCodes,
    request: CodesRequest[DisassociationRequest],
    released: Disassociation,
    verdict: Verdict,
    utility: Mapping[str, Any],
    risk: Mapping[str, Any],
) -> Manifest:
    """Return the part of ``release.json`` that is particular to code sets.

    A number of left-out patients below k is shown as ``<k``, and so is the number of patients in the input, because
    each would give the other away.
    """
    return {
        "shape": "codes",
        "method": METHOD,
        "settings": _settings(given, request),
        "columns": columns_of(request.numbered),
        "records": records_of(released.n_records, given.n_empty, released.k),
        "guarantee": {
            "rules": rules_of(released, request.method.diversity),
            "sentences": sentences_of(released, request.method.diversity),
            "verified": verdict.holds,
            "one_row_per_patient": one_row(given.columns.id, given.codes.ids is not None),
        },
        "utility": dict(utility),
        "risk": dict(risk),
        "clusters": clusters_of(released),
    }


def _settings(given: GivenCodes, request: CodesRequest[DisassociationRequest]) -> dict[str, Any]:
    method = request.method
    return {
        "k": method.k,
        "m": method.m,
        "max_cluster_size": method.cluster_limit,
        "policy": None if request.policy is None else request.policy.spec,
        "refine": str(method.refine),
        "safe": str(method.safe),
        "safe_threshold": method.safe_threshold,
        "sensitive": list(method.sensitive),
        "diversity": method.diversity if method.sensitive else None,
    } | input_settings(given, request)


def rules_of(released: Disassociation, diversity: int) -> list[dict[str, Any]]:
    """Return what is promised, as data."""
    rules: list[dict[str, Any]] = [{"model": MODEL, "k": released.k, "m": released.m}]
    if released.sensitive.size:
        rules.append({"model": DIVERSITY, "l": diversity})
    return rules


def sentences_of(released: Disassociation, diversity: int) -> list[str]:
    """Return what is promised, in words."""
    known = "any code" if released.m == 1 else f"any {released.m} codes or fewer"
    if released.sensitive.size:
        known += " other than the sensitive ones"
    sentences = [
        f"For {known} of a patient there is a data set that could have led to this release in which at least "
        f"{released.k} records hold them all"
    ]
    if released.sensitive.size:
        sentences.append(
            f"Each sensitive code stands apart from all others, and at most one record in {diversity} of a cluster "
            "holds it"
        )
    return sentences


def clusters_of(released: Disassociation) -> dict[str, int]:
    """Return how many parts the release has."""
    return {
        "clusters": released.n_clusters,
        "smallest": int(released.sizes.min()),
        "largest": int(released.sizes.max()),
        "record_chunks": len(released.record_chunks),
        "joint_clusters": released.n_joints,
        "shared_chunks": len(released.shared_chunks),
    }


def utility_of(utility: CodesUtility) -> dict[str, Any]:
    """Return what was lost, as far as the chunks tell it. The error of a workload is the custodian's: it is null."""
    return {
        "suppressed_codes": 0,
        "codes": utility.codes,
        "codes_counted_exactly": utility.counted_exactly,
        "occurrences_told": utility.occurrences_told,
        "occurrences_in_item_chunks": utility.occurrences_in_item_chunks,
        "constraints": utility.constraints,
        "constraints_satisfied": utility.satisfied,
        "constraints_preserved": utility.preserved,
        "are": None,
    }
