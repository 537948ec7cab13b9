"""Releases with levels that differ between classes: form, labels, losses and rules, for every method."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InternalError
from cloister.hierarchy import Intervals
from cloister.hierarchy.bound import JoinedLabel
from cloister.kernels.classes import classes_of
from cloister.kernels.shared_labels import common_levels
from cloister.search.problem import SearchProblem, attribute_losses
from cloister.shapes.table.method.coding import Coded
from cloister.shapes.table.method.data import EncodedTable, TableRequest
from cloister.shapes.table.method.transformation_checker import RuleChecker
from cloister.utility import AttributeLoss, Generalized, Loss, level_loss

SUPPRESSED = -1


@dataclass(frozen=True)
class Partition:
    """Classes of the distinct rows of a table, each with its own levels.

    Full-domain generalization is the case of equal levels. All members of a class share its label in every column.
    Classes whose labels are the same are one class in the release.
    """

    class_of_row: NDArray[np.int64]  # (n_rows,) int64, class of each distinct row; -1 where it is suppressed
    levels: NDArray[np.int64]  # (n_classes, n_attributes) int64, level of each attribute in each class

    @property
    def is_released(self) -> NDArray[np.bool_]:
        """Whether each distinct row is released, shape (n_rows,)."""
        released: NDArray[np.bool_] = self.class_of_row != SUPPRESSED
        return released

    def without(self, suppressed: NDArray[np.bool_]) -> "Partition":
        """Return the partition with these rows suppressed too."""
        return Partition(np.where(suppressed, SUPPRESSED, self.class_of_row), self.levels)


@dataclass(frozen=True)
class Released:
    """A partition as the recipient sees it: by labels."""

    rows: NDArray[np.int64]  # (n,) distinct rows that are released
    classes: NDArray[np.int64]  # (n,) int64, class of each, by equal labels
    n_classes: int
    texts: NDArray[np.int64]  # (n_attributes, n) int64, number of the label of each


@dataclass(frozen=True)
class JoinedClasses:
    """Labels of one column that join intervals or list values, and the classes of a partition that have them."""

    labels: tuple[JoinedLabel, ...]
    of_class: NDArray[np.int64]  # (n_classes,) int64, place of its label among these; -1 for the label of its level


@dataclass(frozen=True)
class Labels:
    """The labels of one column, numbered across its levels."""

    texts: tuple[str | None, ...]  # the labels by number, in the order of their UTF-8 bytes, missing first
    of_code: tuple[NDArray[np.int64], ...]  # by level, (n_codes,) number of the label of each code
    # (n_levels, n_texts) int64, leaves that each label covers at each level; 0 where it does not occur
    leaves: NDArray[np.int64]

    @classmethod
    def of(cls, coded: Coded, joined: Sequence[JoinedLabel] = ()) -> "Labels":
        """Return the labels of a column, each text with one number."""
        every = {label for labels in coded.labels for label in labels} | {one.label for one in joined}
        texts = sorted(every, key=lambda label: (label is not None, (label or "").encode()))
        number = {label: place for place, label in enumerate(texts)}
        of_code = tuple(np.array([number[label] for label in labels], dtype=np.int64) for labels in coded.labels)
        leaves = np.zeros((len(of_code), len(number)), dtype=np.int64)
        for level, numbers in enumerate(of_code):
            leaves[level, numbers] = coded.leaves[level]
        for one in joined:
            leaves[one.level, number[one.label]] = one.leaves
        return cls(tuple(texts), of_code, leaves)

    def at(self, levels: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return level and leaves of each label if these levels occur: of its largest set, the lowest level."""
        among = self.leaves[list(levels)]
        place = among.argmax(axis=0)
        return np.array(levels, dtype=np.int64)[place], among.max(axis=0)


