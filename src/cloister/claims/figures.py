"""The figures of a release of claims: those for the recipient, and those for the custodian alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .adversary import adversary_power
from .as_released import as_released
from .choice import Choice
from .data import Claims
from .data_file import CLAIMS, QUASI
from .dates import dates_of
from .encode import Encoding
from .manifest import levels_told, records_of
from .node_risk import Interval, RiskFigures
from .plan import ClaimsPlan
from .prepare import Prepared
from .protect import ProtectedClaims
from .sensitivity import Sensitivity, sensitivity
from .steps import StepLine
from .written import Laid

DIGITS = 6
ENDED = "search.nodes or search.time_limit_s ended the search: the levels are the best found by then."
OTHER_POWERS = (10, 15, 20)
"""Highest powers that the sensitivity table tries besides the plan's."""


@dataclass(frozen=True, eq=False, repr=False)
class ClaimsFigures:
    """Numbers about a release.

    Attributes
    ----------
    told : parts of the manifest
    exact : for the custodian alone
    """

    told: dict[str, Any]
    exact: dict[str, Any]


def risk_told(protected: ProtectedClaims, laid: Laid, plan: ClaimsPlan) -> dict[str, Any]:
    """Return the part of the manifest about risk."""
    risk, settings = protected.suppression.risk, protected.settings
    return {
        **told_of(risk.exact),
        "threshold": settings.threshold,
        "k": settings.k,
        "tolerant": {
            **told_of(risk.tolerant),
            "highest": round(risk.believing_flags, DIGITS),
            "limit": plan.adversary.tolerant,
        },
        "as_released": told_of(as_released(laid, plan.adversary, settings)),
    }


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


def work_out(
    data: Claims, prepared: Prepared, protected: ProtectedClaims, laid: Laid, risk: Mapping[str, Any]
) -> ClaimsFigures:
    """Return the figures of a release; steps 7 to 12 have their lines among them.

    Parameters
    ----------
    data : as read
    risk : of `risk_told`
    """
    k, suppression = protected.settings.k, protected.suppression
    lines = [*prepared.lines, *_later_lines(protected, data.plan)]
    lost = [line.total or 0 for line in prepared.lines if line.step.split(" ", 1)[1] in LEAVING]
    lost.append(int(suppression.patients.sum()))
    attacks = _sensitivity(prepared.claims, protected)
    loss = math.ceil(100 * suppression.loss) / 100
    told = {
        "records": records_of(data.n_patients, laid.files.patients.height, lost, k)
        | {"claims": laid.files.claims.height},
        "utility": {"loss": loss, "exact": False, "labels": _labels(laid)},
        "risk": dict(risk),
        "choice": _choice(protected.choice, laid, k),
        "steps": [line.told(k) for line in lines],
        "representativeness": prepared.representativeness.told(k),
        "sensitivity": _attacks_told(attacks, protected),
    }
    exact = {
        "steps": [line.exact() for line in lines],
        "records": {"in": data.n_patients, "claims_in": data.n_claims, "lost": lost},
        "loss": suppression.loss,
        "rounds": suppression.rounds,
        "before_suppression": told_of(suppression.before.exact),
    }
    return ClaimsFigures(told, exact)


LEAVING = ("high-risk patients", "patients without claims")
"""Steps whose total is of patients who are left out."""


def _labels(laid: Laid) -> dict[str, int]:
    return {name: laid.files.claims[name].n_unique() for name in laid.form.names(CLAIMS, QUASI)}


def _choice(choice: Choice, laid: Laid, k: int) -> dict[str, Any]:
    return {
        "truncation": _percentile(choice.truncation),
        "levels": levels_told(laid.form),
        "optimal": choice.is_optimal,
        "lattice": choice.tried[0].result.lattice,
        "tried": [
            {
                "truncation": _percentile(one.percentile),
                "claims_lost": f"<{k}" if 0 < one.claims_lost < k else one.claims_lost,
                "checked": one.result.checked,
                "found": one.result.levels is not None,
            }
            for one in choice.tried
        ],
    }


def _percentile(level: float) -> str:
    return "none" if level >= 100 else f"{level:g}"


def _later_lines(protected: ProtectedClaims, plan: ClaimsPlan) -> list[StepLine]:
    choice, suppression, settings = protected.choice, protected.suppression, protected.settings
    n_people = protected.encoding.claims.n_patients
    cut = int((~choice.released.claims).sum())
    how = "Nothing was truncated."
    if choice.truncation < 100:
        how = f"Claims were cut to the {choice.truncation:g}th percentile of claims per {plan.truncation.per}."
    tried = sum(one.result.checked for one in choice.tried)
    ended = "" if choice.is_optimal else f" {ENDED}"
    hidden = {
        "patients left out": int(suppression.patients.sum()),
        "cells suppressed": int(suppression.cells.sum()),
        "claims left out": int((~suppression.released.claims).sum()) - cut,
    }
    return [
        StepLine("7 truncation", how, cut, {"patients with fewer claims": int(choice.released.truncated.sum())}),
        StepLine(
            "8 adversary power",
            f"At most {plan.adversary.power} values of each quasi-identifier of claims are known, "
            f"{float(protected.power.mean()):.1f} in the mean.",
        ),
        StepLine(
            "9 node risk",
            f"{suppression.risk.exact.draws:,} draws; before suppression the flag rate was "
            f"{suppression.before.exact.flag_rate:.4f}.",
        ),
        StepLine(
            "10 search",
            f"{tried:,} of {choice.tried[0].result.lattice:,} nodes measured, over all truncation levels.{ended}",
        ),
        StepLine(
            "11 suppression",
            f"Treatment: {settings.treatment}; {suppression.rounds} rounds. k = {settings.k}.",
            None,
            hidden if n_people else {},
        ),
    ]


def _sensitivity(data: Claims, protected: ProtectedClaims) -> Sensitivity:
    encoding, plan = protected.encoding, data.plan
    powers = {
        f"power up to {most}": adversary_power(encoding.claims, most, plan.adversary.rounding).of_patients
        for most in OTHER_POWERS
    }
    suppression = protected.suppression
    return sensitivity(
        suppression.released,
        suppression.levels,
        protected.power,
        protected.settings,
        powers=powers,
        when=_ranks_in_time(data, encoding),
    )


def _ranks_in_time(data: Claims, encoding: Encoding) -> NDArray[np.int32] | None:
    """Rank of each claim in time; None where claims have no date."""
    column = data.plan.claim_column("date")
    if column is None:
        return None
    days = dates_of(data.claims[column], "claims").gather(pl.Series(encoding.claim_rows))
    return days.rank("dense").fill_null(0).cast(pl.Int32).to_numpy()


def _attacks_told(found: Sensitivity, protected: ProtectedClaims) -> dict[str, Any]:
    rows = [{"adversary": one.name, **told_of(one.figures)} for one in found.attacks]
    return {
        "attacks": rows,
        "unique": round(found.unique, 4),
        "unbounded": round(found.unbounded, 4),
        "diversity": _correlations(protected),
    }


def _correlations(protected: ProtectedClaims) -> dict[str, dict[str, float | None]]:
    """Correlations between the diversities of columns, to two decimals."""
    table = protected.adversary.correlations()
    names = protected.adversary.columns
    return {
        own: {other: None if math.isnan(table[i, j]) else round(float(table[i, j]), 2) for j, other in enumerate(names)}
        for i, own in enumerate(names)
    }
