"""Levels, truncation and suppressed labels chosen together: the least total loss (steps 10 and 11).

A finer node has more flagged draws, and suppressing rare labels unflags them. Which of the nodes between the flag rate
and the loss loses least in all is not known from either: so nodes are tried, what suppression costs at each is
estimated on the draws by which levels are chosen, and better ones are looked for among their neighbours. What is
released is measured on other draws in any case, and further suppressed where that is needed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .choice import Chooser, NodeChoice, TruncationLevel, TruncationTried
from .knowledge import chosen_draws
from .label_suppression import RARE, DrawnLabels, greedy_cover, without_labels
from .lattice_search import Node
from .risk import release_risk, risk_of

Flags = NDArray[np.bool_]

AIM = 0.82
"""Share of the threshold down to which labels are suppressed: by draws that did not choose more are flagged."""

BELIEVED = 0.8
"""Share of the threshold that the risk by who believes flags may be on these draws."""

LIKELY = 0.4
"""Flag rate beyond which no finer nodes are tried on the way down: hardly any draw would be left."""

LARGE = 50
"""Classes are counted up to so many times k: what they add to the mean risk beyond is next to nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class JointCandidate:
    """A node, and what its suppression is estimated to cost.

    loss : of levels and truncation alone
    flag_rate : before suppression
    labels : of each column of claims, whether each label of its level is suppressed
    total : loss with suppression; infinite where rare labels do not suffice
    believed : mean risk after suppression by who knows what is suppressed
    """

    levels: Node
    percentile: float
    loss: float
    flag_rate: float
    labels: tuple[Flags, ...]
    total: float
    believed: float


class JointChooser:
    """Finds nodes of little total loss.

    *Guarantee*: none; candidates are estimates, and `suppress` decides. The first node is the one that loses least of
    those whose flag rate is at most the threshold (`Chooser`), so that no candidate is estimated to lose more than what
    the published way chooses at the first truncation level. Not promised: the least total loss of the lattice. Cost:
    some hundred nodes, all draws of each.
    """

    def __init__(self, chooser: Chooser) -> None:
        self.chooser, self.settings = chooser, chooser.settings
        self._found: dict[tuple[Node, float], JointCandidate] = {}
        self._confirmed: dict[tuple[Node, float], bool] = {}
        self._tried: tuple[TruncationTried, ...] = ()
        self.is_complete = True

    def candidates(self) -> list[JointCandidate]:
        """The nodes that were found to be fit for release, the least total loss first."""
        if not self._found:
            percentile = max(self.settings.truncation)
            start, tried = self.chooser.first(percentile, self.settings.threshold)
            self._tried = (tried,)
            self._descend(start, percentile)
            for one in self._sorted():
                if self._is_confirmed(one):
                    self._climb(one)
                    break
        return [one for one in self._sorted() if self._confirmed.get((one.levels, one.percentile))]

    def frontier(self) -> list[JointCandidate]:
        """The nodes tried at the first truncation level of which none else has less loss and a lower flag rate."""
        found: list[JointCandidate] = []
        least = np.inf
        percentile = max(self.settings.truncation)
        for one in sorted(self._found.values(), key=lambda one: (one.flag_rate, one.loss, one.levels)):
            if one.loss < least and one.percentile == percentile:
                found.append(one)
                least = one.loss
        return found

    def choice_of(self, candidate: JointCandidate) -> NodeChoice:
        """The candidate as a choice."""
        level = self.chooser.level(candidate.percentile)
        levels, loss = candidate.levels, candidate.loss
        around = level.around(levels)
        return NodeChoice(levels, candidate.percentile, loss, level.released, self._tried, around, self.is_complete)

    def _sorted(self) -> list[JointCandidate]:
        possible = [one for one in self._found.values() if np.isfinite(one.total)]
        return sorted(possible, key=lambda one: (round(one.total, 12), -one.percentile, sum(one.levels), one.levels))

    def _estimate(self, node: Node, percentile: float) -> JointCandidate | None:
        """What is known of a node by now; None where the budget is spent."""
        if (node, percentile) not in self._found:
            if not self.chooser.budget.spend():
                self.is_complete = False
                return None
            self._found[node, percentile] = estimated(self.chooser, self.chooser.level(percentile), node)
        return self._found[node, percentile]

    def _is_confirmed(self, one: JointCandidate) -> bool:
        """Whether the risk by who believes flags is low enough: not all who fit what is left have a flag."""
        key = one.levels, one.percentile
        if key not in self._confirmed:
            level = self.chooser.level(one.percentile)
            released = level.released.without_labels(one.levels, one.labels)
            knowledge = level.by_node(one.levels).knowledge
            risk = release_risk(released, one.levels, knowledge, replace(self.settings, repeats=1))
            believing = 0.0 if self.settings.is_tolerant_waived else risk.highest_believing
            self._confirmed[key] = believing <= BELIEVED * self.settings.threshold
        return self._confirmed[key]

    def _descend(self, node: Node, percentile: float) -> None:
        """Go down the frontier: each step the one that saves most loss for the flags that it adds."""
        current = self._estimate(node, percentile)
        while current is not None and current.flag_rate < LIKELY:
            finer = [self._estimate(one, percentile) for one in self._moved(current.levels, (-1,))]
            steps = [
                ((current.loss - one.loss) / max(one.flag_rate - current.flag_rate, 1e-6), one.loss, one)
                for one in finer
                if one is not None
            ]
            current = max(steps, key=lambda step: step[:2])[2] if steps else None

    def _climb(self, best: JointCandidate) -> None:
        """Go on to the best neighbour while there is a better one: first one column moves, then one down and one up."""
        was: JointCandidate | None = None
        while was is not best and self.is_complete:
            was = best
            for neighbours in (self._beside(was), self._swapped(was)):
                for node, percentile in neighbours if best is was else ():
                    if self.chooser.level(percentile).losses.of(node) < best.total:
                        one = self._estimate(node, percentile)
                        if one is not None and one.total < best.total - 1e-9 and self._is_confirmed(one):
                            best = one

    def _beside(self, candidate: JointCandidate) -> Iterator[tuple[Node, float]]:
        own, percentile = candidate.levels, candidate.percentile
        others = sorted(set(self.settings.truncation), reverse=True)
        place = others.index(percentile)
        yield from ((own, others[at]) for at in (place - 1, place + 1) if 0 <= at < len(others))
        yield from ((node, percentile) for node in self._moved(own, (-1, 1)))

    def _swapped(self, candidate: JointCandidate) -> Iterator[tuple[Node, float]]:
        own, percentile = candidate.levels, candidate.percentile
        for finer in self._moved(own, (-1,)):
            kept = [j for j, level in enumerate(finer) if level == own[j]]
            yield from ((node, percentile) for node in self._moved(finer, (1,), kept))

    def _moved(self, node: Node, steps: tuple[int, ...], columns: list[int] | None = None) -> Iterator[Node]:
        for j, (low, high) in enumerate(self.chooser.bounds):
            if columns is None or j in columns:
                for level in (node[j] + step for step in steps):
                    if low <= level <= high:
                        yield (*node[:j], level, *node[j + 1 :])


