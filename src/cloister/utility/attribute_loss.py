"""Losses that are a mean of the losses of the attributes.

The loss of a value is (leaves it covers - 1) / (leaves of its domain - 1): 0 as recorded, 1 when suppressed. The loss
of an attribute is the mean over all records of the input.

References
----------
Iyengar (2002), "Transforming data to satisfy privacy constraints"; Prasser, Kohlmayer, Kuhn (2016), BMC Medical
Informatics and Decision Making 16:49, section "Quality models" (quality there is 1 - loss).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from cloister.errors import InputError


@dataclass(frozen=True)
class AttributeLoss:
    """A mean of attribute losses.

    Attributes
    ----------
    name : as the user writes it
    geometric : the geometric mean of (1 + loss), minus 1; else the arithmetic mean
    meaning : the formula in words

    Notes
    -----
    Generalization alone loses no more than generalization with suppression, and never less at a coarser policy: that
    lower bound is monotone. The full loss is not, because generalizing can save records from suppression.
    """

    name: str
    geometric: bool
    meaning: str

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
LOSSES = {loss.name: loss for loss in (IYENGAR, ARX)}


def parse_loss(name: str) -> AttributeLoss:
    """Return the loss of this name.

    Raises
    ------
    InputError
        There is none.
    """
    if name in LOSSES:
        return LOSSES[name]
    near = get_close_matches(name, LOSSES, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise InputError(f"The loss {name!r} is not known.{hint} Losses: {', '.join(LOSSES)}.")
