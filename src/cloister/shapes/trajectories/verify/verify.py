"""The guarantee of anonymized trajectories, recomputed from the release only, and further checks with the original.

The promises are SQL (`statements`). With the original: nobody is lost or invented, order is kept, labels cover, losses
hold. Nothing here imports the kernels or what protects, and nothing is shared with alignment, trees and figures: labels
of the hierarchies are compared in plain Python.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import fsum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy.bound import ROOT, Hierarchy
from cloister.results import Checks, Verdict
from cloister.shapes.trajectories.format.data import (
    CODE,
    ID,
    Diversity,
    Integers,
    Numbers,
    Trajectories,
    WrittenTrajectories,
)
from cloister.shapes.trajectories.format.manifest import TrajectoriesUtility
from cloister.verification.script import Finding, note

from .statements import ExpectedGuarantee, find_broken

KEY, SIZE = "trajectory\0", "rows\0"  # Helper columns; no column of a release can have such a name
ROUNDED = 0.0005 + 1e-9  # How far a loss published to three decimals may be from the true one
COUNTED = "equal trajectories were counted again by SQL in what is released"
LABELS = ", and labels and the number of patients were compared with the original"
TRAJECTORIES = ", and every trajectory was compared with its patient's in the original"
EVERY_PAIR = ", and every pair was compared with the one of the original that it replaces"

Covered = tuple[frozenset[str], ...]  # What each value of a column may be released as


@dataclass(frozen=True, eq=False, repr=False)
class Secret:
    """The original, and the released place of each patient as far as it is known."""

    trajectories: Trajectories
    codes: Hierarchy
    ages: Hierarchy
    attributes: pl.DataFrame | None = None  # what rode along, in the order of the patients; None where nothing did
    # (n_patients,) the patient of the original behind each released one; None: not known
    origin: Integers | None = None
    # (n_pairs,) the place in the released trajectory of each pair of the original, -1 where it is suppressed; None: not
    # known
    position: Numbers | None = None
    n_suppressed: int = 0  # patients that are not released, and not among these trajectories
    details: Hierarchy | None = None  # None: pairs have no detail

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """Those of codes, ages, and details if there are any."""
        return (self.codes, self.ages) if self.details is None else (self.codes, self.ages, self.details)


def verify(
    released: WrittenTrajectories,
    guarantee: ExpectedGuarantee,
    secret: Secret | None = None,
    findings: Iterable[Finding] | None = None,
) -> Verdict:
    """Check released trajectories by SQL, and every pair if the original is given.

    ``findings``: what the script found in the files of the release; without them, it is run on the trajectories

    References
    ----------
    Tamersoy et al. (2012), Definitions 1 and 3, and the problem statement of section III.G.
    """
    checks, diversity = Checks(), guarantee.diversity
    is_kept = note(checks, find_broken(released, guarantee) if findings is None else findings)
    if is_kept and secret is not None:
        check_original(checks, released, secret)
        if diversity is not None and diversity.codes and not checks.failures:
            _check_sensitive_codes(checks, released.frame, secret, diversity)
    how = COUNTED
    if secret is not None:
        how += LABELS if secret.origin is None else TRAJECTORIES if secret.position is None else EVERY_PAIR
    if diversity and diversity.codes and (secret is None or secret.position is None or secret.origin is None):
        how += "; sensitive codes: checked when released, not from the files"
    return checks.verdict(how)


def _check_sensitive_codes(checks: Checks, frame: pl.DataFrame, secret: Secret, diversity: Diversity) -> None:
    """Refuse codes that stand for sensitive ones alone, and trajectories behind which too many patients have one."""
    original = secret.trajectories
    covered: dict[str, set[str]] = {}
    for code, labels in zip(original.vocabulary, labels_of(secret)[0], strict=True):
        for label in labels - {ROOT}:
            covered.setdefault(label, set()).add(code)
    released = frame[CODE].unique().to_list()
    is_revealed = any(covered.get(label) and covered[label] <= diversity.codes for label in released)
    holds = checks.require(not is_revealed, "no released code covers sensitive codes alone")
    if not holds or secret.position is None or secret.origin is None:
        return
    # Only the positions of the pairs show which code a released label replaces, hence whose code it reveals.
    sensitive = np.array([code in diversity.codes for code in original.vocabulary], dtype=np.bool_)
    known = np.unique(original.owner[(secret.position >= 0) & sensitive[original.codes]])
    behind = pl.Series("behind\0", np.isin(secret.origin, known))
    patients = frame.group_by(ID, maintain_order=True).agg(pl.struct(pl.exclude(ID)).alias(KEY))
    counts = patients.with_columns(behind).group_by(KEY).agg(pl.col("behind\0").sum(), pl.len().alias(SIZE))
    checks.require(
        not (counts["behind\0"] * diversity.l > counts[SIZE]).any(),
        f"a released code stands for a sensitive one of at most one in {diversity.l} patients who share a trajectory",
    )


def check_original(checks: Checks, released: WrittenTrajectories, secret: Secret) -> None:
    """Compare the release with the original."""
    n_released = int(released.frame[ID][-1])
    as_many = n_released == secret.trajectories.n_patients
    aside = f", except {secret.n_suppressed:,} who are suppressed" if secret.n_suppressed else ""
    if not checks.require(as_many, f"there are as many patients as in the original{aside}"):
        return
    covered, names = labels_of(secret), [name for name, _, _ in secret.trajectories.columns]
    if not checks.require(released.columns == names, "pairs have the attributes that they have in the original"):
        return
    fits = _attributes_fit(released.attributes, secret)
    checks.require(fits, "auxiliary attributes are as in the original")
    if secret.origin is None:
        # Without the crosswalk nobody is compared with anybody; a label that covers no value at all was invented.
        columns = zip(names, covered, strict=True)
        held = [set(released.frame[name].unique()) <= frozenset().union(*labels) for name, labels in columns]
        checks.require(all(held), "every label covers a value of the original")
        return
    is_once = np.array_equal(np.sort(secret.origin), np.arange(n_released))
    if not checks.require(is_once, f"every patient of the original is released once{aside}"):
        return
    if secret.position is None:
        fits = _fit(released.frame, secret, covered)
        checks.require(fits, "every trajectory can be what its patient's pairs become, in their order")
        return
    _check_pairs(checks, released.frame, secret, covered)


def labels_of(secret: Secret) -> tuple[Covered, ...]:
    """Return the allowed labels of codes, ages and perhaps details of the original."""
    found = []
    for hierarchy, (name, values, _) in zip(secret.hierarchies, secret.trajectories.columns, strict=True):
        bound = hierarchy.bind(name, values)
        above = dict(zip(bound.values, zip(*bound.labels, strict=True), strict=True))
        found.append(tuple(frozenset(label for label in above[value] if label) | {value, ROOT} for value in values))
    return tuple(found)


def _attributes_fit(attributes: pl.DataFrame | None, secret: Secret) -> bool:
    if attributes is None or secret.attributes is None:
        return attributes is None and secret.attributes is None
    found, expected, origin = attributes.drop(ID), secret.attributes, secret.origin
    if found.columns != expected.columns:
        return False
    if origin is None:
        return found.sort(found.columns).equals(expected.sort(expected.columns))
    is_place = origin.size == found.height and bool(np.all((origin >= 0) & (origin < expected.height)))
    return is_place and found.equals(expected[origin])


def _check_pairs(checks: Checks, frame: pl.DataFrame, secret: Secret, covered: tuple[Covered, ...]) -> None:
    """Match the kept pairs of the original with the released rows, one by one."""
    original, position, origin = secret.trajectories, secret.position, secret.origin
    if position is None or origin is None or position.size != original.n_pairs:
        checks.require(position is None, "every pair of the original has its place")
        return
    owner, kept = original.owner, position >= 0
    # Kept pairs must be placed further on than all kept before them of their patient: that is the order of events.
    latest = pl.DataFrame({"owner": owner, "at": position}).select(pl.col("at").shift(1).cum_max().over("owner"))
    is_ahead = position > latest["at"].fill_null(-1).to_numpy()
    checks.require(np.all(is_ahead | ~kept), "pairs are in the order of the original")
    number = np.empty(original.n_patients, dtype=np.int64)
    number[origin] = np.arange(1, original.n_patients + 1)
    n_kept = np.bincount(owner[kept], minlength=original.n_patients)
    rows = np.bincount(frame[ID].to_numpy() - 1, minlength=original.n_patients)
    # The file contains a patient without any kept pair as one row of two roots, which represents no pair.
    alone = frame.filter(pl.len().over(ID) == 1)
    is_suppressed = np.zeros(original.n_patients, dtype=np.bool_)
    is_suppressed[alone.filter(pl.all_horizontal(pl.exclude(ID) == ROOT))[ID].to_numpy() - 1] = True
    expected = n_kept[origin]
    standing_in = (expected == 0) & (rows == 1) & is_suppressed
    if not checks.require(
        np.all((rows == expected) | standing_in),
        "every released pair is one of the original, released once, and all others are suppressed",
    ):
        return
    # The numbers of pairs agree, so pairs sorted by patient and position correspond to the rows one to one.
    order = np.lexsort((position[kept], number[owner[kept]]))
    source = np.flatnonzero(kept)[order]
    paired = frame.filter(~pl.Series(standing_in[frame[ID].to_numpy() - 1]))
    ids = number[owner[source]]
    place = np.arange(ids.size) - np.searchsorted(ids, ids)
    checks.require(
        np.array_equal(paired[ID].to_numpy(), ids) and np.array_equal(place, position[source]),
        "every pair of the original that is not suppressed is where it was placed",
    )
    for labels, (name, _, places) in zip(covered, original.columns, strict=True):
        pairs = pl.DataFrame({"value": places[source], "label": paired[name]}).unique()
        is_covered = all(label in labels[value] for value, label in pairs.iter_rows())
        checks.require(is_covered, f"every released {name} covers the {name} it replaces")


def _fit(frame: pl.DataFrame, secret: Secret, covered: tuple[Covered, ...]) -> bool:
    """Whether the released pairs of each patient cover pairs of the original one after another."""
    if secret.origin is None:
        return False
    original = secret.trajectories
    starts = np.flatnonzero(np.diff(frame[ID].to_numpy(), prepend=0)).tolist()
    pairs_released = frame.drop(ID).rows()
    pairs = list(zip(*(places.tolist() for _, _, places in original.columns), strict=True))
    bounds = original.offsets.tolist()
    for (start, end), patient in zip(pairwise([*starts, frame.height]), secret.origin.tolist(), strict=True):
        rows = pairs_released[start:end]
        if rows == [(ROOT,) * len(covered)]:  # represents no pair
            continue
        # Each row must cover a pair after the one of the row before it; the earliest leaves most to those after it.
        events = iter(pairs[bounds[patient] : bounds[patient + 1]])
        for row in rows:
            over = (zip(row, event, covered, strict=True) for event in events)
            if not any(all(label in labels[value] for label, value, labels in each) for each in over):
                return False
    return True


def losses_agree(utility: TrajectoriesUtility, released: WrittenTrajectories, secret: Secret | None, k: int) -> bool:
    """Return whether published losses follow from the files and, if it is given, from the original."""
    rows = released.frame.height
    published = utility.exact
    suppressed = utility.codes_suppressed, utility.ages_suppressed, utility.details_suppressed
    least = [count / rows for count in suppressed if count is not None]
    # A pair of which code or age is not released lost all of it, whatever the original was.
    if any(loss < low - ROUNDED for loss, low in zip(published, least, strict=True)):
        return False
    if secret is None:
        return True
    held = [places for _, _, places in secret.trajectories.columns]
    # What is lost of the values that everybody has is not published either where others were omitted.
    all_common = not secret.n_suppressed and all(
        values[own].all() for values, own in zip(common_values(secret, k), held, strict=True)
    )
    if (utility.ilm is None) is all_common or rows > secret.trajectories.n_pairs:
        return False
    return all(
        loss >= each.least - ROUNDED if each.is_bound else abs(loss - each.least) <= ROUNDED
        for loss, each in zip(published, exact_losses(released, secret, k), strict=True)
    )


@dataclass(frozen=True)
class ExactLoss:
    """A mean loss; only a lower bound if labels cover different values at different levels."""

    least: float
    is_bound: bool


def common_values(secret: Secret, k: int) -> tuple[NDArray[np.bool_], ...]:
    """Return which codes, ages and perhaps details of the original at least k patients have."""
    original = secret.trajectories
    owner = pl.Series("owner", original.owner)

    def of(values: Numbers, n_values: int) -> NDArray[np.bool_]:
        held = pl.DataFrame([owner, pl.Series("value", values)]).unique().group_by("value").len()
        common = np.zeros(n_values, dtype=np.bool_)
        common[held.filter(pl.col("len") >= k)["value"].to_numpy()] = True
        return common

    return tuple(of(places, len(values)) for _, values, places in original.columns)


def exact_losses(released: WrittenTrajectories, secret: Secret, k: int) -> tuple[ExactLoss, ...]:
    """Return the mean losses of codes, ages and perhaps details over the original pairs, for values of k patients.

    The row of each pair need not be known: a row represents one pair, and all other pairs are suppressed. A patient
    without pairs has one row of `*`, whose loss equals that of the suppressed pair that it may represent.
    """
    original = secret.trajectories
    columns = zip(original.columns, common_values(secret, k), secret.hierarchies, strict=True)
    return tuple(
        _loss(released.frame[name], values, common, hierarchy, original.n_pairs)
        for (name, values, _), common, hierarchy in columns
    )


def _loss(
    labels: pl.Series, known: tuple[str, ...], common: NDArray[np.bool_], hierarchy: Hierarchy, n_pairs: int
) -> ExactLoss:
    # The values that each label covers, at every level that has it.
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
        # A label that covers different values at two levels may have lost less than the union of these values.
        is_bound |= label != ROOT and covered not in sets.get(label, set())
        share = max(1, len(covered & usual)) / max(1, len(usual)) if len(covered) > 1 else 0.0
        lost.append(count * (1.0 if label == ROOT else share))
    return ExactLoss(fsum(lost) / n_pairs, is_bound)
