"""FHIR R4, one resource a line as Bulk Data exports it, or in Bundles: Patient, Condition, Encounter, Claim, Procedure.

Codes come in two columns. ``code`` has the code of SNOMED, ``icd_code`` that of ICD; if one is missing, the column has
the other code, or the first of any coding. Claims have those of ICD first: each Claim with what it refers to, or where
there are none each Encounter with what belongs to it.

References
----------
HL7, FHIR R4 (4.0.1), https://hl7.org/fhir/R4/; Bulk Data Access 2.0, https://hl7.org/fhir/uv/bulkdata/; US Core.
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from cloister.errors import InputError
from cloister.io.csv import is_text, text_of, unpack

from .columns import AGE, BIRTH, CODE, DATE, END, FILE, ID, ROW, SEX
from .records import Files, Member, People, Profile, Row, SourceRecords, frame_of_rows, without_left

Json = dict[str, "Json"] | list["Json"] | str | int | float | None
Texts = Sequence[str | None]

DOCUMENTS = re.compile(r".+\.(?:ndjson|jsonl|json)(?:\.gz)?", re.IGNORECASE | re.DOTALL)
KIND = re.compile(rb'"resourceType"\s*:\s*"[A-Za-z]+"')
REFERENCE = re.compile(
    r"urn:uuid:(?P<uuid>[^/\s]+)|(?:(?:[^\s?#]*/)?(?P<kind>[A-Za-z]+)/)?(?P<id>[^/?#|:\s]+)(?:/_history/[^/\s]+)?"
)
# Systems of codes, by their addresses
SNOMED = ("http://snomed.info/sct", "urn:oid:2.16.840.1.113883.6.96")
ICD = (
    *("http://hl7.org/fhir/sid/icd-10-cm", "http://hl7.org/fhir/sid/icd-10", "http://hl7.org/fhir/sid/icd-9-cm"),
    *(f"urn:oid:2.16.840.1.113883.6.{number}" for number in (90, 3, 103)),
)
PROCEDURES = (
    *("http://www.ama-assn.org/go/cpt", "urn:oid:2.16.840.1.113883.6.12", "urn:oid:2.16.840.1.113883.6.285"),
    "https://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets",
)
CORE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-"
YEARS = {"a", "yr", "yrs", "year", "years"}
OLDEST = 150
# Classes of encounters as places of service are called on claims; others keep their code
PLACES = {
    **dict.fromkeys(("AMB", "OBSENC", "SS"), "Outpatient Hospital"),
    **dict.fromkeys(("IMP", "ACUTE", "NONAC"), "Inpatient Hospital"),
    "EMER": "Emergency Room",
    "HH": "Home",
}
ICD_CODE = "icd_code"
OWNER, STRANGE = "\0owner", "\0strange"
ONSETS = tuple(f"onset{kind}" for kind in ("DateTime", "Period", "Age", "Range", "String"))
CLAIM_COLUMNS = (ID, DATE, END, "diagnosis", "diagnoses", "procedure", "procedures", "place_of_service", "provider")
NOT_TRUE = {"entered-in-error", "refuted"}
NOT_DONE = {"entered-in-error", "not-done", "preparation"}
NOT_HELD = {"entered-in-error", "cancelled", "planned"}
NOT_MADE = {"entered-in-error", "cancelled", "draft"}
NOT_BILLED = {"preauthorization", "predetermination"}


@dataclass(frozen=True, repr=False)
class _Resource:
    """A resource and its place in its file."""

    content: Json
    file: str
    line: int

    def text(self, *path: str | int) -> str | None:
        return _text_at(self.content, *path)

    def row(self, cells: Row) -> Row:
        """Return cells with the place of the resource."""
        return cells | {FILE: self.file, ROW: self.line}

    @property
    def is_held(self) -> bool:
        """Whether an encounter took place or is in progress, and was not entered in error."""
        return self.text("status") not in NOT_HELD


@dataclass(frozen=True, repr=False)
class _CodedResource:
    """A condition or procedure that counts: its code, and whose it is."""

    code: str | None
    patient: str | None
    resource: _Resource


Coded = Sequence[_CodedResource]
ByKind = Mapping[str, Sequence[_Resource]]
ById = Mapping[str, _CodedResource]


def people(files: Files) -> People:
    """Return one row per Patient."""
    columns = (ID, BIRTH, SEX, "race", "ethnicity", "state", "county", "zip")
    return People(frame_of_rows(map(_person, _resources(files, ["Patient"])["Patient"]), columns), "line")


def conditions(files: Files) -> SourceRecords:
    """Return one row per Condition that has a code and is neither refuted nor entered in error."""
    by_kind = _resources(files, ["Condition", "Encounter"])
    _once(by_kind["Condition"])
    encounters = {name: one for name, one in _once(by_kind["Encounter"]).items() if one.is_held}
    columns = (ID, CODE, ICD_CODE, DATE, AGE, OWNER)
    records = without_left((_condition(one, encounters) for one in by_kind["Condition"]), columns)
    records = records.without(records.frame[CODE].is_null(), "no code")
    with_owner = records.frame.filter(pl.col(OWNER).is_not_null())
    SourceRecords(with_owner, "line").refuse_of_others(with_owner[OWNER], "an encounter")
    return SourceRecords(records.frame.drop(OWNER), "line", records.notes)


def claims(files: Files) -> SourceRecords:
    """Return one row per Claim that was made, or per Encounter if there are no claims."""
    by_kind = _resources(files, ["Claim", "Encounter", "Condition", "Procedure"])
    for each in by_kind.values():
        _once(each)
    had = [_codes_of(one, ICD) for one in by_kind["Condition"] if _is_true(one)]
    done = [_codes_of(one, PROCEDURES) for one in by_kind["Procedure"] if one.text("status") not in NOT_DONE]
    records = _make_records(by_kind, had, done) if by_kind["Claim"] else _visits(by_kind, had, done)
    n_left = len(by_kind["Procedure"]) - len(done)
    return records.with_note(n_left, "procedures that are not done, in preparation or in error")


def _person(resource: _Resource) -> Row:
    current = [one for one in _all_at(resource.content, "address") if _text_at(one, "use") != "old"]
    home = next((one for one in current if _text_at(one, "use") == "home"), current[0] if current else None)
    row: Row = {ID: resource.text("id"), BIRTH: resource.text("birthDate"), SEX: resource.text("gender")}
    row |= {name: _of_core(resource, name) for name in ("race", "ethnicity")}
    places = {"state": "state", "county": "district", "zip": "postalCode"}
    return resource.row(row | {name: _text_at(home, place) for name, place in places.items()})


def _condition(resource: _Resource, encounters: Mapping[str, _Resource]) -> tuple[Row, str | None]:
    patient, why = _subject(resource)
    visit = encounters.get(referred_id(resource.text("encounter", "reference"), "Encounter") or "")
    onset = resource.text("onsetDateTime") or resource.text("onsetPeriod", "start")
    if all(_at(resource.content, name) is None for name in ONSETS):
        onset = (visit.text("period", "start") if visit else None) or resource.text("recordedDate")
    age, concept = None if onset else _years_in(_at(resource.content, "onsetAge")), _at(resource.content, "code")
    row: Row = {
        ID: patient,
        CODE: _code_of(concept, SNOMED, ICD),
        ICD_CODE: _code_of(concept, ICD, SNOMED),
        DATE: onset,
        AGE: None if age is None else str(age),
        OWNER: _subject(visit)[0] if visit else None,
    }
    return resource.row(row), why or (None if _is_true(resource) else "entered in error, or refuted")


def _codes_of(resource: _Resource, systems: Sequence[str]) -> _CodedResource:
    code = _code_of(_at(resource.content, "code"), systems, SNOMED)
    return _CodedResource(code, _subject(resource)[0], resource)


def _make_records(by_kind: ByKind, had: Coded, done: Coded) -> SourceRecords:
    encounters = _once(by_kind["Encounter"])
    conditions, procedures = ({name: one for one in each if (name := one.resource.text("id"))} for each in (had, done))
    rows = (_claim(one, encounters, conditions, procedures) for one in by_kind["Claim"])
    records = without_left(rows, (*CLAIM_COLUMNS, STRANGE))
    records.refuse(
        records.frame[STRANGE].is_not_null(),
        "a diagnosis, procedure or encounter of another patient",
        "Correct whose they are, or leave them out",
    )
    return SourceRecords(records.frame.drop(STRANGE), "line", records.notes)


def _claim(
    resource: _Resource, encounters: Mapping[str, _Resource], conditions: ById, procedures: ById
) -> tuple[Row, str | None]:
    content, (patient, why) = resource.content, _subject(resource, "patient")
    items = _all_at(content, "item")
    billed = [_code_in(_at(item, "productOrService"), PROCEDURES) for item in items]
    names = [
        referred_id(_text_at(one, "reference"), "Encounter") or ""
        for item in items
        for one in _all_at(item, "encounter")
    ]
    visits = [encounters[name] for name in names if name in encounters]
    diagnoses, theirs = _entries(content, "diagnosis", "Condition", conditions, ICD)
    made, others = _entries(content, "procedure", "Procedure", procedures, PROCEDURES)
    owners = [*(_subject(visit)[0] for visit in visits), *theirs, *others]
    start = resource.text("billablePeriod", "start") or resource.text("created")
    end, provider = resource.text("billablePeriod", "end"), _named_in(resource.text("provider", "reference"))
    row = _row(patient, (start, end), (diagnoses, [*made, *billed]), visits[0] if visits else None, provider)
    is_strange = patient is not None and any(owner != patient for owner in owners)
    if resource.text("status") in NOT_MADE or resource.text("use") in NOT_BILLED:
        why = "drafts, cancelled, in error, or asked only what would be paid"
    return resource.row(row | {STRANGE: "yes" if is_strange else None}), why


def _entries(content: Json, name: str, kind: str, known: ById, systems: Sequence[str]) -> tuple[Texts, Texts]:
    """The diagnoses or procedures of a claim, in their sequence, and whose those are that are given by reference."""

    def place(entry: Json) -> float:
        number = _at(entry, "sequence")
        return number if isinstance(number, int | float) else float("inf")

    codes, owners = list[str | None](), list[str | None]()
    for entry in sorted(_all_at(content, name), key=place):
        code = _code_of(_at(entry, f"{name}CodeableConcept"), systems, SNOMED)
        meant = known.get(referred_id(_text_at(entry, f"{name}Reference", "reference"), kind) or "")
        codes.append(code or (meant.code if meant else None))
        owners += [meant.patient] if meant else []
    return codes, owners


def _visits(by_kind: ByKind, had: Coded, done: Coded) -> SourceRecords:
    """Encounters; conditions and procedures that are of another patient than their encounter are refused."""
    encounters = _once(by_kind["Encounter"])
    of_visits = [_by_visit(each, encounters) for each in (had, done)]
    return without_left((_visit(one, of_visits) for one in by_kind["Encounter"]), CLAIM_COLUMNS)


def _visit(resource: _Resource, of_visits: Sequence[Mapping[str, Texts]]) -> tuple[Row, str | None]:
    (patient, why), name = _subject(resource), resource.text("id") or ""
    period = resource.text("period", "start"), resource.text("period", "end")
    by_whom = resource.text("participant", 0, "individual", "reference")
    provider = _named_in(by_whom or resource.text("serviceProvider", "reference"))
    row = _row(patient, period, [each.get(name, ()) for each in of_visits], resource, provider)
    return resource.row(row), why if resource.is_held else "encounters that are planned, cancelled or in error"


def _by_visit(records: Coded, encounters: Mapping[str, _Resource]) -> Mapping[str, Texts]:
    rows, found = [], dict[str, list[str | None]]()
    for one in records:
        visit = referred_id(one.resource.text("encounter", "reference"), "Encounter")
        if visit is not None and visit in encounters and one.patient is not None:
            rows.append(one.resource.row({ID: one.patient, OWNER: _subject(encounters[visit])[0]}))
            found.setdefault(visit, []).append(one.code)
    frame = frame_of_rows(rows, (ID, OWNER)).filter(pl.col(OWNER).is_not_null())
    SourceRecords(frame, "line").refuse_of_others(frame[OWNER], "an encounter")
    return found


def _row(
    patient: str | None, period: Texts, codes: Sequence[Texts], visit: _Resource | None, provider: str | None
) -> Row:
    """Return the row of a claim: diagnoses and procedures once each, the first in a column of its own."""
    cells: list[str | None] = [patient, period[0], period[1] or period[0]]
    for some in codes:
        each = list(dict.fromkeys(code for code in some if code is not None))
        cells += [each[0] if each else None, " ".join(each[1:]) or None]
    place = visit.text("class", "code") if visit else None
    return dict(zip(CLAIM_COLUMNS, [*cells, place and PLACES.get(place, place), provider], strict=True))


def _at(value: Json, *path: str | int) -> Json:
    """Return the value at a path of keys and indexes in a JSON value; None if there is none."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else None
    return value


