"""The risk of a node: how often a patient is one of few whose released claims fit what an adversary knows (step 9).

For each draw: a patient, and of each quasi-identifier of claims, by itself, some values of the patient, drawn without
replacement before truncation. If the released claims of the patient do not hold the drawn multiset, the draw is
*missed* and counts as no risk. Otherwise its *class* is the released patients who are like the patient in the
quasi-identifiers of patients and whose released claims hold the multiset, the patient included.
A class below k *flags* the draw.

References
----------
HHP appendix, section 5: Multimedia appendix of the de-identification methods for the Heritage Health Prize data. Here
the mean of 1/class (0 when missed) is a second figure: the chance that an adversary who picks one of the class at
random is right.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Draws

from .knowledge import Knowledge
from .matching import Levels, Matching

CONFIDENT = 1.959963984540054
"""Half the width of a 95 % interval in standard errors."""

SURE = 3.290526731491926
"""The same for 99.9 %: searches look at thousands of intervals, many times each."""

NARROW = 0.0005
"""Width of an interval that is narrow enough."""

LOOKS = (200, 500, 1000, 2000, 3500, 5000, 7500, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)
"""Draws of a repeat after which it is asked whether there were enough, besides all of them."""


class Basis(StrEnum):
    """On which values it is decided that a draw is missed."""

    RAW = "raw"
    """On base values, so alike for every node: then a coarser node never flags a draw that a finer one does not."""

    NODE = "node"
    """On the values of the node, as the paper has it: generalizing can turn a miss into a match."""


@dataclass(frozen=True)
class Interval:
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
    """What a simulation found.

    Attributes
    ----------
    draws : number of draws
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
    def flag_interval(self) -> Interval:
        """95 % interval of the flag rate."""
        return wilson(self.flagged, self.draws)

    @property
    def mean_interval(self) -> Interval:
        """95 % interval of the mean risk; a little wide where few draws bear all the risk."""
        half = CONFIDENT * self.deviation / math.sqrt(self.draws) + CONFIDENT**2 / (2 * self.draws)
        return Interval(max(0.0, self.mean - half), min(1.0, self.mean + half))

    @classmethod
    def of(cls, risks: NDArray[np.float64], flagged: NDArray[np.bool_], missed: NDArray[np.bool_]) -> "RiskFigures":
        """Figures from the risk of each draw."""
        return cls(risks.size, int(flagged.sum()), int(missed.sum()), float(risks.mean()), float(risks.std()))


@dataclass(frozen=True)
class FlagRate:
    """A flag rate, as far as it had to be known.

    Attributes
    ----------
    draws, flagged : what was counted
    is_candidate : whether the flag rate is at most MaxSup
    """

    draws: int
    flagged: int
    is_candidate: bool


