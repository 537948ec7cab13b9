"""What a released table promises, the classes that rules are judged by, and what it is compared with.

Releases whose levels differ from class to class, whose numbers were averaged, or of patients with several records are
compared with their original here, record by record, where that is known; otherwise by `verify_assignment`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from statistics import median
from typing import Any

import polars as pl

from cloister.hierarchy import BoundHierarchy, Hierarchy
from cloister.io import as_text, counted, distinct_values
from cloister.io.columns import packed
from cloister.results import Checks

Description = Mapping[str, Any]
"""A privacy rule as the manifest describes it: its model, its column if there is one, and its numbers."""


def inside(column: str) -> str:
    """Return the name of a column inside the verifier, whatever its own: no pattern to Polars, and none of ours.

    Nor does any become that of another with the suffix of a join. Names keep their order.
    """
    return f" {column}\0"


@dataclass(frozen=True)
class Guarantee:
    """What a released table promises, as its manifest states it."""

    columns: tuple[str, ...]
    # level of each quasi-identifier; the highest that occurs where levels differ between classes
    levels: Mapping[str, int]
    k: int
    released: int | None
    suppressed: int | None
    rules: tuple[Description, ...] = ()
    id: str | None = None
    numbered: bool = False  # whether it holds numbers; else it holds keyed hashes
    # what tells patients apart where one may have several records; numbered again in each class, or not released
    patient: str | None = None
    stars: bool = False  # whether suppressed records are written as rows of ``*``
    limit: int | None = None
    # where levels differ between classes, those that occur in each quasi-identifier, ascending; else empty
    recoded: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    # quasi-identifiers whose values were replaced by the mean or median of their class, and which of these
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
    """The table a release was made from, and what generalized it; or a table of people that rules compare with."""

    # the table; sensitive columns with the types they were read with, which say how values are ordered
    frame: pl.DataFrame
    hierarchies: Mapping[str, BoundHierarchy]
    # bound hierarchies of sensitive columns, by the column and the words for each, for rules that need one
    groups: Mapping[tuple[str, str], BoundHierarchy] = field(default_factory=dict)
    # position in ``frame`` of what each released record was made from, None for a row of ``*``; None if that is not
    # known
    records: pl.Series | None = field(default=None, repr=False)


def bound_hierarchies(frame: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> dict[str, BoundHierarchy]:
    """Return the hierarchy of each of these columns, bound to the values of a table."""
    return {
        column: hierarchy.bind(column, distinct_values(frame.get_column(column)))
        for column, hierarchy in hierarchies.items()
    }


COUNT = "records"  # name of the counting column
TOLERANCE = 1e-12  # a measure this little beyond its threshold is rounding: thresholds may be reached


@dataclass(frozen=True)
class Reference:
    """What the classes of a release are compared with; what is not at hand is None or left out."""

    n_least: int
    n_most: int
    whole: pl.DataFrame | None = None  # sensitive columns of the input as text, named as `inside`
    # values of a column in their natural order, missing left out; for rules that need it
    order: Mapping[str, pl.Series] = field(default_factory=dict)
    groups: Mapping[tuple[str, str], BoundHierarchy] = field(default_factory=dict)
    # quasi-identifiers of each population table, generalized to the stated levels, by the table's name
    populations: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    # the least and the most patients that each class can have, where only the original says whose records they are
    patients: tuple[pl.Series, pl.Series] | None = None


class ReleasedClasses:
    """The equivalence classes of records, and how often each value occurs in each.

    Parameters
    ----------
    records : as text, which may be packed, columns named as `inside`; or a tally of them
    columns : the quasi-identifiers, in order
    """

    def __init__(self, records: pl.DataFrame, columns: Sequence[str]) -> None:
        self.records = records
        self.columns = list(columns)
        self.sizes = self._counted(self.columns, COUNT)
        self._cells: dict[str, pl.DataFrame] = {}

    def _counted(self, keys: Sequence[str | pl.Expr], name: str) -> pl.DataFrame:
        """How many records have each combination of values; these as plain text, as there are far fewer."""
        counts = self.records.group_by(keys).agg(counted(self.records).alias(name))
        return counts.with_columns(as_text(one) for one in counts if isinstance(one.dtype, pl.Enum))

    def cells(self, column: str) -> pl.DataFrame:
        """Return ``class``, ``size``, ``value`` and ``count`` of each value of a column in each class."""
        if column not in self._cells:
            cells = self._counted([*self.columns, pl.col(inside(column)).alias("value")], "count")
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


ROUNDING = Fraction(1, 200)  # how far an average may be from the exact one: half of a hundredth


def check_record_by_record(texts: pl.DataFrame, guarantee: Guarantee, original: OriginalTable, checks: Checks) -> None:
    """Compare every released record with the record it was made from.

    ``texts``: the released table as text, rows of ``*`` included; ``original.records`` says whose each row is.
    """
    records = pl.Series([], dtype=pl.Int64) if original.records is None else original.records
    known = records.drop_nulls()
    is_whose = (
        len(records) == texts.height
        and known.n_unique() == len(known)
        and (len(known) == 0 or 0 <= int(known.sort()[0]) <= int(known.sort()[-1]) < original.frame.height)
    )
    checks.require(
        is_whose,
        "every released record was made from one record of the original, and no two from the same",
        "it is not known from which record of the original each released record was made",
    )
    if not is_whose:
        return
    released, own = texts.filter(records.is_not_null()), original.frame[known]
    wrong = 0
    for column in labelled(guarantee):
        fits = pl.Series([False]).new_from_index(0, released.height)
        for level in levels_of(guarantee, column):
            fits |= ancestors(own[column], original.hierarchies[column], level).eq_missing(released[column])
        wrong += int((~fits).sum())
    checks.require(
        wrong == 0,
        "every label is that of its record's own value, at a level stated for its column",
        f"{wrong} labels are not those of the value of their record at any level stated for the column",
    )
    if others := recorded_columns(guarantee):
        moved = sum(int(released[column].ne_missing(own[column]).sum()) for column in others)
        checks.require(
            moved == 0,
            "columns that were not generalized are as in the original",
            f"{moved} values differ from the original in columns that were not generalized",
        )
    _check_averages(released, own, guarantee, checks)


def _check_averages(released: pl.DataFrame, own: pl.DataFrame, guarantee: Guarantee, checks: Checks) -> None:
    """Averages are those of the recorded values of all records that look alike; empty where one has no value."""
    if not guarantee.averaged:
        return
    columns, wrong = list(guarantee.levels), 0
    for column, how in guarantee.averaged.items():
        values = released.select(columns).with_columns(own[column].alias("recorded"), released[column].alias("shown"))
        groups = values.group_by(columns).agg(pl.col("recorded"), pl.col("shown").first())
        for recorded, shown in groups.select("recorded", "shown").iter_rows():
            if shown is None or None in recorded:
                wrong += not (shown is None and None in recorded)
                continue
            numbers = [Fraction(value) for value in recorded]
            exact = median(numbers) if how == "median" else sum(numbers, Fraction(0)) / len(numbers)
            try:
                wrong += abs(Fraction(shown) - exact) > ROUNDING
            except ValueError:
                wrong += 1
    checks.require(
        wrong == 0,
        "averages are those of the recorded values of each class",
        f"{wrong} averages are not those of the recorded values of their class",
    )


def labelled(guarantee: Guarantee) -> list[str]:
    """Return the quasi-identifiers that are released as labels."""
    return [column for column in guarantee.levels if column not in guarantee.averaged]


def recorded_columns(guarantee: Guarantee) -> list[str]:
    """Return the columns that are released as recorded."""
    return [column for column in guarantee.columns if column not in guarantee.levels and column != guarantee.id]


def levels_of(guarantee: Guarantee, column: str) -> tuple[int, ...]:
    """Return the levels that occur in a quasi-identifier."""
    return guarantee.recoded.get(column, (guarantee.levels[column],))


def ancestors(text: pl.Series, hierarchy: BoundHierarchy, level: int) -> pl.Series:
    """Return the ancestor of each value at a level, by a join with the bound hierarchy's rows."""
    columns = {"value": hierarchy.values, "label": hierarchy.labels[level]}
    pairs, values = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), text
    if isinstance(text.dtype, pl.Enum):
        values = pl.concat([text.dtype.categories, pl.Series([None], dtype=pl.String)])
    own = values.to_frame("value").join(pairs, on="value", how="left", nulls_equal=True, maintain_order="left")["label"]
    if isinstance(text.dtype, pl.Enum):
        own = packed(own, always=True).gather(text.to_physical().cast(pl.UInt32).fill_null(values.len() - 1))
    return own.alias(text.name)


