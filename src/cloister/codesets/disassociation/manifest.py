"""The manifest of disassociated code sets, their codebook, and what the report shows beside them.

Together they are what a recipient may know of how the release was made; none says what ``clusters.json`` does not.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from cloister.codesets.data import CODES, ID
from cloister.codesets.encode import MARK, plain_code
from cloister.codesets.manifest import columns_of, input_settings, one_row
from cloister.codesets.request import CodesRequest, GivenCodes
from cloister.masking import mask_records
from cloister.report_figures import Counted, Counts, ReportCounts
from cloister.results import Manifest, Verdict

from .data import Disassociation, DisassociationRequest
from .places import codes_counted_exactly, supports_told

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
        "records": mask_records(released.n_records, given.n_empty, released.k),
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


Row = tuple[str, str, None, None, str | None, str]

COLUMNS = ("column", "role", "hierarchy", "level", "label", "meaning")
EXACT = "as recorded; the chunks tell how many patients have it"
PARTLY = "as recorded; in some clusters it is not told how many patients have it"
SENSITIVE = "as recorded; sensitive: it is not told how many patients have it"
NUMBER = "number of a reconstructed record, which is no patient's"


def codebook(released: Disassociation, *, numbered: bool) -> pl.DataFrame:
    """Return one row for each code, as ``clusters.json`` writes it, and one for the id."""
    counted = codes_counted_exactly(released)
    sensitive = set(released.sensitive.tolist())
    rows: list[Row] = [(ID, "identifier", None, None, None, NUMBER)] if numbered else []
    for item, code in enumerate(released.vocabulary):
        meaning = SENSITIVE if item in sensitive else EXACT if counted[item] else PARTLY
        rows.append((CODES, "codes", None, None, code, meaning + _occurrence(code, released.repeats)))
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def _occurrence(code: str, repeats: bool) -> str:
    if not repeats:
        return ""
    name = plain_code(code, repeats=repeats)
    return f" ({name}, occurrence {code.removeprefix(name + MARK)})"


def shown_of(released: Disassociation) -> ReportCounts:
    """Return what is shown of code sets."""
    return ReportCounts(
        k=released.k,
        sizes=pl.Series(released.sizes, dtype=pl.Int64),
        of="patients",
        by="the size of their cluster",
        columns=(counted(released, CODES),),
        files={},
    )


def counted(released: Disassociation, column: str) -> Counted:
    """Return how many patients have each code, as far as the chunks tell; of occurrences, the first counts."""
    told, is_exact = supports_told(released), codes_counted_exactly(released)
    named = {
        place: plain_code(code, repeats=released.repeats)
        for place, code in enumerate(released.vocabulary)
        if not released.repeats or code.endswith(f"{MARK}1")
    }
    after: Counts = {name: int(told[place]) for place, name in named.items()}
    least = frozenset(name for place, name in named.items() if not is_exact[place])
    return Counted("clusters", column, "patients", after, least=least)
