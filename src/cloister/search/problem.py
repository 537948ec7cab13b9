"""The input of a search: a lattice of transformations, their losses and numbers of suppressed records. Never rows.

Also the progress report of a running search.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.classes import Measured, class_sizes, distinct_rows, measure
from cloister.kernels.layout import TOLERANCE, LevelMaps, Task, key_strides, make_task
from cloister.results import Levels, SearchResult, SearchStatistics

Aggregate = Callable[[Sequence[float]], float]
"""Loss of a release from the losses of its attributes, in the order of the problem."""


@dataclass(frozen=True)
class Candidate:
    """One transformation, measured."""

    levels: tuple[int, ...]  # level of each attribute, as the user counts levels
    suppressed: int  # records in classes that violate a rule
    kept: int  # classes that satisfy all rules
    # loss of each attribute in [0, 1], suppressed records counted as 1; empty if the loss is not made of them
    losses: tuple[float, ...]
    loss: float  # of the release
    bound: float  # what this transformation and every coarser one loses at least, by generalization alone
    least_suppressed: int  # records that this transformation and every finer one suppresses at least
    smallest: int  # records of the smallest class, before suppression

    @property
    def tie_break(self) -> tuple[int, int, tuple[int, ...]]:
        """Order among equal losses: fewer suppressed, lower rank, smaller level vector in column-name order."""
        return self.suppressed, sum(self.levels), self.levels


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate of least loss; losses within 1e-12 of the least are equal and decided by the tie break."""
    least = min(candidate.loss for candidate in candidates)
    return min((c for c in candidates if c.loss <= least + TOLERANCE), key=lambda c: c.tie_break)


class Evaluator(Protocol):
    """Measures transformations if class size does not decide alone, or the loss is not a mean of attribute losses."""

    def measure(self, levels: Sequence[int]) -> Candidate:
        """Suppress the records that violate a rule under one transformation, and measure the loss."""

    def kept_rows(self, levels: Sequence[int]) -> NDArray[np.bool_]:
        """Return whether each distinct row is kept under one transformation."""


@dataclass(frozen=True)
class SearchProblem:
    """A lattice over quasi-identifiers in the order of their names' UTF-8 bytes."""

    names: tuple[str, ...]
    task: Task  # the arrays that kernels work on; its threshold is what the rules ask of class sizes at least
    aggregate: Aggregate  # loss of a release from the losses of its attributes
    lowest: NDArray[np.int64]  # lowest, highest: (n_attributes,) levels that a transformation may have
    highest: NDArray[np.int64]
    row_of_record: NDArray[np.int64]  # (n_records,) distinct row of each record
    requirement: str = "the rules"  # what is asked of classes, in words
    # measures transformations; None where class size and the mean of attribute losses are all there is
    evaluator: Evaluator | None = None
    # whether "not safe" holds for all finer transformations as well, and "safe" for all coarser ones
    is_monotone: bool = True
    is_nested: bool = True  # whether what a transformation keeps, every coarser one keeps as well
    is_mean_loss: bool = True  # whether the loss is a mean of the attribute losses in ``task.costs``
    # whether the loss is the same however many records are suppressed, and equal losses of two transformations, one
    # coarser, mean that both release the same
    ignores_suppression: bool = False

    @property
    def limit(self) -> int:
        """The maximum number of suppressed records."""
        return self.task.threshold.limit

    @cached_property
    def lattice(self) -> int:
        """The number of transformations that may be chosen."""
        return math.prod((self.highest - self.lowest + 1).tolist())

    def transformations(self) -> Iterator[tuple[int, ...]]:
        """All transformations, in the order of their level vectors."""
        ranges = [range(low, high + 1) for low, high in zip(self.lowest.tolist(), self.highest.tolist(), strict=True)]
        return product(*ranges)

    @property
    def top(self) -> tuple[int, ...]:
        """The most general transformation."""
        return tuple(self.highest.tolist())

    @property
    def has_monotone_loss(self) -> bool:
        """Whether a coarser safe transformation never loses less than a finer safe one."""
        return self.limit == 0 or self.ignores_suppression

    def distinct(self, attribute: int, level: int) -> int:
        """Return how many labels an attribute has at a level, among the values present."""
        return int(self.task.maps.sizes[attribute, level])

    def measure(self, levels: Sequence[int]) -> Candidate:
        """Suppress the records that violate a rule under one transformation, and measure the loss."""
        if self.evaluator is not None:
            return self.evaluator.measure(levels)
        task = self.task
        at = np.array(levels, dtype=np.int64)
        return self.candidate(levels, measure(task.rows, task.maps, task.costs, at, task.threshold))

    def candidate(self, levels: Sequence[int], found: Measured) -> Candidate:
        """Create a candidate from counts; valid if class sizes and mean attribute losses decide everything."""
        task = self.task
        losses = attribute_losses(task, found.leaves.tolist(), found.suppressed)
        return Candidate(
            levels=tuple(levels),
            suppressed=found.suppressed,
            kept=found.n_classes,
            losses=losses,
            loss=self.aggregate(losses),
            # Generalization alone never loses less at a coarser transformation; suppression may, so it stays out.
            bound=self.aggregate(task.costs.mean[np.arange(len(levels)), levels].tolist()),
            # At finer transformations classes only split, so that those too small here are too small there.
            least_suppressed=found.suppressed,
            smallest=found.smallest,
        )

    def kept_rows(self, levels: Sequence[int]) -> NDArray[np.bool_]:
        """Return whether each distinct row is kept under one transformation."""
        if self.evaluator is not None:
            return self.evaluator.kept_rows(levels)
        at = np.array(levels, dtype=np.int64)
        return class_sizes(self.task.rows, self.task.maps, at) >= self.task.threshold.k

    def is_safe(self, candidate: Candidate) -> bool:
        """Whether a transformation suppresses no more than allowed and leaves something to release."""
        # An empty release keeps to every rule about its classes, and is of no use.
        return candidate.suppressed <= self.limit and candidate.kept > 0

    def by_name(self, levels: Sequence[int]) -> dict[str, int]:
        """Level vector as a mapping from column name to level."""
        return dict(zip(self.names, levels, strict=True))

    def result(
        self,
        best: Candidate,
        *,
        bound: float | None,
        checked: int,
        started: float,
        statistics: SearchStatistics | None = None,
        minimal: tuple[Levels, ...] = (),
    ) -> SearchResult:
        """Return the result of a search.

        Parameters
        ----------
        bound : proven lower bound on the loss of any safe transformation; None where ``best`` is proven to be the best
        started : when the search began, as `time.perf_counter` tells it
        """
        return SearchResult(
            levels=self.by_name(best.levels),
            loss=best.loss,
            suppressed=best.suppressed,
            bound=best.loss if bound is None else min(bound, best.loss),
            optimal=bound is None,
            lattice=self.lattice,
            checked=checked,
            seconds=time.perf_counter() - started,
            statistics=statistics,
            minimal=minimal,
        )


