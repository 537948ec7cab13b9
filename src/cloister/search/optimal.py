"""The optimal search: best-first over boxes of policies, each worked on by compiled branch and bound.

The lattice is one box at first. A worker takes the box of the lowest bound and searches it depth first for a bounded
amount of work; what it leaves undone goes back as smaller boxes. The lowest bound among the boxes left is a proven
lower bound on the loss of every safe policy, so a search that is stopped early still says how much could be missing.

References
----------
Problem and monotone bound: Prasser, Kohlmayer, Kuhn (2016), "Efficient and effective pruning strategies for health
data de-identification", BMC Medical Informatics and Decision Making 16:49, sections "Predictive properties" and
"Effective pruning in large search spaces". Searching boxes instead of single policies is ours: the upper policy of
a box refutes all of it at once, and rows whose fate is the same throughout a box are dropped from its counts.
"""

import heapq
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.boxes import COUNTED, MEASURED, TOLERANCE, Best, Box, Task, Workspace, explore
from cloister.results import SearchResult

from .exhaustive import no_safe_policy
from .problem import Candidate, Problem, best_of, distinct_levels, restricted
from .progress import Progress, Report

FIRST_WORK = 20_000_000
WORK = 60_000_000
"""Visits of row groups before a worker hands back what is left: some tenths of a second."""


@dataclass(frozen=True)
class _Explored:
    """What one worker brings back."""

    best: Best
    statistics: NDArray[np.int64]
    left: list[Box]
    workspace: Workspace


@dataclass
class _Frontier:
    """The boxes not yet worked on, lowest bound first, and the best policy known."""

    task: Task
    best: Best
    boxes: list[tuple[float, int, Box]] = field(default_factory=list)
    running: dict[Future[_Explored], float] = field(default_factory=dict)
    statistics: NDArray[np.int64] = field(default_factory=lambda: np.zeros(7, dtype=np.int64))
    order: "count[int]" = field(default_factory=count)

    def push(self, box: Box) -> None:
        if box.bound <= self.best.loss[0] + TOLERANCE:
            heapq.heappush(self.boxes, (box.bound, next(self.order), box))

    def bound(self) -> float:
        """Lowest loss that any policy not yet decided can have, and no more than the best known."""
        waiting = self.boxes[0][0] if self.boxes else np.inf
        return float(min(waiting, self.best.loss[0], *self.running.values(), np.inf))

    def _wins(self, new: Best) -> bool:
        """Whether a worker's best replaces the best known; workers keep theirs unless they found a better one."""
        if new.loss[1] > self.best.loss[0] + TOLERANCE:
            return False
        return bool(new.loss[1] < self.best.loss[0] - TOLERANCE or self._tie_break(new) < self._tie_break(self.best))

    def _tie_break(self, best: Best) -> tuple[int, int, list[int]]:
        number = self.task.ladders.number[np.arange(best.levels.size), best.levels]
        return int(best.suppressed[0]), int(number.sum()), best.levels.tolist()

    def learn(self, explored: _Explored) -> None:
        self.statistics += explored.statistics
        if self._wins(explored.best):
            self.best = explored.best
        for box in explored.left:
            self.push(box)


def _work_on(task: Task, workspace: Workspace, box: Box, best: Best, work: int) -> _Explored:
    """Search one box with a private copy of the best policy known."""
    mine = Best(best.loss.copy(), best.suppressed.copy(), best.levels.copy())
    statistics = np.zeros(7, dtype=np.int64)
    while True:
        left = explore(task, workspace, box, mine, statistics, work)
        stuck = len(left) == 1 and np.array_equal(left[0].lower, box.lower) and np.array_equal(left[0].upper, box.upper)
        if not stuck:
            return _Explored(mine, statistics, left, workspace)
        workspace, work = Workspace(task, 2 * workspace.lists), 2 * work


