"""What a released table promises, what it can be compared with, and the classes that rules are judged by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from cloister.hierarchy import BoundHierarchy, Hierarchy
from cloister.io import as_text, counted, distinct_values

Description = Mapping[str, Any]
"""A privacy rule as the manifest describes it: its model, its column if there is one, and its numbers."""


def inside(column: str) -> str:
    """Return the name of a column inside the verifier: no pattern to Polars and none of ours, whatever its own is."""
    return f" {column}"


@dataclass(frozen=True)
class Guarantee:
    """What a released table promises, as its manifest states it.

    Attributes
    ----------
    levels : level of each quasi-identifier; the highest that occurs where levels differ between classes
    numbered : whether it holds numbers; else it holds keyed hashes
    stars : whether suppressed records are written as rows of ``*``
    recoded : where levels differ between classes, those that occur in each quasi-identifier, ascending; else empty
    patient : what tells patients apart where one may have several records; numbered anew in each class, or not released
    averaged : quasi-identifiers whose values were replaced by the mean or median of their class, and which of these
    """

    columns: tuple[str, ...]
    levels: Mapping[str, int]
    k: int
    released: int | None
    suppressed: int | None
    rules: tuple[Description, ...] = ()
    id: str | None = None
    numbered: bool = False
    patient: str | None = None
    stars: bool = False
    limit: int | None = None
    recoded: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    averaged: Mapping[str, str] = field(default_factory=dict)

    def inside(self) -> "Guarantee":
        """Return the same of columns as they are named inside the verifier."""
        return replace(
            self,
            columns=tuple(map(inside, self.columns)),
            levels={inside(column): level for column, level in self.levels.items()},
            recoded={inside(column): levels for column, levels in self.recoded.items()},
            averaged={inside(column): how for column, how in self.averaged.items()},
            id=self.id and inside(self.id),
            patient=self.patient and inside(self.patient),
        )

    @property
    def has_one_transformation(self) -> bool:
        """Whether classes follow from the original and one level for each column."""
        return not self.recoded and not self.averaged


@dataclass(frozen=True)
class OriginalTable:
    """The table a release was made from, and what it was generalized by; or a table of people that rules compare with.

    Attributes
    ----------
    frame : the table; sensitive columns with the types they were read with, which say how values are ordered
    groups : bound hierarchies of sensitive columns, by the column and the words for each, for rules that need one
    records : position in ``frame`` of what each released record was made from, None for a row of ``*``; None if that is
        not known
    """

    frame: pl.DataFrame
    hierarchies: Mapping[str, BoundHierarchy]
    groups: Mapping[tuple[str, str], BoundHierarchy] = field(default_factory=dict)
    records: pl.Series | None = field(default=None, repr=False)


def bound_hierarchies(frame: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> dict[str, BoundHierarchy]:
    """Return the hierarchy of each of these columns, bound to the values of a table."""
    return {
        column: hierarchy.bind(column, distinct_values(as_text(frame.get_column(column))))
        for column, hierarchy in hierarchies.items()
    }


COUNT = "records"  # name of the counting column
TOLERANCE = 1e-12  # a measure this little beyond its threshold is rounding: thresholds may be reached


@dataclass(frozen=True)
class Reference:
    """What the classes of a release are compared with; what is not at hand is None or left out.

    Attributes
    ----------
    whole : sensitive columns of the input as text, named as `inside`
    order : values of a column in their natural order, missing left out; for rules that need it
    populations : quasi-identifiers of each population table, generalized to the stated levels, by the table's name
    """

    n_least: int
    n_most: int
    whole: pl.DataFrame | None = None
    order: Mapping[str, pl.Series] = field(default_factory=dict)
    groups: Mapping[tuple[str, str], BoundHierarchy] = field(default_factory=dict)
    populations: Mapping[str, pl.DataFrame] = field(default_factory=dict)


class ReleasedClasses:
    """The equivalence classes of records, and how often each value occurs in each.

    Parameters
    ----------
    records : as text, columns named as `inside`; or a tally of them
    columns : the quasi-identifiers, in order
    """

    def __init__(self, records: pl.DataFrame, columns: Sequence[str]) -> None:
        self.records = records
        self.columns = list(columns)
        self.sizes = records.group_by(self.columns).agg(counted(records).alias(COUNT))
        self._cells: dict[str, pl.DataFrame] = {}

    def cells(self, column: str) -> pl.DataFrame:
        """Return ``class``, ``size``, ``value`` and ``count`` of each value of a column in each class."""
        if column not in self._cells:
            value = pl.col(inside(column)).alias("value")
            cells = self.records.group_by([*self.columns, value]).agg(counted(self.records).alias("count"))
            numbered = self.sizes.rename({COUNT: "size"}).with_row_index("class")
            joined = cells.join(numbered, on=self.columns, how="left", nulls_equal=True)
            self._cells[column] = joined.select("class", "size", "value", "count")
        return self._cells[column]

    def recorded(self, column: str) -> pl.DataFrame:
        """Return the cells of values that are recorded; ``size`` is the records of the class that have one."""
        cells = self.cells(column).filter(pl.col("value").is_not_null())
        return cells.with_columns(pl.col("count").sum().over("class").alias("size"))

    def by_class(self, cells: pl.DataFrame, measure: pl.Expr, otherwise: float) -> pl.Series:
        """Return a measure of the cells of each class, in the order of ``sizes``; for a class without any, another."""
        found = cells.group_by("class").agg(measure.alias("measure"))
        every = self.sizes.select(pl.int_range(pl.len(), dtype=pl.get_index_type()).alias("class"))
        return every.join(found, on="class", how="left", maintain_order="left")["measure"].fill_null(otherwise)


def natural_order(column: pl.Series) -> pl.Series:
    """Return the values as text in their natural order, missing left out: numbers and dates by size, else by bytes."""
    if column.dtype != pl.String:
        return as_text(column.unique().sort()).drop_nulls()
    texts = column.drop_nulls().unique()
    numbers = texts.cast(pl.Float64, strict=False)
    if numbers.null_count() or numbers.is_nan().any():
        return texts.sort()
    return texts.to_frame("text").sort(numbers, "text")["text"]
