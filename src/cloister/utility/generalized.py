"""A table at one policy, as far as losses may see it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Logarithms = NDArray[np.float64]


class LossAndBound(NamedTuple):
    """Loss of a release, and the loss if nothing were suppressed: no higher, and never lower at a coarser policy."""

    loss: float
    bound: float

    def within_bounds(self) -> "LossAndBound":
        """Return both in [0, 1], the bound no higher than the loss, where rounding brought them out of it."""
        loss = min(max(self.loss, 0.0), 1.0)
        return LossAndBound(loss, min(max(self.bound, 0.0), loss))


@dataclass(frozen=True)
class Generalized:
    """Classes and distinct rows of a table at one policy.

    Attributes
    ----------
    sizes : (n_classes,) int64, records of each class
    is_kept : (n_classes,) whether each class is released; the others are suppressed
    records : (n_rows,) int64, records of each distinct row
    is_kept_row : (n_rows,) whether the class of each row is released
    domains : (n_attributes,) int64, leaves of the whole domain
    weights : (n_attributes,) float64, positive
    log_leaves : returns (n_attributes, n_rows) float64, logarithm of the leaves of the domain that each label covers
    log_label_records : returns the same of the records of the input that share the label at this policy
    log_value_records : returns the same of the records of the input that share the value as recorded

    The last three are worked out only for losses that look at them.
    """

    sizes: Numbers
    is_kept: NDArray[np.bool_]
    records: Numbers
    is_kept_row: NDArray[np.bool_]
    domains: Numbers
    weights: NDArray[np.float64]
    log_leaves: Callable[[], Logarithms] = field(repr=False)
    log_label_records: Callable[[], Logarithms] = field(repr=False)
    log_value_records: Callable[[], Logarithms] = field(repr=False)

    @property
    def n_records(self) -> int:
        """Records of the table."""
        return int(self.records.sum())
