"""The order in which claims are truncated (step 7); the truncation level and the node that lose least (step 10)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease

from .encode import MISSING, EncodedClaims, EncodedColumn
from .knowledge import DrawnKnowledge
from .lattice_search import Budget, LatticeResult, Node, search_lattice
from .matching import Matching
from .node_risk import Basis, NodeRisk, PowerAt, RiskFigures, RiskSettings
from .released import ReleasedClaims, level_losses

Bounds = Sequence[tuple[int, int]]

NO_TRUNCATION = 100.0
"""The truncation level at which all claims stay."""


@dataclass(frozen=True, eq=False, repr=False)
class Truncation:
    """The order in which claims are dropped.

    Attributes
    ----------
    scores : (n_claims,) float64, 1 - least support / number of patients, in [0, 1]; higher goes first
    ranks : (n_claims,) int64, how many claims of the same patient (or patient and year) are kept longer
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

    def kept(self, percentile: float) -> NDArray[np.bool_]:
        """Whether each claim is kept, (n_claims,)."""
        limit = self.limit(percentile)
        kept: NDArray[np.bool_] = np.ones(self.ranks.size, dtype=np.bool_) if limit is None else self.ranks < limit
        return kept


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
        support = _patients_with(column, claims.owners) - 1
        least[known] = np.minimum(least[known], support[column.values[known]])
    scores: NDArray[np.float64] = 1.0 - least / max(claims.n_patients, 1)
    return scores


