"""The optimal search: best-first over boxes of transformations, each worked on by compiled branch and bound.

The lattice is one box at first. A worker takes the box of the lowest bound and searches it depth first for a bounded
amount of work; what it leaves undone goes back as smaller boxes. The lowest bound among the boxes left is a proven
lower bound on the loss of every safe transformation, so a search that is stopped early still says how much could be
missing. If the first box is not decided at once, greedy descents run in parallel with the proof to find a good
transformation early.

References
----------
Problem and monotone bound: Prasser, Kohlmayer, Kuhn (2016), "Efficient and effective pruning strategies for health
data de-identification", BMC Medical Informatics and Decision Making 16:49, sections "Predictive properties" and
"Effective pruning in large search spaces". Searching boxes instead of single transformations is ours: the upper
transformation of a box refutes all of it at once, and rows whose fate is the same throughout a box are dropped from its
counts.
"""

import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.boxes import VISITED, Box, generalization_bound, settle_boxes
from cloister.kernels.layout import TOLERANCE
from cloister.kernels.segments import Workspace
from cloister.results import SearchResult

from .corners import Measurements, optimal_by_corners
from .frontier import Explored, Frontier, explore_box, projected_bounds
from .greedy import descents
from .lattice import Transformation
from .problem import Candidate, Progress, Report, SearchProblem
from .search_run import no_safe_transformation

WORK_BY_RULES = 20_000_000
"""Visits of row groups before an exploration of that part hands back what is left."""

SHARE = 0.25
"""Of a limited time that goes into a bound from projections."""


