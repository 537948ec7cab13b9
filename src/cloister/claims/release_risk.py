"""The risk of a release as it would be handed over: in the mean, for several adversaries, and of each single patient.

The adversaries are the paper's, a flag-aware one, and one who does not pick at random among those who fit, but by
maximum likelihood: a patient with a hundred claims holds almost any two values, one with two claims few. The release
gives how often each value stands with each who fits, so the share of the samples of this size that are the one known:
prod_h prod_v C(count_v, s_v) / C(n_h, p_h). The number of values known is taken to reveal nothing; it depends on the
patient's claims, so that an adversary who uses it may be right more often still.

Who is treated first: patients are put in order by a few draws of each, and looked at closely, by 200 draws and more, in
that order: only so many that they make up for the excess, with room.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Draws

from .knowledge import DrawnKnowledge, chosen_draws
from .lattice_search import Node
from .matching import Matching
from .node_risk import NARROW, Interval, RiskFigures, RiskSettings, pooled, risk_of
from .released import ReleasedClaims

PURPOSE = 2_000_001
"""Which seed: odd, as evaluations have, and of no other one."""

LOOKED_AT, FEWEST_DRAWS = 20_000_000, 1_000
"""Patients that all draws are compared with where the figure is published without a limit, and its fewest draws."""

GLANCE, SCREEN = 5, 20
"""Draws of each patient by which patients are put in order: the first of everybody, all of whom one of them flags."""

ROOM = 1.5
"""Times the excess that the patients looked at closely should bear; doubled each time that they turn out not to, since
those who come first by few draws are less at risk by many."""

AT_ONCE = 400_000
"""Draws that are held in memory together."""

Figures = NDArray[np.float64]


@dataclass(frozen=True)
class ReleaseRisk:
    """What a simulation found.

    Attributes
    ----------
    exact : the paper's adversary: a draw that the released claims do not hold is missed, and no risk
    tolerant : drawn values may be missing where ``claims_truncated`` or ``sup_*`` say so; never misses, since what is
        missing of the patient is flagged
    fallback : picks among exact matches, and only without any among tolerated ones; stronger where flags are rare
    nearest : the same, but of those tolerated only who lack fewest values; the strongest where many are truncated
    """

    exact: RiskFigures
    tolerant: RiskFigures
    fallback: RiskFigures
    nearest: RiskFigures

    @property
    def believing_flags(self) -> float:
        """Upper end of the interval of the mean risk for flag-aware adversaries, by the best of three strategies."""
        return max(one.mean_interval.high for one in (self.tolerant, self.fallback, self.nearest))

    def highest(self, *, is_tolerant_waived: bool = False) -> float:
        """Highest of what is limited: the upper ends of the intervals of mean risk, flag rate and tolerant risk."""
        believing = 0.0 if is_tolerant_waived else self.believing_flags
        return max(self.exact.mean_interval.high, self.exact.flag_interval.high, believing)

    def holds(self, threshold: float, *, is_tolerant_waived: bool = False) -> bool:
        """Whether all that is limited is low enough."""
        return self.highest(is_tolerant_waived=is_tolerant_waived) <= threshold


def release_risk(
    released: ReleasedClaims, levels: Node, knowledge: DrawnKnowledge, settings: RiskSettings
) -> ReleaseRisk:
    """Measure the risk of a release on draws from released patients alone, by at most ``repeats`` times 10,000.

    Stops once all intervals are narrower than 0.0005, or clearly on one side of the threshold and narrow.
    """
    matching = Matching(released, knowledge.cap, settings.threads, levels)
    found: list[tuple[RiskFigures, ...]] = []
    for number in range(settings.repeats):
        draws = knowledge.repeat(number)
        fits = matching.sizes(levels, draws)
        # where somebody else fits exactly and the patient does not, those who fall back are wrong
        exact = np.where(matching.contained(levels, draws), fits, 0)
        tolerant = fits + matching.tolerated(levels, draws)
        fallback = np.where(fits > 0, exact, tolerant)
        nearest = np.where(fits > 0, exact, matching.nearest(levels, draws, fits == 0))
        found.append(tuple(RiskFigures.of(own, settings.k) for own in (exact, tolerant, fallback, nearest)))
        whole = ReleaseRisk(*map(pooled, zip(*found, strict=True)))
        intervals = (whole.exact.mean_interval, whole.exact.flag_interval, whole.tolerant.mean_interval)
        if all(_is_settled(one, settings.threshold) for one in intervals):
            break
    return whole


def _is_settled(interval: Interval, threshold: float) -> bool:
    """Whether an interval is narrow, or clearly on one side of the threshold."""
    gap = max(interval.low - threshold, threshold - interval.high)
    # so far from the threshold that more draws would not bring it to the other side
    is_far = gap > interval.width / 2 and interval.width < threshold / 10
    return interval.width < NARROW or is_far


def maximum_likelihood_risk(
    released: ReleasedClaims, levels: Node, power: NDArray[np.int32], settings: RiskSettings
) -> RiskFigures:
    """Measure the risk by who picks the likeliest of those who fit, one at random of several alike, on other draws."""
    draws, repeats = settings.draws, settings.repeats
    if not settings.is_likeliest_bounded:
        draws, repeats = min(draws, max(FEWEST_DRAWS, LOOKED_AT // max(int(released.patients.sum()), 1))), 1
    knowledge = DrawnKnowledge(released.encoded, power, settings.seed_of(PURPOSE), released.patients, draws)
    matching = Matching(released, knowledge.cap, settings.threads, levels)
    found: list[RiskFigures] = []
    for number in range(repeats):
        found.append(RiskFigures.of(matching.likeliest(levels, knowledge.repeat(number)), settings.k))
        if _is_settled(pooled(found).mean_interval, settings.threshold):
            break
    return pooled(found)


class Excess(NamedTuple):
    """Patients times what each risk is too high by: figures of patients must sum up to it; not above 0 if it is not."""

    flag_rate: float = 0.0
    mean_risk: float = 0.0
    tolerant_risk: float = 0.0


@dataclass(frozen=True)
class PatientJudge:
    """A release as it stands, ready to be attacked patient by patient."""

    matching: Matching
    levels: Node
    knowledge: DrawnKnowledge
    settings: RiskSettings

    @property
    def n_patients(self) -> int:
        """Number of patients, those not released among them."""
        return int(self.knowledge.eligible.size)

    def of_patients(self, patients: NDArray[np.int64], n_draws: int, first: int) -> Iterator[tuple[Draws, Figures]]:
        """Draws of these patients from number ``first`` on, in parts; (3, n) what each adds to the sums of figures.

        Risks are those of draws whose class is below k, for the paper's adversary and for the tolerant one; else 0.
        """
        matching, levels, k = self.matching, self.levels, self.settings.k
        is_waived, step = self.settings.is_tolerant_waived, max(1, AT_ONCE // n_draws)
        for at in range(0, patients.size, step):
            draws = self.knowledge.of_patients(patients[at : at + step], n_draws, first)
            # classes are counted up to k only: above it a draw is not flagged, however large its class
            held = matching.contained(levels, draws)
            fits = matching.sizes(levels, draws, held if is_waived else None, most=k)
            tolerant = np.zeros_like(fits)
            if not is_waived:
                few = fits < k
                tolerant = np.where(few, fits + matching.tolerated(levels, draws, few, k), 0)
                nearest = matching.nearest(levels, draws, fits == 0, k)
                tolerant = np.where(nearest > 0, np.minimum(nearest, tolerant), tolerant)
            exact, believing = (
                np.where(sizes < k, risk_of(sizes), 0.0) for sizes in (np.where(held, fits, 0), tolerant)
            )
            yield draws, np.stack([(exact > 0).astype(np.float64), exact, believing])

    def sums(self, patients: NDArray[np.int64], n_draws: int, first: int) -> Figures:
        """Figures of these patients, (3, n_patients), summed over their draws."""
        found = np.zeros((3, self.n_patients))
        for draws, figures in self.of_patients(patients, n_draws, first):
            found += _summed(draws, figures, self.n_patients)
        return found


def _summed(draws: Draws, figures: Figures, n_patients: int) -> Figures:
    return np.stack([np.bincount(draws.patients, own, minlength=n_patients) for own in figures])


class Screening:
    """The order of patients by a few draws of each, kept from round to round but for those who were treated."""

    def __init__(self, n_patients: int) -> None:
        self.figures: Figures = np.zeros((3, n_patients))
        self._is_old = np.ones(n_patients, dtype=np.bool_)

    def forget(self, patients: NDArray[np.bool_]) -> None:
        """Have these patients, (n_patients,), screened again."""
        self._is_old |= patients

    def renew(self, judge: PatientJudge) -> None:
        """Screen everybody who is released and was not yet, or was forgotten."""
        some = np.flatnonzero(self._is_old & judge.knowledge.eligible)
        found = judge.sums(some, GLANCE, 0)
        more = judge.sums(some[found[:, some].any(axis=0)], SCREEN - GLANCE, GLANCE)
        self.figures[:, self._is_old] = ((found + more) / SCREEN)[:, self._is_old]
        self._is_old[:] = False


@dataclass(frozen=True, eq=False, repr=False)
class PatientRisk:
    """Figures of the patients looked at closely; 0 for all others.

    Attributes
    ----------
    flag_rates : (n_patients,) share of the patient's draws that are flagged
    mean_risks, tolerant_risks : (n_patients,) part of the mean risk that flagged draws bear, for both adversaries
    looked_at : (n_patients,) whom draws were made of closely
    flagged : their draws that are flagged
    is_short : whether figures do not make up for the excess, though all whom screening found were looked at
    """

    flag_rates: Figures
    mean_risks: Figures
    tolerant_risks: Figures
    looked_at: NDArray[np.bool_]
    flagged: tuple[Draws, ...]
    is_short: bool


def patient_risks(judge: PatientJudge, screened: Figures, excess: Excess) -> PatientRisk:
    """Estimate the figures of the patients who bear most of the risk, enough of them to make up for the excess.

    Those who come first in the screening are looked at by at least 200 other draws: so many that their figures sum up
    to the excess by these draws as well, if there are so many.
    """
    close = np.zeros((3, judge.n_patients))
    looked_at = np.zeros(judge.n_patients, dtype=np.bool_)
    flagged: list[Draws] = []
    room, n, everyone = ROOM, judge.settings.patient_draws, _first(screened, excess, np.inf)
    while (is_short := any(close.sum(axis=1) < excess)) and not np.array_equal(looked_at, everyone):
        some = _first(screened, excess, room) & ~looked_at
        for draws, figures in judge.of_patients(np.flatnonzero(some), n, SCREEN):
            close += _summed(draws, figures, judge.n_patients) / n
            flagged.append(chosen_draws(draws, figures[0] > 0))
        looked_at |= some
        room *= 2
    return PatientRisk(close[0], close[1], close[2], looked_at, tuple(flagged), is_short)


def _first(figures: Figures, excess: Excess, room: float) -> NDArray[np.bool_]:
    """Those who bear so many times the excess of any kind, by these figures."""
    # nothing times without bound is not a number
    wanted = [room * own if own > 0 else 0.0 for own in excess]
    chosen = np.stack([most_at_risk(own, most) for own, most in zip(figures, wanted, strict=True)])
    return np.asarray(chosen.any(axis=0), dtype=np.bool_)


def most_at_risk(figures: Figures, excess: float) -> NDArray[np.bool_]:
    """The patients with the highest figures, (n_patients,), as few as make up for an excess; all above 0 if too few.

    Of patients with equal figures those with lower numbers come first.
    """
    chosen = np.zeros(figures.size, dtype=np.bool_)
    if excess > 0:
        order = np.lexsort((np.arange(figures.size), -figures))
        order = order[figures[order] > 0]
        n_chosen = int(np.searchsorted(np.cumsum(figures[order]), excess)) + 1
        chosen[order[:n_chosen]] = True
    return chosen
