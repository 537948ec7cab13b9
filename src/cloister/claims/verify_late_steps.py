"""What is told of steps 7 to 12, beside the figures of the manifest, the files, and the original."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .data_file import CLAIMS, FLAG, ClaimsForm, WrittenClaims
from .verify_original import Original

SUPPRESSION = "11 suppression"


def late_steps_agree(manifest: Mapping[str, Any], files: WrittenClaims, form: ClaimsForm) -> dict[str, bool]:
    """Sentences about the steps, each with whether it is so, by the manifest's other figures and the files."""
    lines = {line["step"]: line for line in manifest["steps"]}
    plan, risk, choice = manifest["settings"]["plan"], manifest["risk"], manifest["choice"]
    begins = {
        "8 adversary power": f"At most {plan['adversary']['power']} values of each quasi-identifier of claims are "
        f"known, {risk['known']:.1f} in the mean.",
        "9 node risk": f"{risk['draws']:,} draws.",
        "10 search": f"{choice['lattice']:,} nodes for each truncation level;",
        "12 evaluation": f"{len(manifest['sensitivity']['attacks'])} adversaries were simulated",
    }
    flags = [name for name in form.names(CLAIMS, FLAG) if name in files.claims.columns]
    hidden = sum(int((files.claims[flag] == "1").sum()) for flag in flags)
    counts, k = lines[SUPPRESSION]["counts"], risk["k"]
    return {
        **{
            f"steps: {step} is not what the manifest says elsewhere": lines[step]["done"].startswith(words)
            for step, words in begins.items()
            if step in lines
        },
        "steps tell of other suppressed cells than there are": _is_told(counts.get("cells suppressed", 0), hidden, k),
    }


def losses_agree(manifest: Mapping[str, Any], files: WrittenClaims, original: Original) -> dict[str, bool]:
    """The same of who and what was left out, by the original with its crosswalk."""
    lines, k = {line["step"]: line for line in manifest["steps"]}, manifest["risk"]["k"]
    left_out = original.patients.height - files.patients.height
    told = {"steps tell of other patients left out": _is_told(_of(lines, "patients left out"), left_out, k)}
    if original.origin is not None:
        is_released = np.zeros(original.patients.height, dtype=np.bool_)
        is_released[original.origin[original.origin >= 0]] = True
        missing = int(is_released[original.owners].sum()) - files.claims.height
        parts = [lines["7 truncation"]["total"] or 0, _of(lines, "claims left out")]
        told["steps tell of other claims left out than are missing"] = _add_up(parts, missing)
    return told


def _of(lines: Mapping[str, Any], name: str) -> Any:
    return lines[SUPPRESSION]["counts"].get(name, 0)


def _is_told(told: Any, true: int, k: int) -> bool:
    """Whether a count is told as it is, or withheld where fewer than k are; what few patients have may be withheld."""
    return told == true if type(told) is int else told == f"<{k}" or told == "withheld"


def _add_up(told: Sequence[Any], true: int) -> bool:
    """Whether counts can add up to a number; those that are withheld may be any."""
    known = sum(one for one in told if type(one) is int)
    return known == true if all(type(one) is int for one in told) else known <= true
