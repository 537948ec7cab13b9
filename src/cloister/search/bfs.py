"""Best-first branch and bound: from the finest transformation upwards, always expanding the one with the least loss.

References
----------
Prasser, Kohlmayer, Kuhn (2016), BMC Medical Informatics and Decision Making 16:49, "Effective pruning in large search
spaces". Deviations: what could still tie with the best transformation is not pruned, so that ties are decided as
everywhere in cloister, and a stopped search returns its proven bound.
"""

import heapq
import math

from cloister.results import SearchResult, SearchStatistics

from .lattice import CompiledStore, Transformation, direct_generalizations
from .problem import Candidate, Report, SearchProblem
from .search_run import SearchRun


class _Queue:
    """Transformations to expand, by measured loss; and all transformations ever queued.

    A transformation is kept as one number: a search that proves its answer on many attributes holds millions of them.
    """

    def __init__(self, problem: SearchProblem) -> None:
        self._lowest = problem.lowest.tolist()
        self._heights = (problem.highest - problem.lowest + 1).tolist()
        self._waiting: list[tuple[float, int, float]] = []
        self._seen: set[int] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    def has_seen(self, levels: Transformation) -> bool:
        return self._number(levels) in self._seen

    def push(self, candidate: Candidate) -> None:
        number = self._number(candidate.levels)
        self._seen.add(number)
        heapq.heappush(self._waiting, (candidate.loss, number, candidate.bound))

    def pass_over(self, levels: Transformation) -> None:
        """Note a measured transformation that will not be expanded."""
        self._seen.add(self._number(levels))

    def pop(self) -> tuple[Transformation, float]:
        """Take the transformation of least loss; return it with its bound."""
        _, number, bound = heapq.heappop(self._waiting)
        return self._levels(number), bound

    def least_bound(self) -> float:
        return min((bound for _, _, bound in self._waiting), default=math.inf)

    def _number(self, levels: Transformation) -> int:
        number = 0
        for level, low, height in zip(levels, self._lowest, self._heights, strict=True):
            # Mixed radix: different transformations have different numbers.
            number = number * height + level - low
        return number

    def _levels(self, number: int) -> Transformation:
        levels = []
        for low, height in zip(reversed(self._lowest), reversed(self._heights), strict=True):
            number, level = divmod(number, height)
            levels.append(level + low)
        return tuple(reversed(levels))


def bfs(
    problem: SearchProblem,
    *,
    prediction: bool = True,
    store: str = "ranked-tree",
    time_limit: float | None = None,
    report: Report | None = None,
) -> SearchResult:
    """Find the optimal transformation, with proof, by best-first branch and bound; good transformations appear early.

    *Guarantee*: without a time limit, the transformation that exhaustive search returns, for all rules and losses. With
    one, the best transformation measured, and a bound that no safe transformation undercuts. Cost: each transformation
    whose bound does not pass the best loss is measured, and those directly above them; memory grows with what was
    measured.

    Parameters
    ----------
    prediction : whether a transformation above one of insufficient quality is passed over; without, it is measured, and
        discarded by its own bound when its turn comes
    store : how transformations of insufficient quality are kept, see `search.lattice`

    Notes
    -----
    The bound of a search that is stopped: any transformation has a chain from the finest transformation up to it. Take
    the last transformation of that chain that was measured. Either it was passed over or discarded, because its bound
    passes the best loss; or it is still in the queue, or being worked on. Bounds rise along the chain, so the least of
    the bounds in the queue, of the transformation being worked on and of the best loss is a bound on every
    transformation.
    """
    run = SearchRun(problem, time_limit, report)
    dear = CompiledStore(store, problem.top, is_upward=True) if prediction else None
    queue = _Queue(problem)
    queue.push(run.measure(tuple(problem.lowest.tolist())))
    open_bound = math.inf
    while len(queue) and math.isinf(open_bound):
        levels, bound = queue.pop()
        # The least loss may have fallen since this was put into the queue.
        if run.is_too_dear(bound):
            if dear is not None:
                dear.insert(levels)
        elif run.is_over or not _expand(levels, run, queue, dear):
            # What was not measured is above this transformation or above one in the queue: see the notes.
            open_bound = min(bound, queue.least_bound())
    complete = math.isinf(open_bound)
    kept = SearchStatistics() if dear is None else SearchStatistics(dear.statistics, None, dear.seconds, dear.n_bytes)
    return run.result(complete=complete, bound=None if complete else open_bound, statistics=kept)


def _expand(levels: Transformation, run: SearchRun, queue: _Queue, dear: CompiledStore | None) -> bool:
    """Measure what is directly above a transformation and new; False if the time ended before all of it was."""
    for above in direct_generalizations(levels, run.problem.top):
        if queue.has_seen(above) or (dear is not None and dear.covers(above)):
            continue
        if run.is_over:
            return False
        candidate = run.measure(above)
        if not run.is_too_dear(candidate.bound):
            queue.push(candidate)
            continue
        # Every coarser transformation loses at least this bound, so none has to be reached through this one.
        queue.pass_over(above)
        if dear is not None:
            dear.insert(above)
    return True
