"""Mondrian: a table split top-down along its hierarchies, each part by the attribute that loses most."""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.search.search_run import no_safe_transformation

from .table_recoding import SUPPRESSED, Partition, TableRecoding


@dataclass(frozen=True)
class Region:
    """Rows that stand together, in canonical order, the levels they share labels at, and what each label loses."""

    rows: NDArray[np.int64]
    levels: NDArray[np.int64]
    prices: NDArray[np.float64]


MOST_RELEVANT = 6.0  # weight of the attribute that says most about a target: `benchmarks/usefulness.py`, 2 to 16 tried
MORE_RELEVANT = 4.0  # times the weight of a column that would say nothing
MOST_VALUES = 10  # numbers with more values are put into tenths of the records


def relevance(columns: Sequence[pl.Series], target: pl.Series) -> NDArray[np.float64]:
    """Return the weight of each column for a model of the target, from 1 (says nothing of it) to 6, (n_columns,).

    By how much likelier the records of the same value, without the record itself, make its target than all records do,
    in the mean of the logarithms: mutual information, of which many values have none by chance. It guides the splits
    and is published nowhere, so that a release does not tell more of the original than its records do.
    """
    if target.dtype.is_numeric() and target.n_unique() > MOST_VALUES:
        target = target.rank("min") * MOST_VALUES // target.len()
    share = pl.len().over("target") / pl.len()
    others = (pl.len().over("value", "target") - 1 + share) / pl.len().over("value")
    frames = [pl.DataFrame({"value": column, "target": target}) for column in columns]
    # Sorted, so that the sum of floats does not depend on the order of the records.
    gains = [frame.select((others / share).log().sort().mean()).item() for frame in frames]
    gained = np.maximum(0.0, gains)
    return np.round(1 + (MOST_RELEVANT - 1) * gained / (gained.max() or 1.0), 6)


def mondrian(recoding: TableRecoding, relevant: NDArray[np.float64] | float = 1.0) -> Partition:
    """Return a partition of all rows made by splitting along the hierarchies for as long as the rules hold.

    Begins with one class at the highest levels allowed. The class that loses most is split first: into the children of
    its costliest label at the next level at which they differ. Children that satisfy the rules become classes of their
    own; the others stay together at the label they had, with the smallest of the former while they need it. If that
    leaves no child, the next attribute is tried. Every class takes the lowest levels at which its records agree.

    *Guarantee*: every class satisfies all rules about classes, and the table those about the table, against anybody
    who knows the quasi-identifiers of a patient. Suppressed is only what violates them at the highest levels allowed;
    where a label stands for different sets at different levels, and classes that look alike violate a rule together,
    `settled` suppresses one afterwards. The classes do
    not depend on the order of the records. Not promised: the least loss, as splits are never taken back; that labels
    of different classes exclude each other (an age of [40-44] stands beside [40-49], and the latter may hold a patient
    of 42). Cost: rows x attributes x depth of the tree.

    ``relevant``: (n_attributes,) weights of the attributes in choosing splits alone, in the order of the problem.

    Source: LeFevre, DeWitt, Ramakrishnan (2006), "Mondrian multidimensional k-anonymity". Deviations: a split follows
    the hierarchy and never the median, which would put a quantile of the data into a label; the attribute is chosen by
    its weighted loss, not by the width of its range; children that are too small stay with their parent, where the
    paper forbids the split; any rules are allowed.
    """
    tree = _Tree(recoding, relevant=relevant)
    if not tree.begin or not tree.is_allowed([], instead_of=[]):
        raise no_safe_transformation(recoding.problem, complete=True)
    free = list(_Tree(recoding, is_ruled=False, relevant=relevant).grown())
    # Rules about the table cost an estimate for every split, so they are first asked once, about all of them.
    parts = free if tree.is_allowed([part.rows for part in free], instead_of=tree.begin) else list(tree.grown())
    class_of_row = np.full(recoding.n_rows, SUPPRESSED, dtype=np.int64)
    for number, part in enumerate(parts):
        class_of_row[part.rows] = number
    return Partition(class_of_row, np.stack([part.levels for part in parts]))


def blocks(recoding: TableRecoding, most_rows: int) -> list[NDArray[np.int64]]:
    """Return the rows of the table in blocks that belong together, none larger than this.

    Blocks satisfy the rules about classes where the table can be split so; rules about the table are left aside. What
    cannot be split and is too large is cut in the order of values.
    """
    parts = _Tree(recoding, most_rows, is_ruled=False).grown()
    return [part.rows[at : at + most_rows] for part in parts for at in range(0, part.rows.size, most_rows)]


