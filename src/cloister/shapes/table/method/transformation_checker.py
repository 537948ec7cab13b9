"""The released classes of a transformation: those that satisfy all rules, without the smallest if necessary."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InternalError
from cloister.kernels.classes import Grouping, distinct_rows, group, leaves_lost
from cloister.kernels.layout import CODE, Rows, Task
from cloister.privacy import ClassRule, Histogram, PrivacyRule, TableRule
from cloister.search.problem import Aggregate, Candidate, attribute_losses
from cloister.utility import AttributeLoss, Generalized, Logarithms, Loss, level_loss

from .coding import Coded, SensitiveValues, population_texts, populations_in


class RuleChecker:
    """The rules of a request, with the data of the table that they need.

    ``coded``: bound hierarchies of the attributes, in the order of the problem, which is that of their names.
    """

    def __init__(
        self,
        rules: Sequence[PrivacyRule],
        task: Task,
        coded: Mapping[str, Coded],
        row_of_record: NDArray[np.int64],
        records: NDArray[np.int64],
        sensitive: pl.DataFrame,
    ) -> None:
        about_classes = [rule for rule in rules if isinstance(rule, ClassRule)]
        self._class_rules = sorted(about_classes, key=lambda rule: rule.needs != "sizes")  # the quick ones first
        self._table_rules = [rule for rule in rules if isinstance(rule, TableRule)]
        self._task = task
        self._coded = coded
        self.is_monotone = all(rule.is_monotone for rule in rules)
        self.values = {
            id(rule): SensitiveValues(sensitive[rule.about], rule, row_of_record, records)
            for rule in self._class_rules
            if rule.about is not None
        }
        self._populations = {}  # the distinct rows of each, in the codes of the table
        for rule in populations_in(self._class_rules):
            texts = population_texts(rule, list(coded))
            codes = np.stack([one.rows(texts[name]).astype(CODE) for name, one in coded.items()])
            self._populations[id(rule)] = distinct_rows(codes, task.maps).rows

    @property
    def has_table_rules(self) -> bool:
        """Whether a rule is about the table as a whole."""
        return bool(self._table_rules)

    def keeps(self, grouping: Grouping, levels: Sequence[int]) -> tuple[NDArray[np.bool_], int]:
        """Return whether each class is released, shape (n_classes,), and the least that finer ones suppress."""
        classes = ClassView(self, grouping.sizes, grouping.labels, levels=levels)
        is_kept = grouping.sizes >= self._task.threshold.k
        most = np.where(is_kept, grouping.sizes, 0)
        for rule in self._class_rules:
            holds = rule.holds(classes)
            is_kept &= holds
            np.minimum(most, rule.most_kept(classes, holds), out=most)
        if self._table_rules:
            is_kept[self._left_out(grouping, np.flatnonzero(is_kept), levels)] = False
        if not is_kept.all() and any(rule.forbids_suppression for rule in self._class_rules):
            is_kept[:] = False
        suppressed = int(grouping.sizes[~is_kept].sum())
        return is_kept, suppressed if self.is_monotone else int((grouping.sizes - most).sum())

    def _left_out(self, grouping: Grouping, kept: NDArray[np.int64], levels: Sequence[int]) -> NDArray[np.int64]:
        """Return the smallest of these classes, as many as must be suppressed for the rules about the table."""
        sizes = grouping.sizes[kept]
        ascending = np.sort(sizes)
        n = self.count_suppressed(ascending)
        if not n:
            return kept[:0]
        smaller, last = kept[sizes < ascending[n - 1]], kept[sizes == ascending[n - 1]]
        if smaller.size + last.size > n:
            # Of one size, by their released values, columns in the order of their names.
            keys = [self._rank(j, levels[j], grouping.first[last]) for j in reversed(range(len(self._coded)))]
            last = last[np.lexsort(keys)][: n - smaller.size]
        return np.concatenate([smaller, last])

    def _rank(self, j: int, level: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Place of each row's label among the labels of its column at its level, by UTF-8 bytes, missing first."""
        coded = list(self._coded.values())[j]
        labels = [(label or "").encode() for label in coded.labels[level]]
        rank = np.empty(len(labels), dtype=np.int64)
        rank[sorted(range(len(labels)), key=labels.__getitem__)] = np.arange(len(labels))
        ranks: NDArray[np.int64] = rank[coded.rise(0, level)[self._task.rows.codes[j, rows]]]
        return ranks

    def holds(self, rows: NDArray[np.int64], labels: NDArray[np.int64], n_classes: int) -> NDArray[np.bool_]:
        """Return whether each of these classes satisfies all rules about classes, shape (n_classes,).

        Ignore rules about the complete table. Cost: the rows given, however large the table is.

        ``labels``: (n,) class of each, none of them empty; a class may be made of rows at different levels.
        """
        classes = ClassView(self, self.records(rows, labels, n_classes), labels, rows)
        holds = np.ones(n_classes, dtype=np.bool_)
        for rule in self._class_rules:
            if not holds.any():
                break
            holds &= rule.holds(classes)
        return holds

    def accepts(self, rows: NDArray[np.int64]) -> bool:
        """Return whether these distinct rows make one class that satisfies all rules about classes."""
        return bool(self.holds(rows, np.zeros(rows.size, dtype=np.int64), 1)[0])

    def records(self, rows: NDArray[np.int64], labels: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
        """Return the records of each of these classes, shape (n_classes,)."""
        # Weights are added up as floating-point numbers, exact below 2**53 records.
        return np.bincount(labels, self._task.rows.records[rows], n_classes).astype(np.int64)

    def count_suppressed(self, sizes: NDArray[np.int64]) -> int:
        """Return how many of the smallest classes must be suppressed to satisfy the rules about the table.

        ``sizes``: (n_classes,) records of each class, ascending.
        """
        suppressed, before = 0, -1
        while suppressed != before and suppressed < sizes.size:
            before = suppressed
            for rule in self._table_rules:
                suppressed += rule.n_violating(sizes[suppressed:])
        return suppressed

    def level_loss(self, levels: Sequence[int]) -> Fraction:
        """Return the mean over the quasi-identifiers of level / highest level."""
        return level_loss(levels, [one.hierarchy.n_levels - 1 for one in self._coded.values()])

    def population(self, rule: ClassRule, levels: Sequence[int], n_classes: int) -> NDArray[np.int64]:
        """Return the population records of a rule by class, followed by those outside all classes.

        Rows of the table come first, so their classes keep their numbers; records of the population count nothing.
        """
        own, others = self._task.rows, self._populations[id(rule)]
        both = Rows(
            np.ascontiguousarray(np.hstack([own.codes, others.codes])),
            np.concatenate([own.records, np.zeros_like(others.records)]),
        )
        labels = group(both, self._task.maps, np.array(levels, dtype=np.int64)).labels[own.records.size :]
        counts = np.bincount(np.minimum(labels, n_classes), weights=others.records, minlength=n_classes + 1)
        return counts.astype(np.int64)


class ClassView:
    """Classes of distinct rows, in the form that rules see.

    Parameters
    ----------
    sizes : (n_classes,) records of each
    rows : (n,) the distinct rows; None for all of the table
    levels : of the transformation that made the classes; None where levels differ between classes: records of a
        population have no such class, and the loss by levels differs
    """

    def __init__(
        self,
        checker: "RuleChecker",
        sizes: NDArray[np.int64],
        labels: NDArray[np.int64],
        rows: NDArray[np.int64] | None = None,
        levels: Sequence[int] | None = None,
    ) -> None:
        self.sizes = sizes
        self._labels = labels
        self._rows = rows
        self._levels = levels
        self._checker = checker
        self._counts: dict[int, NDArray[np.int64]] = {}
        self._histograms: dict[int, Histogram] = {}

    @property
    def level_loss(self) -> Fraction:
        """The mean over the quasi-identifiers of level / highest level."""
        return self._checker.level_loss(self._one_transformation())

    def histogram(self, rule: ClassRule) -> Histogram:
        """Return the values of the column of a rule in each class."""
        if id(rule) not in self._histograms:
            values = self._checker.values[id(rule)]
            self._histograms[id(rule)] = values.by_class(self._labels, self.sizes.size, self._rows)
        return self._histograms[id(rule)]

    def population(self, rule: ClassRule) -> NDArray[np.int64]:
        """Return the records of the rule's population table in each class, shape (n_classes,), from 0 on."""
        return self._by_class(rule)[:-1]

    def is_covering(self, rule: ClassRule) -> bool:
        """Return whether all population records of the rule belong to one of the classes."""
        return int(self._by_class(rule)[-1]) == 0

    def _by_class(self, rule: ClassRule) -> NDArray[np.int64]:
        if id(rule) not in self._counts:
            self._counts[id(rule)] = self._checker.population(rule, self._one_transformation(), self.sizes.size)
        return self._counts[id(rule)]

    def _one_transformation(self) -> Sequence[int]:
        if self._levels is None:
            raise InternalError("A rule asked for the levels of all records where levels differ between classes.")
        return self._levels


@dataclass(frozen=True, eq=False)
class TransformationEvaluator:
    """A measure of transformations, for searches that need more than class sizes and mean losses.

    ``aggregate``: loss of a release from the losses of its attributes.
    """

    task: Task
    coded: Sequence[Coded]
    checker: RuleChecker
    loss: Loss
    aggregate: Aggregate
    weights: NDArray[np.float64]

    def kept_rows(self, levels: Sequence[int]) -> NDArray[np.bool_]:
        """Return whether each distinct row is kept under one transformation."""
        grouping = group(self.task.rows, self.task.maps, np.array(levels, dtype=np.int64))
        return self.checker.keeps(grouping, levels)[0][grouping.labels]

    def measure(self, levels: Sequence[int]) -> Candidate:
        """Suppress classes that violate a rule under a transformation, and return the loss."""
        task, at = self.task, np.array(levels, dtype=np.int64)
        grouping = group(task.rows, task.maps, at)
        is_kept, least = self.checker.keeps(grouping, levels)
        suppressed = int(grouping.sizes[~is_kept].sum())
        losses: tuple[float, ...] = ()
        if isinstance(self.loss, AttributeLoss):
            lost = leaves_lost(task.rows, task.maps, task.costs, at, grouping, is_kept)
            losses = attribute_losses(task, lost.tolist(), suppressed)
            loss = self.aggregate(losses)
            bound = self.aggregate(task.costs.mean[np.arange(len(levels)), levels].tolist())
        else:
            loss, bound = self.loss.measure(self._generalize(grouping, levels, is_kept))
        smallest = int(grouping.sizes.min())
        return Candidate(tuple(levels), suppressed, int(is_kept.sum()), losses, loss, bound, least, smallest)

    def _generalize(self, grouping: Grouping, levels: Sequence[int], is_kept: NDArray[np.bool_]) -> Generalized:
        rows = self.task.rows
        return Generalized(
            sizes=grouping.sizes,
            is_kept=is_kept,
            records=rows.records,
            is_kept_row=is_kept[grouping.labels],
            domains=np.array([c.hierarchy.n_leaves for c in self.coded], dtype=np.int64),
            weights=self.weights,
            level_loss=self.checker.level_loss(levels),
            log_leaves=lambda: self._log_leaves(levels),
            log_label_records=lambda: self._log_sharing(levels),
            log_value_records=lambda: self._log_sharing([0] * len(levels)),
            log_class_records=lambda: np.log(grouping.sizes)[grouping.labels],
            sum_of_row_records=self._sum_of_row_records,
            sum_of_leaves=lambda: math.fsum(self._sum_of_leaves(j, level) for j, level in enumerate(levels)),
        )

    @cache  # noqa: B019  (lives as long as the search)
    def _sum_of_row_records(self) -> float:
        """Sum over records of the logarithm of the records that share all values as recorded."""
        records = self.task.rows.records
        return math.fsum((records * np.log(records)).tolist())

    @cache  # noqa: B019  (lives as long as the search)
    def _sum_of_leaves(self, attribute: int, level: int) -> float:
        """Sum over records of the logarithm of the leaves that their label at a level covers."""
        coded, rows = self.coded[attribute], self.task.rows
        codes = rows.codes[attribute]
        of_code = np.bincount(codes, weights=rows.records, minlength=int(codes.max(initial=0)) + 1)
        logarithms = np.log(coded.leaves[level])[coded.rise(0, level)][: of_code.size]
        return math.fsum((of_code * logarithms).tolist())

    def _log_leaves(self, levels: Sequence[int]) -> Logarithms:
        """Logarithm of the leaves that each row's label covers, by attribute."""
        leaves = [
            np.log(coded.leaves[level])[coded.rise(0, level)] for coded, level in zip(self.coded, levels, strict=True)
        ]
        return np.stack([of_code[codes] for of_code, codes in zip(leaves, self.task.rows.codes, strict=True)])

    def _log_sharing(self, levels: Sequence[int]) -> Logarithms:
        """Logarithm of the records that share the label of each row, by attribute."""
        return np.stack([self._log_records(j, level)[self.task.rows.codes[j]] for j, level in enumerate(levels)])

    @cache  # noqa: B019  (lives as long as the search)
    def _log_records(self, attribute: int, level: int) -> Logarithms:
        """Logarithm of the records that share the label of each code at level 0; 0 where there are none."""
        rows, up = self.task.rows, self.coded[attribute].rise(0, level)
        # Weights are added up as floating-point numbers, exact below 2**53 records.
        shared = np.bincount(up[rows.codes[attribute]], weights=rows.records, minlength=int(up.max()) + 1)
        return np.log(np.maximum(shared, 1.0))[up]
