"""Measure how many records a column makes unique together with the quasi-identifiers, for the custodian's decision."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from cloister.io import as_text
from cloister.risk.row_numbers import count_unique, number_rows, number_values, refine

from .column import Column
from .suspicions import suspicion


def describe_columns(frame: pl.DataFrame, columns: Sequence[str], quasi_identifiers: Sequence[str]) -> dict[str, str]:
    """Describe the findings on columns in words, without values.

    For each: its form, the number of its values, and of records that are unique by it and the quasi-identifiers.
    """
    of_column = {name: Column.of(as_text(frame[name]), "") for name in columns}
    present = [name for name in quasi_identifiers if name in frame.columns]
    return unique_with({name: suspicion(one) for name, one in of_column.items()}, frame, present)


def unique_with(found: dict[str, str], frame: pl.DataFrame, quasi_identifiers: Sequence[str]) -> dict[str, str]:
    """Add to each description how many more records are unique when the column is known with the quasi-identifiers."""
    none = np.zeros(frame.height, dtype=np.int64)
    classes = number_rows(as_text(frame[name]) for name in quasi_identifiers) if quasi_identifiers else none
    alone = count_unique(classes)
    described = {}
    for name, words in found.items():
        added = count_unique(refine(classes, number_values(as_text(frame[name])))) - alone
        count = f"{added:,} {'more ' * bool(alone)}of {frame.height:,} records" if added else "none"
        described[name] = f"{words}; singles out {count}"
    return described
