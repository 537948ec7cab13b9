"""Merging classes, so that fewer codes of their patients are too rare to be counted inside a class."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.shared_labels import Classes, merge_prices
from cloister.utility import AttributeLoss

from .table_recoding import SUPPRESSED, Partition, Recoding

Integers = NDArray[np.int64]
Counts = Counter[int]

NEAREST = 32
"""Classes, nearest by the loss of merging, among which the one is chosen whose codes gain most."""

TINY = 1e-12
"""Losses that differ by less are equal."""


@dataclass(frozen=True, eq=False, repr=False)
class RecordCodes:
    """Codes of the records of a table: the codes ``items[offsets[i]:offsets[i + 1]]`` are those of record ``i``."""

    offsets: Integers
    items: NDArray[np.int32]


@dataclass(frozen=True)
class Merge:
    """Two classes that became one, named by the first, and its levels."""

    kept: int
    gone: int
    levels: tuple[int, ...]


def merge_classes(recoding: Recoding, partition: Partition, codes: RecordCodes, bound: float, k: int) -> Partition:
    """Return the partition with classes merged for the sake of codes, while the loss of the table stays in the bound.

    An occurrence of a code is *hidden* where fewer than k records of its class have the code: it can not be counted
    there. The class with the most hidden occurrences is merged with that of its nearest classes (by the loss of
    merging) that uncovers most for what it loses; until no merge is left that uncovers anything within the bound.

    *Guarantee*: classes only grow, and no label is at a level that is not allowed. Not promised: the fewest hidden
    occurrences for the loss. Cost: for each merge one pass over all classes.

    Parameters
    ----------
    recoding : its loss is a mean of losses of columns
    codes : of all records of the table
    bound : the loss may not pass it; nothing is merged where it does so already
    k : occurrences that a code needs in a class to be counted

    References
    ----------
    Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos (2013), "Anonymizing data with relational and transaction
    attributes", ECML PKDD 2013: RTmerger. There the partner is the one next by both losses; what is lost of codes is
    measured here by what disassociation can not count.
    """
    merger = _Merger(recoding, partition, codes, k)
    merges = list(merger.merges(bound))
    low, high = 0, len(merges)
    while low < high:  # labels that came to look alike can cost more than merging told
        middle = (low + high + 1) // 2
        if recoding.measure(merger.after(merges[:middle])) <= bound + TINY:
            low = middle
        else:
            high = middle - 1
    return merger.after(merges[:low])


class _Merger:
    """The classes of a partition, their labels, losses and codes; those merged into others are gone."""

    def __init__(self, recoding: Recoding, partition: Partition, codes: RecordCodes, k: int) -> None:
        self.recoding = recoding
        self.k = k
        released = recoding.released(partition)
        rank = np.empty(recoding.n_rows, dtype=np.int64)
        rank[recoding.canonical] = np.arange(recoding.n_rows)
        in_order = released.rows[np.argsort(rank[released.rows])]
        class_of = np.full(recoding.n_rows, SUPPRESSED, dtype=np.int64)
        class_of[released.rows] = released.classes
        _, first, place = np.unique(class_of[in_order], return_index=True, return_inverse=True)
        by_first = np.argsort(first)
        number = np.argsort(by_first)
        self.class_of_row = np.full(recoding.n_rows, SUPPRESSED, dtype=np.int64)
        self.class_of_row[in_order] = number[place]
        self.row = in_order[first[by_first]]
        self.n = self.row.size
        levels = partition.levels[partition.class_of_row[self.row]].T.copy()
        self.at_first = levels.T.copy()
        codes_at, costs = self._by_level()
        sizes = recoding.judge.records(in_order, number[place], self.n)
        self.classes = Classes(codes_at, costs, levels, sizes, np.ones(self.n, dtype=np.bool_))
        self.weights = recoding.weights / recoding.weights.sum()
        self.held = self._held(codes)
        self.hidden = np.array([self._hidden(held) for held in self.held], dtype=np.int64)

    def _by_level(self) -> tuple[Integers, NDArray[np.float64]]:
        """Label of each class's first row, and its loss, at each level of each attribute; the top repeated."""
        heights = self.recoding.problem.task.ladders.heights.tolist()
        codes = np.empty((len(heights), max(heights), self.n), dtype=np.int64)
        costs = np.empty(codes.shape)
        for j, height in enumerate(heights):
            for level in range(max(heights)):
                lower = min(level, height - 1)
                codes[j, level] = self.recoding.at(j, lower, self.row)
                costs[j, level] = self._cost_table(j, lower)[codes[j, level]]
        return codes, costs

    def _cost_table(self, attribute: int, level: int) -> NDArray[np.float64]:
        """Loss of each code at a level."""
        labels, loss = self.recoding.labels[attribute], self.recoding.loss
        texts = labels.of_code[level]
        domain = max(1, int(self.recoding.problem.task.costs.domain[attribute]))
        by_level = isinstance(loss, AttributeLoss) and loss.by_level
        table: NDArray[np.float64] = (
            np.full(texts.size, level) if by_level else labels.leaves[level][texts] - 1
        ) / domain
        return table

    def _cost(self, one: int) -> NDArray[np.float64]:
        """Loss of a class's labels, by attribute."""
        attributes = np.arange(self.classes.levels.shape[0])
        cost: NDArray[np.float64] = self.classes.costs[attributes, self.classes.levels[:, one], one]
        return cost

    def _held(self, codes: RecordCodes) -> list[Counts]:
        """How many records of each class have each code."""
        record_class = self.class_of_row[self.recoding.problem.row_of_record]
        owner = np.repeat(record_class, np.diff(codes.offsets))
        known = owner != SUPPRESSED
        width = int(codes.items.max(initial=0)) + 1
        keys, counts = np.unique(owner[known] * width + codes.items[known], return_counts=True)
        held: list[Counts] = [Counter() for _ in range(self.n)]
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            held[key // width][key % width] = count
        return held

    def _hidden(self, held: Counts) -> int:
        return sum(count for count in held.values() if count < self.k)

    def merges(self, bound: float) -> Iterable[Merge]:
        """Carry merges out, one after the other, as long as one is left that uncovers codes within the bound."""
        records, sizes = self.recoding.problem.task.threshold.n_records, self.classes.sizes
        totals = sum((self._cost(one) * sizes[one] for one in range(self.n)), np.zeros(self.weights.size))
        totals += records - sizes.sum()
        is_open = self.hidden > 0
        while is_open.any():
            one = int(np.argmax(np.where(is_open, self.hidden, -1)))
            other, levels, added = self._partner(one)
            if other < 0 or self._loss(totals + added, records) > bound + TINY:
                is_open[one] = False
                continue
            totals += added
            self._carry_out(one, other, levels)
            is_open[other] = False
            is_open[one] = self.hidden[one] > 0
            yield Merge(one, other, tuple(levels.tolist()))

    def _loss(self, totals: NDArray[np.float64], records: int) -> float:
        return self.recoding.problem.aggregate(tuple((totals / records).tolist()))

    def _partner(self, one: int) -> tuple[int, Integers, NDArray[np.float64]]:
        """The class to merge with, the levels of both together, and what each column loses more; -1 for none."""
        prices = merge_prices(self.classes, one, self.weights, self.recoding.problem.highest)
        nearest = _smallest(prices, NEAREST)
        gains = np.array([self._gain(one, int(other)) for other in nearest])
        if not gains.size or gains.max() <= 0:
            return -1, self.classes.levels[:, one], np.zeros(self.weights.size)
        other = int(nearest[np.argmax(gains / (prices[nearest] + TINY))])
        levels = self._common_levels(one, other)
        return other, levels, self._added(one, other, levels)

    def _common_levels(self, one: int, other: int) -> Integers:
        """Lowest levels, not below those of either class, at which both share their labels."""
        classes = self.classes
        differ = (classes.codes[:, :, one] != classes.codes[:, :, other]).sum(axis=1)
        found: Integers = np.maximum(np.maximum(classes.levels[:, one], classes.levels[:, other]), differ)
        return found

    def _added(self, one: int, other: int, levels: Integers) -> NDArray[np.float64]:
        sizes = self.classes.sizes
        after = self.classes.costs[np.arange(levels.size), levels, one] * (sizes[one] + sizes[other])
        added: NDArray[np.float64] = after - self._cost(one) * sizes[one] - self._cost(other) * sizes[other]
        return added

    def _gain(self, one: int, other: int) -> int:
        """Occurrences that are no longer hidden once two classes are one."""
        few, many = sorted((self.held[one], self.held[other]), key=len)
        gain = 0
        for code, count in few.items():
            more = many.get(code, 0)
            if more and count + more >= self.k:
                gain += (count if count < self.k else 0) + (more if more < self.k else 0)
        return gain

    def _carry_out(self, one: int, other: int, levels: Integers) -> None:
        self.held[one].update(self.held[other])
        self.hidden[one] = self._hidden(self.held[one])
        self.classes.sizes[one] += self.classes.sizes[other]
        self.classes.levels[:, one] = levels
        self.classes.is_there[other] = False
        self.hidden[other] = 0

    def after(self, merges: list[Merge]) -> Partition:
        """Return the partition after the first of the merges."""
        number, levels = np.arange(self.n), self.at_first.copy()
        for merge in reversed(merges):
            number[merge.gone] = merge.kept
        for merge in merges:
            levels[merge.kept] = merge.levels
        root = _roots(number)
        kept, place = np.unique(root, return_inverse=True)
        released = self.class_of_row != SUPPRESSED
        class_of_row = np.full(self.class_of_row.size, SUPPRESSED, dtype=np.int64)
        class_of_row[released] = place[self.class_of_row[released]]
        return Partition(class_of_row, levels[kept])


def _smallest(prices: NDArray[np.float64], most: int) -> Integers:
    """The places of the smallest finite values, ascending; of equal ones the first."""
    if prices.size > most:
        among = np.flatnonzero((prices <= np.partition(prices, most - 1)[most - 1]) & np.isfinite(prices))
    else:
        among = np.flatnonzero(np.isfinite(prices))
    found: Integers = among[np.argsort(prices[among], kind="stable")][:most]
    return found


def _roots(number: Integers) -> Integers:
    """The last class that each was merged into."""
    while True:
        above = number[number]
        if np.array_equal(above, number):
            return number
        number = above
