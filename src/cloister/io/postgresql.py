"""PostgreSQL: one transaction that only reads, whatever the query calls."""

import os
import re
from typing import Any

import polars as pl

from cloister.io.adbc import answer_of, driver_of, fetched, opened
from cloister.io.columns import check_names
from cloister.io.duckdb_file import nested
from cloister.io.query import Call, Query, quoted

KEPT = {"text", "varchar", "name", "int2", "int4", "int8", "float4", "float8", "bool"}
KEPT |= {"date", "timestamp", "timestamptz", "time", "bytea"}
"""Types that come over as they are."""
TYPE = b"POSTGRESQL:type"
POWERFUL = (
    "SELECT count(*) FROM pg_catalog.pg_roles WHERE pg_catalog.pg_has_role(oid, 'MEMBER') AND rolname IN "
    "('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')"
)
"""How many of the roles that reach beyond the database this account has; a superuser has all."""
TOO_POWERFUL = (
    "the account may read files or run programs of the database server, and so may every function that the query "
    "calls, views of others included; use a role with SELECT on what is read"
)
PATIENCE_S = 15
"""Seconds until a server that does not answer at all counts as not there."""


def read_postgresql(query: Query, call: Call) -> pl.DataFrame:
    """The table that a query gives; numeric, uuid, intervals, JSON and other types of its own become text.

    User and password are libpq's matter: PGUSER, PGPASSWORD, PGPASSFILE, PGSERVICE.

    Raises
    ------
    InputError
        The server cannot be reached, refuses the query, or goes away.
    """
    driver = driver_of("postgresql", query)
    with opened(lambda: driver.connect(with_patience(query.url)), query, call) as cursor:
        return answer_of(query, cursor, call, lambda: _answer(cursor, query, call))


def _answer(cursor: Any, query: Query, call: Call) -> pl.DataFrame:
    # before any query of the transaction; afterwards the server lets nobody take it back
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    note_power(cursor, call)
    schema = cursor.adbc_execute_schema(query.select)
    check_names(schema.names, query.name)
    words = [selected(column, query) for column in schema]
    call.doing = "fetch"
    cursor.execute(f"SELECT {', '.join(words)} FROM (\n{query.select}\n) AS cloister_query")  # noqa: S608
    return fetched(cursor, query)


def note_power(cursor: Any, call: Call) -> None:
    """Note an account whose rights reach beyond the database: no transaction that only reads takes them back."""
    cursor.execute(POWERFUL)
    if cursor.fetchone()[0]:
        call.notes.append(TOO_POWERFUL)


def selected(column: Any, query: Query) -> str:
    """What is selected of a column: itself, or its text."""
    name = quoted(column.name)
    kind = (column.metadata or {}).get(TYPE, b"").decode()
    if str(column.type).startswith(("list", "large_list", "struct", "map")):
        raise nested(column.name, query)
    if kind == "numeric":
        return f"nullif({name}, 'NaN')::text AS {name}"
    return name if kind in KEPT else f"{name}::text AS {name}"


def with_patience(url: str) -> str:
    """The address, with a limit to how long connecting may take."""
    if "PGCONNECT_TIMEOUT" in os.environ or re.search(r"[?&](connect_timeout|service)=", url):
        return url
    return f"{url}{'&' if '?' in url else '?'}connect_timeout={PATIENCE_S}"
