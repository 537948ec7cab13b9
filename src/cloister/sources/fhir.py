"""FHIR R4 as Bulk Data exports it: lines of Patient, Condition, Encounter, Claim and Procedure.

Codes come in two columns. ``code`` is that of SNOMED, ``icd_code`` that of ICD; where one is not given, the other
stands there, or the first of any coding. Claims have those of ICD first. Where there is no Claim, encounters stand in.

References
----------
HL7, FHIR R4 (4.0.1), https://hl7.org/fhir/R4/; Bulk Data Access 2.0, https://hl7.org/fhir/uv/bulkdata/; US Core.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from .fhir_elements import ICD, PROCEDURES, SNOMED, address, code_in, code_of, id_of, named_in, of_core, referred
from .files import Files
from .ndjson import Resource, all_at, at, resources, text_at
from .records import BIRTH, CODE, DATE, END, FILE, ID, ROW, SEX, People, Profile, Records

ICD_CODE = "icd_code"
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

NOT_TRUE = {"entered-in-error", "refuted"}
NOT_MADE = {"entered-in-error", "cancelled", "draft"}
NOT_BILLED = {"preauthorization", "predetermination"}
LEFT = "\0left"

Row = dict[str, Any]


def people(files: Files) -> People:
    """Each Patient."""
    columns = (ID, BIRTH, SEX, "race", "ethnicity", "state", "county", "zip")
    return People(_frame(map(_person, resources(files, ["Patient"])["Patient"]), columns), "line")


def conditions(files: Files) -> Records:
    """Each Condition that is not refuted or an error, and has a code."""
    found = resources(files, ["Condition", "Encounter"])
    starts = {id_of(one): text_at(one.content, "period", "start") for one in found["Encounter"]}
    frame = _frame((_condition(one, starts) for one in found["Condition"]), (ID, CODE, ICD_CODE, DATE, LEFT))
    records = Records(frame, "line").without(frame[LEFT].is_not_null(), "entered in error, or refuted")
    records = records.without(records.frame[CODE].is_null(), "no code")
    return Records(records.frame.drop(LEFT), "line", records.notes)


def claims(files: Files) -> Records:
    """Each Claim that was made; each Encounter where there are no claims."""
    found = resources(files, ["Claim", "Encounter", "Condition", "Procedure"])
    encounters = {id_of(one): one for one in found["Encounter"]}
    codes = {id_of(one): code_of(one.content.get("code"), ICD, SNOMED) for one in found["Condition"] if _is_true(one)}
    done = {id_of(one): code_of(one.content.get("code"), PROCEDURES, SNOMED) for one in found["Procedure"]}
    rows: Iterable[Row] = (_claim(one, encounters, codes, done) for one in found["Claim"])
    if not found["Claim"]:
        of_visits = (_by_visit(found["Condition"], codes), _by_visit(found["Procedure"], done))
        rows = (_visit(one, *of_visits) for one in found["Encounter"])
    told = ("diagnosis", "diagnoses", "procedure", "procedures", "place_of_service", "provider")
    frame = _frame(rows, (ID, DATE, END, *told, LEFT))
    why = "drafts, cancelled, in error, or asked only what would be paid"
    records = Records(frame, "line").without(frame[LEFT].is_not_null(), why)
    return Records(records.frame.drop(LEFT), "line", records.notes)


def _frame(rows: Iterable[Row], columns: Sequence[str]) -> pl.DataFrame:
    schema = {**dict.fromkeys(columns, pl.String), FILE: pl.String, ROW: pl.Int64}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def _placed(resource: Resource, row: Row) -> Row:
    return row | {FILE: resource.file, ROW: resource.line}


def _person(resource: Resource) -> Row:
    home = address(all_at(resource.content, "address"))
    return _placed(
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


def _condition(resource: Resource, starts: Mapping[str | None, str | None]) -> Row:
    content = resource.content
    onset = text_at(content, "onsetDateTime") or text_at(content, "onsetPeriod", "start")
    visit = starts.get(referred(text_at(content, "encounter", "reference")))
    return _placed(
        resource,
        {
            ID: referred(text_at(content, "subject", "reference")),
            CODE: code_of(content.get("code"), SNOMED, ICD),
            ICD_CODE: code_of(content.get("code"), ICD, SNOMED),
            DATE: onset or visit or text_at(content, "recordedDate"),
            LEFT: None if _is_true(resource) else "left",
        },
    )


def _is_true(condition: Resource) -> bool:
    return not any(
        text_at(coding, "code") in NOT_TRUE for coding in all_at(condition.content, "verificationStatus", "coding")
    )


def _claim(
    resource: Resource,
    encounters: Mapping[str | None, Resource],
    conditions: Mapping[str | None, str | None],
    procedures: Mapping[str | None, str | None],
) -> Row:
    content = resource.content
    items = all_at(content, "item")
    billed = [code_in(at(item, "productOrService"), PROCEDURES) for item in items]
    visits = [referred(text_at(item, "encounter", 0, "reference")) for item in items]
    encounter = next((encounters[visit] for visit in visits if visit in encounters), None)
    left = text_at(content, "status") in NOT_MADE or text_at(content, "use") in NOT_BILLED
    start = text_at(content, "billablePeriod", "start") or text_at(content, "created")
    return _placed(
        resource,
        {
            ID: referred(text_at(content, "patient", "reference")),
            DATE: start,
            END: text_at(content, "billablePeriod", "end") or start,
            **_listed(("diagnosis", "diagnoses"), _entries(content, "diagnosis", conditions, ICD)),
            **_listed(("procedure", "procedures"), [*_entries(content, "procedure", procedures, PROCEDURES), *billed]),
            "place_of_service": None if encounter is None else _place(encounter),
            "provider": named_in(text_at(content, "provider", "reference")),
            LEFT: "left" if left else None,
        },
    )


def _entries(
    content: Row, name: str, known: Mapping[str | None, str | None], systems: Sequence[str]
) -> list[str | None]:
    """Codes of the diagnoses or procedures of a claim, in their sequence, told or referred to."""

    def place(entry: Any) -> float:
        number = at(entry, "sequence")
        return number if isinstance(number, int | float) else float("inf")

    return [
        code_of(at(entry, f"{name}CodeableConcept"), systems, SNOMED)
        or known.get(referred(text_at(entry, f"{name}Reference", "reference")))
        for entry in sorted(all_at(content, name), key=place)
    ]


def _visit(
    resource: Resource, conditions: Mapping[str, Sequence[str | None]], procedures: Mapping[str, Sequence[str | None]]
) -> Row:
    content, name = resource.content, id_of(resource) or ""
    start = text_at(content, "period", "start")
    provider = text_at(content, "participant", 0, "individual", "reference")
    return _placed(
        resource,
        {
            ID: referred(text_at(content, "subject", "reference")),
            DATE: start,
            END: text_at(content, "period", "end") or start,
            **_listed(("diagnosis", "diagnoses"), conditions.get(name, ())),
            **_listed(("procedure", "procedures"), procedures.get(name, ())),
            "place_of_service": _place(resource),
            "provider": named_in(provider or text_at(content, "serviceProvider", "reference")),
            LEFT: "left" if text_at(content, "status") in NOT_MADE else None,
        },
    )


def _by_visit(
    records: Sequence[Resource], codes: Mapping[str | None, str | None]
) -> Mapping[str, Sequence[str | None]]:
    """Codes of records by the encounter that they belong to."""
    found: dict[str, list[str | None]] = {}
    for one in records:
        visit = referred(text_at(one.content, "encounter", "reference"))
        if visit is not None:
            found.setdefault(visit, []).append(codes.get(id_of(one)))
    return found


def _listed(names: tuple[str, str], codes: Sequence[str | None]) -> Row:
    """The first code, and the others in a list."""
    each = list(dict.fromkeys(code for code in codes if code is not None))
    return {names[0]: each[0] if each else None, names[1]: " ".join(each[1:]) or None}


def _place(encounter: Resource) -> str | None:
    code = text_at(encounter.content, "class", "code")
    return None if code is None else PLACES.get(code, code)


PROFILE = Profile(people, conditions, claims)
