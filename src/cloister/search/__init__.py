"""Which policy to try next. Searches see candidates, their losses and bounds; never rows."""

from difflib import get_close_matches

from cloister.errors import InputError
from cloister.results import SearchResult

from .exhaustive import exhaustive
from .optimal import optimal
from .problem import Problem
from .progress import Progress, Report

SEARCHES = ("optimal", "exhaustive")

__all__ = ["SEARCHES", "Problem", "Progress", "Report", "exhaustive", "optimal", "search"]


def check_search(name: str) -> None:
    """Refuse the name of a search that does not exist."""
    if name not in SEARCHES:
        near = get_close_matches(name, SEARCHES, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise InputError(f"The search {name!r} is not known.{hint} Searches: {', '.join(SEARCHES)}.")


def search(
    name: str,
    problem: Problem,
    *,
    threads: int = 1,
    time_limit: float | None = None,
    report: Report | None = None,
) -> SearchResult:
    """Run the search of this name; see the searches for what each promises."""
    check_search(name)
    if name == "exhaustive":
        return exhaustive(problem, time_limit=time_limit, report=report)
    return optimal(problem, threads=threads, time_limit=time_limit, report=report)