def estimated(chooser: Chooser, level: TruncationLevel, node: Node) -> JointCandidate:
    """Estimate what suppression costs at a node, by the draws that choose.

    Labels that fewer than k patients have go in any case, and then rare ones until few enough draws are flagged. Who
    knows what is suppressed, and leaves it out of what is known, is taken for who believes flags.
    """
    settings, limit = chooser.settings, chooser.settings.threshold
    risk, loss = level.by_node(node), level.losses.of(node)
    draws = risk.knowledge.repeat(0)
    sizes = risk.class_sizes(node, draws, LARGE * settings.k)
    is_flagged = (sizes > 0) & (sizes < settings.k)
    lists, holders, costs = risk.matching.lists(node), risk.matching.holders(node), level.label_costs(node)
    gone = (holders > 0) & (holders < settings.k)
    flagged = chosen_draws(draws, is_flagged)
    drawn = DrawnLabels.of(flagged, lists.recoding)
    left = np.setdiff1d(np.arange(flagged.patients.size), drawn.draws[gone[drawn.labels]])
    needed, believable = 0, limit
    if left.size > limit * draws.patients.size:
        needed, believable = int(left.size - AIM * limit * draws.patients.size) + 1, BELIEVED * limit
        costs_of_rare = np.where(holders <= RARE * chooser.encoded.n_patients, costs, np.inf)
        still = drawn.only(np.isin(drawn.draws, left))
        gone[greedy_cover(still, costs_of_rare, needed)] = True
        needed -= np.unique(still.draws[gone[still.labels]]).size
    reduced = without_labels(flagged, gone[drawn.of_values])
    others = np.concatenate([sizes[~is_flagged], risk.matching.sizes(node, reduced, most=LARGE * settings.k)])
    believed = float(risk_of(others).mean())
    left_out = _left_out(chooser, node)
    total = loss + float(costs[gone].sum())
    is_possible = needed <= 0 and believed <= believable and left_out <= settings.most_removed
    total = total + left_out * (1.0 - total) if is_possible else np.inf
    labels = tuple(own[:-1] for own in np.split(gone, lists.begins[1:]))
    return JointCandidate(node, level.percentile, loss, float(is_flagged.mean()), labels, total, believed)


def _left_out(chooser: Chooser, node: Node) -> float:
    """Share of the patients who have a label of their own that fewer than k patients have."""
    rare = np.zeros(chooser.encoded.n_patients, dtype=np.bool_)
    for column, own in zip(chooser.encoded.patients, node, strict=False):
        labels = column.at(own)
        counts = np.append(np.bincount(labels[labels >= 0], minlength=1), chooser.settings.k)
        rare |= counts[labels] < chooser.settings.k
    return float(rare.mean())
