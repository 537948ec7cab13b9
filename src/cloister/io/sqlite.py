"""A SQLite file, opened for reading. Its columns have no types: each cell has one of its own."""

from typing import Any
from urllib.parse import quote

import polars as pl

from cloister.io.adbc import answer_of, check_cursor, driver_of, fetched, opened
from cloister.io.query import Call, Query, quoted

WHOLE = {"adbc.sqlite.query.batch_rows": str(2**31 - 2)}
"""Types are taken from all rows, not from the first thousand."""


def read_sqlite(query: Query, call: Call) -> pl.DataFrame:
    """The table that a query gives; a column that holds any text is text, one that holds any fraction is of fractions.

    Raises
    ------
    InputError
        The file cannot be opened, or the query fails.
    """
    path = query.file()
    driver = driver_of("sqlite", query)
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    with opened(lambda: driver.connect(address), query, call) as cursor:
        return answer_of(query, cursor, call, lambda: _answer(cursor, query))


def _answer(cursor: Any, query: Query) -> pl.DataFrame:
    cursor.execute(query.select)
    words = _selected(cursor, check_cursor(cursor, query), query)
    cursor.adbc_statement.set_options(**WHOLE)
    cursor.execute(f"SELECT {', '.join(words)} FROM (\n{query.select}\n)")  # noqa: S608
    return fetched(cursor, query)


def _selected(cursor: Any, names: list[str], query: Query) -> list[str]:
    """What is selected of each column: cells of one type."""
    kinds = [
        f"max(typeof({quoted(name)}) = '{kind}')" for name in names for kind in ("text", "blob", "real", "integer")
    ]
    cursor.execute(f"SELECT {', '.join(kinds)} FROM (\n{query.select}\n)")  # noqa: S608
    held = cursor.fetchone()
    return [_cast(quoted(name), *held[4 * place : 4 * place + 4]) for place, name in enumerate(names)]


def _cast(name: str, text: int | None, blob: int | None, real: int | None, integer: int | None) -> str:
    if text or (blob and (real or integer)):
        return f"CAST({name} AS TEXT) AS {name}"
    if real:
        return f"CAST({name} AS REAL) AS {name}"
    return name if blob or integer else f"CAST({name} AS TEXT) AS {name}"
