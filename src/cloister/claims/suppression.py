"""Suppressing patients, claims or cells until the risk of the release is under its threshold (step 11).

A patient's chance to be flagged is estimated from at least 200 draws of that patient alone, and the patients most
likely to be flagged are treated first, no more of them than the excess of the risk asks for. ``cells``: of each flagged
draw the value that fewest patients have goes, all of it: the least useful for analysis, and what gives the patient
away. ``claims``: the claims that hold it. ``patients``: the patient. Then all is measured anew, with other draws.

What the published procedure leaves out: a value that is not released counts as a miss, so suppressing it makes the
patient "low risk by definition". An adversary who sees ``claims_truncated`` or ``sup_<column>`` knows better, and for
him the patient stays a candidate. The risk for this tolerant adversary is limited as well. Suppressing a patient's
cells does not lower it for that patient, so patients who bear it are left out whole, whatever the treatment.

References
----------
HHP appendix, section 5 ("flagged for suppression"). What is suppressed, and that the release is measured anew, is not
in it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease

from .knowledge import Knowledge
from .lattice_search import Node
from .losses import level_losses
from .matching import Matching
from .patient_risk import PatientRisk, patient_risks
from .release_risk import ReleaseRisk, release_risk
from .released import Released
from .risk_settings import RiskSettings, Treatment

ROUNDS = 12
"""After so many rounds of suppressing and measuring anew there is no safe release."""

AIM = 0.9
"""Share of the threshold that a round aims at, so that the next measurement, with other draws, confirms it."""


@dataclass(frozen=True, eq=False, repr=False)
class Suppression:
    """A release whose risk is under the threshold.

    Attributes
    ----------
    levels : level of each column, those of patients first
    released : patients, claims and cells that are left
    risk : as measured on draws that nothing was chosen by
    before : as measured before anything was suppressed
    rounds : of suppressing, 0 where nothing had to be
    treated : patients of whom something was suppressed
    loss : of the release, with all that is not released
    """

    levels: Node
    released: Released
    risk: ReleaseRisk
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
    released: Released,
    levels: Node,
    power: NDArray[np.int32],
    settings: RiskSettings,
    weights: list[float] | None = None,
) -> Suppression:
    """Suppress until mean risk, flag rate and the tolerant adversary's risk are under the threshold.

    *Guarantee*: the upper ends of the 95 % intervals of all three are at most the threshold on draws by which nothing
    was chosen. Against adversaries who know of each patient the quasi-identifiers of patients and so many values of
    each column of claims, by themselves. Not promised: a limit for each single patient. Cost: draws of every patient in
    each round.

    Parameters
    ----------
    released : truncated claims
    power : (n_patients, n_columns) adversary's power
    weights : of the columns in the loss

    Raises
    ------
    NoSafeRelease
        Too many patients would have to be treated, or the rounds did not suffice.
    """
    risk = before = _measured(released, levels, power, settings, 0)
    treated = np.zeros(released.patients.size, dtype=np.bool_)
    rounds = 0
    while not risk.holds(settings.threshold, is_tolerant_waived=settings.is_tolerant_waived):
        rounds += 1
        if rounds > ROUNDS:
            raise NoSafeRelease(
                f"After {ROUNDS} rounds of suppression the risk is still above {settings.threshold:g}. "
                "Lower risk.max_suppression, so that a coarser node is chosen."
            )
        known = Knowledge(released.encoded, power, settings.seed_of(2 * rounds), released.patients)
        released, now = _round(released, levels, known, settings, risk)
        treated |= now
        _check_limits(released, treated, settings)
        risk = _measured(released, levels, power, settings, rounds)
    loss = level_losses(released, weights).of(levels)
    return Suppression(levels, released, risk, before, rounds, treated, loss)


def _check_limits(released: Released, treated: NDArray[np.bool_], settings: RiskSettings) -> None:
    """Refuse to go on where more patients are treated or left out than may be, or nobody is left."""
    n = treated.size
    is_too_much = treated.sum() > settings.most_treated * n or (~released.patients).sum() > settings.most_removed * n
    if is_too_much or not released.patients.any():
        raise NoSafeRelease(
            f"The risk cannot be brought under {settings.threshold:g} by treating at most a share of "
            f"{settings.most_treated:g} and leaving out at most {settings.most_removed:g} of the patients. Lower "
            "risk.max_suppression, so that a coarser node is chosen, or raise suppression.most_treated or most_removed."
        )


def _measured(
    released: Released, levels: Node, power: NDArray[np.int32], settings: RiskSettings, rounds: int
) -> ReleaseRisk:
    """Measure a release on draws that were used for nothing else: odd seeds evaluate, even ones choose."""
    seed = settings.seed_of(2 * rounds + 1)
    knowledge = Knowledge(released.encoded, power, seed, released.patients, settings.draws)
    return release_risk(released, levels, knowledge, settings)


def _round(
    released: Released, levels: Node, knowledge: Knowledge, settings: RiskSettings, risk: ReleaseRisk
) -> tuple[Released, NDArray[np.bool_]]:
    """Treat as many patients as the excess of the risk asks for; also whom."""
    matching = Matching(released, knowledge.cap, settings.threads, levels)
    people = patient_risks(matching, knowledge, levels, settings)
    n = int(released.patients.sum())
    aim = AIM * settings.threshold
    chosen = _enough(people.flag_rates, (risk.exact.flag_interval.high - aim) * n)
    chosen |= _enough(people.mean_risks, (risk.exact.mean_interval.high - aim) * n)
    gone = np.zeros_like(chosen)
    if not settings.is_tolerant_waived:
        gone = _enough(people.tolerant_risks, (risk.believing_flags - aim) * n)
    if settings.treatment is Treatment.PATIENTS:
        gone |= chosen
    else:
        released, hopeless = _treated(released, levels, matching, people, chosen & ~gone, settings)
        gone |= hopeless
    return released.without_patients(gone), gone | chosen


def _enough(figures: NDArray[np.float64], excess: float) -> NDArray[np.bool_]:
    """The patients most likely to be flagged, so many that their part of a figure makes up for an excess."""
    chosen = np.zeros(figures.size, dtype=np.bool_)
    if excess > 0:
        order = np.lexsort((np.arange(figures.size), -figures))
        order = order[figures[order] > 0]
        n_chosen = int(np.searchsorted(np.cumsum(figures[order]), excess)) + 1
        chosen[order[:n_chosen]] = True
    return chosen


def _treated(
    released: Released,
    levels: Node,
    matching: Matching,
    people: PatientRisk,
    chosen: NDArray[np.bool_],
    settings: RiskSettings,
) -> tuple[Released, NDArray[np.bool_]]:
    """Suppress cells or claims of these patients; also say for whom that cannot help, no claims having been drawn."""
    encoded = released.encoded
    cells = np.zeros_like(released.cells)
    hopeless = np.zeros_like(chosen)
    found = [(draws.patients, matching.rarest(levels, draws)) for draws in people.flagged]
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
    if settings.treatment is Treatment.CLAIMS:
        return released.without_claims(np.asarray(cells.any(axis=0))), hopeless
    return released.without_cells(cells & released.claims), hopeless
