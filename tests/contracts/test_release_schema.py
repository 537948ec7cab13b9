"""The JSON Schema of ``release.json`` in the documentation is that of the types."""

import json
import os
from pathlib import Path

from pydantic import TypeAdapter

from cloister.shapes.claims.format.manifest import ClaimsManifest
from cloister.shapes.disassociation.format.manifest import DisassociationManifest
from cloister.shapes.generalization.format.manifest import GeneralizationManifest
from cloister.shapes.table.format.manifest import TableManifest
from cloister.shapes.table_with_codes.format.data import TableWithCodesManifest
from cloister.shapes.table_with_codes.format.terms import TableWithTermsManifest
from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "release.schema.json"
RELEASE = (
    TableManifest
    | TableWithCodesManifest
    | TableWithTermsManifest
    | DisassociationManifest
    | GeneralizationManifest
    | TrajectoriesManifest
    | ClaimsManifest
)


def test_the_published_schema_is_that_of_the_types():
    """After a change of a type, CLOISTER_RENEW=1 writes the schema anew."""
    schema: dict[str, object] = TypeAdapter(RELEASE).json_schema(by_alias=True)
    text = json.dumps({"title": "release.json of cloister"} | schema, indent=1, sort_keys=True) + "\n"
    if os.environ.get("CLOISTER_RENEW"):
        PUBLISHED.write_text(text)

    assert text == PUBLISHED.read_text()
