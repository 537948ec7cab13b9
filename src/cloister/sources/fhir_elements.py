"""What stands in resources of FHIR: ids and references, codes of concepts, addresses, extensions of US Core."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .ndjson import Resource, all_at, at, text_at

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
    found = REFERENCE.fullmatch(reference or "")
    return (found["uuid"] or found["id"]) if found and found["kind"] in (None, kind) else None


@dataclass(frozen=True)
class Subject:
    """Whose a resource is.

    Attributes
    ----------
    patient : the id; None where it is nobody's, or of somebody or something else
    is_other : whether it is of somebody or something else, such as a group or a device
    """

    patient: str | None
    is_other: bool


def subject_of(resource: Resource, element: str = "subject") -> Subject:
    """Whose a resource is, by an element of it."""
    reference = text_at(resource.content, element, "reference")
    kind = text_at(resource.content, element, "type")
    patient = referred(reference, "Patient") if kind in (None, "Patient") else None
    return Subject(patient, reference is not None and patient is None)


def named_in(reference: str | None) -> str | None:
    """Who is referred to, be it by an identifier: ``Organization?identifier=SYSTEM|NUMBER``."""
    if reference is None:
        return None
    found = reference.rsplit("|", 1)[-1].split("/_history/")[0]
    return found.removeprefix("urn:uuid:").rsplit("/", 1)[-1] or None


def years_in(age: Any) -> int | None:
    """The completed years that an age tells; None where it is in other units, or not told as one number."""
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
