"""The codebook of a release of claims, and what its report shows beside the manifest."""

import polars as pl

from cloister.hierarchy.bound import ROOT
from cloister.report_figures import Counted, ReportCounts, label_counts

from .data_file import (
    CLAIMS,
    FLAG,
    HASHED,
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
    HASHED: "keyed hash of the patient's id; the same in both files, and in other releases made with the key",
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
        for name, column in form.of(table).items()
        for row in _rows(table, name, column, files.of(table))
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(BOOK, pl.String), orient="row")


def _rows(table: str, name: str, column: ReleasedColumn, frame: pl.DataFrame) -> list[Row]:
    whole = f"{table}.{name}"
    if column.role != QUASI:
        return [(whole, column.role, None, None, None, _meaning(name, column))]
    level = str(column.level)
    labels = frame[name].drop_nulls().unique().sort()
    return [(whole, QUASI, column.hierarchy, level, label, _of_label(label, column)) for label in labels]


def _meaning(name: str, column: ReleasedColumn) -> str:
    if column.role == FLAG:
        return CUT if name == TRUNCATED else HIDDEN
    if column.role == IDENTIFIER:
        return IDS[str(column.ids)]
    return RECORDED if column.role == KEPT else PSEUDONYM_MEANING


def _of_label(label: str, column: ReleasedColumn) -> str:
    if label == ROOT and column.level == column.top:
        return ANY
    return RECORDED if column.level == 0 else GROUP


def shown_of(files: WrittenClaims, form: ClaimsForm, k: int) -> ReportCounts:
    """Return what is shown of patients and claims.

    Classes are those of patients with the same quasi-identifiers of their own; claims make patients stand out further.
    """
    known = form.names(PATIENTS, QUASI)
    alike = files.patients.group_by(known).len()["len"] if known else pl.Series([files.patients.height])
    return ReportCounts(
        k=k,
        sizes=alike,
        of="patients",
        by="the size of their class, by quasi-identifiers of patients alone",
        columns=tuple(
            Counted(table, column, table, label_counts(files.of(table)[column]))
            for table in (PATIENTS, CLAIMS)
            for column in form.names(table, QUASI)
        ),
        files={table: files.of(table).drop(form.names(table, IDENTIFIER)) for table in (PATIENTS, CLAIMS)},
    )
