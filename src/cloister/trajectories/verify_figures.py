"""The figures of a release of trajectories, counted anew from what its files say; with the original, the losses too.

Shares no code with `figures` and `losses`: text is counted with Polars, and losses are worked out label by label.
"""

import math
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
import polars as pl

from cloister.hierarchy.ladder import ROOT, Hierarchy

from .data_file import AGE, CODE, ID, WrittenTrajectories
from .verify_original import Numbers, Secret

LOSSES = ("ilm", "alm", "ilm_exact", "alm_exact")
ROUNDED = 0.0005 + 1e-9
"""How far a loss told to three decimals may be from the true one."""

ABOVE = 0.2


def counts_of(released: WrittenTrajectories) -> dict[str, int]:
    """Return the numbers of ``utility`` that say how many pairs and trajectories there are."""
    frame = released.frame
    no_code, no_age = frame[CODE] == ROOT, frame[AGE] == ROOT
    alone = frame.select(pl.len().over(ID) == 1).to_series()
    return {
        "pairs": int((~(no_code & no_age)).sum()),
        "codes_untold": int(no_code.sum()),
        "ages_untold": int(no_age.sum()),
        "patients_untold": int((no_code & no_age & alone).sum()),
        "trajectories": len(_copies(released)),
    }


def _copies(released: WrittenTrajectories) -> list[int]:
    """Patients of each distinct trajectory."""
    told = released.frame.group_by(ID, maintain_order=True).agg(CODE, AGE)
    return [int(count) for count in told.group_by(CODE, AGE).len()["len"].to_list()]


def risk_of(released: WrittenTrajectories) -> dict[str, float | int]:
    """Return the numbers of ``risk``."""
    copies = _copies(released)
    n_patients = sum(copies)
    return {
        "highest": 1 / min(copies),
        "average": len(copies) / n_patients,
        "share_above_threshold": sum(count for count in copies if 1 / count > ABOVE) / n_patients,
        "threshold": ABOVE,
        "smallest": min(copies),
        "largest": max(copies),
    }


CONSTRAINTS = ("constraints", "constraints_kept")


def figures_agree(
    utility: dict[str, Any], released: WrittenTrajectories, secret: Secret | None, policy: str | None
) -> bool:
    """Return whether ``utility`` is as counted anew, and its losses are as far as they follow.

    Parameters
    ----------
    secret : with the place of every pair, for the exact losses; else they are only bounded: what is told of no code
        was lost, and what is not released too
    policy : where sets of codes came from; None: there are none, and nothing is told of them
    """
    counts = counts_of(released)
    if utility.keys() != {*counts, *LOSSES, *CONSTRAINTS, "are"} or utility["are"] is not None:
        return False
    if not _are_constraints([utility[name] for name in CONSTRAINTS], policy):
        return False
    if not all(type(utility[name]) is int and utility[name] == count for name, count in counts.items()):
        return False
    if not all(_is_rounded(utility[name]) for name in LOSSES):
        return False
    rows = released.frame.height
    least = counts["codes_untold"] / rows, counts["ages_untold"] / rows
    told = utility["ilm_exact"], utility["alm_exact"]
    if not all(low - ROUNDED <= loss <= 1 for low, loss in zip(least, told, strict=True)):
        return False
    if secret is None or secret.position is None or secret.origin is None:
        return True
    found = exact_losses(released, secret)
    return all(
        loss >= each.least - ROUNDED if each.is_bound else abs(loss - each.least) <= ROUNDED
        for loss, each in zip(told, found, strict=True)
    )


def _are_constraints(told: list[Any], policy: str | None) -> bool:
    """Whether numbers of sets are such; how many are kept is the releaser's word."""
    if policy is None:
        return told == [None, None]
    return all(type(number) is int for number in told) and 0 <= told[1] <= told[0]


def _is_rounded(loss: Any) -> bool:
    return type(loss) is float and math.isfinite(loss) and loss >= 0 and round(loss, 3) == loss


@dataclass(frozen=True)
class ExactLoss:
    """A mean loss; only a lower bound where labels stand for different values at different levels."""

    least: float
    is_bound: bool


def exact_losses(released: WrittenTrajectories, secret: Secret) -> tuple[ExactLoss, ExactLoss]:
    """Return the mean loss of codes and of ages over the pairs of the original.

    Parameters
    ----------
    secret : a release of it that passed every check
    """
    original, position, origin = secret.trajectories, secret.position, secret.origin
    if position is None or origin is None:
        raise ValueError("the place of every pair is needed")
    number = np.empty(origin.size, dtype=np.int64)
    number[origin] = np.arange(origin.size)
    owner = np.repeat(np.arange(origin.size), np.diff(original.offsets))
    starts = np.flatnonzero(np.diff(released.frame[ID].to_numpy(), prepend=0))
    kept = position >= 0
    row = starts[number[owner[kept]]] + position[kept]
    n_lost = int(np.sum(~kept))
    codes = _loss(original.codes[kept], released.frame[CODE].gather(row), original.vocabulary, secret.codes, n_lost)
    ages = _loss(original.ages[kept], released.frame[AGE].gather(row), original.age_values, secret.ages, n_lost)
    return codes, ages


def _loss(values: Numbers, labels: pl.Series, known: tuple[str, ...], hierarchy: Hierarchy, n_lost: int) -> ExactLoss:
    ladder = hierarchy.bind("column", known)
    sets: dict[str, set[frozenset[str]]] = {}
    for level in ladder.labels:
        members: dict[str, set[str]] = {}
        for value, label in zip(ladder.values, level, strict=True):
            if label is not None and value is not None:
                members.setdefault(label, set()).add(value)
        for label, group in members.items():
            sets.setdefault(label, set()).add(frozenset(group))
    pairs = pl.DataFrame({"value": values, "label": labels}).group_by("label").len()
    lost, is_bound = [float(n_lost)], False
    for label, count in pairs.iter_rows():
        covered = frozenset().union(*sets.get(label, set()))
        is_bound |= label != ROOT and covered not in sets[label]
        share = 1.0 if label == ROOT else len(covered) / len(known) if len(covered) > 1 else 0.0
        lost.append(count * share)
    return ExactLoss(fsum(lost) / (len(values) + n_lost), is_bound)
