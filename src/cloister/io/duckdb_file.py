"""DuckDB, closed to all but its own file; and such a file, opened for reading."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import check_names
from cloister.io.foreign import call_foreign
from cloister.io.query import Call, Query, quoted

Setting = str | bool | int | float | list[str]
SETTINGS: dict[str, Setting] = {
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "allowed_configs": ["TimeZone"],
}
"""Nothing of the data goes to temporary files, no extension is fetched or loaded, no variable of Python is a table."""
KEPT = re.compile(
    r"VARCHAR|BOOLEAN|U?(TINY|SMALL|BIG)?INT(EGER)?|UINTEGER|FLOAT|DOUBLE|DECIMAL\(.*|DATE|TIMESTAMP(_S|_MS|_NS)?"
    r"|TIMESTAMP WITH TIME ZONE|TIME|BLOB|ENUM\(.*"
)
"""Types that come over as they are; all others become text."""
NESTED = re.compile(r".*\]|(STRUCT|MAP|UNION|VARIANT)\b.*", re.DOTALL)
REASONS = {
    "ParserException": "is not understood: its syntax is wrong",
    "CatalogException": "names a table or function that is not there",
    "BinderException": "names a column that is not there, or joins types that do not fit",
    "OutOfMemoryException": "needs more memory than there is",
    "PermissionException": "reads something outside its file: another file, an address or an extension",
}


def read_duckdb(query: Query, call: Call) -> pl.DataFrame:
    """The table that a query gives; types that a release cannot hold become text."""
    path = query.file()
    connection = call_foreign(lambda: _opened(str(path)), cannot_open(path, query))
    call.cancel = connection.interrupt
    try:
        return _answer(connection, query)
    finally:
        connection.close()


def _opened(path: str) -> Any:
    """A connection that only reads; to a file that this process is writing, too, which DuckDB opens one way alone."""
    import duckdb  # loaded only where it is asked for

    try:
        return connect(path, read_only=True)
    except duckdb.ConnectionException:
        pass
    connection = connect(path)
    connection.execute("BEGIN TRANSACTION READ ONLY").fetchall()
    return connection


def connect(path: str, *, read_only: bool = False, reads: Sequence[str] = (), **settings: Setting) -> Any:
    """A connection whose SQL reaches nothing else: views and macros of a file are programs of its maker."""
    import duckdb

    connection = duckdb.connect(path, read_only=read_only, config=SETTINGS | settings)
    connection.execute("SET TimeZone = 'UTC'").fetchall()
    # Connections of a process to one file share its settings: the first has closed them for the others.
    if not connection.execute("SELECT current_setting('lock_configuration')").fetchall()[0][0]:
        connection.execute("SET allowed_paths = ?", [list(reads)]).fetchall()
        connection.execute("SET enable_external_access = false; SET lock_configuration = true").fetchall()
    return connection


def _answer(connection: Any, query: Query) -> pl.DataFrame:
    reason = ""
    try:
        relation = connection.sql(query.select)
        check_names(relation.columns, query.name)
        words = [selected(name, str(kind), query) for name, kind in zip(relation.columns, relation.types, strict=True)]
        plain = connection.sql(f"SELECT {', '.join(words)} FROM (\n{query.select}\n) AS cloister_query")  # noqa: S608
        return frame_of(plain)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # its message quotes values
        reason = REASONS.get(type(error).__name__, "failed in the database")
    raise InputError(f"The query of {query.name} {reason}. Run it alone there to see why.", file=query.name)


def selected(column: str, kind: str, query: Query) -> str:
    """What is selected of a column: itself, or its text."""
    if NESTED.fullmatch(kind):
        raise nested(column, query)
    own = quoted(column)
    return own if KEPT.fullmatch(kind) else f"CAST({own} AS VARCHAR) AS {own}"


def nested(column: str, query: Query) -> InputError:
    """The refusal of a column that holds lists and the like."""
    message = (
        f"{query.name}: column '{column}' holds lists, structs or other things that are not one value a cell. Make it "
        "text or numbers in the query, or leave it out."
    )
    return InputError(message, file=query.name, column=column)


def cannot_open(path: Path, query: Query) -> InputError:
    """The refusal of a file that cannot be opened."""
    return InputError(
        f"The database file {path.name} of {query.name} cannot be opened: it is not of DuckDB or of a newer version, "
        "may not be read, or is being written by another program."
    )


def frame_of(relation: Any) -> pl.DataFrame:
    """The rows of a relation."""
    return pl.DataFrame(_Stream(relation.__arrow_c_stream__()))


class _Stream:
    """A stream of Arrow, as Polars takes it; of a relation itself, DuckDB says at the end that it leaked."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.capsule
