"""Split a table by questions whose refusals reveal nothing exactly: what follows from a release stays open.

Other methods give a class the lowest labels that its records share. Who knows that learns from each label that a finer
one was impossible: a `*` for sex in a class of two is a woman and a man (*downcoding*, Cohen 2022). Here a table is
split by questions: "which values below this label have enough records of this part to be a part of their own?" Which
question comes next depends on the answers so far, never on records that they do not show; and a question is not asked
if an answer could leave only one possibility for the records of a class. Such an auditor is *simulatable*: whoever sees
the answers could have asked the same questions, so that a refusal reveals no more than its answer does.

The records of a part whose question was refused keep the coarser label. They form a *region*, in which one value is
frequent and fewer than `Region.threshold` records have another. Smaller parts of a region may be asked once more, but
only whether all their records have the frequent value; each refusal shows at least one record that has not. While
fewer of these are shown than there may be, any part of the region can have one more or one less.

*Guarantee* (`docs/decisions/0025-simulatable-splits.md` has the proof): for every class and every column whose label
is not of the lowest level allowed, at least two distributions of its records on the finer labels are consistent with
the release, for someone who knows the method, its settings, the hierarchies and every answer. Not guaranteed against
someone who also knows which values occur in the table, or the values of some of its patients.

Source: Kenthapadi, Mishra, Nissim (2005), "Simulatable auditing", PODS: the idea of refusals that do not depend on
hidden values. LeFevre, DeWitt, Ramakrishnan (2006): top-down splits. The questions and the proof are ours.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from .table_recoding import SUPPRESSED, Partition, TableRecoding

Integers = NDArray[np.int64]

RECORDS_PER_DOUBT = 1000
"""A part has one record more of doubt for so many records: with k alone, four rare ones close a part of thousands."""


@dataclass(frozen=True, eq=False)
class CodedColumns:
    """Distinct rows of a table as numbers.

    Attributes
    ----------
    codes : (n_columns, n_rows) number of the value of each row
    records : (n_rows,) records of each row
    maps : for each column (n_levels, n_values), number of the label of each value at each level
    losses : for each column (n_levels, n_values), what that label loses, of the hierarchy alone: it orders questions
    lowest, highest : (n_columns,) levels that are allowed
    """

    codes: Integers
    records: Integers
    maps: Sequence[Integers]
    losses: Sequence[NDArray[np.float64]]
    lowest: Integers
    highest: Integers

    def labels(self, column: int, level: int, rows: Integers) -> Integers:
        """Return the number of the label of each of these rows."""
        found: Integers = self.maps[column][level][self.codes[column, rows]]
        return found


@dataclass(eq=False)
class Region:
    """Records that keep a label of a column, because a question about it was refused.

    Attributes
    ----------
    frequent : the finer label to which parts may be narrowed; None if none is frequent
    threshold : more than the records that have another finer label
    most : how many of these may be shown at most
    shown : of how many it is known that they are there: disjoint parts which have one each
    open : records that still have the label
    """

    frequent: int | None
    threshold: int
    most: int
    open: int
    shown: int = 1


@dataclass(eq=False)
class Refusal:
    """A part of a region that was asked in vain; whether a smaller part of it was, too."""

    region: Region
    is_shown_within: bool = False

    def may_ask(self, n: int) -> bool:
        """Return whether no answer about a smaller part of ``n`` records could leave only one possibility."""
        shown = self.region.shown + self.is_shown_within
        return shown < self.region.most and self.region.open - n >= self.region.threshold

    def refuse(self) -> "Refusal":
        """Note that a smaller part was asked in vain, and return its refusal."""
        self.region.shown += self.is_shown_within
        self.is_shown_within = True
        return Refusal(self.region)


@dataclass(frozen=True, eq=False)
class AskedPart:
    """Rows that share a label in every column: its level, refusals by column, and columns not to be asked again."""

    rows: Integers
    n: int
    levels: tuple[int, ...]
    refusals: dict[int, Refusal] = field(default_factory=dict)
    refused: frozenset[int] = frozenset()

    def lower(self, column: int) -> "AskedPart":
        """Return the part at the next lower level of a column, at which its rows agree as well."""
        levels = (*self.levels[:column], self.levels[column] - 1, *self.levels[column + 1 :])
        kept = {other: one for other, one in self.refusals.items() if other != column}
        return replace(self, levels=levels, refusals=kept, refused=self.refused - {column})

    def after_refusal(self, column: int, refusal: Refusal) -> "AskedPart":
        """Return the part after it was asked in vain."""
        return replace(self, refusals={**self.refusals, column: refusal}, refused=self.refused | {column})


def split_simulatably(columns: CodedColumns, k: int) -> list[AskedPart]:
    """Return the classes of a table, for each its rows and levels; see the head of this module.

    Rows whose labels at the highest levels allowed have fewer than k records are in no class.

    ``k``: 3 or more, since of two records that differ there is only one possibility

    Examples
    --------
    >>> ten = np.array([[0, 1, 2], [0, 0, 1]]), np.array([6, 6, 1]), [np.array([[0, 1, 2], [0, 0, 0]])] * 2
    >>> table = CodedColumns(*ten, [np.array([[0.0] * 3, [1.0] * 3])] * 2, np.zeros(2, int), np.ones(2, int))
    >>> [(part.n, part.levels) for part in split_simulatably(table, 3)]
    [(7, (1, 1)), (6, (0, 1))]
    """
    order = count()
    waiting = [(-part.n, next(order), part) for part in _highest_parts(columns, k)]
    heapq.heapify(waiting)
    done = []
    while waiting:
        part = heapq.heappop(waiting)[-1]
        parts = _ask(columns, part, k)
        if parts is None:
            done.append(part)
        for one in parts or ():
            heapq.heappush(waiting, (-one.n, next(order), one))
    return done


def partition_simulatably(recoding: TableRecoding) -> Partition:
    """Return the partition of a table by questions; see the head of this module."""
    task = recoding.problem.task
    codes, costs = task.rows.codes.astype(np.int64), task.costs
    maps, losses = [], []
    for column, (values, height) in enumerate(zip(codes, task.maps.heights.tolist(), strict=True)):
        n = int(values.max(initial=0)) + 1
        begins = [int(task.maps.start[column, 0, level]) for level in range(height)]
        labels = np.stack([task.maps.up[begin : begin + n] for begin in begins]).astype(np.int64)
        leaves = costs.leaves[costs.start[column, :height, np.newaxis] + labels]
        maps.append(labels)
        # Rounded, so that equal losses are equal however they came about.
        losses.append(np.round(costs.weight[column] * leaves / costs.domain[column], 12))
    columns = CodedColumns(codes, task.rows.records, maps, losses, recoding.problem.lowest, recoding.problem.highest)
    classes = split_simulatably(columns, task.threshold.k)
    class_of_row = np.full(recoding.n_rows, SUPPRESSED, dtype=np.int64)
    for number, part in enumerate(classes):
        class_of_row[part.rows] = number
    levels = [part.levels for part in classes]
    return Partition(class_of_row, np.array(levels, dtype=np.int64).reshape(-1, codes.shape[0]))


def _highest_parts(columns: CodedColumns, k: int) -> Iterator[AskedPart]:
    rows = np.arange(columns.records.size)
    levels = tuple(columns.highest.tolist())
    keys = [columns.labels(column, level, rows) for column, level in enumerate(levels)]
    _, group = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    group = group.reshape(-1)
    for number in range(int(group.max(initial=-1)) + 1):
        own = rows[group == number]
        n = int(columns.records[own].sum())
        if n >= k:
            yield AskedPart(own, n, levels)


def _ask(columns: CodedColumns, part: AskedPart, k: int) -> list[AskedPart] | None:
    """Ask about one column after the other, the costliest label first, until one is split; None if none is."""
    values = columns.codes[:, part.rows[0]].tolist()
    prices = [-columns.losses[column][level][values[column]] for column, level in enumerate(part.levels)]
    for column in np.argsort(prices, kind="stable").tolist():
        if part.levels[column] <= columns.lowest[column] or column in part.refused:
            continue
        labels = columns.labels(column, part.levels[column] - 1, part.rows)
        if column in part.refusals:
            refusal = part.refusals[column]
            if not refusal.may_ask(part.n):
                continue
            if refusal.region.frequent is not None and bool(np.all(labels == refusal.region.frequent)):
                refusal.region.open -= part.n
                return [part.lower(column)]
            part = part.after_refusal(column, refusal.refuse())
            continue
        answer = _answer(columns, part, column, labels, k)
        if column not in answer[0].refused:
            return answer
        part = answer[0]
    return None


def _answer(columns: CodedColumns, part: AskedPart, column: int, labels: Integers, k: int) -> list[AskedPart]:
    """Return the parts with a finer label of a column and, last, the others at the label that they have.

    One part that refuses the column, if no part may get a finer label.
    """
    names, label_of_row = np.unique(labels, return_inverse=True)
    if names.size == 1:
        return [part.lower(column)]
    counts = np.bincount(label_of_row, columns.records[part.rows]).astype(np.int64)
    threshold = k + part.n // RECORDS_PER_DOUBT
    is_apart = choose_apart(counts, threshold)
    others = AskedPart(part.rows, part.n, part.levels, part.refusals)
    parts = []
    for number in sorted(np.flatnonzero(is_apart).tolist(), key=lambda number: (-counts[number], number)):
        own = replace(others, rows=part.rows[label_of_row == number], n=int(counts[number]))
        parts.append(own.lower(column))
    if not is_apart.all():
        left = np.where(is_apart, 0, counts)
        frequent, n = int(left.argmax()), int(left.sum())
        is_frequent = bool(left[frequent] >= threshold)
        most = min(threshold - 1, n - threshold)
        region = Region(int(names[frequent]) if is_frequent else None, threshold, most, n)
        if not parts:
            return [part.after_refusal(column, Refusal(region))]
        rows = part.rows[~is_apart[label_of_row]]
        parts.append(replace(others, rows=rows, n=n).after_refusal(column, Refusal(region)))
    return parts


def choose_apart(counts: Integers, threshold: int) -> NDArray[np.bool_]:
    """Return which finer labels become parts, where others stay at the coarser label together.

    Labels with ``threshold`` records or more do, if the others have as many together, or none. Where these have fewer,
    they keep one of the frequent labels with them: the smallest, if together with it they are not larger than any
    other; else the first. No label does, if it would follow from the parts how many records the others have of each.

    Examples
    --------
    >>> [choose_apart(np.array(counts), 3).tolist() for counts in ([5, 4, 0], [5, 8, 1], [5, 1, 2], [5, 2, 2])]
    [[True, True, True], [False, True, False], [True, False, False], [False, False, False]]
    """
    is_frequent, nobody = counts >= threshold, np.zeros(counts.size, dtype=np.bool_)
    rare = int(counts[~is_frequent].sum())
    if not rare:
        return np.ones(counts.size, dtype=np.bool_)
    frequent = np.flatnonzero(is_frequent)
    if rare >= threshold:
        n_rare = int(np.count_nonzero(counts[~is_frequent]))
        return nobody if rare == n_rare * (threshold - 1) else is_frequent
    if frequent.size < 2:
        return nobody
    together = _with_rare(counts[frequent], rare)
    n = int(counts[frequent[together]]) + rare
    others = np.delete(counts[frequent], together)
    if n > others.min():
        # Together is the first label, and with more rare records it would be as well: with one less than the most?
        fewer = min(threshold - 1, n - threshold) - 1
        if fewer < 1 or _with_rare(np.append(n - fewer, others), fewer) != 0:
            return nobody
    is_frequent[frequent[together]] = False
    return is_frequent


def _with_rare(counts: Integers, rare: int) -> int:
    """Return which of the frequent labels stays with the rare ones."""
    smallest = int(counts.argmin())
    return smallest if counts[smallest] + rare <= np.delete(counts, smallest).min() else 0
