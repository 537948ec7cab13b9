"""What the report of a released table must show, from its data file and, if that is given, from the original."""

import polars as pl

from cloister.io import as_text
from cloister.report_check import Recount, Recounted

from .verification.promise import Original, Promise
from .verify import class_sizes, released_records

DATA = "data"


def recount(frame: pl.DataFrame, promise: Promise, source: Original | None, without: str | None) -> Recount | None:
    """Return what the figures of the report follow from; None if nothing was released.

    Parameters
    ----------
    frame : the released table
    without : a column of which nothing is shown, as another part of the report does
    """
    texts = released_records(frame, promise, list(promise.columns))
    shown = pl.DataFrame([text.alias(column) for column, text in zip(promise.columns, texts, strict=True)])
    if not shown.height:
        return None
    sizes = class_sizes(frame, promise, list(promise.levels)).to_list()
    columns = [column for column in promise.levels if column != without and column not in promise.averaged]
    one = promise.has_one_policy
    counted = [
        Recounted(
            DATA,
            column,
            "records",
            shown[column].to_list(),
            _labels_before(source, column, promise.levels[column]) if one else None,
            is_comparable=one,
        )
        for column in columns
    ]
    numbered = promise.id if promise.numbered else None
    return Recount(
        promise.k,
        sizes,
        "records",
        "the size of their class",
        counted,
        {DATA: shown.select(column for column in shown.columns if column not in (numbered, without))},
        suppressed=promise.suppressed,
    )


def _labels_before(source: Original | None, column: str, level: int) -> list[str | None] | None:
    """The label of each record of the original."""
    if source is None:
        return None
    ladder = source.ladders[column]
    label_of = dict(zip(ladder.values, ladder.labels[level], strict=True))
    return [label_of[value] for value in as_text(source.frame[column])]
