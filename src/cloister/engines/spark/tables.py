"""A table that Spark counts, classic or by Spark Connect: the same statements as everywhere, in its dialect."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from cloister.errors import InputError
from cloister.io import RECORDS, plain_columns, table_columns
from cloister.io.columns import check_names
from cloister.io.disk import shown_name
from cloister.io.foreign import call_foreign

from ..relation import EngineColumn, as_in_file, kind_of
from .code_blocks import UNREADABLE, SparkFiles, files_frame, first_file, quoted
from .session import session_of, spark_session
from .tasks import call_spark


@dataclass(frozen=True)
class SparkTable:
    """Files that Spark counts; see `cloister.engines.statements.Engine`."""

    session: Any = field(repr=False)
    view: str
    file: str
    schema: pl.Schema = field(repr=False)
    missing: tuple[str, ...] = ()
    format: str = "csv"
    delimiter: str | None = ","
    name: str = "spark"
    dialect: str = "spark"
    temporary: str = ""

    @property
    def columns(self) -> tuple[EngineColumn, ...]:
        """Columns of the table, in its order."""
        return tuple(EngineColumn(name, kind_of(kind), f"c{j}") for j, (name, kind) in enumerate(self.schema.items()))

    def fetch(self, query: Any) -> pl.DataFrame:
        """Return the rows of a query; columns by place have the types that the file has for us."""
        sql = query.sql(dialect=self.dialect)
        frame = pl.from_arrow(call_spark(lambda: self.session.sql(sql).toArrow()))
        assert isinstance(frame, pl.DataFrame)
        return as_in_file(frame, self.schema, self.file)


@dataclass(frozen=True)
class _SparkView:
    """What statements call a table, and the types of its columns."""

    name: str
    schema: pl.Schema


@contextmanager
def spark_table(place: SparkFiles, word: str, missing: Sequence[str] = ()) -> Iterator[SparkTable]:
    """Yield files as a table that Spark counts."""
    shown = shown_name(place.path)
    with spark_session(word) as session:
        frame, delimiter = files_frame(session, place)
        with _seen(session, frame, shown) as seen:
            kind = "parquet" if delimiter is None else "csv"
            schema = _as_polars_reads(first_file(place.path), shown) if delimiter is None else seen.schema
            yield SparkTable(session, seen.name, shown, schema, tuple(missing), kind, delimiter)


@contextmanager
def spark_frame(frame: Any, shown: str = "a dataframe") -> Iterator[SparkTable]:
    """Yield a dataframe of Spark as a table that its session counts."""
    with session_of(frame) as session, _seen(session, _in_local_time(frame), shown) as seen:
        yield SparkTable(session, seen.name, shown, seen.schema)


def _in_local_time(frame: Any) -> Any:
    """Times of a frame as its session shows them: without a zone, which they do not have there either."""
    words = [
        f"cast({quoted(name)} as timestamp_ntz) as {quoted(name)}" if kind == "timestamp" else quoted(name)
        for name, kind in frame.dtypes
    ]
    return (
        call_spark(lambda: frame.selectExpr(*words)) if any(kind == "timestamp" for _, kind in frame.dtypes) else frame
    )


def back(frame: Any, tally: pl.DataFrame, id_column: str | None) -> Any:
    """Return the records of a tally as a dataframe of the session that a frame is of."""
    columns = {column: f"c{place}" for place, column in enumerate(table_columns(tally))}
    counted = tally.rename({**columns, RECORDS: "n"}).to_arrow()
    types = dict(frame.dtypes)
    with session_of(frame) as session:
        few = call_spark(lambda: session.createDataFrame(counted))
        every = few.selectExpr("*", "explode(sequence(0L, n - 1L)) as k")
        words = [_word(column, place, id_column, types[column]) for column, place in columns.items()]
        return every.selectExpr(*words)


def _word(column: str, place: str, id_column: str | None, kind: str) -> str:
    """What is selected as a column: numbers that go on, times of the type that came in, all else as it is."""
    if column == id_column:
        return f"{place} + k as {quoted(column)}"
    return (
        f"cast({place} as {kind}) as {quoted(column)}"
        if kind.startswith("timestamp")
        else f"{place} as {quoted(column)}"
    )


@contextmanager
def _seen(session: Any, frame: Any, shown: str) -> Iterator[_SparkView]:
    """Let statements see a frame under a name of its own, its columns called by place; nothing else is changed."""
    check_names(frame.columns, shown)
    view = f"cloister_{uuid4().hex}"
    refusal = UNREADABLE.format(name=shown)
    placed = call_spark(lambda: frame.toDF(*(f"c{place}" for place in range(len(frame.columns)))), refusal)
    call_spark(lambda: placed.createOrReplaceTempView(view), refusal)
    try:
        head = pl.from_arrow(call_spark(lambda: placed.limit(0).toArrow(), refusal))
        assert isinstance(head, pl.DataFrame)
        yield _SparkView(
            view, plain_columns(head.rename(dict(zip(head.columns, frame.columns, strict=True))), shown).schema
        )
    finally:
        with suppress(Exception):
            session.catalog.dropTempView(view)


def _as_polars_reads(path: Path, shown: str) -> pl.Schema:
    """The types that a Parquet file has for the engine memory."""
    refusal = InputError(f"{shown} is not a whole Parquet file: export or copy it again.", file=shown)
    schema = call_foreign(lambda: pl.scan_parquet(path, glob=False).collect_schema(), refusal)
    return plain_columns(pl.DataFrame(schema=schema), shown).schema
