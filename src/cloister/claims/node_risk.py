"""The risk of a node: how often a patient is one of few whose released claims fit what an adversary knows (step 9).

For each draw: a patient, and of each quasi-identifier of claims, by itself, some values of the patient, drawn without
replacement before truncation. If the released claims of the patient do not hold the drawn multiset, the draw is
*missed* and counts as no risk. Otherwise its *class* is the released patients who are like the patient in the
quasi-identifiers of patients and whose released claims hold the multiset, the patient included.
A class below k *flags* the draw. What is asked of the risk, and how it is measured, are its settings.

References
----------
HHP appendix, section 5: Multimedia appendix of the de-identification methods for the Heritage Health Prize data. Here
the mean of 1/class (0 when missed) is a second figure: the chance that an adversary who picks one of the class at
random is right.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.claim_draws import Draws

from .knowledge import REPEAT, DrawnKnowledge
from .matching import Levels, Matching

CONFIDENT = 1.959963984540054
"""Half the width of a 95 % interval in standard errors."""

SURE = 3.290526731491926
"""The same for 99.9 %: searches look at thousands of intervals, many times each."""

NARROW = 0.0005
"""Width of an interval that is narrow enough."""

LOOKS = (200, 500, 1000, 2000, 3500, 5000, 7500, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)
"""Draws of a repeat after which it is asked whether there were enough, besides all of them."""

PowerAt = Callable[[tuple[int, ...]], NDArray[np.int32]]
"""The adversary's power as computed from the values of a node, (n_patients, n_columns)."""

FEWEST, MOST = 1_000, 1_000_000
"""Draws of a repeat; also most repeats, so that no number of a draw is that of another kind."""


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
    def of(cls, sizes: NDArray[np.int64] | NDArray[np.float64], k: int) -> "RiskFigures":
        """Figures from the class of each draw, 0 where it is missed."""
        risks, missed = risk_of(sizes), sizes == 0
        flagged = int(((sizes < k) & ~missed).sum())
        return cls(risks.size, flagged, int(missed.sum()), float(risks.mean()), float(risks.std()))


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


