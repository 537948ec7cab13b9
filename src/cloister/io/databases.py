"""Read from databases: DuckDB, restricted to its own file, and any other database through its ADBC driver.

Messages never quote the database. Queries to PostgreSQL run in one read-only transaction, whatever functions they
call. The columns of SQLite have no types: each cell has its own type.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import quote

import polars as pl

from cloister.errors import CloisterError, InputError
from cloister.io.columns import check_names
from cloister.io.foreign import translate_errors
from cloister.io.query import Call, Query, quote_name

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection, Cursor
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

T = TypeVar("T")


class ArrowColumn(Protocol):
    """A column of a query result, as PyArrow describes it."""

    name: str
    type: object
    metadata: dict[bytes, bytes] | None


def _nested_error(column: str, query: Query) -> InputError:
    message = (
        f"{query.name}: column '{column}' holds lists, structs or other things that are not one value a cell. Make it "
        "text or numbers in the query, or leave it out."
    )
    return InputError(message, file=query.name, column=column)


Setting = str | bool | int | float | list[str]
SETTINGS: dict[str, Setting] = {
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "allowed_configs": ["TimeZone"],
    "allocator_background_threads": True,
}
"""Nothing of the data goes to temporary files, no extension is fetched or loaded, no variable of Python is a table;
memory that DuckDB has done with goes back to the system at once, half a gigabyte of a count of two million records."""
KEPT = re.compile(
    r"VARCHAR|BOOLEAN|U?(TINY|SMALL|BIG)?INT(EGER)?|UINTEGER|FLOAT|DOUBLE|DECIMAL\(.*|DATE|TIMESTAMP(_S|_MS|_NS)?"
    r"|TIMESTAMP WITH TIME ZONE|TIME|BLOB|ENUM\(.*"
)
"""Types that come over as they are; all others become text."""
NESTED = re.compile(r".*\]|(STRUCT|MAP|UNION|VARIANT)\b.*", re.DOTALL)
DUCKDB_REASONS = {
    "ParserException": "is not understood: its syntax is wrong",
    "CatalogException": "names a table or function that is not there",
    "BinderException": "names a column that is not there, or joins types that do not fit",
    "OutOfMemoryException": "needs more memory than there is",
    "PermissionException": "reads something outside its file: another file, an address or an extension",
}


def read_duckdb(query: Query, call: Call) -> pl.DataFrame:
    """Return the result of a query; types that a release cannot contain become text."""
    path = query.file()
    connection = translate_errors(lambda: _open_read_only(str(path)), cannot_open(path, query))
    call.cancel = connection.interrupt
    reason = ""
    try:
        relation = connection.sql(query.select)
        check_names(relation.columns, query.name)
        words = [duckdb_word(*column, query) for column in zip(relation.columns, map(str, relation.types), strict=True)]
        return frame_of(connection.sql(_selecting(words, query)))
    except (InputError, MemoryError):
        raise
    except Exception as error:  # its message quotes values
        reason = DUCKDB_REASONS.get(type(error).__name__, "failed in the database")
    finally:
        connection.close()
    raise InputError(f"The query of {query.name} {reason}. Run it alone there to see why.", file=query.name)


def _open_read_only(path: str) -> "DuckDBPyConnection":
    """A connection that only reads; to a file that this process is writing, too, which DuckDB opens one way alone."""
    import duckdb  # loaded only where it is asked for

    try:
        return connect(path, read_only=True)
    except duckdb.ConnectionException:
        pass
    connection = connect(path)
    connection.execute("BEGIN TRANSACTION READ ONLY").fetchall()
    return connection


def connect(
    path: str, *, read_only: bool = False, reads: Sequence[str] = (), settings: Mapping[str, Setting] = {}
) -> "DuckDBPyConnection":
    """Open a connection whose SQL cannot leave its file: views and macros of a file are programs of its author."""
    import duckdb

    connection = duckdb.connect(path, read_only=read_only, config=SETTINGS | dict(settings))
    connection.execute("SET TimeZone = 'UTC'").fetchall()
    # Connections of a process to one file share its settings: the first has closed them for the others.
    if not connection.execute("SELECT current_setting('lock_configuration')").fetchall()[0][0]:
        connection.execute("SET allowed_paths = ?", [list(reads)]).fetchall()
        connection.execute("SET enable_external_access = false; SET lock_configuration = true").fetchall()
    return connection


def connect_in_memory(aside: str, *, reads: Sequence[str] = (), **settings: Setting) -> "DuckDBPyConnection":
    """Open a database in memory; what does not fit lies encrypted in a folder, and the key is in memory alone."""
    private: dict[str, Setting] = {
        "temp_directory": aside,
        "temp_file_encryption": True,
        "force_mbedtls_unsafe": True,  # the one cipher in DuckDB itself
    }
    return connect(":memory:", reads=reads, settings=private | settings)


def duckdb_word(column: str, kind: str, query: Query) -> str:
    """Return the SQL that selects a DuckDB column, as it is or as text."""
    if NESTED.fullmatch(kind):
        raise _nested_error(column, query)
    own = quote_name(column)
    return own if KEPT.fullmatch(kind) else f"CAST({own} AS VARCHAR) AS {own}"


def _selecting(words: Sequence[str], query: Query) -> str:
    return f"SELECT {', '.join(words)} FROM (\n{query.select}\n) AS cloister_query"  # noqa: S608


def cannot_open(path: Path, query: Query) -> InputError:
    """Return the error for a file that cannot be opened."""
    return InputError(
        f"The database file {path.name} of {query.name} cannot be opened: it is not of DuckDB or of a newer version, "
        "may not be read, or is being written by another program."
    )


def frame_of(relation: "DuckDBPyRelation") -> pl.DataFrame:
    """Return the rows of a relation."""
    return pl.DataFrame(_Stream(relation.__arrow_c_stream__()))


class _Stream:
    """A stream of Arrow, as Polars takes it; of a relation itself, DuckDB says at the end that it leaked."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.capsule


