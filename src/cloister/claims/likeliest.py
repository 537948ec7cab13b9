"""The risk by an adversary who does not pick at random among those who fit, but the likeliest of them.

Who fits need not be as likely as another: a patient with a hundred claims holds almost any two values, one with two
claims holds few. Of each who fits it is known from the release how often each value stands there, so how many of the
samples of this size are the one that is known: prod_h prod_v C(count_v, s_v) / C(n_h, p_h). How many values are known
is taken to tell nothing; it depends on the patient's claims, so that who reckons with it may be right more often still.
"""

import numpy as np
from numpy.typing import NDArray

from .knowledge import Knowledge
from .lattice_search import Node
from .matching import Matching
from .node_risk import RiskFigures, pooled, risk_of
from .release_risk import is_settled
from .released import Released
from .risk_settings import RiskSettings

PURPOSE = 2_000_001
"""Which seed: odd, as evaluations have, and of no other one."""

LOOKED_AT, FEWEST_DRAWS = 20_000_000, 1_000
"""Patients that all draws together may be compared with where the figure is told alone, and the fewest draws of it.

The claims of everybody who fits are counted in each draw, and of many patients many fit.
"""


def likeliest_risk(released: Released, levels: Node, power: NDArray[np.int32], settings: RiskSettings) -> RiskFigures:
    """Measure the risk by who picks the likeliest of those who fit, one at random of several alike; on its own draws.

    Parameters
    ----------
    power : (n_patients, n_columns) values known
    """
    draws, repeats = settings.draws, settings.repeats
    if not settings.is_likeliest_bounded:
        draws, repeats = min(draws, max(FEWEST_DRAWS, LOOKED_AT // max(int(released.patients.sum()), 1))), 1
    knowledge = Knowledge(released.encoded, power, settings.seed_of(PURPOSE), released.patients, draws)
    matching = Matching(released, knowledge.cap, settings.threads, levels)
    found: list[RiskFigures] = []
    for number in range(repeats):
        sizes = matching.likeliest(levels, knowledge.repeat(number))
        found.append(RiskFigures.of(risk_of(sizes), (sizes > 0) & (sizes < settings.k), sizes == 0))
        if is_settled(pooled(found).mean_interval, settings.threshold):
            break
    return pooled(found)
