"""What the plan or the manifest of a release of claims promises, as far as its verification needs it."""

import math
from collections.abc import Mapping
from typing import Any

from cloister.release_folder import stated
from cloister.results import Manifest

from .data_file import CLAIMS, PATIENTS, QUASI, ClaimsForm
from .manifest import levels_told, plan_told, smallest_class
from .plan import ClaimsPlan, lowered
from .verify import Promise

PROMISER = "a release of claims"
SETTINGS = {"source", "claims", "plan"}
FIGURES = {"mean", "interval", "flag_rate", "flag_interval", "missed", "draws"}


def promise_of(plan: ClaimsPlan, form: ClaimsForm, risk: Mapping[str, Any]) -> Promise:
    """Return what is promised under a plan."""
    return _promise(plan_told(plan), form, risk)


def _promise(plan: Mapping[str, Any], form: ClaimsForm, risk: Mapping[str, Any]) -> Promise:
    adversary, threshold = plan["adversary"], plan["risk"]["threshold"]
    return Promise(
        form,
        threshold,
        smallest_class(threshold),
        plan["risk"]["seed"],
        adversary["power"],
        adversary["rounding"],
        adversary["basis"],
        risk,
    )


def read_promise(manifest: Manifest) -> Promise:
    """Return what a manifest promises.

    Raises
    ------
    InputError
        It lacks something, or has something else in its place.
    """
    return stated(lambda: _read(manifest), PROMISER)


def _read(manifest: Manifest) -> Promise:
    risk, plan = manifest["risk"], manifest["settings"]["plan"]
    if risk.keys() != FIGURES | {"threshold", "k", "known", "tolerant", "likeliest", "as_released"}:
        raise ValueError("not the figures of a risk")
    if type(risk["known"]) not in (int, float) or not 0 <= risk["known"] <= plan["adversary"]["power"]:
        raise ValueError("not how many values are known")
    for figures in (risk, risk["as_released"], risk["tolerant"], risk["likeliest"]):
        _check_figures(figures)
    found = _promise(plan, ClaimsForm.read(manifest["columns"]), risk)
    is_known = found.rounding in ("ceil", "floor", "round") and found.basis in ("raw", "node")
    whole = all(type(number) is int and number >= least for number, least in ((found.seed, 0), (found.power, 1)))
    if not (is_known and whole and type(found.threshold) is float and 0 < found.threshold <= 0.5):
        raise ValueError("not what a plan says")
    return found


def _check_figures(figures: Mapping[str, Any]) -> None:
    """Refuse figures that no simulation has."""
    if not figures.keys() >= FIGURES or type(figures["draws"]) is not int or figures["draws"] < 1:
        raise ValueError("not the figures of a simulation")
    for name, around in (("mean", "interval"), ("flag_rate", "flag_interval")):
        low, high = figures[around]
        if any(isinstance(number, bool) for number in (low, high, figures[name])):
            raise TypeError("not numbers")
        if not 0 <= low <= figures[name] <= high <= 1:
            raise ValueError("not a share within its interval")


def agreements(manifest: Manifest, promise: Promise) -> dict[str, bool]:
    """Return sentences about the manifest, each with whether it is false; the files are not looked at."""
    settings, risk, form = manifest["settings"], manifest["risk"], promise.form
    plan, choice, tolerant = settings["plan"], manifest["choice"], manifest["risk"]["tolerant"]
    named = {table: [*plan[table]["qi"]] for table in (PATIENTS, CLAIMS)}
    keys = SETTINGS | ({"delimiter"} if "delimiter" in settings else set())
    is_bounded = plan["adversary"]["tolerant"] == "bounded"
    return {
        "settings has unknown or missing keys": settings.keys() == keys,
        "settings.claims is no name of a file": isinstance(settings["claims"], str) and "/" not in settings["claims"],
        "seed is not that of settings.plan": manifest["seed"] == promise.seed,
        "columns are not those of settings.plan": all(form.names(table, QUASI) == named[table] for table in named),
        "risk.threshold and risk.k are not those of settings.plan": risk["threshold"] == promise.threshold
        and risk["k"] == promise.k,
        "risk.tolerant does not fit settings.plan": tolerant["limit"] == plan["adversary"]["tolerant"],
        "risk.tolerant is above the threshold": not is_bounded
        or max(tolerant["highest"], tolerant["interval"][1]) <= promise.threshold,
        "risk.likeliest does not fit settings.plan": risk["likeliest"]["limit"] == plan["adversary"]["likeliest"],
        "risk.likeliest is above the threshold": plan["adversary"]["likeliest"] != "bounded"
        or risk["likeliest"]["interval"][1] <= promise.threshold,
        "choice.max_suppression is neither that of settings.plan nor what it is lowered to": choice["max_suppression"]
        in lowered(plan["risk"]["max_suppression"]),
        "choice.levels are not those of columns": choice["levels"] == levels_told(form),
        "choice.optimal does not fit settings.plan": choice["optimal"] is True
        or (choice["optimal"] is False and set(plan["search"].values()) != {None}),
        "settings.plan.weights are not those of quasi-identifiers": all(
            any(column in named[table] for table in named) and type(weight) in (int, float) and 0 < weight < math.inf
            for column, weight in plan["weights"].items()
        ),
        "columns.ids are not those of settings.plan": form.ids == plan["ids"]["patients"],
        "choice.around does not begin with the node chosen": choice["around"][0]["levels"] == choice["levels"],
        "steps are not told in lines": bool(manifest["steps"])
        and all(line.keys() == {"step", "done", "total", "counts"} for line in manifest["steps"]),
        "sensitivity has no attacks": bool(manifest["sensitivity"]["attacks"])
        and all(row.keys() == FIGURES | {"adversary", "assumes"} for row in manifest["sensitivity"]["attacks"]),
    }
