"""The manifest of a released table: what a recipient may know of how it was made."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from cloister.hierarchy import names_hierarchy
from cloister.io import n_records
from cloister.masking import mask_records, records_below
from cloister.privacy import PrivacyRule, rule_of
from cloister.results import Manifest, Risk, SearchResult, Utility, Verdict
from cloister.utility import ENTROPY

from .codebook import levels_of
from .data import Ids, ProtectedTable, Role, TableRequest, is_withheld
from .options import AVERAGES, FULL_DOMAIN, METHODS
from .verification.promise import Promise

ROUNDED = 100
"""Losses are shown in hundredths where exact ones would give away a small number of suppressed records."""


RELEASED = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.KEPT, Role.IDENTIFIER)
"""Roles of released columns."""

SHARE_ROUNDED = Decimal("1e-15")
"""How far a share of suppression may be from the one asked for, as JSON holds no more than 16 digits of it."""

LOCAL_RECODING = "local-recoding"
"""Full-domain generalization with local recoding after it, as the manifest names it."""

MERGED = "merged-classes"
"""Full-domain generalization whose classes were merged for the sake of codes, as the manifest names it."""

SEARCHED = (FULL_DOMAIN, LOCAL_RECODING, MERGED)
"""Methods that begin with a search."""

MOST_RECORDS = 2**62
"""No table has more."""


def describe(
    roles: Mapping[str, Role],
    request: TableRequest,
    protected: ProtectedTable,
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
    withheld, released = is_withheld(protected.suppressed, request.k), n_records(protected.labels)
    described = {
        "shape": "table",
        "method": method_name(request),
        "settings": _settings(request, roles),
        "columns": _columns(roles, request, protected),
        "records": mask_records(released, protected.suppressed, request.k if withheld else 0),
        "guarantee": {
            "rules": [rule.describe() for rule in request.rules],
            "sentences": _sentences(request.rules),
            "verified": verdict.holds,
            "one_row_per_patient": _one_row(has_ids=request.id is not None),
        },
        "utility": _utility(utility, withheld),
        "risk": _risk(risk),
    }
    if protected.search is not None:
        # What was proven of the policy says nothing of classes that were merged afterwards.
        found = protected.search if request.merge_bound is None else replace(protected.search, optimal=False)
        hidden = withheld or request.levels is not None or not request.has_one_policy or request.loss is ENTROPY
        described["search"] = _search(found, roles, _proof(found, utility, hidden))
    return described


def method_name(request: TableRequest) -> str:
    """Return the method as the manifest names it."""
    if request.local_recoding:
        return LOCAL_RECODING
    return MERGED if request.method == FULL_DOMAIN and request.merge_bound is not None else request.method


def _one_row(*, has_ids: bool) -> str:
    return "ids are unique" if has_ids else "assumed"


def exact_figures(protected: ProtectedTable, records: int) -> dict[str, Any]:
    """What the manifest does not say; for the custodian."""
    search = protected.search
    proof = {} if search is None else {"bound": search.bound, "gap": search.gap, "checked": search.checked}
    return {"records": records, "suppressed": protected.suppressed, "loss": protected.loss} | proof


def _sentences(rules: Sequence[PrivacyRule]) -> list[str]:
    return [sentence[:1].upper() + sentence[1:] for sentence in (rule.sentence() for rule in rules)]


def _words(rules: Sequence[PrivacyRule]) -> list[str]:
    """Rules as on the command line."""
    return [rule.words() for rule in rules]


def _settings(request: TableRequest, roles: Mapping[str, Role]) -> dict[str, Any]:
    return {
        "k": request.k,
        "rules": _words(request.rules),
        "suppression": float(request.suppression),
        "loss": request.loss.name,
        "weights": dict(request.weights),
        "search": _search_name(request),
        "local_recoding": request.local_recoding,
        "merge_bound": request.merge_bound,
        "microaggregate": dict(request.microaggregate),
        "time_limit": request.time_limit,
        "rest": request.rest,
        "ids": str(request.ids) if request.id is not None else None,
        "keep_suppressed": request.keep_suppressed,
        "escape_formulas": request.escape_formulas,
        "hierarchies": {column: wanted.hierarchy.spec for column, wanted in request.quasi_identifiers.items()},
        "level_bounds": {
            column: [wanted.lowest, wanted.highest]
            for column, wanted in request.quasi_identifiers.items()
            if wanted.lowest or wanted.highest is not None
        },
        "not_released": [column for column, role in roles.items() if role is Role.DROPPED],
    }


def _search_name(request: TableRequest) -> str | None:
    if request.method != FULL_DOMAIN:
        return None
    return "fixed" if request.levels is not None else request.search_name


def _quasi_identifier(column: str, request: TableRequest, levels: tuple[int, ...]) -> dict[str, Any]:
    """Level of a column; None where it differs between classes, beside the levels that occur."""
    described: dict[str, Any] = {
        "role": str(Role.QUASI_IDENTIFIER),
        "hierarchy": request.quasi_identifiers[column].hierarchy.kind,
        "level": levels[0] if len(levels) == 1 else None,
    }
    if not request.has_one_policy:
        described["levels"] = list(levels)
    if column in request.microaggregate:
        described["average"] = request.microaggregate[column]
    return described


def _columns(roles: Mapping[str, Role], request: TableRequest, protected: ProtectedTable) -> dict[str, Any]:
    described: dict[str, Any] = {}
    for column, role in roles.items():
        if role is Role.QUASI_IDENTIFIER:
            described[column] = _quasi_identifier(column, request, protected.levels[column])
        elif role in (Role.SENSITIVE, Role.KEPT):
            described[column] = {"role": str(role)}
        elif role is Role.IDENTIFIER and request.ids is not Ids.DROP:
            described[column] = {"role": str(role), "ids": str(request.ids)}
    return described


def _shown(loss: float, withheld: bool) -> float:
    return math.ceil(round(loss * ROUNDED, 6)) / ROUNDED if withheld else loss


def _utility(utility: Utility, withheld: bool) -> dict[str, Any]:
    return {
        "loss": _shown(utility.loss, withheld),
        "exact": utility.exact,
        "losses": {name: _shown(loss, withheld) for name, loss in utility.losses.items()},
        "columns": {
            column.column: {"loss": _shown(column.loss, withheld), "top": column.top, "labels": column.labels}
            | ({} if column.variance_lost is None else {"variance_lost": column.variance_lost})
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
    """Return bound and gap; in hundredths, to the safe side, where the search did not prove the loss optimal."""
    if search.optimal:
        return {"bound": None if hidden else utility.loss, "gap": 0.0}
    if hidden:
        return {"bound": None, "gap": None}
    return {"bound": math.floor(search.bound * ROUNDED) / ROUNDED, "gap": math.ceil(search.gap * ROUNDED) / ROUNDED}


def _search(search: SearchResult, roles: Mapping[str, Role], proof: Mapping[str, float | None]) -> dict[str, Any]:
    return {
        "levels": {column: search.levels[column] for column in roles if column in search.levels},
        "lattice": search.lattice,
        "checked": None,  # how long a search takes depends on records that are not released
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
    described = {c: d for c, d in columns.items() if d["role"] == Role.QUASI_IDENTIFIER}
    used = {c: tuple(map(_whole, levels_of(d))) for c, d in described.items()}
    if not used or any(not levels or levels[0] < 0 or sorted(set(levels)) != [*levels] for levels in used.values()):
        raise ValueError("no quasi-identifiers, or levels that no hierarchy has")
    ids = [column for column, described in columns.items() if described["role"] == Role.IDENTIFIER]
    rules = rules_of(manifest)
    return Promise(
        columns=tuple(columns),
        levels={c: max(levels) for c, levels in used.items()},
        k=_least_told(rules),
        released=_whole(records["released"]),
        suppressed=None if isinstance(records["suppressed"], str) else _whole(records["suppressed"]),
        rules=tuple(rule.describe() for rule in rules),
        id=ids[0] if ids else None,
        numbered=bool(ids) and columns[ids[0]]["ids"] == Ids.NUMBER,
        stars=bool(manifest["settings"]["keep_suppressed"]),
        recoded={} if manifest["method"] == FULL_DOMAIN else used,
        averaged={c: str(d["average"]) for c, d in described.items() if "average" in d},
    )


def _whole(number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError("not a whole number")
    if abs(number) > MOST_RECORDS:
        raise ValueError("more than any table has records")
    return number


def rules_of(manifest: Manifest) -> list[PrivacyRule]:
    """Return the rules that a manifest states; no others than this version knows, as it can check no others.

    Raises
    ------
    AttributeError, KeyError, TypeError, ValueError
        It states none, or an unknown one.
    """
    rules = [rule_of(stated) for stated in manifest["guarantee"]["rules"]]
    if not rules:
        raise ValueError("no rules")
    return rules


def _least_told(rules: Sequence[PrivacyRule]) -> int:
    """The number below which counts are withheld: the least group that any rule asks for, at least 2."""
    return max(2, *(rule.class_size for rule in rules), *(getattr(rule, "k", 2) for rule in rules))


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
    rules, guarantee, settings = rules_of(manifest), manifest["guarantee"], manifest["settings"]
    roles = [described["role"] for described in manifest["columns"].values()]
    agreements = {
        "guarantee.sentences do not say what the rules promise": guarantee["sentences"] == _sentences(rules),
        "guarantee.verified is not true": guarantee["verified"] is True,
        "guarantee.one_row_per_patient does not fit settings.ids": _one_row_agrees(manifest, promise),
        "settings.k is not the k of the rules": settings["k"] == promise.k,
        "settings.rules are not the rules of the guarantee": settings["rules"] == _words(rules),
        "guarantee.rules are about columns that are not sensitive": _columns_agree(manifest, rules),
        "settings.ids are not those of the id column": _ids_agree(manifest, promise),
        "settings.weights or settings.level_bounds name other columns than quasi-identifiers": (
            {*settings["weights"]} | {*settings["level_bounds"]} <= promise.levels.keys()
        ),
        "settings.hierarchies are not those of the quasi-identifiers": settings["hierarchies"].keys()
        == promise.levels.keys()
        and all(
            names_hierarchy(str(spec), manifest["columns"][column]["hierarchy"])
            for column, spec in settings["hierarchies"].items()
        ),
        "settings.not_released names released columns": not {*settings["not_released"]} & {*promise.columns},
        "columns have roles that no released column has": all(role in RELEASED for role in roles),
        "several columns are the id": roles.count(Role.IDENTIFIER) <= 1,
        "records do not add up, or tell a number that must be kept back": _records_agree(manifest, promise),
        "more records were suppressed than settings.suppression allows": _share_agrees(manifest, promise),
        "search.levels are not the levels of the columns": _search_agrees(manifest, promise),
        "the method does not fit settings and columns": _method_agrees(manifest, promise),
        "settings.microaggregate are not the averages of the columns": settings["microaggregate"] == promise.averaged
        and {*promise.averaged.values()} <= {*AVERAGES},
    }
    return [failure for failure, holds in agreements.items() if not holds]


def _search_agrees(manifest: Manifest, promise: Promise) -> bool:
    """Whether the policy searched has the levels of the columns; the columns alone where levels differ by class."""
    if manifest["method"] == FULL_DOMAIN:
        return bool(manifest["search"]["levels"] == promise.levels)
    searched = manifest["search"]["levels"].keys() if "search" in manifest else promise.levels.keys()
    return bool(searched == promise.levels.keys())


def _method_agrees(manifest: Manifest, promise: Promise) -> bool:
    """Whether a known method is named, and settings, columns and search are as it leaves them."""
    method, settings = manifest["method"], manifest["settings"]
    described = [d for d in manifest["columns"].values() if d["role"] == Role.QUASI_IDENTIFIER]
    stated = all(("levels" in d) == (method != FULL_DOMAIN) for d in described)
    agree = all(d["level"] == (d["levels"][0] if len(d["levels"]) == 1 else None) for d in described if "levels" in d)
    searched = ("search" in manifest) == (method in SEARCHED) == (settings["search"] is not None)
    known = method in {*METHODS, *SEARCHED} and settings["local_recoding"] is (method == LOCAL_RECODING)
    is_merged = settings["merge_bound"] is not None
    known = known and (is_merged or method != MERGED) and not (is_merged and method == FULL_DOMAIN)
    return stated and agree and searched and known and bool(promise.recoded) == (method != FULL_DOMAIN)


def _columns_agree(manifest: Manifest, rules: Sequence[PrivacyRule]) -> bool:
    """Whether rules look at sensitive columns only."""
    looked_at = {str(rule.describe()["column"]) for rule in rules if "column" in rule.describe()}
    sensitive = {column for column, described in manifest["columns"].items() if described["role"] == Role.SENSITIVE}
    return looked_at <= sensitive


def _ids_agree(manifest: Manifest, promise: Promise) -> bool:
    ids = manifest["settings"]["ids"]
    if promise.id is None:
        return ids in (None, Ids.DROP)
    return ids in (Ids.NUMBER, Ids.HMAC) and manifest["columns"][promise.id]["ids"] == ids


def _one_row_agrees(manifest: Manifest, promise: Promise) -> bool:
    has_ids = promise.id is not None or manifest["settings"]["ids"] is not None
    return bool(manifest["guarantee"]["one_row_per_patient"] == _one_row(has_ids=has_ids))


def _records_agree(manifest: Manifest, promise: Promise) -> bool:
    released, suppressed = promise.released or 0, promise.suppressed
    if suppressed is None:
        # Rows of * could be counted, so a number that is kept back cannot stand beside them.
        return manifest["records"] == records_below(released, promise.k) and not promise.stars
    told = suppressed >= 0 and not is_withheld(suppressed, promise.k)
    return told and manifest["records"] == mask_records(released, suppressed, 0)


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
