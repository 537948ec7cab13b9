"""What the columns and labels of a release mean. Lists only labels that the release holds."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from cloister.hierarchy import ROOT, Ladder
from cloister.io import as_text
from cloister.results import Levels

from .data import Role, TableRequest

Row = tuple[str, str, str, str, str | None, str]

COLUMNS = ("column", "role", "hierarchy", "level", "label", "meaning")
MEANING_OF_ROLE = {
    Role.SENSITIVE: "as recorded",
    Role.KEPT: "as recorded",
    Role.IDENTIFIER: "number of the record within this release",
}


def codebook(
    released: pl.DataFrame,
    roles: Mapping[str, Role],
    ladders: Mapping[str, Ladder],
    levels: Levels,
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
            labels = as_text(released[column]).unique().sort().to_list()
            kind, level = request.quasi_identifiers[column].hierarchy.kind, str(levels[column])
            rows += [(column, str(role), kind, level, label, meaning.of(label)) for label in labels]
        else:
            meant = MEANING_OF_ROLE[role]
            if role is Role.IDENTIFIER and request.id_key is not None:
                meant = "keyed hash of the original id"
            rows.append((column, str(role), "", "", None, meant))
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


@dataclass(frozen=True)
class _Meaning:
    """What the labels of one level mean."""

    top: int
    level: int
    has_suppressed: bool

    def of(self, label: str | None) -> str:
        """Return the meaning of a label in words."""
        if label == ROOT and self.has_suppressed:
            return "any value, or a suppressed record"
        if label is None:
            return "missing"
        if self.level == 0:
            return "as recorded"
        return "any value" if self.level == self.top else "a group of values of the hierarchy"