def _text_at(value: Json, *path: str | int) -> str | None:
    """The text at a path, without spaces around; None where there is none, or something else."""
    found = _at(value, *path)
    return (found.strip() or None) if isinstance(found, str) and is_text(found) else None


def _all_at(value: Json, *path: str | int) -> list[Json]:
    """The list at a path; empty where there is none."""
    found = _at(value, *path)
    return found if isinstance(found, list) else []


def _resources(files: Files, kinds: Collection[str]) -> dict[str, list[_Resource]]:
    """The resources of some kinds, in the order of files and lines."""
    named = [one for one in files.members if DOCUMENTS.fullmatch(one.name)]
    members = named or (files.members if len(files.members) == 1 else ())
    if not members:
        raise InputError(
            f"{files.name} has no resources. They must be there one a line, as .ndjson, or as Bundles, .json; each may "
            "end in .gz.",
            file=files.name,
        )
    found: dict[str, list[_Resource]] = {kind: [] for kind in kinds}
    for member in members:
        for kind, resource in _in_member(member, kinds):
            found[kind].append(resource)
    return found


def _in_member(member: Member, kinds: Collection[str]) -> Iterator[tuple[str, _Resource]]:
    """The resources of some kinds in a file: one a line, in Bundles, or one document in all."""
    wrong, content = [], unpack(member.load(), member.name)
    text = text_of(content, re.sub(r"(?i)\.gz$", "", member.name)).data if content.strip() else b""
    named = [f'"{kind}"'.encode() for kind in (*kinds, "Bundle")]
    for number, found in _documents(text, named):
        if not isinstance(_at(found, "resourceType"), str):
            wrong.append(number)
        for kind, resource in _unbundle(found):
            if kind in kinds:
                yield kind, _Resource(resource, member.name, number)
    if wrong:
        are = "1 line is" if len(wrong) == 1 else f"{len(wrong)} lines are"
        first = f"line {wrong[0]}{' is the first' if len(wrong) > 1 else ''}"
        message = (
            f"{member.name}: {are} no JSON object with a resourceType ({first}). Export the file again, one resource a "
            "line or as a Bundle."
        )
        raise InputError(message, file=member.name, line=wrong[0])


