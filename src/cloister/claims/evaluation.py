"""Step 12: the finished release is attacked by adversaries of growing knowledge, and what is told of that.

The risk of who knows released values is the one figure that a recipient can work out anew.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .adversaries import (
    AttackedClaims,
    ClaimsAttack,
    Power,
    Stays,
    all_values,
    constant_power,
    discharge_database,
    exact_order,
    in_population,
    jointly,
    rounded,
    stays_of,
    whole_claims,
)
from .choice import NodeChoice, NodeTest
from .data import dates_of
from .data_file import CLAIMS, PATIENTS, QUASI
from .encode import EncodedClaims, EncodedColumn
from .knowledge import AdversaryPower, DrawnKnowledge, adversary_power, power_at
from .manifest import Adversary
from .matching import Matching
from .node_risk import NodeRisk, RiskFigures, RiskSettings
from .plan_sections import AdversaryPlan
from .population import PeopleCounted
from .prepare import PreparedClaims
from .protect import ProtectedClaims
from .release import Laid
from .release_risk import ReleaseRisk
from .released import ReleasedClaims

PURPOSE = 1_000_001
"""Which seed: odd, as evaluations have, and far from those of rounds."""

REPEATS = 5

POWERS: Mapping[Adversary, int] = {"power up to 5": 5, "power up to 10": 10, "power up to 15": 15, "power up to 20": 20}
"""Highest powers that are tried besides the plan's."""

CHOSEN = "as chosen"


def as_released(laid: Laid, adversary: AdversaryPlan, settings: RiskSettings) -> RiskFigures:
    """Attack a release by values drawn from the released claims, as many as the power of released values is."""
    files = laid.files
    counts = np.bincount(files.owners, minlength=files.patients.height)
    encoded = EncodedClaims(
        tuple(_released_columns(files.patients, laid.form.names(PATIENTS, QUASI))),
        tuple(_released_columns(files.claims, laid.form.names(CLAIMS, QUASI))),
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
    )
    power = adversary_power(encoded, adversary.power, adversary.rounding).of_patients
    knowledge = DrawnKnowledge(encoded, power, settings.seed_of(PURPOSE))
    matching = Matching(ReleasedClaims.everything(encoded), knowledge.cap, settings.threads)
    return NodeRisk(matching, knowledge, settings.k).figures((0,) * len(encoded.columns), REPEATS)


def _released_columns(frame: pl.DataFrame, names: Sequence[str]) -> list[EncodedColumn]:
    made = []
    for name in names:
        texts = frame[name].drop_nulls().unique().sort()
        values = frame[name].cast(pl.Enum(texts)).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
        size = texts.len()
        levels = np.stack([np.arange(size), np.zeros(size, dtype=np.int64)]).astype(np.int32)
        losses = np.stack([np.zeros(size), np.ones(size)])
        made.append(EncodedColumn(name, values, levels, (tuple(texts.to_list()), ("*",)), losses))
    return made


def attacks_on(
    attacked: AttackedClaims,
    believing: ReleaseRisk,
    likeliest: RiskFigures,
    *,
    powers: Mapping[Adversary, Power] | None = None,
    when: NDArray[np.int32] | None = None,
    stays: Stays | None = None,
) -> list[ClaimsAttack]:
    """Attack a release in all the ways there are.

    Parameters
    ----------
    believing : as measured, of who believes flags
    likeliest : as measured, of who picks the likeliest of those who fit
    powers : other powers of the paper's adversary to try
    when : (n_claims,) rank of each claim in time; without, nobody knows the order
    stays : hospital stays among the claims, where they can be told
    """
    encoded = attacked.released.encoded
    tried: dict[Adversary, Power] = {
        **(powers or {}),
        "one value of each column": constant_power(encoded, 1),
        "five values of each column": constant_power(encoded, 5),
        "all values": all_values(encoded),
    }
    discharged = None if stays is None else discharge_database(attacked, stays)
    return [
        *jointly(attacked),
        *(ClaimsAttack(name, attacked.figures(power)) for name, power in tried.items()),
        whole_claims(attacked),
        *([] if when is None else [exact_order(attacked, when)]),
        ClaimsAttack("flags believed (tolerant)", believing.tolerant),
        ClaimsAttack("flags believed where nobody fits", believing.fallback),
        ClaimsAttack("flags believed, fewest missing", believing.nearest),
        ClaimsAttack("picks the likeliest", likeliest),
        *([] if discharged is None else [discharged]),
    ]


def evaluate(
    prepared: PreparedClaims, protected: ProtectedClaims, laid: Laid, people: PeopleCounted | None
) -> list[ClaimsAttack]:
    """Attack a release in all the ways there are.

    Parameters
    ----------
    prepared : after steps 1 to 6
    people : of the population, if there is a register of it
    """
    data, encoding, suppression = prepared.claims, protected.encoding, protected.suppression
    claims, asked = encoding.claims, data.plan.adversary
    own = suppression.levels[len(claims.patients) :]
    attacked = AttackedClaims(suppression.released, suppression.levels, protected.settings, protected.power)
    powers = {name: power_at(claims, most, asked.rounding, asked.basis, own) for name, most in POWERS.items()}
    date, when = data.plan.claim_column("date"), None
    if date is not None:
        days = dates_of(data.claims[date], "claims").gather(pl.Series(encoding.claim_rows))
        when = days.rank("dense").fill_null(0).cast(pl.Int32).to_numpy()
    found = attacks_on(
        attacked, suppression.risk, suppression.likeliest, powers=powers, when=when, stays=stays_of(claims, data.plan)
    )
    return found if people is None else [*found, in_population(attacked, people, laid.patients)]


def correlations_of(adversary: AdversaryPower) -> dict[str, dict[str, float | None]]:
    """Return correlations between the diversities of columns, to two decimals."""
    table, names = adversary.correlations(), adversary.columns
    return {
        own: {other: None if math.isnan(table[i, j]) else round(float(table[i, j]), 2) for j, other in enumerate(names)}
        for i, own in enumerate(names)
    }


def neighbours_of(choice: NodeChoice, encoded: EncodedClaims) -> list[dict[str, Any]]:
    """Return the chosen node and its neighbours, each judged with misses decided on base values and on its own."""
    return [
        {
            "node": _difference(one, choice, encoded),
            "levels": _levels(one, encoded),
            "loss": math.ceil(100 * one.loss) / 100,
            "raw": _flags(one.raw),
            "paper": _flags(one.node),
        }
        for one in choice.around
    ]


def _difference(one: NodeTest, choice: NodeChoice, encoded: EncodedClaims) -> str:
    for place, (own, chosen) in enumerate(zip(one.levels, choice.levels, strict=True)):
        if own != chosen:
            table = PATIENTS if place < len(encoded.patients) else CLAIMS
            return f"{encoded.columns[place].name} of {table} at {own}"
    return CHOSEN


def _levels(one: NodeTest, encoded: EncodedClaims) -> Mapping[str, dict[str, int]]:
    n = len(encoded.patients)
    parts = ((PATIENTS, encoded.patients, one.levels[:n]), (CLAIMS, encoded.claims, one.levels[n:]))
    return {
        table: {column.name: level for column, level in zip(columns, levels, strict=True)}
        for table, columns, levels in parts
    }


def _flags(figures: RiskFigures) -> dict[str, Any]:
    published = rounded(figures)
    return {name: published[name] for name in ("flag_rate", "flag_interval", "draws")}
