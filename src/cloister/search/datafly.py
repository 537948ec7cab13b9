"""Datafly: generalize the attribute with the most distinct values until the table is safe.

The walk from the finest transformation upwards, one level at a time, until a transformation is safe, is that of
`igreedy`, too.

References
----------
Sweeney (1997), "Datafly: a system for providing anonymity in medical data". Prasser, Kohlmayer, Kuhn (2016), BMC
Medical Informatics and Decision Making 16:49, whose published benchmark takes the attribute with the fewest.
"""

from collections.abc import Callable
from functools import partial

from cloister.errors import InputError
from cloister.results import SearchResult

from .exhaustive import no_safe_transformation
from .problem import Candidate, Report, SearchProblem
from .search_run import SearchRun

Step = Callable[[Candidate], Candidate | None]
"""The next transformation after one that is not safe; None at the top, or where the time is up."""


def first_safe(run: SearchRun, step: Step) -> SearchResult:
    """Take steps from the finest transformation until one is safe.

    Raises
    ------
    NoSafeRelease
        None is, or the time was up before.
    """
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


VARIANTS = ("original", "arx")

Choose = Callable[..., int]


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
    return first_safe(run, partial(_step, run, max if variant == "original" else min))


def check_variant(variant: str) -> None:
    """Refuse the name of a variant that does not exist."""
    if variant not in VARIANTS:
        raise InputError(f"The variant {variant!r} is not known. Variants: {', '.join(VARIANTS)}.")


def _step(run: SearchRun, choose: Choose, current: Candidate) -> Candidate | None:
    """Generalize the attribute chosen by its distinct values, the first of equals."""
    problem, levels = run.problem, current.levels
    open_attributes = [j for j, high in enumerate(problem.top) if levels[j] < high]
    if not open_attributes:
        return None
    j = choose(open_attributes, key=lambda j: problem.distinct(j, levels[j]))
    return run.measure((*levels[:j], levels[j] + 1, *levels[j + 1 :]))
