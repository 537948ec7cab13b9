"""Databases through their ADBC drivers: opening, asking, and saying what went wrong without quoting them."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar

import polars as pl

from cloister.errors import CloisterError, InputError
from cloister.io.columns import check_names
from cloister.io.query import Call, Query

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
LOST = re.compile(r"08...|57P0[1-5]")
"""States of a connection that is gone."""
OF_CLASS = {
    "22": "fails on a value, such as text that is no number, or a division by zero",
    "42": "is not understood, or names what is not there",
    "53": "needs more than the server has left (memory, disk or connections)",
    "54": "needs more than the server can do",
}


def read_adbc(query: Query, call: Call) -> pl.DataFrame:
    """The table that a query gives, by the driver that is called as the scheme of the address.

    A transaction that only reads is asked for; not every driver knows it. What was done is rolled back in any case.

    Raises
    ------
    InputError
        There is no such driver, or the database cannot be reached or refuses the query.
    """
    given = {"username": os.environ.get(USER), "password": os.environ.get(PASSWORD)}
    secrets = {name: value for name, value in given.items() if value}
    driver = driver_of(query.scheme, query)

    def connect() -> Any:
        connection = driver.connect(query.url, db_kwargs=secrets)
        with suppress(Exception):
            connection.adbc_connection.set_options(**{READ_ONLY: "true"})
        return connection

    with opened(connect, query, call) as cursor:
        return answer_of(query, cursor, call, lambda: _answer(cursor, query, call))


def _answer(cursor: Any, query: Query, call: Call) -> pl.DataFrame:
    call.doing = "fetch"
    cursor.execute(query.select)
    return fetched(cursor, query)


def driver_of(scheme: str, query: Query) -> Any:
    """The module of a driver.

    Raises
    ------
    InputError
        It is not installed.
    """
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
    """What the database answers, or in our words why it does not; its own words quote values.

    Raises
    ------
    InputError
        The query fails, or the database went away.
    """
    state: str | None = None
    try:
        return ask()
    except (CloisterError, MemoryError):
        raise
    except Exception as error:
        state = getattr(error, "sqlstate", None)
    lost = bool(LOST.fullmatch(state)) if state else call.doing == "fetch" and not _answers(cursor)
    raise _refusal(query, state, lost=lost)


def _refusal(query: Query, state: str | None, *, lost: bool) -> InputError:
    if lost:
        sentence = (
            f"The connection to the database was lost while {query.name} was being read. Nothing was kept: run it "
            "again once the database is there."
        )
        return InputError(sentence, file=query.name)
    reason = REASONS.get(state or "", OF_CLASS.get((state or "")[:2], "failed in the database, or was stopped there"))
    told = f" (SQLSTATE {state})" if state and re.fullmatch(r"[0-9A-Z]{5}", state) else ""
    return InputError(f"The query of {query.name} {reason}{told}. Run it alone there to see why.", file=query.name)


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
    """The names of the columns of an answer.

    Raises
    ------
    InputError
        They do not tell the columns apart.
    """
    names = [column[0] for column in cursor.description]
    check_names(names, query.name)
    return names


def fetched(cursor: Any, query: Query) -> pl.DataFrame:
    """All rows of the answer."""
    check_cursor(cursor, query)
    frame = pl.from_arrow(cursor.fetch_arrow_table())
    assert isinstance(frame, pl.DataFrame)
    return frame
