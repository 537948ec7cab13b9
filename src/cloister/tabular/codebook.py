"""What the columns and labels of a release mean. Lists only labels that the release holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from cloister.hierarchy import ROOT, Ladder
from cloister.io import as_text
from cloister.results import Manifest

from .data import Ids, Role, TableRequest

Row = tuple[str, str, str | None, str | None, str | None, str]

COLUMNS = ("column", "role", "hierarchy", "level", "label", "meaning")
MEANING_OF_ROLE = {
    Role.SENSITIVE: "as recorded",
    Role.KEPT: "as recorded",
}
MEANING_OF_AVERAGE = "{} of the recorded values of the records with the same quasi-identifiers, to two decimals"
MEANING_OF_IDS = {
    Ids.NUMBER: "number of the record within this release",
    Ids.HMAC: "keyed hash of the original id",
}


def codebook(
    released: pl.DataFrame,
    roles: Mapping[str, Role],
    ladders: Mapping[str, Ladder],
    levels: Mapping[str, tuple[int, ...]],
    request: TableRequest,
) -> pl.DataFrame:
    """One row for each label of each quasi-identifier that was released, and one for each other column.

    How many values a label covers is not told: where the domain is the values present, that counts suppressed ones.
    """
    rows: list[Row] = []
    for column in released.columns:
        role = roles[column]
        if role is Role.QUASI_IDENTIFIER:
            meaning = _Meaning(ladders[column].n_levels - 1, levels[column], request.keep_suppressed)
            kind = request.quasi_identifiers[column].hierarchy.kind
            how = request.microaggregate.get(column)
            rows += _quasi_identifier(released.get_column(column), kind, meaning, how)
        else:
            rows.append(_other(column, role, request.ids))
    return _book(rows)


def codebook_of(released: pl.DataFrame, manifest: Manifest) -> pl.DataFrame:
    """Return the codebook that a released table must have, from what its manifest says of it.

    Parameters
    ----------
    released : the columns that the manifest describes

    Raises
    ------
    AttributeError, KeyError, TypeError, ValueError
        The manifest is not one of a table.
    """
    has_suppressed = bool(manifest["settings"]["keep_suppressed"])
    rows: list[Row] = []
    for column, described in manifest["columns"].items():
        role = Role(described["role"])
        if role is Role.QUASI_IDENTIFIER:
            top: Any = manifest["utility"]["columns"][column]["top"]
            meaning = _Meaning(top, levels_of(described), has_suppressed)
            kind, how = str(described["hierarchy"]), described.get("average")
            rows += _quasi_identifier(released.get_column(column), kind, meaning, how)
        else:
            rows.append(_other(column, role, Ids(described["ids"]) if role is Role.IDENTIFIER else Ids.DROP))
    return _book(rows)


def _book(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def levels_of(described: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the levels that a manifest states for a quasi-identifier.

    Raises
    ------
    KeyError, TypeError
        It states none.
    """
    return (described["level"],) if described.get("levels") is None else tuple(described["levels"])


def _quasi_identifier(released: pl.Series, kind: str, meaning: "_Meaning", how: str | None) -> list[Row]:
    """One row for each label of a quasi-identifier; one for all where it was averaged."""
    role, level = str(Role.QUASI_IDENTIFIER), " ".join(map(str, meaning.levels))
    if how is not None:
        return [(released.name, role, kind, level, None, MEANING_OF_AVERAGE.format(how))]
    labels = as_text(released).unique().sort().to_list()
    return [(released.name, role, kind, level, label, meaning.of(label)) for label in labels]


def _other(column: str, role: Role, ids: Ids) -> Row:
    """The row of a column that has no hierarchy."""
    meaning = MEANING_OF_IDS[ids] if role is Role.IDENTIFIER else MEANING_OF_ROLE[role]
    return (column, str(role), None, None, None, meaning)


@dataclass(frozen=True)
class _Meaning:
    """What the labels of some levels mean."""

    top: int
    levels: tuple[int, ...]
    has_suppressed: bool

    def of(self, label: str | None) -> str:
        """Return the meaning of a label in words."""
        if label == ROOT and self.has_suppressed:
            return "any value, or a suppressed record"
        if label is None:
            return "missing"
        if self.levels == (0,):
            return "as recorded"
        if self.levels == (self.top,):
            return "any value"
        return (
            "a value or a group of values of the hierarchy"
            if 0 in self.levels
            else "a group of values of the hierarchy"
        )