@dataclass(frozen=True)
class Settled:
    """A box settled as far as class sizes go."""

    lower: NDArray[np.int64]  # lower, upper: (n_attributes,) its corners, by place among the levels worth trying
    upper: NDArray[np.int64]
    bound: float  # least loss of any of its transformations that is not yet measured
    suppressed: int  # records suppressed at each of its transformations at least
    by_size: int  # records suppressed throughout because of the size of their class

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
        self._measurements = Measurements(problem, self._measure_and_suggest)

    @property
    def measured(self) -> int:
        """Transformations measured."""
        return len(self._measurements)

    def take(self, box: Box | Settled) -> None:
        """Work on a box."""
        rest = self._explore(box) if isinstance(box, Box) else self._by_corners(box)
        for part in rest:
            self._frontier.push(part)

    def _explore(self, box: Box) -> Iterator[Box | Settled]:
        """Search a box as far as class sizes go."""
        task = self._frontier.task
        raised = self._raise_lower(box)
        if raised is None or raised.bound > self._frontier.least + TOLERANCE:
            return
        found = explore_box(task, self._workspace or Workspace(task), raised, self._frontier.reference(), WORK_BY_RULES)
        self._workspace = found.workspace
        self._frontier.statistics += found.statistics
        # Further rules only suppress more, so what class sizes refute needs no other look.
        yield from found.left
        for rest in settle_boxes(task, found.best):
            yield Settled(rest.lower, rest.upper, rest.bound, rest.suppressed, rest.suppressed)

    def _raise_lower(self, box: Box) -> Box | None:
        """Raise the lower transformation, attribute by attribute, to where not all below suppresses too much."""
        upper = tuple(box.upper.tolist())
        if self._measurements.refutes(upper):
            return None
        lower = np.array(self._measurements.raise_lower(tuple(box.lower.tolist()), upper), dtype=np.int64)
        return box._replace(lower=lower, bound=max(box.bound, self._bound(lower, box.suppressed)))

    def _by_corners(self, box: Settled) -> Iterator[Settled]:
        """Measure the corners of a box; what they do not decide comes back in halves."""
        box = self._drawn_in(box)
        corners = tuple(box.lower.tolist()), tuple(box.upper.tolist())
        if self._measurements.refutes(corners[1]):
            return
        upper = self._measurements.measure(corners[1])
        box = replace(box, suppressed=max(box.suppressed, upper.least_suppressed))
        if box.is_single or self._bound(box.lower, box.suppressed) > self._frontier.least + TOLERANCE:
            return
        if not self._measurements.is_refuted(corners[0]):
            lower = self._measurements.measure(corners[0])
            # Nothing in the box generalizes less than its lower transformation. The same number suppressed throughout
            # is the same records only where these are too small a class, or what is kept stays kept.
            is_same = self._problem.is_monotone and self._problem.is_nested and upper.suppressed == lower.suppressed
            if is_same or lower.suppressed == box.by_size:
                return
        yield from self._halves(box)

    def _measure_and_suggest(self, index: Transformation) -> Candidate:
        candidate = self._frontier.measure(index)
        if self._problem.is_safe(candidate):
            self._frontier.suggest(candidate)
        return candidate

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
    """Find the optimal transformation under any rules, with proof, or the best in the time limit with a proven bound.

    A box is refuted where its upper transformation shows that all of them suppress too much; first the lower end of
    each attribute is raised to where that is not so. What the rules ask of class sizes at least is refuted box by box,
    as in `optimal`. If class sizes cannot distinguish the transformations of a box, its corners decide it: if the
    lower one suppresses no more than must be suppressed throughout, it is the best of the box. Otherwise it is cut in
    two.

    *Guarantee*: as `optimal`. Cost: as there for what class sizes refute, and one measurement of each transformation
    that these leave and whose bound is below the least loss; less where the rules are monotone.

    Parameters
    ----------
    problem : its loss a mean of attribute losses
    time_limit : seconds; overrun by some tenths of a second
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
            # Boxes are processed lowest bound first, so no remaining box has a lower one.
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


FIRST_WORK = 20_000_000
WORK = 60_000_000
"""Visits of row groups before a worker hands back what is left: some tenths of a second."""

DESCENTS = 4
"""Descents that a worker makes before it reports."""

WORK_PER_DESCENTS = 40_000_000
"""Visits of row groups that earn the next descents, or step of a bound: they shall cost little in a short proof."""

PROVABLE = 10**9
"""Transformations of a lattice that a search may see the end of within minutes."""


class _Workers:
    """Threads that explore boxes; now and then one descends, and where time is limited one bounds projections."""

    def __init__(
        self,
        executor: ThreadPoolExecutor,
        threads: int,
        frontier: Frontier[Box],
        problem: SearchProblem,
        *,
        is_limited: bool,
    ) -> None:
        self._executor = executor
        self._threads = threads
        self._frontier = frontier
        self._idle: list[Workspace] = []
        self._exploring: dict[Future[Explored], float] = {}
        self._descents: Iterator[Candidate] | None = descents(problem)
        self._descending: Future[list[Candidate]] | None = None
        self._descended = 0
        # Where everything is decided in the end, nobody asks for a bound before that.
        self._projections: Iterator[float] | None = projected_bounds(problem) if is_limited else None
        self._projecting: Future[float | None] | None = None
        self._projected, self._steps = 0.0, 0
        self._is_huge = problem.lattice > PROVABLE

    def __len__(self) -> int:
        return len(self._exploring) + (self._descending is not None) + (self._projecting is not None)

    @property
    def exploring(self) -> bool:
        return bool(self._exploring)

    @property
    def bound(self) -> float:
        """Least loss that any transformation can have."""
        # Boxes that are being explored are not decided: their bounds count as well.
        return min(self._frontier.least, max(self._projected, self._frontier.bound(list(self._exploring.values()))))

    def start(self, work: int) -> None:
        """Give every idle thread something to do."""
        # Descents and bounds earn their time by the work of the proof, so that a short proof is not held up by them.
        earned = int(self._frontier.statistics[VISITED]) // WORK_PER_DESCENTS
        # Boxes of a lattice so large are far from their end: they wait until no projection is left.
        is_far = self._projections is not None and self._is_huge
        may_descend = self._descended < earned or (is_far and self._descended <= self._steps)
        free = self._descending is None and len(self) < self._threads
        if self._descents is not None and free and may_descend:
            self._descending = self._executor.submit(list, islice(self._descents, DESCENTS))
            self._descended += 1
        free = self._projecting is None and len(self) < self._threads
        if self._projections is not None and free and (is_far or self._steps <= earned):
            self._projecting = self._executor.submit(next, self._projections, None)
            self._steps += 1
        # An exploration knows the best as it was when it began: a higher least loss only prunes less, never wrongly.
        while len(self) < self._threads and (box := self._frontier.pop()) is not None:
            task = self._frontier.task
            workspace = self._idle.pop() if self._idle else Workspace(task)
            future = self._executor.submit(explore_box, task, workspace, box, self._frontier.reference(), work)
            self._exploring[future] = box.bound

    def collect(self) -> None:
        """Wait for the first that is done, and take in what it found."""
        futures: list[Future[Any]] = [*self._exploring]
        futures += [one for one in (self._descending, self._projecting) if one is not None]
        wait(futures, return_when=FIRST_COMPLETED)
        for future in [future for future in self._exploring if future.done()]:
            del self._exploring[future]
            found = future.result()
            # A workspace has grown to what boxes of this lattice need, so the next box takes it over.
            self._idle.append(found.workspace)
            self._frontier.learn(found.best, found.statistics, found.left)
        if self._descending is not None and self._descending.done():
            candidates = self._descending.result()
            self._descending = None
            if not candidates:
                self._descents = None
            for candidate in candidates:
                self._frontier.suggest(candidate)
        if self._projecting is not None and self._projecting.done():
            projected, self._projecting = self._projecting.result(), None
            self._projected = projected or self._projected
            self._projections = None if projected is None else self._projections


def _search(
    problem: SearchProblem, frontier: Frontier[Box], threads: int, deadline: float | None, report: Report | None
) -> float | None:
    """Work until everything is decided, or time is up; then return the bound proven so far."""
    started = time.perf_counter()
    work = FIRST_WORK
    executor = ThreadPoolExecutor(threads, thread_name_prefix="cloister-search")
    with executor:
        workers = _Workers(executor, threads, frontier, problem, is_limited=deadline is not None)
        while len(frontier) or workers.exploring:
            if deadline is not None and time.perf_counter() > deadline:
                return None if frontier.is_decided and not workers.exploring else workers.bound
            workers.start(work)
            if not len(workers):
                continue
            workers.collect()
            # After a short first round, all threads have boxes to work on.
            work = WORK
            if report is not None:
                state = frontier.least, workers.bound, len(frontier) + len(workers), frontier.checked
                report(Progress(time.perf_counter() - started, *state))
    return None


def optimal(
    problem: SearchProblem, *, threads: int = 1, time_limit: float | None = None, report: Report | None = None
) -> SearchResult:
    """Find the optimal transformation, with proof, or the best in the time limit with a proven bound.

    *Guarantee*: without a time limit, the transformation that exhaustive search returns, for every loss and all
    rules, for any number of threads. With one, ``bound`` is no more than the least loss of any safe
    transformation. Cost: where class size is all that is asked and the loss is a mean of attribute losses, it grows
    with the number of boxes that must be refuted, about threefold per further attribute on clinical tables; memory with
    the number of distinct rows, not with the lattice. With further rules boxes are refuted by class size and what is
    left is measured one by one (`optimal_by_rules`); with another loss boxes are decided by measuring their corners
    (`optimal_by_corners`).
    """
    if not problem.is_mean_loss:
        return optimal_by_corners(problem, time_limit=time_limit, report=report)
    if problem.evaluator is not None:
        return optimal_by_rules(problem, time_limit=time_limit, report=report)
    started = time.perf_counter()
    top = problem.measure(problem.top)
    # Class size is monotone: where the coarsest transformation is unsafe, no transformation is safe.
    if not problem.is_safe(top):
        raise no_safe_transformation(problem, complete=True)
    frontier = Frontier[Box](problem, top)
    frontier.push(frontier.whole)
    deadline = None if time_limit is None else started + time_limit
    bound = _search(problem, frontier, threads, deadline, report)
    found = frontier.best() or top
    # The coarsest transformation and the winner are measured apart from the boxes.
    return problem.result(found, bound=bound, checked=frontier.checked + 2, started=started)
