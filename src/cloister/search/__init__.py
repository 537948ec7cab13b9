"""Which policy to try next. Searches see candidates, their losses and bounds; never rows."""

from collections.abc import Callable
from functools import partial

from cloister.errors import InputError, did_you_mean
from cloister.results import SearchResult

from .bfs import bfs
from .datafly import datafly
from .exhaustive import exhaustive
from .flash import flash
from .igreedy import igreedy
from .incognito import incognito
from .ola import ola
from .optimal import optimal
from .problem import Problem
from .progress import Progress, Report
from .samarati import samarati

__all__ = [
    "SEARCHES",
    "Problem",
    "Progress",
    "Report",
    "bfs",
    "datafly",
    "exhaustive",
    "flash",
    "igreedy",
    "incognito",
    "ola",
    "optimal",
    "samarati",
    "search",
]

SINGLE: dict[str, Callable[..., SearchResult]] = {
    "exhaustive": exhaustive,
    "flash": flash,
    "flash:explicit": partial(flash, representation="explicit"),
    "bfs": bfs,
    "bfs:unpredicted": partial(bfs, prediction=False),
    "ola": ola,
    "incognito": incognito,
    "samarati": samarati,
    "datafly": datafly,
    "datafly:arx": partial(datafly, variant="arx"),
    "igreedy": igreedy,
    "igreedy:arx": partial(igreedy, variant="arx"),
}
"""Searches that use one thread, with their variants."""

SEARCHES = ("optimal", *SINGLE)


def check_search(name: str) -> None:
    """Refuse the name of a search that does not exist."""
    if name not in SEARCHES:
        hint = did_you_mean(name, SEARCHES)
        raise InputError(f"The search {name!r} is not known.{hint} Searches: {', '.join(SEARCHES)}.")


def search(
    name: str,
    problem: Problem,
    *,
    threads: int = 1,
    time_limit: float | None = None,
    report: Report | None = None,
) -> SearchResult:
    """Run the search of this name; see the searches for what each promises.

    Raises
    ------
    InputError
        There is no such search, or it cannot be used with these rules.
    NoSafeRelease
        No safe policy exists, or none was found in time.
    """
    check_search(name)
    if name == "optimal":
        return optimal(problem, threads=threads, time_limit=time_limit, report=report)
    return SINGLE[name](problem, time_limit=time_limit, report=report)
