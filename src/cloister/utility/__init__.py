"""Numbers about what was lost."""

from .attribute_loss import ARX, IYENGAR, LOSSES, AttributeLoss, parse_loss

__all__ = ["ARX", "IYENGAR", "LOSSES", "AttributeLoss", "parse_loss"]
