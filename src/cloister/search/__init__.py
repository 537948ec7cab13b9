"""Search strategies over transformations. Searches see candidates, their losses and bounds, but never rows."""

from collections.abc import Callable
from functools import partial

import numpy as np

from cloister.errors import InputError
from cloister.kernels.classes import class_sizes, distinct_rows
from cloister.kernels.layout import CODE, Costs, LevelMaps, Threshold, make_task
from cloister.kernels.shared_labels import common_levels
from cloister.results import SearchResult
from cloister.settings.constraints import OneOf, check_value

from .bfs import bfs
from .flash import flash
from .greedy import datafly, igreedy
from .lattice import STORES
from .minimal import incognito, ola, samarati
from .optimal import optimal
from .problem import Progress, Report, SearchProblem
from .search_run import exhaustive

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
    "load_kernels",
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

STORING = ("flash", "bfs")
"""Searches that keep what they know of transformations in a property store."""

MOST_TRANSFORMATIONS = 10**30
"""Of a lattice that is searched without a time limit: proofs over larger ones need not end within a human life."""


def check_search(name: str, store: str | None = None) -> None:
    """Refuse unknown names of searches and property stores, and a store for a search that uses none."""
    check_value("search", name, OneOf(*SEARCHES))
    if store is not None:
        check_value("store", store, OneOf(*STORES))
    if store is not None and name not in STORING:
        raise InputError(
            f"The property store {store} was asked for, but the search {name} has none. Leave it out, or search by "
            f"{' or '.join(STORING)}."
        )


def search(
    name: str,
    problem: SearchProblem,
    *,
    store: str | None = None,
    threads: int = 1,
    time_limit: float | None = None,
    report: Report | None = None,
) -> SearchResult:
    """Run the search of this name; each search documents its guarantee.

    Parameters
    ----------
    store : how flash and bfs keep what they know of transformations (`cloister.search.lattice.STORES`); never changes
        the answer
    threads : workers of the search optimal, at least 1; the others use one
    time_limit : seconds; asked after each measurement, or, by optimal, after some tenths of a second of work
    report : called now and then with the progress made, from the calling thread
    """
    check_search(name, store)
    if time_limit is None and name not in GREEDY and problem.lattice > MOST_TRANSFORMATIONS:
        raise InputError(
            f"{len(problem.names)} quasi-identifiers have more than 10^30 combinations of levels, too many for the "
            f"search {name} to end. Give a time limit, the search datafly or igreedy, or fewer quasi-identifiers."
        )
    if name == "optimal":
        return optimal(problem, threads=threads, time_limit=time_limit, report=report)
    kept = {} if store is None else {"store": store}
    return SINGLE[name](problem, time_limit=time_limit, report=report, **kept)


def load_kernels(name: str = "optimal") -> None:
    """Load the kernels of a search: run it on two records, or load those of large tables; others compile later."""
    if name == "no search":
        return
    codes = np.array([[0, 1]], dtype=CODE)
    maps = LevelMaps(
        up=np.array([0, 1, 0, 0, 0], dtype=CODE),
        start=np.array([[[0, 2], [0, 4]]], dtype=np.int64),
        sizes=np.array([[2, 1]], dtype=np.int64),
        heights=np.array([2], dtype=np.int64),
        number=np.array([[0, 1]], dtype=np.int64),
        stride=np.array([1], dtype=np.int64),
        exact=True,
    )
    costs = Costs(
        leaves=np.array([0, 0, 1], dtype=np.int64),
        start=np.array([[0, 2]], dtype=np.int64),
        domain=np.array([1], dtype=np.int64),
        mean=np.array([[0.0, 1.0]]),
        worst=np.array([[0.0, 1.0]]),
        weight=np.array([1.0]),
        geometric=False,
    )
    distinct = distinct_rows(codes, maps)
    if name == "large tables":
        start, lowest = np.array([0, 2], dtype=np.int64), np.zeros(1, dtype=np.int64)
        common_levels(distinct.rows, maps, np.array([0, 1], dtype=np.int64), start, lowest, few=0)
        return
    class_sizes(distinct.rows, maps, np.array([1], dtype=np.int64))
    task = make_task(distinct.rows, maps, costs, Threshold(2, 2, 0))
    bounds = np.array([0], dtype=np.int64), np.array([1], dtype=np.int64)
    search(name, SearchProblem(("any",), task, sum, *bounds, distinct.labels))
