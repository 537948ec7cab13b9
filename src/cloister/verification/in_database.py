"""The protected table of a release whose records are in a database, counted there again; for the verifier.

Shares nothing with what made the table: other statements, in a transaction that only reads.
"""

from collections.abc import Sequence

import polars as pl

from cloister.errors import GuaranteeViolation, InputError
from cloister.io import RECORDS, as_text, records_of
from cloister.io.query import Query, quote_name
from cloister.io.read import read_query
from cloister.shapes.table.format.manifest import TableManifest, guarantee_of

RECORDS_THERE = "cloister_records"


def released_in(url: str, manifest: TableManifest) -> pl.DataFrame:
    """Return the tally of a protected table in the order of its values; columns that stay there are missing in it.

    Raises
    ------
    InputError : The database cannot be reached, or the table cannot be read.
    GuaranteeViolation : Ids are not the numbers of the records in the order of their values.
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
    apart = ", ".join(_bytes_of(quote_name(column), url) for column in here)
    sql = f"SELECT {words}, COUNT(*) AS {RECORDS_THERE} FROM {place} GROUP BY {words}, {apart}"  # noqa: S608
    counted = read_query(Query(url, sql, name))
    _check_columns(url, name, columns)
    if numbered is not None:
        _check_ids(url, place, name, columns, numbered)
    texts = pl.DataFrame([as_text(counted[column]).fill_null("").alias(f"c{j}") for j, column in enumerate(here)])
    frame = counted[texts.select(pl.arg_sort_by(*texts.columns)).to_series()]
    tally = frame.select(here).with_columns(frame[RECORDS_THERE].cast(pl.Int64).alias(RECORDS))
    tally = tally.with_columns(pl.lit(None, dtype=pl.Int64).alias(column) for column in stayed)
    if numbered is not None:
        records = records_of(tally)
        tally = tally.with_columns((records.cum_sum() - records + 1).alias(numbered))
    return tally.select([*columns, RECORDS])


def _check_columns(url: str, name: str, columns: Sequence[str]) -> None:
    """Refuse a table that has other columns than those that were released."""
    *schema, table = name.split(".")
    where = f"table_schema = '{schema[-1]}'" if schema else "table_schema = current_schema()"
    sql = f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' AND {where}"  # noqa: S608
    found = read_query(Query(url, f"{sql} ORDER BY ordinal_position", name))["column_name"].to_list()
    if found != list(columns):
        raise GuaranteeViolation(
            f"The table {name} does not hold: it has {len(found)} columns that are not, in order, the {len(columns)} "
            "that were released."
        )


def _check_ids(url: str, place: str, name: str, columns: Sequence[str], numbered: str) -> None:
    """Refuse ids that are missing, repeat, or do not rise with the values of their records.

    Each record is compared with the one whose id is the next lower; equal ids and gaps show in counts.
    """
    own = quote_name(numbered)
    keys = [_bytes_of(quote_name(column), url) for column in columns if column != numbered]
    before = ", ".join(f"LAG({one}) OVER (ORDER BY {own}) AS b{j}" for j, one in enumerate(keys))
    now = ", ".join(f"{one} AS k{j}" for j, one in enumerate(keys))
    falls = " OR ".join(
        "(" + " AND ".join([*(f"k{i} = b{i}" for i in range(j)), f"k{j} < b{j}"]) + ")" for j in range(len(keys))
    )
    sql = f"SELECT COUNT(*) AS n FROM (SELECT {now}, {before} FROM {place}) AS t WHERE {falls or 'FALSE'}"  # noqa: S608
    fallen = int(read_query(Query(url, sql, name)).item())
    sql = f"SELECT COUNT(*) AS n, COUNT(DISTINCT {own}) AS d, MIN({own}) AS low, MAX({own}) AS high FROM {place}"  # noqa: S608
    n, distinct, low, high = read_query(Query(url, sql, name)).row(0)
    if fallen or not (n == distinct == high and low == 1):
        raise GuaranteeViolation(
            f"The table {name} does not hold: its ids are not the numbers of the records in the order of their values."
        )


def _bytes_of(column: str, url: str) -> str:
    """The text of a column, compared by its bytes."""
    collation = "C" if url.startswith("postgres") else "binary"
    return f"(COALESCE(CAST({column} AS TEXT), '') COLLATE \"{collation}\")"
