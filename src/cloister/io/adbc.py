"""Databases through their ADBC drivers: opening, asking, and saying what went wrong without quoting them.

PostgreSQL is asked in one transaction that only reads, whatever the query calls. The columns of SQLite have no types:
each cell has one of its own.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import quote

import polars as pl

from cloister.errors import CloisterError, InputError
from cloister.io.columns import check_names
from cloister.io.duckdb_file import nested
from cloister.io.query import Call, Query, quoted

T = TypeVar("T")

DRIVER = re.compile(r"[a-z][a-z0-9_]*")
USER, PASSWORD = "CLOISTER_DATABASE_USER", "CLOISTER_DATABASE_PASSWORD"
READ_ONLY = "adbc.connection.readonly"
REASONS = {
    "25006": "writes, which a query of a source must not",
    "25P02": "writes, which a query of a source must not",
    "42501": "reads what this account has no permission to read",
    "42601": "is not understood: its syntax is wrong",
    "42703": "names a column that is not there",
    "42883": "names a function that is not there, or joins types that do not fit",
    "42P01": "names a table that is not there",
    "55P03": "waited too long for a lock that somebody else holds (a lock timeout)",
    "57014": "was cancelled: it took longer than the database allows (a statement timeout), or somebody stopped it",
}
"""What a SQLSTATE says of a query."""
LOST = re.compile(r"08...|57P0[1-5]")  # States of a connection that is gone
OF_CLASS = {
    "22": "fails on a value, such as text that is no number, or a division by zero",
    "42": "is not understood, or names what is not there",
    "53": "needs more than the server has left (memory, disk or connections)",
    "54": "needs more than the server can do",
}

POSTGRESQL_KEPT = {"text", "varchar", "name", "int2", "int4", "int8", "float4", "float8", "bool"}
POSTGRESQL_KEPT |= {"date", "timestamp", "timestamptz", "time", "bytea"}
"""Types that come over as they are."""
POSTGRESQL_TYPE = b"POSTGRESQL:type"
POWERFUL = (
    "SELECT count(*) FROM pg_catalog.pg_roles WHERE pg_catalog.pg_has_role(oid, 'MEMBER') AND rolname IN "
    "('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')"
)
"""How many of the roles that reach beyond the database this account has; a superuser has all."""
TOO_POWERFUL = (
    "the account may read files or run programs of the database server, and so may every function that the query "
    "calls, views of others included; use a role with SELECT on what is read"
)
PATIENCE_S = 15  # Seconds until a server that does not answer at all counts as not there

ALL_ROWS = {"adbc.sqlite.query.batch_rows": str(2**31 - 2)}
"""Types are taken from all rows, not from the first thousand."""
KINDS = ("text", "blob", "real", "integer")  # Types of a cell of SQLite


def read_adbc(query: Query, call: Call) -> pl.DataFrame:
    """The table that a query gives, by the driver that is called as the scheme of the address.

    A transaction that only reads is asked for; not every driver knows it. What was done is rolled back in any case.
    """
    environment = {"username": os.environ.get(USER), "password": os.environ.get(PASSWORD)}
    secrets = {name: value for name, value in environment.items() if value}
    driver = driver_of(query.scheme, query)

    def connect() -> Any:
        connection = driver.connect(query.url, db_kwargs=secrets)
        with suppress(Exception):
            connection.adbc_connection.set_options(**{READ_ONLY: "true"})
        return connection

    with opened(connect, query, call) as cursor:

        def ask() -> pl.DataFrame:
            call.doing = "fetch"
            cursor.execute(query.select)
            return fetched(cursor, query)

        return answer_of(query, cursor, call, ask)


def driver_of(scheme: str, query: Query) -> Any:
    """The module of a driver."""
    name = re.split(r"[.+-]", scheme)[0]
    with suppress(ImportError):
        if DRIVER.fullmatch(name):
            return import_module(f"adbc_driver_{name}.dbapi")
    extra = ' (pip install "cloister[postgresql]")' if name == "postgresql" else ' (with pip, and "cloister[sql]")'
    raise InputError(f"{query.name} is in a database that needs the package adbc-driver-{name}. Install it{extra}.")


@contextmanager
def opened(connect: Callable[[], Any], query: Query, call: Call) -> Iterator[Any]:
    """A cursor on a new connection; what was begun is undone, and both are closed."""
    connection, said = None, ""
    try:
        connection = connect()
    except Exception as error:  # its message names hosts and users
        said = str(error)
    if connection is None:
        raise InputError(f"{query.name} cannot be read: {unreachable(said, query)}", file=query.name)
    try:
        cursor = connection.cursor()
        call.cancel = cursor.adbc_cancel
        call.doing = "ask"
        yield cursor
    finally:
        for close in (cursor.close, connection.rollback, connection.close):
            with suppress(Exception):
                close()


def unreachable(said: str, query: Query) -> str:
    """What is wrong with a connection, in our words."""
    user, password = ("PGUSER", "PGPASSWORD") if query.scheme.startswith("postgres") else (USER, PASSWORD)
    if re.search(r"authentication failed|no password supplied|role .* does not exist", said):
        return f"the database server refuses user or password. Give them in the environment, as {user} and {password}."
    if re.search(r"database .* does not exist", said):
        return "the server has no database of the name that its url gives. Correct it."
    if re.search(r"\bSSL\b|sslmode|certificate", said):
        return (
            "the connection is not secured as its url asks (sslmode, sslrootcert, sslcert, sslkey): the server has no "
            "TLS, a certificate does not fit or is not there, or the url has no such setting. Correct whichever it is."
        )
    return (
        f"the database cannot be reached, or refuses to connect. See whether it runs, whether its url is right, and "
        f"whether {user} and {password} are in the environment."
    )


def answer_of(query: Query, cursor: Any, call: Call, ask: Callable[[], T]) -> T:
    """The answer of the database, or an error in our words, as its own quote values."""
    state: str | None = None
    try:
        return ask()
    except (CloisterError, MemoryError):
        raise
    except Exception as error:
        state = getattr(error, "sqlstate", None)
    is_lost = bool(LOST.fullmatch(state)) if state else call.doing == "fetch" and not _answers(cursor)
    if is_lost:
        raise InputError(
            f"The connection to the database was lost while {query.name} was being read. Nothing was kept: run it "
            "again once the database is there.",
            file=query.name,
        )
    reason = REASONS.get(state or "", OF_CLASS.get((state or "")[:2], "failed in the database, or was stopped there"))
    code = f" (SQLSTATE {state})" if state and re.fullmatch(r"[0-9A-Z]{5}", state) else ""
    raise InputError(f"The query of {query.name} {reason}{code}. Run it alone there to see why.", file=query.name)


def _answers(cursor: Any) -> bool:
    """Whether the database is still there, though the statement failed."""
    connection = cursor.connection
    try:
        connection.rollback()
        with connection.cursor() as another:
            another.execute("SELECT 1")
            another.fetchall()
    except Exception:
        return False
    return True


def check_cursor(cursor: Any, query: Query) -> list[str]:
    """The names of the columns of an answer."""
    names = [column[0] for column in cursor.description]
    check_names(names, query.name)
    return names


def fetched(cursor: Any, query: Query) -> pl.DataFrame:
    """All rows of the answer."""
    check_cursor(cursor, query)
    frame = pl.from_arrow(cursor.fetch_arrow_table())
    assert isinstance(frame, pl.DataFrame)
    return frame


def read_postgresql(query: Query, call: Call) -> pl.DataFrame:
    """The table that a query gives; numeric, uuid, intervals, JSON and other types of its own become text.

    User and password are libpq's matter: PGUSER, PGPASSWORD, PGPASSFILE, PGSERVICE.
    """
    driver = driver_of("postgresql", query)
    with opened(lambda: driver.connect(with_patience(query.url)), query, call) as cursor:

        def ask() -> pl.DataFrame:
            # before any query of the transaction; afterwards the server lets nobody take it back
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            note_power(cursor, call)
            schema = cursor.adbc_execute_schema(query.select)
            check_names(schema.names, query.name)
            words = [selected(column, query) for column in schema]
            call.doing = "fetch"
            cursor.execute(f"SELECT {', '.join(words)} FROM (\n{query.select}\n) AS cloister_query")  # noqa: S608
            return fetched(cursor, query)

        return answer_of(query, cursor, call, ask)


def note_power(cursor: Any, call: Call) -> None:
    """Note an account whose rights reach beyond the database: no transaction that only reads takes them back."""
    cursor.execute(POWERFUL)
    if cursor.fetchone()[0]:
        call.notes.append(TOO_POWERFUL)


def selected(column: Any, query: Query) -> str:
    """What is selected of a column: itself, or its text."""
    name = quoted(column.name)
    kind = (column.metadata or {}).get(POSTGRESQL_TYPE, b"").decode()
    if str(column.type).startswith(("list", "large_list", "struct", "map")):
        raise nested(column.name, query)
    if kind == "numeric":
        return f"nullif({name}, 'NaN')::text AS {name}"
    return name if kind in POSTGRESQL_KEPT else f"{name}::text AS {name}"


def with_patience(url: str) -> str:
    """The address, with a limit to how long connecting may take."""
    if "PGCONNECT_TIMEOUT" in os.environ or re.search(r"[?&](connect_timeout|service)=", url):
        return url
    return f"{url}{'&' if '?' in url else '?'}connect_timeout={PATIENCE_S}"


def read_sqlite(query: Query, call: Call) -> pl.DataFrame:
    """The table that a query gives; a column with any text is text, one with any fraction is of fractions."""
    path = query.file()
    driver = driver_of("sqlite", query)
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    with opened(lambda: driver.connect(address), query, call) as cursor:

        def ask() -> pl.DataFrame:
            cursor.execute(query.select)
            names = check_cursor(cursor, query)
            kinds = [
                f"max(typeof({quoted(name)}) = '{kind}')"
                for name in names
                for kind in ("text", "blob", "real", "integer")
            ]
            cursor.execute(f"SELECT {', '.join(kinds)} FROM (\n{query.select}\n)")  # noqa: S608
            held = cursor.fetchone()
            words = [_cast(quoted(name), *held[4 * place : 4 * place + 4]) for place, name in enumerate(names)]
            cursor.adbc_statement.set_options(**ALL_ROWS)
            cursor.execute(f"SELECT {', '.join(words)} FROM (\n{query.select}\n)")  # noqa: S608
            return fetched(cursor, query)

        return answer_of(query, cursor, call, ask)


def _cast(name: str, text: int | None, blob: int | None, real: int | None, integer: int | None) -> str:
    if text or (blob and (real or integer)):
        return f"CAST({name} AS TEXT) AS {name}"
    if real:
        return f"CAST({name} AS REAL) AS {name}"
    return name if blob or integer else f"CAST({name} AS TEXT) AS {name}"