def _documents(text: bytes, named: Sequence[bytes]) -> Iterator[tuple[int, Json]]:
    """The JSON documents of a file by their lines: one a line, or all of it where its first line is not one by itself.

    Each is parsed once. Resources of kinds that are not named are not looked into.
    """
    lines = text.split(b"\n")
    first = next((place for place, line in enumerate(lines) if line.strip()), 0)
    document = _parse_json(lines[first])
    if document is None and (whole := _parse_json(text)) is not None:
        lines, first, document = [text], 0, whole
    for place, line in enumerate(lines):
        if line.strip() and (any(name in line for name in named) or not KIND.search(line)):
            yield place + 1, document if place == first else _parse_json(line)


def _parse_json(text: bytes) -> Json:
    """A JSON document; None where it is none."""
    try:
        found: Json = json.loads(text)
    except (ValueError, RecursionError):  # its message quotes the text
        return None
    return found


def _unbundle(found: Json) -> Iterator[tuple[str, Json]]:
    """A resource with its kind; of a Bundle those in it, Bundles inside it included."""
    pending = [found]
    while pending:
        one = pending.pop()
        kind = _at(one, "resourceType")
        if kind == "Bundle":
            pending += [_at(entry, "resource") for entry in reversed(_all_at(one, "entry"))]
        elif isinstance(kind, str):
            yield kind, one


