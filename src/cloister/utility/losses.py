"""The losses by name."""

from typing import Protocol, runtime_checkable

from cloister.errors import InputError, did_you_mean

from .attribute_loss import ARX, IYENGAR, PRECISION, AttributeLoss
from .class_loss import AVERAGE_CLASS_SIZE, DISCERNIBILITY, DM_STAR
from .generalized import Generalized, LossAndBound
from .record_loss import AMBIGUITY, ENTROPY


@runtime_checkable
class TableLoss(Protocol):
    """A loss that is measured on the table as a whole, in [0, 1]; with nothing suppressed it is a monotone bound."""

    @property
    def name(self) -> str:
        """As the user writes it."""

    @property
    def meaning(self) -> str:
        """The formula in words."""

    @property
    def ignores_suppression(self) -> bool:
        """Whether suppressing a class changes nothing."""

    @property
    def takes_weights(self) -> bool:
        """Whether attributes can be weighted."""

    def measure(self, table: Generalized) -> LossAndBound:
        """Return the loss of a release, and the loss if nothing were suppressed."""


Loss = AttributeLoss | TableLoss

MEAN_LOSSES = {loss.name: loss for loss in (IYENGAR, ARX, PRECISION)}
"""Losses that are a mean of attribute losses."""

TABLE_LOSSES: dict[str, TableLoss] = {
    loss.name: loss for loss in (DISCERNIBILITY, DM_STAR, AVERAGE_CLASS_SIZE, AMBIGUITY, ENTROPY)
}

LOSSES: dict[str, Loss] = {**MEAN_LOSSES, **TABLE_LOSSES}


def parse_loss(name: str) -> Loss:
    """Return the loss of this name.

    Raises
    ------
    InputError
        There is none.
    """
    if name in LOSSES:
        return LOSSES[name]
    hint = did_you_mean(name, LOSSES)
    raise InputError(f"The loss {name!r} is not known.{hint} Losses: {', '.join(LOSSES)}.")
