"""The verification script as a single SELECT for PostgreSQL, DuckDB or Spark, where the records are.

Views and temporary tables of the script become parts of a WITH clause. An account that may only read can run it,
nothing stays in the database, and no table there is hidden by one of ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from .script import COLUMNS, Script, identifier, literal

if TYPE_CHECKING:
    from sqlglot import exp

SPARK = "spark"
BY_BYTES = {"postgres": ' COLLATE "C"', "duckdb": ' COLLATE "binary"', SPARK: " COLLATE UTF8_BINARY"}
"""By the dialect, as `sqlglot` names it, how texts are compared by their bytes, whatever the collation of a column."""


@dataclass(frozen=True)
class TableLocation:
    """The location of the records of a release.

    ``dialect``: of SQL, as `sqlglot` names it; ``name``: what the script calls the table; ``records``: a query of its
    columns as text; ``columns``: a query of the names and the places of the columns that are there
    """

    dialect: str
    name: str
    records: str
    columns: str


def table_in_database(dialect: str, table: str, columns: Sequence[str]) -> TableLocation:
    """Return the location of a table; its name may have a schema prefix."""
    *schema, name = table.split(".")
    # DuckDB would take a table for the part of the WITH clause that has its name.
    parts = [*(schema or ["main"] * (dialect == "duckdb")), name]
    where = literal(schema[-1]) if schema else "current_schema()"
    found = (
        "(SELECT CAST(column_name AS VARCHAR), row_number() OVER (ORDER BY ordinal_position) "  # noqa: S608
        f"FROM information_schema.columns WHERE table_name = {literal(name)} AND table_schema = {where})"
    )
    cells = {column: column for column in columns}
    return TableLocation(dialect, table, as_texts(dialect, ".".join(map(identifier, parts)), cells), found)


def as_texts(dialect: str, table: str, columns: Mapping[str, str]) -> str:
    """Return a query of columns, by their names in the database, as text that is compared byte by byte.

    An empty text is missing, as it is in files.
    """
    cells = (
        f"NULLIF(CAST({identifier(there)} AS VARCHAR), ''){BY_BYTES[dialect]} AS {identifier(name)}"
        for name, there in columns.items()
    )
    return f"(SELECT {', '.join(cells)} FROM {table})"  # noqa: S608  (names are quoted)


@dataclass(frozen=True)
class ScriptThere(Script):
    """The script for records that are in a database."""

    place: TableLocation

    def text(self, folder: str = "", frames: Mapping[str, str] = MappingProxyType({})) -> str:  # noqa: ARG002
        """Return the script in the dialect of the database."""
        return self.select().sql(dialect=self.place.dialect, pretty=True) + "\n"

    def select(self) -> "exp.Select":
        """Return the script as a single SELECT, which `sqlglot` can write in any dialect."""
        there = {self.place.name: self.place.records, COLUMNS: self.place.columns}
        return _as_one_select(super().text(frames=there))


def _as_one_select(script: str) -> "exp.Select":
    """Return one SELECT in place of DuckDB statements that make views and temporary tables."""
    import sqlglot  # loaded only where records are in a database
    from sqlglot import exp

    *made, result = [one for one in sqlglot.parse(script, read="duckdb") if one is not None]
    assert isinstance(result, exp.Select)
    for one in made:
        assert isinstance(one, exp.Create)
        body = one.expression
        assert isinstance(body, exp.Select)
        body.comments = one.comments
        result = result.with_(one.this.name, body, copy=False)
    from_or_join = (one for one in result.find_all(exp.Subquery) if isinstance(one.parent, exp.From | exp.Join))
    for number, subquery in enumerate(one for one in from_or_join if not one.alias):
        subquery.set("alias", exp.TableAlias(this=exp.to_identifier(f"part_{number}")))
    return result
