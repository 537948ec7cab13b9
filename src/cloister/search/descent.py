"""Good transformations fast, unproven: a greedy descent from the top, then descents from random changes of the best.

A descent lowers one attribute at a time, the one whose generalization costs most first, as long as the transformation
stays safe and loses less. Alone it ends some percent above the optimum. Iterated local search (Lourenco, Martin,
Stuetzle 2003) changes some attributes of the best at random and descends again: on clinical tables of 12 to 15
attributes that finds the optimum in a second or two.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from .lattice import Transformation
from .problem import Candidate, SearchProblem

RAISED, LOWERED, SHUFFLED = 6, 3, 0.3
"""Most attributes raised by a change, most levels one is lowered by, how far the order of a descent is drawn."""

MOST_CHANGES = 1_500  # without a better transformation


def descents(problem: SearchProblem) -> Iterator[Candidate]:
    """Yield safe transformations, each the end of one descent; the plain one first. The draws are always the same."""
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