SAME = "records of one number in a class are those of one patient"


def with_patients(released: pl.DataFrame, guarantee: Guarantee, original: OriginalTable) -> pl.DataFrame:
    """Return the records with the patient of each, by place, where only the original says whose they are."""
    patient = guarantee.patient
    if patient is None or patient in released.columns or original.records is None:
        return released
    return released.with_columns(original.frame[patient].gather(original.records.drop_nulls()).alias(patient))


def check_numbers(texts: pl.DataFrame, guarantee: Guarantee, keys: Sequence[str], checks: Checks) -> None:
    """Neither order nor numbers carry information.

    Records are sorted by their values, then by number; the patients of a class are numbered from 1 on by their records,
    compared one after the other.
    """
    number = pl.col(guarantee.id or "").cast(pl.Int64, strict=False)
    values = texts.select(pl.col(keys).fill_null(""), number.alias("number"))
    checks.require(
        values.equals(values.sort([*keys, "number"])),
        "records are sorted by their released values and numbers",
        "records are not sorted by their released values and numbers: their order may carry information",
    )
    place = pl.struct(keys).ne_missing(pl.struct(keys).shift()).fill_null(value=True).cum_sum()
    records = values.with_columns(place.alias("place")).filter(pl.col("number").is_not_null())
    histories = records.group_by([*guarantee.levels, "number"]).agg(pl.col("place").sort())
    wrong = 0
    by_class = histories.group_by(list(guarantee.levels)).agg("number", "place")
    for numbers, places in by_class.select("number", "place").iter_rows():
        ordered = sorted(zip(numbers, places, strict=True))
        in_order = all(one <= next_one for (_, one), (_, next_one) in pairwise(ordered))
        wrong += [number for number, _ in ordered] != list(range(1, len(ordered) + 1)) or not in_order
    checks.require(
        wrong == 0 and records.height == texts.height - (texts[guarantee.id or ""] == "*").sum(),
        "patients are numbered from 1 on in each class, by their released records",
        "patients are not numbered 1, 2, 3 ... in each class by their released records",
    )


