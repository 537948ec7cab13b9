"""The course of a search that measures policy by policy: what was measured, what may win, and the time it took."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from cloister.errors import InputError
from cloister.kernels.bounds import NOISE, TOLERANCE
from cloister.results import Levels, SearchResult, SearchStatistics

from .exhaustive import no_safe_policy
from .problem import Candidate, Problem, best_of
from .progress import Progress, Report
from .rollup import RollUp

REPORT_EVERY = 64
"""Policies measured between two reports of progress."""


class Course:
    """Measures policies for a search, and keeps those that may win.

    Parameters
    ----------
    time_limit : seconds from now
    report : called now and then
    """

    def __init__(self, problem: Problem, time_limit: float | None = None, report: Report | None = None) -> None:
        self.problem = problem
        self.checked = 0
        self.least = math.inf
        self._started = time.perf_counter()
        self._deadline = math.inf if time_limit is None else self._started + time_limit
        self._report = report
        self._measure = problem.measure if problem.evaluator is not None else RollUp(problem).measure
        self._winners: list[Candidate] = []
        self._seconds_to_best = 0.0

    @property
    def seconds(self) -> float:
        """Time since the search began."""
        return time.perf_counter() - self._started

    @property
    def is_over(self) -> bool:
        """Whether the time is up; asked between measurements."""
        return time.perf_counter() > self._deadline

    def measure(self, levels: Sequence[int], *, is_allowed: bool = True) -> Candidate:
        """Measure a policy, and keep it if it is allowed and safe and may win."""
        candidate = self._measure(levels)
        self.checked += 1
        if is_allowed and self.problem.is_safe(candidate):
            self._keep(candidate)
        if self._report is not None and self.checked % REPORT_EVERY == 0:
            remaining = self.problem.lattice - self.checked
            self._report(Progress(self.seconds, self.least, 0.0, remaining, self.checked))
        return candidate

    def need_monotone(self, search: str) -> None:
        """Refuse rules that this search cannot work with.

        Raises
        ------
        InputError
            "Not safe" is not inherited by finer policies.
        """
        if not self.problem.is_monotone:
            raise InputError(
                f"The search {search} takes for granted that a coarser policy protects no less, which these rules do "
                "not promise together with suppression. Use optimal, bfs, flash or exhaustive."
            )

    def is_too_dear(self, bound: float) -> bool:
        """Whether nothing that loses at least this can win any more, not even a tie."""
        return bound > self.least + TOLERANCE + NOISE

    def _keep(self, candidate: Candidate) -> None:
        """Keep what is within the tolerance of the least: which of them wins is decided at the end."""
        if candidate.loss > self.least + TOLERANCE:
            return
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
        """Return the best policy.

        Parameters
        ----------
        complete : whether the search has come to its end
        bound : proven lower bound on the loss of any safe policy; None where the best policy is proven to be the best
        among : candidates to choose from; all that were measured and are safe if not given

        Raises
        ------
        NoSafeRelease
            There is none.
        """
        candidates = self._winners if among is None else among
        if not candidates:
            raise no_safe_policy(self.problem, complete)
        best = best_of(candidates)
        return SearchResult(
            levels=self.problem.by_name(best.levels),
            loss=best.loss,
            suppressed=best.suppressed,
            bound=best.loss if bound is None else min(bound, best.loss),
            optimal=bound is None,
            lattice=self.problem.lattice,
            checked=self.checked,
            seconds=self.seconds,
            statistics=replace(statistics or SearchStatistics(), seconds_to_best=self._seconds_to_best),
            minimal=minimal,
        )

    def best_minimal(self, found: Sequence[Candidate], statistics: SearchStatistics | None = None) -> SearchResult:
        """Return the best of all minimal safe policies; optimal where coarser safe policies never lose less.

        Raises
        ------
        NoSafeRelease
            There is none.
        """
        by_levels = sorted(found, key=lambda candidate: candidate.levels)
        bound = None if self.problem.has_monotone_loss else min((c.bound for c in found), default=0.0)
        minimal = tuple(self.problem.by_name(candidate.levels) for candidate in by_levels)
        return self.result(complete=True, bound=bound, among=by_levels, statistics=statistics, minimal=minimal)
