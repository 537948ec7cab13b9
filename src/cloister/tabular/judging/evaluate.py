"""What one policy suppresses and loses, under any rules and any loss."""

from collections.abc import Callable, Sequence
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.classes import Grouping, group, leaves_lost
from cloister.kernels.layout import Task
from cloister.search.problem import Aggregate, Candidate, attribute_losses
from cloister.utility import AttributeLoss, Generalized, Logarithms, Loss

from ..coding import Coded
from .judge import Judge


class PolicyEvaluator:
    """Measures policies for a search that cannot do so by class sizes and mean losses alone.

    Parameters
    ----------
    coded : ladders of the attributes, in the order of the problem
    judge : tells which classes are kept
    loss : what is minimized
    aggregate : loss of a release from the losses of its attributes
    weights : (n_attributes,) of the attributes
    """

    def __init__(
        self,
        task: Task,
        coded: Sequence[Coded],
        judge: Judge,
        loss: Loss,
        aggregate: Aggregate,
        weights: NDArray[np.float64],
    ) -> None:
        self._task = task
        self._coded = coded
        self._judge = judge
        self._loss = loss
        self._aggregate = aggregate
        self._weights = weights

    def kept_rows(self, levels: Sequence[int]) -> NDArray[np.bool_]:
        """Return whether each distinct row is kept under one policy."""
        grouping = self._group(levels)
        return self._judge.keeps(grouping, levels)[grouping.labels]

    def measure(self, levels: Sequence[int]) -> Candidate:
        """Suppress what violates a rule under one policy, and say what that loses."""
        grouping = self._group(levels)
        is_kept = self._judge.keeps(grouping, levels)
        suppressed = int(grouping.sizes[~is_kept].sum())
        losses: tuple[float, ...] = ()
        if isinstance(self._loss, AttributeLoss):
            losses = self._attribute_losses(levels, is_kept[grouping.labels], suppressed)
            loss = self._aggregate(losses)
            bound = self._aggregate(self._task.costs.mean[np.arange(len(levels)), levels].tolist())
        else:
            loss, bound = self._loss.measure(self._generalized(grouping, levels, is_kept))
        # Where rules are not monotone, only what class sizes rule out holds for finer policies as well.
        too_small = grouping.sizes < self._task.threshold.k
        least = suppressed if self._judge.is_monotone else int(grouping.sizes[too_small].sum())
        smallest = int(grouping.sizes.min())
        return Candidate(tuple(levels), suppressed, int(is_kept.sum()), losses, loss, bound, least, smallest)

    def _group(self, levels: Sequence[int]) -> Grouping:
        return group(self._task.rows, self._task.ladders, np.array(levels, dtype=np.int64))

    def _attribute_losses(
        self, levels: Sequence[int], is_kept_row: NDArray[np.bool_], suppressed: int
    ) -> tuple[float, ...]:
        task = self._task
        lost = leaves_lost(task.rows, task.ladders, task.costs, np.array(levels, dtype=np.int64), is_kept_row)
        return attribute_losses(task, lost.tolist(), suppressed)

    def _generalized(self, grouping: Grouping, levels: Sequence[int], is_kept: NDArray[np.bool_]) -> Generalized:
        rows = self._task.rows
        return Generalized(
            sizes=grouping.sizes,
            is_kept=is_kept,
            records=rows.records,
            is_kept_row=is_kept[grouping.labels],
            domains=self._domains,
            weights=self._weights,
            log_leaves=lambda: self._of_rows(self._log_leaves, levels),
            log_label_records=lambda: self._of_rows(self._log_records, levels),
            log_value_records=lambda: self._of_rows(self._log_records, [0] * len(levels)),
        )

    @cached_property
    def _domains(self) -> NDArray[np.int64]:
        return np.array([c.ladder.n_leaves for c in self._coded], dtype=np.int64)

    def _of_rows(self, of_codes: Callable[[int, int], Logarithms], levels: Sequence[int]) -> Logarithms:
        """What each attribute's code at level 0 stands for, by row."""
        codes = self._task.rows.codes
        return np.stack([of_codes(j, level)[codes[j]] for j, level in enumerate(levels)])

    @cache  # noqa: B019  (lives as long as the search)
    def _log_leaves(self, attribute: int, level: int) -> Logarithms:
        """Logarithm of the leaves that the label of each code at level 0 covers."""
        coded = self._coded[attribute]
        return np.log(coded.leaves[level])[coded.rise(0, level)]

    @cache  # noqa: B019
    def _log_records(self, attribute: int, level: int) -> Logarithms:
        """Logarithm of the records that share the label of each code at level 0; 0 where there are none."""
        rows, up = self._task.rows, self._coded[attribute].rise(0, level)
        # Weights are added up as floating-point numbers, exact below 2**53 records.
        shared = np.bincount(up[rows.codes[attribute]], weights=rows.records, minlength=int(up.max()) + 1)
        return np.log(np.maximum(shared, 1.0))[up]
