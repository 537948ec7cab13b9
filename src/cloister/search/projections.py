"""Lower bounds on the loss from some of the attributes at a time, for lattices that no search sees the end of.

What a transformation suppresses because a class is too small in some of its attributes, it suppresses in all of them: a
class only splits as further attributes tell records apart. So a safe transformation is safe in every projection, and
loses there no more than it does in the same attributes of the whole table. The attributes are dealt into groups, each
group is searched by itself, and what the groups lose at least adds up to a bound for the table.

References
----------
Additive pattern databases bound a search in the same way: Korf, Felner (2002), "Disjoint pattern database heuristics",
Artificial Intelligence 134:9-22. Their use for generalization lattices is ours.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.boxes import Box
from cloister.kernels.classes import distinct_rows
from cloister.kernels.layout import key_strides, make_task
from cloister.kernels.segments import Workspace

from .descent import descents
from .frontier import Frontier, explored
from .problem import SearchProblem

WORK = 60_000_000
"""Visits of row groups of one step: some tenths of a second."""

SMALLEST, DESCENTS = 6, 3
"""Attributes of the first groups, and descents that each group makes."""


def projected_bounds(problem: SearchProblem) -> Iterator[float]:
    """Yield lower bounds on the loss of every safe transformation, never falling; each after a short piece of work.

    *Guarantee*: no transformation that suppresses no more than the limit loses less than any of them. Holds for all
    rules, as class size is the only one that is looked at. Ends when two groups of half the attributes are decided.

    Parameters
    ----------
    problem : its loss a mean of attribute losses
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
    """Some attributes, searched by themselves."""

    def __init__(self, problem: SearchProblem, attributes: NDArray[np.int64]) -> None:
        self._problem = projected(problem, attributes)
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
            found = explored(self._frontier.task, self._workspace, box, self._frontier.reference(), WORK)
            self._workspace = found.workspace
            self._frontier.learn(found.best, found.statistics, found.left)


def projected(problem: SearchProblem, attributes: NDArray[np.int64]) -> SearchProblem:
    """Return the problem of some attributes alone, with the weights that they have among all.

    Of the rules, what they ask of class sizes at least.
    """
    task = problem.task
    sizes = task.maps.sizes[attributes]
    stride, exact = key_strides(sizes[:, 0])
    maps = task.maps._replace(
        start=task.maps.start[attributes],
        sizes=sizes,
        heights=task.maps.heights[attributes],
        number=task.maps.number[attributes],
        stride=stride,
        exact=exact,
    )
    costs = task.costs._replace(
        start=task.costs.start[attributes],
        domain=task.costs.domain[attributes],
        mean=task.costs.mean[attributes],
        worst=task.costs.worst[attributes],
        weight=task.costs.weight[attributes],
    )
    rows = distinct_rows(task.rows.codes[attributes], maps, task.rows.records).rows

    def aggregate(losses: Sequence[float]) -> float:
        terms = np.log1p(losses) if costs.geometric else np.asarray(losses)
        return _loss(problem, float(costs.weight @ terms))

    return SearchProblem(
        names=tuple(problem.names[j] for j in attributes),
        task=make_task(rows, maps, costs, task.threshold),
        aggregate=aggregate,
        lowest=problem.lowest[attributes],
        highest=problem.highest[attributes],
        row_of_record=problem.row_of_record,
    )


def _loss(problem: SearchProblem, terms: float) -> float:
    """The loss that a sum of terms stands for."""
    return math.expm1(terms) if problem.task.costs.geometric else terms


def _dealt(problem: SearchProblem, n_groups: int) -> list[NDArray[np.int64]]:
    """Deal the attributes into groups that tell about as many records apart: by entropy, there and back."""
    task, entropy = problem.task, []
    for codes in task.rows.codes:
        share = np.bincount(codes, weights=task.rows.records) / task.threshold.n_records
        entropy.append(-float(np.sum(share[share > 0] * np.log2(share[share > 0]))))
    place = np.argsort(-np.array(entropy), kind="stable")
    turn, at = np.divmod(np.arange(place.size), n_groups)
    group = np.where(turn % 2 == 0, at, n_groups - 1 - at)
    return [np.sort(place[group == one]) for one in range(n_groups)]
