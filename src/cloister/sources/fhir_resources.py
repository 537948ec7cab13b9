"""Resources of FHIR: reading them from lines of JSON, their elements, and which of them become records."""

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cloister.errors import InputError
from cloister.io.csv import is_text, text_of, unpacked

from .columns import FILE, ROW
from .records import Files, Member, SourceRecords

LINES = re.compile(r".+\.(?:ndjson|jsonl)(?:\.gz)?", re.IGNORECASE | re.DOTALL)
KIND = re.compile(rb'"resourceType"\s*:\s*"[A-Za-z]+"')
BUNDLE = "Bundle"

SNOMED = ("http://snomed.info/sct", "urn:oid:2.16.840.1.113883.6.96")
ICD = (
    *("http://hl7.org/fhir/sid/icd-10-cm", "http://hl7.org/fhir/sid/icd-10", "http://hl7.org/fhir/sid/icd-9-cm"),
    *(f"urn:oid:2.16.840.1.113883.6.{number}" for number in (90, 3, 103)),
)
PROCEDURES = (
    *("http://www.ama-assn.org/go/cpt", "urn:oid:2.16.840.1.113883.6.12", "urn:oid:2.16.840.1.113883.6.285"),
    "https://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets",
)
"""Systems of codes, by their addresses."""

REFERENCE = re.compile(
    r"urn:uuid:(?P<uuid>[^/\s]+)|(?:(?:[^\s?#]*/)?(?P<kind>[A-Za-z]+)/)?(?P<id>[^/?#|:\s]+)(?:/_history/[^/\s]+)?"
)
YEARS = {"a", "yr", "yrs", "year", "years"}
OLDEST = 150

CORE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-"

Row = dict[str, Any]

LEFT = "\0left"
NOT_TRUE = {"entered-in-error", "refuted"}
NOT_DONE = {"entered-in-error", "not-done", "preparation"}
NOT_HELD = {"entered-in-error", "cancelled", "planned"}


@dataclass(frozen=True)
class Resource:
    """A resource as it was written."""

    content: dict[str, Any] = field(repr=False)
    file: str
    line: int

    def at(self, *path: str | int) -> Any:
        """What stands at a path of keys and places; None where nothing does."""
        return at(self.content, *path)


def at(value: Any, *path: str | int) -> Any:
    """What stands at a path of keys and places in a JSON value; None where nothing does.

    Examples
    --------
    >>> at({"code": {"coding": [{"code": "I10"}]}}, "code", "coding", 0, "code")
    'I10'
    """
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
    return value


def text_at(value: Any, *path: str | int) -> str | None:
    """The text at a path, without spaces around; None where there is none, or something else."""
    found = at(value, *path)
    return (found.strip() or None) if isinstance(found, str) and is_text(found) else None


def all_at(value: Any, *path: str | int) -> list[Any]:
    """The list at a path; empty where there is none."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def resources(files: Files, kinds: Collection[str]) -> dict[str, list[Resource]]:
    """The resources of some kinds, in the order of files and lines."""
    members = [one for one in files.members if LINES.fullmatch(one.name)]
    if not members and len(files.members) == 1:
        members = list(files.members)
    if not members:
        raise InputError(
            f"{files.name} has no lines of resources. They must be there as .ndjson or .ndjson.gz.", file=files.name
        )
    found: dict[str, list[Resource]] = {kind: [] for kind in kinds}
    for member in members:
        for resource in _in_member(member, kinds):
            found[str(resource.at("resourceType"))].append(resource)
    return found


def _in_member(member: Member, kinds: Collection[str]) -> Iterator[Resource]:
    wrong, bundles = [], []
    named = [f'"{kind}"'.encode() for kind in (*kinds, BUNDLE)]
    content = unpacked(member.load(), member.name)
    lines = text_of(content, re.sub(r"(?i)\.gz$", "", member.name)).data.split(b"\n") if content.strip() else []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or (not any(name in line for name in named) and KIND.search(line)):
            continue  # other resources are not looked into
        resource = _object(line)
        if resource is None or not isinstance(resource.get("resourceType"), str):
            wrong.append(number)
        elif resource["resourceType"] == BUNDLE:
            bundles.append(number)
        elif resource["resourceType"] in kinds:
            yield Resource(resource, member.name, number)
    _refuse(wrong, "no JSON object with a resourceType", "Export the file again, one resource a line", member)
    what = "a Bundle, which is" if len(bundles) == 1 else "Bundles, which are"
    _refuse(bundles, f"{what} not read", "Export Bulk Data, which has one resource a line", member)


def _refuse(lines: Sequence[int], what: str, advice: str, member: Member) -> None:
    if not lines:
        return
    are = "1 line is" if len(lines) == 1 else f"{len(lines)} lines are"
    first = " is the first" if len(lines) > 1 else ""
    raise InputError(
        f"{member.name}: {are} {what} (line {lines[0]}{first}). {advice}.", file=member.name, line=lines[0]
    )


def _object(line: bytes) -> dict[str, Any] | None:
    """The object in a line; None where it is no whole one. The parser's message quotes the line and is dropped."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def id_of(resource: Resource) -> str | None:
    """Return the id of a resource."""
    return text_at(resource.content, "id")


