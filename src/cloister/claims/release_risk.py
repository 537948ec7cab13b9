"""The risk of a release as it would be handed over: in the mean, for several adversaries, and of each single patient.

The adversaries are the paper's, one who believes flags, and one who does not pick at random among those who fit, but
the likeliest of them. Who fits need not be as likely as another: a patient with a hundred claims holds almost any two
values, one with two claims holds few. Of each who fits it is known from the release how often each value stands there,
so how many of the samples of this size are the one that is known: prod_h prod_v C(count_v, s_v) / C(n_h, p_h). How many
values are known is taken to tell nothing; it depends on the patient's claims, so that who reckons with it may be right
more often still.

Who is to be treated first: patients are put in order by a few draws of each, and looked at closely, by 200 draws and
more, in that order: only so many that they make up for what is to be made up for, with room.
"""

from collections.abc import Iterator
from dataclasses import dataclass

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
"""Patients that all draws together may be compared with where the figure is told alone, and the fewest draws of it.

The claims of everybody who fits are counted in each draw, and of many patients many fit.
"""

GLANCE, SCREEN = 5, 20
"""Draws of each patient by which patients are put in order: the first of everybody, all of whom one of them flags."""

ROOM = 1.5
"""How much more than is to be made up for the patients looked at closely should bear; twice as much each time that they
turn out not to, since those who come first by few draws are, by many, less at risk than they seemed."""

AT_ONCE = 400_000
"""Draws that are held in memory together."""

Figures = NDArray[np.float64]


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


def release_risk(
    released: ReleasedClaims, levels: Node, knowledge: DrawnKnowledge, settings: RiskSettings
) -> ReleaseRisk:
    """Measure the risk of a release on draws from released patients alone, by at most ``repeats`` times 10,000.

    Stops once no interval is wider than 0.0005, or clearly on one side of the threshold and narrow.
    """
    matching = Matching(released, knowledge.cap, settings.threads, levels)
    found: list[ReleaseRisk] = []
    for number in range(settings.repeats):
        found.append(_measured_once(matching, levels, knowledge, number, settings.k))
        whole = ReleaseRisk(
            pooled([one.exact for one in found]),
            pooled([one.tolerant for one in found]),
            pooled([one.fallback for one in found]),
            pooled([one.nearest for one in found]),
        )
        intervals = (whole.exact.mean_interval, whole.exact.flag_interval, whole.tolerant.mean_interval)
        if all(is_settled(one, settings.threshold) for one in intervals):
            break
    return whole


def is_settled(interval: Interval, threshold: float) -> bool:
    """Whether an interval is narrow, or clearly on one side of the threshold."""
    gap = max(interval.low - threshold, threshold - interval.high)
    # so far from the threshold that looking at it again and again does no harm
    is_far = gap > interval.width / 2 and interval.width < threshold / 10
    return interval.width < NARROW or is_far


def _measured_once(matching: Matching, levels: Node, knowledge: DrawnKnowledge, number: int, k: int) -> ReleaseRisk:
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