def wilson(successes: int, trials: int, z: float = CONFIDENT) -> Interval:
    """Interval of a share by Wilson's score.

    References
    ----------
    Wilson (1927), "Probable inference, the law of succession, and statistical inference", JASA 22(158):209-212.
    """
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def risk_of(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Risk of each draw from its class size, 0 where it is missed."""
    return np.divide(1.0, sizes, out=np.zeros(sizes.size), where=sizes > 0)


class NodeRisk:
    """Risk of any node for one release and one adversary.

    *Guarantee*: the draws follow from seed, patient and number, so every node is judged on the same draws, by any
    number of threads; with ``basis="raw"`` the flagged draws of a node are flagged under every finer node. Not
    promised: exactness; a figure is an estimate with an interval. Cost: for a draw of p values, the shortest list of
    patients with one of them, or a pass over the bits of all patients.

    Parameters
    ----------
    matching : the released claims; its ``cap`` at least that of the knowledge
    knowledge : what is drawn
    k : classes below it are flagged
    basis : on which values it is decided that a draw is missed
    """

    def __init__(self, matching: Matching, knowledge: Knowledge, k: int, basis: Basis = Basis.NODE) -> None:
        if matching.cap < knowledge.cap:
            raise ValueError("values are known more often than lists were made for")
        self.matching = matching
        self.knowledge = knowledge
        self.k = k
        self.basis = basis
        self._held: dict[int, NDArray[np.bool_]] = {}

    def flag_rate(self, levels: Levels, most: float, repeats: int = 1, z: float = SURE) -> FlagRate:
        """Whether the flag rate is at most ``most``, with as few draws as that takes.

        Parameters
        ----------
        repeats : after so many repeats the share itself decides
        z : how sure to be before that, in standard errors
        """
        draws, flagged, whole = 0, 0, self.knowledge.draws
        looks = (*(look for look in LOOKS if look < whole), whole)
        for number in range(repeats):
            for begin, end in zip((0, *looks), looks, strict=False):
                flagged += self._flags(levels, number, begin, end)
                draws += end - begin
                interval = wilson(flagged, draws, z)
                if flagged > most * whole * repeats or interval.excludes(most) or interval.width < NARROW:
                    return FlagRate(draws, flagged, flagged <= most * draws)
        return FlagRate(draws, flagged, flagged <= most * draws)

    def figures(self, levels: Levels, repeats: int = 1) -> RiskFigures:
        """Flag rate and mean risk; stops once both intervals are narrower than 0.0005."""
        found: list[RiskFigures] = []
        for number in range(repeats):
            found.append(self._repeat(levels, number))
            whole = pooled(found)
            if whole.flag_interval.width < NARROW and whole.mean_interval.width < NARROW:
                break
        return pooled(found)

    def class_sizes(self, levels: Levels, draws: Draws) -> NDArray[np.int64]:
        """Class of each of any draws, 0 where it is missed."""
        held = self.matching.contained(self._where_missed(levels), draws)
        return self.matching.sizes(levels, draws, held)

    def _repeat(self, levels: Levels, number: int) -> RiskFigures:
        draws = self.knowledge.repeat(number)
        held = self._contained(levels, number, 0, draws.patients.size)
        sizes = self.matching.sizes(levels, draws, held)
        return RiskFigures.of(risk_of(sizes), held & (sizes < self.k), ~held)

    def _flags(self, levels: Levels, number: int, begin: int, end: int) -> int:
        """Flagged draws among some of a repeat."""
        draws = self.knowledge.repeat(number)
        held = self._contained(levels, number, begin, end)
        sizes = self.matching.sizes(levels, draws, held, (begin, end), self.k)
        return int(np.count_nonzero(held[begin:end] & (sizes[begin:end] < self.k)))

    def _contained(self, levels: Levels, number: int, begin: int, end: int) -> NDArray[np.bool_]:
        draws = self.knowledge.repeat(number)
        if self.basis is Basis.NODE:
            return self.matching.contained(levels, draws, (begin, end))
        if number not in self._held:
            self._held[number] = self.matching.contained(self._where_missed(levels), draws)
        return self._held[number]

    def _where_missed(self, levels: Levels) -> Levels:
        return [0] * len(levels) if self.basis is Basis.RAW else levels


def pooled(figures: list[RiskFigures]) -> RiskFigures:
    """Figures of several simulations of the same, put together."""
    draws = sum(one.draws for one in figures)
    mean = sum(one.mean * one.draws for one in figures) / draws
    square = sum((one.deviation**2 + one.mean**2) * one.draws for one in figures) / draws
    return RiskFigures(
        draws,
        sum(one.flagged for one in figures),
        sum(one.missed for one in figures),
        mean,
        math.sqrt(max(0.0, square - mean * mean)),
    )


def class_limit(threshold: float) -> int:
    """k = ceil(1 / threshold): the smallest class whose risk is at most the threshold."""
    k = math.ceil(1 / threshold)
    return k - 1 if k > 1 and 1 / (k - 1) <= threshold else k


def node_levels(n_levels: list[int]) -> Iterator[tuple[int, ...]]:
    """All nodes of a lattice, in the order of their levels."""
    if not n_levels:
        yield ()
        return
    for level in range(n_levels[0]):
        for rest in node_levels(n_levels[1:]):
            yield (level, *rest)
