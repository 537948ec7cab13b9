"""How likely each single patient is to be flagged: who is to be treated first."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Draws

from .knowledge import Knowledge, chosen_draws
from .lattice_search import Node
from .matching import Matching
from .node_risk import risk_of
from .risk_settings import RiskSettings

SCREEN = 20
"""Draws by which patients are told apart who may be flagged at all; the others are not looked at more closely."""

AT_ONCE = 20_000
"""Patients whose draws are held in memory together."""


@dataclass(frozen=True, eq=False, repr=False)
class PatientRisk:
    """Figures of each patient.

    Attributes
    ----------
    flag_rates : (n_patients,) share of the patient's draws that are flagged
    mean_risks : (n_patients,) part of the mean risk that flagged draws bear
    tolerant_risks : (n_patients,) the same for the adversary who believes flags
    flagged : the draws that are flagged, of the patients looked at closely
    """

    flag_rates: NDArray[np.float64]
    mean_risks: NDArray[np.float64]
    tolerant_risks: NDArray[np.float64]
    flagged: tuple[Draws, ...]


def patient_risks(matching: Matching, knowledge: Knowledge, levels: Node, settings: RiskSettings) -> PatientRisk:
    """Estimate the figures of all released patients: 20 draws of each, and at least 200 of those flagged in any.

    A patient flagged in none of 20 draws is, at 95 %, flagged in fewer than 14 % of them, and would be among the last
    to be treated.
    """
    everybody = np.flatnonzero(knowledge.eligible)
    figures = np.zeros((3, knowledge.eligible.size))
    kept = []
    for at in range(0, everybody.size, AT_ONCE):
        some = knowledge.of_patients(everybody[at : at + AT_ONCE], SCREEN)
        exact, tolerant = _judged(matching, levels, some, settings)
        close = np.unique(some.patients[(exact > 0) | (tolerant > 0)])
        draws = knowledge.of_patients(close, settings.patient_draws, SCREEN)
        exact, tolerant = _judged(matching, levels, draws, settings)
        for row, weight in enumerate((exact > 0, exact, tolerant)):
            sums = np.bincount(draws.patients, weight.astype(np.float64), minlength=figures.shape[1])
            figures[row] += sums / settings.patient_draws
        kept.append(chosen_draws(draws, exact > 0))
    return PatientRisk(figures[0], figures[1], figures[2], tuple(kept))


def _judged(
    matching: Matching, levels: Node, draws: Draws, settings: RiskSettings
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Risk of each draw where its class is below k, for the paper's adversary and for the tolerant one; else 0."""
    held = matching.contained(levels, draws)
    wanted = None if not settings.is_tolerant_waived else held
    fits = matching.sizes(levels, draws, wanted, most=settings.k)
    exact = np.where(held, fits, 0)
    tolerant = np.zeros_like(fits)
    if not settings.is_tolerant_waived:
        few = fits < settings.k
        tolerant = np.where(few, fits + matching.tolerated(levels, draws, few, settings.k), 0)
    return _low(exact, settings.k), _low(tolerant, settings.k)


def _low(sizes: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    return np.where(sizes < k, risk_of(sizes), 0.0)
