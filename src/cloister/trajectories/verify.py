"""The promise of anonymized trajectories, recomputed from what is released alone; with the original, the rest too.

Nothing here imports the kernels or what protects: released text is grouped with Polars.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from cloister.hierarchy.bound import ROOT
from cloister.results import Checks, Verdict

from .data import AGE, CODE, COLUMNS, ID, Diversity, WrittenTrajectories
from .verify_original import Secret, check_original, labels_of

BETWEEN = "\0"
"""Stands between the cells of a trajectory written in one text. No cell holds it, and it comes before all else."""

KEY, SIZE = "trajectory\0", "rows\0"
"""Columns beside those of a release, whose names are none of theirs."""


COUNTED = "equal trajectories were counted anew in the released text"
EVERY_PAIR = ", and every pair was compared with the one of the original that it stands for"
NO_SENSITIVE_LABEL = "no released code stands for sensitive codes alone"


@dataclass(frozen=True)
class ExpectedGuarantee:
    """What a release is to keep."""

    k: int  # patients that share every trajectory
    drop_empty: bool = False  # whether pairs of which nothing is told are left out
    # a sensitive value is that of at most one in l patients who share a trajectory; None: nothing is sensitive
    l: int | None = None  # noqa: E741  (as the model is called)
    column: str | None = None  # the sensitive column of auxiliary attributes; or
    # the sensitive codes, which can be looked for with the place of every pair alone
    codes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, k: int, diversity: Diversity | None, *, drop_empty: bool) -> "ExpectedGuarantee":
        """Return the promise of a release that was asked for."""
        if diversity is None:
            return cls(k, drop_empty)
        return cls(k, drop_empty, diversity.l, diversity.column, diversity.codes)


def verify(released: WrittenTrajectories, promise: ExpectedGuarantee, secret: Secret | None = None) -> Verdict:
    """Check released trajectories: form, order, k copies, auxiliary attributes; with the original every pair.

    References
    ----------
    Tamersoy et al. (2012), Definitions 1 and 3, and the problem statement of section III.G.
    """
    checks = Checks()
    if _check_form(checks, released):
        pair = pl.concat_str([CODE, AGE], separator=BETWEEN)
        patients = released.frame.group_by(ID, maintain_order=True).agg(pair.str.join(BETWEEN).alias(KEY))
        _check_order(checks, patients, released.attributes)
        _check_copies(checks, patients, promise.k)
        if promise.drop_empty:
            # An empty trajectory is written as one row of two roots; beside other pairs such a row says nothing.
            rows = released.frame.with_columns(pl.len().over(ID).alias(SIZE))
            empty = (rows[CODE] == ROOT) & (rows[AGE] == ROOT) & (rows[SIZE] > 1)
            checks.require(not empty.any(), "a pair of which nothing is told stands alone")
        if promise.l is not None and not promise.codes:
            _check_diversity(checks, patients, released.attributes, promise)
        if secret is not None:
            check_original(checks, released, secret)
            _check_sensitive_labels(checks, released.frame, secret, promise)
            _check_sensitive_codes(checks, patients, secret, promise)
    how = COUNTED + ("" if secret is None else _compared(secret))
    if promise.codes and (secret is None or secret.position is None or secret.origin is None):
        how += "; sensitive codes: checked when released, not from the files"
    return Verdict(not checks.failures, how, tuple(checks.done), tuple(checks.failures))


def _compared(secret: Secret) -> str:
    """What was compared with the original, as part of a sentence."""
    if secret.origin is None:
        return ", and labels and the number of patients were compared with the original"
    if secret.position is None:
        return ", and every trajectory was compared with its patient's in the original"
    return EVERY_PAIR


def _check_form(checks: Checks, released: WrittenTrajectories) -> bool:
    frame = released.frame
    return (
        # Without the separator in any cell, the text of a whole trajectory stands for one sequence of pairs only.
        checks.require(
            tuple(frame.columns) == COLUMNS
            and frame[ID].dtype.is_integer()
            and frame.height > 0
            and not any(frame.null_count().row(0))
            and not any(frame[column].str.contains(BETWEEN, literal=True).any() for column in (CODE, AGE)),
            "every row has the number of a patient, a code and an age",
        )
        and checks.require(
            frame[ID][0] == 1 and frame[ID].diff().slice(1).is_in([0, 1]).all(),
            "patients are numbered from 1 on, and the pairs of each stand together",
        )
        and (
            released.attributes is None
            or checks.require(
                released.attributes.columns[:1] == [ID]
                and released.attributes.width > 1
                and np.array_equal(released.attributes[ID].to_numpy(), np.arange(1, int(frame[ID][-1]) + 1)),
                "auxiliary attributes are one row a patient, under the same numbers",
            )
        )
    )


def _check_order(checks: Checks, patients: pl.DataFrame, attributes: pl.DataFrame | None) -> None:
    # Order and numbers must follow from what is released, so that neither tells of the order of the input.
    content = patients.select(KEY)
    if attributes is not None:
        content = content.hstack(attributes.drop(ID))
    ordered = content.sort(content.columns, nulls_last=False)
    checks.require(
        content.equals(ordered), "patients stand in the order of their trajectories, then of auxiliary attributes"
    )


def _check_copies(checks: Checks, patients: pl.DataFrame, k: int) -> None:
    # Whatever pairs somebody knows, all patients with the same text have them or none has: equal texts suffice.
    fewest = patients.group_by(KEY).len()["len"].min()
    checks.require(
        k >= 1 and isinstance(fewest, int) and fewest >= k, f"every trajectory is that of {k} patients or more"
    )


def _check_diversity(
    checks: Checks, patients: pl.DataFrame, attributes: pl.DataFrame | None, promise: ExpectedGuarantee
) -> None:
    words = f"no value of {promise.column!r} is that of more than one in {promise.l} patients who share a trajectory"
    if attributes is None or promise.column is None or promise.column not in attributes.columns or promise.l is None:
        checks.require(False, words)
        return
    # A missing value is nobody's secret, but its patient counts among those who share the trajectory.
    rows = patients.select(KEY, pl.len().over(KEY).alias(SIZE)).with_columns(
        attributes[promise.column].alias("value\0")
    )
    held = rows.drop_nulls("value\0").group_by(KEY, "value\0").agg(pl.len().alias("held\0"), pl.col(SIZE).first())
    checks.require(not (held["held\0"] * promise.l > held[SIZE]).any(), words)


def _check_sensitive_codes(checks: Checks, patients: pl.DataFrame, secret: Secret, promise: ExpectedGuarantee) -> None:
    """Count, for each trajectory, the patients of whom a sensitive code is released, as it is or generalized."""
    if checks.failures or promise.l is None or not promise.codes or secret.position is None or secret.origin is None:
        return
    original = secret.trajectories
    # Only the place of every pair says which code a released label stands for, hence whom it gives away.
    sensitive = np.array([code in promise.codes for code in original.vocabulary], dtype=np.bool_)
    owner = np.repeat(np.arange(original.n_patients), np.diff(original.offsets))
    told = np.unique(owner[(secret.position >= 0) & sensitive[original.codes]])
    behind = pl.Series("behind\0", np.isin(secret.origin, told))
    counts = patients.with_columns(behind).group_by(KEY).agg(pl.col("behind\0").sum(), pl.len().alias(SIZE))
    checks.require(
        not (counts["behind\0"] * promise.l > counts[SIZE]).any(),
        f"a released code stands for a sensitive one of at most one in {promise.l} patients who share a trajectory",
    )


def _check_sensitive_labels(checks: Checks, frame: pl.DataFrame, secret: Secret, promise: ExpectedGuarantee) -> None:
    """Refuse codes that tell something sensitive of all patients of whom they are released."""
    if checks.failures or promise.l is None or not promise.codes:
        return
    covered: dict[str, set[str]] = {}
    for code, labels in zip(secret.trajectories.vocabulary, labels_of(secret)[0].covering, strict=True):
        for label in labels - {ROOT}:
            covered.setdefault(label, set()).add(code)
    released = frame[CODE].unique().to_list()
    checks.require(
        not any(covered.get(label) and covered[label] <= promise.codes for label in released), NO_SENSITIVE_LABEL
    )
