"""Top-down specialization: one cut through each hierarchy for all records, refined label by label."""

import heapq
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.classes import classes_of
from cloister.search.greedy import descents
from cloister.search.search_run import no_safe_transformation

from .table_recoding import SUPPRESSED, Partition, TableRecoding

DESCENTS = 40  # that begin the second time: on tables of nine columns some hundredths of a second
EVERY = slice(None)
LEAST_GAIN = 1e-9  # in records lost entirely; less is rounding


class CutLabel(NamedTuple):
    """A label of a cut; all values below it are released as this label."""

    attribute: int
    level: int
    code: int


def specialize(recoding: TableRecoding) -> Partition:
    """Return a partition in which every value has the same label in all records: full-subtree generalization.

    Begins with the highest levels allowed, and again with the best transformation that greedy descents find; what
    loses less is returned. Labels are tried in the order of the loss that their replacement by the labels
    below saves, counted over all their records, the greatest first. A label is replaced if every class that this splits
    satisfies the rules, or if what has to be suppressed stays within the limit and costs less than is saved; otherwise
    it stays for good.

    *Guarantee*: every class satisfies all rules about classes, and the table those about the table, and no more
    records are suppressed than the limit; if a label covers different sets at different levels, `settle` may
    suppress further classes. Labels of a column exclude each other, so that counts add up. The classes do not depend
    on the order of the records. Not promised: the least loss, as no replacement is undone. Cost: one pass over the
    rows for each label of the hierarchies.

    Source: Fung, Wang, Yu (2005), "Top-down specialization for information and privacy preservation", ICDE.
    Deviations: the score is the loss saved, since there is no class to be predicted, not the gain of information about
    one for the anonymity lost; records may be suppressed; any rules are allowed; hierarchies of numbers are given, not
    grown.
    """
    problem = recoding.problem
    if not problem.is_safe(problem.measure(problem.top)):
        raise no_safe_transformation(problem, complete=True)
    best = min(islice(descents(problem), DESCENTS), key=lambda candidate: (candidate.loss, candidate.tie_break))
    starts = [problem.top, best.levels]
    found = [recoding.settle(lower_levels(recoding, levels)) for levels in dict.fromkeys(starts)]
    return min(found, key=recoding.measure)


def lower_levels(recoding: TableRecoding, levels: Sequence[int]) -> Partition:
    """Return a transformation after all safe and worthwhile replacements, in order of saved loss."""
    cuts = _Cuts(recoding, levels)
    waiting = [entry for j, level in enumerate(levels) for entry in cuts.nodes(j, level)]
    heapq.heapify(waiting)
    while waiting:
        node = heapq.heappop(waiting)[-1]
        rows = cuts.rows_of(node)
        if cuts.lower(node, rows):
            for entry in cuts.nodes(node.attribute, node.level - 1, rows):
                heapq.heappush(waiting, entry)
    return cuts.partition()


Entry = tuple[float, int, int, str, CutLabel]


class _Cuts:
    """The label of each row in each attribute, and the classes that these make; -1 where a row is suppressed."""

    def __init__(self, recoding: TableRecoding, levels: Sequence[int]) -> None:
        self._recoding = recoding
        self._task = recoding.problem.task
        every = np.arange(recoding.n_rows)
        self._level = np.tile(np.array(levels)[:, None], (1, every.size))
        self._code = np.stack([recoding.at(j, level, every) for j, level in enumerate(levels)])
        prices = [self._price(j, level, codes) for j, (level, codes) in enumerate(zip(levels, self._code, strict=True))]
        self._lost = np.sum(prices, axis=0)  # by each row, if it is released
        self._class_of_row = recoding.full_domain(levels, recoding.problem.kept_rows(levels)).class_of_row

    def rows_of(self, node: CutLabel) -> NDArray[np.int64]:
        """Return the rows that have this label."""
        j = node.attribute
        return np.flatnonzero((self._level[j] == node.level) & (self._code[j] == node.code))

    def nodes(self, j: int, level: int, rows: NDArray[np.int64] | slice = EVERY) -> list[Entry]:
        """Return the labels of some rows at a level of an attribute, if they can be replaced, and their order."""
        if level == self._recoding.problem.lowest[j]:
            return []
        nodes = [CutLabel(j, level, code) for code in np.unique(self._code[j, rows]).tolist()]
        labels = self._recoding.coded[j].labels[level]
        return [(-self._loss_saved(node), j, level, labels[node.code] or "", node) for node in nodes]

    def lower(self, node: CutLabel, rows: NDArray[np.int64]) -> bool:
        """Replace a label by those below it, if that is safe and worth it; return whether it was."""
        j, below = node.attribute, self._recoding.at(node.attribute, node.level - 1, rows)
        classes = self._class_of_row.copy()
        there = classes[rows] != SUPPRESSED
        numbers, n_classes = classes_of([classes[rows[there]], below[there]])
        holds = self._recoding.checker.holds(rows[there], numbers, n_classes)
        kept = np.where(holds[numbers], numbers, SUPPRESSED)
        classes[rows[there]] = np.where(kept == SUPPRESSED, SUPPRESSED, kept + classes.max() + 1)
        records, gone = self._task.rows.records, rows[there][kept == SUPPRESSED]
        saved = self._price(j, node.level, self._code[j, rows]) - self._price(j, node.level - 1, below)
        gain = float((records[rows] * saved)[classes[rows] != SUPPRESSED].sum())
        if gone.size:
            gain -= float((records[gone] * (1.0 - self._lost[gone])).sum())
            suppressed = int(records[classes == SUPPRESSED].sum())
            if suppressed > self._recoding.problem.limit or gain <= LEAST_GAIN:
                return False
        if not self._satisfies_table(classes):
            return False
        self._class_of_row = classes
        self._level[j, rows], self._code[j, rows] = node.level - 1, below
        self._lost[rows] -= saved
        return True

    def partition(self) -> Partition:
        """Return the classes."""
        _, first, place = np.unique(self._class_of_row, return_index=True, return_inverse=True)
        is_there = self._class_of_row[first] != SUPPRESSED  # suppressed rows come first, if there are any
        return Partition((place - (not is_there.all())).astype(np.int64), self._level[:, first[is_there]].T.copy())

    def _satisfies_table(self, classes: NDArray[np.int64]) -> bool:
        checker = self._recoding.checker
        if not checker.has_table_rules:
            return True
        rows = np.flatnonzero(classes != SUPPRESSED)
        sizes = checker.records(rows, *classes_of([classes[rows]]))
        return checker.count_suppressed(np.sort(sizes)) == 0

    def _price(self, attribute: int, level: int, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """What these labels lose, weighted."""
        costs = self._task.costs
        leaves = costs.leaves[costs.start[attribute, level] + codes]
        price: NDArray[np.float64] = costs.weight[attribute] * leaves / costs.domain[attribute]
        return price

    def _loss_saved(self, node: CutLabel) -> float:
        """What all records of a label lose less by those below it; whole leaves, so that no order of rows matters."""
        costs, rows, (j, level, code) = self._task.costs, self.rows_of(node), node
        below = costs.leaves[costs.start[j, level - 1] + self._recoding.at(j, level - 1, rows)]
        saved = self._task.rows.records[rows] @ (costs.leaves[costs.start[j, level] + code] - below)
        return round(float(costs.weight[j]) * int(saved) / int(costs.domain[j]), 12)
