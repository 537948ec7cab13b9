"""The undecided boxes of transformations in a search, and the candidates for the best transformation.

Class sizes decide as much of a box as possible; without progress, the search of a box gets more memory.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.boxes import COUNTED, MEASURED, STATISTICS, Box, explore
from cloister.kernels.layout import TOLERANCE, Best, Task, reference
from cloister.kernels.segments import Workspace

from .greedy import descents
from .problem import Candidate, SearchProblem, best_of, distinct_levels, part_of


class Bounded(Protocol):
    """A set of transformations, and a lower bound on their losses."""

    @property
    def bound(self) -> float:
        """Lower bound on the loss of each."""


Waiting = TypeVar("Waiting", bound=Bounded)


class Frontier(Generic[Waiting]):
    """Waiting boxes, lowest bound first; candidates for the best transformation; and statistics.

    Parameters
    ----------
    first : a safe transformation; None if none is known
    """

    def __init__(self, problem: SearchProblem, first: Candidate | None) -> None:
        self._problem = problem
        self._levels = distinct_levels(problem)
        self.task = part_of(problem.task, np.arange(len(self._levels)), self._levels)
        self.statistics = np.zeros(STATISTICS, dtype=np.int64)
        self._found: dict[tuple[int, ...], Candidate] = {}
        self._waiting: list[tuple[float, int, Waiting]] = []
        self._order = count()
        if first is not None:
            self.suggest(first)

    @property
    def whole(self) -> Box:
        """The box of all transformations."""
        heights = self.task.maps.heights
        return Box(np.zeros_like(heights), heights - 1, 0.0, 0)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def checked(self) -> int:
        """The number of transformations or boxes decided by counting records."""
        return int(self.statistics[COUNTED] + self.statistics[MEASURED])

    @property
    def is_decided(self) -> bool:
        """Whether no relevant box is waiting."""
        # The least loss may have fallen since a box was pushed.
        while self._waiting and not self._matters(self._waiting[0][2]):
            heapq.heappop(self._waiting)
        return not self._waiting

    def push(self, box: Waiting) -> None:
        """Add a box unless its bound exceeds the best loss found."""
        if self._matters(box):
            # The count decides among equal bounds, so that boxes themselves are never compared.
            heapq.heappush(self._waiting, (box.bound, next(self._order), box))

    def pop(self) -> Waiting | None:
        """Remove the relevant box with the lowest bound, and return it."""
        return None if self.is_decided else heapq.heappop(self._waiting)[2]

    @property
    def least(self) -> float:
        """Least loss found; infinite before the first."""
        return min((candidate.loss for candidate in self._found.values()), default=math.inf)

    def best(self) -> Candidate | None:
        """Return the best transformation found; None if there is none."""
        return best_of(list(self._found.values())) if self._found else None

    def reference(self) -> Best:
        """Return the reference for workers: the least loss, and its transformation that wins ties."""
        is_final = self._problem.evaluator is None
        if not self._found:
            return reference(math.inf, 0, [0] * len(self._levels), is_final=is_final)
        candidate = min(self._found.values(), key=lambda c: (c.loss, c.tie_break))
        return reference(candidate.loss, candidate.suppressed, self._index(candidate.levels), is_final=is_final)

    def bound(self, running: Sequence[float]) -> float:
        """Least loss that any transformation can have, given the bounds of the boxes being worked on."""
        waiting = [self._waiting[0][0]] if self._waiting else []
        return min([self.least, *waiting, *running])

    def learn(self, best: Best, statistics: NDArray[np.int64], left: Sequence[Waiting]) -> None:
        """Add the results of a worker: candidates, counts and unfinished boxes."""
        self.statistics += statistics
        for index in best.found[: int(best.n_found[0])].tolist():
            self._keep(self.measure(index))
        for box in left:
            self.push(box)

    def measure(self, index: Sequence[int]) -> Candidate:
        """Measure a transformation given by indices into the levels worth trying."""
        return self._problem.measure(self._levels_named(index))

    def suggest(self, candidate: Candidate) -> None:
        """Add a safe transformation found elsewhere; a level that merges nothing is replaced by the one below it."""
        levels = self._levels_named(self._index(candidate.levels))
        self._keep(candidate if levels == candidate.levels else self._problem.measure(levels))

    def _keep(self, candidate: Candidate) -> None:
        """Keep a transformation, and of all only those that lose no more than the least."""
        self._found[candidate.levels] = candidate
        limit = self.least + TOLERANCE
        self._found = {levels: kept for levels, kept in self._found.items() if kept.loss <= limit}

    def _matters(self, box: Waiting) -> bool:
        # A box that can only tie matters as well: the tie break may choose a transformation of it.
        return box.bound <= self.least + TOLERANCE

    def _levels_named(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the levels that these are of those worth trying."""
        return tuple(own[i] for own, i in zip(self._levels, index, strict=True))

    def _index(self, levels: Sequence[int]) -> list[int]:
        """Write levels in terms of those worth trying."""
        # A level that merges nothing counts as the one below it.
        return [sum(level <= own for level in chosen) - 1 for own, chosen in zip(levels, self._levels, strict=True)]


@dataclass(frozen=True)
class Explored:
    """The results of exploring a box."""

    best: Best  # what was known of good transformations, and what was found
    statistics: NDArray[np.int64]  # (STATISTICS,) what was done; see `cloister.kernels.boxes`
    left: list[Box]
    workspace: Workspace  # the memory used, for the next box


