"""Mondrian: split a table top-down along its hierarchies, each part by the attribute with the highest loss."""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.kernels.classes import classes_of
from cloister.search.search_run import no_safe_transformation

from .table_recoding import SUPPRESSED, Partition, TableRecoding


@dataclass(frozen=True)
class Regions:
    """Parts of a table, with rows in canonical order."""

    rows: NDArray[np.int64]  # (n_rows,) part after part
    sizes: NDArray[np.int64]  # sizes, records: (n,) rows and records of each part
    records: NDArray[np.int64]
    levels: NDArray[np.int64]  # (n, n_attributes) lowest levels at which its rows share their labels
    prices: NDArray[np.float64]  # (n, n_attributes) what those labels lose

    @property
    def costs(self) -> NDArray[np.float64]:
        """The loss of the records of each part, shape (n,)."""
        costs: NDArray[np.float64] = self.prices.sum(axis=1) * self.records
        return costs

    def take(self, chosen: NDArray[np.bool_]) -> "Regions":
        """Return the chosen parts."""
        rows = self.rows[np.repeat(chosen, self.sizes)]
        return Regions(rows, self.sizes[chosen], self.records[chosen], self.levels[chosen], self.prices[chosen])

    @classmethod
    def joined(cls, several: Sequence["Regions"]) -> "Regions":
        """Return these parts and others, in order."""
        return cls(*(np.concatenate([getattr(one, field.name) for one in several]) for field in fields(cls)))

    def each(self) -> Iterator["Regions"]:
        """Yield the parts one by one."""
        ends = np.cumsum(self.sizes)
        for i, (end, size) in enumerate(zip(ends.tolist(), self.sizes.tolist(), strict=True)):
            own = slice(i, i + 1)
            rows = self.rows[end - size : end]
            yield Regions(rows, self.sizes[own], self.records[own], self.levels[own], self.prices[own])


MOST_RELEVANT = 6.0  # weight of the attribute that says most about a target: `benchmarks/usefulness`, 2 to 16 tried
MORE_RELEVANT = 4.0  # times the weight of a column that would say nothing
FEWEST_EXPLORED = 4  # parts by which relevance is measured, about; more where these leave columns that are not split
MOST_VALUES = 10  # numbers with more values are put into tenths of the records