DRIVER = re.compile(r"[a-z][a-z0-9_]*")
USER, PASSWORD = "CLOISTER_DATABASE_USER", "CLOISTER_DATABASE_PASSWORD"
READ_ONLY = "adbc.connection.readonly"
ADBC_REASONS = {
    "25006": "writes, which a query of a source must not",
    "25P02": "writes, which a query of a source must not",
    "42501": "reads what this account has no permission to read",
    "42601": "is not understood: its syntax is wrong",
    "42703": "names a column that is not there",
    "42883": "names a function that is not there, or joins types that do not fit",
    "42P01": "names a table that is not there",
    "55P03": "waited too long for a lock (a lock timeout)",
    "57014": "was cancelled: it took longer than the database allows (a statement timeout), or was stopped",
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
"""Infer types from all rows, not from the first thousand."""
KINDS = ("text", "blob", "real", "integer")  # Types of a cell of SQLite


def read_adbc(query: Query, call: Call) -> pl.DataFrame:
    """Return the result of a query, through the driver named like the scheme of the address.

    A transaction that only reads is asked for; not every driver knows it. What was done is rolled back in any case.
    """
    environment = {"username": os.environ.get(USER), "password": os.environ.get(PASSWORD)}
    secrets = {name: value for name, value in environment.items() if value}
    driver = driver_of(query.scheme, query)

    def connect() -> "Connection":
        connection: Connection = driver.connect(query.url, db_kwargs=secrets)
        with suppress(Exception):
            connection.adbc_connection.set_options(**{READ_ONLY: "true"})
        return connection

    def ask(cursor: "Cursor") -> pl.DataFrame:
        call.doing = "fetch"
        cursor.execute(query.select)
        return fetch_all(cursor, query)

    return _ask_database(connect, ask, query, call)


def _ask_database(
    connect: "Callable[[], Connection]", ask: "Callable[[Cursor], pl.DataFrame]", query: Query, call: Call
) -> pl.DataFrame:
    with open_cursor(connect, query, call) as cursor:
        return answer_of(query, cursor, call, lambda: ask(cursor))


def driver_of(scheme: str, query: Query) -> ModuleType:
    """Import the module of a driver."""
    name = re.split(r"[.+-]", scheme)[0]
    with suppress(ImportError):
        if DRIVER.fullmatch(name):
            return import_module(f"adbc_driver_{name}.dbapi")
    extra = ' (pip install "cloister[postgresql]")' if name == "postgresql" else ' (with pip, and "cloister[sql]")'
    raise InputError(f"{query.name} is in a database that needs the package adbc-driver-{name}. Install it{extra}.")


@contextmanager
def open_cursor(connect: "Callable[[], Connection]", query: Query, call: Call) -> "Iterator[Cursor]":
    """Yield a cursor on a new connection; at the end, roll back and close both."""
    connection, message = None, ""
    try:
        connection = connect()
    except Exception as error:  # its message names hosts and users
        message = str(error)
    if connection is None:
        raise InputError(f"{query.name} cannot be read: {unreachable(message, query)}", file=query.name)
    try:
        cursor = connection.cursor()
        call.cancel = cursor.adbc_cancel
        call.doing = "ask"
        yield cursor
    finally:
        for close in (cursor.close, connection.rollback, connection.close):
            with suppress(Exception):
                close()


def unreachable(message: str, query: Query) -> str:
    """Return the error for a failed connection, in our words."""
    user, password = ("PGUSER", "PGPASSWORD") if query.scheme.startswith("postgres") else (USER, PASSWORD)
    if re.search(r"authentication failed|no password supplied|role .* does not exist", message):
        return f"the database server refuses user or password. Give them in the environment, as {user} and {password}."
    if re.search(r"database .* does not exist", message):
        return "the server has no database of the name that its url gives. Correct it."
    if re.search(r"\bSSL\b|sslmode|certificate", message):
        return (
            "the connection is not secured as its url asks (sslmode, sslrootcert, sslcert, sslkey): the server has no "
            "TLS, a certificate does not fit or is not there, or the url has no such setting. Correct whichever it is."
        )
    return (
        f"the database cannot be reached, or refuses to connect. See whether it runs, whether its url is right, and "
        f"whether {user} and {password} are in the environment."
    )


def answer_of(query: Query, cursor: "Cursor", call: Call, ask: Callable[[], T]) -> T:
    """Return the result of a call to the database; its errors are reworded, because they quote values."""
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
    reason = ADBC_REASONS.get(
        state or "", OF_CLASS.get((state or "")[:2], "failed in the database, or was stopped there")
    )
    code = f" (SQLSTATE {state})" if state and re.fullmatch(r"[0-9A-Z]{5}", state) else ""
    raise InputError(f"The query of {query.name} {reason}{code}. Run it alone there to see why.", file=query.name)


def _answers(cursor: "Cursor") -> bool:
    """Whether the database still answers after a statement failed."""
    connection = cursor.connection
    try:
        connection.rollback()
        with connection.cursor() as another:
            another.execute("SELECT 1")
            another.fetchall()
    except Exception:
        return False
    return True


def fetch_all(cursor: "Cursor", query: Query) -> pl.DataFrame:
    """Return all rows of the result."""
    _names_of(cursor, query)
    frame = pl.from_arrow(cursor.fetch_arrow_table())
    assert isinstance(frame, pl.DataFrame)
    return frame


def _names_of(cursor: "Cursor", query: Query) -> list[str]:
    names = [column[0] for column in cursor.description or ()]
    check_names(names, query.name)
    return names


def read_postgresql(query: Query, call: Call) -> pl.DataFrame:
    """Return the result of a query; numeric, uuid, intervals, JSON and other types of PostgreSQL become text.

    User and password are libpq's matter: PGUSER, PGPASSWORD, PGPASSFILE, PGSERVICE.
    """
    driver = driver_of("postgresql", query)

    def ask(cursor: "Cursor") -> pl.DataFrame:
        # before any query of the transaction; afterwards the server lets nobody take it back
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        warn_superuser(cursor, call)
        schema = cursor.adbc_execute_schema(query.select)
        check_names(schema.names, query.name)
        words = [postgresql_word(column, query) for column in schema]
        call.doing = "fetch"
        cursor.execute(_selecting(words, query))
        return fetch_all(cursor, query)

    return _ask_database(lambda: driver.connect(with_patience(query.url)), ask, query, call)


def warn_superuser(cursor: "Cursor", call: Call) -> None:
    """Warn of an account with rights beyond the database: a read-only transaction does not restrict them."""
    cursor.execute(POWERFUL)
    if (cursor.fetchone() or (0,))[0]:
        call.notes.append(TOO_POWERFUL)


def postgresql_word(column: ArrowColumn, query: Query) -> str:
    """Return the SQL that selects a PostgreSQL column, as it is or as text."""
    name = quote_name(column.name)
    kind = (column.metadata or {}).get(POSTGRESQL_TYPE, b"").decode()
    if str(column.type).startswith(("list", "large_list", "struct", "map")):
        raise _nested_error(column.name, query)
    if kind == "numeric":
        return f"nullif({name}, 'NaN')::text AS {name}"
    return name if kind in POSTGRESQL_KEPT else f"{name}::text AS {name}"


def with_patience(url: str) -> str:
    """Return the address with a time limit for connecting."""
    if "PGCONNECT_TIMEOUT" in os.environ or re.search(r"[?&](connect_timeout|service)=", url):
        return url
    return f"{url}{'&' if '?' in url else '?'}connect_timeout={PATIENCE_S}"


def read_sqlite(query: Query, call: Call) -> pl.DataFrame:
    """Return the result of a query; a column with any text becomes text, one with any fraction becomes fractions."""
    driver, address = driver_of("sqlite", query), f"file:{quote(str(query.file().absolute()))}?mode=ro"

    def ask(cursor: "Cursor") -> pl.DataFrame:
        cursor.execute(query.select)
        names = [quote_name(name) for name in _names_of(cursor, query)]
        cursor.execute(_selecting([f"max(typeof({name}) = '{kind}')" for name in names for kind in KINDS], query))
        held = cursor.fetchone() or ()
        words = [_cast(name, *held[4 * place : 4 * place + 4]) for place, name in enumerate(names)]
        cursor.adbc_statement.set_options(**ALL_ROWS)
        cursor.execute(_selecting(words, query))
        return fetch_all(cursor, query)

    return _ask_database(lambda: driver.connect(address), ask, query, call)


def _cast(name: str, text: int | None, blob: int | None, real: int | None, integer: int | None) -> str:
    if text or (blob and (real or integer)):
        return f"CAST({name} AS TEXT) AS {name}"
    if real:
        return f"CAST({name} AS REAL) AS {name}"
    return name if blob or integer else f"CAST({name} AS TEXT) AS {name}"
