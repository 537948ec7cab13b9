"""Choose levels, truncation and suppressed labels together: the least total loss (steps 10 and 11).

A finer node has more flagged draws, and suppressing rare labels unflags them. Which of the nodes between the flag rate
and the loss loses least in all is not known from either: so nodes are tried, what suppression costs at each is
estimated on the draws by which levels are chosen, and better ones are looked for among their neighbours.

Most nodes are ruled out by what their levels lose, or by a look at a few draws with easier limits; those that are left
are estimated by all draws, and who may be the best by several times as many. So the cost depends on the number of
draws, which the width of an interval sets, and hardly on the number of patients. What is released is measured on other
draws in any case, and further suppressed where that is needed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .adversary_draws import chosen_draws
from .choice import Chooser, NodeChoice, TruncationLevel, TruncationTried
from .label_suppression import RARE, DrawnLabels, greedy_cover, without_labels
from .lattice_search import Node
from .risk import release_risk, risk_of

Flags = NDArray[np.bool_]

LOOK = 1_000
"""Draws of a first look at a node."""

CLOSER = 4
"""Times the draws of a repeat by which the labels to be suppressed are chosen where a node may be released."""

AIM, CLOSE_AIM, EASY_AIM = 0.82, 0.9, 1.5
"""Share of the threshold down to which labels are suppressed: by draws that did not choose them more are flagged, the
more the fewer did. At a first look limits are so much easier that no node is ruled out by the chance of few draws."""

BELIEVED = 0.9
"""Share of the threshold that the risk by who believes flags may be on these draws."""

LIKELY = 0.4
"""Flag rate beyond which no finer nodes are tried on the way down: hardly any draw would be left."""

GIVEN_UP = 5
"""Columns, those of which most is kept, each of which is given up to see what else could be kept."""

LARGE = 50
"""Classes are counted up to so many times k: what they add to the mean risk beyond is next to nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class JointCandidate:
    """A node with the estimated cost of its suppression.

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
    """Search for nodes of small total loss.

    *Guarantee*: none; candidates are estimates, and `suppress` decides. The first node is the one that loses least of
    those whose flag rate is at most the threshold (`Chooser`), so that no candidate is estimated to lose more than what
    the published way chooses at the first truncation level. Not promised: the least total loss of the lattice. Cost:
    a thousand draws of some hundred nodes, all draws of a few.
    """

    def __init__(self, chooser: Chooser) -> None:
        self.chooser, self.settings = chooser, chooser.settings
        self._looks: dict[tuple[Node, float], JointCandidate] = {}
        self._confirmed: dict[tuple[Node, float], JointCandidate | None] = {}
        self._tried: tuple[TruncationTried, ...] = ()
        self.is_complete = True

    def candidates(self) -> list[JointCandidate]:
        """The nodes that were found to be fit for release, the least total loss first."""
        if not self._looks:
            percentile = max(self.settings.truncation.levels)
            start, tried = self.chooser.first(percentile, self.settings.risk.threshold)
            self._tried = (tried,)
            best = self._descend(start, percentile, None)
            was: JointCandidate | None = None
            while best is not None and best is not was:
                was = best = self._climb(best)
                # without one of the columns of which most is kept others may be kept, more in all
                by_level, bounds = self.chooser.level(best.percentile).losses.by_level, self.chooser.bounds
                kept = [own[high] - own[at] for own, at, (_, high) in zip(by_level, best.levels, bounds, strict=True)]
                for column in sorted(range(len(kept)), key=lambda j: (-kept[j], j))[:GIVEN_UP]:
                    given_up = (*best.levels[:column], bounds[column][1], *best.levels[column + 1 :])
                    best = self._descend(given_up, best.percentile, best, column) or best
        return _by_total(one for one in self._confirmed.values() if one is not None)

    def choice_of(self, candidate: JointCandidate) -> NodeChoice:
        """The candidate as a choice."""
        level = self.chooser.level(candidate.percentile)
        levels, loss = candidate.levels, candidate.loss
        around = level.around(levels)
        return NodeChoice(levels, candidate.percentile, loss, level.released, self._tried, around, self.is_complete)

    def _look(self, node: Node, percentile: float) -> JointCandidate | None:
        """What few draws say of a node; None where the budget is spent."""
        if (node, percentile) not in self._looks:
            if not self.chooser.budget.spend():
                self.is_complete = False
                return None
            level = self.chooser.level(percentile)
            self._looks[node, percentile] = estimate_cost(self.chooser, level, node, LOOK, EASY_AIM)
        return self._looks[node, percentile]

    def _better(self, node: Node, percentile: float, best: JointCandidate | None) -> JointCandidate | None:
        """The node where it is fit for release and its total is lower than that of the best, else the best."""
        least = np.inf if best is None else best.total - 1e-9
        if self.chooser.level(percentile).losses.of(node) < least:
            look = self._look(node, percentile)
            if look is not None and look.total < least:
                found = self._confirm(node, percentile, least)
                best = found if found is not None and found.total < least else best
        return best

    def _confirm(self, node: Node, percentile: float, least: float) -> JointCandidate | None:
        """The node with its labels chosen by many draws; None where it is not fit for release or its total not lower.

        Not all who fit what is left have a flag, so that the risk by who believes flags is measured as it is later.
        """
        if (node, percentile) not in self._confirmed:
            level, settings = self.chooser.level(percentile), self.settings
            if estimate_cost(self.chooser, level, node, settings.risk.draws, AIM).total >= least:
                return None
            one = estimate_cost(self.chooser, level, node, CLOSER * settings.risk.draws, CLOSE_AIM)
            is_fit = bool(np.isfinite(one.total))
            if is_fit and not settings.is_flag_aware_waived:
                released, knowledge = level.released.without_labels(node, one.labels), level.by_node(node).knowledge
                risk = release_risk(
                    released, node, knowledge, replace(settings, risk=replace(settings.risk, repeats=1))
                )
                is_fit = risk.highest_believing <= BELIEVED * settings.risk.threshold
            self._confirmed[node, percentile] = one if is_fit else None
        return self._confirmed[node, percentile]

    def _descend(
        self, node: Node, percentile: float, best: JointCandidate | None, held: int | None = None
    ) -> JointCandidate | None:
        """Go down the frontier, each step the one that saves most loss for the flags that it adds; return the best.

        held : a column that stays at its level
        """
        free = [column for column in range(len(node)) if column != held]
        current, met = self._look(node, percentile), list[JointCandidate]()
        while current is not None and current.flag_rate < LIKELY:
            looks = [self._look(one, percentile) for one in self._move_columns(current.levels, (-1,), free)]
            finer = [one for one in looks if one is not None]
            met += [current, *finer]
            steps = [
                ((current.loss - one.loss) / max(one.flag_rate - current.flag_rate, 1e-6), one.loss, one)
                for one in finer
            ]
            current = max(steps, key=lambda step: step[:2])[2] if steps else None
        for one in _by_total(met):
            best = self._better(one.levels, percentile, best)
        return best

    def _climb(self, best: JointCandidate) -> JointCandidate:
        """Go on to the best neighbour while there is a better one: first one column moves, then one down and one up."""
        was: JointCandidate | None = None
        while was is not best and self.is_complete:
            was = best
            for neighbours in (self._beside(was), self._swap_columns(was)):
                for node, percentile in neighbours if best is was else ():
                    best = self._better(node, percentile, best) or best
        return best

    def _beside(self, candidate: JointCandidate) -> Iterator[tuple[Node, float]]:
        own, percentile = candidate.levels, candidate.percentile
        others = sorted(set(self.settings.truncation.levels), reverse=True)
        place = others.index(percentile)
        yield from ((own, others[at]) for at in (place - 1, place + 1) if 0 <= at < len(others))
        yield from ((node, percentile) for node in self._move_columns(own, (-1, 1)))

    def _swap_columns(self, candidate: JointCandidate) -> Iterator[tuple[Node, float]]:
        own, percentile = candidate.levels, candidate.percentile
        up = range(1, 1 + max(high - low for low, high in self.chooser.bounds))
        for finer in self._move_columns(own, (-1, -2)):
            kept = [j for j, level in enumerate(finer) if level == own[j]]
            yield from ((node, percentile) for node in self._move_columns(finer, up, kept))

    def _move_columns(self, node: Node, steps: Sequence[int], columns: list[int] | None = None) -> Iterator[Node]:
        for j, (low, high) in enumerate(self.chooser.bounds):
            if columns is None or j in columns:
                for level in (node[j] + step for step in steps):
                    if low <= level <= high:
                        yield (*node[:j], level, *node[j + 1 :])


def _by_total(candidates: Iterable[JointCandidate]) -> list[JointCandidate]:
    """Those that are possible, the least total loss first."""
    possible = [one for one in candidates if np.isfinite(one.total)]
    return sorted(possible, key=lambda one: (round(one.total, 12), -one.percentile, sum(one.levels), one.levels))


def estimate_cost(chooser: Chooser, level: TruncationLevel, node: Node, n_draws: int, aim: float) -> JointCandidate:
    """Estimate the cost of suppression at a node, from the first draws.

    Labels that fewer than k patients have go in any case, and then rare ones until few enough draws are flagged. Who
    knows what is suppressed, and leaves it out of what is known, is taken for who believes flags.

    aim : share of the threshold down to which draws are flagged where more than the threshold are; above 1 all limits
        are so many times higher
    """
    settings, limit = chooser.settings, chooser.settings.risk.threshold * max(aim, 1.0)
    risk, loss = level.by_node(node, n_draws), level.losses.of(node)
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
        needed, believable = int(left.size - min(aim, 1.0) * limit * draws.patients.size) + 1, BELIEVED * limit
        costs_of_rare = np.where(holders <= RARE * chooser.encoded.n_patients, costs, np.inf)
        still = drawn.only(np.isin(drawn.draws, left))
        gone[greedy_cover(still, costs_of_rare, needed)] = True
        needed -= np.unique(still.draws[gone[still.labels]]).size
    believed = 0.0
    if needed <= 0:
        reduced = without_labels(flagged, gone[drawn.of_values])
        others = np.concatenate([sizes[~is_flagged], risk.matching.sizes(node, reduced, most=LARGE * settings.k)])
        believed = float(risk_of(others).mean())
    left_out = _left_out(chooser, node)
    total = loss + float(costs[gone].sum())
    is_possible = needed <= 0 and believed <= believable and left_out <= settings.suppression.most_removed
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