def check_same_patients(released: pl.DataFrame, guarantee: Guarantee, original: OriginalTable, checks: Checks) -> None:
    """Where it is known from which record each was made: numbers of a class and patients belong to each other."""
    patient = guarantee.patient
    if patient is None or guarantee.id is None or original.records is None:
        return
    own = released.select([*guarantee.levels, patient]).with_columns(
        original.frame[patient].gather(original.records.drop_nulls()).alias("own")
    )
    kinds = [patient, "own"], [patient], ["own"]
    pairs, numbers, patients = (own.select([*guarantee.levels, *kind]).n_unique() for kind in kinds)
    checks.require(pairs == numbers == patients, SAME, "records of one number in a class are of several patients")


def histories(records: pl.DataFrame, guarantee: Guarantee) -> pl.DataFrame:
    """Return how many patients of a class have the same records: the class, ``history`` and the count."""
    classes, patient = list(guarantee.levels), guarantee.patient or ""
    others = [column for column in guarantee.columns if column not in (*classes, patient)]
    cells = [
        pl.when(pl.col(column).is_null())
        .then(pl.lit("-"))
        .otherwise(pl.concat_str(pl.col(column).str.len_bytes(), pl.lit(":"), pl.col(column)))
        for column in others
    ]
    row = pl.concat_str(*cells) if cells else pl.lit(".")
    found = records.group_by([*classes, patient]).agg(row.sort().str.join("|").alias("history"))
    return found.group_by([*classes, "history"]).agg(pl.len().cast(pl.Int64).alias(COUNT))