@dataclass(frozen=True, eq=False)
class TableRecoding:
    """The common data of methods with levels that differ between classes.

    ``coded``: bound hierarchies of the attributes, in the order of the problem.
    """

    problem: SearchProblem
    coded: Sequence[Coded]
    checker: RuleChecker
    loss: Loss
    weights: NDArray[np.float64]
    k: int = 1  # that the request names
    intervals: Mapping[int, Intervals] = field(default_factory=dict)  # by attribute, hierarchies that may be joined
    listed: tuple[int, ...] = ()  # attributes whose labels may list values
    joined: Mapping[int, JoinedClasses] = field(default_factory=dict)  # by attribute, of the partition to release

    @cached_property
    def labels(self) -> list[Labels]:
        """The labels of each attribute."""
        return [
            Labels.of(one, self.joined[place].labels if place in self.joined else ())
            for place, one in enumerate(self.coded)
        ]

    @property
    def n_rows(self) -> int:
        """Distinct rows of the table."""
        return int(self.problem.task.rows.records.size)

    @cached_property
    def canonical(self) -> NDArray[np.int64]:
        """The distinct rows in the order of their values, column by column, whatever the order of the records."""
        return np.lexsort(self.problem.task.rows.codes[::-1]).astype(np.int64)

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """The place of each distinct row in that order."""
        place = np.empty(self.n_rows, dtype=np.int64)
        place[self.canonical] = np.arange(self.n_rows)
        return place

    def at(
        self, attribute: int | NDArray[np.int64], level: int | NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the code of rows at a level of an attribute; level and attribute may be arrays, one entry per row."""
        task = self.problem.task
        start = task.maps.start[attribute, 0, level]
        codes: NDArray[np.int64] = task.maps.up[start + task.rows.codes[attribute, rows].astype(np.int64)]
        return codes.astype(np.int64)

    def common_levels(self, rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lowest allowed levels at which all rows of each group share their labels.

        ``rows``: group after group, each of one of the ``sizes``. The result may lie above the highest level allowed.
        """
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return common_levels(self.problem.task.rows, self.problem.task.maps, rows, start, self.problem.lowest)

    def full_domain(self, levels: Sequence[int], is_kept: NDArray[np.bool_]) -> Partition:
        """Return the partition of a single transformation, with only the kept rows."""
        rows = np.flatnonzero(is_kept)
        classes, _ = classes_of([self.at(j, level, rows) for j, level in enumerate(levels)])
        class_of_row = np.full(self.n_rows, SUPPRESSED, dtype=np.int64)
        class_of_row[rows] = classes
        return Partition(class_of_row, np.tile(np.array(levels, dtype=np.int64), (int(classes.max(initial=-1)) + 1, 1)))

    def released(self, partition: Partition) -> Released:
        """Return the classes of equal labels."""
        rows = np.flatnonzero(partition.is_released)
        texts = np.stack([self._texts(partition, j, rows) for j in range(len(self.coded))])
        return Released(rows, *classes_of(list(texts)), texts)

    def _texts(self, partition: Partition, attribute: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        texts = np.empty(rows.size, dtype=np.int64)
        level_of_row = partition.levels[partition.class_of_row[rows], attribute]
        for level in np.unique(level_of_row).tolist():
            members = level_of_row == level
            texts[members] = self.labels[attribute].of_code[level][self.at(attribute, level, rows[members])]
        if attribute in self.joined:
            joined, place_of = self.joined[attribute], {t: n for n, t in enumerate(self.labels[attribute].texts)}
            number = np.array([place_of[one.label] for one in joined.labels], dtype=np.int64)
            place = joined.of_class[partition.class_of_row[rows]]
            texts[place >= 0] = number[place[place >= 0]]
        return texts

    def levels_in_use(self, partition: Partition) -> tuple[tuple[int, ...], ...]:
        """Return the levels that occur in each column, ascending."""
        used = partition.levels[np.unique(partition.class_of_row[partition.is_released])]
        return tuple(tuple(np.unique(column).tolist()) for column in used.T)

    def suppressed(self, partition: Partition) -> int:
        """Return how many records are suppressed."""
        return int(self.problem.task.rows.records[~partition.is_released].sum())

    def measure(self, partition: Partition) -> float:
        """Return the loss of a partition; suppressed records count as complete loss.

        A label costs as much as the largest set that it covers at the levels in use: a reader cannot tell which.
        """
        released, used = self.released(partition), self.levels_in_use(partition)
        suppressed = self.suppressed(partition)
        if isinstance(self.loss, AttributeLoss):
            task, total = self.problem.task, []
            records = task.rows.records[released.rows]
            for labels, texts, levels in zip(self.labels, released.texts, used, strict=True):
                level, leaves = labels.at(levels)
                lost = level if self.loss.by_level else leaves - 1
                total.append(int(records @ lost[texts]))
            return self.problem.aggregate(attribute_losses(task, total, suppressed))
        return self.loss.measure(self._generalize(partition, released, used, suppressed)).loss

    def _generalize(
        self, partition: Partition, released: Released, used: Sequence[Sequence[int]], suppressed: int
    ) -> Generalized:
        """What other losses look at; all suppressed records are one class."""
        rows, n_rows = self.problem.task.rows, self.n_rows
        domains = np.array([one.hierarchy.n_leaves for one in self.coded], dtype=np.int64)
        leaves = np.tile(domains[:, None], (1, n_rows))
        label_records = np.full((len(self.coded), n_rows), rows.records.sum())
        every = np.arange(n_rows)
        for j, labels in enumerate(self.labels):
            level_of, leaves_of = labels.at(used[j])
            leaves[j, released.rows] = leaves_of[released.texts[j]]
            for level in used[j]:
                mine = level_of[released.texts[j]] == level
                texts = labels.of_code[level][self.at(j, level, every)]
                sharing = np.bincount(texts, rows.records, len(labels.texts)).astype(np.int64)
                label_records[j, released.rows[mine]] = sharing[released.texts[j, mine]]
        sizes = self.checker.records(released.rows, released.classes, released.n_classes)
        class_records = np.full(n_rows, max(1, suppressed))
        class_records[released.rows] = sizes[released.classes]
        kept = np.ones(sizes.size, dtype=np.bool_)
        if suppressed:
            sizes, kept = np.append(sizes, suppressed), np.append(kept, False)
        return Generalized(
            sizes=sizes,
            is_kept=kept,
            records=rows.records,
            is_kept_row=partition.is_released,
            domains=domains,
            weights=self.weights,
            level_loss=level_loss([levels[-1] for levels in used], [one.hierarchy.n_levels - 1 for one in self.coded]),
            log_leaves=lambda: np.log(leaves),
            log_label_records=lambda: np.log(label_records),
            log_value_records=lambda: np.log(
                np.stack([np.bincount(codes, rows.records).astype(np.int64)[codes] for codes in rows.codes])
            ),
            log_class_records=lambda: np.log(class_records),
            sum_of_row_records=lambda: math.fsum((rows.records * np.log(rows.records)).tolist()),
            sum_of_leaves=lambda: math.fsum((rows.records * np.log(leaves).sum(axis=0)).tolist()),
        )

    def settle(self, partition: Partition) -> Partition:
        """Return the partition without classes that violate a rule in their released form, the smallest first.

        Classes of equal labels are one class in the release. Some rules may hold of two classes and not of both
        together.
        """
        while True:
            released = self.released(partition)
            holds = self.checker.holds(released.rows, released.classes, released.n_classes)
            sizes = self.checker.records(released.rows, released.classes, released.n_classes)
            kept = np.flatnonzero(holds)
            # Classes are numbered by their labels, columns in the order of their names: neither rows nor columns of the
            # file decide which of one size goes first.
            ordered = kept[np.argsort(sizes[kept], kind="stable")]
            holds[ordered[: self.checker.count_suppressed(sizes[ordered])]] = False
            if holds.all():
                return partition
            suppressed = np.zeros(self.n_rows, dtype=np.bool_)
            suppressed[released.rows[~holds[released.classes]]] = True
            partition = partition.without(suppressed)

    def check(self, partition: Partition) -> None:
        """Raise an error for a partition that violates its own invariants."""
        rows = np.flatnonzero(partition.is_released)
        classes = partition.class_of_row[rows]
        used = partition.levels[np.unique(classes)]
        if np.any(used < self.problem.lowest) or np.any(used > self.problem.highest):
            raise InternalError("A class was recoded to a level that is not allowed.")
        for j in range(len(self.coded)):
            texts = self._texts(partition, j, rows)
            label = np.full(len(partition.levels), -1, dtype=np.int64)
            label[classes] = texts
            if np.any(label[classes] != texts):
                raise InternalError(f"Records of one class differ in column {self.coded[j].hierarchy.column!r}.")


def recoding_of(table: EncodedTable, request: TableRequest) -> TableRecoding:
    """Return the common data of methods with levels that differ between classes."""
    names = table.problem.names
    weights = np.array(request.weights_of(names))
    to_join = {names.index(name): request.quasi_identifiers[name].hierarchy for name in request.columns_to_join}
    intervals = {place: hierarchy for place, hierarchy in to_join.items() if isinstance(hierarchy, Intervals)}
    listed = tuple(place for place in to_join if place not in intervals and table.coded[place].can_be_listed)
    return TableRecoding(table.problem, table.coded, table.checker, request.loss, weights, request.k, intervals, listed)