def relevance(columns: Sequence[pl.Series], target: pl.Series) -> NDArray[np.float64]:
    """Return the weight of each column for a model of the target, from 1 (uninformative) to 6, (n_columns,).

    By how much likelier the records of the same value, without the record itself, make its target than all records do,
    in the mean of the logarithms: mutual information, of which many values have none by chance. It guides the splits.
    Anyone who runs the program learns it, so the columns must reveal no more than the release: see `explore_parts`.
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


def explore_parts(recoding: TableRecoding) -> Regions:
    """Return large parts, without weights and without using the target, until each column is split.

    The classes of a release lie inside these parts (`mondrian`), so its records show which outcomes each part has. The
    measures of these parts and the target reveal nothing else: exchanging the outcomes of two records of one class
    changes neither the measures nor the classes.
    """
    tree = _Tree(recoding, relevant=1 / recoding.problem.task.costs.weight)
    n_records, least = int(tree.begin.records.sum()), 2 * recoding.problem.task.threshold.k
    can_split = (tree.begin.levels > recoding.problem.lowest).any(axis=0)
    top = tree.begin.levels.max(axis=0, initial=0)
    most = n_records // FEWEST_EXPLORED
    while True:
        parts = tree.grow(max(least, most))
        if most <= least or (parts.levels < top).any(axis=0)[can_split].all():
            return parts
        most //= 2


def mondrian(
    recoding: TableRecoding, relevant: NDArray[np.float64] | float = 1.0, explored: Regions | None = None
) -> Partition:
    """Return a partition of all rows by splitting along the hierarchies as long as the rules hold.

    Begins with one class at the highest levels allowed. Each class is split into the children of its costliest label at
    the next level at which they differ; where a rule is about the table, the class that loses most comes first.
    Children that satisfy the rules become classes of their own; the others stay together at the label they had, with
    the smallest of the former while they need it. If that leaves no child, the next attribute is tried. Every class
    takes the lowest levels at which its records agree.

    *Guarantee*: every class satisfies all rules about classes, and the table those about the table, against anybody
    who knows the quasi-identifiers of a patient. Suppressed is only what violates them at the highest levels allowed;
    if a label covers different sets at different levels, and classes with equal labels violate a rule together,
    `settle` suppresses one afterwards. The classes do not depend on the order of the records. Not promised: the least
    loss, as splits are never undone; that labels of different classes exclude each other (a release may contain the
    ages [40-44] and [40-49], and the latter may include a patient of 42). Cost: rows x attributes x depth of the tree.

    ``relevant``: (n_attributes,) weights of the attributes in choosing splits alone, in the order of the problem
    ``explored``: parts that are split in place of the first class; not where rules about the table forbid what becomes
    of them: then nothing is weighed

    Source: LeFevre, DeWitt, Ramakrishnan (2006), "Mondrian multidimensional k-anonymity". Deviations: a split follows
    the hierarchy and never the median, which would put a quantile of the data into a label; the attribute is chosen by
    its weighted loss, not by the width of its range; children that are too small stay with their parent, where the
    paper forbids the split; any rules are allowed.
    """
    tree = _Tree(recoding, relevant=relevant, explored=explored)
    if not tree.begin.records.size or not tree.is_allowed(none := tree.begin.records[:0], instead_of=none):
        raise no_safe_transformation(recoding.problem, complete=True)
    parts = tree.grow()
    # Rules about the table cost an estimate for every split, so they are first asked once, about all of them.
    if not tree.is_allowed(parts.records, instead_of=tree.begin.records):
        parts = (tree if explored is None else _Tree(recoding)).grow_by_rules()
    class_of_row = np.full(recoding.n_rows, SUPPRESSED, dtype=np.int64)
    class_of_row[parts.rows] = np.repeat(np.arange(parts.sizes.size), parts.sizes)
    return Partition(class_of_row, parts.levels)


def blocks(recoding: TableRecoding, most_rows: int) -> list[NDArray[np.int64]]:
    """Return the rows of the table in blocks of similar rows, none larger than this, the costliest first.

    Blocks satisfy the rules about classes where the table can be split so; rules about the table are left aside. What
    cannot be split and is too large is cut in the order of values.
    """
    parts = _Tree(recoding, most_rows).grow()
    ends = np.cumsum(parts.sizes)
    order = np.lexsort([recoding.place[parts.rows[ends - parts.sizes]], -parts.costs])
    found = np.split(parts.rows, ends[:-1])
    return [found[i][at : at + most_rows] for i in order.tolist() for at in range(0, found[i].size, most_rows)]


class _Tree:
    """Splits parts until nothing can be split or is worth it; parts of at most ``most_rows`` are left alone."""

    def __init__(
        self,
        recoding: TableRecoding,
        most_rows: int = 0,
        relevant: NDArray[np.float64] | float = 1.0,
        explored: Regions | None = None,
    ) -> None:
        self._recoding = recoding
        self._weight = recoding.problem.task.costs.weight * relevant
        self._checker = recoding.checker
        self._most_rows = most_rows
        # The classes at the highest levels allowed: one, unless levels are bounded.
        rows, highest = recoding.canonical, recoding.problem.highest.tolist()
        groups = divide_rows(rows, classes_of([recoding.at(j, level, rows) for j, level in enumerate(highest)])[0])
        if not most_rows:  # blocks are of all rows
            groups = [group for group in groups if self._checker.accepts(group)]
        sizes = np.array([group.size for group in groups], dtype=np.int64)
        rows = np.concatenate([rows[:0], *groups])
        self.begin = self._parts(rows, sizes) if explored is None else self._parts(explored.rows, explored.sizes)
        self._n_of_size = Counter(self.begin.records.tolist())

    def _parts(self, rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> Regions:
        """Parts of so many rows each."""
        task, ends = self._recoding.problem.task, np.cumsum(sizes)
        levels = self._recoding.common_levels(rows, sizes)
        hierarchies, costs, j = task.maps, task.costs, np.arange(levels.shape[1])
        codes = hierarchies.up[hierarchies.start[j, 0, levels] + task.rows.codes[:, rows[ends - sizes]].T]
        # Rounded, so that equal losses are equal however they came about.
        prices = np.round(self._weight * costs.leaves[costs.start[j, levels] + codes] / costs.domain, 12)
        records = self._checker.records(rows, np.repeat(np.arange(sizes.size), sizes), sizes.size)
        return Regions(rows, sizes, records, levels, prices)

    def grow(self, most_records: int = 0) -> Regions:
        """Split every part for as long as the rules about classes hold, all at once: no part minds the others.

        ``most_records``: parts of no more are left alone
        """
        waiting, tried = self.begin, np.zeros(self.begin.records.size, dtype=np.int64)
        done = [waiting.take(tried < 0)]
        while True:
            is_open = self._is_open(waiting, tried) & (waiting.records > most_records)
            done.append(waiting.take(~is_open))
            waiting, tried = waiting.take(is_open), tried[is_open]
            if not tried.size:
                return Regions.joined(done)
            children, is_split = self._split(waiting, tried)
            waiting = Regions.joined([waiting.take(~is_split), children])
            tried = np.concatenate([tried[~is_split] + 1, np.zeros(children.records.size, dtype=np.int64)])

    def grow_by_rules(self) -> Regions:
        """Split one part after the other, the costliest first, each if the rules about the table still hold."""
        waiting = [self._entry(part) for part in self.begin.each()]
        done = [self.begin.take(self.begin.records < 0)]
        heapq.heapify(waiting)
        while waiting:
            cost, place, n_tried, part = heapq.heappop(waiting)
            tried = np.array([n_tried])
            if not self._is_open(part, tried).all():
                done.append(part)
                continue
            children, is_split = self._split(part, tried)
            if is_split.all() and self.is_allowed(children.records, instead_of=part.records):
                self._n_of_size = self._after(children.records, part.records)
                for child in children.each():
                    heapq.heappush(waiting, self._entry(child))
            else:
                heapq.heappush(waiting, (cost, place, n_tried + 1, part))
        return Regions.joined(done)

    def _entry(self, part: Regions) -> tuple[float, int, int, Regions]:
        """The costliest part comes first; among equal ones the one with the first row."""
        return -float(part.costs[0]), int(self._recoding.place[part.rows[0]]), 0, part

    def _is_open(self, parts: Regions, tried: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each part is large enough to be split, and some attribute was not tried."""
        is_large = (parts.sizes > self._most_rows) & (parts.records >= 2 * self._recoding.problem.task.threshold.k)
        is_open: NDArray[np.bool_] = is_large & (tried < parts.levels.shape[1])
        return is_open

    def _split(self, parts: Regions, tried: NDArray[np.int64]) -> tuple[Regions, NDArray[np.bool_]]:
        """The children of parts that can be split by the costliest of the attributes not tried; which parts they are.

        Children that violate the rules about classes are put together, with the smallest of the others while they do.
        """
        recoding, every = self._recoding, np.arange(tried.size)
        attribute = np.argsort(-parts.prices, axis=1, kind="stable")[every, tried]
        below = parts.levels[every, attribute] - 1
        of_row = np.repeat(every, parts.sizes)
        labels = recoding.at(attribute[of_row], np.maximum(below, 0)[of_row], parts.rows)
        width = int(labels.max()) + 1
        keys, children = np.unique(of_row * width + labels, return_inverse=True)
        parent = keys // width
        is_apart, is_split = self._apart(parts.rows, children, parent, below >= recoding.problem.lowest[attribute])
        last = np.searchsorted(parent, every, side="right") - 1
        # The others of a part stand together after its children.
        groups = np.where(is_apart[children], 2 * children, 2 * last[of_row] + 1)
        found, number, n_rows = np.unique(groups, return_inverse=True, return_counts=True)
        owner = parent[found // 2]
        is_split &= np.bincount(owner, minlength=tried.size) > 1
        chosen = is_split[of_row]
        order = np.argsort(number[chosen], kind="stable")
        return self._parts(parts.rows[chosen][order], n_rows[is_split[owner]]), is_split

    def _apart(
        self, rows: NDArray[np.int64], children: NDArray[np.int64], parent: NDArray[np.int64], may: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which children may stand apart, and which of the parents that ``may`` be split have such children.

        ``children``: (n_rows,) the child of each row; ``parent``: (n_children,) its part, ascending.
        """
        is_apart = self._checker.holds(rows, children, parent.size)
        smallest_first = np.lexsort([self._checker.records(rows, children, parent.size), parent])
        is_split, is_open = may.copy(), may.copy()
        while True:
            rest = np.flatnonzero(is_open[parent[children]] & ~is_apart[children])
            together, place = np.unique(parent[children[rest]], return_inverse=True)
            if not together.size:
                return is_apart, is_split
            is_open[:] = False
            is_open[together] = ~self._checker.holds(rows[rest], place, together.size)
            fit = smallest_first[is_open[parent[smallest_first]] & is_apart[smallest_first]]
            owner, first, n_fit = np.unique(parent[fit], return_index=True, return_counts=True)
            is_apart[fit[first]] = False
            has_more = np.zeros(may.size, dtype=np.bool_)
            has_more[owner[n_fit > 1]] = True
            is_split &= has_more | ~is_open
            is_open &= has_more

    def is_allowed(self, groups: NDArray[np.int64], instead_of: NDArray[np.int64]) -> bool:
        """Whether the table satisfies the rules about it with parts of these sizes in the place of some others."""
        if not self._checker.has_table_rules:
            return True
        sizes = self._after(groups, instead_of)
        values = np.array(sorted(sizes), dtype=np.int64)
        return self._checker.count_suppressed(np.repeat(values, [sizes[size] for size in values.tolist()])) == 0

    def _after(self, groups: NDArray[np.int64], instead_of: NDArray[np.int64]) -> Counter[int]:
        return self._n_of_size + Counter(groups.tolist()) - Counter(instead_of.tolist())


def divide_rows(rows: NDArray[np.int64], labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return rows by their labels, ascending; within a label in the order they came."""
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return np.split(rows[order], ends)
