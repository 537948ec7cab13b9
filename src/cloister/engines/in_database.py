"""Create the protected table in the database: statements that create it, and counts that check it."""

import functools
import operator
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import polars as pl
from sqlglot import exp

from cloister.errors import InternalError
from cloister.io import Tally, as_text
from cloister.io.query import Dialect

from .choice import check_table_name
from .statements import COUNT, GIVEN, MISSING, Engine, Kind, by_bytes, key, n_records, names_of, place, plain, texts

SUPPRESSED = "cloister_suppressed"
LARGEST = 2**62
AT_ONCE = 500  # Rows that one INSERT takes along

Loaded = Literal["text", "whole"]
KINDS = {"text": exp.DataType.Type.TEXT, "whole": exp.DataType.Type.BIGINT}


@dataclass(frozen=True, kw_only=True)
class Database(Engine):
    """An engine that creates the protected table; changes are rolled back unless committed."""

    dialect: ClassVar[Dialect]

    @abstractmethod
    def run(self, statement: exp.Expr) -> None:
        """Run a statement inside the transaction."""

    @abstractmethod
    def commit(self) -> None:
        """Commit the transaction."""

    def load(self, name: str, columns: Mapping[str, Loaded], rows: Sequence[tuple[object, ...]]) -> None:
        """Create a temporary table of these rows of texts and whole numbers."""
        defined = [
            exp.ColumnDef(this=exp.to_identifier(column), kind=exp.DataType(this=KINDS[kind]))
            for column, kind in columns.items()
        ]
        temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
        schema = exp.Schema(this=exp.to_table(name), expressions=defined)
        self.run(exp.Create(this=schema, kind="TABLE", properties=temporary))
        for start in range(0, len(rows), AT_ONCE):
            self.run(exp.insert(exp.values(rows[start : start + AT_ONCE]), name))

    def is_there(self, table: str) -> bool:
        """Whether a table of this name exists, in its stated schema or the default schema."""
        name = table_name(table)
        schema = exp.Literal.string(name.db) if name.db else exp.Anonymous(this="current_schema")
        where = [exp.column("table_name").eq(exp.Literal.string(name.name)), exp.column("table_schema").eq(schema)]
        query = exp.select(n_records()).from_(exp.to_table("information_schema.tables")).where(*where)
        return bool(self.fetch(query).item())

    def undo(self, table: str) -> None:
        """Drop a table whose creation is already committed."""
        self.run(exp.Drop(tables=[table_name(table)], kind="TABLE", exists=True))


@dataclass(frozen=True)
class Recoded:
    """A quasi-identifier and the labels of its values, by value as text; None for a missing value."""

    column: str
    labels: Mapping[str | None, str | None]


@dataclass(frozen=True)
class Making:
    """A request to create a protected table."""

    table: str
    columns: tuple[str, ...]  # released ones, in order
    recoded: tuple[Recoded, ...]  # quasi-identifiers
    suppressed: pl.DataFrame  # labels of the classes that are omitted, columns as in ``recoded``
    id: str | None = None  # the column that is numbered in the order of the released values


def table_name(text: str) -> exp.Table:
    """Return the name of a table with its schema."""
    parts = [exp.to_identifier(part, quoted=True) for part in reversed(check_table_name(text).split("."))]
    return exp.Table(**dict(zip(("this", "db", "catalog"), parts, strict=False)))


def make(database: Database, making: Making) -> None:
    """Create the protected table: recode by joining level maps, suppress by an anti-join."""
    codes = _codes(making)
    for number, one in enumerate(making.recoded):
        rows = [(key, codes[one.column][label], label) for key, label in _keys(database, one)]
        database.load(_map(number), {"k": "text", "code": "whole", "label": "text"}, rows)
    runs = [run for run in _runs(making) if run[0] in codes]
    suppressed = making.suppressed.iter_rows(named=True)
    gone = [tuple(sum(codes[column][row[column]] for column in run) for run in runs) for row in suppressed]
    database.load(SUPPRESSED, {place(number): "whole" for number in range(len(runs))}, gone)
    database.run(exp.Create(this=table_name(making.table), kind="TABLE", expression=protected_query(database, making)))


def _runs(making: Making) -> list[list[str]]:
    """Released columns in order; adjacent recoded ones together, as many as one whole number of 62 bits can order."""
    sizes = {one.column: len(set(one.labels.values())) for one in making.recoded}
    runs: list[list[str]] = []
    product = 0
    for column in making.columns:
        product *= sizes.get(column, 0)
        if 0 < product < LARGEST:
            runs[-1].append(column)
        elif column != making.id:
            runs.append([column])
            product = sizes.get(column, 0)
    return runs


def _codes(making: Making) -> dict[str, dict[str | None, int]]:
    """The code of each label of each recoded column; sums of the codes of a run order as the bytes of its labels do."""
    labels = {one.column: sorted(set(one.labels.values()), key=lambda x: (x or "").encode()) for one in making.recoded}
    codes: dict[str, dict[str | None, int]] = {}
    for run in _runs(making):
        unit = 1
        for column in reversed(run if run[0] in labels else []):
            codes[column] = {label: unit * number for number, label in enumerate(labels[column])}
            unit *= len(labels[column])
    return codes


