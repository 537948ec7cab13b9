"""Count the released records that become unique by columns released as recorded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from .row_numbers import Numbers, count_unique, number_values, refine

_NAMED = 3


@dataclass(frozen=True)
class UniqueRecords:
    """The number of unique released records, and the columns that contribute most.

    Attributes
    ----------
    records, unique
        All released records, and those that no other record equals in labels and recorded columns.
    columns
        Number of columns released as recorded.
    contributors
        At most three recorded columns in the order of growth, each with the records that it newly makes unique.
    """

    records: int
    unique: int
    columns: int
    contributors: tuple[tuple[str, int], ...]


def count_unique_records(
    released: pl.DataFrame, quasi_identifiers: Sequence[str], recorded: Sequence[str]
) -> UniqueRecords:
    """Count the released records that labels and recorded columns make unique together.

    Contributors are found by greedy growth: from the labels alone, each of three steps adds the column that makes most
    further records unique; of equal columns the first in ``recorded``. Growth ends where no column adds a record.
    Missing is a value of its own. Each step reads each column once.

    Examples
    --------
    >>> released = pl.DataFrame({"age": ["[40-49]"] * 3, "weight": [70, 80, 80], "ward": ["A", "A", "B"]})
    >>> count_unique_records(released, ["age"], ["weight", "ward"])
    UniqueRecords(records=3, unique=3, columns=2, contributors=(('weight', 1), ('ward', 2)))
    """
    labels = np.zeros(released.height, dtype=np.int64)
    for name in dict.fromkeys(quasi_identifiers):
        labels = refine(labels, number_values(released.get_column(name)))
    values = {name: number_values(released.get_column(name)) for name in recorded}
    everything = labels
    for numbers in values.values():
        everything = refine(everything, numbers)
    return UniqueRecords(released.height, count_unique(everything), len(values), _grow(labels, values))


def _grow(classes: Numbers, values: dict[str, Numbers]) -> tuple[tuple[str, int], ...]:
    grown: list[tuple[str, int]] = []
    left, unique = dict(values), count_unique(classes)
    while left and len(grown) < _NAMED:
        refined = {name: refine(classes, numbers) for name, numbers in left.items()}
        counts = {name: count_unique(numbers) for name, numbers in refined.items()}
        best = max(counts, key=lambda name: counts[name])
        if counts[best] == unique:
            break
        grown.append((best, counts[best] - unique))
        classes, unique = refined[best], counts[best]
        del left[best]
    return tuple(grown)
