"""Numbers about what was lost."""

from .attribute_loss import ARX, IYENGAR, PRECISION, AttributeLoss
from .class_loss import AVERAGE_CLASS_SIZE, DISCERNIBILITY
from .generalized import Generalized, Logarithms
from .losses import LOSSES, MEAN_LOSSES, TABLE_LOSSES, Loss, TableLoss, parse_loss

__all__ = [
    "ARX",
    "AVERAGE_CLASS_SIZE",
    "DISCERNIBILITY",
    "IYENGAR",
    "LOSSES",
    "MEAN_LOSSES",
    "PRECISION",
    "TABLE_LOSSES",
    "AttributeLoss",
    "Generalized",
    "Logarithms",
    "Loss",
    "TableLoss",
    "parse_loss",
]
