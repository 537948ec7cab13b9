"""A table that stays where it is: its columns, and what an engine must be able to do with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import polars as pl

from cloister.errors import InputError, setting
from cloister.io.foreign import call_foreign

if TYPE_CHECKING:
    from sqlglot import exp

Kind = Literal["text", "float", "other"]
Loaded = Literal["text", "whole"]


@dataclass(frozen=True)
class EngineColumn:
    """A column of a table that stays where it is.

    Attributes
    ----------
    kind : text, where an empty one is missing; float, where NaN is; or anything else of one value a cell
    seen_as : what statements call it; None for its name
    """

    name: str
    kind: Kind = "other"
    seen_as: str | None = None


class Engine(Protocol):
    """What can count the records of a table where they are.

    Statements see the table through a view, or a temporary table, of their own.
    """

    @property
    def view(self) -> str:
        """What statements call the table."""

    @property
    def temporary(self) -> str:
        """What stands before the names of temporary tables, so that no others are meant."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def dialect(self) -> str:
        """What sqlglot calls its SQL."""

    @property
    def file(self) -> str:
        """Name of the source, for messages."""

    @property
    def columns(self) -> tuple[EngineColumn, ...]:
        """Columns of the table, in its order."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Texts that stand for a missing value."""

    def fetch(self, query: "exp.Query") -> pl.DataFrame:
        """Return the rows of a query: counts, of a table too large or too secret to be fetched itself."""


class Database(Engine, Protocol):
    """An engine in which the protected table is made; nothing of it stays unless it is committed."""

    def run(self, statement: "exp.Expr") -> None:
        """Run a statement inside the one transaction there is."""

    def load(self, name: str, columns: Mapping[str, Loaded], rows: Sequence[tuple[object, ...]]) -> None:
        """Make a temporary table of these rows, of texts and whole numbers."""

    def is_there(self, table: str) -> bool:
        """Whether there is a table of this name."""

    def commit(self) -> None:
        """Make what was done in the transaction stay."""

    def undo(self, table: str) -> None:
        """Remove a table whose making was committed already."""


def names_of(columns: Sequence[EngineColumn]) -> list[str]:
    """Return the names of columns."""
    return [column.name for column in columns]


def kind_of(kind: pl.DataType) -> Kind:
    """Return the kind of a column of this type."""
    if kind == pl.String:
        return "text"
    return "float" if kind.is_float() else "other"


def as_in_file(frame: pl.DataFrame, schema: pl.Schema, file: str) -> pl.DataFrame:
    """Return the rows of a query, columns by place in the types that a file has for us."""
    types = {f"c{number}": kind for number, kind in enumerate(schema.values())}
    casts = [pl.col(name).cast(kind) for name, kind in types.items() if name in frame.columns]
    refusal = InputError(
        f"{file} has a type of numbers or dates that this engine cannot count. Give {setting('engine', 'memory')}."
    )
    return call_foreign(lambda: frame.with_columns(casts), refusal)
