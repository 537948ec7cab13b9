"""Assessing what was recorded of patients over time: trajectories and claims."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.claims.data import PATIENT as NUMBER
from cloister.claims.data import Claims
from cloister.claims.plan import ClaimsPlan
from cloister.claims.prepare import prepare
from cloister.errors import InputError
from cloister.io import EventSource, Source, as_text
from cloister.io.columns import nearest_column
from cloister.risk.assessment import PATIENT, Attackers, HistoriesAssessment, cells_of, known_of, of_patients
from cloister.trajectories.sequences import Trajectories

PAIRS, CODES, AGES, CLAIMS = "pairs", "codes", "ages", "claims"


def assess_trajectories(trajectories: Trajectories, attackers: Attackers) -> HistoriesAssessment:
    """Return the risk of trajectories from attackers who know pairs of code and age, codes alone, or ages alone."""
    owners = np.repeat(np.arange(trajectories.n_patients), np.diff(trajectories.offsets))
    codes, ages = pl.Series("code", trajectories.codes), pl.Series("age", trajectories.ages)
    return _of_events(owners, codes, ages, attackers)


def assess_events(source: EventSource, attackers: Attackers) -> HistoriesAssessment:
    """Return the same of events as they were read."""
    owners = (source.ids.rank("dense") - 1).to_numpy().astype(np.int64)
    return _of_events(owners, source.codes.alias("code"), source.ages.alias("age"), attackers)


def _of_events(
    owners: NDArray[np.int64], codes: pl.Series, ages: pl.Series, attackers: Attackers
) -> HistoriesAssessment:
    if not owners.size:
        raise InputError("There are no patients, so there is nothing to assess.")
    events = pl.DataFrame([pl.Series(PATIENT, owners), codes, ages])
    kinds = ((PAIRS, ["code", "age"]), (CODES, ["code"]), (AGES, ["age"]))
    known = [known_of(events, what, columns, attackers) for what, columns in kinds]
    found = tuple(one for one in known if one is not None)
    return HistoriesAssessment("trajectories", int(owners.max()) + 1, owners.size, found)


def assess_claims(claims: Claims, attackers: Attackers) -> HistoriesAssessment:
    """Return the risk of patients and claims after the steps of their plan, before anything is generalized."""
    prepared = prepare(claims).claims
    rows = pl.DataFrame([prepared.patients[NUMBER], pl.Series("row", range(prepared.n_patients), dtype=pl.Int64)])
    owners = prepared.claims.select(NUMBER).join(rows, on=NUMBER, how="left", maintain_order="left")["row"]
    plan = claims.plan
    return _of_claims(
        prepared.patients.select(*plan.patients.qi),
        prepared.claims.select(*plan.claims.qi).with_columns(owners.alias(PATIENT)),
        attackers,
    )


def assess_released_claims(
    patients: Source, claims: Source, plan: ClaimsPlan, attackers: Attackers
) -> HistoriesAssessment:
    """Return the same of two files as they are, of which the plan names ids and quasi-identifiers."""
    (patient_id,), (claim_id,) = plan.patient_columns("id"), plan.claim_columns("id")
    _check_there(patients, [patient_id, *plan.patients.qi])
    _check_there(claims, [claim_id, *plan.claims.qi])
    ids = as_text(patients.frame[patient_id])
    if ids.null_count() or ids.n_unique() != len(ids):
        raise InputError(
            f"Column {patient_id!r} of {patients.name} does not tell patients apart.",
            file=patients.name,
            column=patient_id,
        )
    rows = pl.DataFrame([ids.alias("id"), pl.Series("row", range(len(ids)), dtype=pl.Int64)])
    owners = pl.DataFrame([as_text(claims.frame[claim_id]).alias("id")]).join(
        rows, on="id", how="left", maintain_order="left"
    )["row"]
    if owners.null_count():
        raise InputError(f"{owners.null_count():,} claims have no patient in {patients.name}.", file=claims.name)
    return _of_claims(
        patients.frame.select(*plan.patients.qi),
        claims.frame.select(*plan.claims.qi).with_columns(owners.alias(PATIENT)),
        attackers,
    )


def _of_claims(patients: pl.DataFrame, claims: pl.DataFrame, attackers: Attackers) -> HistoriesAssessment:
    """Look at whole claims and at each of their columns, known alone and with the patient's quasi-identifiers."""
    texts = pl.DataFrame([as_text(column) for column in patients.get_columns()])
    columns = [column for column in claims.columns if column != PATIENT]
    claims = claims.with_columns(as_text(claims[column]) for column in columns)
    kinds: list[tuple[str, Sequence[str]]] = [(CLAIMS, columns)]
    kinds += [(column, [column]) for column in columns] if len(columns) > 1 else []
    cells = cells_of(texts) if texts.width else None
    known = [known_of(claims, what, own, attackers) for what, own in kinds]
    if cells is not None:
        known += [known_of(claims, what, own, attackers, cells) for what, own in kinds]
    if known[0] is None:
        raise InputError("There are no claims, so there is nothing to assess.")
    found = tuple(one for one in known if one is not None)
    alone = None if cells is None else of_patients(texts, 1 / attackers.k)
    return HistoriesAssessment("claims", patients.height, claims.height, found, alone)


def _check_there(source: Source, wanted: Sequence[str]) -> None:
    for column in wanted:
        if column not in source.frame.columns:
            hint = nearest_column(column, source.frame.columns)
            raise InputError(
                f"The plan names {column!r}, but {source.name} has no such column.{hint}",
                file=source.name,
                column=column,
            )
