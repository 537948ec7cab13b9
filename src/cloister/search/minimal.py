"""Searches that decide which transformations are safe from few measurements: OLA, Incognito, Samarati's algorithm.

They assume monotone rules: a coarser transformation protects at least as well. OLA and Incognito find all minimal safe
transformations, those of which no finer one is safe; Samarati's algorithm finds the safe ones of least rank.

References
----------
El Emam, Dankar, Issa, Jonker, Amyot, Cogo, Corriveau, Walker, Chowdhury, Vaillancourt, Roffey, Bottomley (2009), "A
globally optimal k-anonymity method for the de-identification of health data", JAMIA 16(5):670-682: binary search over
ever smaller parts of the lattice. Deviation: a part of the lattice of which everything is decided is not entered.
LeFevre, DeWitt, Ramakrishnan (2005), "Incognito: Efficient full-domain k-anonymity", SIGMOD, section 3.
Samarati (2001), "Protecting respondents' identities in microdata release", IEEE TKDE 13(6), section 4. Deviations: the
best transformation of the least rank by loss is returned, not any; transformations below one that is not safe are
passed over.
"""

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.results import SearchResult

from .lattice import MOST_FLAGS, PROTECTION, SAFE, ExplicitProperties, ImplicitProperties, Lattice, Transformation
from .problem import Candidate, Report, SearchProblem
from .search_run import SearchRun

DECIDED = PROTECTION | SAFE

Attributes = tuple[int, ...]
"""Some of the attributes, in order."""


