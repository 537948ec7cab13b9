"""What a released table promises, and the tables that it can be compared with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cloister.hierarchy import Hierarchy, Ladder
from cloister.io import as_text, distinct_values

Description = Mapping[str, Any]
"""A privacy rule as the manifest describes it: its model, its column if there is one, and its numbers."""


@dataclass(frozen=True)
class Promise:
    """What a released table promises, as its manifest states it.

    Attributes
    ----------
    columns : released columns, in order
    levels : level of each quasi-identifier; the highest that occurs where levels differ between classes
    k : counts of fewer records are kept back
    released, suppressed : records; None where the manifest keeps the number back
    rules : privacy rules as the manifest describes them, all of which must hold
    id : the id column, if released
    numbered : whether it holds numbers; else it holds keyed hashes
    stars : whether suppressed records are written as rows of ``*``
    limit : records that may be suppressed at most, if known
    recoded : where levels differ between classes, those that occur in each quasi-identifier, ascending; else empty
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
    stars: bool = False
    limit: int | None = None
    recoded: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    averaged: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_one_policy(self) -> bool:
        """Whether classes follow from the original and one level for each column."""
        return not self.recoded and not self.averaged


@dataclass(frozen=True)
class Original:
    """The table a release was made from, and what it was generalized by.

    Attributes
    ----------
    frame : the table; sensitive columns with the types they were read with, which say how values are ordered
    ladders : by quasi-identifier
    groups : ladders of sensitive columns, by the column and the words for the hierarchy, for rules that need one
    records : position in ``frame`` of what each released record was made from, None for a row of ``*``; None if that is
        not known
    """

    frame: pl.DataFrame
    ladders: Mapping[str, Ladder]
    groups: Mapping[tuple[str, str], Ladder] = field(default_factory=dict)
    records: pl.Series | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Population:
    """A table of the people that patients may be among; ladders of its quasi-identifiers, bound to its own values."""

    frame: pl.DataFrame
    ladders: Mapping[str, Ladder]


def bound_ladders(frame: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Ladder]:
    """Return the ladder of each of these columns, bound to the values of a table."""
    return {
        column: hierarchy.bind(column, distinct_values(as_text(frame.get_column(column))))
        for column, hierarchy in hierarchies.items()
    }
