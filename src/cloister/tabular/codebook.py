"""What the columns and labels of a release mean. Lists only labels that the release holds."""

from collections.abc import Mapping

import polars as pl

from cloister.hierarchy import ROOT, Ladder
from cloister.io import as_text
from cloister.results import Levels

from .data import Role, TableRequest

COLUMNS = ("column", "role", "hierarchy", "level", "label", "meaning")
DOMAIN_FROM_DATA = ("prefix", "date")
"""Hierarchies whose domain is the values present: how many a label covers would tell of suppressed records."""

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
    """One row for each label of each quasi-identifier that was released, and one for each other column."""
    rows: list[tuple[str, str, str, str, str | None, str]] = []
    for column in released.columns:
        role = roles[column]
        if role is Role.QUASI_IDENTIFIER:
            hierarchy = request.quasi_identifiers[column].hierarchy
            rows += _labels(released[column], ladders[column], hierarchy.kind, levels[column], request.keep_suppressed)
        else:
            meaning = MEANING_OF_ROLE[role]
            if role is Role.IDENTIFIER and request.id_key is not None:
                meaning = "keyed hash of the original id"
            rows.append((column, str(role), "", "", None, meaning))
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def _labels(
    values: pl.Series, ladder: Ladder, kind: str, level: int, has_suppressed: bool
) -> list[tuple[str, str, str, str, str | None, str]]:
    covered = dict(zip(ladder.labels[level], ladder.leaves[level].tolist(), strict=True))
    labels = as_text(values).unique().sort().to_list()
    rows = []
    for label in labels:
        leaves = None if kind in DOMAIN_FROM_DATA else covered.get(label)
        meaning = _meaning(label, leaves, level, ladder)
        if label == ROOT and has_suppressed:
            meaning = "any value, or a suppressed record"
        rows.append((ladder.column, str(Role.QUASI_IDENTIFIER), kind, str(level), label, meaning))
    return rows


def _meaning(label: str | None, leaves: int | None, level: int, ladder: Ladder) -> str:
    if label is None:
        return "missing"
    if level == 0:
        return "as recorded"
    if level == ladder.n_levels - 1:
        return "any value"
    if leaves is None:
        return "one of the values so abbreviated"
    return "one value of the domain" if leaves == 1 else f"one of {leaves} values of the domain"
