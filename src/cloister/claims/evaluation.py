"""Step 12: the finished release is attacked, and what is told of that."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .adversaries import Attacked, Power
from .adversary import AdversaryPower, power_at
from .choice import Choice, NodeTest
from .data import Claims, dates_of
from .data_file import CLAIMS, PATIENTS
from .discharge import stays_of
from .encode import Encoding
from .encoded import EncodedClaims
from .node_risk import Interval, RiskFigures
from .population import PeopleCounted, Population, counted
from .prepare import Prepared
from .protect import ProtectedClaims
from .register import VoterList
from .sensitivity import Sensitivity, sensitivity

DIGITS = 6
POWERS = (5, 10, 15, 20)
"""Highest powers that the sensitivity table tries besides the plan's."""

CHOSEN = "as chosen"


def evaluate(prepared: Prepared, protected: ProtectedClaims, population: Population | None) -> Sensitivity:
    """Attack a release in all the ways there are.

    Parameters
    ----------
    prepared : after steps 1 to 6
    population : a register of the people whom the patients are a part of, if there is one
    """
    data, encoding, suppression = prepared.claims, protected.encoding, protected.suppression
    attacked = Attacked(suppression.released, suppression.levels, protected.settings, protected.power)
    return sensitivity(
        attacked,
        suppression.risk,
        suppression.likeliest,
        powers={most: _power(protected, data, most) for most in POWERS},
        when=_ranks_in_time(data, encoding),
        people=None if population is None else _people(population, prepared, protected),
        stays=stays_of(encoding.claims, data.plan),
    )


def _power(protected: ProtectedClaims, data: Claims, most: int) -> Power:
    claims, adversary = protected.encoding.claims, data.plan.adversary
    own = protected.suppression.levels[len(claims.patients) :]
    return power_at(claims, most, adversary.rounding, adversary.basis, own)


def _people(population: Population, prepared: Prepared, protected: ProtectedClaims) -> PeopleCounted:
    claims, released = protected.encoding.claims, protected.suppression.released.patients
    levels = {column.name: level for column, level in zip(claims.patients, protected.suppression.levels, strict=False)}
    rows = np.asarray(protected.encoding.patient_rows[released], dtype=np.int64)
    return counted(population, prepared.claims, levels, rows)


def _ranks_in_time(data: Claims, encoding: Encoding) -> NDArray[np.int32] | None:
    """Rank of each claim in time; None where claims have no date."""
    column = data.plan.claim_column("date")
    if column is None:
        return None
    days = dates_of(data.claims[column], "claims").gather(pl.Series(encoding.claim_rows))
    return days.rank("dense").fill_null(0).cast(pl.Int32).to_numpy()


def told_of(figures: RiskFigures) -> dict[str, Any]:
    """Return figures of a simulation, rounded."""
    return {
        "mean": round(figures.mean, DIGITS),
        "interval": _interval(figures.mean_interval),
        "flag_rate": round(figures.flag_rate, DIGITS),
        "flag_interval": _interval(figures.flag_interval),
        "missed": round(figures.missed / figures.draws, DIGITS),
        "draws": figures.draws,
    }


def _interval(interval: Interval) -> list[float]:
    return [round(interval.low, DIGITS), round(interval.high, DIGITS)]


def attacks_told(found: Sensitivity) -> dict[str, Any]:
    """Return the part of the manifest about other adversaries.

    What is worked out rather than simulated follows from the released files and the register, so nothing is withheld.
    """
    unbounded = {
        name: round(value, DIGITS) if isinstance(value, float) else value
        for name, value in asdict(found.unbounded).items()
    }
    return {
        "attacks": [{"adversary": one.name, "assumes": one.assumes, **told_of(one.figures)} for one in found.attacks],
        "unbounded": unbounded,
        "voter_list": _voters_told(found.voters),
    }


def _voters_told(found: VoterList) -> dict[str, Any]:
    risk = found.risk
    return {
        "assumes": found.assumes,
        "columns": list(found.columns),
        "list": found.told_list,
        "exact": round(risk.exact, DIGITS),
        "paper_eq2": round(risk.paper_eq2, DIGITS),
        "observed": round(found.observed, DIGITS),
        "flag_rate": round(found.flag_rate, DIGITS),
        "classes": risk.classes,
        "people": risk.population,
        "sample": risk.sample,
    }


def correlations_of(adversary: AdversaryPower) -> dict[str, dict[str, float | None]]:
    """Return correlations between the diversities of columns, to two decimals."""
    table, names = adversary.correlations(), adversary.columns
    return {
        own: {other: None if math.isnan(table[i, j]) else round(float(table[i, j]), 2) for j, other in enumerate(names)}
        for i, own in enumerate(names)
    }


def neighbours_of(choice: Choice, encoded: EncodedClaims) -> list[dict[str, Any]]:
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


def _difference(one: NodeTest, choice: Choice, encoded: EncodedClaims) -> str:
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
    told = told_of(figures)
    return {name: told[name] for name in ("flag_rate", "flag_interval", "draws")}