def referred_id(reference: str | None, kind: str) -> str | None:
    """Return the id in a reference to a resource of a kind; None for another kind or no reference.

    It is written ``Patient/ID``, with an address before it or a version behind it, ``urn:uuid:ID``, or as the id alone.

    Examples
    --------
    >>> referred("https://example.org/Patient/a/_history/2", "Patient"), referred("Group/a", "Patient")
    ('a', None)
    """
    parts = REFERENCE.fullmatch(reference or "")
    return (parts["uuid"] or parts["id"]) if parts and parts["kind"] in (None, kind) else None


def _subject(resource: _Resource, element: str = "subject") -> tuple[str | None, str | None]:
    """Whose a resource is, by an element of it; and why it is omitted, if it is of another than a patient."""
    reference = resource.text(element, "reference")
    patient = referred_id(reference, "Patient") if resource.text(element, "type") in (None, "Patient") else None
    is_other = reference is not None and patient is None
    return patient, "of a group, a device or another that is no patient" if is_other else None


def _named_in(reference: str | None) -> str | None:
    """The person or organisation referred to, be it by an identifier: ``Organization?identifier=SYSTEM|NUMBER``."""
    found = (reference or "").rsplit("|", 1)[-1].split("/_history/")[0]
    return found.removeprefix("urn:uuid:").rsplit("/", 1)[-1] or None


