"""Compute the risk, attacks and steps that a release of claims states, and exact figures for the custodian.

The finished release is attacked by adversaries of growing knowledge (step 12); the risk of who knows released values is
the one figure that a recipient can work out anew. Counts of everybody who was there before, less those of the files,
would reveal the few who were omitted in between: so steps that describe what is released are counted in the files
(`shapes/claims/format/facts.py`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from cloister.io.columns import code_texts
from cloister.release.masking import WITHHELD, below
from cloister.results import Manifest
from cloister.shapes.claims.format.data import Claims, Step, StepLine, dates_of, early_steps
from cloister.shapes.claims.format.facts import HIDDEN, SUPPRESSION, ClaimsFacts, DerivedClaims
from cloister.shapes.claims.format.manifest import (
    DIGITS,
    ChosenLevels,
    ClaimsRecords,
    ClaimsRisk,
    ClaimsSettings,
    ClaimsUtility,
    FlagAwareFigures,
    KeptShares,
    Levels,
    MaximumLikelihoodFigures,
    Sensitivity,
    SimulatedFigures,
    VoterList,
    is_mean_loss,
)
from cloister.shapes.claims.format.plan import ClaimsPlan
from cloister.shapes.claims.format.population import PeopleCounted
from cloister.shapes.claims.format.released_columns import CLAIMS, PATIENTS, QUASI, TABLES, ClaimsForm, plan_published
from cloister.shapes.claims.format.representativeness import PreprocessedClaims, compare_variables

from .adversaries import ClaimsAttack, attacks_on, in_population, round_figures, stays_of
from .adversary_draws import REPEAT, AdversaryPower
from .choice import NodeChoice
from .encode import EncodedClaims, EncodedColumn
from .lattice_search import Node
from .matching import ReleasedClaims, information_kept, level_losses, mean_loss, released_alone
from .prepare import DescribedClaims
from .protect import ProtectedClaims
from .release import ReleaseTables
from .risk import AttackedClaims, NodeRisk, RiskFigures

TRUNCATION = "7 truncation"
PATIENTS_LEFT_OUT, CLAIMS_LEFT_OUT = "patients left out", "claims left out"
LEAVING = ("2 high-risk patients", "3 patients without claims")
"""Steps whose total is of patients who are omitted."""

PURPOSE = 1_000_001
"""Which seed: odd, as evaluations have, and far from those of rounds."""

REPEATS = 5
NEARLY = 1e-9
"""A share that is so close to a whole percent is one."""


def attack_as_released(laid: ReleaseTables, plan: ClaimsPlan, threads: int) -> RiskFigures:
    """Attack a release by values drawn from the released claims, as many as the power of released values is."""
    files, columns = laid.files, []
    for table in TABLES:
        own = []
        for name in laid.form.names(table, QUASI):
            texts, values = code_texts(files.of(table)[name])
            own.append(EncodedColumn.flat(name, values, texts))
        columns.append(tuple(own))
    counts = np.bincount(files.owners, minlength=files.patients.height)
    encoded = EncodedClaims(columns[0], columns[1], np.concatenate(([0], np.cumsum(counts))).astype(np.int64))
    levels, power = (0,) * len(encoded.columns), AdversaryPower(encoded, plan.adversary).at()
    attacked = AttackedClaims(ReleasedClaims.everything(encoded), levels, power, plan, threads)
    return NodeRisk(attacked.matching, attacked.knowledge(PURPOSE, REPEAT), plan.risk.k).figures(levels, REPEATS)


def evaluate(
    prepared: PreprocessedClaims, protected: ProtectedClaims, laid: ReleaseTables, people: PeopleCounted | None
) -> list[ClaimsAttack]:
    """Attack a release by all adversaries; within the population, if there is a register of its people."""
    data, encoding, found = prepared.claims, protected.encoding, protected.suppression
    claims, plan = encoding.claims, data.plan
    attacked = AttackedClaims(found.released, found.levels, found.power, plan, protected.threads)
    date, when = plan.claims.column("date"), None
    if date is not None:
        days = dates_of(data.claims[date], "claims").gather(pl.Series(encoding.claim_rows))
        when = days.rank("dense").fill_null(0).cast(pl.Int32).to_numpy()
    attacks = attacks_on(
        attacked,
        found.risk,
        found.likeliest,
        AdversaryPower(claims, plan.adversary),
        when=when,
        stays=stays_of(claims, plan),
    )
    return attacks if people is None else [*attacks, in_population(attacked, people, laid.patients)]


def correlations_of(protected: ProtectedClaims) -> dict[str, dict[str, float | None]]:
    """Return correlations between the diversities of columns, to two decimals."""
    table, names = protected.correlations, [column.name for column in protected.encoding.claims.claims]
    return {
        own: {other: None if math.isnan(table[i, j]) else round(float(table[i, j]), 2) for j, other in enumerate(names)}
        for i, own in enumerate(names)
    }


def neighbours_of(choice: NodeChoice, encoded: EncodedClaims) -> list[dict[str, object]]:
    """Return the chosen node and its neighbours, each judged with misses decided on base values and on its own."""
    n, names = len(encoded.patients), [column.name for column in encoded.columns]
    places = [f"{name} of {PATIENTS if place < n else CLAIMS}" for place, name in enumerate(names)]

    def flags(figures: RiskFigures) -> dict[str, object]:
        return {name: round_figures(figures)[name] for name in ("flag_rate", "flag_interval", "draws")}

    found: list[dict[str, object]] = []
    for one in choice.around:
        moved = [
            f"{place} at {own}"
            for place, own, chosen in zip(places, one.levels, choice.levels, strict=True)
            if own != chosen
        ]
        levels = list(zip(names, one.levels, strict=True))
        found.append(
            {
                "node": moved[0] if moved else "as chosen",
                "levels": {PATIENTS: dict(levels[:n]), CLAIMS: dict(levels[n:])},
                "loss": math.ceil(100 * one.loss) / 100,
                "raw": flags(one.raw),
                "paper": flags(one.node),
            }
        )
    return found


def risk_of_release(protected: ProtectedClaims, laid: ReleaseTables, plan: ClaimsPlan) -> ClaimsRisk:
    """Return the risk in its published form."""
    found, risk = protected.suppression, protected.suppression.risk
    return ClaimsRisk(
        **round_figures(risk.exact),
        threshold=plan.risk.threshold,
        k=plan.risk.k,
        flag_aware=FlagAwareFigures(
            **round_figures(risk.flag_aware),
            highest=round(risk.believing_flags, DIGITS),
            limit=plan.adversary.flag_aware,
        ),
        likeliest=MaximumLikelihoodFigures(**round_figures(found.likeliest), limit=plan.adversary.likeliest),
        known=round(float(found.power[found.released.patients].mean()), 1),
        as_released=SimulatedFigures(**round_figures(attack_as_released(laid, plan, protected.threads))),
    )


def describe_claims(
    data: Claims,
    prepared: PreprocessedClaims,
    protected: ProtectedClaims,
    laid: ReleaseTables,
    risk: ClaimsRisk,
    facts: ClaimsFacts,
    attacks: Sequence[ClaimsAttack],
    voters: VoterList,
) -> tuple[Manifest, DerivedClaims]:
    """Return the stated parts of the manifest of claims, and the parts derived from their files; ``data``: as read."""
    plan, form, k = plan_published(data.plan), laid.form, risk.k
    suppression, choice = protected.suppression, protected.choice
    loss, mean = _losses(protected, plan)
    utility = ClaimsUtility(
        loss=loss,
        mean_loss=mean,
        exact=False,
        labels=dict(facts.labels),
        labels_of_patients=dict(facts.labels_of_patients),
        kept=_information_kept(suppression.released, suppression.levels, form),
    )
    chosen = ChosenLevels(
        max_flag_rate=protected.max_flag_rate,
        truncation=_percentile(choice.truncation),
        levels=Levels(patients=form.levels(PATIENTS), claims=form.levels(CLAIMS)),
        optimal=choice.is_optimal,
        lattice=choice.tried[0].result.lattice,
    )
    steps = [*early_steps(prepared.lines, facts.counts, k), *_later_steps(protected, facts, k)]
    stated = {
        "shape": "claims",
        "method": "simulated-risk",
        "settings": ClaimsSettings(source=data.names[0], claims=data.names[1], plan=plan).as_json(),
        "columns": form.as_json(),
        "records": _records(data, prepared, facts, _lost(prepared, protected), k).as_json(),
        "guarantee": {"verified": True, "one_row_per_patient": "ids"},
        "utility": utility.as_json(),
        "risk": risk.as_json(),
        "choice": chosen.as_json(),
        "steps": [step.as_json() for step in steps],
        "representativeness": compare_variables(prepared, laid.files, form, k).as_json(),
        "sensitivity": Sensitivity(
            attacks=tuple(attack.as_json() for attack in attacks), unbounded=facts.unbounded, voter_list=voters
        ).as_json(),
    }
    return stated, DerivedClaims(laid.files, form, plan, tuple(steps), facts)


def _losses(protected: ProtectedClaims, plan: ClaimsPlan) -> tuple[float, float]:
    """The loss that was minimized, and the mean of the columns, as they are published: rounded up to hundredths."""
    found, released, loss = protected.suppression, protected.suppression.released, protected.suppression.loss
    if 0 < int(found.patients.sum()) < plan.risk.k:  # so few that losses would reveal them: of the others
        released = released_alone(released)
        loss = level_losses(released, plan.weights).of(found.levels)
    mean = loss if is_mean_loss(plan) else mean_loss(released, found.levels)
    return published_loss(loss), published_loss(mean)


def published_loss(loss: float) -> float:
    """Return a loss rounded up to hundredths."""
    return min(math.ceil(100 * loss) / 100, 1.0)


def _information_kept(released: ReleasedClaims, levels: Node, form: ClaimsForm) -> KeptShares:
    """The information kept, rounded down to whole percent."""
    names = [*((PATIENTS, name) for name in form.names(PATIENTS, QUASI))]
    names += [(CLAIMS, name) for name in form.names(CLAIMS, QUASI)]
    shares = dict(zip(names, information_kept(released, levels), strict=True))
    parts = {
        table: {name: math.floor(100 * share + NEARLY) / 100 for (one, name), share in shares.items() if one == table}
        for table in TABLES
    }
    return KeptShares(patients=parts[PATIENTS], claims=parts[CLAIMS])


def exact_figures(data: Claims, prepared: DescribedClaims, protected: ProtectedClaims) -> dict[str, object]:
    """Return figures for the custodian only."""
    suppression, tried = protected.suppression, protected.choice.tried
    return {
        "steps": [line.exact() for line in (*prepared.lines, *_later_lines(protected))],
        "records": {"in": data.n_patients, "claims_in": data.n_claims, "lost": _lost(prepared, protected)},
        "loss": suppression.loss,
        "mean_loss": mean_loss(suppression.released, suppression.levels),
        "rounds": suppression.rounds,
        "to_keep": [one.sentence(data.plan.risk.threshold) for one in protected.remedies],
        "before_suppression": round_figures(suppression.before.exact),
        "representativeness": vars(prepared.representativeness),
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
        "diversity": correlations_of(protected),
    }


def _percentile(level: float) -> str:
    return "none" if level >= 100 else f"{level:g}"


def _lost(prepared: PreprocessedClaims, protected: ProtectedClaims) -> list[int]:
    """How many patients each step omitted."""
    leaving = [line.total or 0 for line in prepared.lines if line.step in LEAVING]
    return [*leaving, int(protected.suppression.patients.sum())]


def _records(
    data: Claims, prepared: PreprocessedClaims, facts: ClaimsFacts, lost: Sequence[int], k: int
) -> ClaimsRecords:
    """How many patients there were and are; withheld where fewer than k of a step could be computed."""
    # the number of patients in the source would reveal the total of a step that is withheld
    totals = [line.masked(k).total for line in prepared.lines if line.step in LEAVING]
    is_hidden = WITHHELD in totals or any(0 < count < k for count in lost)
    gone = data.n_patients - facts.n_patients
    return ClaimsRecords.model_validate(
        {
            "in": WITHHELD if is_hidden else data.n_patients,
            "released": facts.n_patients,
            "suppressed": gone if not is_hidden else below(k) if gone < k else WITHHELD,
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
    """Steps 7 to 12 as they are published: claims omitted are those of released patients."""
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
