"""Greedy searches: one walk from the finest transformation upwards, until one is safe; and descents from the coarsest.

Datafly generalizes the attribute with the most distinct values; IGreedy goes to where the smallest class is largest.

References
----------
Sweeney (1997), "Datafly: a system for providing anonymity in medical data". Babu, Reddy, Kumar, Elliot, Jena (2013),
"Achieving k-anonymity using improved greedy heuristics for very large relational databases", Transactions on Data
Privacy 6(1):1-17, as Prasser, Kohlmayer, Kuhn (2016), BMC Medical Informatics and Decision Making 16:49, compare with
it. Their published benchmark of Datafly takes the attribute with the fewest.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from cloister.errors import InputError
from cloister.results import SearchResult

from .lattice import Transformation, direct_generalizations
from .problem import Candidate, Report, SearchProblem
from .search_run import SearchRun, no_safe_transformation

VARIANTS = ("original", "arx")

Step = Callable[[Candidate], Candidate | None]
"""The next transformation after one that is not safe; None at the top, or where the time is up."""


def _first_safe(run: SearchRun, step: Step) -> SearchResult:
    """Take steps from the finest transformation until one is safe."""
    current: Candidate | None = run.measure(tuple(run.problem.lowest.tolist()))
    assert current is not None
    # Every transformation is coarser than the finest, so that the bound of this one holds for all.
    bound, last = current.bound, current.levels
    while current is not None and not run.problem.is_safe(current):
        last = current.levels
        current = None if run.is_over else step(current)
    if current is None:
        # Only at the top is it known that no transformation is safe; elsewhere the time was up.
        raise no_safe_transformation(run.problem, complete=last == run.problem.top)
    return run.result(complete=True, bound=bound, among=[current])


def datafly(
    problem: SearchProblem, *, variant: str = "original", time_limit: float | None = None, report: Report | None = None
) -> SearchResult:
    """Find a safe transformation fast, along one path upwards.

    *Guarantee*: the transformation is safe; nothing is proven about its loss. Cost: one measurement for each level
    risen.

    Parameters
    ----------
    variant : ``original`` generalizes the attribute with the most distinct values, ``arx`` the one with the fewest;
        ties by the order of the attributes
    """
    _check_variant(variant)
    run = SearchRun(problem, time_limit, report)
    return _first_safe(run, partial(_by_distinct, run, max if variant == "original" else min))


def _by_distinct(run: SearchRun, choose: Callable[..., int], current: Candidate) -> Candidate | None:
    """Generalize the attribute chosen by its distinct values, the first of equals."""
    problem, levels = run.problem, current.levels
    open_attributes = [j for j, high in enumerate(problem.top) if levels[j] < high]
    if not open_attributes:
        return None
    j = choose(open_attributes, key=lambda j: problem.distinct(j, levels[j]))
    return run.measure((*levels[:j], levels[j] + 1, *levels[j + 1 :]))


def igreedy(
    problem: SearchProblem, *, variant: str = "original", time_limit: float | None = None, report: Report | None = None
) -> SearchResult:
    """Find a safe transformation fast: repeatedly choose the direct generalization whose smallest class is largest.

    *Guarantee*: the transformation is safe; nothing is proven about its loss. Cost: one measurement for each attribute
    and level risen.

    Parameters
    ----------
    variant : how ties are decided: ``original`` by generalizing the attribute with the most distinct values, ``arx``
        by what leaves the attribute with the most distinct values largest; then by the order of the attributes
    """
    _check_variant(variant)
    run = SearchRun(problem, time_limit, report)
    return _first_safe(run, partial(_largest_smallest, run, variant))


def _largest_smallest(run: SearchRun, variant: str, current: Candidate) -> Candidate | None:
    """Measure all direct generalizations and take the best."""
    best, best_key = None, (-1, -1)
    for levels in direct_generalizations(current.levels, run.problem.top):
        if run.is_over:
            return None
        candidate = run.measure(levels)
        key = candidate.smallest, _distinct(run.problem, current.levels, levels, variant)
        # Strictly greater: of equal ones the first attribute wins, so that the path is always the same.
        if key > best_key:
            best, best_key = candidate, key
    return best


def _distinct(problem: SearchProblem, before: Transformation, after: Transformation, variant: str) -> int:
    """Distinct values that decide a tie: of the attribute generalized, before; or the most that any has left."""
    if variant == "arx":
        return max(problem.distinct(j, level) for j, level in enumerate(after))
    return next(
        problem.distinct(j, low) for j, (low, high) in enumerate(zip(before, after, strict=True)) if low != high
    )


def _check_variant(variant: str) -> None:
    """Refuse the name of a variant that does not exist."""
    if variant not in VARIANTS:
        raise InputError(f"The variant {variant!r} is not known. Variants: {', '.join(VARIANTS)}.")


RAISED, LOWERED, SHUFFLED = 6, 3, 0.3
"""Most attributes raised by a change, most levels one is lowered by, how far the order of a descent is drawn."""

MOST_CHANGES = 1_500  # without a better transformation


def descents(problem: SearchProblem) -> Iterator[Candidate]:
    """Yield safe transformations, each the end of one descent; the plain one first. The draws are always the same.

    A descent from the top lowers one attribute at a time, the one whose generalization costs most first, as long as the
    transformation stays safe and loses less. Alone it ends some percent above the optimum. Iterated local search
    (Lourenco, Martin, Stuetzle 2003) changes some attributes of the best at random and descends again: on clinical
    tables of 12 to 15 attributes that finds the optimum in a second or two. Nothing is proven.
    """
    descent, draw = _Descent(problem), np.random.default_rng(0)
    best = descent.down(problem.measure(problem.top))
    yield best
    changes = 0
    while changes < MOST_CHANGES:
        changes += 1
        levels = np.array(best.levels)
        raised = draw.permutation(levels.size)[: draw.integers(2, RAISED + 1)]
        levels[raised] = draw.integers(levels[raised], problem.highest[raised] + 1)
        j = int(draw.integers(levels.size))
        levels[j] = max(int(problem.lowest[j]), int(levels[j] - draw.integers(LOWERED + 1)))
        start = descent.measure(tuple(levels.tolist()))
        candidate = best if start is None else descent.down(start, draw)
        if candidate.loss < best.loss:
            best, changes = candidate, 0
        yield candidate


class _Descent:
    """Goes down, and remembers what was measured: descents meet each other often."""

    def __init__(self, problem: SearchProblem) -> None:
        self._problem = problem
        self._safe: dict[Transformation, Candidate] = {}
        self._unsafe = np.empty((0, len(problem.names)), dtype=np.int64)

    def measure(self, levels: Transformation) -> Candidate | None:
        """Measure a transformation; None if it is not safe. Below an unsafe transformation nothing is safe."""
        if levels in self._safe:
            return self._safe[levels]
        if (self._unsafe >= np.array(levels)).all(axis=1).any():
            return None
        candidate = self._problem.measure(levels)
        if not self._problem.is_safe(candidate):
            self._unsafe = np.vstack([self._unsafe, levels])
            return None
        self._safe[levels] = candidate
        return candidate

    def down(self, start: Candidate, draw: np.random.Generator | None = None) -> Candidate:
        """Lower attributes one by one while that is safe and loses less, in an order somewhat drawn."""
        current = start
        closed: set[int] = set()
        improved = True
        while improved:
            improved = False
            order = np.array(self._by_gain(current.levels))
            if draw is not None:
                order = order[np.argsort(np.arange(order.size) / order.size + SHUFFLED * draw.random(order.size))]
            for j in order.tolist():
                if j in closed or current.levels[j] == self._problem.lowest[j]:
                    continue
                lowered = self.measure((*current.levels[:j], current.levels[j] - 1, *current.levels[j + 1 :]))
                if lowered is None:
                    # Later transformations of this descent are finer, and below an unsafe transformation nothing is
                    # safe.
                    closed.add(j)
                elif lowered.loss < current.loss:
                    current = lowered
                    improved = True
                    break
        return current

    def _by_gain(self, levels: Sequence[int]) -> list[int]:
        """Attributes by what lowering each by one level gains in generalization, most first."""
        costs = self._problem.task.costs
        index = np.array(levels)
        attribute = np.arange(index.size)
        here = costs.mean[attribute, index]
        below = costs.mean[attribute, np.maximum(index - 1, 0)]
        gain = np.log1p(here) - np.log1p(below) if costs.geometric else here - below
        order: list[int] = np.argsort(-costs.weight * gain, kind="stable").tolist()
        return order
