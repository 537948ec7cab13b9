"""A protected table made where the rows are: statements that make it, and counts that check it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from sqlglot import exp

from cloister.errors import InternalError
from cloister.io import RECORDS, as_text

from .choice import check_table_name
from .relation import Database, Engine, Loaded
from .statements import by_bytes, key, key_of, place, plain, texts

SUPPRESSED = "cloister_suppressed"

AT_ONCE = 500
"""Rows that one INSERT takes along."""

KINDS: dict[Loaded, Any] = {"text": exp.DataType.Type.TEXT, "whole": exp.DataType.Type.BIGINT}


@dataclass(frozen=True)
class Recoded:
    """A quasi-identifier and what its values become.

    Attributes
    ----------
    labels : by value as text, with None for a missing one
    """

    column: str
    labels: Mapping[str | None, str | None] = field(repr=False)


@dataclass(frozen=True)
class Making:
    """A protected table that is to be made.

    Attributes
    ----------
    columns : released ones, in order
    recoded : quasi-identifiers
    suppressed : labels of the classes that are left out, columns as in ``recoded``
    id : column that is numbered in the order of the released values; None if there is none
    """

    table: str
    columns: tuple[str, ...]
    recoded: tuple[Recoded, ...]
    suppressed: pl.DataFrame = field(repr=False)
    id: str | None = None


def table_name(text: str) -> exp.Table:
    """Return the name of a table, its schema before it."""
    parts = [exp.to_identifier(part, quoted=True) for part in reversed(check_table_name(text).split("."))]
    return exp.Table(**dict(zip(("this", "db", "catalog"), parts, strict=False)))


def make(database: Database, making: Making) -> None:
    """Make the protected table: recode by joining level maps, suppress by an anti-join."""
    codes = [_load_map(database, number, one) for number, one in enumerate(making.recoded)]
    rows = [tuple(code[label] for code, label in zip(codes, row, strict=True)) for row in making.suppressed.iter_rows()]
    database.load(SUPPRESSED, {place(number): "whole" for number in range(len(codes))}, rows)
    database.run(exp.Create(this=table_name(making.table), kind="TABLE", expression=protected(database, making)))


def protected(engine: Engine, making: Making) -> exp.Select:
    """Return the query of the protected table."""
    own = [one.name for one in engine.columns]
    maps = {one.column: _map(number) for number, one in enumerate(making.recoded)}
    released: dict[str, exp.Expr] = {
        column: exp.column("label", maps[column]) if column in maps else exp.column(place(own.index(column)), "s")
        for column in making.columns
        if column != making.id
    }
    # In the order of the released values: rows that stand as those of the input do would tell who is whose neighbour.
    # Labels are ordered by their codes, as numbers are compared faster than texts.
    keys = [
        exp.column("code", maps[column]) if column in maps else by_bytes(engine, one.copy())
        for column, one in released.items()
    ]
    in_order = [exp.Ordered(this=one) for one in keys]
    if making.id is not None:
        number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[one.copy() for one in in_order]))
        released[making.id] = exp.cast(number, exp.DataType.Type.BIGINT)
    query = exp.select(*(exp.alias_(released[column].copy(), column, quoted=True) for column in making.columns))
    query = query.from_(plain(engine).subquery("s"))
    for column, alias in maps.items():
        joined = exp.column("k", alias).eq(key(exp.column(place(own.index(column)), "s")))
        query = query.join(_temporary(engine, alias), on=joined)
    same = [exp.column(place(number), "x").eq(exp.column("code", alias)) for number, alias in enumerate(maps.values())]
    left_out = exp.select(exp.Literal.number(1)).from_(_temporary(engine, SUPPRESSED, "x"))
    return query.where(exp.Not(this=exp.Exists(this=left_out.where(*same)))).order_by(*in_order)


def released_tally(table: str, columns: Sequence[str]) -> exp.Select:
    """Return how many records of a protected table have each combination of values: columns by place, and ``n``."""
    own = [exp.column(column, quoted=True) for column in columns]
    named = [exp.alias_(one.copy(), place(number), quoted=True) for number, one in enumerate(own)]
    counted = exp.alias_(exp.Count(this=exp.Star()), "n", quoted=True)
    return exp.select(*named, counted).from_(table_name(table)).group_by(*own)


def fetch_released(engine: Engine, table: str, columns: Sequence[str]) -> pl.DataFrame:
    """Return the tally of these columns of a protected table."""
    frame = engine.fetch(released_tally(table, columns))
    named = [frame[place(number)].alias(column) for number, column in enumerate(columns)]
    return pl.DataFrame([*named, frame["n"].cast(pl.Int64).alias(RECORDS)])


def n_out_of_order(engine: Engine, table: str, columns: Sequence[str], id_column: str) -> exp.Select:
    """Return the query of how many ids are not the place of their record in the order of released values: ``n``."""
    own = exp.column(id_column, quoted=True)
    keys = [by_bytes(engine, exp.column(column, quoted=True)) for column in columns if column != id_column]
    order = exp.Order(expressions=[exp.Ordered(this=one) for one in (*keys, own.copy())])
    numbered = exp.Window(this=exp.RowNumber(), order=order)
    inner = exp.select(exp.alias_(own.copy(), "own"), exp.alias_(numbered, "place")).from_(table_name(table))
    wrong = exp.or_(exp.column("own").neq(exp.column("place")), exp.column("own").is_(exp.null()))
    return exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(inner.subquery("t")).where(wrong)


def n_changed(engine: Engine, making: Making) -> exp.Select:
    """Return the query of how many released records are none of the original with their labels: ``n``."""
    columns = [column for column in making.columns if column != making.id]
    released = exp.select(*(exp.column(column, quoted=True) for column in columns)).from_(table_name(making.table))
    recorded = exp.select(*(_recorded(engine, making, column) for column in columns)).from_(plain(engine).subquery("s"))
    for number, one in enumerate(making.recoded):
        found = exp.column("k", _map(number)).eq(key(_own(engine, one.column)))
        recorded = recorded.join(_temporary(engine, _map(number)), on=found, join_type="left")
    more = exp.Except(this=released, expression=recorded, distinct=False)
    return exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(more.subquery("t"))


def _recorded(engine: Engine, making: Making, column: str) -> exp.Expr:
    """What a column of a record of the original may be released as: its label, or itself."""
    labels = {one.column: number for number, one in enumerate(making.recoded)}
    released = exp.column("label", _map(labels[column])) if column in labels else _own(engine, column)
    return exp.alias_(released, column, quoted=True)


def _own(engine: Engine, column: str) -> exp.Column:
    """A column of the original, as statements call it."""
    return exp.column(place([one.name for one in engine.columns].index(column)), "s")


def _temporary(engine: Engine, name: str, alias: str | None = None) -> exp.Expr:
    """A temporary table of ours, called by its name alone from there on."""
    return exp.alias_(exp.to_table(f"{engine.temporary}{name}"), alias or name, table=True)


def _map(number: int) -> str:
    return f"cloister_levels_{number}"


def _load_map(database: Database, number: int, one: Recoded) -> dict[str | None, int]:
    """Load the level map of a column; return the code of each label, its place in the order of their bytes."""
    frame = database.fetch(texts(database, one.column))
    labels = sorted(set(one.labels.values()), key=lambda label: (label or "").encode())
    codes = {label: code for code, label in enumerate(labels)}
    rows = []
    for value, text in zip(as_text(frame["value"]), frame["t"].cast(pl.String), strict=True):
        if value not in one.labels:
            raise InternalError(f"Column {one.column!r} has a value that was not counted before.")
        label = one.labels[value]
        rows.append((key_of(text), codes[label], label))
    database.load(_map(number), {"k": "text", "code": "whole", "label": "text"}, rows)
    return codes


def loading(name: str, columns: Mapping[str, Loaded], rows: Sequence[tuple[Any, ...]]) -> Iterator[exp.Expr]:
    """Yield the statements that make a temporary table of these rows."""
    defined = [
        exp.ColumnDef(this=exp.to_identifier(column), kind=exp.DataType(this=KINDS[kind]))
        for column, kind in columns.items()
    ]
    temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
    schema = exp.Schema(this=exp.to_table(name), expressions=defined)
    yield exp.Create(this=schema, kind="TABLE", properties=temporary)
    for start in range(0, len(rows), AT_ONCE):
        yield exp.insert(exp.values(rows[start : start + AT_ONCE]), name)


def dropping(table: str) -> exp.Expr:
    """Return the statement that removes a table."""
    return exp.Drop(tables=[table_name(table)], kind="TABLE", exists=True)


def looking_for(table: str) -> exp.Select:
    """Return how many tables of this name there are, in the schema that it names or the usual one: ``n``."""
    name = table_name(table)
    schema = exp.Literal.string(name.db) if name.db else exp.Anonymous(this="current_schema")
    where = [
        exp.column("table_name").eq(exp.Literal.string(name.name)),
        exp.column("table_schema").eq(schema),
    ]
    counted = exp.alias_(exp.Count(this=exp.Star()), "n")
    return exp.select(counted).from_(exp.to_table("information_schema.tables")).where(*where)
