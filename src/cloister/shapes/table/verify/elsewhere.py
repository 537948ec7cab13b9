"""Verification of a released table in its database or on Spark, by the statements of ``verify.sql``.

Shares nothing with what made the table: other statements, in a transaction that only reads.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import polars as pl

from cloister.errors import GuaranteeViolation, InputError, setting
from cloister.io import Tally, as_text
from cloister.io.query import DIALECTS, Dialect, Query, quote_name
from cloister.io.read import read_query
from cloister.results import Checks, Verdict
from cloister.shapes.table.format.manifest import TableManifest, TableSections, guarantee_of
from cloister.verification.dialects import BY_BYTES, SPARK, TableLocation, as_texts, table_in_database
from cloister.verification.script import Finding, literal, note, read_findings

from .statements import script_at, script_there, sizes_in

if TYPE_CHECKING:
    from sqlglot import exp

RECORDS_THERE = "cloister_records"


def verify_there(
    fetch: "Callable[[exp.Query], pl.DataFrame]", manifest: TableSections, dialect: Dialect, table: str
) -> Verdict:
    """Check a protected table in the transaction that made it; ``fetch`` returns the answer to a query."""
    promised, checks = guarantee_of(manifest), Checks()
    script = script_at(promised, sizes_in(manifest), table_in_database(dialect, table, promised.columns))
    note(checks, read_findings(fetch(script.select()).rows()))
    return checks.verdict("checked by SQL in its database")


def find_in_database(url: str, manifest: TableManifest) -> tuple[Finding, ...]:
    """Return the findings of the statements on a protected table in its database."""
    assert manifest.table is not None
    script = script_there(manifest, _dialect_of(url, manifest.table.name))
    return read_findings(read_query(Query(url, script.text(), manifest.table.name)).rows())


def _dialect_of(url: str, table: str) -> Dialect:
    """Return the SQL of the database at an address; raises `InputError` for one in which no table is protected."""
    found = DIALECTS.get(Query(url, "SELECT 1", table).scheme)
    if found not in BY_BYTES:
        raise InputError(
            f"{table} is checked in PostgreSQL or DuckDB. Name the database that has it with ", setting("engine")
        )
    return cast("Dialect", found)


def find_on_spark(word: str, folder: Path, manifest: TableManifest) -> tuple[Finding, ...]:
    """Return the findings of the statements on the released file, counted by Spark; row order is not checked.

    Nor are ids that number the rows: Spark writes numbers and times of Parquet otherwise than a release sorts them.
    """
    from cloister.engines.spark.tables import SparkFiles, spark_table

    path = folder / manifest.data_file
    with spark_table(SparkFiles(path, "utf-8", manifest.settings.delimiter), word) as table:
        found = {column.name: column.seen_as or column.name for column in table.columns}
        if missing := {*guarantee_of(manifest).columns} - found.keys():
            raise GuaranteeViolation(f"{path.name} lacks {len(missing)} of the columns that were released.")
        rows = " UNION ALL ".join(f"SELECT {literal(name)}, {place}" for place, name in enumerate(found, start=1))
        place = TableLocation(SPARK, path.name, as_texts(SPARK, table.view, found), f"({rows})")
        promised = guarantee_of(manifest)
        promised = promised if promised.patient else replace(promised, id=None, numbered=False)
        script = script_at(promised, sizes_in(manifest), place)
        return read_findings(table.fetch(script.select()).rows())


def count_in_database(url: str, manifest: TableManifest) -> Tally:
    """Return the tally of a protected table in value order; columns that stay in the database are missing in it.

    Raises
    ------
    InputError : The database cannot be reached, or the table cannot be read.
    """
    assert manifest.table is not None
    guarantee = guarantee_of(manifest)
    name, stayed = manifest.table.name, manifest.table.not_counted
    columns, numbered = list(guarantee.columns), guarantee.id if guarantee.numbered else None
    here = [column for column in columns if column not in stayed]
    if not here:
        raise InputError("The release counts no column of its table, so that there is nothing to check.")
    place = ".".join(quote_name(part) for part in name.split("."))
    words = ", ".join(quote_name(column) for column in here)
    # By bytes as well: a collation of the table may take a lone value for one that many have.
    by_bytes = BY_BYTES[_dialect_of(url, name)]
    apart = ", ".join(f"(COALESCE(CAST({quote_name(column)} AS TEXT), ''){by_bytes})" for column in here)
    sql = f"SELECT {words}, COUNT(*) AS {RECORDS_THERE} FROM {place} GROUP BY {words}, {apart}"  # noqa: S608
    counted = read_query(Query(url, sql, name))
    counted.columns = [*here, RECORDS_THERE]  # DuckDB writes names as the table has them, in other capitals
    texts = pl.DataFrame([as_text(counted[column]).fill_null("").alias(f"c{j}") for j, column in enumerate(here)])
    frame = counted[texts.select(pl.arg_sort_by(*texts.columns)).to_series()]
    counts = frame[RECORDS_THERE].cast(pl.Int64)
    frame = frame.with_columns(pl.lit(None, dtype=pl.Int64).alias(column) for column in stayed)
    if numbered is not None:
        frame = frame.with_columns((counts.cum_sum() - counts + 1).alias(numbered))
    return Tally(frame.select(columns), counts)
