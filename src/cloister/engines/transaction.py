"""Tables of a database that is asked through SQL alone: what is loaded into it, in statements that all of them take."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from .in_database import table_name
from .relation import Loaded

AT_ONCE = 500
"""Rows that one INSERT takes along."""

KINDS: dict[Loaded, Any] = {"text": exp.DataType.Type.TEXT, "whole": exp.DataType.Type.BIGINT}


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
