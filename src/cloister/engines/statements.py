"""SQL that counts a table in place, as expression trees in the dialect of each engine.

Inside every statement, columns are named by position (c0, c1, ...): any other name may be that of another column.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import polars as pl
from sqlglot import exp

from cloister.errors import InputError, setting
from cloister.io import Tally, plain_columns
from cloister.io.columns import BLANK, check_names
from cloister.io.foreign import translate_errors

SOURCE = "cloister_source"  # The view through which an engine sees the table; it has no name of its own
COUNT = "n"
POSTGRESQL = "postgres"
MISSING = ""
GIVEN = "="  # How the key of a value begins that is not missing, so that it is never the key of a missing one

Kind = Literal["text", "float", "other"]


@dataclass(frozen=True)
class EngineColumn:
    """A column of a table that an engine counts in place."""

    name: str
    kind: Kind = (
        "other"  # text, where a blank one is missing; float, where NaN is; or anything else of one value a cell
    )
    seen_as: str | None = None  # what statements call it; None for its name


@dataclass(frozen=True, kw_only=True)
class Engine(ABC):
    """An engine that counts the records of a table in place.

    Statements see the table through a view, or a temporary table, of their own.
    """

    name: ClassVar[str]  # what users call the engine
    dialect: ClassVar[str]  # what sqlglot calls its SQL
    temporary: ClassVar[str] = ""  # the prefix of names of temporary tables, which distinguishes them from others
    view: str = SOURCE  # what statements call the table
    file: str  # the name of the source, for messages
    columns: tuple[EngineColumn, ...]  # of the table, in its order
    missing: tuple[str, ...] = ()  # texts that stand for a missing value

    @abstractmethod
    def fetch(self, query: exp.Query) -> pl.DataFrame:
        """Return the rows of a query: counts of a table that is too large or too confidential to fetch."""


def names_of(columns: Sequence[EngineColumn]) -> list[str]:
    """Return the names of columns."""
    return [column.name for column in columns]


def kind_of(kind: pl.DataType) -> Kind:
    """Return the kind of a column with this type."""
    return "text" if kind == pl.String else "float" if kind.is_float() else "other"


def as_in_file(frame: pl.DataFrame, schema: pl.Schema, file: str) -> pl.DataFrame:
    """Return the rows of a query; columns named by position have the types of the file as cloister reads it."""
    types = {f"c{number}": kind for number, kind in enumerate(schema.values())}
    casts = [pl.col(name).cast(kind) for name, kind in types.items() if name in frame.columns]
    refusal = InputError(
        f"{file} has a type of numbers or dates that this engine cannot count. Give ", setting("engine", "memory")
    )
    return translate_errors(lambda: frame.with_columns(casts), refusal)


def parquet_schema(path: Path, shown: str) -> pl.Schema:
    """Return the types of a Parquet file as cloister reads it."""
    refusal = InputError(f"{shown} is not a whole Parquet file: export or copy it again.", file=shown)
    schema = translate_errors(lambda: pl.scan_parquet(path, glob=False).collect_schema(), refusal)
    check_names(list(schema), shown)
    return plain_columns(pl.DataFrame(schema=schema), shown).schema


def place(number: int) -> str:
    """Return the name of a column by its position."""
    return f"c{number}"


def plain(engine: Engine, wanted: Sequence[str] | None = None) -> exp.Select:
    """Return the table with columns named by position, and null as the only missing value.

    ``wanted``: columns; None for all, as a statement on one of thousands must not name the others
    """
    names = {column.name for column in engine.columns} if wanted is None else set(wanted)
    cells = []
    for number, column in enumerate(engine.columns):
        if column.name not in names:
            continue
        cell: exp.Expr = exp.column(column.seen_as or column.name, quoted=True)
        if column.kind == "float":
            cell = exp.Nullif(this=cell, expression=exp.cast(exp.Literal.string("NaN"), exp.DataType.Type.DOUBLE))
        elif column.kind == "text":
            words = [exp.Literal.string(word) for word in engine.missing]
            blank = exp.RegexpLike(this=cell.copy(), expression=exp.Literal.string(BLANK))
            is_missing = exp.or_(blank, *([cell.isin(*words)] if words else []))
            cell = exp.case().when(is_missing, exp.null()).else_(cell)
        cells.append(exp.alias_(cell, place(number), quoted=True))
    return exp.select(*cells).from_(exp.to_table(engine.view))


def tally(engine: Engine, columns: Sequence[str]) -> exp.Select:
    """Count the records with each combination of values in these columns: columns named by position, and ``n``."""
    chosen = [_place_column(engine, column) for column in columns]
    query = exp.select(*chosen, n_records()).from_(plain(engine, columns).subquery("t"))
    return query.group_by(*(column.copy() for column in chosen))


def texts(engine: Engine, column: str) -> exp.Select:
    """Count the records with each value of a column, with the engine's text of the value: ``value``, ``t``, ``n``."""
    one = _place_column(engine, column)
    query = exp.select(exp.alias_(one.copy(), "value"), exp.alias_(as_text(one), "t"), n_records())
    return query.from_(plain(engine, [column]).subquery("s")).group_by(one.copy(), as_text(one))


