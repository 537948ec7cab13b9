"""The manifest of a release of any form, read once as the type that its form has."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from cloister.errors import InputError
from cloister.manifest.head import Section
from cloister.results import Manifest

if TYPE_CHECKING:
    from cloister.claims.manifest import ClaimsManifest
    from cloister.codesets.disassociation.manifest import DisassociationManifest
    from cloister.codesets.generalization.manifest import GeneralizationManifest
    from cloister.tabular.manifest import TableManifest
    from cloister.trajectories.manifest import TrajectoriesManifest

    from .table_with_codes.data import CodesSection, TableWithCodesManifest

CodeSetsManifest: TypeAlias = "DisassociationManifest | GeneralizationManifest"
AnyManifest: TypeAlias = (
    "TableManifest | TableWithCodesManifest | CodeSetsManifest | TrajectoriesManifest | ClaimsManifest"
)
"""Which of them it is, its ``form`` says."""


GENERALIZED = ("cba", "ugaclip", "apriori")
"""The methods for code sets whose releases hold generalized codes."""

WITH_CODES = "codes"
"""The part of the manifest that a table with a column of codes has, whose clusters are beside the data file."""


def shape_of(manifest: Manifest) -> str:
    """Return the shape that a manifest names, or a job."""
    return str(manifest.get("shape"))


def form_of(manifest: Manifest) -> str:
    """Return the form of a release, which says what checks it: its shape, or what the shape is released as."""
    shape = shape_of(manifest)
    if shape == "table":
        return "table_with_codes" if WITH_CODES in manifest else "table"
    if shape == "codes":
        return "generalization" if manifest.get("method") in GENERALIZED else "disassociation"
    return shape


def typed(manifest: Manifest) -> AnyManifest:
    """Return a manifest as its type; an `InputError` if it has none, or is not what its type says.

    A type is loaded when a manifest of it is read: a release of one shape loads no other.
    """
    form = form_of(manifest)
    if form == "table":
        from cloister.tabular.manifest import TableManifest

        return TableManifest.of(manifest)
    if form == "table_with_codes":
        from .table_with_codes.data import TableWithCodesManifest

        return TableWithCodesManifest.of(manifest)
    if form == "disassociation":
        from cloister.codesets.disassociation.manifest import DisassociationManifest

        return DisassociationManifest.of(manifest)
    if form == "generalization":
        from cloister.codesets.generalization.manifest import GeneralizationManifest

        return GeneralizationManifest.of(manifest)
    if form == "trajectories":
        from cloister.trajectories.manifest import TrajectoriesManifest

        return TrajectoriesManifest.of(manifest)
    if form == "claims":
        from cloister.claims.manifest import ClaimsManifest

        return ClaimsManifest.of(manifest)
    raise InputError("The manifest is of no shape that this version knows.", file="release.json")


def rules_of(manifest: AnyManifest) -> list[Mapping[str, Any]]:
    """Return all that is promised, of the codes of a table as well: each rule by the names of its numbers."""
    codes = getattr(manifest, "codes", None)
    sections: list[Section] = [manifest.guarantee, *([] if codes is None else [codes.guarantee])]
    return [rule for section in sections for rule in section.published()["rules"]]


def rule_words(rule: Mapping[str, Any]) -> str:
    """Return a rule with its numbers, as people read it."""
    numbers = ", ".join(f"{name} {value}" for name, value in rule.items() if name != "model" and value is not None)
    return f"{rule['model']} ({numbers})" if numbers else str(rule["model"])


def is_in_database(manifest: AnyManifest) -> bool:
    """Whether what is released stays in a database."""
    return getattr(manifest, "table", None) is not None


def codes_of(manifest: "TableManifest") -> "CodesSection | None":
    """Return what a manifest says of the codes of a table; None where there are none."""
    codes: CodesSection | None = getattr(manifest, "codes", None)
    return codes
