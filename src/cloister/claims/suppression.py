"""Suppressing patients, claims or cells until the risk of the release is under its threshold (step 11).

The patients most likely to be flagged are treated first, no more of them than the excess of the risk asks for, and
nobody of whom fewer than 200 draws were looked at. ``cells``: of each flagged draw the value that fewest patients have
goes, all of it: the least useful for analysis, and what gives the patient away. ``claims``: the claims that hold it.
``patients``: the patient. Then all is measured anew, with other draws.

What the published procedure leaves out: a value that is not released counts as a miss, so suppressing it makes the
patient "low risk by definition". An adversary who sees ``claims_truncated`` or ``sup_<column>`` knows better, and for
him the patient stays a candidate. The risk for this tolerant adversary is limited as well. Suppressing a patient's
cells does not lower it for that patient, so patients who bear it are left out whole, whatever the treatment.

Before all that, and after each round, labels that fewer than k patients have are taken out.

References
----------
HHP appendix, section 5 ("flagged for suppression"). What is suppressed, and that the release is measured anew, is not
in it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease

from .encode import EncodedColumn
from .knowledge import DrawnKnowledge
from .lattice_search import Node
from .matching import Matching
from .node_risk import RiskFigures, RiskSettings, Treatment
from .release_risk import (
    Excess,
    PatientJudge,
    PatientRisk,
    ReleaseRisk,
    Screening,
    maximum_likelihood_risk,
    most_at_risk,
    patient_risks,
    release_risk,
)
from .released import ReleasedClaims, level_losses

ROUNDS = 12
"""After so many rounds of suppressing and measuring anew there is no safe release."""

AIM = 0.9
"""Share of the threshold that a round aims at, so that the next measurement, with other draws, confirms it."""

NEAR = 1.2
"""Times the threshold; above it, a risk that falls too slowly is given up: suppressed cells make classes of others
smaller, so that with many to treat there is no end."""


def without_rare_labels(released: ReleasedClaims, levels: Node, k: int) -> ReleasedClaims:
    """Suppress the cells of claims, and leave out the patients, that have a label which fewer than k patients have.

    *Guarantee*: each label of a quasi-identifier that is released at these levels is held by at least k released
    patients. Not promised: the same of combinations of labels, whose mean risk is limited. A missing value is no label.
    Cost: a sort of the values of each column, again while somebody was left out.

    Parameters
    ----------
    levels : of all columns, those of patients first
    """
    n_columns = len(released.encoded.patients)
    while True:
        for h, column in enumerate(released.encoded.claims):
            rare = np.zeros_like(released.cells)
            rare[h] = _rare_cells(released, h, column, levels[n_columns + h], k)
            if rare.any():
                released = released.without_cells(rare)
        gone = _rare_patients(released, levels[:n_columns], k)
        if not gone.any():
            return released
        released = released.without_patients(gone)


def _rare_patients(released: ReleasedClaims, levels: Node, k: int) -> NDArray[np.bool_]:
    """Released patients with a rare label, (n_patients,)."""
    gone = np.zeros_like(released.patients)
    for column, level in zip(released.encoded.patients, levels, strict=True):
        labels = np.where(released.patients, column.at(level), -1)
        counts = np.bincount(labels[labels >= 0], minlength=1)
        gone |= (labels >= 0) & (counts[labels] < k)
    return gone


def _rare_cells(released: ReleasedClaims, h: int, column: EncodedColumn, level: int, k: int) -> NDArray[np.bool_]:
    """Released cells of a column of claims with a rare label, (n_claims,)."""
    values = released.values(h)
    shown = values >= 0
    labels = np.where(shown, column.at(level), -1).astype(np.int64)
    size = int(labels.max(initial=0)) + 1
    held = np.unique(released.encoded.owners[shown] * size + labels[shown]) % size
    rare: NDArray[np.bool_] = shown & (np.bincount(held, minlength=size)[labels] < k)
    return rare


@dataclass(frozen=True, eq=False, repr=False)
class Suppression:
    """A release whose risk is under the threshold.

    Attributes
    ----------
    levels : level of each column, those of patients first
    released : patients, claims and cells that are left
    risk : as measured on draws that nothing was chosen by
    likeliest : the mean risk by who picks the likeliest of those who fit
    before : as measured when rare labels had been taken out, before anything else was suppressed
    rounds : of suppressing, 0 where nothing had to be
    treated : patients of whom something was suppressed for the risk, or who were left out
    loss : of the release, with all that is not released
    """

    levels: Node
    released: ReleasedClaims
    risk: ReleaseRisk
    likeliest: RiskFigures
    before: ReleaseRisk
    rounds: int
    treated: NDArray[np.bool_]
    loss: float

    @property
    def patients(self) -> NDArray[np.bool_]:
        """Patients suppressed, (n_patients,)."""
        return ~self.released.patients

    @property
    def claims(self) -> NDArray[np.bool_]:
        """Claims not released, (n_claims,): truncated, suppressed, or of a patient who is."""
        encoded = self.released.encoded
        gone = np.repeat(self.patients, np.diff(encoded.offsets))
        claims: NDArray[np.bool_] = gone | ~self.released.claims
        return claims

    @property
    def cells(self) -> NDArray[np.bool_]:
        """Cells suppressed of claims that are released, (n_columns, n_claims): the flags ``sup_<column>``."""
        cells: NDArray[np.bool_] = ~self.released.cells & ~self.claims
        return cells


def suppress(
    released: ReleasedClaims,
    levels: Node,
    power: NDArray[np.int32],
    settings: RiskSettings,
    weights: list[float] | None = None,
) -> Suppression:
    """Suppress until mean risk, flag rate and the tolerant adversary's risk are under the threshold.

    *Guarantee*: the upper ends of the 95 % intervals of all three are at most the threshold on draws by which nothing
    was chosen, for adversaries who pick at random among those who fit; each label is held by k patients or more.
    Against adversaries who know of each patient the quasi-identifiers of patients and so many values of each column of
    claims, by themselves. With ``is_likeliest_bounded`` the same for who picks the likeliest of those who fit. Not
    promised: a limit for each single patient. Cost: up to 20 draws of every
    patient, and in each round 200 of those who bear one and a half times the excess.

    Parameters
    ----------
    released : truncated claims
    power : (n_patients, n_columns) adversary's power
    weights : of the columns in the loss

    Raises
    ------
    NoSafeRelease
        Too many patients would have to be treated, the rounds did not suffice, or would not at the pace of the last, or
        the likeliest are right too often.
    """
    treated = np.zeros(released.patients.size, dtype=np.bool_)
    released = _without_rare(released, levels, settings, treated)
    risk = before = _measured(released, levels, power, settings, 0)
    screening = Screening(treated.size)
    rounds = 0
    while not risk.holds(settings.threshold, is_tolerant_waived=settings.is_tolerant_waived):
        rounds += 1
        if rounds > ROUNDS:
            raise NoSafeRelease(f"After {ROUNDS} rounds of suppression the risk is still above {settings.threshold:g}.")
        known = DrawnKnowledge(released.encoded, power, settings.seed_of(2 * rounds), released.patients, settings.draws)
        judge = PatientJudge(Matching(released, known.cap, settings.threads, levels), levels, known, settings)
        released, now = _round(judge, screening, risk)
        treated |= now
        released = _without_rare(released, levels, settings, treated)
        last, risk = risk, _measured(released, levels, power, settings, rounds)
        _check_pace(last, risk, rounds, settings)
    likeliest = maximum_likelihood_risk(released, levels, power, settings)
    if settings.is_likeliest_bounded and likeliest.mean_interval.high > settings.threshold:
        raise NoSafeRelease(
            f"Whoever picks the likeliest of those who fit is right more often than {settings.threshold:g} in the mean "
            '(adversary.likeliest = "bounded").'
        )
    loss = level_losses(released, weights).of(levels)
    return Suppression(levels, released, risk, likeliest, before, rounds, treated, loss)


def _without_rare(
    released: ReleasedClaims, levels: Node, settings: RiskSettings, treated: NDArray[np.bool_]
) -> ReleasedClaims:
    """The same without rare labels, refused beyond the limits of suppression; ``treated`` is added to in place."""
    before = released.patients
    released = without_rare_labels(released, levels, settings.k)
    treated |= before & ~released.patients
    most_treated, most_removed = (share * treated.size for share in (settings.most_treated, settings.most_removed))
    is_too_much = treated.sum() > most_treated or (~released.patients).sum() > most_removed
    if is_too_much or not released.patients.any():
        raise NoSafeRelease(
            f"The risk cannot be brought under {settings.threshold:g} by treating at most a share of "
            f"{settings.most_treated:g} and leaving out at most {settings.most_removed:g} of the patients "
            "(suppression.most_treated, most_removed)."
        )
    return released


def _check_pace(last: ReleaseRisk, now: ReleaseRisk, rounds: int, settings: RiskSettings) -> None:
    """Refuse to go on where, at the pace of a round, the rounds that are left would not do; the first is no measure."""
    before, highest = (one.highest(is_tolerant_waived=settings.is_tolerant_waived) for one in (last, now))
    left = highest - (before - highest) * (ROUNDS - rounds)
    if rounds > 1 and highest > NEAR * settings.threshold and left > settings.threshold:
        raise NoSafeRelease(
            f"Suppression hardly lowers the risk: after {rounds} rounds it is {highest:.3f}, above "
            f"{settings.threshold:g}, and was {before:.3f} before the last."
        )


def _measured(
    released: ReleasedClaims, levels: Node, power: NDArray[np.int32], settings: RiskSettings, rounds: int
) -> ReleaseRisk:
    """Measure a release on draws that were used for nothing else: odd seeds evaluate, even ones choose."""
    seed = settings.seed_of(2 * rounds + 1)
    knowledge = DrawnKnowledge(released.encoded, power, seed, released.patients, settings.draws)
    return release_risk(released, levels, knowledge, settings)


def _round(judge: PatientJudge, screening: Screening, risk: ReleaseRisk) -> tuple[ReleasedClaims, NDArray[np.bool_]]:
    """Treat as many patients as the excess of the risk asks for; also whom."""
    released, settings = judge.matching.released, judge.settings
    # how much of each figure, summed over the patients released, is above what a round aims at
    n, aim, exact = int(released.patients.sum()), AIM * settings.threshold, risk.exact
    believing = 0.0 if settings.is_tolerant_waived else (risk.believing_flags - aim) * n
    excess = Excess((exact.flag_interval.high - aim) * n, (exact.mean_interval.high - aim) * n, believing)
    screening.renew(judge)
    people = patient_risks(judge, screening.figures, excess)
    chosen = most_at_risk(people.flag_rates, excess.flag_rate) | most_at_risk(people.mean_risks, excess.mean_risk)
    gone = most_at_risk(people.tolerant_risks, excess.tolerant_risk)
    if settings.treatment is Treatment.PATIENTS:
        gone |= chosen
    else:
        released, hopeless = _treated(judge, people, chosen & ~gone)
        gone |= hopeless
    # those not found by few draws may bear what is left
    screening.forget(np.ones_like(gone) if people.is_short else gone | chosen)
    return released.without_patients(gone), gone | chosen


def _treated(
    judge: PatientJudge, people: PatientRisk, chosen: NDArray[np.bool_]
) -> tuple[ReleasedClaims, NDArray[np.bool_]]:
    """Suppress cells or claims of these patients; also say for whom that cannot help, no claims having been drawn."""
    released, levels = judge.matching.released, judge.levels
    encoded = released.encoded
    cells = np.zeros_like(released.cells)
    hopeless = np.zeros_like(chosen)
    if not people.flagged:
        return released, hopeless
    found = [(draws.patients, judge.matching.rarest(levels, draws)) for draws in people.flagged]
    patients = np.concatenate([own for own, _ in found])
    columns = np.concatenate([rarest.columns for _, rarest in found])
    numbers = np.concatenate([rarest.labels for _, rarest in found])
    for h, column in enumerate(encoded.claims):
        labels = column.at(levels[len(encoded.patients) + h]).astype(np.int64)
        width = int(labels.max(initial=0)) + 2
        mine = (columns == h) & chosen[patients]
        wanted = np.unique(patients[mine] * width + numbers[mine])
        cells[h] = (labels >= 0) & np.isin(encoded.owners * width + labels, wanted)
    hopeless[patients[columns < 0]] = True
    hopeless &= chosen
    if judge.settings.treatment is Treatment.CLAIMS:
        return released.without_claims(np.asarray(cells.any(axis=0))), hopeless
    return released.without_cells(cells & released.claims), hopeless
