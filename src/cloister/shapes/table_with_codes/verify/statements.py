"""The guarantee of a released table with codes as SQL: of the table, of the codes, and of their consistency."""

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from cloister.io import Tally
from cloister.release.head import CLUSTERS, DATA
from cloister.shapes.disassociation.format.clusters_file import cluster_lines
from cloister.shapes.disassociation.format.data import Disassociation
from cloister.shapes.disassociation.verify.statements import facts_of_chunks
from cloister.shapes.table.format.guarantee import Guarantee
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.verify.statements import by_place, facts_in_sql, facts_of_promise, names_of
from cloister.shapes.table_with_codes.format.data import TableWithCodesManifest
from cloister.shapes.table_with_codes.format.terms import NO_TERM, TableWithTermsManifest
from cloister.verification.script import Finding, Script

TEMPLATE = "shapes/table_with_codes/verify/verify.sql.j2"
TOGETHER = "shapes/table_with_codes/verify/in_memory.sql.j2"
TERMS = "shapes/table_with_codes/verify/verify_terms.sql.j2"
TERMS_IN_MEMORY = "shapes/table_with_codes/verify/terms_in_memory.sql.j2"


def script_of(manifest: TableWithCodesManifest) -> Script:
    """Return the script that checks a release of a table with codes."""
    settings, promised = manifest.codes.settings, guarantee_of(manifest)
    facts = facts_of_chunks(settings.k, settings.m) | facts_in_sql(manifest)
    return Script(TEMPLATE, facts | _facts_of_both(promised, manifest.quasi_identifiers, manifest.codes.column))


def find_unfit(frame: pl.DataFrame, promised: Guarantee, column: str, released: Disassociation) -> tuple[Finding, ...]:
    """Return the findings of the joint promises of table and codes, in memory."""
    facts = facts_of_chunks(released.k, released.m) | facts_of_promise(replace(promised, rules=()), (0, 0), None)
    facts |= _facts_of_both(promised, promised.levels, column) | {"file": DATA[0]}
    text = b"".join(cluster_lines(released)).decode()
    return Script(TOGETHER, facts).run_on({DATA[0]: by_place(Tally(frame)), CLUSTERS: text})


def script_of_terms(manifest: TableWithTermsManifest) -> Script:
    """Return the script that checks a release of a table with terms."""
    settings, promised = manifest.codes.settings, guarantee_of(manifest)
    facts = facts_in_sql(manifest) | {"k": settings.k, "m": settings.m, "no_term": NO_TERM}
    return Script(TERMS, facts | _facts_of_both(promised, manifest.quasi_identifiers, manifest.codes.column))


def find_broken_terms(frame: pl.DataFrame, promised: Guarantee, column: str, k: int, m: int) -> tuple[Finding, ...]:
    """Return the findings of the promises on the terms of each class, in memory."""
    facts = facts_of_promise(replace(promised, rules=()), (0, 0), None) | {"k": k, "m": m, "no_term": NO_TERM}
    facts |= _facts_of_both(promised, promised.levels, column) | {"file": DATA[0]}
    return Script(TERMS_IN_MEMORY, facts).run_on({DATA[0]: by_place(Tally(frame))})


def _facts_of_both(promised: Guarantee, quasi_identifiers: Iterable[str], column: str) -> dict[str, object]:
    names = names_of(promised)
    labels = {name: names[name] for name in quasi_identifiers if name != column}
    return {"classes": True, "at": "codes.", "codes": names[column], "labels": labels}
