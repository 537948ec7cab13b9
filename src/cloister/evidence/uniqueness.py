"""How far a column singles people out together with the quasi-identifiers: what the custodian decides about."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.io import as_text

from .column import Column
from .suspicions import suspicion

Numbers = NDArray[np.int64]


def describe_columns(frame: pl.DataFrame, columns: Sequence[str], quasi_identifiers: Sequence[str]) -> dict[str, str]:
    """Return what was found in each of some columns, in words without values.

    What it looks like, how many values it has, and how many records are unique with the quasi-identifiers and it.
    """
    of_column = {name: Column.of(as_text(frame[name]), "") for name in columns}
    present = [name for name in quasi_identifiers if name in frame.columns]
    return unique_with({name: suspicion(one) for name, one in of_column.items()}, frame, present)


def unique_with(found: dict[str, str], frame: pl.DataFrame, quasi_identifiers: Sequence[str]) -> dict[str, str]:
    """Return the words with the number of records that are unique together with the quasi-identifiers."""
    classes = classes_of(frame, quasi_identifiers)
    alone = n_unique(classes)
    n = frame.height
    said = {}
    for name, words in found.items():
        unique = n_unique(joined(classes, rank(as_text(frame[name]))))
        without = f" with the quasi-identifiers ({alone:,} without it)" if quasi_identifiers else ""
        said[name] = f"{words}; {unique:,} of {n:,} records unique{without}"
    return said


def classes_of(frame: pl.DataFrame, columns: Sequence[str]) -> Numbers:
    """Number the rows by their values of some columns: equal rows have equal numbers."""
    classes = np.zeros(frame.height, dtype=np.int64)
    for name in columns:
        classes = joined(classes, rank(as_text(frame[name])))
    return classes


def rank(text: pl.Series) -> Numbers:
    """Number the values of a column from 0; missing is a value."""
    return text.rank("dense").fill_null(0).to_numpy().astype(np.int64)


def joined(classes: Numbers, values: Numbers) -> Numbers:
    """Number the pairs of two numbers of each row, from 0."""
    pairs = classes * (int(values.max(initial=0)) + 1) + values
    numbers: Numbers = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbers


def n_unique(classes: Numbers) -> int:
    """Return how many rows have a number of their own."""
    return int((np.bincount(classes) == 1).sum()) if classes.size else 0