def attribute_losses(task: Task, leaves: Sequence[int], suppressed: int) -> tuple[float, ...]:
    """Return the loss of each attribute in [0, 1], suppressed records counted as lost entirely.

    Parameters
    ----------
    leaves : what the records kept lose in each attribute, in leaves
    """
    n = task.threshold.n_records
    return tuple(
        (lost + suppressed * domain) / (n * domain)
        for lost, domain in zip(leaves, task.costs.domain.tolist(), strict=True)
    )


def distinct_levels(problem: SearchProblem) -> list[list[int]]:
    """Levels worth trying for each attribute.

    A level that merges no values that occur has the classes of the level below it, costs no less and has a higher
    rank: it can never be the answer.
    """
    sizes = problem.task.maps.sizes
    worth = []
    for j, (low, high) in enumerate(zip(problem.lowest.tolist(), problem.highest.tolist(), strict=True)):
        rising = [level for level in range(low + 1, high + 1) if sizes[j, level] < sizes[j, level - 1]]
        worth.append([low, *rising])
    return worth


def part_of(task: Task, attributes: NDArray[np.int64], levels: list[list[int]]) -> Task:
    """Return the task of some attributes with only these of their levels, rows encoded at the lowest of them."""
    n_levels = max(len(chosen) for chosen in levels)
    # Padding by the last level keeps the arrays rectangular; no box reaches beyond the height.
    index = np.array([chosen + chosen[-1:] * (n_levels - len(chosen)) for chosen in levels], dtype=np.int64)
    of = attributes[:, None]
    full = task.maps
    sizes = full.sizes[of, index]
    stride, exact = key_strides(sizes[:, 0])
    maps = LevelMaps(
        up=full.up,
        start=np.ascontiguousarray(full.start[of[:, :, None], index[:, :, None], index[:, None, :]]),
        sizes=sizes,
        heights=np.array([len(chosen) for chosen in levels], dtype=np.int64),
        number=full.number[of, index],
        stride=stride,
        exact=exact,
    )
    costs = task.costs._replace(
        start=np.ascontiguousarray(task.costs.start[of, index]),
        domain=task.costs.domain[attributes],
        mean=np.ascontiguousarray(task.costs.mean[of, index]),
        worst=np.ascontiguousarray(task.costs.worst[of, index]),
        weight=task.costs.weight[attributes],
    )
    rows = task.rows
    if index[:, 0].any() or attributes.size < full.heights.size:
        codes = [
            full.up[full.start[j, 0, i] + task.rows.codes[j]] for j, i in zip(attributes, index[:, 0], strict=True)
        ]
        rows = distinct_rows(np.stack(codes), maps, task.rows.records).rows
    return make_task(rows, maps, costs, task.threshold)


@dataclass(frozen=True)
class Progress:
    """The state of a running search."""

    seconds: float  # since the search began
    loss: float  # least loss found so far
    bound: float  # proven lower bound on the loss so far
    remaining: int  # parts of the lattice still to be decided
    checked: int  # transformations or sets of transformations decided by counting records


Report = Callable[[Progress], None]
