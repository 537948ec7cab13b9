"""The order of truncating claims (step 7), and the truncation level and node with the least loss (step 10)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease
from cloister.shapes.claims.format.plan import ClaimsPlan

from .adversary_draws import AdversaryPower, DrawnKnowledge, Power
from .encode import MISSING, EncodedClaims, distinct
from .lattice_search import Budget, LatticeResult, Node, search_lattice
from .matching import Matching, ReleasedClaims, label_losses, level_losses
from .risk import AttackedClaims, Basis, NodeRisk, RiskFigures

Bounds = Sequence[tuple[int, int]]

NO_TRUNCATION = 100.0
"""The truncation level at which all claims stay."""


@dataclass(frozen=True, eq=False, repr=False)
class Truncation:
    """The order in which claims are removed.

    scores : (n_claims,) 1 - least support / number of patients, in [0, 1]; higher goes first
    ranks : (n_claims,) how many claims of the same patient (or patient and year) are kept longer
    counts : claims per patient (or patient and year) that has any, in order
    """

    scores: NDArray[np.float64]
    ranks: NDArray[np.int64]
    counts: NDArray[np.int64]

    def limit(self, percentile: float) -> int | None:
        """Claims that a patient may keep: the nearest rank of the percentile; None at 100, which is no truncation."""
        if percentile >= NO_TRUNCATION or not self.counts.size:
            return None
        rank = math.ceil(round(percentile / 100 * self.counts.size, 9))
        return int(self.counts[max(rank, 1) - 1])

    def mark_kept(self, percentile: float) -> NDArray[np.bool_]:
        """Whether each claim is kept, (n_claims,)."""
        limit = self.limit(percentile)
        return np.ones(self.ranks.size, dtype=np.bool_) if limit is None else np.asarray(self.ranks < limit)


def truncation(claims: EncodedClaims) -> Truncation:
    """Score the claims of each patient by their rarest value.

    The support of a value is the number of *other* patients who have it; missing values are ignored, and a claim
    without any value is the last to go. Base values are scored, so that the order is the same for every node. Ties are
    broken by the content of the claim: rows are sorted by it.

    Percentiles are over patients (or patients and years) that have claims.
    """
    scores = _scores(claims)
    group = _groups(claims)
    order = np.lexsort((np.arange(scores.size), scores, group))  # within a group, what is kept longest comes first
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    counts = np.diff(starts, append=scores.size)
    ranks = np.empty(scores.size, dtype=np.int64)
    ranks[order] = np.arange(scores.size) - np.repeat(starts, counts)
    return Truncation(scores, ranks, np.sort(counts).astype(np.int64))


def _groups(claims: EncodedClaims) -> NDArray[np.int64]:
    """Number of the patient, or of patient and year, of each claim."""
    if claims.years is None:
        return claims.owners
    years = claims.years.astype(np.int64)
    first = int(years.min(initial=0))
    return claims.owners * (int(years.max(initial=0)) - first + 1) + (years - first)


def _scores(claims: EncodedClaims) -> NDArray[np.float64]:
    least = np.full(claims.n_claims, claims.n_patients, dtype=np.int64)
    for column in claims.claims:
        known = column.values != MISSING
        pairs = distinct(claims.owners[known] * column.n_values + column.values[known])
        n_patients = np.bincount(pairs % max(column.n_values, 1), minlength=column.n_values)
        least[known] = np.minimum(least[known], n_patients[column.values[known]] - 1)
    scores: NDArray[np.float64] = 1.0 - least / max(claims.n_patients, 1)
    return scores


@dataclass(frozen=True)
class NodeTest:
    """A node, judged with misses decided on base values (``raw``), and as the paper has it, on those of the node."""

    levels: Node
    loss: float
    raw: RiskFigures
    node: RiskFigures


@dataclass(frozen=True)
class TruncationTried:
    """What became of one truncation level, which is searched for what loses less than the levels tried before."""

    percentile: float
    claims_lost: int
    result: LatticeResult

    @property
    def n_requested(self) -> int:
        """Nodes measured, by either test."""
        return self.result.checked + self.result.tested


@dataclass(frozen=True, eq=False, repr=False)
class NodeChoice:
    """The chosen node.

    levels : level of each column, those of patients first
    truncation : percentile; 100 where nothing is truncated
    loss : with lost claims, before suppression
    released : all patients, with their claims as truncated
    tried : truncation levels that were searched, all of them unless ``is_optimal`` is false
    around : the chosen node, then its direct neighbours in the lattice, each judged by both tests
    is_optimal : whether the search came to its end; else its bound of nodes or time ended it
    """

    levels: Node
    truncation: float
    loss: float
    released: ReleasedClaims
    tried: tuple[TruncationTried, ...]
    around: tuple[NodeTest, ...]
    is_optimal: bool = True


class Chooser:
    """Search for the truncation level and node with the least loss among those with a flag rate of at most MaxSup.

    What is drawn and counted for one MaxSup serves the others.

    *Guarantee*: no node of the lattice that loses less, lost claims included, passes both tests: the flag rate with
    everything but the generalization frozen (power, draws, claims removed, and which draws are missed, decided on base
    values), and the paper's, with misses decided on the values of the node. Only the first is inherited by coarser
    nodes, so it alone rules out nodes that were not measured. With ``search.miss_test = "node"`` the second decides
    alone, for lattices so small that all nodes that lose less can be measured. Not promised: exactness; answers are
    those of a simulation, stopped early at 99.9 %, and the release is evaluated anew in any case; nor that there is no
    better one where the plan bounds the search and the bound ended it, which ``is_optimal`` then says. Cost: about
    2,500 nodes of half a million measured, by a few hundred draws each.

    powers : of the adversary of the plan, at base values and at those of a node
    bounds : lowest and highest level of each column
    """

    def __init__(
        self,
        encoded: EncodedClaims,
        powers: AdversaryPower,
        plan: ClaimsPlan,
        bounds: Bounds | None = None,
        threads: int = 1,
    ) -> None:
        self.encoded, self.powers, self.plan, self.threads = encoded, powers, plan, threads
        self.bounds = bounds or [(0, column.n_levels - 1) for column in encoded.columns]
        self.percentiles = sorted(set(plan.truncation.levels), reverse=True)
        self.truncation = truncation(encoded)
        self.knowledge = DrawnKnowledge(encoded, powers.at(), plan.risk.seed, draws=plan.risk.draws)
        self.renew_budget()
        self._levels: dict[float, TruncationLevel] = {}

    def renew_budget(self) -> None:
        """Allow as many nodes and seconds from now on as the plan does."""
        self.budget = Budget(self.plan.search.nodes, self.plan.search.time_limit_s)

    def level(self, percentile: float) -> "TruncationLevel":
        """One truncation level; the last two are kept, since lists of patients are large."""
        if percentile not in self._levels:
            while len(self._levels) > 1:
                del self._levels[next(iter(self._levels))]
            self._levels[percentile] = TruncationLevel(self, percentile)
        self._levels[percentile] = self._levels.pop(percentile)
        return self._levels[percentile]

    def forget(self) -> None:
        """Drop the lists of patients, which are made again when needed, and take most of the memory."""
        # levels hold the chooser that holds them, so that Python alone would find them late
        self._levels.clear()

    def power_at(self, levels: Node) -> Power:
        """The power of the adversary of the plan at a node."""
        return self.powers.at(levels[len(self.encoded.patients) :])

    def attack(self, released: ReleasedClaims, levels: Node) -> AttackedClaims:
        """Return a release, ready to be attacked by the adversary of the plan."""
        return AttackedClaims(released, levels, self.power_at(levels), self.plan, self.threads)

    def move_columns(self, node: Node, steps: Sequence[int], columns: list[int] | None = None) -> Iterator[Node]:
        """Yield the nodes in the bounds that differ by one of these steps in one column, any by default."""
        for j, (low, high) in enumerate(self.bounds):
            if columns is None or j in columns:
                for level in (node[j] + step for step in steps):
                    if low <= level <= high:
                        yield (*node[:j], level, *node[j + 1 :])

    def choose(self, max_sup: float) -> NodeChoice:
        """Return the choice by this MaxSup; `NoSafeRelease` where no node passes, or none was found in time."""
        tried: list[TruncationTried] = []
        best: tuple[Node, float] | None = None
        loss = np.inf
        for percentile in self.percentiles:
            tried.append(self.level(percentile).search(max_sup, loss))
            if tried[-1].result.levels is not None:
                best, loss = (tried[-1].result.levels, percentile), tried[-1].result.loss
            if self.budget.is_spent:
                break
        is_optimal = len(tried) == len(self.percentiles) and all(one.result.is_complete for one in tried)
        if best is None:
            raise _none_found(tried, max_sup, is_complete=is_optimal)
        levels, percentile = best
        return self.level(percentile).as_choice(levels, loss, tried, is_optimal=is_optimal)


class TruncationLevel:
    """One truncation level, ready for the search: its lists of patients are built once."""

    def __init__(self, chooser: Chooser, percentile: float) -> None:
        self.chooser, self.percentile, plan = chooser, percentile, chooser.plan
        self.released = ReleasedClaims.everything(chooser.encoded, chooser.truncation.mark_kept(percentile))
        self.losses = level_losses(self.released, plan.weights)
        self.matching = Matching(self.released, plan.adversary.power, chooser.threads)
        self._costs: dict[tuple[int, int], NDArray[np.float64]] = {}
        self.raw = NodeRisk(self.matching, chooser.knowledge, plan.risk.k, Basis.RAW)

    def search(self, max_sup: float, bound: float = np.inf) -> TruncationTried:
        """Search for a node by both tests; levels are counted from the lowest allowed within the search only."""
        bounds, is_node_alone = self.chooser.bounds, self.chooser.plan.search.miss_test == "node"

        def raised(node: Node) -> Node:
            return tuple(low + own for (low, _), own in zip(bounds, node, strict=True))

        result = search_lattice(
            [own[low : high + 1] for own, (low, high) in zip(self.losses.by_level, bounds, strict=True)],
            # with misses decided on base values, what passes is inherited by coarser nodes; the paper's test is not:
            # where it alone decides, no node rules out another
            lambda node: is_node_alone or self.raw.is_candidate(raised(node), max_sup),
            lambda node: self.by_node(raised(node)).is_candidate(raised(node), max_sup),
            fixed=self.losses.fixed,
            bound=bound,
            budget=self.chooser.budget,
        )
        if result.levels is not None:
            result = replace(result, levels=raised(result.levels))
        return TruncationTried(self.percentile, int((~self.released.claims).sum()), result)

    def by_node(self, levels: Node, n_draws: int | None = None) -> NodeRisk:
        """The paper's test of a node; ``n_draws``: in one repeat, if not as the plan says."""
        knowledge = self.chooser.knowledge.with_power(self.chooser.power_at(levels), n_draws)
        return NodeRisk(self.matching, knowledge, self.chooser.plan.risk.k, Basis.NODE)

    def label_costs(self, levels: Node) -> NDArray[np.float64]:
        """What suppressing each label at the levels of claims adds to the loss, by its number in `Matching.lists`."""
        found = []
        for pair in enumerate(levels[len(self.chooser.encoded.patients) :]):
            if pair not in self._costs:
                # one more, which marks the end of a column
                self._costs[pair] = np.append(label_losses(self.released, *pair, self.chooser.plan.weights), 0.0)
            found.append(self._costs[pair])
        return np.concatenate(found)

    def as_choice(self, levels: Node, loss: float, tried: Sequence[TruncationTried], *, is_optimal: bool) -> NodeChoice:
        """Return a node as the choice; it and its neighbours, a level up or down in one column, are judged."""
        around = tuple(
            NodeTest(node, self.losses.of(node), self.raw.figures(node), self.by_node(node).figures(node))
            for node in (levels, *self.chooser.move_columns(levels, (-1, 1)))
        )
        return NodeChoice(levels, self.percentile, loss, self.released, tuple(tried), around, is_optimal)


def _none_found(tried: Sequence[TruncationTried], max_sup: float, *, is_complete: bool) -> NoSafeRelease:
    """Say that no node passes, or that none was found in time."""
    if not is_complete:
        return NoSafeRelease(
            "The search ended by search.nodes or search.time_limit_s after "
            f"{sum(one.n_requested for one in tried)} nodes, none of which has a flag rate of at most "
            f"{max_sup:g}. Allow more, or coarser levels alone."
        )
    return NoSafeRelease(
        f"None of {len(tried)} truncation levels and {tried[0].result.lattice} nodes has a flag rate of at most "
        f"{max_sup:g}. Allow coarser levels, truncate more, raise risk.max_flag_rate, or remove columns."
    )
