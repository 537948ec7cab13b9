"""Greedy searches: one walk from the finest transformation upwards, level by level, until a transformation is safe.

Datafly generalizes the attribute with the most distinct values; IGreedy goes to where the smallest class is largest.

References
----------
Sweeney (1997), "Datafly: a system for providing anonymity in medical data". Babu, Reddy, Kumar, Elliot, Jena (2013),
"Achieving k-anonymity using improved greedy heuristics for very large relational databases", Transactions on Data
Privacy 6(1):1-17, as Prasser, Kohlmayer, Kuhn (2016), BMC Medical Informatics and Decision Making 16:49, compare with
it. Their published benchmark of Datafly takes the attribute with the fewest.
"""

from collections.abc import Callable
from functools import partial

from cloister.errors import InputError
from cloister.results import SearchResult

from .exhaustive import no_safe_transformation
from .lattice import Transformation, direct_generalizations
from .problem import Candidate, Report, SearchProblem
from .search_run import SearchRun

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
    """A safe transformation, fast: one path upwards.

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
    """A safe transformation, fast: the direct generalization whose smallest class is largest, again and again.

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
