"""Delta-disclosure privacy: no sensitive value becomes much more, or much less, likely in a class."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .parameters import name_of, real_number, written
from .rule import EquivalenceClasses, Mask, below, class_maxima, shares


@dataclass(frozen=True)
class DeltaDisclosure:
    """In every class the share of each sensitive value differs from that in the input by a factor below e^delta.

    For every value of the input, abs(ln(q / p)) < delta, q its share in the class and p its share in the input. So a
    class that lacks a value of the input violates the rule. Missing is a value of its own.

    *Guarantee*: finding the class of a patient makes no value of the column, missing included, more than e^delta times
    as likely or unlikely; nothing can be excluded. Not promised: that a value frequent in the input is not likely.
    Cost: one pass over the cells; rare values cost dearly, since every class must have them all.

    Not monotone: records that repeat one value raise its share. Closed: the share in a union lies between those in its
    parts.

    Parameters
    ----------
    delta : above 0

    References
    ----------
    Brickell, Shmatikov (2008), "The cost of privacy: destruction of data-mining utility in anonymized data
    publishing", section 3.
    """

    delta: float
    column: str

    model: ClassVar[str] = "delta-disclosure"
    counts: ClassVar[str] = "records of each sensitive value"
    needs: ClassVar[str] = "histogram"
    is_monotone: ClassVar[bool] = False
    is_closed: ClassVar[bool] = True
    class_size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        delta = real_number("delta", self.delta, "above 0", lambda number: number > 0)
        object.__setattr__(self, "delta", delta)
        name_of("The sensitive column", self.column)

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        histogram = classes.histogram(self)
        whole = histogram.whole / histogram.whole.sum()
        factors = shares(histogram) / whole[histogram.value]
        is_complete = np.diff(histogram.start) == len(histogram.whole)
        return np.asarray(is_complete & below(class_maxima(histogram, np.abs(np.log(factors))), self.delta))

    def describe(self) -> dict[str, object]:
        """Return the rule as the manifest names it."""
        return {"model": self.model, "column": self.column, "delta": self.delta}

    def words(self) -> str:
        """Return the rule as on the command line."""
        return f"{self.model}:{self.column}={written(self.delta)}"

    def sentence(self) -> str:
        """Return the rule in words."""
        return (
            f"in every class each value of {self.column!r} is less than e^{written(self.delta)} times as frequent or"
            " rare as among all input records"
        )
