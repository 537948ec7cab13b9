"""The manifest of a release of any form, read once as the type that its form has."""

from typing import TYPE_CHECKING, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from cloister.errors import InputError
from cloister.release.head import WITH_CODES, Section
from cloister.results import Manifest
from cloister.shapes.registry import FORMS, load

if TYPE_CHECKING:
    from cloister.shapes.claims.format.manifest import ClaimsManifest
    from cloister.shapes.disassociation.format.manifest import DisassociationManifest
    from cloister.shapes.generalization.format.manifest import GeneralizationManifest
    from cloister.shapes.table.format.manifest import TableManifest
    from cloister.shapes.table_with_codes.format.data import CodesSection, TableWithCodesManifest
    from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest
    from cloister.verification.script import Script

CodeSetsManifest: TypeAlias = "DisassociationManifest | GeneralizationManifest"
AnyManifest: TypeAlias = (
    "TableManifest | TableWithCodesManifest | CodeSetsManifest | TrajectoriesManifest | ClaimsManifest"
)
"""Which of them it is, its ``form`` says."""


GENERALIZED = ("cba", "ugaclip", "apriori", "generalization")
"""The methods for code sets whose releases hold generalized codes."""


class UntypedManifest(BaseModel):
    """What a manifest says of itself before its type is known, anyone who wrote it: any of it may be anything."""

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
        """The hash of each file; none where the manifest lists something else."""
        return self.files if isinstance(self.files, dict) else {}


def outline_of(manifest: Manifest) -> UntypedManifest:
    """Return what a manifest says of itself."""
    return UntypedManifest.model_validate(manifest)


def form_of(manifest: Manifest) -> str:
    """Return the form of a release, which says what checks it: its shape, or what the shape is released as."""
    stated = outline_of(manifest)
    if stated.shape == "table":
        return "table_with_codes" if WITH_CODES in manifest else "table"
    if stated.shape == "codes":
        return "generalization" if stated.method in GENERALIZED else "disassociation"
    return str(stated.shape)


def parse_manifest(manifest: Manifest) -> AnyManifest:
    """Return a manifest as its type, which is loaded only then; an `InputError` if it is not what a type says."""
    form = FORMS.get(form_of(manifest))
    if form is None:
        raise InputError("The manifest is of no shape that this version knows.", file="release.json")
    found: AnyManifest = load(form.manifest).of(manifest)
    return found


def with_parts(manifest: AnyManifest, **parts: object) -> AnyManifest:
    """Return a manifest with other parts, as JSON has them."""
    return parse_manifest(manifest.as_json() | parts)


def rules_of(manifest: AnyManifest) -> list[Manifest]:
    """Return all that is promised, of the codes of a table as well: each rule by the names of its numbers."""
    codes = getattr(manifest, "codes", None)
    sections: list[Section] = [manifest.guarantee, *([] if codes is None else [codes.guarantee])]
    return [rule for section in sections for rule in section.as_json()["rules"]]


def rule_words(rule: Manifest) -> str:
    """Return a rule with its numbers, as people read it."""
    numbers = ", ".join(f"{name} {value}" for name, value in rule.items() if name != "model" and value is not None)
    return f"{rule['model']} ({numbers})" if numbers else str(rule["model"])


def codes_of(manifest: "TableManifest") -> "CodesSection | None":
    """Return what a manifest says of the codes of a table; None where there are none."""
    codes: CodesSection | None = getattr(manifest, "codes", None)
    return codes


def script_of(manifest: AnyManifest) -> "Script | None":
    """Return the promises of a release as SQL; None where its form has no script, or no dialect is known."""
    place = FORMS[manifest.form].script
    script: Script | None = None if place is None else load(place)(manifest)
    return script