def _years_in(age: Json) -> int | None:
    """The completed years of an age; None where it has other units, or is not one number."""
    value, unit = _at(age, "value"), _text_at(age, "code") or _text_at(age, "unit")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    is_plain = _at(age, "comparator") is None and 0 <= value <= OLDEST
    return int(value) if is_plain and unit is not None and unit.lower() in YEARS else None


def _code_of(concept: Json, first: Sequence[str], then: Sequence[str]) -> str | None:
    """The code of a concept in one of the first systems, else in one of the others, else in any."""
    return _code_in(concept, first) or _code_in(concept, then) or _code_in(concept, None)


def _code_in(concept: Json, systems: Sequence[str] | None) -> str | None:
    """The first code of a concept in one of some systems, or in any; None where there is none without spaces."""
    for coding in _all_at(concept, "coding"):
        code = _text_at(coding, "code")
        fits = systems is None or _text_at(coding, "system") in systems
        if fits and code is not None and not any(map(str.isspace, code)):
            return code
    return None


def _of_core(resource: _Resource, name: str) -> str | None:
    """What an extension of US Core says: its category, else its text."""
    for extension in _all_at(resource.content, "extension"):
        if _text_at(extension, "url") == CORE + name:
            inner = _all_at(extension, "extension")
            named = (_text_at(one, "valueCoding", "display") for one in inner if _text_at(one, "url") == "ombCategory")
            texts = (_text_at(one, "valueString") for one in inner if _text_at(one, "url") == "text")
            return next((text for text in (*named, *texts) if text), None)
    return None


def _is_true(condition: _Resource) -> bool:
    """Whether a condition is neither refuted nor an error."""
    codings = _all_at(condition.content, "verificationStatus", "coding")
    return not any(_text_at(coding, "code") in NOT_TRUE for coding in codings)


def _once(found: Sequence[_Resource]) -> dict[str, _Resource]:
    """Resources of one kind by their ids, of those that have one."""
    frame = frame_of_rows((one.row({"id": one.text("id")}) for one in found), ("id",))
    SourceRecords(frame, "line").refuse_repeated(frame["id"], "a resource of that kind")
    return {name: one for one in found if (name := one.text("id")) is not None}


PROFILE = Profile(people, conditions, claims)