def risk_of(sizes: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
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

    def __init__(self, matching: Matching, knowledge: DrawnKnowledge, k: int, basis: Basis = Basis.NODE) -> None:
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
                taken = self.knowledge.repeat(number)
                held = self._contained(levels, number, begin, end)
                sizes = self.matching.sizes(levels, taken, held, (begin, end), self.k)
                flagged += int(np.count_nonzero(held[begin:end] & (sizes[begin:end] < self.k)))
                draws += end - begin
                interval = wilson(flagged, draws, z)
                if flagged > most * whole * repeats or interval.excludes(most) or interval.width < NARROW:
                    return FlagRate(draws, flagged, flagged <= most * draws)
        return FlagRate(draws, flagged, flagged <= most * draws)

    def figures(self, levels: Levels, repeats: int = 1) -> RiskFigures:
        """Flag rate and mean risk; stops once both intervals are narrower than 0.0005."""
        found: list[RiskFigures] = []
        for number in range(repeats):
            draws = self.knowledge.repeat(number)
            held = self._contained(levels, number, 0, draws.patients.size)
            sizes = self.matching.sizes(levels, draws, held)
            found.append(RiskFigures.of(sizes, self.k))
            whole = pooled(found)
            if whole.flag_interval.width < NARROW and whole.mean_interval.width < NARROW:
                break
        return pooled(found)

    def class_sizes(self, levels: Levels, draws: Draws) -> NDArray[np.int64]:
        """Class of each of any draws, 0 where it is missed."""
        held = self.matching.contained(self._where_missed(levels), draws)
        return self.matching.sizes(levels, draws, held)

    def _contained(self, levels: Levels, number: int, begin: int, end: int) -> NDArray[np.bool_]:
        draws = self.knowledge.repeat(number)
        if self.basis is Basis.NODE:
            return self.matching.contained(levels, draws, (begin, end))
        if number not in self._held:
            self._held[number] = self.matching.contained(self._where_missed(levels), draws)
        return self._held[number]

    def _where_missed(self, levels: Levels) -> Levels:
        return [0] * len(levels) if self.basis is Basis.RAW else levels


def pooled(figures: Sequence[RiskFigures]) -> RiskFigures:
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


class Treatment(StrEnum):
    """What is suppressed of a patient at risk."""

    PATIENTS = "patients"
    CLAIMS = "claims"
    CELLS = "cells"


@dataclass(frozen=True)
class RiskSettings:
    """Limits, seeds and efforts.

    Attributes
    ----------
    threshold : highest mean risk and flag rate of the release, above 0 and at most 1; k is 1 over it, rounded up
    max_sup : highest flag rate of a node to be chosen, before suppression
    seed : of the draws for choosing; evaluation takes others that follow from it
    search_repeats : repeats of ``draws`` draws after which a node of the search is decided, however near to the limit
    repeats : most repeats of the final figures
    draws : of one repeat
    search_nodes, search_seconds : after so many nodes, or so long, the search takes the best found; None for no bound
    truncation : percentiles of the number of claims to try; 100 is none
    treatment : what is suppressed
    patient_draws : draws of each patient that are looked at before suppressing anything of the patient
    most_treated : share of the patients of whom something may be suppressed in step 11
    most_removed : share of the patients who may be left out whole in step 11
    is_tolerant_waived : whether the adversary who believes flags may be left out of account
    is_likeliest_bounded : whether the risk by who picks the likeliest must be under the threshold too
    threads : that count side by side
    """

    threshold: float = 0.05
    max_sup: float = 0.05
    seed: int = 0
    search_repeats: int = 1
    repeats: int = 100
    draws: int = REPEAT
    search_nodes: int | None = None
    search_seconds: float | None = None
    truncation: tuple[float, ...] = (100.0, 99.0, 97.5, 95.0, 90.0)
    treatment: Treatment = Treatment.CELLS
    patient_draws: int = 200
    most_treated: float = 0.5
    most_removed: float = 0.1
    is_tolerant_waived: bool = False
    is_likeliest_bounded: bool = False
    threads: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        shares = {"threshold": self.threshold, "max_sup": self.max_sup}
        for name, share in shares.items():
            if not 0 < share <= 1:
                raise InputError(f"{name} must be above 0 and at most 1.")
        for name, share in {"most_treated": self.most_treated, "most_removed": self.most_removed}.items():
            if not 0 <= share <= 1:
                raise InputError(f"{name} must be from 0 to 1.")
        if not self.truncation or not all(0 < level <= 100 for level in self.truncation):
            raise InputError("truncation must be percentiles above 0, at most 100, at least one of them.")
        if self.search_repeats < 1 or self.repeats < 1 or self.threads < 1 or self.patient_draws < 200:
            raise InputError("repeats and threads must be at least 1, draws of each patient at least 200.")
        if not FEWEST <= self.draws <= MOST or self.repeats > MOST:
            raise InputError(f"draws must be from {FEWEST:,} to {MOST:,}, repeats at most {MOST:,}.")
        nodes, seconds = self.search_nodes, self.search_seconds
        if (nodes is not None and nodes < 1) or not (seconds is None or seconds > 0):
            raise InputError("The nodes of the search must be at least 1, its seconds above 0.")
        if not 0 <= self.seed < 2**32:
            raise InputError("seed must be from 0 to below 2**32.")

    @property
    def k(self) -> int:
        """Classes below it are flagged: 1 / threshold, rounded up where that is no rounding error of the quotient."""
        k = math.ceil(1 / self.threshold)
        return k - 1 if k > 1 and 1 / (k - 1) <= self.threshold else k

    def seed_of(self, purpose: int) -> int:
        """A seed for another purpose than choosing: 1, 2, ... for evaluation after evaluation."""
        return self.seed + (purpose << 32)
