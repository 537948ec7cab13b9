"""A query -> columns of plain types, by the driver that its address asks for; in a transaction that only reads."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import check_names, plain_columns
from cloister.io.foreign import call_foreign
from cloister.io.query import Query
from cloister.io.waiting import waited_for

YEARS = (1, 9999)


@dataclass
class Call:
    """A question that is under way.

    Attributes
    ----------
    cancel : asks the database to stop; set once there is something to stop
    doing : what was being done last, for messages
    notes : what the user should know about the database
    """

    cancel: Callable[[], None] | None = None
    doing: str = "connect"
    notes: list[str] = field(default_factory=list)

    def stop(self) -> None:
        """Ask the database to stop."""
        if self.cancel is not None:
            self.cancel()


def read_query(query: Query, call: Call | None = None) -> pl.DataFrame:
    """The table that a query gives; types are kept where a release can hold them, others become text.

    Raises
    ------
    InputError
        The driver or the database is not there, refuses us or the query, or goes away; there are no records; a column
        has no name of its own, or holds what is not one value a cell.
    """
    call = Call() if call is None else call
    refusal = InputError(f"What the database gives for {query.name} cannot be read.", file=query.name)
    frame = call_foreign(lambda: waited_for(lambda: _read(query, call), call.stop), refusal)
    check_names(frame.columns, query.name)
    if not frame.height:
        raise InputError(f"The query of {query.name} gives no records.", file=query.name)
    for series in frame.get_columns():
        check_years(series, query.name)
    aware = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime) and kind.time_zone]
    return plain_columns(frame.with_columns(pl.col(aware).dt.convert_time_zone("UTC")), query.name)


def _read(query: Query, call: Call) -> pl.DataFrame:
    """The table as the database gives it; runs in a thread of its own."""
    reader: Any
    if query.scheme == "duckdb":
        from cloister.io.duckdb_file import read_duckdb as reader
    elif query.scheme in ("postgresql", "postgres"):
        from cloister.io.postgresql import read_postgresql as reader
    elif query.scheme == "sqlite":
        from cloister.io.sqlite import read_sqlite as reader
    else:
        from cloister.io.adbc import read_adbc as reader
    frame: pl.DataFrame = reader(query, call)
    return frame


def check_years(series: pl.Series, name: str) -> None:
    """Refuse dates that are no days: databases have an infinity.

    Raises
    ------
    InputError
        There are such dates.
    """
    if not isinstance(series.dtype, pl.Date | pl.Datetime):
        return
    low, high = (
        pl.Series([f"{year:04}-{day}"]).str.to_date() for year, day in zip(YEARS, ("01-01", "12-31"), strict=True)
    )
    days = series.to_physical() if series.dtype == pl.Date else series.dt.epoch("d")
    outside = ~days.is_between(low.to_physical()[0], high.to_physical()[0])
    if outside.any():
        raise InputError(
            f"{name}: column '{series.name}' holds dates outside the years 1 to 9999, such as infinity "
            f"({int(outside.sum())} records). Make them missing in the query.",
            file=name,
            column=series.name,
        )
