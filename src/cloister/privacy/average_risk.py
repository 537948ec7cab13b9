"""Average risk: over all released records, the mean probability of finding the right one is bounded."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .parameters import real_number, written
from .rule import at_most


@dataclass(frozen=True)
class AverageRisk:
    """The mean over released records of 1 / (records of the class) is at most ``risk``.

    That mean is the number of classes over the number of records. The smallest classes are suppressed until it holds.

    *Guarantee*: somebody who knows all quasi-identifiers and links a record of the release at random to its class, then
    guesses within it, is right in at most ``risk`` of the cases on average. Not promised: a bound for the single
    record; some classes may have one record only, so combine the rule with k-anonymity. Cost: one pass over the class
    sizes.

    Monotone: classes joined are fewer and hold the same records, so what a coarser transformation keeps is at least as
    much. Closed: without suppression the number of classes falls and that of records stays.

    Parameters
    ----------
    risk : above 0 and below 1

    References
    ----------
    El Emam (2013), "Guide to the de-identification of personal health information", average risk of journalist and
    prosecutor attacks.
    """

    risk: float

    model: ClassVar[str] = "average-risk"
    counts: ClassVar[str] = "classes and records"
    is_monotone: ClassVar[bool] = True
    is_closed: ClassVar[bool] = True
    class_size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        risk = real_number("risk", self.risk, "above 0 and below 1", lambda number: 0 < number < 1)
        object.__setattr__(self, "risk", risk)

    def n_violating(self, sizes: NDArray[np.int64]) -> int:
        """Return how many of the smallest classes must be suppressed; all of them if no other number will do.

        Parameters
        ----------
        sizes : (n_classes,) int64, ascending
        """
        if not len(sizes):
            return 0
        kept = np.arange(len(sizes), 0, -1)
        records = np.cumsum(sizes[::-1])[::-1]
        safe = at_most(kept / records, self.risk)
        return int(np.argmax(safe)) if safe.any() else len(sizes)

    def describe(self) -> dict[str, object]:
        """Return the rule as the manifest names it."""
        return {"model": self.model, "risk": self.risk}

    def words(self) -> str:
        """Return the rule as on the command line."""
        return f"{self.model}={written(self.risk)}"

    def sentence(self) -> str:
        """Return the rule in words."""
        return f"the mean over released records of 1 / (records of the class) is at most {written(self.risk)}"
