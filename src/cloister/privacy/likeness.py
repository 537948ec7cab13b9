"""Beta-likeness and delta-disclosure: no sensitive value becomes much more, or less, likely in a class.

Missing is no value that anybody gains certainty of, and there are two readings of the share of the others, neither
always the stricter: among all records, as for somebody who does not know whether the patient's value is recorded, and
among the records in which it is, as for somebody who does. Both are asked here, each with the share p in the input and
the share q in the class taken in the same way. A class without any recorded value violates the rules. A value that
becomes less likely is no violation.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .rule import (
    Counts,
    EquivalenceClasses,
    Figures,
    Histogram,
    Mask,
    SensitiveRule,
    at_most,
    below,
    class_maxima,
    class_sums,
    keep_real,
    most_at_share,
    name_of,
    recorded,
    recorded_whole,
    shares,
    written,
)


@dataclass(frozen=True)
class _Likeness(SensitiveRule, ABC):
    """What both forms share: the gain of a value that they allow is for them to say."""

    beta: float
    column: str

    class_size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        keep_real(self, "beta", "above 0", lambda number: number > 0)
        name_of("The sensitive column", self.column)

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        histogram = classes.histogram(self)
        known, known_whole = class_sums(histogram, recorded(histogram)), int(recorded_whole(histogram).sum())
        sizes, whole = class_sums(histogram, histogram.records), int(histogram.whole.sum())
        among_all = _excess(histogram, sizes, whole, self._limit)
        among_known = _excess(histogram, known, known_whole, self._limit)
        return at_most(np.maximum(among_all, among_known), 0.0) & (known > 0)

    def most_kept(self, classes: EquivalenceClasses, holds: Mask) -> Counts:
        """Return how many records of each class may be kept, by the share among all that each value may have."""
        histogram = classes.histogram(self)
        share = np.minimum(histogram.whole / max(int(histogram.whole.sum()), 1), 1.0)
        may_have = np.minimum((1 + self._limit(share)) * share, 1.0)
        may_have[histogram.missing : histogram.missing + 1] = 1.0  # nothing is asked of it
        sizes = np.repeat(classes.sizes, np.diff(histogram.start))
        most = most_at_share(sizes - histogram.records, sizes, may_have[histogram.value])
        return np.where(holds, classes.sizes, np.minimum.reduceat(most, histogram.start[:-1]))

    @abstractmethod
    def sentence(self) -> str:
        """Return the rule in words."""

    @abstractmethod
    def _limit(self, share: Figures) -> Figures:
        """How far a value of this share in the input may gain, as a part of it."""


@dataclass(frozen=True)
class BetaLikeness(_Likeness):
    """In every class the share of each sensitive value exceeds that in the input by at most ``beta`` of it.

    For every value, (q - p) / p <= beta.

    *Guarantee*: finding the class of a patient makes no value of the column more than 1 + ``beta`` times as likely as
    it is for anybody in the input; unlike with t-closeness this holds for rare values as for frequent ones. Not
    promised: that a value cannot be excluded; that one with p >= 1 / (1 + beta) is not certain (see the enhanced
    form). Cost: one pass over the cells.

    Not monotone: records that repeat one value raise its share. Closed: the share in a union lies between those in its
    parts.

    Parameters
    ----------
    beta : above 0

    References
    ----------
    Cao, Karras (2012), "Publishing microdata with a robust privacy guarantee", section 3, basic beta-likeness.
    """

    model: ClassVar[str] = "beta-likeness"

    def _limit(self, share: Figures) -> Figures:
        return np.full_like(share, self.beta)

    def sentence(self) -> str:
        """Return the rule in words."""
        return (
            f"in every class each value of {self.column!r} is at most {written(1 + self.beta)} times as frequent as"
            " among all input records"
        )


@dataclass(frozen=True)
class EnhancedBetaLikeness(_Likeness):
    """In every class the share of each sensitive value exceeds that in the input by at most min(beta, -ln p) of it.

    For every value, (q - p) / p <= min(beta, -ln p).

    *Guarantee*: as for basic beta-likeness; besides, no value becomes certain that is not so in the input, since the
    bound p (1 - ln p) is below 1. Not promised: that a value cannot be excluded. Cost: one pass over the cells.

    Not monotone and closed, as the basic form: there is one upper bound for the share of each value.

    Parameters
    ----------
    beta : above 0

    References
    ----------
    Cao, Karras (2012), section 3, enhanced beta-likeness.
    """

    model: ClassVar[str] = "enhanced-beta-likeness"

    def _limit(self, share: Figures) -> Figures:
        return np.minimum(self.beta, -np.log(share))

    def sentence(self) -> str:
        """Return the rule in words."""
        return (
            f"in every class each value of {self.column!r} is at most 1 + min({written(self.beta)}, -ln p) times as"
            " frequent as its share p among all input records"
        )


def _excess(histogram: Histogram, totals: Counts, whole: int, limit: Callable[[Figures], Figures]) -> Figures:
    """By how much the largest gain of a recorded value passes its limit, shape (n_classes,); negative where none does.

    Parameters
    ----------
    totals, whole : what shares are of: records of each class, shape (n_classes,), and of the input
    """
    share = np.minimum(histogram.whole / max(whole, 1), 1.0)  # that of missing is not looked at
    bound = limit(share)[histogram.value]
    found = histogram.records / np.repeat(np.maximum(totals, 1), np.diff(histogram.start))
    gain = found / share[histogram.value] - 1
    return class_maxima(histogram, np.where(histogram.value == histogram.missing, -1.0, gain - bound))


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveRule):
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
    class_size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        keep_real(self, "delta", "above 0", lambda number: number > 0)
        name_of("The sensitive column", self.column)

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        histogram = classes.histogram(self)
        whole = histogram.whole / histogram.whole.sum()
        factors = shares(histogram) / whole[histogram.value]
        is_complete = np.diff(histogram.start) == len(histogram.whole)
        return np.asarray(is_complete & below(class_maxima(histogram, np.abs(np.log(factors))), self.delta))

    def most_kept(self, classes: EquivalenceClasses, holds: Mask) -> Counts:
        """Return how many records of each class may be kept: no more than leave each value its least share."""
        histogram = classes.histogram(self)
        least = np.exp(-self.delta) * histogram.whole / histogram.whole.sum()
        most = np.minimum.reduceat(histogram.records / least[histogram.value], histogram.start[:-1]) * (1 + 1e-9) + 1e-6
        is_complete = np.diff(histogram.start) == len(histogram.whole)
        kept = np.where(is_complete, np.minimum(most, classes.sizes), 0).astype(np.int64)
        return np.where(holds, classes.sizes, kept)

    def sentence(self) -> str:
        """Return the rule in words."""
        return (
            f"in every class each value of {self.column!r} is less than e^{written(self.delta)} times as frequent or"
            " rare as among all input records"
        )