def protected_query(engine: Engine, making: Making) -> exp.Select:
    """Return the query of the protected table."""
    maps = {one.column: _map(number) for number, one in enumerate(making.recoded)}
    released: dict[str, exp.Expr] = {
        column: exp.column("label", maps[column]) if column in maps else _own(engine, column)
        for column in making.columns
        if column != making.id
    }
    # In the order of the released values: rows in the order of the input would reveal who is next to whom there.
    # Labels are ordered by their codes, as one number is compared faster than many texts.
    keys: list[exp.Expr] = []
    same: list[exp.Expr] = []
    for run in _runs(making):
        if run[0] in maps:
            keys.append(functools.reduce(operator.add, (exp.column("code", maps[column]) for column in run)))
            same.append(exp.column(place(len(same)), "x").eq(keys[-1].copy()))
        else:
            keys.append(by_bytes(engine, released[run[0]].copy()))
    in_order = [exp.Ordered(this=one) for one in keys]
    if making.id is not None:
        number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[one.copy() for one in in_order]))
        released[making.id] = exp.cast(number, exp.DataType.Type.BIGINT)
    query = exp.select(*(exp.alias_(released[column].copy(), column, quoted=True) for column in making.columns))
    query = query.from_(plain(engine).subquery("s"))
    for column, alias in maps.items():
        query = query.join(_temporary(engine, alias), on=exp.column("k", alias).eq(_key(engine, column)))
    suppressed = exp.select(exp.Literal.number(1)).from_(_temporary(engine, SUPPRESSED, "x"))
    return query.where(exp.Not(this=exp.Exists(this=suppressed.where(*same)))).order_by(*in_order)


def fetch_released(engine: Engine, table: str, columns: Sequence[str]) -> Tally:
    """Count the records of a protected table with each combination of values."""
    own = [exp.column(column, quoted=True) for column in columns]
    placed = [exp.alias_(one.copy(), place(number), quoted=True) for number, one in enumerate(own)]
    frame = engine.fetch(exp.select(*placed, n_records()).from_(table_name(table)).group_by(*own))
    named = [frame[place(number)].alias(column) for number, column in enumerate(columns)]
    return Tally(pl.DataFrame(named), frame[COUNT].cast(pl.Int64))


def n_changed(engine: Engine, making: Making) -> exp.Select:
    """Return the query that counts the released records that match no original record with its labels: ``n``."""
    columns = [column for column in making.columns if column != making.id]
    recorded: dict[str, exp.Expr] = {column: _own(engine, column) for column in columns}
    original = exp.Select().from_(plain(engine).subquery("s"))
    for number, one in enumerate(making.recoded):
        if _kind(engine, one.column) != "text" or any(value != label for value, label in one.labels.items()):
            found = exp.column("k", _map(number)).eq(_key(engine, one.column))
            original = original.join(_temporary(engine, _map(number)), on=found, join_type="left")
            recorded[one.column] = exp.column("label", _map(number))
    original = original.select(*(exp.alias_(one, column, quoted=True) for column, one in recorded.items()))
    released = exp.select(*(exp.column(column, quoted=True) for column in columns)).from_(table_name(making.table))
    more = exp.Except(this=released, expression=original, distinct=False)
    return exp.select(n_records()).from_(more.subquery("t"))


def _own(engine: Engine, column: str) -> exp.Column:
    """The name of an original column in statements."""
    return exp.column(place(names_of(engine.columns).index(column)), "s")


def _kind(engine: Engine, column: str) -> Kind:
    return next(one.kind for one in engine.columns if one.name == column)


def _key(engine: Engine, column: str) -> exp.Expr:
    """The text by which a value of a column finds its label; one that is text is never empty, and is its own key."""
    own = _own(engine, column)
    return exp.func("COALESCE", own, exp.Literal.string(MISSING)) if _kind(engine, column) == "text" else key(own)


def _temporary(engine: Engine, name: str, alias: str | None = None) -> exp.Expr:
    """A temporary table of ours; statements use its name without a schema."""
    return exp.alias_(exp.to_table(f"{engine.temporary}{name}"), alias or name, table=True)


def _map(number: int) -> str:
    return f"cloister_levels_{number}"


def _keys(database: Database, one: Recoded) -> list[tuple[str, str | None]]:
    """The key by which each value of a column is joined, and its label."""
    if _kind(database, one.column) == "text":
        return [(value or MISSING, label) for value, label in one.labels.items()]
    frame = database.fetch(texts(database, one.column))
    if not {*as_text(frame["value"])} <= one.labels.keys():
        raise InternalError(f"Column {one.column!r} has a value that was not counted before.")
    keys = [MISSING if text is None else GIVEN + text for text in frame["t"].cast(pl.String)]  # as `key` makes them
    return [(key, one.labels[value]) for value, key in zip(as_text(frame["value"]), keys, strict=True)]
