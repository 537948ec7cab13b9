"""The guarantee of a released table, and the original table for comparison."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from cloister.hierarchy import BoundHierarchy, Hierarchy, Intervals
from cloister.hierarchy.value_lists import list_values, may_list, read_list
from cloister.io import Tally, as_text, distinct_values
from cloister.release.figures import label_counts

Description = Mapping[str, Any]
"""A privacy rule as the manifest describes it: its model, its column if there is one, and its numbers."""


def escape_name(column: str) -> str:
    """Return the name of a column inside the verifier: never a pattern to Polars, and never a name of our own.

    Nor does any become that of another with the suffix of a join. Names keep their order.
    """
    return f" {column}\0"


@dataclass(frozen=True)
class Questions:
    """What decides on the questions that labels answer which resist downcoding.

    Attributes
    ----------
    columns : the quasi-identifiers
    weights : of columns, 1 where there is none
    bounds : lowest and highest level allowed of a column, where it is bounded
    by_level : whether a label loses its level, and not the number of its values
    """

    columns: tuple[str, ...]
    weights: Mapping[str, float]
    bounds: Mapping[str, tuple[int, int | None]]
    by_level: bool

    def inside(self) -> "Questions":
        """Return them with columns renamed as inside the verifier."""
        weights = {escape_name(column): weight for column, weight in self.weights.items()}
        bounds = {escape_name(column): bound for column, bound in self.bounds.items()}
        return replace(self, columns=tuple(map(escape_name, self.columns)), weights=weights, bounds=bounds)


@dataclass(frozen=True)
class Guarantee:
    """The guarantee of a released table, as its manifest states it."""

    columns: tuple[str, ...]
    # level of each quasi-identifier; the highest that occurs where levels differ between classes
    levels: Mapping[str, int]
    k: int
    released: int | None
    suppressed: int | None
    rules: tuple[Description, ...] = ()
    id: str | None = None
    numbered: bool = False  # whether it holds numbers; else it holds keyed hashes
    # what distinguishes patients where one may have several records; numbered again in each class, or not released
    patient: str | None = None
    stars: bool = False  # whether suppressed records are written as rows of ``*``
    limit: int | None = None
    # where levels differ between classes, those that occur in each quasi-identifier, ascending; else empty
    recoded: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    # quasi-identifiers whose values were replaced by the mean, median or mode of their class, and which of these
    averaged: Mapping[str, str] = field(default_factory=dict)
    tops: Mapping[str, int] = field(default_factory=dict)  # highest level of the hierarchy of each quasi-identifier
    questions: Questions | None = None  # where labels resist downcoding

    def inside(self) -> "Guarantee":
        """Return the guarantee with columns renamed as inside the verifier."""
        return replace(
            self,
            columns=tuple(map(escape_name, self.columns)),
            levels={escape_name(column): level for column, level in self.levels.items()},
            recoded={escape_name(column): levels for column, levels in self.recoded.items()},
            averaged={escape_name(column): how for column, how in self.averaged.items()},
            tops={escape_name(column): top for column, top in self.tops.items()},
            id=self.id and escape_name(self.id),
            patient=self.patient and escape_name(self.patient),
            questions=self.questions and self.questions.inside(),
        )

    @property
    def has_one_transformation(self) -> bool:
        """Whether classes follow from the original and a single level for each column."""
        return not self.recoded and not self.averaged


@dataclass(frozen=True)
class OriginalTable:
    """The original of a release with its hierarchies, or a population table that rules compare with."""

    # the table; sensitive columns with the types they were read with, which say how values are ordered
    tally: Tally
    hierarchies: Mapping[str, BoundHierarchy]
    # bound hierarchies of sensitive columns, by the column and the words for each, for rules that need one
    groups: Mapping[tuple[str, str], BoundHierarchy] = field(default_factory=dict)
    # position in ``tally`` of what each released record was made from, None for a row of ``*``; None if that is not
    # known
    records: pl.Series | None = field(default=None, repr=False)

    @property
    def frame(self) -> pl.DataFrame:
        """The columns of the table."""
        return self.tally.frame


def bound_hierarchies(frame: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> dict[str, BoundHierarchy]:
    """Return the hierarchy of each of these columns, bound to the values of a table."""
    return {
        column: hierarchy.bind(column, distinct_values(frame.get_column(column)))
        for column, hierarchy in hierarchies.items()
    }


def join_released(
    bound: Mapping[str, BoundHierarchy],
    hierarchies: Mapping[str, Hierarchy],
    released: pl.DataFrame,
    lowest: Mapping[str, int],
    original: Tally,
    k: int,
) -> dict[str, BoundHierarchy]:
    """Return bound hierarchies with the labels of a release that join intervals or list values.

    ``lowest``: by column, the lowest level allowed, from 1 on the one whose intervals are joined; ``original``: whose
    values are bound; a value may be listed if k records have it
    """
    found = dict(bound)
    for column, hierarchy in hierarchies.items():
        if column not in released.columns:
            continue
        labels, level = as_text(released.get_column(column).unique()).to_list(), lowest.get(column, 0)
        if isinstance(hierarchy, Intervals):
            found[column] = hierarchy.join(bound[column], labels, max(1, level))
        elif level == 0 and may_list(hierarchy) and any(map(read_list, labels)):
            counts = label_counts(as_text(original.frame[column]), original.weights)
            frequent = {value for value, n in counts.items() if n >= k}
            found[column] = list_values(bound[column], labels, k, frequent)
    return found
