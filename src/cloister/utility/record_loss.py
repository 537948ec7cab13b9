"""Losses that look at each record: how ambiguous it has become, or how much information its labels lost.

References
----------
Goldberger, Tassa (2010), "Efficient anonymizations with enhanced utility" (ambiguity); Gionis, Tassa (2009),
"k-anonymization with minimal loss of information" (non-uniform entropy).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .generalized import Generalized, LossAndBound

LEAST_INFORMATION = 1e-12
"""Information a record that is no more than rounding: the column has one value."""


@dataclass(frozen=True)
class Ambiguity:
    """How many combinations of recorded values a released record could stand for, on a logarithmic scale.

    The mean over records of the product of the leaves that their labels cover (of the whole domains where suppressed);
    its logarithm as a share of the logarithm of all combinations. A weight is an exponent, scaled to 1 on average.
    """

    name: ClassVar[str] = "ambiguity"
    meaning: ClassVar[str] = (
        "logarithm of the mean number of combinations of recorded values that a record may stand for, as a share of "
        "that of all combinations"
    )
    is_mean: ClassVar[bool] = False
    ignores_suppression: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = True

    def measure(self, table: Generalized) -> LossAndBound:
        """Return the loss of a release, in [0, 1], and the loss if nothing were suppressed."""
        exponents = table.weights * (table.weights.size / table.weights.sum())
        most = float(exponents @ np.log(table.domains))
        n, suppressed = table.n_records, ~table.is_kept_row
        if most == 0.0:
            # Domains of one leaf: nothing can become ambiguous, but records can be lost.
            return LossAndBound(float(table.records[suppressed].sum()) / n, 0.0)
        # Shares of all combinations, so that nothing overflows.
        shares = np.exp(exponents @ table.log_leaves() - most)
        bound = float(table.records @ shares) / n
        lost = float(table.records[suppressed] @ (1.0 - shares[suppressed])) / n
        both = LossAndBound(1.0 + float(np.log(bound + lost)) / most, 1.0 + float(np.log(bound)) / most)
        return both.within_bounds()


@dataclass(frozen=True)
class NonUniformEntropy:
    """How much information about the recorded values the labels lost, the distribution of the input known.

    For each attribute the sum over records of log(records with the label / records with the value), of log(all
    records / records with the value) where suppressed, as a share of the latter over all records; then the weighted
    mean over the attributes.
    """

    name: ClassVar[str] = "entropy"
    meaning: ClassVar[str] = (
        "mean over the quasi-identifiers of the information about the recorded value that a label lost, as a share of "
        "all there was"
    )
    is_mean: ClassVar[bool] = False
    ignores_suppression: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = True

    def measure(self, table: Generalized) -> LossAndBound:
        """Return the loss of a release, in [0, 1], and the loss if nothing were suppressed."""
        n, suppressed = table.n_records, ~table.is_kept_row
        labels, values = table.log_label_records(), table.log_value_records()
        whole = np.log(n) * n - values @ table.records
        lost = (labels - values) @ table.records
        more = (np.log(n) - labels[:, suppressed]) @ table.records[suppressed]
        # A column of one value has no information to lose; its records can be lost all the same.
        share = float(table.records[suppressed].sum()) / n
        losses = np.divide(lost + more, whole, out=np.full(whole.size, share), where=whole > LEAST_INFORMATION * n)
        bounds = np.divide(lost, whole, out=np.zeros(whole.size), where=whole > LEAST_INFORMATION * n)
        weights = table.weights / table.weights.sum()
        return LossAndBound(float(losses @ weights), float(bounds @ weights)).within_bounds()


AMBIGUITY = Ambiguity()
ENTROPY = NonUniformEntropy()
