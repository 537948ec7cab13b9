"""What the plan or the manifest of a release of claims promises and declares, as far as its verification needs it."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cloister.errors import InputError
from cloister.release_folder import stated
from cloister.results import Manifest

from .data_file import CLAIMS, KEPT, PATIENTS, PSEUDONYM, QUASI, ClaimsForm, ClaimsPromise, ReleasedColumn, Truncated
from .ladders import hierarchy_named, split_bounds
from .manifest import levels_told, plan_told, smallest_class, told_again
from .plan import ClaimsPlan, parsed_plan
from .plan_sections import NEVER_RELEASED, PAY_DELAY, PSEUDONYMS, lowered

NOT_RELEASED = NEVER_RELEASED | {"id", "drop"}

PROMISER = "a release of claims"
SETTINGS = {"source", "claims", "plan"}
FIGURES = {"mean", "interval", "flag_rate", "flag_interval", "missed", "draws"}


def is_declared(form: ClaimsForm, plan: Mapping[str, Any]) -> bool:
    """Whether the columns of a release are those that its plan names, with roles, hierarchies and levels.

    Parameters
    ----------
    plan : as the manifest tells it
    """
    return all(_is_declared(form, plan, table) for table in (PATIENTS, CLAIMS))


def _is_declared(form: ClaimsForm, plan: Mapping[str, Any], table: str) -> bool:
    roles, qi, derived = (plan[table][key] for key in ("roles", "qi", "derived"))
    (own_id,) = (column for column, role in roles.items() if role == "id")
    if form.names(table)[0] != own_id or form.names(table, QUASI) != [*qi]:
        return False
    if not all(_has_levels(column, qi[column.name]) for column in form.of(table) if column.role == QUASI):
        return False
    kept = {column: role for column, role in roles.items() if role not in NOT_RELEASED and column not in qi}
    kept |= {PAY_DELAY: "keep"} if PAY_DELAY in {*derived} - {*qi} else {}
    expected = {column: _kept(role, table, plan["ids"]) for column, role in kept.items()}
    found = {one.name: (one.role, one.numbered_with) for one in form.of(table) if one.role in (KEPT, PSEUDONYM)}
    return found == {column: what for column, what in expected.items() if what is not None}


def _kept(role: str, table: str, ids: Mapping[str, str]) -> tuple[str, str | None] | None:
    """What a column that has no hierarchy is released as; None where it is not."""
    if role not in PSEUDONYMS:
        return KEPT, None
    if ids[role] == "drop":
        return None
    return PSEUDONYM, role if ids[role] == "number" else f"{role} of {table}"


def _has_levels(column: ReleasedColumn, words: str) -> bool:
    """Whether a column has the hierarchy that the plan names and a level within the bounds."""
    low, high = _bounds(words, column.top or 0)
    return column.hierarchy == _hierarchy(words) and low <= (column.level or 0) <= high


def _hierarchy(words: str) -> str:
    spec, _ = split_bounds(words)
    try:
        return "file" if hierarchy_named(spec, {}).hierarchy.kind == "file" else spec
    except InputError:
        return "file"  # whose name alone is told


def _bounds(words: str, top: int) -> tuple[int, int]:
    _, bounds = split_bounds(words)
    low, _, high = bounds.removeprefix("@").partition("-")
    return int(low or 0), min(int(high or low or top), top)


def n_nodes(form: ClaimsForm, plan: Mapping[str, Any]) -> int:
    """How many choices of levels the plan allows."""
    count = 1
    for table in (PATIENTS, CLAIMS):
        for column in form.of(table):
            if column.role == QUASI:
                low, high = _bounds(plan[table]["qi"][column.name], column.top or 0)
                count *= high - low + 1
    return count


def promise_of(plan: ClaimsPlan, form: ClaimsForm, risk: Mapping[str, Any]) -> ClaimsPromise:
    """Return what is promised under a plan."""
    return _promise(plan_told(plan), form, risk)


def _promise(plan: Mapping[str, Any], form: ClaimsForm, risk: Mapping[str, Any]) -> ClaimsPromise:
    adversary, threshold = plan["adversary"], plan["risk"]["threshold"]
    return ClaimsPromise(
        form,
        threshold,
        smallest_class(threshold),
        plan["risk"]["seed"],
        adversary["power"],
        adversary["rounding"],
        adversary["basis"],
        adversary["tolerant"] == "bounded",
        risk,
    )


def read_promise(manifest: Manifest) -> ClaimsPromise:
    """Return what a manifest promises."""
    return stated(lambda: _read(manifest), PROMISER)


def _read(manifest: Manifest) -> ClaimsPromise:
    risk, plan = manifest["risk"], manifest["settings"]["plan"]
    if risk.keys() != FIGURES | {"threshold", "k", "known", "tolerant", "likeliest", "as_released"}:
        raise ValueError("not the figures of a risk")
    if type(risk["known"]) not in (int, float) or not 0 <= risk["known"] <= plan["adversary"]["power"]:
        raise ValueError("not how many values are known")
    for figures in (risk, risk["as_released"], risk["tolerant"], risk["likeliest"]):
        _check_figures(figures)
    found = _promise(plan, ClaimsForm.read(manifest["columns"]), risk)
    attacks = manifest["sensitivity"]["attacks"]
    for row in attacks:
        _check_figures(row)
    is_known = found.rounding in ("ceil", "floor", "round") and found.basis in ("raw", "node")
    whole = all(type(number) is int and number >= least for number, least in ((found.seed, 0), (found.power, 1)))
    if not (is_known and whole and type(found.threshold) is float and 0 < found.threshold <= 0.5):
        raise ValueError("not what a plan says")
    return replace(found, attacks=tuple(attacks), truncation=_truncated(manifest["choice"]["truncation"], plan))


def _truncated(told: Any, plan: Mapping[str, Any]) -> Truncated:
    percentile = 100.0 if told == "none" else float(told)
    if not 0 < percentile <= 100:
        raise ValueError("not a percentile")
    return Truncated(
        percentile, plan["truncation"]["per"] == "patient-year", plan["suppression"]["treatment"] == "claims"
    )


def _check_figures(figures: Mapping[str, Any]) -> None:
    """Refuse figures that no simulation has."""
    if not figures.keys() >= FIGURES or type(figures["draws"]) is not int or figures["draws"] < 1:
        raise ValueError("not the figures of a simulation")
    numbers = [figures["missed"], *([figures["highest"]] if "highest" in figures else [])]
    if any(not _is_share(number) for number in numbers):
        raise ValueError("not a share")
    for name, around in (("mean", "interval"), ("flag_rate", "flag_interval")):
        low, high = figures[around]
        if not all(_is_share(number) for number in (low, high, figures[name])):
            raise TypeError("not numbers")
        if not 0 <= low <= figures[name] <= high <= 1:
            raise ValueError("not a share within its interval")


def _is_share(number: Any) -> bool:
    return type(number) in (int, float) and 0 <= number <= 1


def agreements(manifest: Manifest, promise: ClaimsPromise) -> dict[str, bool]:
    """Return sentences about the manifest, each with whether it is false; the files are not looked at."""
    settings, risk, form = manifest["settings"], manifest["risk"], promise.form
    plan, choice, tolerant = settings["plan"], manifest["choice"], manifest["risk"]["tolerant"]
    keys = SETTINGS | ({"delimiter"} if "delimiter" in settings else set())
    return {
        "settings has unknown or missing keys": settings.keys() == keys,
        "settings.claims is no name of a file": isinstance(settings["claims"], str) and "/" not in settings["claims"],
        "settings.plan is no plan": _is_plan(plan),
        "seed is not that of settings.plan": manifest["seed"] == promise.seed,
        "columns are not those of settings.plan": is_declared(form, plan),
        "risk.threshold and risk.k are not those of settings.plan": risk["threshold"] == promise.threshold
        and risk["k"] == promise.k,
        "risk.draws are not those of settings.plan": _are_draws(risk["draws"], plan)
        and tolerant["draws"] == risk["draws"],
        "risk.tolerant does not fit settings.plan": tolerant["limit"] == plan["adversary"]["tolerant"]
        and tolerant.keys() == FIGURES | {"highest", "limit"},
        "risk.as_released has unknown keys": risk["as_released"].keys() == FIGURES,
        "risk.likeliest does not fit settings.plan": risk["likeliest"]["limit"] == plan["adversary"]["likeliest"]
        and risk["likeliest"].keys() == FIGURES | {"limit"},
        "risk.likeliest is above the threshold": plan["adversary"]["likeliest"] != "bounded"
        or risk["likeliest"]["interval"][1] <= promise.threshold,
        "choice.max_suppression is neither that of settings.plan nor what it is lowered to": choice["max_suppression"]
        in lowered(plan["risk"]["max_suppression"]),
        "choice.levels are not those of columns": choice["levels"] == levels_told(form),
        "choice.optimal does not fit settings.plan": choice["optimal"] is True
        or (choice["optimal"] is False and set(plan["search"].values()) != {None}),
        "settings.plan.weights are not those of quasi-identifiers": all(
            any(column in plan[table]["qi"] for table in (PATIENTS, CLAIMS)) and 0 < weight < math.inf
            for column, weight in plan["weights"].items()
        ),
        "columns.ids are not those of settings.plan": form.ids == plan["ids"]["patients"],
        "sensitivity has no attacks": bool(manifest["sensitivity"]["attacks"]),
    }


def _is_plan(told: Mapping[str, Any]) -> bool:
    """Whether it has the keys of a plan and no others, with what may stand under each."""
    try:
        return told_again(parsed_plan(told)) == told
    except ValueError:
        return False


def _are_draws(draws: int, plan: Mapping[str, Any]) -> bool:
    """Whether there are so many draws as whole repeats have."""
    at_once, repeats = plan["risk"]["draws"], plan["risk"]["repeats"]
    return bool(draws % at_once == 0 and draws <= at_once * repeats)
