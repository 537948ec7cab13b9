"""Steps 7 to 11 on numbers: truncation, adversary power, node risk, search, suppression.

There are two ways to choose: levels by the flag rate (MaxSup), as published, which are chosen once more by a lower one
where suppression does not bring the risk down; and levels together with what is suppressed.

References
----------
El Emam et al. (2012), JMIR 14(1):e33, appendix, section 1.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease
from cloister.shapes.claims.format.plan import CHOSEN, ClaimsPlan, ClaimsTablePlan, PatientsPlan, smallest_class
from cloister.shapes.claims.format.released_columns import halvings

from .adversaries import exact_order
from .adversary_draws import AdversaryPower, DrawnKnowledge
from .choice import NO_TRUNCATION, Chooser, NodeChoice
from .encode import EncodedClaims, EncodedColumn, Encoding
from .joint_choice import JointSearch
from .lattice_search import Node
from .matching import ReleasedClaims
from .risk import AttackedClaims, NodeRisk, RiskFigures, maximum_likelihood_risk, release_risk
from .suppression import Excess, PatientJudge, Suppression, patient_risks, suppress

WORTH_IT = 0.01
"""Loss that the next candidate must be estimated to save for its suppression to be tried as well."""

TRIES = 4
"""Candidates that are suppressed, the least total loss first, before levels are chosen as published."""

THRESHOLDS = (0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5)
"""Higher thresholds with which a suppressed column might be kept."""

DIGITS = 2
"""Of the number of patients, which is a guess."""

Chosen = tuple[NodeChoice, Suppression, float | Literal["chosen"]]
"""Levels, what is suppressed, and the MaxSup by which levels were chosen, at most that of the plan."""


def choose_and_suppress(chooser: Chooser) -> Chosen:
    """Choose levels and what is suppressed: by a flag rate if the plan names one, else both together.

    Where nothing that was chosen together can be released, levels are chosen by the threshold as flag rate.
    """
    most = chooser.plan.risk.max_flag_rate
    if isinstance(most, str):
        found = _choose_together(chooser)
        if found is not None:
            return *found, CHOSEN
        # A budget that was spent on choosing together must not keep the published way from finding anything.
        chooser.renew_budget()
        most = chooser.plan.risk.threshold
    return _choose_by_flag_rate(chooser, most)


def _choose_by_flag_rate(chooser: Chooser, most: float) -> Chosen:
    """Choose a node by MaxSup as asked, else by half of it and so on, until suppression suffices.

    A lower MaxSup gives a coarser node, of which less has to be suppressed. A node that was tried is not tried again.
    """
    tried: set[tuple[Node, float]] = set()
    refusal = ""
    for max_sup in halvings(most):
        try:
            choice = chooser.choose(max_sup)
        except NoSafeRelease:
            if not tried:
                raise
            break
        if (choice.levels, choice.truncation) in tried:
            continue
        tried.add((choice.levels, choice.truncation))
        try:
            return choice, suppress(chooser.attack(choice.released, choice.levels)), max_sup
        except NoSafeRelease as found:
            refusal = found.message
    raise NoSafeRelease(
        refusal,
        f" So it is for each of {len(tried)} choices of levels, with risk.max_flag_rate from "
        f"{most:g} down to {max_sup:g}. Allow coarser levels, truncate more, or remove columns.",
    )


def _choose_together(chooser: Chooser) -> tuple[NodeChoice, Suppression] | None:
    """Choose levels and suppressed labels together; None where no such choice can be released."""
    joint = JointSearch(chooser)
    best: tuple[NodeChoice, Suppression] | None = None
    for candidate in joint.candidates()[:TRIES]:
        # what patients at risk cost is known only when they were suppressed
        if best is not None and candidate.total > best[1].loss - WORTH_IT:
            break
        choice = joint.choice_of(candidate)
        attacked = chooser.attack(choice.released.without_labels(choice.levels, candidate.labels), choice.levels)
        chooser.forget()
        try:
            found = suppress(attacked)
        except NoSafeRelease:
            continue
        if best is None or found.loss < best[1].loss:
            best = choice, found
    return best


@dataclass(frozen=True)
class Relaxation:
    """A relaxation that would keep a column.

    labels : that it would have
    flag_rate : share of draws that are flagged with it alone
    power, threshold, patients : with which alone it could be kept, each by itself; None if with none that was tried
    """

    column: str
    labels: int
    flag_rate: float
    power: int | None = None
    threshold: float | None = None
    patients: int | None = None

    def sentence(self, limit: float) -> str:
        """Return the relaxation in words."""
        what = f"{self.column} is empty in this release"
        if self.flag_rate <= limit:
            return f"{what}. With a higher weight, or fewer quasi-identifiers, {self.labels} labels can be kept."
        ways = [
            *([f"at power {self.power}"] if self.power else []),
            *([f"at threshold {self.threshold:g}"] if self.threshold else []),
            *([f"with {self.patients:,} patients"] if self.patients else []),
        ]
        alone = f"with {self.labels} labels and nothing else, {self.flag_rate:.0%} of attacks leave too few candidates"
        can = f"they can be kept {' or '.join(ways)}" if ways else "nothing that was tried would do"
        return f"{what}: {alone}; {can}."


def remedies(chooser: Chooser, levels: Node) -> Iterator[Relaxation]:
    """Return for each column at its highest level the relaxations that would keep it.

    Test the node at which the column has its coarsest labels and all other columns are suppressed: keeping labels of
    another column only raises the risk. The risk is measured on the draws that choose the levels, before suppression.
    """
    columns = chooser.encoded.columns
    top = tuple(column.n_levels - 1 for column in columns)
    for j, column in enumerate(columns):
        low = chooser.bounds[j][0]
        finer = [level for level in range(low, top[j]) if len(set(column.labels[level])) > 1]
        if levels[j] == top[j] and finer:
            node = (*top[:j], finer[-1], *top[j + 1 :])
            yield _remedy(chooser, node, column.name, len(set(column.labels[finer[-1]])))


def _remedy(chooser: Chooser, node: Node, name: str, n_labels: int) -> Relaxation:
    risk, n, highest = chooser.plan.risk, chooser.encoded.n_patients, chooser.plan.adversary.power
    sizes = _sizes(chooser, node, highest)
    rate = RiskFigures.of(sizes, risk.k).flag_rate
    if rate <= risk.threshold:
        return Relaxation(name, n_labels, rate)
    known_less = ((p, _sizes(chooser, node, p)) for p in range(highest - 1, 0, -1))
    lower = (p for p, own in known_less if RiskFigures.of(own, risk.k).flag_rate <= risk.threshold)
    thresholds = (one for one in THRESHOLDS if one > risk.threshold)
    higher = (one for one in thresholds if RiskFigures.of(sizes, smallest_class(one)).flag_rate <= one)
    # others of a class grow with the number of patients; enough of the draws must come to k
    allowed = int(np.sort(sizes[sizes > 0])[int(risk.threshold * sizes.size)])
    patients = None
    if allowed > 1:
        enough = n * (risk.k - 1) / (allowed - 1)
        unit = int(10 ** max(0, math.floor(math.log10(enough)) + 1 - DIGITS))
        patients = math.ceil(enough / unit) * unit
    return Relaxation(name, n_labels, rate, next(lower, None), next(higher, None), patients)


def _sizes(chooser: Chooser, node: Node, highest: int) -> NDArray[np.int64]:
    """Class of each draw at a node if at most so many values are known."""
    power = chooser.powers.with_highest(highest).at(node[len(chooser.encoded.patients) :])
    knowledge = chooser.knowledge.with_power(power)
    risk = NodeRisk(chooser.level(NO_TRUNCATION).matching, knowledge, chooser.plan.risk.k)
    return risk.class_sizes(node, knowledge.repeat(0))


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedClaims:
    """Claims with the decision on their release.

    correlations : between the diversities of the columns of claims
    max_flag_rate : by which levels were chosen; it may be lower than the plan's
    remedies : relaxations that would keep the columns that are suppressed completely
    threads : that count in parallel
    """

    encoding: Encoding
    correlations: NDArray[np.float64]
    choice: NodeChoice
    suppression: Suppression
    max_flag_rate: float | Literal["chosen"]
    remedies: tuple[Relaxation, ...]
    threads: int


def deidentify(encoding: Encoding, plan: ClaimsPlan, threads: int) -> ProtectedClaims:
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
    claims = encoding.claims
    powers = AdversaryPower(claims, plan.adversary)
    chooser = Chooser(claims, powers, plan, encoding.bounds, threads)
    choice, suppression, max_flag_rate = choose_and_suppress(chooser)
    found_remedies, correlations = tuple(remedies(chooser, suppression.levels)), powers.correlations()
    chooser.forget()
    vars(claims).pop("sorted_values", None)  # as large as all else, and sorted again for the attacks
    return ProtectedClaims(encoding, correlations, choice, suppression, max_flag_rate, found_remedies, threads)


def load_kernels() -> None:
    """Run every kernel once, on two patients with a claim each, of which one is truncated."""
    column = EncodedColumn.flat("any", np.array([0, 1], dtype=np.int32), ("0", "1"))
    encoded = EncodedClaims((column,), (column,), np.array([0, 1, 2], dtype=np.int64))
    released = ReleasedClaims.everything(encoded).without_claims(np.array([False, True]))
    plan = ClaimsPlan(PatientsPlan({}, {}), ClaimsTablePlan({}, {}))
    attacked = AttackedClaims(released, (1, 1), np.ones((2, 1), dtype=np.int32), plan)
    knowledge = DrawnKnowledge(encoded, attacked.power, 0)
    release_risk(attacked, knowledge, repeats=1)
    maximum_likelihood_risk(attacked)
    for draws in patient_risks(PatientJudge(attacked, knowledge), np.ones((3, 2)), Excess(2.0, 2.0, 2.0)).flagged:
        attacked.matching.rarest((1, 1), draws)
    exact_order(attacked, np.zeros(2, dtype=np.int32))
