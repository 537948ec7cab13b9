"""What is told of a table beside its manifest: the codebook, labels of the quasi-identifiers, and classes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from cloister.hierarchy import ROOT
from cloister.io import as_text, records_of, table_columns, with_records_of
from cloister.report_figures import Counted, Counts, ReportCounts, label_counts

from .data import EncodedTable, ProtectedTable, TableRequest
from .facts import class_sizes
from .manifest import QuasiIdentifierColumn, TableIdColumn, TableSections

DATA = "data"


def shown_of(
    table: EncodedTable, protected: ProtectedTable, request: TableRequest, without: str | None = None
) -> ReportCounts:
    """Return what is shown of a table, and what of its original the custodian sees.

    Parameters
    ----------
    without : a column of which nothing is shown, as another part of the report does
    """
    released = protected.frame.filter(protected.originals.is_not_null())
    skipped = {without, *request.microaggregate}
    shown = shown_of_records(released, list(table.ladders), skipped, request.k, {request.numbered_id, without})
    columns = shown.columns
    if request.has_one_policy and not request.microaggregate:
        columns = tuple(replace(one, before=partial(_before, table, protected, one.column)) for one in columns)
    return replace(shown, columns=columns, sizes_before=lambda: class_sizes(table.frame, list(table.ladders)))


def shown_of_records(
    released: pl.DataFrame,
    quasi: Sequence[str],
    skipped: Collection[str | None],
    k: int,
    hidden: Collection[str | None],
) -> ReportCounts:
    """Return what is shown of released records, or of their tally.

    Parameters
    ----------
    quasi : the quasi-identifiers; of those in ``skipped`` no labels are counted
    hidden : columns in which no identifiers are looked for
    """
    texts = [as_text(released[column]) for column in table_columns(released) if column not in hidden]
    return ReportCounts(
        k=k,
        sizes=class_sizes(released, list(quasi)),
        of="records",
        by="the size of their class",
        columns=tuple(
            Counted(DATA, column, "records", _counts(released, column)) for column in quasi if column not in skipped
        ),
        files={DATA: with_records_of(pl.DataFrame(texts), released)},
    )


def _before(table: EncodedTable, protected: ProtectedTable, column: str) -> Counts:
    """Labels of all records at the released level."""
    (level,) = protected.levels[column]
    ladder = table.ladders[column]
    label_of: Mapping[str | None, str | None] = dict(zip(ladder.values, ladder.labels[level], strict=True))
    found: dict[str | None, int] = {}
    for value, count in _counts(table.frame, column).items():
        found[label_of[value]] = found.get(label_of[value], 0) + count
    return found


def _counts(frame: pl.DataFrame, column: str) -> Counts:
    """How many records have each text of a column."""
    return label_counts(as_text(frame[column]), records_of(frame))


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
