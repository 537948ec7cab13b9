"""Choose levels, truncation and suppressed labels together: the least total loss (steps 10 and 11).

A finer node has more flagged draws, and suppressing rare labels unflags them. Which of the nodes between the flag rate
and the loss loses least in all is not known from either: so nodes are tried, what suppression costs at each is
estimated on the draws by which levels are chosen, and better ones are looked for among their neighbours.

Most nodes are ruled out by what their levels lose, or by a look at a few draws with easier limits; those that are left
are estimated by all draws, and who may be the best by several times as many. So the cost depends on the number of
draws, which the width of an interval sets, and hardly on the number of patients. What is released is measured on other
draws in any case, and further suppressed where that is needed.

A label that is suppressed is suppressed in all claims: a draw that holds it is missed, and no class of others becomes
smaller, so that what one label does is never undone by another. Labels are a greedy, lazily updated cover of the
flagged draws. Only rare labels are suppressed. If a common one were, nearly every draw would be missed, and an
adversary who believes the flags would know as much as before.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Draws, Recoding

from .adversary_draws import chosen_draws
from .choice import Chooser, NodeChoice, TruncationLevel, TruncationTried
from .encode import EncodedClaims, distinct
from .lattice_search import Node
from .risk import release_risk, risk_of

Numbers = NDArray[np.int64]
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

RARE = 0.25
"""Share of the patients who have a label at most for it to be rare."""

NOTHING = 1e-12
"""What a label costs at least, so that gains per cost can be compared."""

LARGE = 50
"""Classes are counted up to so many times k: what they add to the mean risk beyond is next to nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class JointCandidate:
    """A node with the estimated cost of its suppression.

    loss : of levels and truncation alone
    flag_rate : before suppression
    labels : of each column of claims, whether each label of its level is suppressed
    total : loss with suppression; infinite where rare labels do not suffice
    """

    levels: Node
    percentile: float
    loss: float
    flag_rate: float
    labels: tuple[Flags, ...]
    total: float


class JointSearch:
    """Search for nodes of small total loss.

    *Guarantee*: none; candidates are estimates, and `suppress` decides. The first node is the one that loses least of
    those whose flag rate is at most the threshold (`Chooser`), so that no candidate is estimated to lose more than what
    the published way chooses at the first truncation level. Not promised: the least total loss of the lattice. Cost:
    a thousand draws of some hundred nodes, all draws of a few.
    """

    def __init__(self, chooser: Chooser) -> None:
        self.chooser, self.plan = chooser, chooser.plan
        self._looks: dict[tuple[Node, float], JointCandidate] = {}
        self._confirmed: dict[tuple[Node, float], JointCandidate | None] = {}
        self._tried: tuple[TruncationTried, ...] = ()
        self.is_complete = True

    def candidates(self) -> list[JointCandidate]:
        """The nodes that were found to be fit for release, the least total loss first."""
        if not self._looks:
            percentile, highest = self.chooser.percentiles[0], tuple(high for _, high in self.chooser.bounds)
            tried = self.chooser.level(percentile).search(self.plan.risk.threshold)
            self._tried = (tried,)
            best = self._descend(tried.result.levels or highest, percentile, None)
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
        return level.as_choice(candidate.levels, candidate.loss, self._tried, is_optimal=self.is_complete)

    def _look(self, node: Node, percentile: float) -> JointCandidate | None:
        """What few draws say of a node; None where the budget is spent."""
        if (node, percentile) not in self._looks:
            if not self.chooser.budget.spend():
                self.is_complete = False
                return None
            self._looks[node, percentile] = estimate_cost(self.chooser.level(percentile), node, LOOK, EASY_AIM)
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
            level, risk = self.chooser.level(percentile), self.plan.risk
            if estimate_cost(level, node, risk.draws, AIM).total >= least:
                return None
            one = estimate_cost(level, node, CLOSER * risk.draws, CLOSE_AIM)
            is_fit = bool(np.isfinite(one.total))
            if is_fit and not self.plan.adversary.is_flag_aware_waived:
                attacked = self.chooser.attack(level.released.without_labels(node, one.labels), node)
                found = release_risk(attacked, level.by_node(node).knowledge, repeats=1)
                is_fit = found.highest_believing <= BELIEVED * risk.threshold
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
            looks = [self._look(one, percentile) for one in self.chooser.move_columns(current.levels, (-1,), free)]
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
            for neighbours in (self._neighbours(was), self._swap_columns(was)):
                for node, percentile in neighbours if best is was else ():
                    best = self._better(node, percentile, best) or best
        return best

    def _neighbours(self, candidate: JointCandidate) -> Iterator[tuple[Node, float]]:
        own, percentile = candidate.levels, candidate.percentile
        others = self.chooser.percentiles
        place = others.index(percentile)
        yield from ((own, others[at]) for at in (place - 1, place + 1) if 0 <= at < len(others))
        yield from ((node, percentile) for node in self.chooser.move_columns(own, (-1, 1)))

    def _swap_columns(self, candidate: JointCandidate) -> Iterator[tuple[Node, float]]:
        own, percentile = candidate.levels, candidate.percentile
        up = range(1, 1 + max(high - low for low, high in self.chooser.bounds))
        for finer in self.chooser.move_columns(own, (-1, -2)):
            kept = [j for j, level in enumerate(finer) if level == own[j]]
            yield from ((node, percentile) for node in self.chooser.move_columns(finer, up, kept))


