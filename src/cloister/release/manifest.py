"""The manifest of a release of any form, parsed once into the type of its form."""

from typing import TYPE_CHECKING, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from cloister.errors import InputError
from cloister.release.head import WITH_CODES, Section
from cloister.results import Manifest
from cloister.settings.run_options import CODE_METHODS
from cloister.shapes.registry import FORMS, load

if TYPE_CHECKING:
    from cloister.shapes.claims.format.manifest import ClaimsManifest
    from cloister.shapes.disassociation.format.manifest import DisassociationManifest
    from cloister.shapes.generalization.format.manifest import GeneralizationManifest
    from cloister.shapes.table.format.manifest import TableManifest
    from cloister.shapes.table_with_codes.format.data import AnyCodesSection, TableWithCodesManifest
    from cloister.shapes.table_with_codes.format.terms import TableWithTermsManifest
    from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest
    from cloister.verification.script import Script

CodeSetsManifest: TypeAlias = "DisassociationManifest | GeneralizationManifest"
CodedTableManifest: TypeAlias = "TableWithCodesManifest | TableWithTermsManifest"
AnyManifest: TypeAlias = "TableManifest | CodedTableManifest | CodeSetsManifest | TrajectoriesManifest | ClaimsManifest"
"""Which of them it is, its ``form`` says."""


GENERALIZED = CODE_METHODS[1:]
"""The methods for code sets whose releases hold generalized codes."""


class UntypedManifest(BaseModel):
    """A manifest before its type is known: any program may have written it, so any field may be anything."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_: object = Field(None, alias="schema")
    cloister: object = None
    shape: object = None
    method: object = None
    seed: object = None
    settings: object = None
    records: object = None
    parts: object = None
    files: object = None

    @property
    def hashes(self) -> dict[str, object]:
        """The hash of each file; empty if the manifest lists something else."""
        return self.files if isinstance(self.files, dict) else {}


def outline_of(manifest: Manifest) -> UntypedManifest:
    """Return the fields of a manifest, unchecked."""
    return UntypedManifest.model_validate(manifest)


def form_of(manifest: Manifest) -> str:
    """Return the form of a release, which selects its checker: its shape, or the kind of release of that shape."""
    stated = outline_of(manifest)
    if stated.shape == "table":
        codes = manifest.get(WITH_CODES)
        method = codes.get("method") if isinstance(codes, dict) else None
        coded = "table_with_terms" if method in GENERALIZED else "table_with_codes"
        return coded if WITH_CODES in manifest else "table"
    if stated.shape == "codes":
        return "generalization" if stated.method in GENERALIZED else "disassociation"
    return str(stated.shape)


def parse_manifest(manifest: Manifest) -> AnyManifest:
    """Parse a manifest into its type, which is loaded on demand; an `InputError` if it does not match the type."""
    form = FORMS.get(form_of(manifest))
    if form is None:
        raise InputError("The manifest is of no shape that this version knows.", file="release.json")
    found: AnyManifest = load(form.manifest).of(manifest)
    return found


def with_parts(manifest: AnyManifest, **parts: object) -> AnyManifest:
    """Return a manifest with some parts replaced, given in their JSON form."""
    return parse_manifest(manifest.as_json() | parts)


def rules_of(manifest: AnyManifest) -> list[Manifest]:
    """Return all privacy models of a release, for codes of a table too: each model with its parameters by name."""
    codes = getattr(manifest, "codes", None)
    sections: list[Section] = [manifest.guarantee, *([] if codes is None else [codes.guarantee])]
    return [rule for section in sections for rule in section.as_json()["rules"]]


def rule_words(rule: Manifest) -> str:
    """Return a privacy model with its parameters, for people to read."""
    numbers = ", ".join(f"{name} {value}" for name, value in rule.items() if name != "model" and value is not None)
    return f"{rule['model']} ({numbers})" if numbers else str(rule["model"])


def codes_of(manifest: "TableManifest") -> "AnyCodesSection | None":
    """Return the section on the codes of a table; None without codes."""
    codes: AnyCodesSection | None = getattr(manifest, "codes", None)
    return codes


def script_of(manifest: AnyManifest) -> "Script | None":
    """Return the SQL script that checks the guarantee; None if the form has no script, or the dialect is unknown."""
    place = FORMS[manifest.form].script
    script: Script | None = None if place is None else load(place)(manifest)
    return script
