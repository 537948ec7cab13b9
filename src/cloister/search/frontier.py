"""The boxes of policies that a search has still to decide, and the best policy it knows."""

import heapq
from collections.abc import Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.bounds import TOLERANCE, Best
from cloister.kernels.boxes import COUNTED, MEASURED, STATISTICS, Box
from cloister.kernels.layout import Task

from .problem import Candidate


class Frontier:
    """Boxes waiting, lowest bound first; the best policy; and what was counted.

    Parameters
    ----------
    task : with only the levels worth trying
    levels : the user's number of each of these levels
    first : a safe policy
    """

    def __init__(self, task: Task, levels: list[list[int]], first: Candidate) -> None:
        self.task = task
        self.levels = levels
        self.statistics = np.zeros(STATISTICS, dtype=np.int64)
        self.best = self._translated(first)
        self._waiting: list[tuple[float, int, Box]] = []
        self._order = count()
        self.push(Box(np.zeros_like(task.ladders.heights), task.ladders.heights - 1, 0.0, 0))

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def checked(self) -> int:
        """Policies or boxes decided by counting records."""
        return int(self.statistics[COUNTED] + self.statistics[MEASURED])

    def push(self, box: Box) -> None:
        """Add a box unless nothing in it can lose as little as the best policy."""
        if self._matters(box):
            heapq.heappush(self._waiting, (box.bound, next(self._order), box))

    def pop(self) -> Box | None:
        """Take the box of the lowest bound that still matters."""
        while self._waiting:
            box = heapq.heappop(self._waiting)[2]
            if self._matters(box):
                return box
        return None

    def bound(self, running: Sequence[float]) -> float:
        """Least loss that any policy can have, given the bounds of the boxes being worked on."""
        waiting = [self._waiting[0][0]] if self._waiting else []
        return float(min([self.best.loss[0], *waiting, *running]))

    def learn(self, best: Best, statistics: NDArray[np.int64], left: Sequence[Box]) -> None:
        """Take in what a worker found, counted and left undone."""
        self.statistics += statistics
        self._improve(best)
        for box in left:
            self.push(box)

    def suggest(self, candidate: Candidate) -> None:
        """Take in a safe policy found by other means."""
        self._improve(self._translated(candidate))

    def chosen(self) -> list[int]:
        """Best policy in the user's levels."""
        return [own[index] for own, index in zip(self.levels, self.best.levels.tolist(), strict=True)]

    def _matters(self, box: Box) -> bool:
        return bool(box.bound <= self.best.loss[0] + TOLERANCE)

    def _improve(self, new: Best) -> None:
        """Keep the better of two policies; losses within the tolerance are equal and the tie break decides."""
        if new.loss[1] > self.best.loss[0] + TOLERANCE:
            return
        if new.loss[1] < self.best.loss[0] - TOLERANCE or self._tie_break(new) < self._tie_break(self.best):
            new.loss[0] = min(new.loss[0], self.best.loss[0])
            self.best = new

    def _tie_break(self, best: Best) -> tuple[int, int, list[int]]:
        number = self.task.ladders.number[np.arange(best.levels.size), best.levels]
        return int(best.suppressed[0]), int(number.sum()), best.levels.tolist()

    def _translated(self, candidate: Candidate) -> Best:
        """Write a candidate in the levels worth trying; a level that merges nothing stands for the one below it."""
        index = [
            sum(level <= own for level in chosen) - 1 for own, chosen in zip(candidate.levels, self.levels, strict=True)
        ]
        loss = np.array([candidate.loss, candidate.loss], dtype=np.float64)
        return Best(loss, np.array([candidate.suppressed], dtype=np.int64), np.array(index, dtype=np.int64))
