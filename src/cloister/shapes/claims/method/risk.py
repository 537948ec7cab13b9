"""The risk of a node (step 9), and of a release: how often a patient is one of few who fit what an adversary knows.

For each draw: a patient, and of each quasi-identifier of claims, by itself, some values of the patient, drawn without
replacement before truncation. If the released claims of the patient do not hold the drawn multiset, the draw is
*missed* and counts as no risk. Otherwise its *class* is the released patients who are like the patient in the
quasi-identifiers of patients and whose released claims hold the multiset, the patient included.
A class below k *flags* the draw.

Besides the paper's adversary there are a flag-aware one, and one who does not pick at random among those who fit, but
by maximum likelihood: a patient with a hundred claims holds almost any two values, one with two claims few. The release
shows how often each candidate has each value, hence the share of samples of this size that equal the known one:
prod_h prod_v C(count_v, s_v) / C(n_h, p_h). The number of known values is assumed to reveal nothing. It depends on the
patient's claims, so an adversary who uses it may be right more often.

References
----------
HHP appendix, section 5: Multimedia appendix of the de-identification methods for the Heritage Health Prize data. Here
the mean of 1/class (0 when missed) is a second figure: the chance that an adversary who picks one of the class at
random is right.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Draws, Span
from cloister.kernels.claim_matches import NO_LIMIT
from cloister.shapes.claims.format.plan import ClaimsPlan

from .adversary_draws import REPEAT, DrawnKnowledge, Power
from .lattice_search import Node
from .matching import Levels, Matching, ReleasedClaims

Sizes = NDArray[np.int64] | NDArray[np.float64]

CONFIDENT = 1.959963984540054
"""Half the width of a 95 % interval in standard errors."""

SURE = 3.290526731491926
"""The same for 99.9 %: searches look at thousands of intervals, many times each."""

NARROW = 0.0005
"""Width of an interval that is narrow enough."""

LOOKS = (200, 500, 1000, 2000, 3500, 5000, 7500, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)
"""Draws of a repeat after which it is asked whether there were enough, besides all of them."""

LIKELIEST_PURPOSE = 2_000_001
"""Which seed: odd, as evaluations have, and of no other one."""

LOOKED_AT, FEWEST_DRAWS = 20_000_000, 1_000
"""Patients that all draws are compared with where the figure is published without a limit, and its fewest draws."""


class Basis(StrEnum):
    """On which values it is decided that a draw is missed."""

    RAW = "raw"
    """On base values, so alike for every node: then a coarser node never flags a draw that a finer one does not."""

    NODE = "node"
    """On the values of the node, as the paper has it: generalizing can turn a miss into a match."""


class ConfidenceInterval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """How far apart its ends are."""
        return self.high - self.low

    def excludes(self, value: float) -> bool:
        """Whether a value lies outside."""
        return not self.low <= value <= self.high


@dataclass(frozen=True)
class RiskFigures:
    """The results of a simulation.

    flagged : draws whose class is below k
    missed : draws that the released claims of the patient do not hold
    mean : mean risk, 1/class or 0 when missed
    deviation : standard deviation of the risk over the draws
    """

    draws: int
    flagged: int
    missed: int
    mean: float
    deviation: float

    @property
    def flag_rate(self) -> float:
        """Share of draws that are flagged."""
        return self.flagged / self.draws

    @property
    def flag_interval(self) -> ConfidenceInterval:
        """95 % interval of the flag rate."""
        return wilson(self.flagged, self.draws)

    @property
    def mean_interval(self) -> ConfidenceInterval:
        """95 % interval of the mean risk; a little wide where few draws bear all the risk."""
        half = CONFIDENT * self.deviation / math.sqrt(self.draws) + CONFIDENT**2 / (2 * self.draws)
        return ConfidenceInterval(max(0.0, self.mean - half), min(1.0, self.mean + half))

    @classmethod
    def of(cls, sizes: Sizes, k: int) -> "RiskFigures":
        """Figures from the class of each draw, 0 where it is missed."""
        risks, missed = risk_of(sizes), sizes == 0
        flagged = int(((sizes < k) & ~missed).sum())
        return cls(risks.size, flagged, int(missed.sum()), float(risks.mean()), float(risks.std()))


def wilson(successes: int, trials: int, z: float = CONFIDENT) -> ConfidenceInterval:
    """Return the interval of a share by Wilson's score.

    References
    ----------
    Wilson (1927), "Probable inference, the law of succession, and statistical inference", JASA 22(158):209-212.
    """
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return ConfidenceInterval(max(0.0, middle - half), min(1.0, middle + half))


def risk_of(sizes: Sizes) -> NDArray[np.float64]:
    """Risk of each draw from its class size, 0 where it is missed."""
    return np.divide(1.0, sizes, out=np.zeros(sizes.size), where=sizes > 0)


class NodeRisk:
    """Risk of any node for one release and one adversary.

    *Guarantee*: the draws follow from seed, patient and number, so every node is judged on the same draws, by any
    number of threads; with ``basis="raw"`` the flagged draws of a node are flagged under every finer node. Not
    promised: exactness; a figure is an estimate with an interval. Cost: for a draw of p values, the shortest list of
    patients with one of them, or a pass over the bits of all patients.

    matching : the released claims; its ``cap`` at least that of the knowledge
    """

    def __init__(self, matching: Matching, knowledge: DrawnKnowledge, k: int, basis: Basis = Basis.NODE) -> None:
        if matching.cap < knowledge.cap:
            raise ValueError("values are known more often than lists were made for")
        self.matching, self.knowledge, self.k, self.basis = matching, knowledge, k, basis
        self._held: dict[int, NDArray[np.bool_]] = {}

    def is_candidate(self, levels: Levels, most: float) -> bool:
        """Whether the flag rate is at most ``most``, with as few draws of one repeat as that takes."""
        flagged, draws = 0, self.knowledge.repeat(0)
        whole = draws.patients.size
        looks = (*(look for look in LOOKS if look < whole), whole)
        for begin, end in zip((0, *looks), looks, strict=False):
            held = self.mark_contained(levels, 0, (begin, end))
            sizes = self.matching.sizes(levels, draws, held, (begin, end), self.k)
            flagged += int(np.count_nonzero(held[begin:end] & (sizes[begin:end] < self.k)))
            interval = wilson(flagged, end, SURE)
            if flagged > most * whole or interval.excludes(most) or interval.width < NARROW:
                break
        return flagged <= most * end

    def figures(self, levels: Levels, repeats: int = 1) -> RiskFigures:
        """Flag rate and mean risk; stops once both intervals are narrower than 0.0005."""
        found: list[RiskFigures] = []
        for number in range(repeats):
            draws = self.knowledge.repeat(number)
            sizes = self.matching.sizes(levels, draws, self.mark_contained(levels, number))
            found.append(RiskFigures.of(sizes, self.k))
            whole = pool_figures(found)
            if whole.flag_interval.width < NARROW and whole.mean_interval.width < NARROW:
                break
        return whole

    def class_sizes(self, levels: Levels, draws: Draws, most: int = NO_LIMIT) -> NDArray[np.int64]:
        """Class of each of any draws, 0 where it is missed, no further than ``most``."""
        decisive = levels if self.basis is Basis.NODE else [0] * len(levels)
        return self.matching.sizes(levels, draws, self.matching.mark_contained(decisive, draws), most=most)

    def mark_contained(self, levels: Levels, number: int, span: Span | None = None) -> NDArray[np.bool_]:
        """Which draws of a repeat are not missed: by base values, of all at once, as they are the same for any node."""
        draws = self.knowledge.repeat(number)
        if self.basis is Basis.NODE:
            return self.matching.mark_contained(levels, draws, span)
        if number not in self._held:
            self._held[number] = self.matching.mark_contained([0] * len(levels), draws)
        return self._held[number]


def pool_figures(figures: Sequence[RiskFigures]) -> RiskFigures:
    """Figures of several simulations of the same, put together."""
    draws, flagged, missed = (sum(getattr(one, name) for one in figures) for name in ("draws", "flagged", "missed"))
    mean = sum(one.mean * one.draws for one in figures) / draws
    square = sum((one.deviation**2 + one.mean**2) * one.draws for one in figures) / draws
    return RiskFigures(draws, flagged, missed, mean, math.sqrt(max(0.0, square - mean * mean)))


@dataclass(frozen=True)
class ReleaseRisk:
    """The results of a simulation on a release.

    exact : the paper's adversary: a draw that the released claims do not hold is missed, and no risk
    flag_aware : drawn values may be missing where ``claims_truncated`` or ``sup_*`` say so; never misses, since what is
        missing of the patient is flagged
    fallback : picks among exact matches, and only without any among tolerated ones; stronger where flags are rare
    nearest : the same, but of those tolerated only who lack fewest values; the strongest where many are truncated
    """

    exact: RiskFigures
    flag_aware: RiskFigures
    fallback: RiskFigures
    nearest: RiskFigures

    @property
    def believing_flags(self) -> float:
        """Upper end of the interval of the mean risk for flag-aware adversaries, by the best of three strategies."""
        return max(one.mean_interval.high for one in (self.flag_aware, self.fallback, self.nearest))

    @property
    def highest_believing(self) -> float:
        """Mean risk of flag-aware adversaries, by the best of three strategies."""
        return max(one.mean for one in (self.flag_aware, self.fallback, self.nearest))

    def highest(self, plan: ClaimsPlan) -> float:
        """Highest of what is limited: the upper ends of the intervals of mean risk, flag rate and flag-aware risk."""
        believing = 0.0 if plan.adversary.is_flag_aware_waived else self.believing_flags
        return max(self.exact.mean_interval.high, self.exact.flag_interval.high, believing)

    def holds(self, plan: ClaimsPlan) -> bool:
        """Whether all that is limited is low enough."""
        return self.highest(plan) <= plan.risk.threshold


@dataclass(frozen=True, eq=False, repr=False)
class AttackedClaims:
    """A release at the levels of a node, ready to be attacked.

    power : of the adversary that the release is made against
    threads : that count in parallel
    cap : values of one column that other adversaries know at most, if that is more
    """

    released: ReleasedClaims
    levels: Node
    power: Power
    plan: ClaimsPlan
    threads: int = 1
    cap: int = 0

    @cached_property
    def matching(self) -> Matching:
        """Lists of patients for any power up to ``cap``."""
        return Matching(self.released, max(self.cap, int(self.power.max(initial=0))), self.threads)

    @cached_property
    def samples(self) -> DrawnKnowledge:
        """Samples by which adversaries are compared; others know as much of the same patients, or more or less."""
        return self.knowledge(1, REPEAT)

    def knowledge(self, purpose: int, draws: int) -> DrawnKnowledge:
        """Samples of the values of released patients that are used for one purpose only, so many in a repeat."""
        released, seed = self.released, self.plan.risk.seed_of(purpose)
        return DrawnKnowledge(released.encoded, self.power, seed, released.patients, draws)


def release_risk(attacked: AttackedClaims, knowledge: DrawnKnowledge, repeats: int) -> ReleaseRisk:
    """Measure the risk of a release on draws from released patients alone, by so many repeats at most.

    Stops once all intervals are narrower than 0.0005, or clearly on one side of the threshold and narrow. The figures
    for those who believe flags are of as many repeats as theirs take, which may be fewer: a repeat of them costs more.
    """
    matching, levels, risk = attacked.matching, attacked.levels, attacked.plan.risk
    exact: list[RiskFigures] = []
    believing: list[tuple[RiskFigures, ...]] = []
    is_believing_settled = False
    for number in range(repeats):
        draws = knowledge.repeat(number)
        held = matching.mark_contained(levels, draws)
        fits = matching.sizes(levels, draws, held if is_believing_settled else None)
        # where someone else fits exactly and the patient does not, those who fall back are wrong
        own = np.where(held, fits, 0)
        exact.append(RiskFigures.of(own, risk.k))
        if not is_believing_settled:
            flag_aware = fits + matching.count_tolerated(levels, draws)
            fallback = np.where(fits > 0, own, flag_aware)
            nearest = np.where(fits > 0, own, matching.nearest(levels, draws, fits == 0))
            believing.append(tuple(RiskFigures.of(sizes, risk.k) for sizes in (flag_aware, fallback, nearest)))
            whole = [pool_figures(one) for one in zip(*believing, strict=True)]
            is_believing_settled = all(_is_settled(one.mean_interval, risk.threshold) for one in whole)
        found = pool_figures(exact)
        intervals = found.mean_interval, found.flag_interval
        if is_believing_settled and all(_is_settled(one, risk.threshold) for one in intervals):
            break
    return ReleaseRisk(found, *whole)


def _is_settled(interval: ConfidenceInterval, threshold: float) -> bool:
    """Whether an interval is narrow, or clearly on one side of the threshold."""
    gap = max(interval.low - threshold, threshold - interval.high)
    # so far from the threshold that more draws would not bring it to the other side
    is_far = gap > interval.width / 2 and interval.width < threshold / 10
    return interval.width < NARROW or is_far


def maximum_likelihood_risk(attacked: AttackedClaims) -> RiskFigures:
    """Measure the risk by who picks the most likely candidate, one at random of several alike, on other draws."""
    risk = attacked.plan.risk
    draws, repeats = risk.draws, risk.repeats
    if attacked.plan.adversary.likeliest != "bounded":
        n_patients = int(attacked.released.patients.sum())
        draws, repeats = min(draws, max(FEWEST_DRAWS, LOOKED_AT // max(n_patients, 1))), 1
    knowledge = attacked.knowledge(LIKELIEST_PURPOSE, draws)
    found: list[RiskFigures] = []
    for number in range(repeats):
        sizes = attacked.matching.likeliest(attacked.levels, knowledge.repeat(number))
        found.append(RiskFigures.of(sizes, risk.k))
        if _is_settled(pool_figures(found).mean_interval, risk.threshold):
            break
    return pool_figures(found)
