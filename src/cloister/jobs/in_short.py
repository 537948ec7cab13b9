"""A part of a job in a line: what it promises, the risk that is left, and how much was lost."""

from typing import Any

from cloister.results import Manifest

LOST = ("loss", "occurrences_in_item_chunks", "ilm", "ilm_terms")
"""What stands for the loss of each method, where it is one number."""


def promise_of(manifest: Manifest) -> str:
    """Return what a part promises, in a few words."""
    if manifest["shape"] == "claims":
        return f"mean <= {manifest['risk']['threshold']:g}"
    rules = manifest["guarantee"]["rules"]
    told = [f"k = {next(rule['k'] for rule in rules if 'k' in rule)}"]
    codes = manifest["codes"]["settings"] if "codes" in manifest else manifest["settings"]
    return ", ".join([*told, *([f"m = {codes['m']}"] if codes.get("m") is not None else [])])


def risk_of(manifest: Manifest) -> float | None:
    """Return the highest risk of a patient, of claims the mean one; None where chunks tell of candidates alone."""
    risk = manifest["risk"]
    found: float | None = risk.get("highest", risk.get("mean"))
    return found


def loss_of(manifest: Manifest) -> float | None:
    """Return how much was lost, 0 nothing and 1 all, as the method counts it; None where that is not told.

    Of tables and claims the loss that was minimized, of chunks the share of codes without a count, of generalized codes
    the ILM, of trajectories the larger of the losses of codes and of ages.
    """
    utility: dict[str, Any] = manifest["utility"]
    if manifest["shape"] == "trajectories":
        codes, ages = utility["ilm_exact"], utility["alm_exact"]
        return None if codes is None or ages is None else float(max(codes, ages))
    return next((utility[name] for name in LOST if utility.get(name) is not None), None)
