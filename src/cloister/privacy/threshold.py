"""Comparisons of computed figures with a threshold.

Figures are quotients, sums and logarithms of counts in floating point, thresholds are decimals. What differs by no more
than ``TOLERANCE`` counts as equal, so that a class of one in ten has a share of 0.1: equal passes where the definition
includes it and fails where it does not.
"""

import numpy as np
from numpy.typing import NDArray

from .rule import Mask

TOLERANCE = 1e-12
"""Far above the error of a sum of shares, far below the difference that one record makes."""

Figures = NDArray[np.float64]


def at_most(figures: Figures, limit: float | Figures) -> Mask:
    """Return where figures are at most a limit, equality included."""
    return np.asarray(figures <= limit + TOLERANCE)


def at_least(figures: Figures, limit: float | Figures) -> Mask:
    """Return where figures are at least a limit, equality included."""
    return np.asarray(figures >= limit - TOLERANCE)


def below(figures: Figures, limit: float | Figures) -> Mask:
    """Return where figures are below a limit, equality excluded."""
    return np.asarray(figures < limit - TOLERANCE)
