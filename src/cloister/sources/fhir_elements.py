"""What stands in resources of FHIR: ids and references, codes of concepts, addresses, extensions of US Core."""

from collections.abc import Sequence
from typing import Any

from .ndjson import Resource, all_at, text_at

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

CORE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-"


def id_of(resource: Resource) -> str | None:
    """Return the id of a resource."""
    return text_at(resource.content, "id")


def referred(reference: str | None) -> str | None:
    """The id in a reference: ``Patient/ID``, with an address before it or a version behind it, or ``urn:uuid:ID``."""
    if reference is None:
        return None
    return reference.split("/_history/")[0].removeprefix("urn:uuid:").rsplit("/", 1)[-1] or None


def named_in(reference: str | None) -> str | None:
    """Who is referred to, be it by an identifier: ``Organization?identifier=SYSTEM|NUMBER``."""
    found = None if reference is None else reference.rsplit("|", 1)[-1]
    return referred(found)


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
