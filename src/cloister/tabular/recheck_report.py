"""What the report of a released table must show, from its data file and, if that is given, from the original."""

from collections import Counter

import polars as pl

from cloister.io import as_text, records_of
from cloister.report_check import Recount, Recounted

from .verification.promise import Original, Promise
from .verify import class_sizes, released_texts

DATA = "data"


def recount(frame: pl.DataFrame, promise: Promise, source: Original | None, without: str | None) -> Recount | None:
    """Return what the figures of the report follow from; None if nothing was released.

    Parameters
    ----------
    frame : the released table
    without : a column of which nothing is shown, as another part of the report does
    """
    shown = released_texts(frame, promise)
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
            _counted(shown[column], records_of(shown)),
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


def _labels_before(source: Original | None, column: str, level: int) -> Counter[str | None] | None:
    """How many records of the original have each label."""
    if source is None:
        return None
    ladder = source.ladders[column]
    label_of = dict(zip(ladder.values, ladder.labels[level], strict=True))
    found: Counter[str | None] = Counter()
    for value, records in _counted(as_text(source.frame[column]), records_of(source.frame)).items():
        found[label_of[value]] += records
    return found


def _counted(texts: pl.Series, records: pl.Series) -> Counter[str | None]:
    """How many records have each text, counted in plain Python."""
    found: Counter[str | None] = Counter()
    for text, n in zip(texts.to_list(), records.to_list(), strict=True):
        found[text] += n
    return found
