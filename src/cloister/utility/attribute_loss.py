"""Losses that are a mean of the losses of the attributes.

The loss of a value is (leaves it covers - 1) / (leaves of its domain - 1): 0 as recorded, 1 when suppressed. The loss
of an attribute is the mean over all records of the input.

References
----------
Iyengar (2002), "Transforming data to satisfy privacy constraints"; Sweeney (2002), "Achieving k-anonymity privacy
protection using generalization and suppression" (precision there is 1 - loss); Prasser, Kohlmayer, Kuhn (2016), BMC
Medical Informatics and Decision Making 16:49, section "Quality models" (quality there is 1 - loss).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class AttributeLoss:
    """A mean of attribute losses.

    Attributes
    ----------
    name : as the user writes it
    geometric : the geometric mean of (1 + loss), minus 1; else the arithmetic mean
    meaning : the formula in words
    by_level : the loss of a value is level / highest level of its hierarchy, whatever it covers

    Notes
    -----
    Generalization alone loses no more than generalization with suppression, and never less at a coarser policy: that
    lower bound is monotone. The full loss is not, because generalizing can save records from suppression.
    """

    name: str
    geometric: bool
    meaning: str
    by_level: bool = False

    is_mean: ClassVar[bool] = True
    ignores_suppression: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = True

    def aggregate(self, losses: Sequence[float], weights: Sequence[float]) -> float:
        """Return the weighted mean, in [0, 1]; the same in whatever order the attributes come.

        Parameters
        ----------
        losses : loss of each attribute, in [0, 1]
        weights : weight of each attribute, positive; only their proportions matter
        """
        whole = math.fsum(weights)
        if self.geometric:
            return math.expm1(math.fsum(w * math.log1p(x) for w, x in zip(weights, losses, strict=True)) / whole)
        return math.fsum(w * x for w, x in zip(weights, losses, strict=True)) / whole


IYENGAR = AttributeLoss("iyengar", False, "mean over the quasi-identifiers of their loss")
ARX = AttributeLoss("arx", True, "geometric mean of (1 + loss) over the quasi-identifiers, minus 1")
PRECISION = AttributeLoss(
    "precision", False, "mean over the quasi-identifiers of level / highest level, 1 where suppressed", by_level=True
)
