"""The JSON Schema of ``release.json`` in the documentation is that of the types."""

import json
import os
from pathlib import Path

from pydantic import TypeAdapter

from cloister.claims.manifest import ClaimsManifest
from cloister.codesets.disassociation.manifest import DisassociationManifest
from cloister.codesets.generalization.manifest import GeneralizationManifest
from cloister.table_with_codes.data import TableWithCodesManifest
from cloister.tabular.manifest import TableManifest
from cloister.trajectories.manifest import TrajectoriesManifest

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "release.schema.json"
RELEASE = (
    TableManifest
    | TableWithCodesManifest
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
