"""Releases whose levels differ from class to class: one form for local recoding, Mondrian and clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SUPPRESSED = -1


@dataclass(frozen=True)
class Partition:
    """Classes of the distinct rows of a table, each with levels of its own.

    Full-domain generalization is the case of equal levels. All members of a class share its label in every column.
    Classes whose labels are the same are one class in the release.

    Attributes
    ----------
    class_of_row : (n_rows,) int64, class of each distinct row; -1 where it is suppressed
    levels : (n_classes, n_attributes) int64, level of each attribute in each class
    """

    class_of_row: NDArray[np.int64]
    levels: NDArray[np.int64]

    @property
    def is_released(self) -> NDArray[np.bool_]:
        """Whether each distinct row is released, shape (n_rows,)."""
        released: NDArray[np.bool_] = self.class_of_row != SUPPRESSED
        return released

    def without(self, suppressed: NDArray[np.bool_]) -> "Partition":
        """Return the same with these rows suppressed as well."""
        return Partition(np.where(suppressed, SUPPRESSED, self.class_of_row), self.levels)

    def joined(self, rows: NDArray[np.int64], classes: NDArray[np.int64], levels: NDArray[np.int64]) -> "Partition":
        """Return the same with some suppressed rows in classes of their own.

        Parameters
        ----------
        rows : (n,) distinct rows that are suppressed here
        classes : (n,) class of each, numbered from 0
        levels : (n_classes, n_attributes) their levels
        """
        class_of_row = self.class_of_row.copy()
        class_of_row[rows] = len(self.levels) + classes
        return Partition(class_of_row, np.concatenate([self.levels, levels]))


@dataclass(frozen=True)
class Released:
    """A partition as its recipient sees it: by labels.

    Attributes
    ----------
    rows : (n,) distinct rows that are released
    classes : (n,) int64, class of each, by equal labels
    n_classes : how many there are
    texts : (n_attributes, n) int64, number of the label of each
    """

    rows: NDArray[np.int64]
    classes: NDArray[np.int64]
    n_classes: int
    texts: NDArray[np.int64]


def classes_of(columns: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], int]:
    """Number the combinations of values of some columns, in their order; return how many there are as well."""
    classes, n_classes = np.zeros(columns[0].size, dtype=np.int64), min(1, columns[0].size)
    for column in columns:
        # Numbers stay below the square of the rows, whatever the columns hold.
        found, place = np.unique(classes * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
        classes, n_classes = place.astype(np.int64), found.size
    return classes, n_classes
