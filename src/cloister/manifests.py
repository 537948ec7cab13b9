"""The manifest of a release of any form, read once as the type that its form has."""

from cloister.claims.manifest import ClaimsManifest
from cloister.codesets.disassociation.manifest import DisassociationManifest
from cloister.codesets.generalization.manifest import GeneralizationManifest
from cloister.errors import InputError
from cloister.release_folder import form_of
from cloister.results import Manifest
from cloister.table_with_codes.manifest import TableWithCodesManifest
from cloister.tabular.manifest import TableManifest
from cloister.trajectories.manifest import TrajectoriesManifest

AnyManifest = (
    TableManifest
    | TableWithCodesManifest
    | DisassociationManifest
    | GeneralizationManifest
    | TrajectoriesManifest
    | ClaimsManifest
)
MODELS: dict[str, type[AnyManifest]] = {
    "table": TableManifest,
    "table_with_codes": TableWithCodesManifest,
    "disassociation": DisassociationManifest,
    "generalization": GeneralizationManifest,
    "trajectories": TrajectoriesManifest,
    "claims": ClaimsManifest,
}


def typed(manifest: Manifest) -> AnyManifest:
    """Return a manifest as its type; an `InputError` if it has none, or is not what its type says."""
    model = MODELS.get(form_of(manifest))
    if model is None:
        raise InputError("The manifest is of no shape that this version knows.", file="release.json")
    return model.of(manifest)
