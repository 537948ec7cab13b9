"""(alpha, k)-anonymity: classes of k records in which no sensitive value is more frequent than alpha."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .parameters import name_of, real_number, whole_number, written
from .rule import TOLERANCE, EquivalenceClasses, Mask, at_most, class_maxima, class_sums, recorded


@dataclass(frozen=True)
class AlphaKAnonymity:
    """Every class has at least ``k`` records, and no sensitive value a share of more than ``alpha`` in any class.

    Shares are those among the records in which the value is recorded: with missing ones in the total, each value would
    look rarer than it is to somebody who knows that the patient has one. They do count for ``k``. A class without any
    recorded value violates the rule. All values are protected alike (the general form of the paper).

    *Guarantee*: an adversary who finds the class of a patient concludes no value of the column with a probability above
    ``alpha``. Not promised: anything against somebody who can exclude values; different meanings. Cost: one pass over
    the cells.

    Not monotone: records that repeat one value raise its share. Closed: the share in a union lies between those in its
    parts.

    Parameters
    ----------
    alpha : above 0 and below 1
    k : records per class, at least 2
    column : the sensitive column

    References
    ----------
    Wong, Li, Fu, Wang (2006), "(alpha, k)-anonymity: an enhanced k-anonymity model", sections 2 and 5.
    """

    alpha: float
    k: int
    column: str

    model: ClassVar[str] = "alpha-k-anonymity"
    counts: ClassVar[str] = "records of each sensitive value"
    needs: ClassVar[str] = "histogram"
    is_monotone: ClassVar[bool] = False
    is_closed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        alpha = real_number("alpha", self.alpha, "above 0 and below 1", lambda number: 0 < number < 1)
        object.__setattr__(self, "alpha", alpha)
        whole_number("k", self.k, 2)
        name_of("The sensitive column", self.column)

    @property
    def class_size(self) -> int:
        """Records that a class needs at least: ``k``, and as many values as have shares of ``alpha`` or less."""
        return max(self.k, math.ceil(1 / (self.alpha + 2 * TOLERANCE)))

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        histogram = classes.histogram(self)
        counts = recorded(histogram)
        total = class_sums(histogram, counts)
        share = class_maxima(histogram, counts) / np.maximum(total, 1)
        return (classes.sizes >= self.k) & (total > 0) & at_most(share, self.alpha)

    def describe(self) -> dict[str, object]:
        """Return the rule as the manifest names it."""
        return {"model": self.model, "column": self.column, "alpha": self.alpha, "k": self.k}

    def words(self) -> str:
        """Return the rule as on the command line."""
        return f"{self.model}:{self.column}={written(self.alpha)},{self.k}"

    def sentence(self) -> str:
        """Return the rule in words."""
        return (
            f"every class has at least {self.k} records, and no value of {self.column!r} a share of more than"
            f" {written(self.alpha)} in any class"
        )
