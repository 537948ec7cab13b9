"""The manifest of a released table: what a recipient may know of how it was made."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from cloister.privacy import KAnonymity
from cloister.results import Manifest, Risk, SearchResult, Utility, Verdict

from .data import Ids, Role, TableRequest, is_withheld
from .verify import Promise

ROUNDED = 100
"""Losses are shown in hundredths where exact ones would give away a small number of suppressed records."""


RELEASED = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.KEPT, Role.IDENTIFIER)
"""Roles of released columns."""

SHARE_ROUNDED = Decimal("1e-15")
"""How far a share of suppression may be from the one asked for, as JSON holds no more than 16 digits of it."""


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
    utility : as far as a recipient may know it
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
            "sentences": _sentences(request.rules),
            "verified": verdict.holds,
            "verified_how": verdict.how,
            "checks": list(verdict.checks),
            "one_row_per_patient": _one_row(request.id),
        },
        "utility": _utility(utility, withheld),
        "risk": _risk(risk),
        "search": _search(search, roles, _proof(search, utility, withheld or request.levels is not None)),
    }


def _one_row(ids: str | None) -> str:
    return "assumed" if ids is None else f"ids in {ids!r} are unique"


def exact_figures(search: SearchResult, records: int) -> dict[str, Any]:
    """What the manifest keeps back where few records were suppressed; for the custodian."""
    figures = {"loss": search.loss, "bound": search.bound, "gap": search.gap}
    return {"records": records, "suppressed": search.suppressed} | figures


def _sentences(rules: Sequence[KAnonymity]) -> list[str]:
    return [sentence[:1].upper() + sentence[1:] for sentence in (rule.sentence() for rule in rules)]


def _words(rules: Sequence[KAnonymity]) -> list[str]:
    """Rules as on the command line."""
    return [f"{rule.model}={rule.k}" for rule in rules]


def _settings(request: TableRequest, roles: Mapping[str, Role]) -> dict[str, Any]:
    return {
        "k": request.k,
        "rules": _words(request.rules),
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
        "exact": utility.exact,
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


def _proof(search: SearchResult, utility: Utility, hidden: bool) -> dict[str, float | None]:
    """Return bound and gap; in hundredths, to the safe side, where the exact loss is not told."""
    if search.optimal:
        return {"bound": None if hidden else utility.loss, "gap": 0.0}
    if hidden:
        return {"bound": None, "gap": None}
    if utility.exact:
        return {"bound": search.bound, "gap": search.gap}
    return {"bound": math.floor(search.bound * ROUNDED) / ROUNDED, "gap": math.ceil(search.gap * ROUNDED) / ROUNDED}


def _search(search: SearchResult, roles: Mapping[str, Role], proof: Mapping[str, float | None]) -> dict[str, Any]:
    return {
        "levels": {column: search.levels[column] for column in roles if column in search.levels},
        "lattice": search.lattice,
        "checked": search.checked,
        "optimal": search.optimal,
    } | dict(proof)


def promise_of(manifest: Manifest) -> Promise:
    """Return what a manifest promises, for the verifier.

    Raises
    ------
    AttributeError, KeyError, OverflowError, TypeError, ValueError
        The manifest is not one of a table.
    """
    columns: dict[str, dict[str, Any]] = manifest["columns"]
    records = manifest["records"]
    levels = {c: _whole(d["level"]) for c, d in columns.items() if d["role"] == Role.QUASI_IDENTIFIER}
    if not levels or min(levels.values()) < 0:
        raise ValueError("no quasi-identifiers, or levels that no hierarchy has")
    ids = [column for column, described in columns.items() if described["role"] == Role.IDENTIFIER]
    return Promise(
        columns=tuple(columns),
        levels=levels,
        k=max(rule.k for rule in _rules(manifest)),
        released=_whole(records["released"]),
        suppressed=None if isinstance(records["suppressed"], str) else _whole(records["suppressed"]),
        id=ids[0] if ids else None,
        numbered=bool(ids) and columns[ids[0]]["ids"] == Ids.NUMBER,
        stars=bool(manifest["settings"]["keep_suppressed"]),
    )


def _whole(number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError("not a whole number")
    return number


def _rules(manifest: Manifest) -> list[KAnonymity]:
    """The rules that a manifest states; no others than this version knows, as it can check no others."""
    stated = manifest["guarantee"]["rules"]
    rules = [KAnonymity(rule["k"]) for rule in stated]
    if not rules or [rule.describe() for rule in rules] != stated:
        raise ValueError("no rules, or unknown ones")
    return rules


def contradictions(manifest: Manifest, promise: Promise) -> list[str]:
    """Return what a manifest says in one place and not in another, in sentences.

    Parameters
    ----------
    promise : what the manifest promises

    Raises
    ------
    AttributeError, KeyError, OverflowError, TypeError, ValueError
        The manifest is not one of a table.
    """
    rules, guarantee, settings = _rules(manifest), manifest["guarantee"], manifest["settings"]
    roles = [described["role"] for described in manifest["columns"].values()]
    agreements = {
        "guarantee.sentences do not say what the rules promise": guarantee["sentences"] == _sentences(rules),
        "guarantee.verified is not true": guarantee["verified"] is True,
        "guarantee.one_row_per_patient does not fit settings.ids": _one_row_agrees(manifest, promise),
        "settings.k is not the k of the rules": settings["k"] == promise.k,
        "settings.rules are not the rules of the guarantee": settings["rules"] == _words(rules),
        "settings.ids are not those of the id column": _ids_agree(manifest, promise),
        "settings.hierarchies are not those of the quasi-identifiers": settings["hierarchies"].keys()
        == promise.levels.keys(),
        "settings.not_released names released columns": not {*settings["not_released"]} & {*promise.columns},
        "columns have roles that no released column has": all(role in RELEASED for role in roles),
        "several columns are the id": roles.count(Role.IDENTIFIER) <= 1,
        "records do not add up, or tell a number that must be kept back": _records_agree(manifest, promise),
        "more records were suppressed than settings.suppression allows": _share_agrees(manifest, promise),
        "search.levels are not the levels of the columns": manifest["search"]["levels"] == promise.levels,
    }
    return [failure for failure, holds in agreements.items() if not holds]


def _ids_agree(manifest: Manifest, promise: Promise) -> bool:
    ids = manifest["settings"]["ids"]
    if promise.id is None:
        return ids in (None, Ids.DROP)
    return ids in (Ids.NUMBER, Ids.HMAC) and manifest["columns"][promise.id]["ids"] == ids


def _one_row_agrees(manifest: Manifest, promise: Promise) -> bool:
    said = manifest["guarantee"]["one_row_per_patient"]
    if promise.id is not None:
        return bool(said == _one_row(promise.id))
    return bool(said == "assumed") == (manifest["settings"]["ids"] is None)


def _records_agree(manifest: Manifest, promise: Promise) -> bool:
    released, suppressed = promise.released or 0, promise.suppressed
    if suppressed is None:
        # Rows of * could be counted, so a number that is kept back cannot stand beside them.
        return manifest["records"] == _records(0, released, promise.k, withheld=True) and not promise.stars
    told = suppressed >= 0 and not is_withheld(suppressed, promise.k)
    return told and manifest["records"] == _records(suppressed, released, promise.k, withheld=False)


def _share_agrees(manifest: Manifest, promise: Promise) -> bool:
    released, suppressed = promise.released or 0, promise.suppressed
    if suppressed is None:
        return allowed_suppression(manifest, released + promise.k - 1) >= 1
    return suppressed <= allowed_suppression(manifest, released + suppressed)


def allowed_suppression(manifest: Manifest, records: int) -> int:
    """Return how many of the original records may be suppressed by the settings of a manifest.

    Raises
    ------
    ArithmeticError, KeyError, TypeError, ValueError
        The manifest states no share.
    """
    share = Decimal(str(manifest["settings"]["suppression"]))
    if not 0 <= share <= 1:
        raise ValueError("not a share")
    return math.floor(min(Decimal(1), share + SHARE_ROUNDED) * records)
