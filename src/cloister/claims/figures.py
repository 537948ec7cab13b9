"""The figures of a release of claims: those for the recipient, and those for the custodian alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloister.masking import WITHHELD

from .data import Claims
from .data_file import CLAIMS, QUASI, SUPPRESSED
from .evaluation import (
    DIGITS,
    as_released,
    attacks_told,
    correlations_of,
    evaluate,
    neighbours_of,
    told_of,
)
from .manifest import levels_told, records_of
from .plan import ClaimsPlan
from .population import PopulationRegister
from .prepare import PreparedClaims
from .protect import ProtectedClaims
from .release import Laid
from .released import loss_of_released, weights_of
from .steps import StepLine
from .steps_told import compared, compared_told, early_lines


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
        "likeliest": {**told_of(protected.suppression.likeliest), "limit": plan.adversary.likeliest},
        "known": protected.known,
        "as_released": told_of(as_released(laid, plan.adversary, settings)),
    }


def work_out(
    data: Claims,
    prepared: PreparedClaims,
    protected: ProtectedClaims,
    laid: Laid,
    risk: Mapping[str, Any],
    population: PopulationRegister | None = None,
) -> ClaimsFigures:
    """Return the figures of a release; steps 7 to 12 have their lines among them.

    Parameters
    ----------
    data : as read
    risk : of `risk_told`
    population : a register of the people whom the patients are a part of
    """
    k, suppression = protected.settings.k, protected.suppression
    attacks = evaluate(prepared, protected, population)
    lines = [*prepared.lines, *_later_lines(protected)]
    leaving = [line for line in prepared.lines if line.step.split(" ", 1)[1] in LEAVING]
    lost = [*(line.total or 0 for line in leaving), int(suppression.patients.sum())]
    is_withheld = any(line.told(k)["total"] == WITHHELD for line in leaving)
    told_apart = compared(prepared, laid, k)
    labels = {name: laid.files.claims[name].n_unique() for name in laid.form.names(CLAIMS, QUASI)}
    told = {
        "records": records_of(data.n_patients, laid.files.patients.height, lost, k, is_withheld=is_withheld)
        | {"claims": laid.files.claims.height},
        "utility": {"loss": _loss(protected, data.plan), "exact": False, "labels": labels},
        "risk": dict(risk),
        "choice": _choice(protected, laid),
        "steps": [line.told(k) for line in _told_lines(lines, prepared, protected, laid)],
        "representativeness": compared_told(prepared, laid, told_apart, k),
        "sensitivity": attacks_told(attacks),
    }
    exact = {
        "steps": [line.exact() for line in lines],
        "records": {"in": data.n_patients, "claims_in": data.n_claims, "lost": lost},
        "loss": suppression.loss,
        "rounds": suppression.rounds,
        "before_suppression": told_of(suppression.before.exact),
        "representativeness": prepared.representativeness.exact(),
        "claims_lost": {_percentile(one.percentile): one.claims_lost for one in protected.choice.tried},
        "tried": [
            {
                "truncation": _percentile(one.percentile),
                "checked": one.result.checked,
                "found": one.result.levels is not None,
            }
            for one in protected.choice.tried
        ],
        "around": neighbours_of(protected.choice, protected.encoding.claims),
        "diversity": correlations_of(protected.adversary),
    }
    return ClaimsFigures(told, exact)


LEAVING = ("high-risk patients", "patients without claims")
"""Steps whose total is of patients who are left out."""


def _told_lines(
    lines: Sequence[StepLine], prepared: PreparedClaims, protected: ProtectedClaims, laid: Laid
) -> list[StepLine]:
    """The same lines, counting what is released."""
    later = {line.step: line for line in lines[len(prepared.lines) :]}
    # of the claims cut, those of released patients; whom truncation flags, the files say
    cut, owners = _count(protected, ~protected.choice.released.claims)
    later |= {"7 truncation": replace(later["7 truncation"], total=cut, counts={}, patients_in_all=owners)}
    later |= {"11 suppression": _suppression_line(later["11 suppression"], protected, laid)}
    return [*early_lines(prepared, laid), *later.values()]


def _loss(protected: ProtectedClaims, plan: ClaimsPlan) -> float:
    """The loss, rounded up; where fewer than k patients were suppressed, that of the others alone."""
    found, loss = protected.suppression, protected.suppression.loss
    if 0 < int(found.patients.sum()) < protected.settings.k:
        loss = loss_of_released(found.released, found.levels, weights_of(protected.encoding.claims, plan.weights))
    return math.ceil(100 * loss) / 100


def _choice(protected: ProtectedClaims, laid: Laid) -> dict[str, Any]:
    choice = protected.choice
    return {
        "max_suppression": protected.settings.max_sup,
        "truncation": _percentile(choice.truncation),
        "levels": levels_told(laid.form),
        "optimal": choice.is_optimal,
        "lattice": choice.tried[0].result.lattice,
    }


def _percentile(level: float) -> str:
    return "none" if level >= 100 else f"{level:g}"


def _later_lines(protected: ProtectedClaims) -> list[StepLine]:
    choice, suppression = protected.choice, protected.suppression
    cut = int((~choice.released.claims).sum())
    hidden = {
        "patients left out": int(suppression.patients.sum()),
        "cells suppressed": int(suppression.cells.sum()),
        "claims left out": int((~suppression.released.claims).sum()) - cut,
    }
    return [
        StepLine("7 truncation", cut, {"patients with fewer claims": int(choice.released.truncated.sum())}),
        StepLine("8 adversary power"),
        StepLine("9 node risk"),
        StepLine("10 search"),
        StepLine("11 suppression", counts=hidden if protected.encoding.claims.n_patients else {}),
        StepLine("12 evaluation"),
    ]


def _suppression_line(line: StepLine, protected: ProtectedClaims, laid: Laid) -> StepLine:
    """Return the line of step 11: patients left out, and of those released what was suppressed."""
    suppression, before = protected.suppression, protected.choice.released
    left_out, owners = _count(protected, before.claims & ~suppression.released.claims)
    flags = [f"{SUPPRESSED}{name}" for name in laid.form.names(CLAIMS, QUASI)]
    counts = {
        "patients left out": int(suppression.patients.sum()),
        "cells suppressed": sum(int((laid.files.claims[flag] == "1").sum()) for flag in flags),
        "claims left out": left_out,
    }
    return replace(line, counts=counts, patients={"claims left out": owners})


def _count(protected: ProtectedClaims, claims: NDArray[np.bool_]) -> tuple[int, int]:
    """How many of these claims are of patients who are released, and of how many of them."""
    owners = protected.encoding.claims.owners
    mine = owners[claims & protected.suppression.released.patients[owners]]
    return int(mine.size), int(np.unique(mine).size)
