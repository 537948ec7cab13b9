"""A query -> columns of plain types, by the driver that its address asks for; in a transaction that only reads."""

import polars as pl

from cloister.errors import InputError
from cloister.io.adbc import read_adbc
from cloister.io.columns import check_names, check_years, plain_columns
from cloister.io.duckdb_file import read_duckdb
from cloister.io.foreign import call_foreign
from cloister.io.postgresql import read_postgresql
from cloister.io.query import Call, Query
from cloister.io.sqlite import read_sqlite
from cloister.io.waiting import waited_for

READERS = {
    "duckdb": read_duckdb,
    "postgresql": read_postgresql,
    "postgres": read_postgresql,
    "sqlite": read_sqlite,
}
"""By the scheme of the address; all others are read by the ADBC driver of that name."""


def read_query(query: Query, call: Call | None = None) -> pl.DataFrame:
    """The table that a query gives; types are kept where a release can hold them, others become text.

    Raises
    ------
    InputError
        The driver or the database is not there, refuses us or the query, or goes away; there are no records; a column
        has no name of its own, or holds what is not one value a cell.
    """
    call = Call() if call is None else call
    refusal = InputError(f"What the database gives for {query.name} cannot be read.", file=query.name)
    frame = call_foreign(lambda: waited_for(lambda: _read(query, call), call.stop), refusal)
    check_names(frame.columns, query.name)
    if not frame.height:
        raise InputError(f"The query of {query.name} gives no records.", file=query.name)
    for series in frame.get_columns():
        check_years(series, query.name)
    aware = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime) and kind.time_zone]
    return plain_columns(frame.with_columns(pl.col(aware).dt.convert_time_zone("UTC")), query.name)


def _read(query: Query, call: Call) -> pl.DataFrame:
    """The table as the database gives it; runs in a thread of its own."""
    reader = READERS.get(query.scheme, read_adbc)
    return reader(query, call)
