"""The promises of a released table with codes as SQL: of the table, of the codes, and that they fit each other."""

from cloister.shapes.disassociation.verify.statements import facts_of_chunks
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.verify.statements import facts_in_sql, names_of
from cloister.shapes.table_with_codes.format.data import TableWithCodesManifest
from cloister.verification.script import Script

TEMPLATE = "shapes/table_with_codes/verify/verify.sql.j2"


def script_of(manifest: TableWithCodesManifest) -> Script:
    """Return the script that checks a release of a table with a column of codes."""
    table, column, settings = facts_in_sql(manifest), manifest.codes.column, manifest.codes.settings
    names = names_of(guarantee_of(manifest))
    facts = {
        **facts_of_chunks(settings.k, settings.m),
        **table,
        "classes": True,
        "at": "codes.",
        "codes": names[column],
        "labels": {name: names[name] for name in manifest.quasi_identifiers if name != column},
    }
    return Script(TEMPLATE, facts)
