"""The optimal search: best-first over boxes of transformations, each worked on by compiled branch and bound.

The lattice is one box at first. A worker takes the box of the lowest bound and searches it depth first for a bounded
amount of work; what it leaves undone goes back as smaller boxes. The lowest bound among the boxes left is a proven
lower bound on the loss of every safe transformation, so a search that is stopped early still says how much could be
missing. Where the first box is not decided at once, greedy descents run beside the proof for a good transformation
early on.

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
from itertools import islice
from typing import Any

from cloister.kernels.boxes import VISITED, Box
from cloister.kernels.segments import Workspace
from cloister.results import SearchResult

from .bfs import bfs
from .descent import descents
from .exhaustive import no_safe_transformation
from .frontier import Explored, Frontier, explored
from .optimal_by_rules import optimal_by_rules
from .problem import Candidate, Progress, Report, SearchProblem
from .projections import projected_bounds

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
            future = self._executor.submit(explored, task, workspace, box, self._frontier.reference(), work)
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
    """Best transformation of the lattice, proven, or the best found in time with a proven bound.

    *Guarantee*: without a time limit, the transformation that exhaustive search returns, for every loss and all
    rules, for any number of threads. With one, ``bound`` is no more than the least loss of any safe
    transformation. Cost: where class size is all that is asked and the loss is a mean of attribute losses, it grows
    with the number of boxes that must be refuted, about threefold per further attribute on clinical tables; memory with
    the number of distinct rows, not with the lattice. With further rules boxes are refuted by class size and what is
    left is measured one by one (`optimal_by_rules`); with another loss transformations are taken best first
    (`bfs`).
    """
    if not problem.is_mean_loss:
        return bfs(problem, time_limit=time_limit, report=report)
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
