"""Steps 7 to 11 on numbers: truncation, adversary power, node risk, search, suppression.

A node and its suppression are chosen once more, with a lower MaxSup, where suppression does not bring the risk down.

References
----------
El Emam et al. (2012), JMIR 14(1):e33, appendix, section 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease
from cloister.shapes.claims.format.plan import CHOSEN, ClaimsPlan, RiskPlan
from cloister.shapes.claims.format.released_columns import halvings

from .adversaries import AttackedClaims, exact_order
from .adversary_draws import AdversaryPower, DrawnKnowledge, PowerByLevel, adversary_power
from .choice import Chooser, NodeChoice, truncation
from .encode import EncodedClaims, EncodedColumn, Encoding
from .joint_choice import JointChooser
from .lattice_search import Budget, Node
from .matching import Matching, ReleasedClaims, weights_of
from .risk import PowerAt, RiskSettings, maximum_likelihood_risk, release_risk
from .suppression import Excess, PatientJudge, Suppression, patient_risks, suppress
from .what_if import Relaxation, remedies

WORTH_IT = 0.01
"""Loss that the next candidate must be estimated to save for its suppression to be tried as well."""

TRIES = 4
"""Candidates that are suppressed, the least total loss first, before levels are chosen as published."""


def choose_and_suppress(
    choose: Callable[[float], NodeChoice],
    power_of: Callable[[NodeChoice], NDArray[np.int32]],
    settings: RiskSettings,
    weights: list[float] | None = None,
) -> tuple[NodeChoice, Suppression, float]:
    """Choose a node by MaxSup as asked, else by half of it and so on, until suppression suffices.

    A lower MaxSup gives a coarser node, of which less has to be suppressed. A node that was tried is not tried again.
    Where no MaxSup is asked it is the threshold.
    Returned last is the MaxSup by which the node was chosen, at most what was asked.
    """
    tried: set[tuple[Node, float]] = set()
    refusal, most = "", settings.risk.threshold if settings.max_sup is None else settings.max_sup
    for max_sup in halvings(most):
        try:
            choice = choose(max_sup)
        except NoSafeRelease:
            if not tried:
                raise
            break
        if (choice.levels, choice.truncation) in tried:
            continue
        tried.add((choice.levels, choice.truncation))
        try:
            return choice, suppress(choice.released, choice.levels, power_of(choice), settings, weights), max_sup
        except NoSafeRelease as found:
            refusal = found.message
    raise NoSafeRelease(
        refusal,
        f" So it is for each of {len(tried)} choices of levels, with risk.max_flag_rate from "
        f"{most:g} down to {max_sup:g}. Allow coarser levels, truncate more, or remove columns.",
    )


def choose_jointly(
    chooser: Chooser, power_at: PowerAt, settings: RiskSettings, weights: list[float] | None = None
) -> tuple[NodeChoice, Suppression, float | None]:
    """Choose levels and suppressed labels together; where no such choice can be released, as published.

    Returned last is None, or the MaxSup by which the node was chosen.
    """
    joint = JointChooser(chooser)
    best: tuple[NodeChoice, Suppression] | None = None
    for candidate in joint.candidates()[:TRIES]:
        # what patients at risk cost is known only when they were suppressed
        if best is not None and candidate.total > best[1].loss - WORTH_IT:
            break
        choice = joint.choice_of(candidate)
        released = choice.released.without_labels(choice.levels, candidate.labels)
        chooser.forget()
        try:
            found = suppress(released, choice.levels, power_at(choice.levels), settings, weights)
        except NoSafeRelease:
            continue
        if best is None or found.loss < best[1].loss:
            best = choice, found
    if best is not None:
        return *best, None
    # A budget that was spent on choosing together must not keep the published way from finding anything.
    chooser.budget = Budget(settings.search.nodes, settings.search.time_limit_s)
    return choose_and_suppress(chooser.choose, lambda choice: power_at(choice.levels), settings, weights)


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedClaims:
    """Claims with the decision on their release.

    adversary : what the adversary knows, from base values
    settings : as they were used; ``max_sup`` may be lower than the plan's, None where labels were chosen with levels
    power : (n_patients, n_columns) of the adversary that the release was made against
    remedies : what would have to give for columns that say nothing
    """

    encoding: Encoding
    adversary: AdversaryPower
    choice: NodeChoice
    suppression: Suppression
    settings: RiskSettings
    power: NDArray[np.int32]
    remedies: tuple[Relaxation, ...]

    @property
    def known(self) -> float:
        """Values of a column that are known in the mean over released patients and columns, to one decimal."""
        return round(float(self.power[self.suppression.released.patients].mean()), 1)


def settings_of(plan: ClaimsPlan, threads: int = 1) -> RiskSettings:
    """Return the settings of the risk that a plan asks for."""
    return RiskSettings(plan.risk, plan.search, plan.truncation, plan.suppression, plan.adversary, threads)


def deidentify(encoding: Encoding, plan: ClaimsPlan, settings: RiskSettings) -> ProtectedClaims:
    """Choose truncation and levels, and suppress until the risk is below the threshold.

    Where suppression does not suffice, levels are chosen again with half the ``max_flag_rate``, up to four times.

    *Guarantee*: an adversary who knows of a patient all quasi-identifiers of patients and, of each quasi-identifier of
    claims by itself, a few values, drawn at random before truncation, and picks one of those who fit at random, is
    right at most with the chance ``threshold`` in the mean over patients; and at most so large a share of such attacks
    finds fewer than ``k`` candidates. Both hold at the upper end of a 95 % interval, on draws by which nothing was
    chosen; the same for an adversary who believes the flags, unless the plan waives it, and for one who picks the
    most likely candidate where the plan says ``likeliest = "bounded"``. Each released label is held by ``k`` patients
    or more. Not promised: a limit for an adversary who picks the most likely where the plan does not say so (the figure
    is published); a limit for each single patient; anything against someone who knows
    more values, which values was in one claim, or their order (the sensitivity table says what they find), or kept
    columns and the company of pseudonyms. Cost: see `Chooser` and `suppress`, up to five
    times.

    References
    ----------
    El Emam et al. (2012), "De-identification methods for open health data: the case of the Heritage Health Prize claims
    dataset", JMIR 14(1):e33, appendix.
    """
    claims, asked = encoding.claims, plan.adversary
    adversary = adversary_power(claims, asked.power, asked.rounding)
    weights = weights_of(claims, plan.weights)

    powers = PowerByLevel(claims, asked.power, asked.rounding, asked.basis)

    def at(levels: Node) -> NDArray[np.int32]:
        return powers.at(levels[len(claims.patients) :])

    chooser = Chooser(
        claims,
        truncation(claims),
        adversary.of_patients,
        settings,
        bounds=encoding.bounds,
        weights=weights,
        power_at=at,
        cap=asked.power,
    )
    if settings.max_sup is None:
        found = choose_jointly(chooser, at, settings, weights)
    else:
        found = choose_and_suppress(chooser.choose, lambda choice: at(choice.levels), settings, weights)
    choice, suppression, max_sup = found
    used = replace(settings, risk=replace(settings.risk, max_flag_rate=CHOSEN if max_sup is None else max_sup))

    def power_of(highest: int, node: Node) -> NDArray[np.int32]:
        return PowerByLevel(claims, highest, asked.rounding, asked.basis).at(node[len(claims.patients) :])

    found_remedies = tuple(remedies(chooser, suppression.levels, power_of, asked.power))
    chooser.forget()
    vars(claims).pop("sorted_values", None)  # as large as all else, and sorted again for the attacks
    return ProtectedClaims(encoding, adversary, choice, suppression, used, at(choice.levels), found_remedies)


def load_kernels() -> None:
    """Run every kernel once, on two patients with a claim each, of which one is truncated."""
    column = EncodedColumn.flat("any", np.array([0, 1], dtype=np.int32), ("0", "1"))
    encoded = EncodedClaims((column,), (column,), np.array([0, 1, 2], dtype=np.int64))
    released = ReleasedClaims.everything(encoded).without_claims(np.array([False, True]))
    settings = RiskSettings(RiskPlan(repeats=1))
    knowledge = DrawnKnowledge(encoded, np.ones((2, 1), dtype=np.int32), 0)
    matching = Matching(released, 1)
    release_risk(released, (1, 1), knowledge, settings)
    maximum_likelihood_risk(released, (1, 1), knowledge.power, settings)
    judge = PatientJudge(matching, (1, 1), knowledge, settings)
    for draws in patient_risks(judge, np.ones((3, 2)), Excess(2.0, 2.0, 2.0)).flagged:
        matching.rarest((1, 1), draws)
    exact_order(AttackedClaims(released, (1, 1), settings, knowledge.power), np.zeros(2, dtype=np.int32))
