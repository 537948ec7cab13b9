"""Measuring many policies of one table, each from rows that are already grouped at a finer policy.

Groupings of policies measured before are kept, those used last. Of the ones at or below a policy the one with fewest
rows is grouped further.

References
----------
LeFevre, DeWitt, Ramakrishnan (2005), "Incognito: Efficient full-domain k-anonymity", SIGMOD: the rollup property.
Kohlmayer, Prasser, Eckert, Kemper, Kuhn (2012), "Flash": a history of groupings.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.rollup import Grouped, measure_grouped, roll_up

from .problem import Candidate, Problem

MOST_GROUPINGS = 512
MOST_BYTES = 128 << 20
"""Groupings kept, and their memory."""

WORTH_KEEPING = 0.6
"""Share of the rows that it was made of which a grouping may have at most to be kept."""


class RollUp:
    """Measures policies as the problem does, with the same results."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._whole = Grouped(problem.task.rows, np.zeros(len(problem.names), dtype=np.int64))
        self._kept: list[Grouped] = []
        self._levels = np.zeros((MOST_GROUPINGS, len(problem.names)), dtype=np.int64)
        self._rows = np.zeros(MOST_GROUPINGS, dtype=np.int64)
        self._used = np.zeros(MOST_GROUPINGS, dtype=np.int64)
        self._bytes = 0
        self._clock = 0

    def measure(self, levels: Sequence[int]) -> Candidate:
        """Suppress what violates a rule under one policy, and say what that loses."""
        task = self._problem.task
        at = np.array(levels, dtype=np.int64)
        base = self._smallest(at)
        grouped = roll_up(base, task.ladders, at)
        if _n_rows(grouped) <= WORTH_KEEPING * _n_rows(base):
            self._keep(grouped)
        return self._problem.candidate(levels, measure_grouped(grouped, task.costs, task.threshold.k))

    def _smallest(self, at: NDArray[np.int64]) -> Grouped:
        """Grouping of fewest rows at or below a policy."""
        self._clock += 1
        n = len(self._kept)
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
            self._drop(int(np.argmin(self._used[: len(self._kept)])))
        self._kept.append(grouped)
        self._note(len(self._kept) - 1, self._clock)
        self._bytes += size

    def _drop(self, place: int) -> None:
        self._bytes -= _n_bytes(self._kept[place])
        last = self._kept.pop()
        used = self._used[len(self._kept)]
        if place < len(self._kept):
            self._kept[place] = last
            self._note(place, int(used))

    def _note(self, place: int, used: int) -> None:
        grouped = self._kept[place]
        self._levels[place] = grouped.levels
        self._rows[place] = grouped.rows.records.size
        self._used[place] = used


def _n_rows(grouped: Grouped) -> int:
    return int(grouped.rows.records.size)


def _n_bytes(grouped: Grouped) -> int:
    return grouped.rows.codes.nbytes + grouped.rows.records.nbytes
