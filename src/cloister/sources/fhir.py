"""FHIR R4 as Bulk Data exports it: lines of Patient, Condition, Encounter, Claim and Procedure.

Codes come in two columns. ``code`` is that of SNOMED, ``icd_code`` that of ICD; where one is not given, the other
stands there, or the first of any coding. Claims have those of ICD first: each Claim with what it refers to, or where
there are none each Encounter with what belongs to it.

References
----------
HL7, FHIR R4 (4.0.1), https://hl7.org/fhir/R4/; Bulk Data Access 2.0, https://hl7.org/fhir/uv/bulkdata/; US Core.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from .columns import AGE, BIRTH, CODE, DATE, END, ID, SEX
from .fhir_resources import (
    ICD,
    PROCEDURES,
    SNOMED,
    Resource,
    Row,
    address,
    all_at,
    at,
    code_in,
    code_of,
    frame_of,
    id_of,
    is_done,
    is_held,
    is_true,
    named_in,
    not_a_patient,
    of_core,
    once,
    placed,
    referred,
    resources,
    subject_of,
    text_at,
    without_left,
    years_in,
)
from .records import Files, People, Profile, SourceRecords

ICD_CODE = "icd_code"
OWNER = "\0owner"
NOT_TRUE = "entered in error, or refuted"
ONSETS = tuple(f"onset{kind}" for kind in ("DateTime", "Period", "Age", "Range", "String"))

PLACES = {
    "AMB": "Outpatient Hospital",
    "EMER": "Emergency Room",
    "HH": "Home",
    "IMP": "Inpatient Hospital",
    "ACUTE": "Inpatient Hospital",
    "NONAC": "Inpatient Hospital",
    "OBSENC": "Outpatient Hospital",
    "SS": "Outpatient Hospital",
}
"""Classes of encounters as places of service are called on claims; others keep their code."""

NOT_MADE = {"entered-in-error", "cancelled", "draft"}
NOT_BILLED = {"preauthorization", "predetermination"}
WHY_NOT_MADE = "drafts, cancelled, in error, or asked only what would be paid"
WHY_NOT_HELD = "encounters that are planned, cancelled or in error"
WHY_NOT_DONE = "procedures that are not done, in preparation or in error"
STRANGE = "\0strange"
CLAIM_COLUMNS = ("diagnosis", "diagnoses", "procedure", "procedures", "place_of_service", "provider")


def people(files: Files) -> People:
    """Each Patient."""
    columns = (ID, BIRTH, SEX, "race", "ethnicity", "state", "county", "zip")
    return People(frame_of(map(_person, resources(files, ["Patient"])["Patient"]), columns), "line")


def conditions(files: Files) -> SourceRecords:
    """Each Condition that is not refuted or an error, and has a code."""
    by_kind = resources(files, ["Condition", "Encounter"])
    once(by_kind["Condition"])
    encounters = {name: one for name, one in once(by_kind["Encounter"]).items() if is_held(one)}
    columns = (ID, CODE, ICD_CODE, DATE, AGE, OWNER)
    records = without_left((_condition(one, encounters) for one in by_kind["Condition"]), columns)
    records = records.without(records.frame[CODE].is_null(), "no code")
    with_owner = records.frame.filter(pl.col(OWNER).is_not_null())
    SourceRecords(with_owner, "line").refuse_of_others(with_owner[OWNER], "an encounter")
    return SourceRecords(records.frame.drop(OWNER), "line", records.notes)


def _person(resource: Resource) -> Row:
    home = address(all_at(resource.content, "address"))
    return placed(
        resource,
        {
            ID: id_of(resource),
            BIRTH: text_at(resource.content, "birthDate"),
            SEX: text_at(resource.content, "gender"),
            "race": of_core(resource, "race"),
            "ethnicity": of_core(resource, "ethnicity"),
            "state": text_at(home, "state"),
            "county": text_at(home, "district"),
            "zip": text_at(home, "postalCode"),
        },
    )


def _condition(resource: Resource, encounters: dict[str, Resource]) -> tuple[Row, str | None]:
    content, whose = resource.content, subject_of(resource)
    visit = encounters.get(referred(text_at(content, "encounter", "reference"), "Encounter") or "")
    onset = text_at(content, "onsetDateTime") or text_at(content, "onsetPeriod", "start")
    if all(content.get(name) is None for name in ONSETS):
        onset = (text_at(visit.content, "period", "start") if visit else None) or text_at(content, "recordedDate")
    age = None if onset else years_in(at(content, "onsetAge"))
    row = {
        ID: whose.patient,
        CODE: code_of(content.get("code"), SNOMED, ICD),
        ICD_CODE: code_of(content.get("code"), ICD, SNOMED),
        DATE: onset,
        AGE: None if age is None else str(age),
        OWNER: subject_of(visit).patient if visit else None,
    }
    return placed(resource, row), not_a_patient(whose) or (None if is_true(resource) else NOT_TRUE)


@dataclass(frozen=True)
class CodedResource:
    """A condition or procedure that counts."""

    code: str | None
    patient: str | None
    resource: Resource = field(repr=False)


def claims(files: Files) -> SourceRecords:
    """Each Claim that was made; each Encounter where there are no claims."""
    by_kind = resources(files, ["Claim", "Encounter", "Condition", "Procedure"])
    for each in by_kind.values():
        once(each)
    had = [_coded(one, ICD) for one in by_kind["Condition"] if is_true(one)]
    done = [_coded(one, PROCEDURES) for one in by_kind["Procedure"] if is_done(one)]
    records = _made(by_kind, had, done) if by_kind["Claim"] else _visits(by_kind, had, done)
    count = len(by_kind["Procedure"]) - len(done)
    said = f"{count:,} lines were" if count > 1 else "1 line was"
    notes = (f"{said} left out: {WHY_NOT_DONE}",) if count else ()
    return SourceRecords(records.frame, "line", (*records.notes, *notes))


def _coded(resource: Resource, systems: Sequence[str]) -> CodedResource:
    return CodedResource(code_of(resource.content.get("code"), systems, SNOMED), subject_of(resource).patient, resource)


def _made(
    by_kind: Mapping[str, Sequence[Resource]], had: Sequence[CodedResource], done: Sequence[CodedResource]
) -> SourceRecords:
    encounters = once(by_kind["Encounter"])
    by_id = [{name: one for one in each if (name := id_of(one.resource))} for each in (had, done)]
    rows = (_claim(one, encounters, *by_id) for one in by_kind["Claim"])
    records = without_left(rows, (ID, DATE, END, *CLAIM_COLUMNS, STRANGE))
    records.refuse(
        records.frame[STRANGE].is_not_null(),
        "a diagnosis, procedure or encounter of another patient",
        "Correct whose they are, or leave them out",
    )
    return SourceRecords(records.frame.drop(STRANGE), "line", records.notes)


def _claim(
    resource: Resource,
    encounters: Mapping[str, Resource],
    conditions: Mapping[str, CodedResource],
    procedures: Mapping[str, CodedResource],
) -> tuple[Row, str | None]:
    content, whose = resource.content, subject_of(resource, "patient")
    items = all_at(content, "item")
    billed = [code_in(at(item, "productOrService"), PROCEDURES) for item in items]
    names = [referred(text_at(one, "reference"), "Encounter") for item in items for one in all_at(item, "encounter")]
    visits = [encounters[name] for name in names if name is not None and name in encounters]
    diagnoses = _entries(content, "diagnosis", conditions, ICD)
    made = _entries(content, "procedure", procedures, PROCEDURES)
    owners = [subject_of(visit).patient for visit in visits] + [one.owner for one in (*diagnoses, *made) if one.by_id]
    is_strange = whose.patient is not None and any(owner != whose.patient for owner in owners)
    start = text_at(content, "billablePeriod", "start") or text_at(content, "created")
    row = {
        ID: whose.patient,
        DATE: start,
        END: text_at(content, "billablePeriod", "end") or start,
        **_listed(("diagnosis", "diagnoses"), [one.code for one in diagnoses]),
        **_listed(("procedure", "procedures"), [*(one.code for one in made), *billed]),
        "place_of_service": _place(visits[0]) if visits else None,
        "provider": named_in(text_at(content, "provider", "reference")),
        STRANGE: "yes" if is_strange else None,
    }
    is_left = text_at(content, "status") in NOT_MADE or text_at(content, "use") in NOT_BILLED
    return placed(resource, row), (WHY_NOT_MADE if is_left else not_a_patient(whose))


@dataclass(frozen=True)
class Entry:
    """A diagnosis or procedure of a claim: its code and, where given by reference, its patient."""

    code: str | None
    by_id: bool = False
    owner: str | None = None


def _entries(content: Row, name: str, known: Mapping[str, CodedResource], systems: Sequence[str]) -> list[Entry]:
    """The diagnoses or procedures of a claim, in their sequence, given as codes or by reference."""

    def place(entry: Any) -> float:
        number = at(entry, "sequence")
        return number if isinstance(number, int | float) else float("inf")

    return [_entry(entry, name, known, systems) for entry in sorted(all_at(content, name), key=place)]


def _entry(entry: Any, name: str, known: Mapping[str, CodedResource], systems: Sequence[str]) -> Entry:
    concept = code_of(at(entry, f"{name}CodeableConcept"), systems, SNOMED)
    kind = {"diagnosis": "Condition", "procedure": "Procedure"}[name]
    meant = known.get(referred(text_at(entry, f"{name}Reference", "reference"), kind) or "")
    if meant is None:
        return Entry(concept)
    return Entry(concept or meant.code, by_id=True, owner=meant.patient)


def _visits(
    by_kind: Mapping[str, Sequence[Resource]], had: Sequence[CodedResource], done: Sequence[CodedResource]
) -> SourceRecords:
    """Encounters; conditions and procedures that are of another patient than their encounter are refused."""
    encounters = once(by_kind["Encounter"])
    of_visits = [_by_visit(each, encounters) for each in (had, done)]
    return without_left((_visit(one, *of_visits) for one in by_kind["Encounter"]), (ID, DATE, END, *CLAIM_COLUMNS))


def _visit(
    resource: Resource, conditions: Mapping[str, Sequence[str | None]], procedures: Mapping[str, Sequence[str | None]]
) -> tuple[Row, str | None]:
    content, whose, name = resource.content, subject_of(resource), id_of(resource) or ""
    start = text_at(content, "period", "start")
    provider = text_at(content, "participant", 0, "individual", "reference")
    row = {
        ID: whose.patient,
        DATE: start,
        END: text_at(content, "period", "end") or start,
        **_listed(("diagnosis", "diagnoses"), conditions.get(name, ())),
        **_listed(("procedure", "procedures"), procedures.get(name, ())),
        "place_of_service": _place(resource),
        "provider": named_in(provider or text_at(content, "serviceProvider", "reference")),
    }
    return placed(resource, row), (not_a_patient(whose) if is_held(resource) else WHY_NOT_HELD)


def _by_visit(
    records: Sequence[CodedResource], encounters: Mapping[str, Resource]
) -> Mapping[str, Sequence[str | None]]:
    rows, found = [], dict[str, list[str | None]]()
    for one in records:
        visit = referred(text_at(one.resource.content, "encounter", "reference"), "Encounter")
        if visit is None or visit not in encounters or one.patient is None:
            continue
        rows.append(placed(one.resource, {ID: one.patient, "owner": subject_of(encounters[visit]).patient}))
        found.setdefault(visit, []).append(one.code)
    frame = frame_of(rows, (ID, "owner")).filter(pl.col("owner").is_not_null())
    SourceRecords(frame, "line").refuse_of_others(frame["owner"], "an encounter")
    return found


def _listed(names: tuple[str, str], codes: Sequence[str | None]) -> Row:
    each = list(dict.fromkeys(code for code in codes if code is not None))
    return {names[0]: each[0] if each else None, names[1]: " ".join(each[1:]) or None}


def _place(encounter: Resource) -> str | None:
    code = text_at(encounter.content, "class", "code")
    return None if code is None else PLACES.get(code, code)


PROFILE = Profile(people, conditions, claims)
