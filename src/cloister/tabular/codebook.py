"""What the columns and labels of a release mean. Lists only labels that the release holds."""

from dataclasses import dataclass

import polars as pl

from cloister.hierarchy import ROOT
from cloister.io import as_text

from .manifest import QuasiIdentifierColumn, TableIdColumn, TableSections

Row = tuple[str, str, str | None, str | None, str | None, str]

COLUMNS = ("column", "role", "hierarchy", "level", "label", "meaning")
AS_RECORDED = "as recorded"
MEANING_OF_AVERAGE = "{} of the recorded values of the records with the same quasi-identifiers, to two decimals"
MEANING_OF_IDS = {
    "number": "number of the record within this release",
    "hmac": "keyed hash of the original id",
}


def codebook(released: pl.DataFrame, manifest: TableSections) -> pl.DataFrame:
    """Return one row for each label of each quasi-identifier that was released, and one for each other column.

    How many values a label covers is not told: where the domain is the values present, that counts suppressed ones.

    Parameters
    ----------
    released : the columns that the manifest describes
    """
    rows: list[Row] = []
    for name, column in manifest.columns.items():
        if isinstance(column, QuasiIdentifierColumn):
            top = manifest.utility.columns[name].top
            meaning = _Meaning(top, column.used_levels, manifest.settings.keep_suppressed)
            rows += _quasi_identifier(released.get_column(name), column, meaning)
        else:
            meant = MEANING_OF_IDS[column.ids] if isinstance(column, TableIdColumn) else AS_RECORDED
            rows.append((name, column.role, None, None, None, meant))
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def _quasi_identifier(released: pl.Series, column: QuasiIdentifierColumn, meaning: "_Meaning") -> list[Row]:
    """One row for each label of a quasi-identifier; one for all where it was averaged."""
    role, kind, level = column.role, column.hierarchy, " ".join(map(str, meaning.levels))
    if column.average is not None:
        return [(released.name, role, kind, level, None, MEANING_OF_AVERAGE.format(column.average))]
    labels = as_text(released).unique().sort().to_list()
    return [(released.name, role, kind, level, label, meaning.of(label)) for label in labels]


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
            return AS_RECORDED
        if self.levels == (self.top,):
            return "any value"
        return (
            "a value or a group of values of the hierarchy"
            if 0 in self.levels
            else "a group of values of the hierarchy"
        )
