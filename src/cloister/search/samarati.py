"""Samarati's algorithm: the least rank at which a transformation is safe, by binary search, and the best one there.

References
----------
Samarati (2001), "Protecting respondents' identities in microdata release", IEEE TKDE 13(6), section 4. Deviations: the
best transformation of the least rank by loss is returned, not any; transformations below one that is not safe are
passed over.
"""

from cloister.results import SearchResult

from .lattice import PROTECTION, ImplicitProperties, Lattice
from .problem import Candidate, Report, SearchProblem
from .search_run import SearchRun


class _Samarati:
    """One run."""

    def __init__(self, run: SearchRun) -> None:
        self._run = run
        self.properties = ImplicitProperties(run.problem, "ranked-tree")
        self._lattice = Lattice(run.problem, self.properties)
        self._first: dict[int, Candidate] = {}

    def run(self) -> list[Candidate] | None:
        """Return the safe transformations of the least rank that has any; None if the time is up."""
        low, high = 0, self._lattice.n_ranks - 1
        while low < high:
            middle = (low + high) // 2
            found = self._safe_at(middle, first=True)
            if found is None:
                return None
            # Above a safe transformation all are safe, so that every higher rank has a safe transformation, too.
            low, high = (low, middle) if found else (middle + 1, high)
        # The highest rank was never asked for: where not even that is safe, nothing is found here.
        return self._safe_at(low, first=False)

    def _safe_at(self, rank: int, *, first: bool) -> list[Candidate] | None:
        """Return the safe transformations of a rank, or the first one found; None if the time is up."""
        known = self._first.get(rank)
        safe = [] if known is None else [known]
        # A transformation below an unsafe one is unsafe: the walk passes over it without measuring.
        for levels in self._lattice.open_transformations(rank, PROTECTION):
            # The transformation that the binary search stopped at was measured then.
            if known is not None and levels == known.levels:
                continue
            if self._run.is_over:
                return None
            candidate = self._run.measure(levels)
            if not self._run.problem.is_safe(candidate):
                self.properties.note(levels, PROTECTION)
                continue
            safe.append(candidate)
            if first:
                self._first[rank] = candidate
                break
        return safe


def samarati(problem: SearchProblem, *, time_limit: float | None = None, report: Report | None = None) -> SearchResult:
    """Best transformation of the least rank at which any transformation is safe.

    *Guarantee*: without a time limit, no safe transformation has a lower rank, and none of that rank is better. A
    transformation of a higher rank may lose less, whatever the loss, so the result is never said to be optimal. With a
    time limit, the best transformation measured. Cost: about as many measurements as the ranks that are looked at have
    transformations.

    Raises
    ------
    InputError
        "Not safe" is not inherited by finer transformations.
    """
    search_run = SearchRun(problem, time_limit, report)
    search_run.need_monotone("samarati")
    run = _Samarati(search_run)
    found = run.run()
    return search_run.result(complete=found is not None, bound=0.0, among=found, statistics=run.properties.statistics())
