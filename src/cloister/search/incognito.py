"""Incognito: all minimal safe transformations, from few attributes to many: what is unsafe on some is unsafe on more.

A transformation on some of the attributes is that transformation with all others at the root of their hierarchy.

References
----------
LeFevre, DeWitt, Ramakrishnan (2005), "Incognito: Efficient full-domain k-anonymity", SIGMOD, section 3.
"""

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.results import SearchResult

from .lattice import MOST_FLAGS
from .problem import Candidate, Report, SearchProblem
from .search_run import SearchRun

Attributes = tuple[int, ...]
"""Some of the attributes, in order."""


class _Incognito:
    """One run."""

    def __init__(self, run: SearchRun) -> None:
        problem = run.problem
        self._run = run
        self._lowest = problem.lowest.tolist()
        self._heights = (problem.highest - problem.lowest + 1).tolist()
        self._roots = (problem.task.maps.heights - 1).tolist()
        self.minimal: list[Candidate] = []

    def run(self) -> bool:
        """Decide all attributes together, after all smaller sets of them; False if the time is up."""
        n = len(self._heights)
        safe: dict[Attributes, NDArray[np.bool_]] = {(): np.ones((), dtype=np.bool_)}
        for size in range(1, n + 1):
            found: dict[Attributes, NDArray[np.bool_]] = {}
            for attributes in combinations(range(n), size):
                joined = np.ones([self._heights[j] for j in attributes], dtype=np.bool_)
                # Leaving out an attribute is to put it at its root, coarser: unsafe there is unsafe here.
                for place in range(size):
                    joined &= np.expand_dims(safe[attributes[:place] + attributes[place + 1 :]], place)
                decided = self._safe_transformations(attributes, joined)
                if decided is None:
                    return False
                found[attributes] = decided
            safe = found
        return True

    def _safe_transformations(self, attributes: Attributes, candidates: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Which transformations on these attributes are safe, lowest ranks first; None if the time is up."""
        # The minimal transformations of the last set, all attributes together, are the result.
        safe = np.zeros_like(candidates)
        self.minimal = []
        places = np.argwhere(candidates)
        # By rank, so that a transformation is met after all finer ones, and is known to be safe if one of them is.
        for index in map(tuple, places[np.argsort(places.sum(axis=1), kind="stable")].tolist()):
            if safe[index]:
                continue
            if self._run.is_over:
                return None
            levels = list(self._roots)
            for j, level in zip(attributes, index, strict=True):
                levels[j] = self._lowest[j] + level
            # A root may be above the highest level allowed. Such a transformation may rule others out, but not be the
            # answer.
            is_allowed = all(level <= high for level, high in zip(levels, self._run.problem.top, strict=True))
            candidate = self._run.measure(tuple(levels), is_allowed=is_allowed)
            if self._run.problem.is_safe(candidate):
                # Rules are monotone here: everything coarser is safe as well, and needs no measurement.
                safe[tuple(slice(level, None) for level in index)] = True
                self.minimal.append(candidate)
        return safe


def incognito(problem: SearchProblem, *, time_limit: float | None = None, report: Report | None = None) -> SearchResult:
    """Best of the minimal safe transformations, all of which are found.

    *Guarantee*: as `ola`. Cost: the lattices of all sets of attributes, twice the work for each further attribute even
    where its hierarchy has one level; measurements of what smaller sets do not rule out.

    Raises
    ------
    InputError
        "Not safe" is not inherited by finer transformations, or the lattices are too large to be kept transformation by
        transformation.
    """
    search_run = SearchRun(problem, time_limit, report)
    search_run.need_monotone("incognito")
    n_nodes = math.prod((problem.highest - problem.lowest + 2).tolist())
    if n_nodes > MOST_FLAGS:
        raise InputError(
            f"The lattices of all sets of attributes have {n_nodes} transformations, too many for incognito (at most "
            f"{MOST_FLAGS}). Use optimal, bfs or flash."
        )
    run = _Incognito(search_run)
    if not run.run():
        return search_run.result(complete=False, bound=0.0)
    return search_run.best_minimal(run.minimal)