def _search(
    task: Task, first: Best, threads: int, time_limit: float | None, report: Report | None
) -> tuple[Best, float, int]:
    """Best policy in the levels of ``task``, the bound proven, and the number of checks."""
    started = time.perf_counter()
    frontier = _Frontier(task, first)
    frontier.push(Box(np.zeros_like(task.ladders.heights), task.ladders.heights - 1, 0.0, 0))
    idle = [Workspace(task)]
    work = FIRST_WORK
    with ThreadPoolExecutor(threads, thread_name_prefix="cloister-search") as executor:
        while frontier.boxes or frontier.running:
            elapsed = time.perf_counter() - started
            if time_limit is not None and elapsed > time_limit:
                break
            while frontier.boxes and len(frontier.running) < threads:
                bound, _, box = heapq.heappop(frontier.boxes)
                if bound > frontier.best.loss[0] + TOLERANCE:
                    continue
                workspace = idle.pop() if idle else Workspace(task)
                future = executor.submit(_work_on, task, workspace, box, frontier.best, work)
                frontier.running[future] = bound
            for future in wait(frontier.running, return_when=FIRST_COMPLETED).done:
                del frontier.running[future]
                explored = future.result()
                idle.append(explored.workspace)
                frontier.learn(explored)
            work = WORK
            if report is not None:
                report(_progress(frontier, time.perf_counter() - started))
        bound = frontier.bound()
    return frontier.best, bound, int(frontier.statistics[COUNTED] + frontier.statistics[MEASURED])


def _progress(frontier: _Frontier, seconds: float) -> Progress:
    checked = int(frontier.statistics[COUNTED] + frontier.statistics[MEASURED])
    remaining = len(frontier.boxes) + len(frontier.running)
    return Progress(seconds, float(frontier.best.loss[0]), frontier.bound(), remaining, checked)


def _as_best(candidate: Candidate, levels: list[list[int]]) -> Best:
    """Write a candidate in terms of the levels worth trying; its own level may have been dropped as no better."""
    index = [
        max(i for i, level in enumerate(chosen) if level <= own)
        for own, chosen in zip(candidate.levels, levels, strict=True)
    ]
    loss = np.array([candidate.loss, candidate.loss], dtype=np.float64)
    return Best(loss, np.array([candidate.suppressed], dtype=np.int64), np.array(index, dtype=np.int64))


def optimal(
    problem: Problem, *, threads: int = 1, time_limit: float | None = None, report: Report | None = None
) -> SearchResult:
    """Best policy of the lattice, proven, or the best found in time with a proven bound.

    *Guarantee*: without a time limit, the policy that exhaustive search returns, for every loss that is the
    arithmetic or geometric mean of attribute losses, for any number of threads. With one, ``bound`` is no more than
    the least loss of any safe policy. Cost: grows with the number of boxes that must be refuted, about threefold per
    further attribute on clinical tables; memory with the number of distinct rows, not with the lattice.

    Parameters
    ----------
    threads : workers, at least 1
    time_limit : seconds
    report : called now and then with the progress made, from the calling thread

    Raises
    ------
    NoSafeRelease
        Not even the most general policy is safe.
    """
    started = time.perf_counter()
    top = problem.measure(problem.top)
    if not problem.is_safe(top):
        raise no_safe_policy(problem, complete=True)
    levels = distinct_levels(problem)
    task = restricted(problem.task, levels)
    best, bound, checked = _search(task, _as_best(top, levels), threads, time_limit, report)
    chosen = [own[index] for own, index in zip(levels, best.levels.tolist(), strict=True)]
    found = best_of([problem.measure(chosen)])
    complete = bool(bound >= best.loss[0] - TOLERANCE)
    return SearchResult(
        levels=problem.by_name(found.levels),
        loss=found.loss,
        suppressed=found.suppressed,
        bound=found.loss if complete else min(bound, found.loss),
        optimal=complete,
        lattice=problem.lattice,
        checked=checked + 2,
        seconds=time.perf_counter() - started,
    )
