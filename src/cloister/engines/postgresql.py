"""PostgreSQL: only counts leave it, and it creates the protected table, all in one transaction."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, TypeVar

import polars as pl
from sqlglot import exp

from cloister.errors import CloisterError, InputError
from cloister.io import plain_columns
from cloister.io.columns import check_names
from cloister.io.databases import (
    answer_of,
    driver_of,
    fetch_all,
    open_cursor,
    postgresql_word,
    warn_superuser,
    with_patience,
)
from cloister.io.foreign import interruptible, translate_errors
from cloister.io.query import Call, Dialect, Query, quote_name

from .in_database import Database, Loaded
from .statements import SOURCE, EngineColumn, kind_of

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Cursor

T = TypeVar("T")
# Every count of the transaction is of the same records, whatever others write meanwhile.
SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
# Level maps are small and were not analysed: joined by hashing, as they must be, they cost one look-up a record.
PLANS = ("SET LOCAL enable_nestloop = off", "SET LOCAL enable_mergejoin = off", "SET LOCAL work_mem = '256MB'")
# Why a table cannot be made, by SQLSTATE
REASONS = {
    "42501": "this account may not make tables there (CREATE on the schema, TEMPORARY on the database)",
    "3F000": "the schema that its name has is not there",
    "42P07": "a table of its name is there, which this account may not see, or which was made meanwhile",
    "25006": "the database can only be read",
    "57014": "it was stopped, or took longer than the database allows",
}
FULL = "53100"


@dataclass(frozen=True, kw_only=True)
class PostgreSQL(Database):
    """A query to PostgreSQL; its records stay in the database."""

    query: Query = field(repr=False)
    cursor: "Cursor" = field(repr=False)
    call: Call = field(repr=False)
    name: ClassVar[str] = "postgresql"
    dialect: ClassVar[Dialect] = "postgres"
    temporary: ClassVar[str] = "pg_temp."
    view: str = f"pg_temp.{SOURCE}"

    def fetch(self, query: exp.Query) -> pl.DataFrame:
        """Return the rows of a query."""
        sql = query.sql(dialect=self.dialect)
        self.call.doing = "fetch"

        def ask() -> pl.DataFrame:
            self.cursor.execute(sql)
            return plain_columns(fetch_all(self.cursor, self.query), self.file)

        return self._wait_for(lambda: answer_of(self.query, self.cursor, self.call, ask))

    def run(self, statement: exp.Expr) -> None:
        """Run a statement inside the transaction."""
        sql = statement.sql(dialect=self.dialect)
        self._wait_for(lambda: _in_our_words(lambda: self.cursor.execute(sql), self.file))

    def load(self, name: str, columns: Mapping[str, Loaded], rows: Sequence[tuple[object, ...]]) -> None:
        """Create a temporary table of these rows."""
        types = {column: pl.String() if kind == "text" else pl.Int64() for column, kind in columns.items()}
        frame = pl.DataFrame(rows, schema=types, orient="row")
        self._wait_for(
            lambda: _in_our_words(lambda: self.cursor.adbc_ingest(name, frame.to_arrow(), temporary=True), self.file)
        )

    def commit(self) -> None:
        """Commit the transaction."""
        lost = "The connection to the database was lost before the protected table stayed there. Run it again."
        self._wait_for(lambda: translate_errors(self.cursor.connection.commit, InputError(lost)))

    def undo(self, table: str) -> None:
        """Drop a table whose creation is already committed."""
        super().undo(table)
        self.commit()

    def _wait_for(self, work: Callable[[], T]) -> T:
        return interruptible(work, self.call.stop)


@contextmanager
def postgresql(query: Query, missing: Sequence[str] = ()) -> Iterator[PostgreSQL]:
    """Yield the result of a query to PostgreSQL as a table; changes are rolled back unless committed."""
    driver, call = driver_of("postgresql", query), Call()
    with open_cursor(lambda: driver.connect(with_patience(query.url)), query, call) as cursor:
        words = interruptible(lambda: answer_of(query, cursor, call, lambda: _begun(cursor, query, call)), call.stop)
        # A table keeps what the query gives; a view would give other rows each time of one with random().
        kept = (
            f"CREATE TEMPORARY TABLE {quote_name(SOURCE)} ON COMMIT DROP AS "  # noqa: S608
            f"SELECT {words} FROM (\n{query.select}\n) AS t WITH NO DATA"
        )
        interruptible(lambda: _in_our_words(lambda: cursor.execute(kept), query.name), call.stop)
        columns = interruptible(
            lambda: answer_of(query, cursor, call, lambda: _fill_table(cursor, query, words)), call.stop
        )
        yield PostgreSQL(
            file=query.name, query=query, columns=columns, missing=tuple(missing), cursor=cursor, call=call
        )


def _begun(cursor: "Cursor", query: Query, call: Call) -> str:
    """Begin the transaction, and return what is selected of the query, text in the order of its bytes."""
    for setting in (SNAPSHOT, *PLANS):
        cursor.execute(setting)
    warn_superuser(cursor, call)
    schema = cursor.adbc_execute_schema(query.select)
    check_names(schema.names, query.name)
    words = []
    for column in schema:
        word, name = postgresql_word(column, query), quote_name(column.name)
        is_text = word != name or str(column.type) in ("string", "large_string", "string_view")
        words.append(f'({word.removesuffix(f" AS {name}")})::text COLLATE "C" AS {name}' if is_text else word)
    return ", ".join(words)


def _fill_table(cursor: "Cursor", query: Query, words: str) -> tuple[EngineColumn, ...]:
    """Run the query, which can write nothing but our own temporary table, and see what it gave."""
    for statement in (
        "SAVEPOINT cloister",
        "SET LOCAL transaction_read_only = on",
        f"INSERT INTO pg_temp.{quote_name(SOURCE)} SELECT {words} FROM (\n{query.select}\n) AS t",  # noqa: S608
        "RELEASE SAVEPOINT cloister",
        f"ANALYZE pg_temp.{quote_name(SOURCE)}",
    ):
        cursor.execute(statement)
    seen = cursor.adbc_execute_schema(f"SELECT * FROM pg_temp.{quote_name(SOURCE)}")  # noqa: S608
    empty = pl.from_arrow(seen.empty_table())
    assert isinstance(empty, pl.DataFrame)
    return tuple(EngineColumn(name, kind_of(kind)) for name, kind in empty.schema.items())


def _in_our_words(make: Callable[[], object], file: str) -> None:
    """Run a call to PostgreSQL; its errors are reworded, because they quote values."""
    state: str | None = ""
    try:
        make()
        return
    except (CloisterError, MemoryError):
        raise
    except Exception as error:
        state = getattr(error, "sqlstate", None)
    if state == FULL:
        raise InputError(f"The disk of the database server is full: the protected table of {file} was not made.")
    if state is None or state.startswith(("08", "57P")):
        raise InputError(
            f"The connection to the database was lost while the protected table of {file} was being made. Nothing "
            "stayed there: run it again once the database is there."
        )
    why = REASONS.get(state, f"the database refuses it (SQLSTATE {state})")
    raise InputError(f"The protected table of {file} cannot be made in the database: {why}.")
