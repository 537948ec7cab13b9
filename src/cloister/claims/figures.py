"""What a release of claims says beside its facts: risk, attacks and steps; and exact figures for the custodian.

Counts of everybody who was there before, less those of the files, would reveal the few who were left out in between:
so steps that describe what is released are counted in the files (`claims/facts.py`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cloister.masking import WITHHELD
from cloister.results import Manifest

from .adversaries import ClaimsAttack, rounded
from .compared import compared
from .data import Claims
from .data_file import CLAIMS, PATIENTS
from .declared import plan_published
from .evaluation import as_released, correlations_of, neighbours_of
from .facts import HIDDEN, SUPPRESSION, ClaimsFacts
from .manifest import (
    DIGITS,
    ChosenLevels,
    ClaimsGuarantee,
    ClaimsRecords,
    ClaimsRisk,
    ClaimsSettings,
    ClaimsUtility,
    Levels,
    MaximumLikelihoodFigures,
    Sensitivity,
    SimulatedFigures,
    TolerantFigures,
    VoterList,
    rule_of,
)
from .plan import ClaimsPlan
from .prepare import PreparedClaims
from .protect import ProtectedClaims
from .release import Laid
from .released import loss_of_released, weights_of
from .steps import Step, StepLine, early_steps

TRUNCATION = "7 truncation"
PATIENTS_LEFT_OUT, CLAIMS_LEFT_OUT = "patients left out", "claims left out"
LEAVING = ("2 high-risk patients", "3 patients without claims")
"""Steps whose total is of patients who are left out."""


def risk_of_release(protected: ProtectedClaims, laid: Laid, plan: ClaimsPlan) -> ClaimsRisk:
    """Return the risk as it is published."""
    risk, settings = protected.suppression.risk, protected.settings
    return ClaimsRisk(
        **rounded(risk.exact),
        threshold=settings.threshold,
        k=settings.k,
        tolerant=TolerantFigures(
            **rounded(risk.tolerant), highest=round(risk.believing_flags, DIGITS), limit=plan.adversary.tolerant
        ),
        likeliest=MaximumLikelihoodFigures(**rounded(protected.suppression.likeliest), limit=plan.adversary.likeliest),
        known=protected.known,
        as_released=SimulatedFigures(**rounded(as_released(laid, plan.adversary, settings))),
    )


def described(
    data: Claims,
    prepared: PreparedClaims,
    protected: ProtectedClaims,
    laid: Laid,
    risk: ClaimsRisk,
    facts: ClaimsFacts,
    attacks: Sequence[ClaimsAttack],
    voters: VoterList,
) -> Manifest:
    """Return the part of ``release.json`` that is particular to claims; ``data``: as read."""
    plan, form, k = plan_published(data.plan), laid.form, risk.k
    suppression, choice = protected.suppression, protected.choice
    loss = suppression.loss
    if 0 < int(suppression.patients.sum()) < k:  # so few that the loss would reveal them: that of the others alone
        weights = weights_of(protected.encoding.claims, plan.weights)
        loss = loss_of_released(suppression.released, suppression.levels, weights)
    utility = ClaimsUtility(loss=math.ceil(100 * loss) / 100, exact=False, labels=dict(facts.labels))
    chosen = ChosenLevels(
        max_flag_rate=protected.settings.max_sup,
        truncation=_percentile(choice.truncation),
        levels=Levels(patients=form.levels(PATIENTS), claims=form.levels(CLAIMS)),
        optimal=choice.is_optimal,
        lattice=choice.tried[0].result.lattice,
    )
    steps = [*early_steps(prepared.lines, facts.counts, k), *_later_steps(protected, facts, k)]
    return {
        "shape": "claims",
        "method": "simulated-risk",
        "settings": ClaimsSettings(source=data.names[0], claims=data.names[1], plan=plan).published(),
        "columns": form.published(),
        "records": _records(data, prepared, facts, _lost(prepared, protected), k).published(),
        "guarantee": ClaimsGuarantee(rules=(rule_of(plan),), verified=True, one_row_per_patient="ids").published(),
        "utility": utility.published(),
        "risk": risk.published(),
        "choice": chosen.published(),
        "steps": [step.published() for step in steps],
        "representativeness": compared(prepared, laid.files, form, k).published(),
        "sensitivity": Sensitivity(
            attacks=tuple(attack.published() for attack in attacks), unbounded=facts.unbounded, voter_list=voters
        ).published(),
    }


def exact_figures(data: Claims, prepared: PreparedClaims, protected: ProtectedClaims) -> dict[str, Any]:
    """Return figures for the custodian alone."""
    suppression, tried = protected.suppression, protected.choice.tried
    return {
        "steps": [line.exact() for line in (*prepared.lines, *_later_lines(protected))],
        "records": {"in": data.n_patients, "claims_in": data.n_claims, "lost": _lost(prepared, protected)},
        "loss": suppression.loss,
        "rounds": suppression.rounds,
        "before_suppression": rounded(suppression.before.exact),
        "representativeness": prepared.representativeness.exact(),
        "claims_lost": {_percentile(one.percentile): one.claims_lost for one in tried},
        "tried": [
            {
                "truncation": _percentile(one.percentile),
                "checked": one.result.checked,
                "found": one.result.levels is not None,
            }
            for one in tried
        ],
        "around": neighbours_of(protected.choice, protected.encoding.claims),
        "diversity": correlations_of(protected.adversary),
    }


def _percentile(level: float) -> str:
    return "none" if level >= 100 else f"{level:g}"


def _lost(prepared: PreparedClaims, protected: ProtectedClaims) -> list[int]:
    """How many patients each step left out."""
    leaving = [line.total or 0 for line in prepared.lines if line.step in LEAVING]
    return [*leaving, int(protected.suppression.patients.sum())]


def _records(data: Claims, prepared: PreparedClaims, facts: ClaimsFacts, lost: Sequence[int], k: int) -> ClaimsRecords:
    """How many patients there were and are; withheld where fewer than k of a step could be computed."""
    # the number of patients in the source would reveal the total of a step that is withheld
    totals = [line.masked(k).total for line in prepared.lines if line.step in LEAVING]
    is_hidden = WITHHELD in totals or any(0 < count < k for count in lost)
    gone = data.n_patients - facts.n_patients
    return ClaimsRecords.model_validate(
        {
            "in": WITHHELD if is_hidden else data.n_patients,
            "released": facts.n_patients,
            "suppressed": gone if not is_hidden else f"<{k}" if gone < k else WITHHELD,
            "claims": facts.n_claims,
        }
    )


def _later_lines(protected: ProtectedClaims) -> list[StepLine]:
    choice, suppression = protected.choice, protected.suppression
    cut = int((~choice.released.claims).sum())
    hidden = {
        PATIENTS_LEFT_OUT: int(suppression.patients.sum()),
        HIDDEN: int(suppression.cells.sum()),
        CLAIMS_LEFT_OUT: int((~suppression.released.claims).sum()) - cut,
    }
    return [
        StepLine(TRUNCATION, cut, {"patients with fewer claims": int(choice.released.truncated.sum())}),
        StepLine("8 adversary power"),
        StepLine("9 node risk"),
        StepLine("10 search"),
        StepLine(SUPPRESSION, counts=hidden),
        StepLine("12 evaluation"),
    ]


def _later_steps(protected: ProtectedClaims, facts: ClaimsFacts, k: int) -> Iterator[Step]:
    """Steps 7 to 12 as they are published: claims left out are those of released patients."""
    released, before = protected.suppression.released, protected.choice.released
    owners = protected.encoding.claims.owners
    for line in _later_lines(protected):
        gone = ~before.claims if line.step == TRUNCATION else before.claims & ~released.claims
        whose = owners[gone & released.patients[owners]]
        n_gone, n_patients = int(whose.size), int(np.unique(whose).size)
        if line.step == TRUNCATION:
            yield replace(line, total=n_gone, counts={}, patients_in_all=n_patients).masked(k)
        elif line.step == SUPPRESSION:
            counts = {**line.counts, CLAIMS_LEFT_OUT: n_gone}
            step = replace(line, counts=counts, patients={CLAIMS_LEFT_OUT: n_patients}).masked(k)
            yield step.counting({**step.counts, **facts.counts[SUPPRESSION]})
        else:
            yield line.masked(k)
