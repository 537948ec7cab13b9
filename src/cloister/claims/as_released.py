"""The risk of an adversary who knows released values: the one figure that a recipient can work out anew."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from .adversary import adversary_power
from .data_file import CLAIMS, PATIENTS, QUASI, WrittenClaims
from .encoded import EncodedClaims, EncodedColumn
from .knowledge import Knowledge
from .matching import Matching
from .node_risk import NodeRisk, RiskFigures
from .plan_sections import AdversaryPlan
from .released import Released
from .risk_settings import RiskSettings
from .written import Laid

PURPOSE = 1_000_001
"""Which seed: odd, as evaluations have, and far from those of rounds."""

REPEATS = 5


def as_released(laid: Laid, adversary: AdversaryPlan, settings: RiskSettings) -> RiskFigures:
    """Attack a release by values drawn from the released claims, as many as the power of released values is."""
    encoded = _encoded(laid.files, laid)
    power = adversary_power(encoded, adversary.power, adversary.rounding).of_patients
    knowledge = Knowledge(encoded, power, settings.seed_of(PURPOSE))
    matching = Matching(Released.everything(encoded), knowledge.cap, settings.threads)
    return NodeRisk(matching, knowledge, settings.k).figures((0,) * len(encoded.columns), REPEATS)


def _encoded(files: WrittenClaims, laid: Laid) -> EncodedClaims:
    counts = np.bincount(files.owners, minlength=files.patients.height)
    return EncodedClaims(
        tuple(_columns(files.patients, laid.form.names(PATIENTS, QUASI))),
        tuple(_columns(files.claims, laid.form.names(CLAIMS, QUASI))),
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
    )


def _columns(frame: pl.DataFrame, names: Sequence[str]) -> list[EncodedColumn]:
    made = []
    for name in names:
        texts = frame[name].drop_nulls().unique().sort()
        values = frame[name].cast(pl.Enum(texts)).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
        size = texts.len()
        levels = np.stack([np.arange(size), np.zeros(size, dtype=np.int64)]).astype(np.int32)
        losses = np.stack([np.zeros(size), np.ones(size)])
        made.append(EncodedColumn(name, values, levels, (tuple(texts.to_list()), ("*",)), losses))
    return made
