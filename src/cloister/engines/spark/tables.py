"""A table that Spark counts, classic or by Spark Connect: the same statements as everywhere, in its dialect."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cloister.io import RECORDS, plain_columns, table_columns
from cloister.io.columns import check_names
from cloister.io.disk import shown_name

from ..relation import Column, as_in_file, kind_of
from ..statements import SOURCE
from .code_source import UNREADABLE, Place, files_frame
from .failures import call_spark
from .session import session_of, spark_session

SETTINGS = {"spark.sql.caseSensitive": "true", "spark.sql.session.timeZone": "UTC"}
"""What must hold while statements run: columns may differ in case alone, and times are those of the file."""


@dataclass(frozen=True)
class SparkTable:
    """Files that Spark counts; see `cloister.engines.relation.Engine`.

    Attributes
    ----------
    format, delimiter : of the file that is released
    """

    session: Any = field(repr=False)
    file: str
    schema: pl.Schema = field(repr=False)
    missing: tuple[str, ...] = ()
    format: str = "csv"
    delimiter: str | None = ","
    name: str = "spark"
    dialect: str = "spark"

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the table, in its order."""
        return tuple(Column(name, kind_of(kind)) for name, kind in self.schema.items())

    def fetch(self, query: Any) -> pl.DataFrame:
        """Return the rows of a query; columns by place have the types that the file has for us."""
        sql = query.sql(dialect=self.dialect)
        frame = pl.from_arrow(call_spark(lambda: self.session.sql(sql).toArrow()))
        assert isinstance(frame, pl.DataFrame)
        return as_in_file(frame, self.schema, self.file)


@contextmanager
def spark_table(place: Place, word: str, missing: Sequence[str] = ()) -> Iterator[SparkTable]:
    """Yield files as a table that Spark counts.

    Parameters
    ----------
    word : engine, as of `cloister.engines.spark.session.spark_session`

    Raises
    ------
    InputError
        Spark is not there, or cannot read them.
    """
    shown = shown_name(place.path)
    with spark_session(word) as session:
        frame, delimiter = files_frame(session, place)
        with _seen(session, frame, shown) as schema:
            kind = "parquet" if delimiter is None else "csv"
            yield SparkTable(session, shown, schema, tuple(missing), kind, delimiter)


@contextmanager
def spark_frame(frame: Any, shown: str = "a dataframe") -> Iterator[SparkTable]:
    """Yield a dataframe of Spark as a table that its session counts.

    Raises
    ------
    InputError
        It cannot be read, or has names that do not tell its columns apart.
    """
    with session_of(frame) as session, _seen(session, frame, shown) as schema:
        yield SparkTable(session, shown, schema)


def back(frame: Any, tally: pl.DataFrame, id_column: str | None) -> Any:
    """Return the records of a tally as a dataframe of the session that a frame is of.

    Parameters
    ----------
    id_column : numbered, of which each row of the tally has the first number of its records
    """
    columns = {column: f"c{place}" for place, column in enumerate(table_columns(tally))}
    counted = tally.rename({**columns, RECORDS: "n"}).to_arrow()
    with session_of(frame) as session:
        few = call_spark(lambda: session.createDataFrame(counted))
        every = few.selectExpr("*", "explode(sequence(0L, n - 1L)) as k")
        words = [
            f"{place} + k as {_quoted(column)}" if column == id_column else f"{place} as {_quoted(column)}"
            for column, place in columns.items()
        ]
        return every.selectExpr(*words)


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


@contextmanager
def _seen(session: Any, frame: Any, shown: str) -> Iterator[pl.Schema]:
    """Let statements see a frame, under settings that are put back afterwards."""
    check_names(frame.columns, shown)
    before = {key: session.conf.get(key) for key in SETTINGS}
    try:
        for key, value in SETTINGS.items():
            session.conf.set(key, value)
        call_spark(lambda: frame.createOrReplaceTempView(SOURCE), UNREADABLE.format(name=shown))
        head = pl.from_arrow(call_spark(lambda: frame.limit(0).toArrow(), UNREADABLE.format(name=shown)))
        assert isinstance(head, pl.DataFrame)
        yield plain_columns(head, shown).schema
    finally:
        with suppress(Exception):
            session.catalog.dropTempView(SOURCE)
            for key, value in before.items():
                session.conf.set(key, value)
