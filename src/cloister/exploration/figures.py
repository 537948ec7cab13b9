"""A manifest -> the figures by which releases are compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cloister.errors import InputError
from cloister.release import Release
from cloister.release_folder import stated
from cloister.results import Manifest

PLAIN = "mean loss of the quasi-identifiers"
"""What tables are compared by where the losses that were minimized are not the same."""


@dataclass(frozen=True)
class Figures:
    """What a release promises, risks and loses.

    Attributes
    ----------
    promise : the largest k, m and power that the rules name, 0 where none does: the greater the better
    released, suppressed : records; text where the manifest withholds a small count
    risk : highest chance that a record is re-identified, in [0, 1]; of claims the upper end of the interval of the mean
        chance; of codes what the rule promises, 1 / k
    average : mean of that chance over the records; None where the manifest does not tell it
    loss : in [0, 1], 0 nothing lost; None where the manifest withholds it
    measure : what ``loss`` is; losses of different measures cannot be compared
    plain_loss : the same for a table by one measure whatever loss was minimized; None for other shapes
    """

    shape: str
    method: str
    guarantee: str
    promise: tuple[float, ...]
    verified: bool
    released: int | str
    suppressed: int | str
    risk: float | None
    average: float | None
    loss: float | None
    measure: str
    plain_loss: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


def figures_of(manifest: Manifest) -> Figures:
    """Return the figures of a release from its manifest."""
    shape = manifest.get("shape")
    read = {"table": _table, "codes": _codes, "trajectories": _trajectories, "claims": _claims}.get(str(shape))
    if read is None:
        raise InputError("The manifest is of no shape that this version compares.", file="release.json")
    return stated(lambda: Figures(**_head(manifest), **read(manifest)), "a release")


def exact_figures_of(release: Release) -> Figures:
    """Return the figures of a release for its custodian: of a table the exact loss, and how many are suppressed."""
    told, exact = figures_of(release.summary()), release.custody.figures
    if told.shape != "table" or "codes" in release.manifest:
        return told
    return replace(told, suppressed=exact["suppressed"], loss=_number(exact["loss"]))


def _head(manifest: Manifest) -> dict[str, Any]:
    records = manifest["records"]
    guarantees = [manifest["guarantee"], *([manifest["codes"]["guarantee"]] if "codes" in manifest else [])]
    return {
        "shape": str(manifest["shape"]),
        "method": str(manifest["method"]),
        "guarantee": "; ".join(_rule(rule) for guarantee in guarantees for rule in guarantee["rules"]),
        "promise": tuple(_largest(guarantees, name) for name in ("k", "m", "power")),
        "verified": all(guarantee["verified"] is True for guarantee in guarantees),
        "released": _count(records["released"]),
        "suppressed": _count(records["suppressed"]),
    }


def _largest(guarantees: Sequence[Mapping[str, Any]], name: str) -> float:
    told = (_number(rule.get(name)) for guarantee in guarantees for rule in guarantee["rules"])
    return max((number for number in told if number is not None), default=0.0)


def _rule(rule: Mapping[str, Any]) -> str:
    told = ", ".join(f"{name} {value}" for name, value in rule.items() if name != "model" and value is not None)
    return f"{rule['model']} ({told})" if told else str(rule["model"])


def _table(manifest: Manifest) -> dict[str, Any]:
    risk, utility, settings = manifest["risk"], manifest["utility"], manifest["settings"]
    losses = [_number(column["loss"]) or 0.0 for column in utility["columns"].values()]
    weights = ", ".join(f"{column} {weight:g}" for column, weight in sorted(settings["weights"].items()))
    told = {
        "risk": _number(risk["highest"]),
        "average": _number(risk["average"]),
        "loss": _number(utility["loss"]),
        "measure": f"loss {settings['loss']}" + (f", weights {weights}" if weights else ""),
        "plain_loss": sum(losses) / len(losses) if losses else None,
        "more": {"classes": risk["classes"], "search_proven": (manifest.get("search") or {}).get("optimal")},
    }
    return told if "codes" not in manifest else told | _with_codes(manifest, told)


def _with_codes(manifest: Manifest, table: Mapping[str, Any]) -> dict[str, Any]:
    """A table with codes: the worse risk, and both losses by half."""
    utility = manifest["codes"]["utility"]
    untold = _number(utility["occurrences_in_item_chunks"]) or 0.0
    promised = _promised(manifest["codes"]["guarantee"])
    return {
        "risk": max(table["risk"], promised),
        "loss": (table["loss"] + untold) / 2,
        "measure": f"half {table['measure']}, half share of codes told without their records",
        "plain_loss": (table["plain_loss"] + untold) / 2,
        "more": {
            **table["more"],
            "loss_of_table": table["loss"],
            **_of_policy(utility),
            "codes_in_item_chunks": untold,
        },
    }


def _codes(manifest: Manifest) -> dict[str, Any]:
    utility = manifest["utility"]
    parts = "occurrences_in_item_chunks" in utility
    loss = _number(utility["occurrences_in_item_chunks" if parts else "ilm"])
    return {
        "risk": _promised(manifest["guarantee"]),
        "average": None,
        "loss": loss,
        "measure": "share of codes told without their records" if parts else "information loss of codes (ilm)",
        "more": {"codes_in_item_chunks" if parts else "ilm": loss} | _of_policy(utility),
    }


def _of_policy(utility: Mapping[str, Any]) -> dict[str, Any]:
    names = ("suppressed_codes", "are", "constraints_satisfied", "constraints_preserved")
    return {name: utility[name] for name in names}


def _promised(guarantee: Mapping[str, Any]) -> float:
    k: int = min(rule["k"] for rule in guarantee["rules"] if "k" in rule)
    return 1 / k


def _trajectories(manifest: Manifest) -> dict[str, Any]:
    risk, utility = manifest["risk"], manifest["utility"]
    codes, ages = _number(utility["ilm_exact"]), _number(utility["alm_exact"])
    return {
        "risk": _number(risk["highest"]),
        "average": _number(risk["average"]),
        "loss": None if codes is None or ages is None else (codes + ages) / 2,
        "measure": "mean loss of codes and of ages",
        "more": {"ilm": codes, "alm": ages, "trajectories": utility["trajectories"]},
    }


def _claims(manifest: Manifest) -> dict[str, Any]:
    risk = manifest["risk"]
    weights = ", ".join(
        f"{name} {weight:g}" for name, weight in sorted(manifest["settings"]["plan"]["weights"].items())
    )
    return {
        "risk": _number(risk["interval"][1]),
        "average": _number(risk["mean"]),
        "loss": _number(manifest["utility"]["loss"]),
        "measure": "loss of claims" + (f", weights {weights}" if weights else ""),
        "more": {"flag_rate": risk["flag_rate"], "threshold": risk["threshold"]},
    }


def _number(value: Any) -> float | None:
    """A number of a manifest; None where it is withheld."""
    if value is None or isinstance(value, str):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _count(value: Any) -> int | str:
    return value if isinstance(value, int) else str(value)
