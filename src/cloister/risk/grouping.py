"""Columns of text -> numbered cells and equivalence classes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.kernels.standing_out import Cells, cells_of, classes


@dataclass(frozen=True, eq=False, repr=False)
class Grouped:
    """Records by their quasi-identifiers.

    Attributes
    ----------
    columns : names of the quasi-identifiers
    cells : the distinct combinations of values, numbered, and how many records have each
    labels : (n_records,) int64, which combination each record has
    first : (n_classes,) int64, the first record of each
    """

    columns: tuple[str, ...]
    cells: Cells
    labels: NDArray[np.int64]
    first: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Records of each class, shape (n_classes,) int64."""
        return self.cells.records

    @property
    def n_records(self) -> int:
        """Records of all classes."""
        return self.labels.size


def group(texts: pl.DataFrame, columns: Sequence[str]) -> Grouped:
    """Return the classes of records by these columns of text; a missing value is a value of its own."""
    numbered = [_numbered(texts[column]) for column in columns]
    cells = cells_of(np.stack([values for values, _ in numbered]), np.array([width for _, width in numbered]))
    found = classes(cells, np.arange(len(numbered)))
    distinct = Cells(np.ascontiguousarray(cells.values[:, found.first]), cells.widths, found.sizes)
    return Grouped(tuple(columns), distinct, found.labels, found.first)


def _numbered(text: pl.Series) -> tuple[NDArray[np.uint32], int]:
    """Number each value of a column, and how many numbers there are; the order of numbers means nothing."""
    names = text.drop_nulls().unique()
    numbers = text.cast(pl.Enum(names)).to_physical().cast(pl.UInt32).fill_null(len(names))
    return numbers.to_numpy(), len(names) + 1
