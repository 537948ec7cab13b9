"""DuckDB counts the records of a file as it reads them, or of a database, and creates the protected table there.

A file of text or Parquet may be larger than memory. Only counts leave a database, all in one transaction.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

import polars as pl
from sqlglot import exp, parse_one

from cloister.errors import InputError, Message, TooLittleMemory, setting
from cloister.io.columns import check_names, display_name, plain_columns
from cloister.io.csv import check_delimiter, detect_delimiter, head_of, header_of, is_packed
from cloister.io.databases import DUCKDB_REASONS, cannot_open, connect, connect_in_memory, duckdb_word, frame_of
from cloister.io.foreign import interruptible, translate_errors
from cloister.io.memory import memory_limit
from cloister.io.query import Dialect, Query, quote_name
from cloister.io.read import is_parquet

from .in_database import Database
from .statements import SOURCE, Engine, EngineColumn, as_in_file, kind_of, parquet_schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")
OUT_OF_MEMORY = "OutOfMemoryException"  # what DuckDB raises then
LINE = re.compile(r"Line:?\s*(\d+)")


@dataclass(frozen=True, kw_only=True)
class DuckDBDatabase(Database):
    """A query to a DuckDB file; its records stay in the file."""

    connection: "DuckDBPyConnection" = field(repr=False)
    name: ClassVar[str] = "duckdb"
    dialect: ClassVar[Dialect] = "duckdb"

    def fetch(self, query: exp.Query) -> pl.DataFrame:
        """Return the rows of a query."""
        frame = self._answer(lambda: frame_of(self.connection.sql(query.sql(dialect=self.dialect))))
        return plain_columns(frame, self.file)

    def run(self, statement: exp.Expr) -> None:
        """Run a statement inside the transaction."""
        self._answer(lambda: self.connection.execute(statement.sql(dialect=self.dialect)).fetchall())

    def commit(self) -> None:
        """Commit the transaction."""
        self._answer(self.connection.commit)

    def _answer(self, ask: Callable[[], T]) -> T:
        return interruptible(lambda: _in_our_words(ask, self.file), self.connection.interrupt)


@contextmanager
def duckdb_database(query: Query, missing: Sequence[str] = ()) -> Iterator[DuckDBDatabase]:
    """Yield the result of a query to a DuckDB file as a table; changes are rolled back unless committed."""
    _check_repeatable(query)
    path = query.file()
    connection = translate_errors(lambda: connect(str(path)), cannot_open(path, query))
    try:
        connection.begin()
        columns = interruptible(
            lambda: _in_our_words(lambda: _seen(connection, query), query.name), connection.interrupt
        )
        yield DuckDBDatabase(file=query.name, columns=columns, missing=tuple(missing), connection=connection)
    finally:
        with suppress(Exception):
            connection.rollback()
        connection.close()


def _check_repeatable(query: Query) -> None:
    """Refuse a query with different rows on each run, as it runs for every count."""
    tree = parse_one(query.select, dialect="duckdb")
    unordered = any(select.args.get("limit") and not select.args.get("order") for select in tree.find_all(exp.Query))
    if unordered or tree.find(exp.Rand, exp.TableSample, exp.Uuid):
        raise InputError(
            f"The query of {query.name} gives other rows each time it runs (a sample, random(), or LIMIT without an "
            "order), but the table is counted several times. Make it a table in the database first.",
            file=query.name,
        )


def _seen(connection: "DuckDBPyConnection", query: Query) -> tuple[EngineColumn, ...]:
    """Create the view through which statements read the table."""
    relation = connection.sql(query.select)
    check_names(relation.columns, query.name)
    words = []
    for name, kind in zip(relation.columns, map(str, relation.types), strict=True):
        word, own = duckdb_word(name, kind, query), quote_name(name)
        if word != own or kind == "VARCHAR":
            # By bytes: texts that the database takes for the same, as without regard to case, differ.
            word = f'{word.removesuffix(f" AS {own}")} COLLATE "binary" AS {own}'
        words.append(word)
    view = f"CREATE TEMP VIEW {SOURCE} AS SELECT {', '.join(words)} FROM (\n{query.select}\n) AS t"  # noqa: S608
    connection.execute(view).fetchall()
    empty = frame_of(connection.sql(f"SELECT * FROM {SOURCE} LIMIT 0"))  # noqa: S608
    return tuple(EngineColumn(name, kind_of(kind)) for name, kind in plain_columns(empty).schema.items())


def _in_our_words(ask: Callable[[], T], file: str) -> T:
    """Return the result of a call to DuckDB; its errors are reworded, because they quote values."""
    reason = ""
    try:
        return ask()
    except (InputError, MemoryError):
        raise
    except Exception as error:
        reason = DUCKDB_REASONS.get(type(error).__name__, "failed in the database, which may be out of memory or disk")
    raise InputError(f"The query of {file} {reason}. Nothing stayed in the database.", file=file)


@dataclass(frozen=True, kw_only=True)
class DuckDBFile(Engine):
    """A CSV or Parquet file that DuckDB counts."""

    format: Literal["csv", "parquet"]
    delimiter: str | None
    schema: pl.Schema = field(repr=False)
    connection: "DuckDBPyConnection" = field(repr=False)
    path: Path
    state: tuple[int, ...]  # of the file when it was opened
    name: ClassVar[str] = "duckdb"
    dialect: ClassVar[str] = "duckdb"

    def fetch(self, query: exp.Query) -> pl.DataFrame:
        """Return the rows of a query; columns named by position have the types of the file as cloister reads it."""
        sql = query.sql(dialect=self.dialect)
        frame = interruptible(lambda: self._answer(sql), self.connection.interrupt)
        if state_of(self.path) != self.state:  # what was counted before is of another file than what is counted now
            raise InputError(
                f"{self.file} changed while it was read. Try again when it is not being written.", file=self.file
            )
        return as_in_file(frame, self.schema, self.file)

    def _answer(self, sql: str) -> pl.DataFrame:
        found, kind = "", InputError
        try:
            return frame_of(self.connection.sql(sql))
        except MemoryError:
            raise
        except Exception as error:  # its message quotes values; use only the line number in it
            found = _what_failed(error)
            kind = TooLittleMemory if type(error).__name__ == OUT_OF_MEMORY else InputError
        raise kind(f"{self.file} ", found, file=self.file)


@contextmanager
def duckdb_file(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    threads: int = 1,
) -> Iterator[DuckDBFile]:
    """Yield a file as a table that DuckDB reads."""
    shown = display_name(path)
    is_csv, state = not is_parquet(path), state_of(path)
    if is_csv:
        relation, schema, delimiter = _csv(path, shown, delimiter, encoding)
    else:
        relation, delimiter = f"SELECT * FROM read_parquet([{_word(_pattern(path))}])", None  # noqa: S608
        schema = parquet_schema(path, shown)
    if len({name.casefold() for name in schema}) < len(schema):
        raise InputError(
            f"{shown} has columns whose names differ in upper and lower case alone, which the engine duckdb "
            "cannot tell apart. Rename one, or give ",
            setting("engine", "memory"),
            file=shown,
        )
    folder = Path(tempfile.mkdtemp(prefix="cloister-duckdb-"))  # 0700
    connection = connect_in_memory(
        str(folder),
        reads=[str(path.absolute()), _pattern(path)],
        memory_limit=memory_limit(),
        preserve_insertion_order=False,
        threads=threads,
    )
    try:
        refusal = InputError(
            f"{shown} cannot be read by the engine duckdb. Give ", setting("engine", "memory"), file=shown
        )
        translate_errors(lambda: connection.sql(relation).create_view(SOURCE), refusal)
        columns = tuple(EngineColumn(name, kind_of(kind)) for name, kind in schema.items())
        yield DuckDBFile(
            file=shown,
            columns=columns,
            missing=tuple(missing),
            format="csv" if is_csv else "parquet",
            delimiter=delimiter,
            schema=schema,
            connection=connection,
            path=path,
            state=state,
        )
    finally:
        connection.close()
        shutil.rmtree(folder, ignore_errors=True)


def state_of(path: Path) -> tuple[int, ...]:
    """Return the properties that change when someone writes to a file; empty if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _csv(path: Path, shown: str, delimiter: str | None, encoding: str | None) -> tuple[str, pl.Schema, str]:
    """What DuckDB reads, and the names that the first line of the file has."""
    head = head_of(path, encoding)
    if delimiter is None:
        delimiter = detect_delimiter(head, shown)
    check_delimiter(delimiter)
    names = header_of(head, shown, delimiter)
    columns = ", ".join(f"{_word(name)}: 'VARCHAR'" for name in names)
    packed = "gzip" if is_packed(path) else "none"
    options = f"delim = {_word(delimiter)}, compression = '{packed}', columns = {{{columns}}}"
    relation = (
        f"SELECT * FROM read_csv([{_word(_pattern(path))}], {options}, auto_detect = false, header = true, "  # noqa: S608
        "quote = '\"', escape = '\"', "
        "nullstr = '', allow_quoted_nulls = true, null_padding = false, strict_mode = true)"
    )
    return relation, pl.Schema(dict.fromkeys(names, pl.String)), delimiter


def _pattern(path: Path) -> str:
    """The pattern that matches this path alone."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


def _word(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _what_failed(error: Exception) -> str:
    kind, line = type(error).__name__, LINE.search(str(error))
    if kind == OUT_OF_MEMORY:
        return f"has more different records than the engine duckdb can count in {memory_limit()} and on the disk left."
    if kind == "IOException":
        return "cannot be read to its end, or the disk for what is set aside is full."
    at = f" near line {line[1]}" if line else ""
    return Message(
        f"cannot be read as a table{at}: a record has another number of cells, or text that is not UTF-8. "
        "Correct it, or give ",
        setting("engine", "memory"),
        ", which says more of it.",
    )
