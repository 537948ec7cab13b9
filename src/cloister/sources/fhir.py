"""FHIR R4 as Bulk Data exports it: lines of Patient, Condition, Encounter, Claim and Procedure.

Codes come in two columns. ``code`` is that of SNOMED, ``icd_code`` that of ICD; where one is not given, the other
stands there, or the first of any coding. Claims have those of ICD first. Where there is no Claim, encounters stand in.

References
----------
HL7, FHIR R4 (4.0.1), https://hl7.org/fhir/R4/; Bulk Data Access 2.0, https://hl7.org/fhir/uv/bulkdata/; US Core.
"""

import polars as pl

from .fhir_claims import claims
from .fhir_elements import ICD, SNOMED, address, code_of, id_of, of_core, referred, subject_of, years_in
from .fhir_records import Row, frame_of, is_held, is_true, not_a_patient, once, placed, without_left
from .files import Files
from .ndjson import Resource, all_at, at, resources, text_at
from .records import AGE, BIRTH, CODE, DATE, ID, SEX, People, Profile, Records

ICD_CODE = "icd_code"
OWNER = "\0owner"
NOT_TRUE = "entered in error, or refuted"
ONSETS = tuple(f"onset{kind}" for kind in ("DateTime", "Period", "Age", "Range", "String"))


def people(files: Files) -> People:
    """Each Patient."""
    columns = (ID, BIRTH, SEX, "race", "ethnicity", "state", "county", "zip")
    return People(frame_of(map(_person, resources(files, ["Patient"])["Patient"]), columns), "line")


def conditions(files: Files) -> Records:
    """Each Condition that is not refuted or an error, and has a code."""
    found = resources(files, ["Condition", "Encounter"])
    once(found["Condition"])
    encounters = {name: one for name, one in once(found["Encounter"]).items() if is_held(one)}
    columns = (ID, CODE, ICD_CODE, DATE, AGE, OWNER)
    records = without_left((_condition(one, encounters) for one in found["Condition"]), columns)
    records = records.without(records.frame[CODE].is_null(), "no code")
    with_owner = records.frame.filter(pl.col(OWNER).is_not_null())
    Records(with_owner, "line").refuse_of_others(with_owner[OWNER], "an encounter")
    return Records(records.frame.drop(OWNER), "line", records.notes)


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


PROFILE = Profile(people, conditions, claims)
