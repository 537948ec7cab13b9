"""Resources of FHIR as records: what counts of them, and where each stands."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from .fhir_elements import Subject, id_of
from .ndjson import Resource, all_at, text_at
from .records import FILE, ROW, Records

Row = dict[str, Any]

LEFT = "\0left"
NOT_TRUE = {"entered-in-error", "refuted"}
NOT_DONE = {"entered-in-error", "not-done", "preparation"}
NOT_HELD = {"entered-in-error", "cancelled", "planned"}


def frame_of(rows: Iterable[Row], columns: Sequence[str]) -> pl.DataFrame:
    """Rows as a frame of text, with where each stands."""
    schema = {**dict.fromkeys(columns, pl.String), FILE: pl.String, ROW: pl.Int64}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def without_left(rows: Iterable[tuple[Row, str | None]], columns: Sequence[str]) -> Records:
    """Rows without those for which there is a reason to leave them out, with a note for each reason."""
    frame = frame_of((row | {LEFT: why} for row, why in rows), (*columns, LEFT))
    records = Records(frame, "line")
    for why in frame[LEFT].drop_nulls().unique().sort():
        records = records.without(records.frame[LEFT] == why, why)
    return Records(records.frame.drop(LEFT), "line", records.notes)


def placed(resource: Resource, row: Row) -> Row:
    """A row with where its resource stands."""
    return row | {FILE: resource.file, ROW: resource.line}


def once(found: Sequence[Resource]) -> dict[str, Resource]:
    """Resources of one kind by their ids, of those that have one.

    Raises
    ------
    InputError
        An id is there twice.
    """
    frame = frame_of((placed(one, {"id": id_of(one)}) for one in found), ("id",))
    again = frame["id"].is_not_null() & ~frame["id"].is_first_distinct()
    Records(frame, "line").refuse(
        again, "the id of a resource of that kind that is there already", "Leave one of each there"
    )
    return {name: one for one in found if (name := id_of(one)) is not None}


def not_a_patient(whose: Subject) -> str | None:
    """Why a resource is left out that is not of a patient."""
    return "of a group, a device or another that is no patient" if whose.is_other else None


def is_true(condition: Resource) -> bool:
    """Whether a condition is neither refuted nor an error."""
    codings = all_at(condition.content, "verificationStatus", "coding")
    return not any(text_at(coding, "code") in NOT_TRUE for coding in codings)


def is_done(procedure: Resource) -> bool:
    """Whether a procedure was begun, and is no error."""
    return text_at(procedure.content, "status") not in NOT_DONE


def is_held(encounter: Resource) -> bool:
    """Whether an encounter took place, or takes place, and is no error."""
    return text_at(encounter.content, "status") not in NOT_HELD
