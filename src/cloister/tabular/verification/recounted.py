"""What the report of a released table must show, from its data file and, if that is given, from the original."""

from collections.abc import Sequence

import polars as pl

from cloister.io import as_text
from cloister.report_check import Recount, Recounted

from .promise import Original, Promise

DATA = "data"


def recount(
    shown: pl.DataFrame, sizes: Sequence[int], promise: Promise, source: Original | None, without: str | None
) -> Recount:
    """Return what the figures of the report follow from.

    Parameters
    ----------
    shown : the released records, rows of suppressed ones set aside
    sizes : of their classes
    without : a column of which nothing is shown, as another part of the report does
    """
    columns = [column for column in promise.levels if column != without and column not in promise.averaged]
    one = promise.has_one_policy
    counted = [
        Recounted(
            DATA,
            column,
            "records",
            as_text(shown[column]).to_list(),
            _labels_before(source, column, promise.levels[column]) if one else None,
            is_comparable=one,
        )
        for column in columns
    ]
    numbered = promise.id if promise.numbered else None
    texts = [as_text(shown[column]) for column in shown.columns if column not in (numbered, without)]
    return Recount(
        promise.k,
        sizes,
        "records",
        "the size of their class",
        counted,
        {DATA: pl.DataFrame(texts)},
        suppressed=promise.suppressed,
    )


def _labels_before(source: Original | None, column: str, level: int) -> list[str | None] | None:
    """The label of each record of the original."""
    if source is None:
        return None
    ladder = source.ladders[column]
    label_of = dict(zip(ladder.values, ladder.labels[level], strict=True))
    return [label_of[value] for value in as_text(source.frame[column])]