def referred(reference: str | None, kind: str) -> str | None:
    """The id in a reference to a resource of a kind; None where it is none, or to something of another kind.

    It is written ``Patient/ID``, with an address before it or a version behind it, ``urn:uuid:ID``, or as the id alone.

    Examples
    --------
    >>> referred("https://example.org/Patient/a/_history/2", "Patient"), referred("Group/a", "Patient")
    ('a', None)
    """
    parts = REFERENCE.fullmatch(reference or "")
    return (parts["uuid"] or parts["id"]) if parts and parts["kind"] in (None, kind) else None


@dataclass(frozen=True)
class Subject:
    """Whose a resource is."""

    patient: str | None
    is_other: bool


def subject_of(resource: Resource, element: str = "subject") -> Subject:
    """Whose a resource is, by an element of it."""
    reference = text_at(resource.content, element, "reference")
    kind = text_at(resource.content, element, "type")
    patient = referred(reference, "Patient") if kind in (None, "Patient") else None
    return Subject(patient, reference is not None and patient is None)


def named_in(reference: str | None) -> str | None:
    """The person or organisation referred to, be it by an identifier: ``Organization?identifier=SYSTEM|NUMBER``."""
    if reference is None:
        return None
    found = reference.rsplit("|", 1)[-1].split("/_history/")[0]
    return found.removeprefix("urn:uuid:").rsplit("/", 1)[-1] or None


def years_in(age: Any) -> int | None:
    """The completed years of an age; None where it has other units, or is not one number."""
    value, units = at(age, "value"), (text_at(age, "code"), text_at(age, "unit"))
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or at(age, "comparator") is not None or not 0 <= value <= OLDEST:
        return None
    unit = units[0] or units[1]
    return int(value) if unit is not None and unit.lower() in YEARS else None


def code_of(concept: Any, first: Sequence[str], then: Sequence[str]) -> str | None:
    """The code of a concept in one of the first systems, else in one of the others, else in any."""
    return code_in(concept, first) or code_in(concept, then) or code_in(concept, None)


def code_in(concept: Any, systems: Sequence[str] | None) -> str | None:
    """The first code of a concept in one of some systems, or in any; None where there is none without spaces."""
    for coding in all_at(concept, "coding"):
        code = text_at(coding, "code")
        fits = systems is None or text_at(coding, "system") in systems
        if fits and code is not None and not any(map(str.isspace, code)):
            return code
    return None


def address(given: Sequence[Any]) -> Any:
    """The address at home, else the first that is not an old one."""
    current = [one for one in given if text_at(one, "use") != "old"]
    return next((one for one in current if text_at(one, "use") == "home"), current[0] if current else None)


def of_core(resource: Resource, name: str) -> str | None:
    """What an extension of US Core says: its category, else its text."""
    for extension in all_at(resource.content, "extension"):
        if text_at(extension, "url") == CORE + name:
            inner = all_at(extension, "extension")
            named = (text_at(one, "valueCoding", "display") for one in inner if text_at(one, "url") == "ombCategory")
            texts = (text_at(one, "valueString") for one in inner if text_at(one, "url") == "text")
            return next((text for text in (*named, *texts) if text), None)
    return None


def frame_of(rows: Iterable[Row], columns: Sequence[str]) -> pl.DataFrame:
    """Rows as a frame of text, with where each stands."""
    schema = {**dict.fromkeys(columns, pl.String), FILE: pl.String, ROW: pl.Int64}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def without_left(rows: Iterable[tuple[Row, str | None]], columns: Sequence[str]) -> SourceRecords:
    """Rows without those for which there is a reason to leave them out, with a note for each reason."""
    frame = frame_of((row | {LEFT: why} for row, why in rows), (*columns, LEFT))
    records = SourceRecords(frame, "line")
    for why in frame[LEFT].drop_nulls().unique().sort():
        records = records.without(records.frame[LEFT] == why, why)
    return SourceRecords(records.frame.drop(LEFT), "line", records.notes)


def placed(resource: Resource, row: Row) -> Row:
    """A row with where its resource stands."""
    return row | {FILE: resource.file, ROW: resource.line}


def once(found: Sequence[Resource]) -> dict[str, Resource]:
    """Resources of one kind by their ids, of those that have one."""
    frame = frame_of((placed(one, {"id": id_of(one)}) for one in found), ("id",))
    SourceRecords(frame, "line").refuse_repeated(frame["id"], "a resource of that kind")
    return {name: one for one in found if (name := id_of(one)) is not None}


def not_a_patient(whose: Subject) -> str | None:
    """Why a resource that belongs to no patient is left out."""
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
