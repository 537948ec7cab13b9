"""What the report shows of a table beside its manifest: labels of the quasi-identifiers, and classes."""

from collections.abc import Mapping

import polars as pl

from cloister.hierarchy import Ladder
from cloister.io import as_text, records_of, table_columns, with_records_of
from cloister.report_figures import Counted, Counts, Shown, label_counts

from .data import EncodedTable, ProtectedTable, TableRequest, is_withheld
from .measure import class_sizes

DATA = "data"


def shown_of(
    table: EncodedTable, protected: ProtectedTable, request: TableRequest, without: str | None = None
) -> Shown:
    """Return what is shown of a table.

    Parameters
    ----------
    without : a column of which nothing is shown, as another part of the report does
    """
    released = protected.frame.filter(protected.originals.is_not_null())
    suppressed, k = protected.suppressed, request.k
    columns = [column for column in table.ladders if column not in (without, *request.microaggregate)]
    counted = tuple(
        Counted(DATA, column, "records", _counts(released, column), _before(table, protected, request, column))
        for column in columns
    )
    numbered = request.numbered_id
    texts = [as_text(released[column]) for column in table_columns(released) if column not in (numbered, without)]
    return Shown(
        k=k,
        sizes=class_sizes(released, list(table.ladders)),
        of="records",
        by="the size of their class",
        columns=counted,
        files={DATA: with_records_of(pl.DataFrame(texts), released)},
        suppressed=None if is_withheld(suppressed, k) else suppressed,
        sizes_before=lambda: _sizes_as_recorded(table),
    )


def _before(table: EncodedTable, protected: ProtectedTable, request: TableRequest, column: str) -> Counts | None:
    """Labels of all records at the released level; None where there is no one level."""
    if not request.has_one_policy or request.microaggregate:
        return None
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