class _Tree:
    """Splits parts, the costliest first, until nothing can be split or is worth it.

    Parts of at most ``most_rows`` are left alone; ``is_ruled`` asks the rules about the table at every split.
    """

    def __init__(
        self,
        recoding: TableRecoding,
        most_rows: int = 0,
        is_ruled: bool = True,
        relevant: NDArray[np.float64] | float = 1.0,
    ) -> None:
        self._recoding = recoding
        self._weight = recoding.problem.task.costs.weight * relevant
        self._checker = recoding.checker
        self._most_rows = most_rows
        self._is_ruled = is_ruled and self._checker.has_table_rules
        self._smallest = recoding.problem.task.threshold.k
        self._place = np.empty(recoding.n_rows, dtype=np.int64)
        self._place[recoding.canonical] = np.arange(recoding.n_rows)
        # The classes at the highest levels allowed: one, unless levels are bounded.
        groups, heights = [recoding.canonical], recoding.problem.task.maps.heights
        for j, level in enumerate(recoding.problem.highest.tolist()):
            if level < int(heights[j]) - 1:
                groups = [part for group in groups for part in divided(group, recoding.at(j, level, group))]
        if not most_rows:  # blocks are of all rows
            groups = [group for group in groups if self._checker.accepts(group)]
        self.begin = self._parts(groups) if groups else []
        self._sizes = Counter(self._records(part.rows) for part in self.begin)

    def _parts(self, groups: list[NDArray[np.int64]]) -> list[Region]:
        levels, task = self._recoding.common_levels(groups), self._recoding.problem.task
        hierarchies, costs, j = task.maps, task.costs, np.arange(levels.shape[1])
        codes = task.rows.codes[:, [group[0] for group in groups]].T
        codes = hierarchies.up[hierarchies.start[j, 0, levels] + codes]
        # Rounded, so that equal losses are equal however they came about.
        prices = np.round(self._weight * costs.leaves[costs.start[j, levels] + codes] / costs.domain, 12)
        return [Region(*one) for one in zip(groups, levels, prices, strict=True)]

    def grown(self) -> Iterator[Region]:
        waiting = [self._entry(part) for part in self.begin]
        heapq.heapify(waiting)
        while waiting:
            part = heapq.heappop(waiting)[-1]
            children = self._split(part)
            if not children:
                yield part
            for child in children:
                heapq.heappush(waiting, self._entry(child))

    def _entry(self, part: Region) -> tuple[float, int, Region]:
        """The costliest part comes first; among equal ones the one with the first row."""
        return -float(part.prices.sum()) * self._records(part.rows), int(self._place[part.rows[0]]), part

    def _split(self, part: Region) -> list[Region]:
        """The parts of a part; none if it cannot be split."""
        if part.rows.size <= self._most_rows or self._records(part.rows) < 2 * self._smallest:
            return []
        for j in np.argsort(-part.prices, kind="stable").tolist():
            if part.levels[j] > self._recoding.problem.lowest[j]:
                groups = self._divided(part, j)
                if len(groups) > 1 and self.is_allowed(groups, instead_of=[part]):
                    if self._is_ruled:
                        self._sizes.update(map(self._records, groups))
                        self._sizes -= Counter([self._records(part.rows)])
                    return self._parts(groups)
        return []

    def _divided(self, part: Region, attribute: int) -> list[NDArray[np.int64]]:
        """The groups that a part falls into at the next lower level of an attribute, unfit ones put together."""
        labels = self._recoding.at(attribute, int(part.levels[attribute]) - 1, part.rows)
        numbers = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        n_children = int(numbers.max()) + 1
        is_apart = self._checker.holds(part.rows, numbers, n_children)
        sizes = self._checker.records(part.rows, numbers, n_children)
        smallest_first = np.argsort(sizes, kind="stable")
        while not is_apart.all():
            rest = part.rows[~is_apart[numbers]]
            if self._checker.accepts(rest):
                break
            fit = smallest_first[is_apart[smallest_first]]
            if fit.size <= 1:
                return []
            is_apart[fit[0]] = False
        apart = np.where(is_apart[numbers], numbers, n_children)
        return divided(part.rows, apart)

    def is_allowed(self, groups: list[NDArray[np.int64]], instead_of: list[Region]) -> bool:
        """Whether the table satisfies the rules about it with these groups in the place of some parts."""
        if not self._is_ruled:
            return True
        sizes = self._sizes + Counter(map(self._records, groups))
        sizes -= Counter(self._records(part.rows) for part in instead_of)
        values = np.array(sorted(sizes), dtype=np.int64)
        return self._checker.n_left_out(np.repeat(values, [sizes[size] for size in values.tolist()])) == 0

    def _records(self, rows: NDArray[np.int64]) -> int:
        return int(self._recoding.problem.task.rows.records[rows].sum())


def divided(rows: NDArray[np.int64], labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return rows by their labels, ascending; within a label in the order they came."""
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return np.split(rows[order], ends)
