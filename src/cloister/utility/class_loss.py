"""Losses that look at the sizes of classes only.

References
----------
Bayardo, Agrawal (2005), "Data privacy through optimal k-anonymization" (discernibility); El Emam et al. (2009), "A
globally optimal k-anonymity method for the de-identification of health data" (the monotone variant); LeFevre, DeWitt,
Ramakrishnan (2006), "Mondrian multidimensional k-anonymity" (average class size; there divided by k).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .generalized import Generalized, LossAndBound

Sizes = NDArray[np.int64]


@dataclass(frozen=True)
class ClassLoss:
    """A loss made of class sizes, scaled to (0, 1]: 1 where all records are in one class.

    Attributes
    ----------
    name : as the user writes it
    meaning : the formula in words
    formula : loss from the sizes of released classes, those of suppressed ones, and the number of records
    ignores_suppression : whether suppressing a class changes nothing

    Notes
    -----
    With nothing suppressed the loss is no higher, and it never falls when classes are merged: that lower bound is
    monotone.
    """

    name: str
    meaning: str
    formula: Callable[[Sizes, Sizes, int], float]
    ignores_suppression: bool = False

    is_mean: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = False

    def measure(self, table: Generalized) -> LossAndBound:
        """Return the loss of a release, and the loss if nothing were suppressed."""
        sizes, is_kept, n = table.sizes, table.is_kept, table.n_records
        return LossAndBound(self.formula(sizes[is_kept], sizes[~is_kept], n), self.formula(sizes, sizes[:0], n))


def _squares(sizes: Sizes) -> int:
    # Whole numbers of Python: the square of 2**32 records does not fit into 64 bits.
    return sum(size * size * count for size, count in zip(*map(np.ndarray.tolist, _histogram(sizes)), strict=True))


def _histogram(sizes: Sizes) -> tuple[Sizes, Sizes]:
    values, counts = np.unique(sizes, return_counts=True)
    return values, counts


def _discernibility(kept: Sizes, suppressed: Sizes, n_records: int) -> float:
    return (_squares(kept) + int(suppressed.sum()) * n_records) / n_records**2


def _dm_star(kept: Sizes, suppressed: Sizes, n_records: int) -> float:
    return (_squares(kept) + _squares(suppressed)) / n_records**2


def _average_class_size(kept: Sizes, suppressed: Sizes, n_records: int) -> float:  # noqa: ARG001 (one form for all)
    return 1 / (kept.size + (suppressed.size > 0))


DISCERNIBILITY = ClassLoss(
    "discernibility",
    "sum over records of the size of their class (all records where suppressed), as a share of the records squared",
    _discernibility,
)
DM_STAR = ClassLoss(
    "dm_star",
    "sum over records of the size of their class, suppressed or not, as a share of the records squared",
    _dm_star,
    ignores_suppression=True,
)
AVERAGE_CLASS_SIZE = ClassLoss(
    "average_class_size",
    "average class size as a share of the records, suppressed records counted as one class",
    _average_class_size,
)
