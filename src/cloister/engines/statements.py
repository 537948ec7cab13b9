"""The SQL of counts and protected tables, as trees of expressions that are written in the dialect of each engine.

Columns are called by their place, c0, c1 and so on, inside every statement: any name may be that of another column.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from sqlglot import exp

from cloister.errors import InputError
from cloister.io import RECORDS, plain_columns
from cloister.io.columns import check_years

from .relation import Engine

SOURCE = "cloister_source"
"""The view through which an engine sees the table; it has no name of its own."""

COUNT = "n"
POSTGRESQL = "postgres"

MISSING = ""
GIVEN = "="
"""How the key of a value begins that is not missing, so that it is never the key of a missing one."""


def place(number: int) -> str:
    """Return the name of a column by its place."""
    return f"c{number}"


def plain(engine: Engine, wanted: Sequence[str] | None = None) -> exp.Select:
    """Return the table with columns called by their place, and null as the only missing value.

    Parameters
    ----------
    wanted : columns; None for all, as a statement on one of thousands must not name the others
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
            given = exp.Nullif(this=cell.copy(), expression=exp.Literal.string(""))
            words = [exp.Literal.string(word) for word in engine.missing]
            cell = exp.case().when(cell.isin(*words), exp.null()).else_(given) if words else given
        cells.append(exp.alias_(cell, place(number), quoted=True))
    return exp.select(*cells).from_(exp.to_table(engine.view))


def tally(engine: Engine, columns: Sequence[str]) -> exp.Select:
    """Return how many records have each combination of values in these columns: the columns by place, and ``n``."""
    chosen = [exp.column(place(_number(engine, column)), quoted=True) for column in columns]
    counted = exp.alias_(exp.Count(this=exp.Star()), COUNT, quoted=True)
    query = exp.select(*chosen, counted).from_(plain(engine, columns).subquery("t"))
    return query.group_by(*(column.copy() for column in chosen))


def texts(engine: Engine, column: str) -> exp.Select:
    """Return how many records have each value of a column, and its text there: ``value``, ``t``, ``n``."""
    one = exp.column(place(_number(engine, column)), quoted=True)
    counted = exp.alias_(exp.Count(this=exp.Star()), COUNT, quoted=True)
    query = exp.select(exp.alias_(one.copy(), "value"), exp.alias_(as_text(one), "t"), counted)
    return query.from_(plain(engine, [column]).subquery("s")).group_by(one.copy(), as_text(one))


def as_text(expression: exp.Expr) -> exp.Expr:
    """Return an expression as text."""
    return exp.cast(expression, exp.DataType.Type.TEXT)


def key(expression: exp.Expr) -> exp.Expr:
    """Return the text by which the value of an expression is joined; that of a missing one is empty."""
    given = exp.DPipe(this=exp.Literal.string(GIVEN), expression=as_text(expression))
    return exp.func("COALESCE", given, exp.Literal.string(MISSING))


def by_bytes(engine: Engine, expression: exp.Expr) -> exp.Expr:
    """Return what sorts an expression by the UTF-8 bytes of its text, missing first."""
    text = exp.func("COALESCE", as_text(expression), exp.Literal.string(""))
    if engine.dialect != POSTGRESQL:
        return text
    return exp.Collate(this=exp.Paren(this=text), expression=exp.to_identifier("C", quoted=True))


def _number(engine: Engine, column: str) -> int:
    return [one.name for one in engine.columns].index(column)


@dataclass(frozen=True)
class IdCoverage:
    """How many records a table has, how many of them an id, and how many different ids there are."""

    records: int
    given: int
    distinct: int


def count_ids(engine: Engine, column: str) -> IdCoverage:
    """Return the counts of a column that identifies patients."""
    one = exp.column(place(_number(engine, column)), quoted=True)
    counted = exp.select(
        exp.alias_(exp.Count(this=exp.Star()), COUNT),
        exp.alias_(exp.Count(this=one.copy()), "given"),
        exp.alias_(exp.Count(this=exp.Distinct(expressions=[one])), "ids"),
    ).from_(plain(engine, [column]).subquery("t"))
    return IdCoverage(*engine.fetch(counted).row(0))


def unique_share(engine: Engine, column: str) -> float:
    """Return the share of the records whose value in a column no other has."""
    times = exp.column(COUNT, quoted=True)
    alone = exp.Sum(this=exp.case().when(times.copy().eq(1), exp.Literal.number(1)).else_(exp.Literal.number(0)))
    sums = [exp.cast(one, exp.DataType.Type.BIGINT) for one in (exp.Sum(this=times), alone)]
    counted = exp.select(*(exp.alias_(one, name) for one, name in zip(sums, (COUNT, "alone"), strict=True)))
    n_records, n_alone = engine.fetch(counted.from_(tally(engine, [column]).subquery("t"))).row(0)
    return float((n_alone or 0) / max(1, n_records or 0))


def fetch_tally(engine: Engine, columns: Sequence[str]) -> pl.DataFrame:
    """Return how many records have each combination of values in these columns, as a tally."""
    frame = engine.fetch(tally(engine, columns))
    if not frame.height:
        raise InputError(f"{engine.file} has columns but no records.", file=engine.file)
    names = [one.name for one in engine.columns]
    own = {place(names.index(column)): column for column in columns}
    renamed = pl.DataFrame([frame[code].alias(column) for code, column in own.items()])
    for series in renamed.get_columns():
        check_years(series, engine.file)
    return plain_columns(renamed, engine.file).with_columns(frame["n"].cast(pl.Int64).alias(RECORDS))
