"""Information that a table loses in its release: vanished categories, and records without a quasi-identifier."""

import polars as pl

from cloister.hierarchy import ROOT
from cloister.io import as_text
from cloister.shapes.table.format.facts import count_complete
from cloister.shapes.table.format.options import MODE

from .data import EncodedTable, ProtectedTable, TableRequest

MOST_NAMED = 5  # categories of a column that a note names
MOST_CATEGORIES = 25  # a column of more different numbers has no categories


Vanished = dict[str, list[tuple[str, int]]]
"""By column, categories and their records."""


def find_vanished(table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> Vanished:
    """Return the categories that only ``*`` covers, with their numbers of records, the most frequent first.

    Only categories of k records or more, as fewer are single patients, and only of columns that say anything. For the
    custodian.
    """
    found = {}
    for name, hierarchy in table.hierarchies.items():
        if request.microaggregate.get(name, MODE) != MODE:
            continue
        texts = table.tally.replace_rows(as_text(table.frame[name]).alias("value").to_frame())
        common = texts.count(["value"], "n").filter(pl.col("n") >= request.k).drop_nulls()
        numbers = common["value"].cast(pl.Float64, strict=False)
        there = {*protected.labels.frame[name].cast(pl.String).unique().to_list()} - {ROOT}
        if not there or (numbers.null_count() == 0 and common.height > MOST_CATEGORIES):
            continue
        covered = hierarchy.list_covered(range(hierarchy.n_levels))
        shown = {hierarchy.values[place] for label in there for place in covered.get(label, ())}
        if gone := [(value, n) for value, n in common.iter_rows() if value not in shown]:
            found[name] = sorted(gone, key=lambda one: (-one[1], one[0]))
    return found


def describe_lost(table: EncodedTable, protected: ProtectedTable, vanished: Vanished) -> list[str]:
    """Return notes on lost information; ``vanished``: the result of `find_vanished`."""
    notes = []
    for name, gone in vanished.items():
        named = ", ".join(f"{value} ({n:,} records)" for value, n in gone[:MOST_NAMED])
        more = f" and {len(gone) - MOST_NAMED:,} more" if len(gone) > MOST_NAMED else ""
        notes.append(f"Of {name}, {named}{more} {'is' if len(gone) == 1 else 'are'} nowhere in the release")
    empty = [name for name in table.hierarchies if protected.labels.frame[name].cast(pl.String).eq(ROOT).all()]
    names, n = [name for name in table.hierarchies if name not in empty], protected.labels.n_records
    if names and (complete := count_complete(protected.labels, names)) < n:
        but = f" but {', '.join(empty)}" if empty else ""
        notes.append(f"{complete:,} of {n:,} released records have a label other than * in every quasi-identifier{but}")
    return notes
