"""Exhaustive search: every transformation is measured. The oracle of all others; for small lattices."""

from cloister.errors import NoSafeRelease
from cloister.results import SearchResult

from .problem import Report, SearchProblem
from .search_run import SearchRun

def exhaustive(
    problem: SearchProblem, *, time_limit: float | None = None, report: Report | None = None
) -> SearchResult:
    """Best transformation of the whole lattice, by measuring each.

    *Guarantee*: the transformation of least loss among all transformations that suppress no more than the limit, ties
    decided as described at `best_of`. With a time limit, the best one measured, not proven. Cost: transformations x
    distinct rows x attributes.
    """
    run = SearchRun(problem, time_limit, report, rolls_up=False)
    complete = True
    for levels in problem.transformations():
        if run.is_over:
            complete = False
            break
        run.measure(levels)
    return run.result(complete=complete, bound=None if complete else 0.0)


def no_safe_transformation(problem: SearchProblem, complete: bool) -> NoSafeRelease:
    """Say why nothing can be released."""
    n, k = problem.task.threshold.n_records, problem.task.threshold.k
    if not complete:
        return NoSafeRelease(
            f"No allowed transformation was found within the time limit that suppresses at most {problem.limit} "
            f"of {n} records under what was asked ({problem.requirement}). Give more time, raise the suppression limit "
            "or allow coarser levels."
        )
    if n < k:
        return NoSafeRelease(
            f"Classes of at least {k} records were asked for, but the table has only {n}. "
            "Ask for less or release more records together."
        )
    asked = f"Asked for was: {problem.requirement}; at most {problem.limit} of {n} records suppressed"
    if not problem.is_monotone:
        return NoSafeRelease(
            f"{asked}. No allowed transformation keeps to it. Raise the suppression limit or ask for less."
        )
    return NoSafeRelease(
        f"{asked}. Even the coarsest allowed levels suppress more. "
        "Raise the suppression limit, ask for less or allow coarser levels."
    )
