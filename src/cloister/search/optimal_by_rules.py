"""The optimal search where class size is not all that is asked of a class.

A box is refuted where its upper transformation shows that all of them suppress too much; first the lower end of each
attribute is raised to where that is not so. What the rules ask of class sizes at least is refuted box by box, as in
`optimal`. A box whose transformations cannot be told apart by class sizes is decided by its corners: if the lower one
suppresses no more than must be suppressed throughout, it is the best of the box. Otherwise the box is cut in two.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.boxes import Box, generalization_bound, settled
from cloister.kernels.layout import TOLERANCE
from cloister.kernels.segments import Workspace
from cloister.results import SearchResult

from .descent import descents
from .exhaustive import no_safe_transformation
from .frontier import Frontier, explored
from .problem import Candidate, Progress, Report, SearchProblem
from .projections import projected_bounds

WORK_BY_RULES = 20_000_000
"""Visits of row groups before an exploration of that part hands back what is left."""

SHARE = 0.25
"""Of a limited time that goes into a bound from projections."""


@dataclass(frozen=True)
class Settled:
    """A box settled as far as class sizes go.

    Attributes
    ----------
    lower, upper : (n_attributes,) its corners, by place among the levels worth trying
    bound : least loss of any of its transformations that is not yet measured
    suppressed : records suppressed at each of its transformations at least
    by_size : records suppressed throughout because of the size of their class
    """

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    bound: float
    suppressed: int
    by_size: int

    @property
    def is_single(self) -> bool:
        """Whether the lower transformation is all there is."""
        return bool(np.array_equal(self.lower, self.upper))


class _Checker:
    """Takes boxes off the frontier and puts back what is left of them; measures no transformation twice."""

    def __init__(self, problem: SearchProblem, frontier: Frontier[Box | Settled]) -> None:
        self._problem = problem
        self._frontier = frontier
        self._workspace: Workspace | None = None
        self._measured: dict[bytes, Candidate] = {}
        # Transformations that show that they and all finer ones suppress too much.
        self._refuting = np.empty((0, len(problem.names)), dtype=np.int64)

    @property
    def measured(self) -> int:
        """Transformations measured."""
        return len(self._measured)

    def take(self, box: Box | Settled) -> None:
        """Work on a box."""
        rest = self._explored(box) if isinstance(box, Box) else self._by_corners(box)
        for part in rest:
            self._frontier.push(part)

    def _explored(self, box: Box) -> Iterator[Box | Settled]:
        """Search a box as far as class sizes go."""
        task = self._frontier.task
        raised = self._raised(box)
        if raised is None or raised.bound > self._frontier.least + TOLERANCE:
            return
        found = explored(task, self._workspace or Workspace(task), raised, self._frontier.reference(), WORK_BY_RULES)
        self._workspace = found.workspace
        self._frontier.statistics += found.statistics
        # Further rules only suppress more, so what class sizes refute needs no other look.
        yield from found.left
        for rest in settled(task, found.best):
            yield Settled(rest.lower, rest.upper, rest.bound, rest.suppressed, rest.suppressed)

    def _raised(self, box: Box) -> Box | None:
        """Raise the lower transformation, attribute by attribute, to where not all below suppresses too much."""
        if self._refutes(box.upper):
            return None
        lower = box.lower.copy()
        for j in range(lower.size):
            corner = box.upper.copy()
            corner[j] = lower[j]
            while corner[j] < box.upper[j] and self._refutes(corner):
                corner[j] += 1
            lower[j] = corner[j]
        return box._replace(lower=lower, bound=max(box.bound, self._bound(lower, box.suppressed)))

    def _by_corners(self, box: Settled) -> Iterator[Settled]:
        """Measure the corners of a box; what they do not decide comes back in halves."""
        box = self._drawn_in(box)
        if self._refutes(box.upper):
            return
        upper = self._measure(box.upper)
        box = replace(box, suppressed=max(box.suppressed, upper.least_suppressed))
        if box.is_single or self._bound(box.lower, box.suppressed) > self._frontier.least + TOLERANCE:
            return
        if not self._is_refuted(box.lower):
            lower = self._measure(box.lower)
            # Nothing in the box generalizes less than its lower transformation. The same number suppressed throughout
            # is the same records only where these are too small a class, or what is kept stays kept.
            is_same = self._problem.is_monotone and self._problem.is_nested and upper.suppressed == lower.suppressed
            if is_same or lower.suppressed == box.by_size:
                return
        yield from self._halves(box)

    def _refutes(self, index: NDArray[np.int64]) -> bool:
        """Whether a transformation and all finer ones are known to suppress too much, or do as it is measured."""
        return self._is_refuted(index) or self._shows_too_many(self._measure(index))

    def _shows_too_many(self, candidate: Candidate) -> bool:
        least = candidate.suppressed if self._problem.is_monotone else candidate.least_suppressed
        return least > self._problem.limit

    def _is_refuted(self, index: NDArray[np.int64]) -> bool:
        return bool((self._refuting >= index).all(axis=1).any())

    def _measure(self, index: NDArray[np.int64]) -> Candidate:
        key = index.tobytes()
        if key not in self._measured:
            self._measured[key] = candidate = self._frontier.measure(index.tolist())
            if self._shows_too_many(candidate):
                self._refuting = np.vstack([self._refuting, index])
            elif self._problem.is_safe(candidate):
                self._frontier.suggest(candidate)
        return self._measured[key]

    def _drawn_in(self, box: Settled) -> Settled:
        """Lower the upper transformation, attribute by attribute, to where the bound still leaves a chance."""
        upper = box.upper.copy()
        for j in range(upper.size):
            corner = box.lower.copy()
            while upper[j] > box.lower[j]:
                # The cheapest transformation with this attribute so high has all others at their lowest.
                corner[j] = upper[j]
                if self._bound(corner, box.suppressed) <= self._frontier.least + TOLERANCE:
                    break
                upper[j] -= 1
        return replace(box, upper=upper)

    def _halves(self, box: Settled) -> Iterator[Settled]:
        """Cut a box, whose lower transformation is measured, at the attribute whose levels differ most in cost."""
        mean = self._frontier.task.costs.mean
        attribute = np.arange(box.lower.size)
        spread = np.where(box.upper > box.lower, mean[attribute, box.upper] - mean[attribute, box.lower] + 1e-9, -1.0)
        j = int(np.argmax(spread))
        # The halves are disjoint and make up the box, so that no transformation is lost between them.
        middle = (box.lower[j] + box.upper[j]) // 2
        upper, lower = box.upper.copy(), box.lower.copy()
        upper[j], lower[j] = middle, middle + 1
        yield replace(box, lower=lower, bound=self._bound(lower, box.suppressed))
        if not np.array_equal(box.lower, upper):
            # What is left of the box lies without its lower transformation: one attribute at least is a level higher.
            steps = np.eye(upper.size, dtype=np.int64)[upper > box.lower]
            bound = min(self._bound(box.lower + step, box.suppressed) for step in steps)
            yield replace(box, upper=upper, bound=bound)

    def _bound(self, index: NDArray[np.int64], suppressed: int) -> float:
        return generalization_bound(self._frontier.task, index, suppressed)


def optimal_by_rules(
    problem: SearchProblem, *, time_limit: float | None = None, report: Report | None = None
) -> SearchResult:
    """Best transformation of the lattice under any rules, proven, or the best found in time with a proven bound.

    *Guarantee*: as `optimal`. Cost: as there for what class sizes refute, and one measurement of each transformation
    that these leave and whose bound is below the least loss; less where the rules are monotone.

    Parameters
    ----------
    problem : its loss a mean of attribute losses
    time_limit : seconds; overrun by some tenths of a second

    Raises
    ------
    NoSafeRelease
        No allowed transformation is safe, or none was found in time.
    """
    started = time.perf_counter()
    top = problem.measure(problem.top)
    safe = problem.is_safe(top)
    # Where rules are monotone and the coarsest transformation is unsafe, no transformation is safe.
    if problem.is_monotone and not safe:
        raise no_safe_transformation(problem, complete=True)
    frontier = Frontier[Box | Settled](problem, top if safe else None)
    if safe:
        frontier.suggest(next(descents(problem)))
    frontier.push(frontier.whole)
    checker = _Checker(problem, frontier)
    bound, projected, spent, bounds = None, 0.0, 0.0, projected_bounds(problem)
    while (box := frontier.pop()) is not None:
        if time_limit is not None and time.perf_counter() - started > time_limit:
            # Boxes are taken lowest bound first, so that no box left has a lower one than this.
            bound = min(max(box.bound, projected), frontier.least)
            break
        checker.take(box)
        if time_limit is not None and spent < SHARE * (begun := time.perf_counter() - started):
            projected = next(bounds, projected)
            spent += time.perf_counter() - started - begun
        if report is not None:
            state = (
                frontier.least,
                max(projected, frontier.bound([])),
                len(frontier),
                frontier.checked + checker.measured,
            )
            report(Progress(time.perf_counter() - started, *state))
    found = frontier.best()
    if found is None:
        raise no_safe_transformation(problem, complete=bound is None)
    return problem.result(found, bound=bound, checked=frontier.checked + checker.measured + 1, started=started)
