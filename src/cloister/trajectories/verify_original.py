"""A release of trajectories against its original: nobody is lost or invented, order is kept, labels cover, losses hold.

Counted with NumPy, Polars and plain Python from labels of the hierarchies; shares nothing with alignment, trees and
`figures`.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import fsum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy.bound import ROOT, BoundHierarchy, Hierarchy
from cloister.results import Checks

from .data import AGE, CODE, ID, Trajectories, WrittenTrajectories
from .manifest import TrajectoriesUtility

Integers = NDArray[np.int64]
Numbers = NDArray[np.int32]
Covered = tuple[frozenset[str], ...]

AS_MANY = "there are as many patients as in the original"
BESIDE = "auxiliary attributes are as in the original"
EACH_ONCE = "every patient of the original is released once"
IN_ORDER = "pairs stand in the order of the original"
ONE_FOR_ONE = "every released pair is one of the original, released once, and all others are suppressed"
PLACED = "every pair of the original that is not suppressed stands where it was placed"
CODES_COVER = "every released code covers the code it replaces"
AGES_COVER = "every released age covers the age it replaces"


@dataclass(frozen=True, eq=False, repr=False)
class Secret:
    """The original, and where it went as far as that is known."""

    trajectories: Trajectories
    codes: Hierarchy
    ages: Hierarchy
    attributes: pl.DataFrame | None = None  # what rode along, in the order of the patients; None where nothing did
    # (n_patients,) the patient of the original behind each released one; None: not known
    origin: Integers | None = None
    # (n_pairs,) the place in the released trajectory of each pair of the original, -1 where it is suppressed; None: not
    # known
    position: Numbers | None = None


def _covering(hierarchy: BoundHierarchy, values: tuple[str, ...]) -> Covered:
    """What each value of a column may be released as."""
    above = dict(zip(hierarchy.values, zip(*hierarchy.labels, strict=True), strict=True))
    return tuple(frozenset(label for label in above[value] if label) | {value, ROOT} for value in values)


def _cover(covering: Covered, values: Numbers, labels: pl.Series) -> bool:
    """Whether each label covers the value beside it."""
    pairs = pl.DataFrame({"value": values, "label": labels}).unique()
    return all(label in covering[value] for value, label in pairs.iter_rows())


def check_original(checks: Checks, released: WrittenTrajectories, secret: Secret) -> None:
    """Compare what is released with the original."""
    n_released = int(released.frame[ID][-1])
    if not checks.require(n_released == secret.trajectories.n_patients, AS_MANY):
        return
    codes, ages = labels_of(secret)
    _check_attributes(checks, released.attributes, secret)
    if secret.origin is None:
        # Without the crosswalk nobody is compared with anybody; a label that covers no value at all was invented.
        columns = ((CODE, codes), (AGE, ages))
        held = [set(released.frame[name].unique()) <= frozenset().union(*labels) for name, labels in columns]
        checks.require(all(held), "every label covers a value of the original")
        return
    if not checks.require(np.array_equal(np.sort(secret.origin), np.arange(n_released)), EACH_ONCE):
        return
    if secret.position is None:
        fits = _fit(released.frame, secret, codes, ages)
        checks.require(fits, "every trajectory can be what its patient's pairs become, in their order")
        return
    _check_pairs(checks, released.frame, secret, codes, ages)


def labels_of(secret: Secret) -> tuple[Covered, Covered]:
    """Return what codes and ages of the original may be released as."""
    original = secret.trajectories
    codes = secret.codes.bind("code", original.vocabulary)
    ages = secret.ages.bind("age", original.age_values)
    return _covering(codes, original.vocabulary), _covering(ages, original.age_values)


def _check_attributes(checks: Checks, attributes: pl.DataFrame | None, secret: Secret) -> None:
    if attributes is None or secret.attributes is None:
        checks.require(attributes is None and secret.attributes is None, BESIDE)
        return
    found, expected = attributes.drop(ID), secret.attributes
    if found.columns != expected.columns:
        checks.require(False, BESIDE)
    elif secret.origin is None:
        checks.require(found.sort(found.columns).equals(expected.sort(expected.columns)), BESIDE)
    elif secret.origin.size == found.height and np.all((secret.origin >= 0) & (secret.origin < expected.height)):
        checks.require(found.equals(expected[secret.origin]), BESIDE)
    else:
        checks.require(False, BESIDE)


def _check_pairs(checks: Checks, frame: pl.DataFrame, secret: Secret, codes: Covered, ages: Covered) -> None:
    """Place the kept pairs of the original beside the released rows, one by one."""
    original, position, origin = secret.trajectories, secret.position, secret.origin
    if position is None or origin is None or position.size != original.n_pairs:
        checks.require(position is None, "every pair of the original has its place")
        return
    sizes = np.diff(original.offsets)
    owner = np.repeat(np.arange(original.n_patients), sizes)
    kept = position >= 0
    # Kept pairs must be placed further on than all kept before them of their patient: that is the order of events.
    first = np.ones(owner.size, dtype=np.bool_)
    first[1:] = owner[1:] != owner[:-1]
    latest = _highest_before(position, first)
    checks.require(not np.any(kept & (position <= latest)), IN_ORDER)
    number = np.empty(original.n_patients, dtype=np.int64)
    number[origin] = np.arange(1, original.n_patients + 1)
    n_kept = np.bincount(owner[kept], minlength=original.n_patients)
    rows = np.bincount(frame[ID].to_numpy() - 1, minlength=original.n_patients)
    # A patient without any kept pair stands in the file with one row of two roots, which stands for no pair.
    alone = frame.filter(pl.len().over(ID) == 1)
    told_nothing = np.zeros(original.n_patients, dtype=np.bool_)
    told_nothing[alone.filter((pl.col(CODE) == ROOT) & (pl.col(AGE) == ROOT))[ID].to_numpy() - 1] = True
    expected = n_kept[origin]
    standing_in = (expected == 0) & (rows == 1) & told_nothing
    if not checks.require(np.all((rows == expected) | standing_in), ONE_FOR_ONE):
        return
    # Numbers of pairs agree, so that sorted by patient and place they stand beside their rows one to one.
    order = np.lexsort((position[kept], number[owner[kept]]))
    source = np.flatnonzero(kept)[order]
    paired = frame.filter(~pl.Series(standing_in[frame[ID].to_numpy() - 1]))
    ids = number[owner[source]]
    place = np.arange(ids.size) - np.searchsorted(ids, ids)
    checks.require(np.array_equal(paired[ID].to_numpy(), ids) and np.array_equal(place, position[source]), PLACED)
    checks.require(_cover(codes, original.codes[source], paired[CODE]), CODES_COVER)
    checks.require(_cover(ages, original.ages[source], paired[AGE]), AGES_COVER)


def _highest_before(position: Numbers, first: NDArray[np.bool_]) -> Integers:
    """The highest position before each pair among those of its patient, -1 where there is none."""
    # Blocks of patients are set apart by more than any position, so that one running maximum serves all of them.
    block = np.cumsum(first)
    width = int(position.max(initial=0)) + 2
    running = np.maximum.accumulate(block * width + position + 1)
    before = np.empty(position.size, dtype=np.int64)
    before[:1] = 0
    before[1:] = running[:-1]
    return np.where(first, -1, before - block * width - 1)


def _fit(frame: pl.DataFrame, secret: Secret, codes: Covered, ages: Covered) -> bool:
    """Whether the released pairs of each patient cover pairs of the original one after another."""
    if secret.origin is None:
        return False
    original = secret.trajectories
    starts = np.flatnonzero(np.diff(frame[ID].to_numpy(), prepend=0)).tolist()
    pairs_released = list(zip(frame[CODE].to_list(), frame[AGE].to_list(), strict=True))
    pairs = list(zip(original.codes.tolist(), original.ages.tolist(), strict=True))
    bounds = original.offsets.tolist()
    for (start, end), patient in zip(pairwise([*starts, frame.height]), secret.origin.tolist(), strict=True):
        rows = pairs_released[start:end]
        if rows == [(ROOT, ROOT)]:  # stands for no pair
            continue
        # Each row must cover a pair after the one of the row before it; the earliest leaves most to those after it.
        events = iter(pairs[bounds[patient] : bounds[patient + 1]])
        if not all(any(code in codes[known] and age in ages[at] for known, at in events) for code, age in rows):
            return False
    return True


ROUNDED = 0.0005 + 1e-9  # How far a loss published to three decimals may be from the true one


def losses_agree(utility: TrajectoriesUtility, released: WrittenTrajectories, secret: Secret | None, k: int) -> bool:
    """Whether published losses are as far as they follow from the files and, where it is given, from the original."""
    rows = released.frame.height
    published = utility.ilm_exact, utility.alm_exact
    least = utility.codes_untold / rows, utility.ages_untold / rows
    # A pair of which code or age is not released lost all of it, whatever the original was.
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
    # The values that each label stands for, at every level that has it.
    bound = hierarchy.bind("column", known)
    sets: dict[str, set[frozenset[str]]] = {}
    for level in bound.labels:
        members: dict[str, set[str]] = {}
        for one, name in zip(bound.values, level, strict=True):
            if name is not None and one is not None:
                members.setdefault(name, set()).add(one)
        for name, group in members.items():
            sets.setdefault(name, set()).add(frozenset(group))
    usual = frozenset(value for value, is_common in zip(known, common, strict=True) if is_common)
    lost, is_bound = [float(n_pairs - labels.len())], False
    for label, count in labels.value_counts(name="rows\0").iter_rows():
        covered = frozenset().union(*sets.get(label, set()))
        # A label that stands for different values at two levels may have lost less than all that it covers.
        is_bound |= label != ROOT and covered not in sets.get(label, set())
        share = max(1, len(covered & usual)) / max(1, len(usual)) if len(covered) > 1 else 0.0
        lost.append(count * (1.0 if label == ROOT else share))
    return ExactLoss(fsum(lost) / n_pairs, is_bound)
