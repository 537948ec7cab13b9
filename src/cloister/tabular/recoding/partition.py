"""Releases whose levels differ from class to class: one form for local recoding, Mondrian and clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..coding import Coded

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


@dataclass(frozen=True)
class Labels:
    """The labels of one column, numbered across its levels.

    Attributes
    ----------
    texts : the labels by number, in the order of their UTF-8 bytes, missing first
    of_code : by level, (n_codes,) number of the label of each code
    leaves : (n_levels, n_texts) int64, leaves that each label covers at each level; 0 where it does not occur
    """

    texts: tuple[str | None, ...]
    of_code: tuple[NDArray[np.int64], ...]
    leaves: NDArray[np.int64]

    @property
    def n_texts(self) -> int:
        """Number of different labels."""
        return len(self.texts)

    def at(self, levels: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the level and the leaves of each label if these levels occur: of its largest set, the lowest level."""
        among = self.leaves[list(levels)]
        place = among.argmax(axis=0)
        return np.array(levels, dtype=np.int64)[place], among.max(axis=0)


def numbered_labels(coded: Coded) -> Labels:
    """Return the labels of a column, each text with one number."""
    every = {label for labels in coded.labels for label in labels}
    texts = sorted(every, key=lambda label: (label is not None, (label or "").encode()))
    number = {label: place for place, label in enumerate(texts)}
    of_code = tuple(np.array([number[label] for label in labels], dtype=np.int64) for labels in coded.labels)
    leaves = np.zeros((len(of_code), len(number)), dtype=np.int64)
    for level, numbers in enumerate(of_code):
        leaves[level, numbers] = coded.leaves[level]
    return Labels(tuple(texts), of_code, leaves)
