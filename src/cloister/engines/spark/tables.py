"""A table that Spark counts, classic or by Spark Connect: the same statements as everywhere, in its dialect."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import polars as pl

from cloister.errors import InputError
from cloister.io import RECORDS, plain_columns, table_columns
from cloister.io.columns import check_names, display_name
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


@contextmanager
def spark_table(place: SparkFiles, word: str, missing: Sequence[str] = ()) -> Iterator[SparkTable]:
    """Yield files as a table that Spark counts."""
    shown = display_name(place.path)
    with spark_session(word) as session:
        frame, delimiter = files_frame(session, place)
        with _seen(session, frame, shown) as (view, schema):
            kind = "parquet" if delimiter is None else "csv"
            if delimiter is None:  # the types that a Parquet file has for the engine memory
                first = first_file(place.path)
                refusal = InputError(f"{shown} is not a whole Parquet file: export or copy it again.", file=shown)
                read = call_foreign(lambda: pl.scan_parquet(first, glob=False).collect_schema(), refusal)
                schema = plain_columns(pl.DataFrame(schema=read), shown).schema
            yield SparkTable(session, view, shown, schema, tuple(missing), kind, delimiter)


@contextmanager
def spark_frame(frame: Any, shown: str = "a dataframe") -> Iterator[SparkTable]:
    """Yield a dataframe of Spark as a table that its session counts."""
    if any(kind == "timestamp" for _, kind in frame.dtypes):
        # Times as the session shows them: without a zone, which they do not have there either.
        words = [
            f"cast({quoted(name)} as timestamp_ntz) as {quoted(name)}" if kind == "timestamp" else quoted(name)
            for name, kind in frame.dtypes
        ]
        given = frame
        frame = call_spark(lambda: given.selectExpr(*words))
    with session_of(frame) as session, _seen(session, frame, shown) as (view, schema):
        yield SparkTable(session, view, shown, schema)


def back(frame: Any, tally: pl.DataFrame, id_column: str | None) -> Any:
    """Return the records of a tally as a dataframe of the session that a frame is of."""
    columns = {column: f"c{place}" for place, column in enumerate(table_columns(tally))}
    counted = tally.rename({**columns, RECORDS: "n"}).to_arrow()
    types: dict[str, str] = dict(frame.dtypes)
    with session_of(frame) as session:
        few = call_spark(lambda: session.createDataFrame(counted))
        every = few.selectExpr("*", "explode(sequence(0L, n - 1L)) as k")
        words = []
        for column, place in columns.items():  # numbers go on, times have the type that came in
            value = f"cast({place} as {types[column]})" if types.get(column, "").startswith("timestamp") else place
            words.append(f"{place} + k as {quoted(column)}" if column == id_column else f"{value} as {quoted(column)}")
        return every.selectExpr(*words)


@contextmanager
def _seen(session: Any, frame: Any, shown: str) -> Iterator[tuple[str, pl.Schema]]:
    """Let statements see a frame under a name of its own, its columns called by place; yield name and types."""
    check_names(frame.columns, shown)
    view = f"cloister_{uuid4().hex}"
    refusal = UNREADABLE.format(name=shown)
    placed = call_spark(lambda: frame.toDF(*(f"c{place}" for place in range(len(frame.columns)))), refusal)
    call_spark(lambda: placed.createOrReplaceTempView(view), refusal)
    try:
        head = pl.from_arrow(call_spark(lambda: placed.limit(0).toArrow(), refusal))
        assert isinstance(head, pl.DataFrame)
        named = head.rename(dict(zip(head.columns, frame.columns, strict=True)))
        yield view, plain_columns(named, shown).schema
    finally:
        with suppress(Exception):
            session.catalog.dropTempView(view)
