"""The risk of a release as it would be handed over: for the paper's adversary, and for one who believes its flags."""

from dataclasses import dataclass

import numpy as np

from .knowledge import Knowledge
from .lattice_search import Node
from .matching import Matching
from .node_risk import NARROW, Interval, RiskFigures, pooled, risk_of
from .released import Released
from .risk_settings import RiskSettings


@dataclass(frozen=True)
class ReleaseRisk:
    """What a simulation found.

    Attributes
    ----------
    exact : the paper's adversary: a draw that the released claims do not hold is missed, and no risk
    tolerant : an adversary who lets drawn values be missing where ``claims_truncated`` or ``sup_*`` say so; never
        misses, since what is missing of the patient is flagged
    fallback : one who picks among exact matches, and only where there are none among tolerated ones; the
        stronger of both where flags are rare
    nearest : the same, but of those tolerated he takes only who lack fewest values; the strongest where many are
        truncated
    """

    exact: RiskFigures
    tolerant: RiskFigures
    fallback: RiskFigures
    nearest: RiskFigures

    @property
    def believing_flags(self) -> float:
        """Upper end of the interval of the mean risk for who believes flags, by the best of the three strategies."""
        return max(one.mean_interval.high for one in (self.tolerant, self.fallback, self.nearest))

    def highest(self, *, is_tolerant_waived: bool = False) -> float:
        """Highest of what is limited: the upper ends of the intervals of mean risk, flag rate and tolerant risk."""
        believing = 0.0 if is_tolerant_waived else self.believing_flags
        return max(self.exact.mean_interval.high, self.exact.flag_interval.high, believing)

    def holds(self, threshold: float, *, is_tolerant_waived: bool = False) -> bool:
        """Whether all that is limited is low enough."""
        return self.highest(is_tolerant_waived=is_tolerant_waived) <= threshold


def release_risk(released: Released, levels: Node, knowledge: Knowledge, settings: RiskSettings) -> ReleaseRisk:
    """Measure the risk of a release on draws from released patients alone, by at most ``repeats`` times 10,000.

    Stops once no interval is wider than 0.0005, or clearly on one side of the threshold and narrow.
    """
    matching = Matching(released, knowledge.cap, settings.threads, levels)
    found: list[ReleaseRisk] = []
    for number in range(settings.repeats):
        found.append(_repeat(matching, levels, knowledge, number, settings.k))
        whole = ReleaseRisk(
            pooled([one.exact for one in found]),
            pooled([one.tolerant for one in found]),
            pooled([one.fallback for one in found]),
            pooled([one.nearest for one in found]),
        )
        if _is_settled(whole, settings.threshold):
            break
    return whole


def _is_settled(risk: ReleaseRisk, threshold: float) -> bool:
    intervals = [risk.exact.mean_interval, risk.exact.flag_interval, risk.tolerant.mean_interval]
    return all(is_settled(one, threshold) for one in intervals)


def is_settled(interval: Interval, threshold: float) -> bool:
    """Whether an interval is narrow, or clearly on one side of the threshold."""
    return interval.width < NARROW or _is_far(interval, threshold)


def _is_far(interval: Interval, threshold: float) -> bool:
    """Whether an interval ends so far from the threshold that looking at it again and again does no harm."""
    gap = max(interval.low - threshold, threshold - interval.high)
    return gap > interval.width / 2 and interval.width < threshold / 10


def _repeat(matching: Matching, levels: Node, knowledge: Knowledge, number: int, k: int) -> ReleaseRisk:
    draws = knowledge.repeat(number)
    held = matching.contained(levels, draws)
    fits = matching.sizes(levels, draws)
    exact = np.where(held, fits, 0)
    tolerant = fits + matching.tolerated(levels, draws)
    # Where somebody else fits exactly and the patient does not, this adversary is wrong.
    fallback = np.where(fits > 0, exact, tolerant)
    nearest = np.where(fits > 0, exact, matching.nearest(levels, draws, fits == 0))
    return ReleaseRisk(
        *(
            RiskFigures.of(risk_of(sizes), (sizes > 0) & (sizes < k), sizes == 0)
            for sizes in (exact, tolerant, fallback, nearest)
        )
    )