def _by_total(candidates: Iterable[JointCandidate]) -> list[JointCandidate]:
    """Those that are possible, the least total loss first."""
    possible = [one for one in candidates if np.isfinite(one.total)]
    return sorted(possible, key=lambda one: (round(one.total, 12), -one.percentile, sum(one.levels), one.levels))


def estimate_cost(level: TruncationLevel, node: Node, n_draws: int, aim: float) -> JointCandidate:
    """Estimate the cost of suppression at a node, from the first draws.

    Labels that fewer than k patients have go in any case, and then rare ones until few enough draws are flagged. An
    adversary who knows which labels are suppressed, and ignores them, counts as one who believes the flags.

    aim : share of the threshold down to which draws are flagged where more than the threshold are; above 1 all limits
        are so many times higher
    """
    encoded, plan, k = level.released.encoded, level.chooser.plan, level.chooser.plan.risk.k
    limit = plan.risk.threshold * max(aim, 1.0)
    risk, loss = level.by_node(node, n_draws), level.losses.of(node)
    draws = risk.knowledge.repeat(0)
    sizes = risk.class_sizes(node, draws, LARGE * k)
    is_flagged = (sizes > 0) & (sizes < k)
    lists, holders, costs = risk.matching.lists(node), risk.matching.holders(node), level.label_costs(node)
    gone = (holders > 0) & (holders < k)
    flagged = chosen_draws(draws, is_flagged)
    drawn = DrawnLabels.of(flagged, lists.recoding)
    left = np.setdiff1d(np.arange(flagged.patients.size), drawn.draws[gone[drawn.labels]])
    needed, believable = 0, limit
    if left.size > limit * draws.patients.size:
        needed, believable = int(left.size - min(aim, 1.0) * limit * draws.patients.size) + 1, BELIEVED * limit
        costs_of_rare = np.where(holders <= RARE * encoded.n_patients, costs, np.inf)
        still = drawn.only(np.isin(drawn.draws, left))
        gone[greedy_cover(still, costs_of_rare, needed)] = True
        needed -= np.unique(still.draws[gone[still.labels]]).size
    believed = 0.0
    if needed <= 0:
        reduced = without_labels(flagged, gone[drawn.of_values])
        others = np.concatenate([sizes[~is_flagged], risk.matching.sizes(node, reduced, most=LARGE * k)])
        believed = float(risk_of(others).mean())
    suppressed = _suppressed_share(encoded, node, k)
    total = loss + float(costs[gone].sum())
    is_possible = needed <= 0 and believed <= believable and suppressed <= plan.suppression.most_removed
    total = total + suppressed * (1.0 - total) if is_possible else np.inf
    labels = tuple(own[:-1] for own in np.split(gone, lists.begins[1:]))
    return JointCandidate(node, level.percentile, loss, float(is_flagged.mean()), labels, total)


