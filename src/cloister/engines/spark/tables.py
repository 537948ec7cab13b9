"""A table that Spark counts, classic or by Spark Connect, with the statements of all engines in its dialect."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal
from uuid import uuid4

import polars as pl
from sqlglot import exp

from cloister.engines.statements import Engine, EngineColumn, as_in_file, kind_of, parquet_schema
from cloister.errors import InputError, setting
from cloister.io import Tally, plain_columns
from cloister.io.columns import check_names, display_name
from cloister.io.csv import csv_of, head_of
from cloister.io.read import is_parquet
from cloister.settings.reading import ReadingWords

from .session import session_of, spark_session
from .tasks import call_spark

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table
    from pyspark.sql import DataFrame, SparkSession

PATTERN = re.compile(r"[*?\[\]{}\\]")  # What makes a path a pattern to Spark
UNREADABLE = (
    "Spark could not read {name}. See whether all workers can read it, whether it is whole, and whether all its parts "
    "have the same columns."
)


@dataclass(frozen=True)
class SparkFiles:
    """Files that Spark reads from disk."""

    path: Path
    encoding: str | None = None
    delimiter: str | None = None


@dataclass(frozen=True, kw_only=True)
class SparkTable(Engine):
    """Files, or a dataframe, that Spark counts."""

    session: "SparkSession" = field(repr=False)
    schema: pl.Schema = field(repr=False)
    format: Literal["csv", "parquet"] = "csv"
    delimiter: str | None = ","
    name: ClassVar[str] = "spark"
    dialect: ClassVar[str] = "spark"

    def fetch(self, query: exp.Query) -> pl.DataFrame:
        """Return the rows of a query; columns named by position have the types of the file as cloister reads it."""
        sql = query.sql(dialect=self.dialect)
        frame = in_polars(call_spark(lambda: self.session.sql(sql).toArrow()))
        return as_in_file(frame, self.schema, self.file)


@contextmanager
def spark_table(place: SparkFiles, word: str, missing: Sequence[str] = ()) -> Iterator[SparkTable]:
    """Yield files as a table that Spark counts."""
    shown = display_name(place.path)
    with spark_session(word) as session:
        frame, delimiter = files_frame(session, place)
        # The types that a Parquet file has for the engine memory
        schema = parquet_schema(first_file(place.path), shown) if delimiter is None else None
        with _seen(session, frame, shown, schema, delimiter, tuple(missing)) as table:
            yield table


@contextmanager
def spark_frame(frame: "DataFrame", shown: str = "a dataframe") -> Iterator[SparkTable]:
    """Yield a dataframe of Spark as a table that its session counts."""
    if any(kind == "timestamp" for _, kind in frame.dtypes):
        # Times as the session shows them: without a zone, which they do not have there either.
        words = [
            f"cast({quote_column(name)} as timestamp_ntz) as {quote_column(name)}"
            if kind == "timestamp"
            else quote_column(name)
            for name, kind in frame.dtypes
        ]
        given = frame
        frame = call_spark(lambda: given.selectExpr(*words))
    with session_of(frame) as session, _seen(session, frame, shown) as table:
        yield table


def back(frame: "DataFrame", tally: Tally, id_column: str | None) -> "DataFrame":
    """Return the records of a tally as a dataframe in the session of a frame."""
    columns = {column: f"c{place}" for place, column in enumerate(tally.frame.columns)}
    counted = tally.frame.rename(columns).with_columns(tally.weights.alias("n")).to_arrow()
    types: dict[str, str] = dict(frame.dtypes)
    with session_of(frame) as session:
        few = call_spark(lambda: session.createDataFrame(counted))
        every = few.selectExpr("*", "explode(sequence(0L, n - 1L)) as k")
        words = []
        for column, place in columns.items():  # numbers go on, times have the type that came in
            value = f"cast({place} as {types[column]})" if types.get(column, "").startswith("timestamp") else place
            words.append(
                f"{place} + k as {quote_column(column)}"
                if column == id_column
                else f"{value} as {quote_column(column)}"
            )
        return every.selectExpr(*words)


@contextmanager
def _seen(
    session: "SparkSession",
    frame: "DataFrame",
    shown: str,
    schema: pl.Schema | None = None,
    delimiter: str | None = ",",
    missing: tuple[str, ...] = (),
) -> Iterator[SparkTable]:
    """Let statements see a frame under a name of its own, its columns called by place."""
    check_names(frame.columns, shown)
    view, refusal = f"cloister_{uuid4().hex}", UNREADABLE.format(name=shown)
    placed = call_spark(lambda: frame.toDF(*(f"c{place}" for place in range(len(frame.columns)))), refusal)
    call_spark(lambda: placed.createOrReplaceTempView(view), refusal)
    try:
        head = in_polars(call_spark(lambda: placed.limit(0).toArrow(), refusal))
        named = head.rename(dict(zip(head.columns, frame.columns, strict=True)))
        schema = plain_columns(named, shown).schema if schema is None else schema
        yield SparkTable(
            view=view,
            file=shown,
            columns=tuple(EngineColumn(name, kind_of(kind), f"c{j}") for j, (name, kind) in enumerate(schema.items())),
            missing=missing,
            session=session,
            schema=schema,
            format="parquet" if delimiter is None else "csv",
            delimiter=delimiter,
        )
    finally:
        with suppress(Exception):
            session.catalog.dropTempView(view)


def files_frame(session: "SparkSession", place: SparkFiles) -> tuple["DataFrame", str | None]:
    """Return the frame of some files, and the delimiter of CSV."""
    first, name = first_file(place.path), display_name(place.path)
    if PATTERN.search(str(place.path.absolute())):
        raise InputError(
            f"Spark takes the path of {name} for a pattern of several files, as one of *?[]{{}} or a backslash is "
            "in it. Rename it, or give ",
            setting("engine", "memory"),
            file=name,
        )
    refusal, where = UNREADABLE.format(name=name), str(place.path.absolute())
    if is_parquet(first):
        return call_spark(lambda: session.read.parquet(where), refusal), None
    unpacked = display_name(first).lower().removesuffix(".gz")
    head = csv_of(head_of(first, place.encoding), unpacked, reading=ReadingWords(delimiter=place.delimiter))
    reader = session.read.option("header", True).option("sep", head.delimiter).option("quote", '"')
    reader = reader.option("escape", '"').option("multiLine", True).option("mode", "FAILFAST")
    reader = reader.option("enforceSchema", False).option("maxCharsPerColumn", -1)
    return call_spark(lambda: reader.csv(where), refusal), head.delimiter


def first_file(path: Path) -> Path:
    """Return a file, or the first file in a folder."""
    if not path.is_dir():
        return path
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_")))
    if not files:
        raise InputError(f"{display_name(path)} has no file to be read.", file=display_name(path))
    return files[0]


def quote_column(column: str) -> str:
    """Quote a name for Spark."""
    return "`" + column.replace("`", "``") + "`"


def in_polars(rows: "RecordBatch | Table") -> pl.DataFrame:
    """Convert Arrow rows to a Polars dataframe."""
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    return frame
