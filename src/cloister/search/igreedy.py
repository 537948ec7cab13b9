"""IGreedy: from the finest transformation upwards to where the smallest class is largest, until the table is safe.

References
----------
Babu, Reddy, Kumar, Elliot, Jena (2013), "Achieving k-anonymity using improved greedy heuristics for very large
relational databases", Transactions on Data Privacy 6(1):1-17, as Prasser, Kohlmayer, Kuhn (2016), BMC Medical
Informatics and Decision Making 16:49, compare with it.
"""

from functools import partial

from cloister.results import SearchResult

from .datafly import check_variant, first_safe
from .lattice import Transformation, direct_generalizations
from .problem import Candidate, Report, SearchProblem
from .search_run import SearchRun


def igreedy(
    problem: SearchProblem, *, variant: str = "original", time_limit: float | None = None, report: Report | None = None
) -> SearchResult:
    """A safe transformation, fast: the direct generalization whose smallest class is largest, again and again.

    *Guarantee*: the transformation is safe; nothing is proven about its loss. Cost: one measurement for each attribute
    and level risen.

    Parameters
    ----------
    variant : how ties are decided: ``original`` by generalizing the attribute with the most distinct values, ``arx``
        by what leaves the attribute with the most distinct values largest; then by the order of the attributes
    time_limit : seconds; asked after each measurement

    Raises
    ------
    NoSafeRelease
        The path has come to the coarsest transformation, or the time was up.
    InputError
        There is no such variant.
    """
    check_variant(variant)
    run = SearchRun(problem, time_limit, report)
    return first_safe(run, partial(_step, run, variant))


def _step(run: SearchRun, variant: str, current: Candidate) -> Candidate | None:
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
