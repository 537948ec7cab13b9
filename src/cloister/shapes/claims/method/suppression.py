"""Suppress patients, claims or cells until the risk of the release is below its threshold (step 11).

The patients most likely to be flagged are treated first, no more of them than the excess of the risk asks for, and
nobody of whom fewer than 200 draws were looked at. Patients are put in order by a few draws of each, and looked at
closely in that order. ``cells``: of each flagged draw the value that fewest patients have goes, all of it: the least
useful for analysis, and what gives the patient away. ``claims``: the claims that hold it. ``patients``: the patient.
Then all is measured anew, with other draws.

What the published procedure omits: a value that is not released counts as a miss, so suppressing it makes the
patient "low risk by definition". An adversary who sees ``claims_truncated`` or ``sup_<column>`` knows better, and for
him the patient stays a candidate. The risk for this flag-aware adversary is limited as well. Suppressing a patient's
cells does not lower it for that patient, so patients who bear it are omitted whole, whatever the treatment.

Before this, and after each round, labels of fewer than k patients are suppressed.

References
----------
HHP appendix, section 5 ("flagged for suppression"). What is suppressed, and that the release is measured anew, is not
in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease
from cloister.kernels.claim_draws import Draws
from cloister.shapes.claims.format.plan import ClaimsPlan

from .adversary_draws import DrawnKnowledge, Power, chosen_draws
from .encode import distinct
from .lattice_search import Node
from .matching import Flags, ReleasedClaims, level_losses
from .risk import AttackedClaims, ReleaseRisk, RiskFigures, maximum_likelihood_risk, release_risk, risk_of

GLANCE, SCREEN = 5, 20
"""Draws of each patient by which patients are put in order: the first of everybody, all of whom one of them flags."""

ROOM = 1.5
"""Times the excess that the patients looked at closely should bear; doubled each time that they turn out not to, since
those who come first by few draws are less at risk by many."""

AT_ONCE = 400_000
"""Draws that are held in memory together."""

ROUNDS = 12
"""After so many rounds of suppressing and measuring anew there is no safe release."""

AIM = 0.9
"""Share of the threshold that a round aims at, so that the next measurement, with other draws, confirms it."""

NEAR = 1.2
"""Times the threshold; above it, a risk that falls too slowly is given up: suppressed cells make classes of others
smaller, so that with many to treat there is no end."""

Figures = NDArray[np.float64]

PATIENT_DRAWS = 200
"""Draws of each patient that are looked at before anything of the patient is suppressed."""


class Excess(NamedTuple):
    """Patients times what each risk is too high by: figures of patients must sum up to it; not above 0 if it is not."""

    flag_rate: float = 0.0
    mean_risk: float = 0.0
    flag_aware_risk: float = 0.0


@dataclass(frozen=True)
class PatientJudge:
    """A release to be attacked patient by patient, by samples of the values of each."""

    attacked: AttackedClaims
    knowledge: DrawnKnowledge

    @property
    def n_patients(self) -> int:
        """Number of patients, those not released among them."""
        return int(self.knowledge.eligible.size)

    def of_patients(self, patients: NDArray[np.int64], n_draws: int, first: int) -> Iterator[tuple[Draws, Figures]]:
        """Draws of these patients from number ``first`` on, in parts; (3, n) what each adds to the sums of figures.

        Risks are those of draws whose class is below k, for the paper's adversary and for the flag-aware one; else 0.
        """
        matching, levels, plan = self.attacked.matching, self.attacked.levels, self.attacked.plan
        k, is_waived, step = plan.risk.k, plan.adversary.is_flag_aware_waived, max(1, AT_ONCE // n_draws)
        for at in range(0, patients.size, step):
            draws = self.knowledge.of_patients(patients[at : at + step], n_draws, first)
            # classes are counted up to k only: above it a draw is not flagged, however large its class
            held = matching.mark_contained(levels, draws)
            fits = matching.sizes(levels, draws, held if is_waived else None, most=k)
            flag_aware = np.zeros_like(fits)
            if not is_waived:
                few = fits < k
                flag_aware = np.where(few, fits + matching.count_tolerated(levels, draws, few, k), 0)
                nearest = matching.nearest(levels, draws, fits == 0, k)
                flag_aware = np.where(nearest > 0, np.minimum(nearest, flag_aware), flag_aware)
            exact, believing = (
                np.where(sizes < k, risk_of(sizes), 0.0) for sizes in (np.where(held, fits, 0), flag_aware)
            )
            yield draws, np.stack([(exact > 0).astype(np.float64), exact, believing])

    def sums(self, patients: NDArray[np.int64], n_draws: int, first: int) -> Figures:
        """Figures of these patients, (3, n_patients), summed over their draws."""
        found = np.zeros((3, self.n_patients))
        for draws, figures in self.of_patients(patients, n_draws, first):
            found += _sum_figures(draws, figures, self.n_patients)
        return found


def _sum_figures(draws: Draws, figures: Figures, n_patients: int) -> Figures:
    return np.stack([np.bincount(draws.patients, own, minlength=n_patients) for own in figures])


class Screening:
    """The order of patients by a few draws of each, kept from round to round but for those who were treated."""

    def __init__(self, n_patients: int) -> None:
        self.figures: Figures = np.zeros((3, n_patients))
        self._is_old = np.ones(n_patients, dtype=np.bool_)

    def forget(self, patients: Flags) -> None:
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
    """Figures of the patients looked at closely, (n_patients,); 0 for all others.

    The share of the patient's draws that are flagged, and the part of the mean risk that these bear, for both
    adversaries. ``is_short``: they do not make up for the excess, though all whom screening found were looked at.
    """

    flag_rates: Figures
    mean_risks: Figures
    flag_aware_risks: Figures
    looked_at: Flags
    flagged: tuple[Draws, ...]
    is_short: bool


def patient_risks(judge: PatientJudge, screened: Figures, excess: Excess) -> PatientRisk:
    """Estimate the figures of the patients with the highest risk, as many as are needed to offset the excess.

    Those who come first in the screening are looked at by at least 200 other draws: so many that their figures sum up
    to the excess by these draws as well, if there are so many.
    """
    close = np.zeros((3, judge.n_patients))
    looked_at = np.zeros(judge.n_patients, dtype=np.bool_)
    flagged: list[Draws] = []
    room, n, everyone = ROOM, PATIENT_DRAWS, _first(screened, excess, np.inf)
    while (is_short := any(close.sum(axis=1) < excess)) and not np.array_equal(looked_at, everyone):
        some = _first(screened, excess, room) & ~looked_at
        for draws, figures in judge.of_patients(np.flatnonzero(some), n, SCREEN):
            close += _sum_figures(draws, figures, judge.n_patients) / n
            flagged.append(chosen_draws(draws, figures[0] > 0))
        looked_at |= some
        room *= 2
    return PatientRisk(close[0], close[1], close[2], looked_at, tuple(flagged), is_short)


def _first(figures: Figures, excess: Excess, room: float) -> Flags:
    """Those who bear so many times the excess of any kind, by these figures."""
    # nothing times without bound is not a number
    wanted = [room * own if own > 0 else 0.0 for own in excess]
    chosen = np.stack([most_at_risk(own, most) for own, most in zip(figures, wanted, strict=True)])
    return np.asarray(chosen.any(axis=0), dtype=np.bool_)


def most_at_risk(figures: Figures, excess: float) -> Flags:
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


def without_rare_labels(released: ReleasedClaims, levels: Node, k: int) -> ReleasedClaims:
    """Suppress the cells of claims, and omit the patients, that have a label which fewer than k patients have.

    *Guarantee*: each label of a quasi-identifier that is released at these levels is held by at least k released
    patients. Not promised: the same of combinations of labels, whose mean risk is limited. A missing value is no label.
    Cost: a sort of the values of each column, again while someone was omitted.
    """
    encoded = released.encoded
    n_columns, everybody = len(encoded.patients), np.arange(encoded.n_patients)
    while True:
        for h, column in enumerate(encoded.claims):
            labels = np.where(released.values(h) >= 0, column.at(levels[n_columns + h]), -1)
            rare = np.zeros_like(released.cells)
            rare[h] = _is_rare(labels, encoded.owners, k)
            if rare.any():
                released = released.without_cells(rare)
        gone = np.zeros_like(released.patients)
        for column, level in zip(encoded.patients, levels[:n_columns], strict=True):
            gone |= _is_rare(np.where(released.patients, column.at(level), -1), everybody, k)
        if not gone.any():
            return released
        released = released.without_patients(gone)


def _is_rare(labels: NDArray[np.int32], owners: NDArray[np.int64], k: int) -> Flags:
    """Whether fewer than k owners have the label of each row; -1 is no label."""
    shown, numbers = labels >= 0, labels.astype(np.int64)
    size = int(numbers.max(initial=0)) + 1
    held = distinct(owners[shown] * size + numbers[shown]) % size
    rare: Flags = shown & (np.bincount(held, minlength=size)[numbers] < k)
    return rare


@dataclass(frozen=True, eq=False, repr=False)
class Suppression:
    """A release with a risk below the threshold, measured on draws that were not used for any choice.

    power : (n_patients, n_columns) of the adversary that the release was made against
    before : the risk after rare labels were suppressed, before anything else was
    rounds : the number of rounds of suppression, 0 if none was needed
    treated : (n_patients,) of whom something was suppressed for the risk, or who were omitted
    """

    levels: Node
    released: ReleasedClaims
    power: Power
    risk: ReleaseRisk
    likeliest: RiskFigures
    before: ReleaseRisk
    rounds: int
    treated: Flags
    loss: float

    @property
    def patients(self) -> Flags:
        """Patients suppressed, (n_patients,)."""
        return ~self.released.patients

    @property
    def claims(self) -> Flags:
        """Claims not released, (n_claims,): truncated, suppressed, or of a patient who is."""
        claims: Flags = self.patients[self.released.encoded.owners] | ~self.released.claims
        return claims

    @property
    def cells(self) -> Flags:
        """Cells suppressed of claims that are released, (n_columns, n_claims): the flags ``sup_<column>``."""
        cells: Flags = ~self.released.cells & ~self.claims
        return cells


def suppress(attacked: AttackedClaims) -> Suppression:
    """Suppress until mean risk, flag rate and the flag-aware adversary's risk are below the threshold.

    *Guarantee*: the upper ends of the 95 % intervals of all three are at most the threshold on draws by which nothing
    was chosen, for adversaries who pick at random among those who fit; each label is held by k patients or more.
    Against adversaries who know of each patient the quasi-identifiers of patients and so many values of each column of
    claims, by themselves. With ``adversary.likeliest = "bounded"`` the same for an adversary who picks the most likely
    candidate. Not promised: a limit for each single patient. Cost: up to 20 draws of every patient, and in each round
    200 of those who bear one and a half times the excess.

    attacked : truncated claims
    """
    plan, limit = attacked.plan, attacked.plan.risk.threshold
    treated = np.zeros(attacked.released.patients.size, dtype=np.bool_)
    attacked = _without_rare(attacked, attacked.released, treated)
    risk = before = _measure_release(attacked, 0)
    screening, rounds = Screening(treated.size), 0
    while not risk.holds(plan):
        rounds += 1
        if rounds > ROUNDS:
            raise NoSafeRelease(f"After {ROUNDS} rounds of suppression the risk is still above {limit:g}.")
        knowledge = attacked.knowledge(2 * rounds, plan.risk.draws)
        released, now = _round(PatientJudge(attacked, knowledge), screening, risk)
        treated |= now
        attacked = _without_rare(attacked, released, treated)
        last, risk = risk, _measure_release(attacked, rounds)
        _check_pace(last, risk, rounds, plan)
    likeliest = maximum_likelihood_risk(attacked)
    if plan.adversary.likeliest == "bounded" and likeliest.mean_interval.high > limit:
        raise NoSafeRelease(
            f"An adversary who picks the most likely candidate succeeds more often than {limit:g} in the mean "
            '(adversary.likeliest = "bounded").'
        )
    released, levels = attacked.released, attacked.levels
    loss = level_losses(released, plan.weights).of(levels)
    return Suppression(levels, released, attacked.power, risk, likeliest, before, rounds, treated, loss)


def _without_rare(attacked: AttackedClaims, released: ReleasedClaims, treated: Flags) -> AttackedClaims:
    """The release without rare labels, refused beyond the limits of suppression; ``treated`` is added to in place."""
    before, plan = released.patients, attacked.plan
    released = without_rare_labels(released, attacked.levels, plan.risk.k)
    treated |= before & ~released.patients
    asked = plan.suppression
    most_treated, most_removed = (share * treated.size for share in (asked.most_treated, asked.most_removed))
    is_too_much = treated.sum() > most_treated or (~released.patients).sum() > most_removed
    if is_too_much or not released.patients.any():
        raise NoSafeRelease(
            f"The risk cannot be brought under {plan.risk.threshold:g} by treating at most a share of "
            f"{asked.most_treated:g} and leaving out at most {asked.most_removed:g} of the patients "
            "(suppression.most_treated, most_removed)."
        )
    return replace(attacked, released=released)


def _check_pace(last: ReleaseRisk, now: ReleaseRisk, rounds: int, plan: ClaimsPlan) -> None:
    """Refuse to go on where, at the pace of a round, the rounds that are left would not do; the first is no measure."""
    limit, before, highest = plan.risk.threshold, last.highest(plan), now.highest(plan)
    left = highest - (before - highest) * (ROUNDS - rounds)
    if rounds > 1 and highest > NEAR * limit and left > limit:
        raise NoSafeRelease(
            f"Suppression hardly lowers the risk: after {rounds} rounds it is {highest:.3f}, above "
            f"{limit:g}, and was {before:.3f} before the last."
        )


def _measure_release(attacked: AttackedClaims, rounds: int) -> ReleaseRisk:
    """Measure a release on draws that were used for nothing else."""
    risk = attacked.plan.risk
    return release_risk(attacked, attacked.knowledge(2 * rounds + 1, risk.draws), risk.repeats)


def _round(judge: PatientJudge, screening: Screening, risk: ReleaseRisk) -> tuple[ReleasedClaims, Flags]:
    """Treat as many patients as the excess of the risk asks for; also whom."""
    released, plan = judge.attacked.released, judge.attacked.plan
    # how much of each figure, summed over the patients released, is above what a round aims at
    n, aim, exact = int(released.patients.sum()), AIM * plan.risk.threshold, risk.exact
    believing = 0.0 if plan.adversary.is_flag_aware_waived else (risk.believing_flags - aim) * n
    excess = Excess((exact.flag_interval.high - aim) * n, (exact.mean_interval.high - aim) * n, believing)
    screening.renew(judge)
    people = patient_risks(judge, screening.figures, excess)
    chosen = most_at_risk(people.flag_rates, excess.flag_rate) | most_at_risk(people.mean_risks, excess.mean_risk)
    gone = most_at_risk(people.flag_aware_risks, excess.flag_aware_risk)
    if plan.suppression.treatment == "patients":
        gone |= chosen
    else:
        released, hopeless = _treat_patients(judge.attacked, people, chosen & ~gone)
        gone |= hopeless
    # those not found by few draws may bear what is left
    screening.forget(np.ones_like(gone) if people.is_short else gone | chosen)
    return released.without_patients(gone), gone | chosen


def _treat_patients(attacked: AttackedClaims, people: PatientRisk, chosen: Flags) -> tuple[ReleasedClaims, Flags]:
    """Suppress cells or claims of these patients; also say for whom that cannot help, no claims having been drawn."""
    released, levels = attacked.released, attacked.levels
    encoded = released.encoded
    cells = np.zeros_like(released.cells)
    hopeless = np.zeros_like(chosen)
    if not people.flagged:
        return released, hopeless
    patients = np.concatenate([draws.patients for draws in people.flagged])
    rarest = [attacked.matching.rarest(levels, draws) for draws in people.flagged]
    columns, numbers = (np.concatenate(own) for own in zip(*rarest, strict=True))
    for h, column in enumerate(encoded.claims):
        labels = column.at(levels[len(encoded.patients) + h]).astype(np.int64)
        width = int(labels.max(initial=0)) + 2
        mine = (columns == h) & chosen[patients]
        wanted = np.unique(patients[mine] * width + numbers[mine])
        cells[h] = (labels >= 0) & np.isin(encoded.owners * width + labels, wanted)
    hopeless[patients[columns < 0]] = True
    hopeless &= chosen
    if attacked.plan.suppression.treatment == "claims":
        return released.without_claims(np.asarray(cells.any(axis=0))), hopeless
    return released.without_cells(cells & released.claims), hopeless
