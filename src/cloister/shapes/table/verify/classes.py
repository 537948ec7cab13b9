"""The equivalence classes of a released table, by which rules are judged, and the reference data of rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import polars as pl

from cloister.hierarchy import BoundHierarchy
from cloister.io import Tally, as_text
from cloister.shapes.table.format.guarantee import escape_name

COUNT = "records"  # name of the counting column
CLASS = "class\0"  # name of the column that numbers classes


TOLERANCE = 1e-12  # a measure this little beyond its threshold is rounding: thresholds may be reached


@dataclass(frozen=True)
class Reference:
    """The data with which rules compare the classes of a release; unavailable data are None or omitted."""

    n_least: int
    n_most: int
    whole: Tally | None = None  # sensitive columns of the input as text, named as `escape_name` does
    # values of a column in their natural order, missing omitted; for rules that need it
    order: Mapping[str, pl.Series] = field(default_factory=dict)
    groups: Mapping[tuple[str, str], BoundHierarchy] = field(default_factory=dict)
    # quasi-identifiers of each population table, generalized to the stated levels, by the table's name
    populations: Mapping[str, Tally] = field(default_factory=dict)
    # the least and the most patients that each class can have, where only the original says whose records they are
    patients: tuple[pl.Series, pl.Series] | None = None
    detail: Fraction = Fraction(1)  # the share of detail that all records keep: see `statements.detail_kept`


class ReleasedClasses:
    """The equivalence classes of records, and the frequency of each value in each class.

    Parameters
    ----------
    records : as text, which may be packed, columns named as `escape_name` does
    columns : the quasi-identifiers, in order
    """

    def __init__(self, records: Tally, columns: Sequence[str]) -> None:
        self.records = records
        self.columns = list(columns)
        self.sizes = self._count_records(self.columns, COUNT)
        self._cells: dict[str, pl.DataFrame] = {}

    def _count_records(self, keys: Sequence[str | pl.Expr], name: str) -> pl.DataFrame:
        """How many records have each combination of values; these as plain text, as there are far fewer."""
        counts = self.records.count(keys, name)
        return counts.with_columns(as_text(one) for one in counts if isinstance(one.dtype, pl.Enum))

    def tally(self, columns: Sequence[str]) -> Tally:
        """Return the number of records of each combination of values in each class, by its place in ``sizes``."""
        values = [pl.col(escape_name(column)).alias(f"value {place}") for place, column in enumerate(columns)]
        numbers = self.sizes.select(self.columns).with_row_index(CLASS)
        counts = self._count_records([*self.columns, *values], COUNT).join(numbers, on=self.columns, nulls_equal=True)
        return Tally(counts.select(CLASS, r"^value \d+$"), counts[COUNT])

    def cells(self, column: str) -> pl.DataFrame:
        """Return ``class``, ``size``, ``value`` and ``count`` of each value of a column in each class."""
        if column not in self._cells:
            cells = self._count_records([*self.columns, pl.col(escape_name(column)).alias("value")], "count")
            numbered = self.sizes.rename({COUNT: "size"}).with_row_index("class")
            joined = cells.join(numbered, on=self.columns, how="left", nulls_equal=True)
            self._cells[column] = joined.select("class", "size", "value", "count")
        return self._cells[column]

    def recorded(self, column: str) -> pl.DataFrame:
        """Return the cells of nonmissing values; ``size`` is the number of records with a value in the class."""
        cells = self.cells(column).filter(pl.col("value").is_not_null())
        return cells.with_columns(pl.col("count").sum().over("class").alias("size"))

    def by_class(self, cells: pl.DataFrame, measure: pl.Expr, otherwise: float) -> pl.Series:
        """Return a measure of the cells of each class, in the order of ``sizes``, with a default for empty classes."""
        found = cells.group_by("class").agg(measure.alias("measure"))
        every = self.sizes.select(pl.int_range(pl.len(), dtype=pl.get_index_type()).alias("class"))
        return every.join(found, on="class", how="left", maintain_order="left")["measure"].fill_null(otherwise)


def natural_order(column: pl.Series) -> pl.Series:
    """Return nonmissing values as text in their natural order: numbers and dates by size, other values by bytes."""
    if column.dtype != pl.String:
        return as_text(column.unique().sort()).drop_nulls()
    texts = column.drop_nulls().unique()
    numbers = texts.cast(pl.Float64, strict=False)
    if numbers.null_count() or numbers.is_nan().any():
        return texts.sort()
    return texts.to_frame("text").sort(numbers, "text")["text"]
