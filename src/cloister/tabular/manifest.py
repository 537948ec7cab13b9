"""The manifest of a released table: what a recipient may know of how it was made."""

import math
from collections.abc import Mapping
from typing import Any

from cloister.results import Manifest, Risk, SearchResult, Utility, Verdict

from .data import Ids, Role, TableRequest
from .verify import Promise

ROUNDED = 100
"""Losses are shown in hundredths where exact ones would give away a small number of suppressed records."""


def is_withheld(suppressed: int, k: int) -> bool:
    """Whether the number of suppressed records, and all that would give it away, is kept back from the recipient."""
    return 0 < suppressed < k


def describe(
    roles: Mapping[str, Role],
    request: TableRequest,
    search: SearchResult,
    released: int,
    verdict: Verdict,
    risk: Risk,
    utility: Utility,
) -> Manifest:
    """Return the part of ``release.json`` that is particular to tables.

    A number of suppressed records below k is shown as ``<k``; so is the number of records of the input, because each
    would give the other away. For the same reason losses are then worked out from the released records alone and
    rounded up, and bound and gap are left out.

    Parameters
    ----------
    utility : `guarded_utility` where the number of suppressed records is kept back
    """
    withheld = is_withheld(search.suppressed, request.k)
    return {
        "shape": "table",
        "method": "full-domain",
        "settings": _settings(request, roles),
        "columns": _columns(roles, request, search),
        "records": _records(search.suppressed, released, request.k, withheld),
        "guarantee": {
            "rules": [rule.describe() for rule in request.rules],
            "sentences": [_capital(rule.sentence()) for rule in request.rules],
            "verified": verdict.holds,
            "verified_how": verdict.how,
            "checks": list(verdict.checks),
            "one_row_per_patient": f"ids in {request.id!r} are unique" if request.id else "assumed",
        },
        "utility": _utility(utility, withheld),
        "risk": _risk(risk),
        "search": _search(search, roles, hidden=withheld or request.levels is not None),
    }


def exact_figures(search: SearchResult, records: int) -> dict[str, Any]:
    """What the manifest keeps back where few records were suppressed; for the custodian."""
    figures = {"loss": search.loss, "bound": search.bound, "gap": search.gap}
    return {"records": records, "suppressed": search.suppressed} | figures


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _settings(request: TableRequest, roles: Mapping[str, Role]) -> dict[str, Any]:
    return {
        "k": request.k,
        "rules": [f"{rule.model}={rule.k}" for rule in request.rules],
        "suppression": float(request.suppression),
        "loss": request.loss.name,
        "weights": dict(request.weights),
        "search": "fixed" if request.levels is not None else request.search,
        "time_limit": request.time_limit,
        "rest": request.rest,
        "ids": str(request.ids) if request.id is not None else None,
        "keep_suppressed": request.keep_suppressed,
        "hierarchies": {column: wanted.hierarchy.spec for column, wanted in request.quasi_identifiers.items()},
        "level_bounds": {
            column: [wanted.lowest, wanted.highest]
            for column, wanted in request.quasi_identifiers.items()
            if wanted.lowest or wanted.highest is not None
        },
        "not_released": [column for column, role in roles.items() if role is Role.DROPPED],
    }


def _columns(roles: Mapping[str, Role], request: TableRequest, search: SearchResult) -> dict[str, Any]:
    described: dict[str, Any] = {}
    for column, role in roles.items():
        if role is Role.QUASI_IDENTIFIER:
            kind = request.quasi_identifiers[column].hierarchy.kind
            described[column] = {"role": str(role), "hierarchy": kind, "level": search.levels[column]}
        elif role in (Role.SENSITIVE, Role.KEPT):
            described[column] = {"role": str(role)}
        elif role is Role.IDENTIFIER and request.ids is not Ids.DROP:
            described[column] = {"role": str(role), "ids": str(request.ids)}
    return described


def _records(suppressed: int, released: int, k: int, withheld: bool) -> dict[str, int | str]:
    if withheld:
        return {"in": f"<{released + k}", "released": released, "suppressed": f"<{k}"}
    return {"in": released + suppressed, "released": released, "suppressed": suppressed}


def _shown(loss: float, withheld: bool) -> float:
    return math.ceil(round(loss * ROUNDED, 6)) / ROUNDED if withheld else loss


def _utility(utility: Utility, withheld: bool) -> dict[str, Any]:
    return {
        "loss": _shown(utility.loss, withheld),
        "exact": not withheld,
        "losses": {name: _shown(loss, withheld) for name, loss in utility.losses.items()},
        "columns": {
            column.column: {"loss": _shown(column.loss, withheld), "top": column.top, "labels": column.labels}
            for column in utility.columns
        },
    }


def _risk(risk: Risk) -> dict[str, Any]:
    return {
        "highest": risk.highest,
        "average": risk.average,
        "share_above_threshold": risk.share_above_threshold,
        "threshold": risk.threshold,
        "classes": risk.classes,
        "smallest_class": risk.smallest,
        "largest_class": risk.largest,
        "records_by_class_size": dict(risk.histogram),
    }


def _search(search: SearchResult, roles: Mapping[str, Role], *, hidden: bool) -> dict[str, Any]:
    return {
        "levels": {column: search.levels[column] for column in roles if column in search.levels},
        "lattice": search.lattice,
        "checked": search.checked,
        "optimal": search.optimal,
        "bound": None if hidden else search.bound,
        "gap": 0.0 if search.optimal else None if hidden else search.gap,
    }


def promise_of(manifest: Manifest) -> Promise:
    """Return what a manifest promises, for the verifier.

    Raises
    ------
    AttributeError, KeyError, OverflowError, TypeError, ValueError
        The manifest is not one of a table.
    """
    columns: dict[str, dict[str, Any]] = manifest["columns"]
    records = manifest["records"]
    levels = {c: int(d["level"]) for c, d in columns.items() if d["role"] == Role.QUASI_IDENTIFIER}
    if not levels or min(levels.values()) < 0:
        raise ValueError("no quasi-identifiers, or levels that no hierarchy has")
    ids = [column for column, described in columns.items() if described["role"] == Role.IDENTIFIER]
    return Promise(
        columns=tuple(columns),
        levels=levels,
        k=max(int(rule["k"]) for rule in manifest["guarantee"]["rules"]),
        released=int(records["released"]),
        suppressed=records["suppressed"] if isinstance(records["suppressed"], int) else None,
        id=ids[0] if ids else None,
        numbered=bool(ids) and columns[ids[0]]["ids"] == Ids.NUMBER,
        stars=bool(manifest["settings"]["keep_suppressed"]),
    )
