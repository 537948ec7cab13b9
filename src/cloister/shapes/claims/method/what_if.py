"""Relaxations that would keep a fully suppressed column of a release: of power, threshold, or patients.

Asked of the node at which the column says least that is not nothing, and all others nothing at all: whatever is kept
beside it makes it harder. Answers are those of the draws by which levels are chosen, before suppression.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.shapes.claims.format.released_columns import smallest_class

from .choice import NO_TRUNCATION, Chooser
from .lattice_search import Node
from .risk import Basis, NodeRisk, RiskFigures

THRESHOLDS = (0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5)
DIGITS = 2
"""Of the number of patients, which is a guess."""

PowerOf = Callable[[int, Node], NDArray[np.int32]]
"""The power at a node if at most so many values are known."""


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


def remedies(chooser: Chooser, levels: Node, power_of: PowerOf, highest: int) -> Iterator[Relaxation]:
    """Return for each column at its highest level the relaxations that would keep it.

    highest : of the plan's power
    """
    columns = chooser.encoded.columns
    top = tuple(column.n_levels - 1 for column in columns)
    for j, column in enumerate(columns):
        low = chooser.bounds[j][0]
        finer = [level for level in range(low, top[j]) if len(set(column.labels[level])) > 1]
        if levels[j] == top[j] and finer:
            node = (*top[:j], finer[-1], *top[j + 1 :])
            found = Relaxation(column.name, len(set(column.labels[finer[-1]])), 0.0)
            yield _remedy(chooser, node, found, power_of, highest)


def _remedy(chooser: Chooser, node: Node, found: Relaxation, power_of: PowerOf, highest: int) -> Relaxation:
    limit, k, n = chooser.settings.risk.threshold, chooser.settings.k, chooser.encoded.n_patients
    sizes = _sizes(chooser, node, power_of(highest, node))
    rate = RiskFigures.of(sizes, k).flag_rate
    if rate <= limit:
        return Relaxation(found.column, found.labels, rate)
    known_less = ((p, _sizes(chooser, node, power_of(p, node))) for p in range(highest - 1, 0, -1))
    lower = (p for p, own in known_less if RiskFigures.of(own, k).flag_rate <= limit)
    higher = (t for t in THRESHOLDS if t > limit and RiskFigures.of(sizes, smallest_class(t)).flag_rate <= t)
    # others of a class grow with the number of patients; enough of the draws must come to k
    allowed = int(np.sort(sizes[sizes > 0])[int(limit * sizes.size)])
    patients = None
    if allowed > 1:
        enough = n * (k - 1) / (allowed - 1)
        unit = int(10 ** max(0, math.floor(math.log10(enough)) + 1 - DIGITS))
        patients = math.ceil(enough / unit) * unit
    return Relaxation(found.column, found.labels, rate, next(lower, None), next(higher, None), patients)


def _sizes(chooser: Chooser, node: Node, power: NDArray[np.int32]) -> NDArray[np.int64]:
    knowledge = chooser.knowledge.with_power(power)
    matching = chooser.level(NO_TRUNCATION).matching
    return NodeRisk(matching, knowledge, chooser.settings.k, Basis.NODE).class_sizes(node, knowledge.repeat(0))