class _Ola:
    """One run. Parts of the lattice are named by their lowest and highest node, levels as the user counts them."""

    def __init__(self, run: SearchRun) -> None:
        self._run = run
        self._lowest = run.problem.lowest.tolist()
        self.properties = ExplicitProperties(run.problem)
        self._safe: list[Candidate] = []

    def decide(self, bottom: Transformation, top: Transformation) -> bool:
        """Decide which transformations of a part are safe; False if the time is up."""
        part = tuple(slice(a - low, b - low + 1) for a, b, low in zip(bottom, top, self._lowest, strict=True))
        # Tags reach beyond the part in which they were found, so that a part may be decided before it is entered.
        if np.all(self.properties.flags[part] & DECIDED):
            return True
        height = sum(top) - sum(bottom)
        # Two transformations one level apart have none between them.
        if height <= 1:
            return self._tag(bottom) and self._tag(top)
        # Each transformation half way up decides what is above it, if it is safe, or what is below it, if not.
        for middle in transformations_between(bottom, top, height // 2):
            if not self._tag(middle):
                return False
            is_safe = self.properties.flags_of(middle) & SAFE
            if not (self.decide(bottom, middle) if is_safe else self.decide(middle, top)):
                return False
        return True

    def minimal(self) -> list[Candidate]:
        """Return the safe transformations below which nothing is safe; all of them once everything is decided."""
        # Safe is inherited upwards: where no direct specialization is safe, no finer transformation is.
        minimal = []
        for candidate in self._safe:
            levels, lowest = candidate.levels, self._lowest
            below = [(*levels[:j], levels[j] - 1, *levels[j + 1 :]) for j, low in enumerate(lowest) if levels[j] > low]
            if not any(self.properties.flags_of(one) & SAFE for one in below):
                minimal.append(candidate)
        return minimal

    def _tag(self, levels: Transformation) -> bool:
        """Measure a transformation unless it is decided, and tag all that it decides; False if the time is up."""
        if self.properties.flags_of(levels) & DECIDED:
            return True
        if self._run.is_over:
            return False
        candidate = self._run.measure(levels)
        is_safe = self._run.problem.is_safe(candidate)
        if is_safe:
            self._safe.append(candidate)
        self.properties.note(levels, SAFE if is_safe else PROTECTION)
        return True


def transformations_between(bottom: Transformation, top: Transformation, height: int) -> Iterator[Transformation]:
    """Yield those between two that are so many levels above the lower one, in the order of level vectors."""
    if not bottom:
        if height == 0:
            yield ()
        return
    # This attribute must rise by what the others have no room for.
    room = sum(top[1:]) - sum(bottom[1:])
    for level in range(bottom[0] + max(0, height - room), min(top[0], bottom[0] + height) + 1):
        for rest in transformations_between(bottom[1:], top[1:], height - (level - bottom[0])):
            yield (level, *rest)


def ola(problem: SearchProblem, *, time_limit: float | None = None, report: Report | None = None) -> SearchResult:
    """Find the best of the minimal safe transformations: those without a finer safe transformation.

    *Guarantee*: without a time limit, ``minimal`` holds all minimal safe transformations, and the best of them is
    returned. That no transformation loses less is proven where coarser safe transformations never lose less (no
    suppression, or a loss that ignores it); with suppression allowed a coarser transformation of the same loss may
    suppress fewer records. ``bound`` is the least bound of the minimal ones, as every safe transformation is at or
    above one of them. With a time limit, the best transformation measured. Cost: a byte for each transformation,
    measurements of a part of the lattice, which is refused where it is too large for that.
    """
    run = SearchRun(problem, time_limit, report)
    run.need_monotone("ola")
    parts = _Ola(run)
    if not parts.decide(tuple(problem.lowest.tolist()), problem.top):
        return run.result(complete=False, bound=0.0, statistics=parts.properties.statistics())
    return run.best_minimal(parts.minimal(), parts.properties.statistics())


def incognito(problem: SearchProblem, *, time_limit: float | None = None, report: Report | None = None) -> SearchResult:
    """Find all minimal safe transformations, from few attributes to many, and return the best.

    A transformation on some of the attributes is that transformation with all others at the root of their hierarchy:
    what is unsafe on some is unsafe on more.

    *Guarantee*: as `ola`. Cost: the lattices of all sets of attributes, twice the work for each further attribute even
    where its hierarchy has one level, which are refused where they are too large; measurements of what smaller sets do
    not rule out.
    """
    run = SearchRun(problem, time_limit, report)
    run.need_monotone("incognito")
    n_nodes = math.prod((problem.highest - problem.lowest + 2).tolist())
    if n_nodes > MOST_FLAGS:
        raise InputError(
            f"The lattices of all sets of attributes have {n_nodes} transformations, too many for incognito (at most "
            f"{MOST_FLAGS}). Use optimal, bfs or flash."
        )
    heights = (problem.highest - problem.lowest + 1).tolist()
    safe: dict[Attributes, NDArray[np.bool_]] = {(): np.ones((), dtype=np.bool_)}
    minimal: list[Candidate] = []
    for size in range(1, len(heights) + 1):
        found: dict[Attributes, NDArray[np.bool_]] = {}
        for attributes in combinations(range(len(heights)), size):
            joined = np.ones([heights[j] for j in attributes], dtype=np.bool_)
            # Leaving out an attribute is to put it at its root, coarser: unsafe there is unsafe here.
            for place in range(size):
                joined &= np.expand_dims(safe[attributes[:place] + attributes[place + 1 :]], place)
            minimal = []
            decided = _safe_transformations(run, attributes, joined, minimal)
            if decided is None:
                return run.result(complete=False, bound=0.0)
            found[attributes] = decided
        safe = found
    # The minimal transformations of the last set, all attributes together, are the result.
    return run.best_minimal(minimal)


def _safe_transformations(
    run: SearchRun, attributes: Attributes, candidates: NDArray[np.bool_], minimal: list[Candidate]
) -> NDArray[np.bool_] | None:
    """Which transformations on these attributes are safe; adds the minimal ones. None if the time is up."""
    problem = run.problem
    safe = np.zeros_like(candidates)
    places = np.argwhere(candidates)
    # By rank, so that a transformation is met after all finer ones, and is known to be safe if one of them is.
    for index in map(tuple, places[np.argsort(places.sum(axis=1), kind="stable")].tolist()):
        if safe[index]:
            continue
        if run.is_over:
            return None
        levels = (problem.task.maps.heights - 1).tolist()
        for j, level in zip(attributes, index, strict=True):
            levels[j] = int(problem.lowest[j]) + level
        # A root may be above the highest level allowed. Such a transformation may rule others out, but not be the
        # answer.
        is_allowed = all(level <= high for level, high in zip(levels, problem.top, strict=True))
        candidate = run.measure(tuple(levels), is_allowed=is_allowed)
        if problem.is_safe(candidate):
            # Rules are monotone here: everything coarser is safe as well, and needs no measurement.
            safe[tuple(slice(level, None) for level in index)] = True
            minimal.append(candidate)
    return safe


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
    """Find the best transformation of the lowest rank with a safe transformation, by binary search over ranks.

    *Guarantee*: without a time limit, no safe transformation has a lower rank, and none of that rank is better. A
    transformation of a higher rank may lose less, whatever the loss, so the result never claims to be optimal. With a
    time limit, the best transformation measured. Cost: about as many measurements as the ranks that are looked at have
    transformations.
    """
    run = SearchRun(problem, time_limit, report)
    run.need_monotone("samarati")
    ranks = _Samarati(run)
    found = ranks.run()
    return run.result(complete=found is not None, bound=0.0, among=found, statistics=ranks.properties.statistics())