def explore_box(task: Task, workspace: Workspace, box: Box, best: Best, work: int) -> Explored:
    """Search one box for about so many visits of row groups; for more, with more memory, where that changed nothing.

    A box of which something was handed over never comes back as it was: it was cut before, or is done with.
    """
    statistics = np.zeros(STATISTICS, dtype=np.int64)
    while True:
        left = explore(task, workspace, box, best, statistics, work)
        # Alone and as it was, a box ran out of work or memory before it was cut: with the same it would do so again.
        is_same = len(left) == 1 and all(map(np.array_equal, (left[0].lower, left[0].upper), (box.lower, box.upper)))
        if not is_same:
            return Explored(best, statistics, left, workspace)
        workspace, work = Workspace(task, 2 * workspace.lists), 2 * work


WORK = 60_000_000
"""Visits of row groups of one step: some tenths of a second."""

SMALLEST, DESCENTS = 6, 3
"""Attributes of the first groups, and descents that each group makes."""


def projected_bounds(problem: SearchProblem) -> Iterator[float]:
    """Yield lower bounds on the loss of every safe transformation, never falling; each after a short piece of work.

    For lattices that no search sees the end of, from some of the attributes at a time. What a transformation suppresses
    because a class is too small in some attributes, it suppresses in all of them: a class only splits as further ones
    distinguish records. So a safe transformation is safe in every projection, and loses there no more than it does in
    the same attributes of the whole table. The attributes are dealt into groups, each is searched by itself, and what
    they lose at least adds up to a bound for the table.

    *Guarantee*: no transformation that suppresses no more than the limit loses less than any of them. Holds for all
    rules, as class size is the only one that is looked at. Ends when two groups of half the attributes are decided.

    Parameters
    ----------
    problem : its loss a mean of attribute losses

    References
    ----------
    Additive pattern databases bound a search in the same way: Korf, Felner (2002), "Disjoint pattern database
    heuristics", Artificial Intelligence 134:9-22. Their use for generalization lattices is ours.
    """
    by_size = replace(problem, evaluator=None)
    if not by_size.is_safe(by_size.measure(problem.top)):
        return  # nothing is safe, and there is nothing to bound
    least = 0.0
    for n_groups in range(len(problem.names) // SMALLEST, 1, -1):
        terms = 0.0
        # One after the other: each holds as much memory as a thread of the search.
        for attributes in _dealt(problem, n_groups):
            group = _Group(problem, attributes)
            while not group.is_decided:
                group.step()
                least = max(least, _loss(problem, terms + group.least_terms))
                yield least
            terms += group.least_terms


class _Group:
    """A group of attributes, searched separately."""

    def __init__(self, problem: SearchProblem, attributes: NDArray[np.int64]) -> None:
        self._problem = project_problem(problem, attributes)
        self._frontier: Frontier[Box] = Frontier(self._problem, None)
        self._frontier.push(self._frontier.whole)
        self._descents = islice(descents(self._problem), DESCENTS)
        self._workspace = Workspace(self._frontier.task)

    @property
    def is_decided(self) -> bool:
        """Whether no transformation of these attributes loses less than the best known."""
        return self._frontier.is_decided

    @property
    def least_terms(self) -> float:
        """What these attributes lose at least, as it adds up over attributes."""
        bound = self._frontier.bound([])
        return math.log1p(bound) if self._problem.task.costs.geometric else bound

    def step(self) -> None:
        """Search the box of the lowest bound for some tenths of a second, after a descent for what it need not see."""
        for candidate in islice(self._descents, 1):
            self._frontier.suggest(candidate)
        box = self._frontier.pop()
        if box is not None:
            found = explore_box(self._frontier.task, self._workspace, box, self._frontier.reference(), WORK)
            self._workspace = found.workspace
            self._frontier.learn(found.best, found.statistics, found.left)


def project_problem(problem: SearchProblem, attributes: NDArray[np.int64]) -> SearchProblem:
    """Return the problem for some attributes only, with their weights among all.

    Of the rules, what they ask of class sizes at least.
    """
    heights = problem.task.maps.heights[attributes].tolist()
    task = part_of(problem.task, attributes, [list(range(height)) for height in heights])

    def aggregate(losses: Sequence[float]) -> float:
        terms = np.log1p(losses) if task.costs.geometric else np.asarray(losses)
        return _loss(problem, float(task.costs.weight @ terms))

    return SearchProblem(
        names=tuple(problem.names[j] for j in attributes),
        task=task,
        aggregate=aggregate,
        lowest=problem.lowest[attributes],
        highest=problem.highest[attributes],
        row_of_record=problem.row_of_record,
    )


def _loss(problem: SearchProblem, terms: float) -> float:
    """Return the loss from a sum of terms."""
    return math.expm1(terms) if problem.task.costs.geometric else terms


def _dealt(problem: SearchProblem, n_groups: int) -> list[NDArray[np.int64]]:
    """Deal the attributes into groups that distinguish about equally many records: by entropy, there and back."""
    task, entropy = problem.task, []
    for codes in task.rows.codes:
        share = np.bincount(codes, weights=task.rows.records) / task.threshold.n_records
        entropy.append(-float(np.sum(share[share > 0] * np.log2(share[share > 0]))))
    place = np.argsort(-np.array(entropy), kind="stable")
    turn, at = np.divmod(np.arange(place.size), n_groups)
    group = np.where(turn % 2 == 0, at, n_groups - 1 - at)
    return [np.sort(place[group == one]) for one in range(n_groups)]
