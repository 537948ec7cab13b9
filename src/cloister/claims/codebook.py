"""What the columns and labels of a release of claims mean. Says nothing that the files do not."""

import polars as pl

from cloister.hierarchy.ladder import ROOT

from .data_file import (
    CLAIMS,
    FLAG,
    HMAC,
    IDENTIFIER,
    KEPT,
    NUMBER,
    PATIENTS,
    QUASI,
    TRUNCATED,
    ClaimsForm,
    ReleasedColumn,
    WrittenClaims,
)

Row = tuple[str, str, str | None, str | None, str | None, str]

BOOK = ("column", "role", "hierarchy", "level", "label", "meaning")
IDS = {
    NUMBER: "number of the patient in this release; the same in both files",
    HMAC: "keyed hash of the patient's id; the same in both files, and in other releases made with the key",
}
PSEUDONYM_MEANING = "a number in place of an id, by its first appearance"
CUT = "1 where claims of the patient were left out, else 0"
HIDDEN = "1 where the cell was suppressed, which is then empty, else 0"
ANY, RECORDED, GROUP = "any value", "as recorded", "a group of values of the hierarchy"


def codebook(files: WrittenClaims, form: ClaimsForm) -> pl.DataFrame:
    """Return one row for each label of each quasi-identifier, and one for each other column."""
    rows = [
        row
        for table in (PATIENTS, CLAIMS)
        for column in form.of(table)
        for row in _rows(table, column, files.of(table))
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(BOOK, pl.String), orient="row")


def _rows(table: str, column: ReleasedColumn, frame: pl.DataFrame) -> list[Row]:
    name = f"{table}.{column.name}"
    if column.role != QUASI:
        return [(name, column.role, None, None, None, _meaning(column))]
    level = str(column.level)
    labels = frame[column.name].drop_nulls().unique().sort()
    return [(name, QUASI, column.hierarchy, level, label, _of_label(label, column)) for label in labels]


def _meaning(column: ReleasedColumn) -> str:
    if column.role == FLAG:
        return CUT if column.name == TRUNCATED else HIDDEN
    if column.role == IDENTIFIER:
        return IDS[str(column.ids)]
    return RECORDED if column.role == KEPT else PSEUDONYM_MEANING


def _of_label(label: str, column: ReleasedColumn) -> str:
    if label == ROOT and column.level == column.top:
        return ANY
    return RECORDED if column.level == 0 else GROUP
