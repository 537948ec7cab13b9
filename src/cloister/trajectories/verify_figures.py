"""The losses of a release of trajectories, worked out again label by label; shares no code with `losses`."""

from dataclasses import dataclass
from math import fsum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy.ladder import ROOT, Hierarchy, Ladder

from .data_file import AGE, CODE, WrittenTrajectories
from .manifest import TrajectoriesUtility
from .verify_original import Numbers, Secret

ROUNDED = 0.0005 + 1e-9
"""How far a loss told to three decimals may be from the true one."""


def losses_agree(utility: TrajectoriesUtility, released: WrittenTrajectories, secret: Secret | None, k: int) -> bool:
    """Whether published losses are as far as they follow from the files and, where it is given, from the original."""
    rows = released.frame.height
    published = utility.ilm_exact, utility.alm_exact
    least = utility.codes_untold / rows, utility.ages_untold / rows
    if any(loss < low - ROUNDED for loss, low in zip(published, least, strict=True)):
        return False
    if secret is None:
        return True
    all_common = all(values.all() for values in common_values(secret, k))
    if (utility.ilm is None) is all_common or rows > secret.trajectories.n_pairs:
        return False
    return all(
        loss >= each.least - ROUNDED if each.is_bound else abs(loss - each.least) <= ROUNDED
        for loss, each in zip(published, exact_losses(released, secret, k), strict=True)
    )


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
