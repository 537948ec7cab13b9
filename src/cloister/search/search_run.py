"""The run of a search that measures one transformation at a time: its candidates and its time.

Transformations are measured from rows that are already grouped at a finer transformation (rollup). Groupings of
transformations measured before are kept, those used last. Of the ones at or below a transformation the one with fewest
rows is grouped further.

References
----------
LeFevre, DeWitt, Ramakrishnan (2005), "Incognito: Efficient full-domain k-anonymity", SIGMOD: the rollup property.
Kohlmayer, Prasser, Eckert, Kemper, Kuhn (2012), "Flash": a history of groupings.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError, NoSafeRelease
from cloister.kernels.classes import Grouped, measure_grouped, roll_up
from cloister.kernels.layout import NOISE, TOLERANCE
from cloister.results import Levels, SearchResult, SearchStatistics

from .problem import Candidate, Progress, Report, SearchProblem, best_of

MOST_GROUPINGS = 512
MOST_BYTES = 128 << 20
"""Groupings kept, and their memory."""

WORTH_KEEPING = 0.6
"""Share of the rows that it was made of which a grouping may have at most to be kept."""


class RollUp:
    """Measures transformations by rollup, with the same results as the problem."""

    def __init__(self, problem: SearchProblem) -> None:
        self._problem = problem
        self._whole = Grouped(problem.task.rows, np.zeros(len(problem.names), dtype=np.int64))
        self._kept: list[Grouped] = []
        self._levels = np.zeros((MOST_GROUPINGS, len(problem.names)), dtype=np.int64)
        self._rows = np.zeros(MOST_GROUPINGS, dtype=np.int64)
        self._used = np.zeros(MOST_GROUPINGS, dtype=np.int64)
        self._bytes = 0
        self._clock = 0

    def measure(self, levels: Sequence[int]) -> Candidate:
        """Suppress what violates a rule under one transformation, and say what that loses."""
        task = self._problem.task
        at = np.array(levels, dtype=np.int64)
        base = self._smallest(at)
        grouped = roll_up(base, task.maps, at)
        # What hardly merges rows saves hardly any work, and would push out what does.
        if _n_rows(grouped) <= WORTH_KEEPING * _n_rows(base):
            self._keep(grouped)
        return self._problem.candidate(levels, measure_grouped(grouped, task.costs, task.threshold.k))

    def _smallest(self, at: NDArray[np.int64]) -> Grouped:
        """Grouping of fewest rows at or below a transformation."""
        self._clock += 1
        n = len(self._kept)
        # Rows that are alike at a transformation are alike at every coarser one: any grouping below serves.
        below = np.flatnonzero((self._levels[:n] <= at).all(axis=1))
        if not below.size:
            return self._whole
        place = int(below[np.argmin(self._rows[below])])
        self._used[place] = self._clock
        return self._kept[place]

    def _keep(self, grouped: Grouped) -> None:
        """Keep a grouping, in place of those that were not used for longest."""
        size = _n_bytes(grouped)
        while self._kept and (len(self._kept) == MOST_GROUPINGS or self._bytes + size > MOST_BYTES):
            place = int(np.argmin(self._used[: len(self._kept)]))
            self._bytes -= _n_bytes(self._kept[place])
            # The last grouping fills the gap, so that the arrays stay dense.
            last = self._kept.pop()
            if place < len(self._kept):
                self._kept[place] = last
                self._note(place, int(self._used[len(self._kept)]))
        self._kept.append(grouped)
        self._note(len(self._kept) - 1, self._clock)
        self._bytes += size

    def _note(self, place: int, used: int) -> None:
        grouped = self._kept[place]
        self._levels[place] = grouped.levels
        self._rows[place] = grouped.rows.records.size
        self._used[place] = used


def _n_rows(grouped: Grouped) -> int:
    return int(grouped.rows.records.size)


def _n_bytes(grouped: Grouped) -> int:
    return grouped.rows.codes.nbytes + grouped.rows.records.nbytes


REPORT_EVERY = 64
"""Transformations measured between two reports of progress."""


class TimeIsUp(Exception):
    """The time limit is reached between two measurements."""


class SearchRun:
    """Measures transformations for a search, and keeps the candidates for the best.

    Parameters
    ----------
    time_limit : seconds from now
    rolls_up : whether transformations may be measured from rows that are already grouped
    """

    def __init__(
        self,
        problem: SearchProblem,
        time_limit: float | None = None,
        report: Report | None = None,
        *,
        rolls_up: bool = True,
    ) -> None:
        self.problem = problem
        self.checked = 0
        self.least = math.inf
        self._started = time.perf_counter()
        self._deadline = math.inf if time_limit is None else self._started + time_limit
        self._report = report
        # An evaluator needs more than class sizes, and a grouping of rows gives only these.
        self._measure = RollUp(problem).measure if rolls_up and problem.evaluator is None else problem.measure
        self._winners: list[Candidate] = []
        self._seconds_to_best = 0.0

    @property
    def seconds(self) -> float:
        """The time since the search began."""
        return time.perf_counter() - self._started

    @property
    def is_over(self) -> bool:
        """Whether the time limit is reached; checked between measurements."""
        return time.perf_counter() > self._deadline

    def measure(self, levels: Sequence[int], *, is_allowed: bool = True) -> Candidate:
        """Measure a transformation, and keep it if it is allowed, safe, and may be the best."""
        candidate = self._measure(levels)
        self.checked += 1
        if is_allowed and self.problem.is_safe(candidate):
            self._keep(candidate)
        if self._report is not None and self.checked % REPORT_EVERY == 0:
            remaining = self.problem.lattice - self.checked
            self._report(Progress(self.seconds, self.least, 0.0, remaining, self.checked))
        return candidate

    def measure_in_time(self, levels: Sequence[int]) -> Candidate:
        """Measure a transformation; raise `TimeIsUp` if the time limit is reached, but for the first one."""
        if self.checked and self.is_over:
            raise TimeIsUp
        return self.measure(levels)

    def need_monotone(self, search: str) -> None:
        """Refuse rules that are not monotone, for searches that need monotone rules."""
        if not self.problem.is_monotone:
            raise InputError(
                f"The search {search} takes for granted that a coarser transformation protects no less, which these "
                "rules do not promise together with suppression. Use optimal, bfs, flash or exhaustive."
            )

    def is_too_dear(self, bound: float) -> bool:
        """Whether no transformation with at least this loss can win, not even a tie."""
        return bound > self.least + TOLERANCE + NOISE

    def _keep(self, candidate: Candidate) -> None:
        """Keep what is within the tolerance of the least: which of them wins is decided at the end."""
        if candidate.loss > self.least + TOLERANCE:
            return
        # Ties must not depend on the order of measuring: all that is within the tolerance stays to the end.
        self._winners.append(candidate)
        if candidate.loss < self.least:
            self.least = candidate.loss
            self._winners = [winner for winner in self._winners if winner.loss <= self.least + TOLERANCE]
        if best_of(self._winners) is candidate:
            self._seconds_to_best = self.seconds

    def result(
        self,
        *,
        complete: bool,
        bound: float | None = None,
        among: Sequence[Candidate] | None = None,
        statistics: SearchStatistics | None = None,
        minimal: tuple[Levels, ...] = (),
    ) -> SearchResult:
        """Return the best transformation.

        Parameters
        ----------
        complete : whether the search has come to its end
        bound : proven lower bound on the loss of any safe transformation; None where the best transformation is proven
            to be the best
        among : candidates to choose from; all that were measured and are safe by default
        """
        candidates = self._winners if among is None else among
        if not candidates:
            raise no_safe_transformation(self.problem, complete)
        best = best_of(candidates)
        done = replace(statistics or SearchStatistics(), seconds_to_best=self._seconds_to_best)
        return self.problem.result(
            best, bound=bound, checked=self.checked, started=self._started, statistics=done, minimal=minimal
        )

    def best_minimal(self, found: Sequence[Candidate], statistics: SearchStatistics | None = None) -> SearchResult:
        """Return the best of all minimal safe transformations; optimal where coarser safe ones never lose less."""
        by_levels = sorted(found, key=lambda candidate: candidate.levels)
        # Every safe transformation is at or above a minimal one, and the bound of that holds for all above it.
        bound = None if self.problem.has_monotone_loss else min((c.bound for c in found), default=0.0)
        minimal = tuple(self.problem.by_name(candidate.levels) for candidate in by_levels)
        return self.result(complete=True, bound=bound, among=by_levels, statistics=statistics, minimal=minimal)


def exhaustive(
    problem: SearchProblem, *, time_limit: float | None = None, report: Report | None = None
) -> SearchResult:
    """Find the optimal transformation by measuring the complete lattice.

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
    """Return the error that explains why no transformation is safe."""
    n, k = problem.task.threshold.n_records, problem.task.threshold.k
    if not complete:
        return NoSafeRelease(
            f"No allowed transformation was found within the time limit that suppresses at most {problem.limit} "
            f"of {n} records under what was asked ({problem.requirement}). Give more time, raise the suppression limit "
            "or allow coarser levels."
        )
    if n < k:
        return NoSafeRelease(
            f"What is asked needs classes of at least {k} records, but the table has only {n}. "
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
