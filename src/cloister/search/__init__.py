"""Which transformation to try next. Searches see candidates, their losses and bounds; never rows."""

from collections.abc import Callable
from functools import partial

from cloister.errors import InputError, did_you_mean
from cloister.results import SearchResult

from .bfs import bfs
from .exhaustive import exhaustive
from .flash import flash
from .greedy import datafly, igreedy
from .minimal import incognito, ola, samarati
from .optimal import optimal
from .problem import Progress, Report, SearchProblem

__all__ = [
    "SEARCHES",
    "Progress",
    "Report",
    "SearchProblem",
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

GREEDY = ("datafly", "datafly:arx", "igreedy", "igreedy:arx")
"""Searches that take one way through the lattice, however large it is."""

MOST_TRANSFORMATIONS = 10**30
"""Of a lattice that is searched without a time limit: proofs over larger ones need not end within a human life."""


def check_search(name: str) -> None:
    """Refuse the name of a search that does not exist."""
    if name not in SEARCHES:
        hint = did_you_mean(name, SEARCHES)
        raise InputError(f"The search {name!r} is not known.{hint} Searches: {', '.join(SEARCHES)}.")


def search(
    name: str,
    problem: SearchProblem,
    *,
    threads: int = 1,
    time_limit: float | None = None,
    report: Report | None = None,
) -> SearchResult:
    """Run the search of this name; see the searches for what each promises.

    Parameters
    ----------
    threads : workers of the search optimal, at least 1; the others use one
    time_limit : seconds; asked after each measurement, or, by optimal, after some tenths of a second of work
    report : called now and then with the progress made, from the calling thread

    Raises
    ------
    InputError
        There is no such search, or it cannot be used with these rules, or the lattice is too large to search it to the
        end.
    NoSafeRelease
        No safe transformation exists, or none was found in time.
    """
    check_search(name)
    if time_limit is None and name not in GREEDY and problem.lattice > MOST_TRANSFORMATIONS:
        raise InputError(
            f"{len(problem.names)} quasi-identifiers have more than 10^30 combinations of levels, too many for the "
            f"search {name} to end. Give a time limit, the search datafly or igreedy, or fewer quasi-identifiers."
        )
    if name == "optimal":
        return optimal(problem, threads=threads, time_limit=time_limit, report=report)
    return SINGLE[name](problem, time_limit=time_limit, report=report)