def _suppressed_share(encoded: EncodedClaims, node: Node, k: int) -> float:
    """Share of the patients who have a label of their own that fewer than k patients have."""
    rare = np.zeros(encoded.n_patients, dtype=np.bool_)
    for column, own in zip(encoded.patients, node, strict=False):
        labels = column.at(own)
        counts = np.append(np.bincount(labels[labels >= 0], minlength=1), k)
        rare |= counts[labels] < k
    return float(rare.mean())


@dataclass(frozen=True, eq=False, repr=False)
class DrawnLabels:
    """Which labels are in which draws, each pair once; labels by their number among those of all columns and levels.

    ``labels, draws``: (n_pairs,); ``of_values``: (n_values,) the label of each value drawn.
    """

    labels: Numbers
    draws: Numbers
    of_values: Numbers

    @classmethod
    def of(cls, draws: Draws, recoding: Recoding) -> "DrawnLabels":
        """The labels of draws at the levels of a node."""
        sizes = np.diff(draws.starts, axis=1)
        columns = np.repeat(np.tile(np.arange(sizes.shape[1]), sizes.shape[0]), sizes.reshape(-1))
        labels = recoding.labels[recoding.at[columns] + draws.values]
        n = max(draws.patients.size, 1)
        pairs = distinct(labels * n + np.repeat(np.arange(draws.patients.size), sizes.sum(axis=1)))
        return cls(pairs // n, pairs % n, labels)

    def only(self, wanted: Flags) -> "DrawnLabels":
        """Some of the pairs."""
        return replace(self, labels=self.labels[wanted], draws=self.draws[wanted])


def greedy_cover(drawn: DrawnLabels, costs: NDArray[np.float64], needed: int) -> Numbers:
    """Return labels that hold so many of the draws together, most draws for their cost first; all useful ones if fewer.

    The cover is lazy: gains only fall as labels are added, so a label that stays first after a recount is the next.
    Of labels with equal gains for their cost those with lower numbers come first.

    costs : by label; infinite for labels that may not be suppressed
    """
    labels, starts = np.unique(drawn.labels, return_index=True)
    ends = np.append(starts, drawn.labels.size)[1:]
    left = np.ones(int(drawn.draws.max(initial=-1)) + 1, dtype=np.bool_)
    own = np.maximum(costs[labels], NOTHING)
    heap = [
        (-float(end - start) / float(cost), int(label), int(start), int(end), float(cost))
        for label, start, end, cost in zip(labels, starts, ends, own, strict=True)
        if np.isfinite(cost)
    ]
    heapq.heapify(heap)
    cover: list[int] = []
    while needed > 0 and heap:
        _, label, start, end, cost = heapq.heappop(heap)
        held = drawn.draws[start:end]
        gain = int(np.count_nonzero(left[held]))
        now = (-gain / cost, label, start, end, cost)
        if heap and now > heap[0]:
            if gain:
                heapq.heappush(heap, now)
            continue
        if not gain:
            break
        left[held] = False
        needed -= gain
        cover.append(label)
    return np.array(cover, dtype=np.int64)


def without_labels(draws: Draws, gone: Flags) -> Draws:
    """The same draws without some of their values, (n_values,)."""
    n, n_columns = draws.patients.size, draws.starts.shape[1] - 1
    before = np.concatenate([[0], np.cumsum(~gone)]).astype(np.int64)
    sizes = np.diff(before[draws.starts], axis=1)
    ends = np.cumsum(sizes.reshape(-1)).reshape(n, n_columns)
    starts = np.zeros_like(draws.starts)
    starts[:, 1:] = ends
    starts[1:, 0] = starts[:-1, -1]
    return Draws(draws.patients, starts, draws.values[~gone])
