"""What the report shows of a table beside its manifest: labels of the quasi-identifiers, and classes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from cloister.hierarchy import Ladder
from cloister.io import as_text, records_of, table_columns, with_records_of
from cloister.report_figures import Counted, Counts, ReportCounts, label_counts

from .data import EncodedTable, ProtectedTable, TableRequest
from .measure import class_sizes

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
    columns = tuple(
        replace(column, before=partial(_before, table, protected, column.column)) for column in shown.columns
    )
    has_before = request.has_one_policy and not request.microaggregate
    return replace(
        shown, columns=columns if has_before else shown.columns, sizes_before=lambda: _sizes_as_recorded(table)
    )


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
    return labelled(_counts(table.frame, column), table.ladders[column], level)


def _counts(frame: pl.DataFrame, column: str) -> Counts:
    """How many records have each text of a column."""
    return label_counts(as_text(frame[column]), records_of(frame))


def labelled(counts: Counts, ladder: Ladder, level: int) -> dict[str | None, int]:
    """Return how many have each label of a level, from how many have each value."""
    label_of: Mapping[str | None, str | None] = dict(zip(ladder.values, ladder.labels[level], strict=True))
    found: dict[str | None, int] = {}
    for value, count in counts.items():
        label = label_of[value]
        found[label] = found.get(label, 0) + count
    return found


def _sizes_as_recorded(table: EncodedTable) -> pl.Series:
    texts = pl.DataFrame([as_text(table.frame[column]).alias(column) for column in table.ladders])
    return class_sizes(with_records_of(texts, table.frame), list(table.ladders))
