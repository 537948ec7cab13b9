"""Flash: greedy paths upwards through undecided transformations, binary search along them, then all safe candidates.

From each undecided transformation, lowest ranks first, a greedy path goes upwards. Binary search along it finds where
it becomes safe, since "not safe" is inherited by finer transformations. Generalizing can save records from suppression,
so a second phase measures all safe transformations above that are not excluded by their bound.

References
----------
Kohlmayer, Prasser, Eckert, Kemper, Kuhn (2012), "Flash: Efficient, stable and optimal k-anonymity", PASSAT: paths and
order of transformations. Prasser, Kohlmayer, Kuhn (2016), BMC Medical Informatics and Decision Making 16:49: the
properties, and keeping them implicitly. Deviations: what could still tie with the best transformation is not excluded;
where "not safe" is not inherited, each transformation of a path is measured.
"""

import heapq

from cloister.errors import InputError, did_you_mean
from cloister.results import SearchResult

from .lattice import (
    PROTECTION,
    QUALITY,
    SAFE,
    ExplicitProperties,
    ImplicitProperties,
    Lattice,
    Properties,
    Transformation,
)
from .problem import Report, SearchProblem
from .search_run import SearchRun

REPRESENTATIONS = ("implicit", "explicit")
EXCLUDED = QUALITY | PROTECTION


class _Flash:
    """One run; its steps return False where the time is up."""

    def __init__(self, properties: Properties, run: SearchRun) -> None:
        self._problem = problem = run.problem
        self._properties = properties
        self._lattice = Lattice(problem, properties)
        self._run = run

    def run(self) -> bool:
        """Decide all transformations, rank by rank."""
        for rank in range(self._lattice.n_ranks):
            for levels in self._lattice.open_transformations(rank, EXCLUDED):
                if not self._properties.is_measured(levels) and not self._decide_from(levels):
                    return False
        return True

    def _decide_from(self, start: Transformation) -> bool:
        """Follow paths from a transformation, and from those above the transformations on them that are not safe."""
        waiting = [self._lattice.key(start)]
        while waiting:
            levels = heapq.heappop(waiting)[-1]
            if self._lattice.is_known(levels, EXCLUDED):
                continue
            if self._lattice.is_known(levels, SAFE):
                done = self._decide_above(levels)
            else:
                done = self._decide_path(levels, waiting)
            if not done:
                return False
        return True

    def _decide_path(self, start: Transformation, waiting: list[tuple[float, float, float, Transformation]]) -> bool:
        """Find where the path from a transformation becomes safe."""
        path = self._lattice.path(start, EXCLUDED | SAFE)
        if not self._problem.is_monotone:
            # Binary search needs that nothing below an unsafe transformation is safe.
            return all(self._decide(levels) is not None for levels in path)
        low, high, first = 0, len(path) - 1, None
        while low <= high:
            middle = (low + high) // 2
            found = self._decide(path[middle])
            if found is None:
                return False
            if found & PROTECTION:
                low = middle + 1
                # An unsafe transformation says nothing of what branches off above it: that waits for paths of its own.
                for above in self._lattice.open_above(path[middle], EXCLUDED | SAFE):
                    heapq.heappush(waiting, self._lattice.key(above))
            else:
                high = middle - 1
                first = path[middle]
        return first is None or self._decide_above(first)

    def _decide_above(self, start: Transformation) -> bool:
        """Measure a safe transformation and all above it that are not excluded, depth first."""
        waiting, seen = [start], {start}
        while waiting:
            levels = waiting.pop()
            found = self._decide(levels)
            if found is None:
                return False
            if not found & EXCLUDED:
                above = [one for one in self._lattice.above(levels) if one not in seen]
                # Seen once it waits: a transformation is above many, and needs to be decided only once.
                seen.update(above)
                waiting += sorted(above, key=self._lattice.key, reverse=True)
        return True

    def _decide(self, levels: Transformation) -> int | None:
        """Return what is known to exclude a transformation, by measuring it if need be; None if the time is up."""
        for excluding in (PROTECTION, QUALITY):
            if self._lattice.is_known(levels, excluding):
                return excluding
        if self._properties.is_measured(levels):
            return 0
        if self._run.is_over:
            return None
        candidate = self._run.measure(levels)
        if self._problem.is_monotone:
            found = SAFE if self._problem.is_safe(candidate) else PROTECTION
        else:
            # Finer transformations inherit only what all of them suppress: classes too small for any rule.
            found = PROTECTION if candidate.least_suppressed > self._problem.limit else 0
        if self._run.is_too_dear(candidate.bound):
            found |= QUALITY
        self._properties.note(levels, found)
        if not found & EXCLUDED:
            # No stored property marks this transformation as measured; excluded ones have such a property.
            self._properties.note_measured(levels)
        return found & EXCLUDED


def flash(
    problem: SearchProblem,
    *,
    representation: str = "implicit",
    store: str = "ranked-tree",
    time_limit: float | None = None,
    report: Report | None = None,
) -> SearchResult:
    """Find the optimal transformation, with proof, by the Flash algorithm.

    *Guarantee*: without a time limit, the transformation that exhaustive search returns, for all rules and losses. With
    one, the best transformation measured; nothing is proven about the others. Cost: measurements of a small share of
    the transformations, and a question about each; memory grows with what was measured (implicit), or is a byte for
    each transformation (explicit).

    Parameters
    ----------
    representation : ``implicit`` keeps properties of transformations by those at which they were found, ``explicit`` by
        a flag for each transformation of the lattice
    store : how implicit properties are kept, see `search.lattice`
    """
    run = SearchRun(problem, time_limit, report)
    if representation not in REPRESENTATIONS:
        hint = did_you_mean(representation, REPRESENTATIONS)
        raise InputError(f"The representation {representation!r} is not known.{hint} There are: implicit, explicit.")
    properties = ImplicitProperties(problem, store) if representation == "implicit" else ExplicitProperties(problem)
    complete = _Flash(properties, run).run()
    return run.result(complete=complete, bound=None if complete else 0.0, statistics=properties.statistics())