def _patients_with(column: EncodedColumn, owners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Patients who have each base value, (n_values,)."""
    known = column.values != MISSING
    pairs = np.sort(owners[known] * column.n_values + column.values[known])
    first = np.diff(pairs, prepend=-1) != 0  # np.unique hashes, which takes a hundred times as long
    return np.bincount(pairs[first] % max(column.n_values, 1), minlength=column.n_values).astype(np.int64)


@dataclass(frozen=True)
class NodeTest:
    """A node beside the chosen one, judged as the paper has it.

    Attributes
    ----------
    raw, node : figures with misses decided on base values, and on the values of the node
    """

    levels: Node
    loss: float
    raw: RiskFigures
    node: RiskFigures


@dataclass(frozen=True)
class TruncationTried:
    """What became of one truncation level.

    Attributes
    ----------
    percentile : 100 where nothing is truncated
    limit : claims that a patient may keep; None where nothing is truncated
    claims_lost : claims removed
    result : of the search, which looks only for what loses less than the levels tried before
    """

    percentile: float
    limit: int | None
    claims_lost: int
    result: LatticeResult

    @property
    def n_requested(self) -> int:
        """Nodes measured, by either test."""
        return self.result.checked + self.result.tested


@dataclass(frozen=True, eq=False, repr=False)
class NodeChoice:
    """The node chosen.

    Attributes
    ----------
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


class _TruncationLevel:
    """One truncation level, ready to be searched: its lists of patients are made once."""

    def __init__(
        self, released: ReleasedClaims, knowledge: DrawnKnowledge, settings: RiskSettings, power_at: PowerAt | None
    ) -> None:
        self.released = released
        self.knowledge = knowledge
        self.settings = settings
        self.max_sup = settings.max_sup
        self.power_at = power_at
        self.matching = Matching(released, knowledge.cap, settings.threads)
        self.raw = NodeRisk(self.matching, knowledge, settings.k, Basis.RAW)

    def is_candidate(self, levels: Node) -> bool:
        """Whether a node passes with misses decided on base values, inherited by coarser nodes."""
        return self.raw.flag_rate(levels, self.max_sup, self.settings.search_repeats).is_candidate

    def is_accepted(self, levels: Node) -> bool:
        """Whether it also passes the paper's own test, with misses decided on its own values."""
        risk = self.by_node(levels)
        return risk.flag_rate(levels, self.max_sup, self.settings.search_repeats).is_candidate

    def by_node(self, levels: Node) -> NodeRisk:
        """The paper's test of a node."""
        if self.power_at is None:
            return NodeRisk(self.matching, self.knowledge, self.settings.k, Basis.NODE)
        knowledge = self.knowledge.with_power(self.power_at(levels))
        matching = self.matching
        if knowledge.cap > matching.cap:
            matching = Matching(self.released, knowledge.cap, self.settings.threads, levels)
        return NodeRisk(matching, knowledge, self.settings.k, Basis.NODE)

    def test(self, levels: Node, loss: float) -> NodeTest:
        """Figures of a node by both tests; classes are counted once where both make the same draws."""
        draws, node = self.knowledge.repeat(0), self.by_node(levels)
        sizes = node.class_sizes(levels, node.knowledge.repeat(0))
        if self.power_at is None:
            # what base values hold, coarser ones hold as well
            raw = np.where(self.matching.contained([0] * len(levels), draws), sizes, 0)
        else:
            raw = self.raw.class_sizes(levels, draws)
        return NodeTest(levels, loss, *(RiskFigures.of(own, self.settings.k) for own in (raw, sizes)))


class Chooser:
    """Finds the truncation level and node that lose least among those whose flag rate is at most MaxSup.

    What is drawn and counted for one MaxSup serves the others.

    *Guarantee*: no node of the lattice that loses less, lost claims included, passes both tests: the flag rate with
    everything but the generalization frozen (power, draws, claims removed, and which draws are missed, decided on base
    values), and the paper's, with misses decided on the values of the node. Only the first is inherited by coarser
    nodes, so it alone rules out nodes that were not measured. Not promised: exactness; answers are those of a
    simulation, stopped early at 99.9 %, and the release is evaluated anew in any case; nor that there is no better one
    where ``settings`` bound the search and the bound ended it, which ``is_optimal`` then says. Cost: about 2,500 nodes
    of half a million measured, by a few hundred draws each.

    Parameters
    ----------
    truncation : of step 7, from base values
    power : (n_patients, n_columns) adversary's power from base values
    bounds : lowest and highest level of each column
    weights : of the columns in the loss
    power_at : the power as computed from the values of a node, for the paper's test; ``power`` if not given
    """

    def __init__(
        self,
        encoded: EncodedClaims,
        truncation: Truncation,
        power: NDArray[np.int32],
        settings: RiskSettings,
        *,
        bounds: Bounds | None = None,
        weights: Sequence[float] | None = None,
        power_at: PowerAt | None = None,
    ) -> None:
        self.encoded, self.truncation, self.settings = encoded, truncation, settings
        self.bounds = bounds or [(0, column.n_levels - 1) for column in encoded.columns]
        self.weights, self.power_at = weights, power_at
        self._knowledge = DrawnKnowledge(encoded, power, settings.seed, draws=settings.draws)
        self._budget = Budget(settings.search_nodes, settings.search_seconds)
        self._levels: dict[float, _TruncationLevel] = {}

    def choose(self, max_sup: float) -> NodeChoice:
        """Return the choice by this MaxSup; `NoSafeRelease` where no node passes, or none was found in time."""
        tried: list[TruncationTried] = []
        best: tuple[Node, float, float] | None = None
        percentiles = sorted(set(self.settings.truncation), reverse=True)
        for percentile in percentiles:
            level = self._level(percentile, max_sup)
            result = _search(level, self.bounds, self.weights, np.inf if best is None else best[2], self._budget)
            if result.levels is not None:
                best = result.levels, percentile, result.loss
            limit = None if percentile >= NO_TRUNCATION else self.truncation.limit(percentile)
            tried.append(TruncationTried(percentile, limit, int((~level.released.claims).sum()), result))
            if self._budget.is_spent:
                break
        is_optimal = len(tried) == len(percentiles) and all(one.result.is_complete for one in tried)
        if best is None:
            raise _none_found(tried, max_sup, is_complete=is_optimal)
        levels, percentile, loss = best
        level = self._level(percentile, max_sup)
        around = _around(level, levels, self.bounds, self.weights)
        return NodeChoice(levels, percentile, loss, level.released, tuple(tried), around, is_optimal)

    def _level(self, percentile: float, max_sup: float) -> _TruncationLevel:
        if percentile not in self._levels:
            released = ReleasedClaims.everything(self.encoded, self.truncation.kept(percentile))
            self._levels[percentile] = _TruncationLevel(released, self._knowledge, self.settings, self.power_at)
        level = self._levels[percentile]
        level.max_sup = max_sup
        return level


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


def _search(
    level: _TruncationLevel, bounds: Bounds, weights: Sequence[float] | None, bound: float, budget: Budget
) -> LatticeResult:
    """Search one truncation level; levels are counted from the lowest allowed within the search only."""
    losses = level_losses(level.released, weights)
    lowest = [low for low, _ in bounds]

    def raised(node: Node) -> Node:
        return tuple(low + own for low, own in zip(lowest, node, strict=True))

    result = search_lattice(
        [own[low : high + 1] for own, (low, high) in zip(losses.by_level, bounds, strict=True)],
        lambda node: level.is_candidate(raised(node)),
        lambda node: level.is_accepted(raised(node)),
        fixed=losses.fixed,
        bound=bound,
        budget=budget,
    )
    if result.levels is None:
        return result
    return replace(result, levels=raised(result.levels))


def _around(
    level: _TruncationLevel, levels: Node, bounds: Bounds, weights: Sequence[float] | None
) -> tuple[NodeTest, ...]:
    """The node and its neighbours, one level up or down in one column."""
    losses = level_losses(level.released, weights)
    nodes = [levels]
    for j, (low, high) in enumerate(bounds):
        nodes += [(*levels[:j], own, *levels[j + 1 :]) for own in (levels[j] - 1, levels[j] + 1) if low <= own <= high]
    return tuple(level.test(node, losses.of(node)) for node in nodes)
