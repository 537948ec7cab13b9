"""A DuckDB file: counts leave it, and the protected table is made in it, all in one transaction."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cloister.errors import InputError
from cloister.io import plain_columns
from cloister.io.columns import check_names
from cloister.io.duckdb_file import REASONS, cannot_open, connect, frame_of, selected
from cloister.io.foreign import call_foreign, waited_for
from cloister.io.query import Query, quoted

from .relation import Column, Loaded, kind_of
from .statements import SOURCE
from .transaction import dropping, loading, looking_for


@dataclass(frozen=True)
class DuckDBDatabase:
    """A query to a DuckDB file whose records stay there; see `cloister.engines.relation.Database`."""

    query: Query = field(repr=False)
    columns: tuple[Column, ...]
    missing: tuple[str, ...]
    connection: Any = field(repr=False)
    name: str = "duckdb"
    dialect: str = "duckdb"
    view: str = SOURCE
    temporary: str = ""

    @property
    def file(self) -> str:
        """Name of the source, for messages."""
        return self.query.name

    def fetch(self, query: Any) -> pl.DataFrame:
        """Return the rows of a query."""
        frame = self._answer(lambda: frame_of(self.connection.sql(query.sql(dialect=self.dialect))))
        return plain_columns(frame, self.file)

    def run(self, statement: Any) -> None:
        """Run a statement inside the transaction."""
        self._answer(lambda: self.connection.execute(statement.sql(dialect=self.dialect)).fetchall())

    def load(self, name: str, columns: Mapping[str, Loaded], rows: Sequence[tuple[object, ...]]) -> None:
        """Make a temporary table of these rows."""
        for statement in loading(name, columns, rows):
            self.run(statement)

    def is_there(self, table: str) -> bool:
        """Whether there is a table of this name."""
        return bool(self.fetch(looking_for(table)).item())

    def commit(self) -> None:
        """Make what was done in the transaction stay."""
        self._answer(self.connection.commit)

    def undo(self, table: str) -> None:
        """Remove a table whose making was committed already."""
        self.run(dropping(table))

    def _answer(self, ask: Any) -> Any:
        return waited_for(lambda: _told(ask, self.file), self.connection.interrupt)


@contextmanager
def duckdb_database(query: Query, missing: Sequence[str] = ()) -> Iterator[DuckDBDatabase]:
    """Yield the table that a query to a DuckDB file gives; what is made there is gone unless it is committed.

    Raises
    ------
    InputError
        The file cannot be opened for writing, or the query fails.
    """
    _check_repeatable(query)
    path = query.file()
    connection = call_foreign(lambda: connect(str(path)), cannot_open(path, query))
    try:
        connection.begin()
        columns = waited_for(lambda: _told(lambda: _seen(connection, query), query.name), connection.interrupt)
        yield DuckDBDatabase(query, columns, tuple(missing), connection)
    finally:
        with suppress(Exception):
            connection.rollback()
        connection.close()


def _check_repeatable(query: Query) -> None:
    """Refuse a query that gives other rows each time it runs, as it runs for every count.

    Raises
    ------
    InputError
        It draws lots, or takes the first rows in no order.
    """
    from sqlglot import exp, parse_one

    tree = parse_one(query.select, dialect="duckdb")
    unordered = any(select.args.get("limit") and not select.args.get("order") for select in tree.find_all(exp.Query))
    if unordered or tree.find(exp.Rand, exp.TableSample, exp.Uuid):
        raise InputError(
            f"The query of {query.name} gives other rows each time it runs (a sample, random(), or LIMIT without an "
            "order), but the table is counted several times. Make it a table in the database first.",
            file=query.name,
        )


def _seen(connection: Any, query: Query) -> tuple[Column, ...]:
    """Make the view that statements see the table through."""
    relation = connection.sql(query.select)
    check_names(relation.columns, query.name)
    words = [_by_bytes(name, str(kind), query) for name, kind in zip(relation.columns, relation.types, strict=True)]
    view = f"CREATE TEMP VIEW {SOURCE} AS SELECT {', '.join(words)} FROM (\n{query.select}\n) AS t"  # noqa: S608
    connection.execute(view).fetchall()
    empty = frame_of(connection.sql(f"SELECT * FROM {SOURCE} LIMIT 0"))  # noqa: S608
    return tuple(Column(name, kind_of(kind)) for name, kind in plain_columns(empty).schema.items())


def _by_bytes(name: str, kind: str, query: Query) -> str:
    """What is selected of a column: texts that the database takes for the same, as without regard to case, differ."""
    word = selected(name, kind, query)
    own = quoted(name)
    if word == own and kind != "VARCHAR":
        return word
    return f'{word.removesuffix(f" AS {own}")} COLLATE "binary" AS {own}'


def _told(ask: Any, file: str) -> Any:
    """What DuckDB answers, or in our words why it does not; its own words quote values."""
    reason = ""
    try:
        return ask()
    except (InputError, MemoryError):
        raise
    except Exception as error:
        reason = REASONS.get(type(error).__name__, "failed in the database, which may be out of memory or disk")
    raise InputError(f"The query of {file} {reason}. Nothing stayed in the database.", file=file)
