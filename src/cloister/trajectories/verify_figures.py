"""The figures of a release of trajectories, counted anew from what its files say; with the original, the losses too.

Shares no code with `figures` and `losses`: text is counted with Polars, and losses are worked out label by label.
"""

import math
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy.ladder import ROOT, Hierarchy, Ladder

from .data_file import AGE, CODE, ID, WrittenTrajectories
from .request import GWAS_SETS, is_made_of_data
from .verify_original import Numbers, Secret

LOSSES = ("ilm", "alm", "ilm_exact", "alm_exact")
ROUNDED = 0.0005 + 1e-9
"""How far a loss told to three decimals may be from the true one."""

ABOVE = 0.2

MOST_ACCUMULATED = 2
"""No accumulated loss is higher: a pair of a cluster, and one of a patient that joins, add one whole loss at most. A
cluster is never longer than its shortest patient, so that each pair of the original is counted twice at most."""


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
    utility: dict[str, Any], released: WrittenTrajectories, secret: Secret | None, policy: str | None, k: int
) -> bool:
    """Return whether ``utility`` is as counted anew, and its losses are as far as they follow.

    Parameters
    ----------
    secret : for the exact losses; without it they are only bounded: what is told of no code was lost, and what is not
        released too
    policy : where sets of codes came from; None: there are none, and nothing is told of them
    k : patients that have a common value
    """
    counts = counts_of(released)
    if utility.keys() != {*counts, *LOSSES, *CONSTRAINTS, "are"} or utility["are"] is not None:
        return False
    if not _are_constraints([utility[name] for name in CONSTRAINTS], policy):
        return False
    if not all(type(utility[name]) is int and utility[name] == count for name, count in counts.items()):
        return False
    accumulated = [utility["ilm"], utility["alm"]]
    if accumulated != [None, None] and not all(_is_rounded(loss) and loss <= MOST_ACCUMULATED for loss in accumulated):
        return False
    rows = released.frame.height
    least = counts["codes_untold"] / rows, counts["ages_untold"] / rows
    told = utility["ilm_exact"], utility["alm_exact"]
    if not all(_is_rounded(loss) and low - ROUNDED <= loss <= 1 for low, loss in zip(least, told, strict=True)):
        return False
    if secret is None:
        return True
    all_common = all(values.all() for values in common_values(secret, k))
    if (accumulated == [None, None]) is all_common or rows > secret.trajectories.n_pairs:
        return False
    found = exact_losses(released, secret, k)
    return all(
        loss >= each.least - ROUNDED if each.is_bound else abs(loss - each.least) <= ROUNDED
        for loss, each in zip(told, found, strict=True)
    )


def _are_constraints(told: list[Any], policy: str | None) -> bool:
    """Whether numbers of sets are such; how many are kept is the releaser's word."""
    if policy is None or is_made_of_data(policy):
        return told == [None, None]
    if not all(type(number) is int for number in told):
        return False
    return 0 <= told[1] <= told[0] and (policy != "gwas" or told[0] == GWAS_SETS)


def _is_rounded(loss: Any) -> bool:
    return type(loss) is float and math.isfinite(loss) and loss >= 0 and round(loss, 3) == loss


@dataclass(frozen=True)
class ExactLoss:
    """A mean loss; only a lower bound where labels stand for different values at different levels."""

    least: float
    is_bound: bool


def common_values(secret: Secret, k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which codes and which ages of the original k patients or more have."""
    original = secret.trajectories
    owner = pl.Series("owner", np.repeat(np.arange(original.n_patients), np.diff(original.offsets)))

    def of(values: Numbers, n_values: int) -> NDArray[np.bool_]:
        held = pl.DataFrame([owner, pl.Series("value", values)]).unique().group_by("value").len()
        common = np.zeros(n_values, dtype=np.bool_)
        common[held.filter(pl.col("len") >= k)["value"].to_numpy()] = True
        return common

    return of(original.codes, len(original.vocabulary)), of(original.ages, len(original.age_values))


def exact_losses(released: WrittenTrajectories, secret: Secret, k: int) -> tuple[ExactLoss, ExactLoss]:
    """Return the mean loss of codes and of ages over the pairs of the original, of the values that k patients have.

    Where each pair went need not be known: a row stands for one pair, and all others are suppressed. A patient without
    pairs is one row of `*`, which loses as much as the suppressed pair that it may be.

    Parameters
    ----------
    secret : a release of it that passed every check
    """
    original = secret.trajectories
    codes, ages = common_values(secret, k)
    return (
        _loss(released.frame[CODE], original.vocabulary, codes, secret.codes, original.n_pairs),
        _loss(released.frame[AGE], original.age_values, ages, secret.ages, original.n_pairs),
    )


def _loss(
    labels: pl.Series, known: tuple[str, ...], common: NDArray[np.bool_], hierarchy: Hierarchy, n_pairs: int
) -> ExactLoss:
    sets = _sets_of_labels(hierarchy.bind("column", known))
    usual = frozenset(value for value, is_common in zip(known, common, strict=True) if is_common)
    lost, is_bound = [float(n_pairs - labels.len())], False
    for label, count in labels.value_counts(name="rows\0").iter_rows():
        covered = frozenset().union(*sets.get(label, set()))
        is_bound |= label != ROOT and covered not in sets.get(label, set())
        share = max(1, len(covered & usual)) / max(1, len(usual)) if len(covered) > 1 else 0.0
        lost.append(count * (1.0 if label == ROOT else share))
    return ExactLoss(fsum(lost) / n_pairs, is_bound)


def _sets_of_labels(ladder: Ladder) -> dict[str, set[frozenset[str]]]:
    """The values that each label stands for, at every level that has it."""
    sets: dict[str, set[frozenset[str]]] = {}
    for level in ladder.labels:
        members: dict[str, set[str]] = {}
        for value, label in zip(ladder.values, level, strict=True):
            if label is not None and value is not None:
                members.setdefault(label, set()).add(value)
        for label, group in members.items():
            sets.setdefault(label, set()).add(frozenset(group))
    return sets
