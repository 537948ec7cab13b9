"""OLA: the transformations below which nothing is safe, by binary search over ever smaller parts of the lattice.

References
----------
El Emam, Dankar, Issa, Jonker, Amyot, Cogo, Corriveau, Walker, Chowdhury, Vaillancourt, Roffey, Bottomley (2009), "A
globally optimal k-anonymity method for the de-identification of health data", JAMIA 16(5):670-682. Deviation: a part
of the lattice of which everything is decided is not entered.
"""

from collections.abc import Iterator

import numpy as np

from cloister.results import SearchResult

from .lattice import PROTECTION, SAFE, ExplicitProperties, Transformation
from .problem import Candidate, Report, SearchProblem
from .search_run import SearchRun

DECIDED = PROTECTION | SAFE


class _Ola:
    """One run. Parts of the lattice are named by their lowest and highest node, levels as the user counts them."""

    def __init__(self, run: SearchRun) -> None:
        self._run = run
        self._lowest = run.problem.lowest.tolist()
        self.properties = ExplicitProperties(run.problem)
        self._safe: list[Candidate] = []

    def decide(self, bottom: Transformation, top: Transformation) -> bool:
        """Find out which transformations of a part are safe; False if the time is up."""
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
    """Best of the minimal safe transformations: those of which no finer transformation is safe.

    *Guarantee*: without a time limit, ``minimal`` holds all minimal safe transformations, and the best of them is
    returned. That no transformation loses less is proven where coarser safe transformations never lose less (no
    suppression, or a loss that ignores it); with suppression allowed a coarser transformation of the same loss may
    suppress fewer records. With a time limit, the best transformation measured. Cost: a byte for each transformation,
    measurements of a part of the lattice.

    Raises
    ------
    InputError
        "Not safe" is not inherited by finer transformations, or the lattice is too large to be kept transformation by
        transformation.

    Notes
    -----
    ``bound`` is the least bound of the minimal safe transformations: every safe transformation is at or above one of
    them.
    """
    search_run = SearchRun(problem, time_limit, report)
    search_run.need_monotone("ola")
    run = _Ola(search_run)
    if not run.decide(tuple(problem.lowest.tolist()), problem.top):
        return search_run.result(complete=False, bound=0.0, statistics=run.properties.statistics())
    return search_run.best_minimal(run.minimal(), run.properties.statistics())