def n_records() -> exp.Expr:
    """Count the records: ``n``."""
    return exp.alias_(exp.Count(this=exp.Star()), COUNT, quoted=True)


def as_text(expression: exp.Expr) -> exp.Expr:
    """Return an expression as text."""
    return exp.cast(expression, exp.DataType.Type.TEXT)


def key(expression: exp.Expr) -> exp.Expr:
    """Return the text that joins the values of an expression; empty for a missing value."""
    given = exp.DPipe(this=exp.Literal.string(GIVEN), expression=as_text(expression))
    return exp.func("COALESCE", given, exp.Literal.string(MISSING))


def by_bytes(engine: Engine, expression: exp.Expr) -> exp.Expr:
    """Return the sort key of an expression: the UTF-8 bytes of its text, missing first."""
    text = exp.func("COALESCE", as_text(expression), exp.Literal.string(""))
    if engine.dialect != POSTGRESQL:
        return text
    return exp.Collate(this=exp.Paren(this=text), expression=exp.to_identifier("C", quoted=True))


def _place_column(engine: Engine, column: str) -> exp.Column:
    return exp.column(place(names_of(engine.columns).index(column)), quoted=True)


class IdCoverage(NamedTuple):
    """The number of records in a table, of records with an id, and of distinct ids."""

    records: int
    given: int
    distinct: int


def count_ids(engine: Engine, column: str) -> IdCoverage:
    """Return the counts of a column that identifies patients."""
    one = _place_column(engine, column)
    counted = exp.select(
        n_records(),
        exp.alias_(exp.Count(this=one.copy()), "given"),
        exp.alias_(exp.Count(this=exp.Distinct(expressions=[one])), "ids"),
    ).from_(plain(engine, [column]).subquery("t"))
    return IdCoverage(*engine.fetch(counted).row(0))


def unique_share(engine: Engine, column: str) -> float:
    """Return the share of records with a unique value in a column."""
    times = exp.column(COUNT, quoted=True)
    alone = exp.Sum(this=exp.case().when(times.copy().eq(1), exp.Literal.number(1)).else_(exp.Literal.number(0)))
    sums = [exp.cast(one, exp.DataType.Type.BIGINT) for one in (exp.Sum(this=times), alone)]
    counted = exp.select(*(exp.alias_(one, name) for one, name in zip(sums, (COUNT, "alone"), strict=True)))
    n_records, n_alone = engine.fetch(counted.from_(tally(engine, [column]).subquery("t"))).row(0)
    return float((n_alone or 0) / max(1, n_records or 0))


def fetch_tally(engine: Engine, columns: Sequence[str]) -> Tally:
    """Count the records with each combination of values in these columns."""
    frame = engine.fetch(tally(engine, columns))
    if not frame.height:
        raise InputError(f"{engine.file} has columns but no records.", file=engine.file)
    names = names_of(engine.columns)
    renamed = pl.DataFrame([frame[place(names.index(column))].alias(column) for column in columns])
    return Tally(plain_columns(renamed, engine.file), frame[COUNT].cast(pl.Int64))
