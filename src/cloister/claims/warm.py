"""Loading the kernels of claims ahead of their use."""

import numpy as np

from .adversaries import AttackedClaims, exact_order
from .encode import EncodedClaims, EncodedColumn
from .knowledge import DrawnKnowledge
from .matching import Matching
from .node_risk import RiskSettings
from .release_risk import Excess, PatientJudge, maximum_likelihood_risk, patient_risks, release_risk
from .released import ReleasedClaims


def load_kernels() -> None:
    """Run every kernel once, on two patients with a claim each, of which one is truncated."""
    column = EncodedColumn(
        "any",
        np.array([0, 1], dtype=np.int32),
        np.array([[0, 1], [0, 0]], dtype=np.int32),
        (("0", "1"), ("*",)),
        np.array([[0.0, 0.0], [1.0, 1.0]]),
    )
    encoded = EncodedClaims((column,), (column,), np.array([0, 1, 2], dtype=np.int64))
    released = ReleasedClaims.everything(encoded).without_claims(np.array([False, True]))
    settings = RiskSettings(repeats=1)
    knowledge = DrawnKnowledge(encoded, np.ones((2, 1), dtype=np.int32), 0)
    matching = Matching(released, 1)
    release_risk(released, (1, 1), knowledge, settings)
    maximum_likelihood_risk(released, (1, 1), knowledge.power, settings)
    judge = PatientJudge(matching, (1, 1), knowledge, settings)
    for draws in patient_risks(judge, np.ones((3, 2)), Excess(2.0, 2.0, 2.0)).flagged:
        matching.rarest((1, 1), draws)
    exact_order(AttackedClaims(released, (1, 1), settings, knowledge.power), np.zeros(2, dtype=np.int32))