def likeliest_risk(
    released: ReleasedClaims, levels: Node, power: NDArray[np.int32], settings: RiskSettings
) -> RiskFigures:
    """Measure the risk by who picks the likeliest of those who fit, one at random of several alike; on its own draws.

    Parameters
    ----------
    power : (n_patients, n_columns) values known
    """
    draws, repeats = settings.draws, settings.repeats
    if not settings.is_likeliest_bounded:
        draws, repeats = min(draws, max(FEWEST_DRAWS, LOOKED_AT // max(int(released.patients.sum()), 1))), 1
    knowledge = DrawnKnowledge(released.encoded, power, settings.seed_of(PURPOSE), released.patients, draws)
    matching = Matching(released, knowledge.cap, settings.threads, levels)
    found: list[RiskFigures] = []
    for number in range(repeats):
        sizes = matching.likeliest(levels, knowledge.repeat(number))
        found.append(RiskFigures.of(risk_of(sizes), (sizes > 0) & (sizes < settings.k), sizes == 0))
        if is_settled(pooled(found).mean_interval, settings.threshold):
            break
    return pooled(found)


@dataclass(frozen=True)
class Excess:
    """What is to be made up for: figures of patients must sum up to so much; nothing where it is not above 0.

    Attributes
    ----------
    flag_rate : patients times what the flag rate is too high by
    mean_risk, tolerant_risk : the same of the mean risk, and of that for the adversary who believes flags
    """

    flag_rate: float = 0.0
    mean_risk: float = 0.0
    tolerant_risk: float = 0.0

    @property
    def of_figures(self) -> tuple[float, float, float]:
        """In the order of the rows of figures."""
        return self.flag_rate, self.mean_risk, self.tolerant_risk


@dataclass(frozen=True)
class PatientJudge:
    """A release as it stands, ready to be attacked patient by patient.

    Attributes
    ----------
    matching, levels : what is released
    knowledge : what is drawn of whom
    settings : of the risk
    """

    matching: Matching
    levels: Node
    knowledge: DrawnKnowledge
    settings: RiskSettings

    @property
    def n_patients(self) -> int:
        """Number of patients, those not released among them."""
        return int(self.knowledge.eligible.size)

    def of_patients(self, patients: NDArray[np.int64], n_draws: int, first: int) -> Iterator[tuple[Draws, Figures]]:
        """Draws of these patients from number ``first`` on, in parts; (3, n) what each adds to the sums of figures."""
        step = max(1, AT_ONCE // n_draws)
        for at in range(0, patients.size, step):
            draws = self.knowledge.of_patients(patients[at : at + step], n_draws, first)
            exact, tolerant = self._judged(draws)
            yield draws, np.stack([(exact > 0).astype(np.float64), exact, tolerant])

    def sums(self, patients: NDArray[np.int64], n_draws: int, first: int) -> Figures:
        """Figures of these patients, (3, n_patients), summed over their draws."""
        found = np.zeros((3, self.n_patients))
        for draws, judged in self.of_patients(patients, n_draws, first):
            found += summed(draws, judged, self.n_patients)
        return found

    def _judged(self, draws: Draws) -> tuple[Figures, Figures]:
        """Risk of each draw whose class is below k, for the paper's adversary and for the tolerant one; else 0."""
        matching, levels, k = self.matching, self.levels, self.settings.k
        held = matching.contained(levels, draws)
        is_waived = self.settings.is_tolerant_waived
        fits = matching.sizes(levels, draws, held if is_waived else None, most=k)
        tolerant = np.zeros_like(fits)
        if not is_waived:
            few = fits < k
            tolerant = np.where(few, fits + matching.tolerated(levels, draws, few, k), 0)
            nearest = matching.nearest(levels, draws, fits == 0, k)
            tolerant = np.where(nearest > 0, np.minimum(nearest, tolerant), tolerant)
        return _low(np.where(held, fits, 0), k), _low(tolerant, k)


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
    mean_risks : (n_patients,) part of the mean risk that flagged draws bear
    tolerant_risks : (n_patients,) the same for the adversary who believes flags
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

    Parameters
    ----------
    screened : (3, n_patients) figures by which patients are put in order
    """
    close = np.zeros((3, judge.n_patients))
    everyone = _first(screened, excess, np.inf)
    looked_at = np.zeros(judge.n_patients, dtype=np.bool_)
    flagged: list[Draws] = []
    room, n = ROOM, judge.settings.patient_draws
    while _is_short(close, excess) and not np.array_equal(looked_at, everyone):
        some = _first(screened, excess, room) & ~looked_at
        for draws, judged in judge.of_patients(np.flatnonzero(some), n, SCREEN):
            close += summed(draws, judged, judge.n_patients) / n
            flagged.append(chosen_draws(draws, judged[0] > 0))
        looked_at |= some
        room *= 2
    return PatientRisk(close[0], close[1], close[2], looked_at, tuple(flagged), _is_short(close, excess))


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


def summed(draws: Draws, judged: Figures, n_patients: int) -> Figures:
    """What draws add up to for each patient, (3, n_patients)."""
    return np.stack([np.bincount(draws.patients, own, minlength=n_patients) for own in judged])


def _is_short(figures: Figures, excess: Excess) -> bool:
    """Whether the figures of some kind do not make up for their excess."""
    return any(own.sum() < wanted for own, wanted in zip(figures, excess.of_figures, strict=True))


def _first(figures: Figures, excess: Excess, room: float) -> NDArray[np.bool_]:
    """Those who bear so many times the excess of any kind, by these figures."""
    chosen = [
        most_at_risk(own, room * wanted if wanted > 0 else 0.0)
        for own, wanted in zip(figures, excess.of_figures, strict=True)
    ]
    return chosen[0] | chosen[1] | chosen[2]


def _low(sizes: NDArray[np.int64], k: int) -> Figures:
    return np.where(sizes < k, risk_of(sizes), 0.0)
