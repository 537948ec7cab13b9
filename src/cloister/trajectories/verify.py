"""The guarantee of anonymized trajectories, recomputed from what is released alone; with the original, the rest too.

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

KEY, SIZE = "trajectory\0", "rows\0"  # Columns beside those of a release, whose names are none of theirs


COUNTED = "equal trajectories were counted anew in the released text"
LABELS = ", and labels and the number of patients were compared with the original"
TRAJECTORIES = ", and every trajectory was compared with its patient's in the original"
EVERY_PAIR = ", and every pair was compared with the one of the original that it stands for"
NO_SENSITIVE_LABEL = "no released code stands for sensitive codes alone"


@dataclass(frozen=True)
class ExpectedGuarantee:
    """What a release is to keep."""

    k: int  # patients that share every trajectory
    drop_empty: bool = False  # whether pairs without code and age are left out
    diversity: Diversity | None = None  # of sensitive codes: can be checked with the place of every pair alone


def verify(released: WrittenTrajectories, guarantee: ExpectedGuarantee, secret: Secret | None = None) -> Verdict:
    """Check released trajectories: form, order, k copies, auxiliary attributes; with the original every pair.

    References
    ----------
    Tamersoy et al. (2012), Definitions 1 and 3, and the problem statement of section III.G.
    """
    checks, diversity = Checks(), guarantee.diversity
    if _check_form(checks, released):
        pair = pl.concat_str([CODE, AGE], separator=BETWEEN)
        patients = released.frame.group_by(ID, maintain_order=True).agg(pair.str.join(BETWEEN).alias(KEY))
        # Order and numbers must follow from what is released, so that neither tells of the order of the input.
        content = patients.select(KEY)
        if released.attributes is not None:
            content = content.hstack(released.attributes.drop(ID))
        checks.require(
            content.equals(content.sort(content.columns, nulls_last=False)),
            "patients stand in the order of their trajectories, then of auxiliary attributes",
        )
        # Whatever pairs somebody knows, all patients with the same text have them or none has: equal texts suffice.
        fewest = patients.group_by(KEY).len()["len"].min()
        holds = guarantee.k >= 1 and isinstance(fewest, int) and fewest >= guarantee.k
        checks.require(holds, f"every trajectory is that of {guarantee.k} patients or more")
        if guarantee.drop_empty:
            # An empty trajectory is written as one row of two roots; beside other pairs such a row says nothing.
            rows = released.frame.with_columns(pl.len().over(ID).alias(SIZE))
            empty = (rows[CODE] == ROOT) & (rows[AGE] == ROOT) & (rows[SIZE] > 1)
            checks.require(not empty.any(), "a pair of which nothing is told stands alone")
        if diversity is not None and diversity.column is not None:
            _check_diversity(checks, patients, released.attributes, diversity.column, diversity.l)
        if secret is not None:
            check_original(checks, released, secret)
            if diversity is not None and diversity.codes and not checks.failures:
                _check_sensitive_codes(checks, released.frame, patients, secret, diversity)
    how = COUNTED
    if secret is not None:
        how += LABELS if secret.origin is None else TRAJECTORIES if secret.position is None else EVERY_PAIR
    if diversity and diversity.codes and (secret is None or secret.position is None or secret.origin is None):
        how += "; sensitive codes: checked when released, not from the files"
    return checks.verdict(how)


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


def _check_diversity(
    checks: Checks, patients: pl.DataFrame, attributes: pl.DataFrame | None, column: str, least: int
) -> None:
    words = f"no value of {column!r} is that of more than one in {least} patients who share a trajectory"
    if attributes is None or column not in attributes.columns:
        checks.require(False, words)
        return
    # A missing value is nobody's secret, but its patient counts among those who share the trajectory.
    rows = patients.select(KEY, pl.len().over(KEY).alias(SIZE)).with_columns(attributes[column].alias("value\0"))
    held = rows.drop_nulls("value\0").group_by(KEY, "value\0").agg(pl.len().alias("held\0"), pl.col(SIZE).first())
    checks.require(not (held["held\0"] * least > held[SIZE]).any(), words)


def _check_sensitive_codes(
    checks: Checks, frame: pl.DataFrame, patients: pl.DataFrame, secret: Secret, diversity: Diversity
) -> None:
    """Refuse codes that stand for sensitive ones alone, and trajectories behind which too many patients have one."""
    original = secret.trajectories
    covered: dict[str, set[str]] = {}
    for code, labels in zip(original.vocabulary, labels_of(secret)[0], strict=True):
        for label in labels - {ROOT}:
            covered.setdefault(label, set()).add(code)
    released = frame[CODE].unique().to_list()
    is_told = any(covered.get(label) and covered[label] <= diversity.codes for label in released)
    if not checks.require(not is_told, NO_SENSITIVE_LABEL) or secret.position is None or secret.origin is None:
        return
    # Only the place of every pair says which code a released label stands for, hence whom it gives away.
    sensitive = np.array([code in diversity.codes for code in original.vocabulary], dtype=np.bool_)
    owner = np.repeat(np.arange(original.n_patients), np.diff(original.offsets))
    known = np.unique(owner[(secret.position >= 0) & sensitive[original.codes]])
    behind = pl.Series("behind\0", np.isin(secret.origin, known))
    counts = patients.with_columns(behind).group_by(KEY).agg(pl.col("behind\0").sum(), pl.len().alias(SIZE))
    checks.require(
        not (counts["behind\0"] * diversity.l > counts[SIZE]).any(),
        f"a released code stands for a sensitive one of at most one in {diversity.l} patients who share a trajectory",
    )
