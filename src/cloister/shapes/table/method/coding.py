"""Numeric codes for labels and values: tables and rule columns as arrays for the kernels."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, InternalError, name_few
from cloister.hierarchy import BoundHierarchy
from cloister.hierarchy.value_lists import MOST_VALUES, read_list
from cloister.io import as_text, from_native
from cloister.io.columns import as_held, list_columns
from cloister.kernels.layout import CODE, Costs, LevelMaps, Rows, key_strides
from cloister.privacy import ClassRule, Histogram, PopulationRule, PrivacyRule
from cloister.utility import AttributeLoss

MOST_LEAVES = 2**62  # sums of leaves over all records must fit into 64 bits


class Coded:
    """A bound hierarchy with numeric codes: by level, its labels, the codes of its values and the leaves of its codes.

    ``wider``: bound to these values and those of population tables; ``hierarchy`` itself if there are none.
    """

    def __init__(self, hierarchy: BoundHierarchy, wider: BoundHierarchy) -> None:
        self.hierarchy = hierarchy
        self.values = wider.values
        self.labels: list[list[str | None]] = []
        self.codes: list[NDArray[np.int64]] = []
        self.leaves: list[NDArray[np.int64]] = []
        own = {value: place for place, value in enumerate(hierarchy.values)}
        here = np.array([own.get(value, -1) for value in wider.values], dtype=np.int64)
        for labels, leaves in zip(wider.labels, hierarchy.leaves, strict=True):
            number: dict[str | None, int] = {}
            codes = np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.int64)
            # a label of population records only covers no leaf of the table; none of its records loses anything.
            covered = np.ones(len(number), dtype=np.int64)
            covered[codes[here >= 0]] = leaves[here[here >= 0]]
            if not np.array_equal(covered[codes[here >= 0]], leaves[here[here >= 0]]):
                raise InternalError(f"Column {hierarchy.column!r}: one label covers different numbers of leaves.")
            self.labels.append(list(number))
            self.codes.append(codes)
            self.leaves.append(covered)

    @property
    def can_be_listed(self) -> bool:
        """Whether labels may list values: few, of one leaf each, and no label of the hierarchy reads as a list."""
        few = self.leaves[0].size <= MOST_VALUES and bool((self.leaves[0] == 1).all())
        return few and not any(read_list(label) for labels in self.labels for label in labels)

    def rows(self, text: pl.Series) -> NDArray[np.int64]:
        """Code at level 0 of each record."""
        present = [value for value in self.values if value is not None]
        position = text.cast(pl.Enum(present)).to_physical().cast(pl.Int64).fill_null(len(present)).to_numpy()
        codes: NDArray[np.int64] = self.codes[0][position]
        return codes

    def rise(self, low: int, high: int) -> NDArray[np.int64]:
        """Code at level ``high`` of each code at level ``low``."""
        up = np.zeros(self.leaves[low].size, dtype=np.int64)
        up[self.codes[low]] = self.codes[high]
        if not np.array_equal(up[self.codes[low]], self.codes[high]):
            raise InternalError(f"Column {self.hierarchy.column!r}: levels {low} and {high} are not nested.")
        return up


def level_maps(coded: Sequence[Coded]) -> LevelMaps:
    """Return the maps of codes from each level to the next."""
    n_levels = max(len(c.codes) for c in coded)
    start = np.zeros((len(coded), n_levels, n_levels), dtype=np.int64)
    sizes = np.zeros((len(coded), n_levels), dtype=np.int64)
    tables: list[NDArray[np.int64]] = []
    length = 0
    for j, one in enumerate(coded):
        for low in range(len(one.codes)):
            sizes[j, low] = one.leaves[low].size
            for high in range(low, len(one.codes)):
                start[j, low, high] = length
                tables.append(one.rise(low, high))
                length += tables[-1].size
    stride, exact = key_strides(sizes[:, 0])
    return LevelMaps(
        up=np.concatenate(tables).astype(CODE),
        start=start,
        sizes=sizes,
        heights=np.array([len(c.codes) for c in coded], dtype=np.int64),
        number=np.tile(np.arange(n_levels, dtype=np.int64), (len(coded), 1)),
        stride=stride,
        exact=exact,
    )


def costs_of(coded: Sequence[Coded], rows: Rows, weights: Sequence[float], loss: AttributeLoss) -> Costs:
    """Return the costs of generalized values.

    ``rows`` are the distinct rows at level 0; ``weights`` (n_attributes,) are positive.
    """
    n_records = int(rows.records.sum())
    n_levels = max(len(c.codes) for c in coded)
    shape = (len(coded), n_levels)
    start, mean, worst = np.zeros(shape, dtype=np.int64), np.zeros(shape), np.ones(shape)
    # What a suppressed value costs, in whole leaves or levels; at least 1.
    highest = [(c.hierarchy.n_levels if loss.by_level else c.hierarchy.n_leaves) - 1 for c in coded]
    domain = np.array([max(1, cost) for cost in highest], dtype=np.int64)
    tables: list[NDArray[np.int64]] = []
    length = 0
    for one, leaves in zip(coded, domain.tolist(), strict=True):
        if n_records * leaves > MOST_LEAVES:
            raise InputError(
                f"The hierarchy of column {one.hierarchy.column!r} spans {leaves + 1} values, too many to add up over "
                f"{n_records} records. Bound it, as in interval:5,10/top=90/bottom=0, or correct extreme values.",
                column=one.hierarchy.column,
            )
    for j, one in enumerate(coded):
        # Weights are added up as floating-point numbers, exact below 2**53 records.
        records = np.bincount(rows.codes[j], rows.records, one.leaves[0].size).astype(np.int64)
        for level, leaves in enumerate(one.leaves):
            lost = np.full(leaves.size, level, dtype=np.int64) if loss.by_level else leaves - 1
            start[j, level] = length
            tables.append(lost)
            length += lost.size
            mean[j, level] = int(records @ lost[one.rise(0, level)]) / (n_records * int(domain[j]))
            worst[j, level] = int(lost.max()) / int(domain[j])
    whole = sum(weights)
    weight = np.array([w / whole for w in weights], dtype=np.float64)
    return Costs(np.concatenate(tables), start, domain, mean, worst, weight, loss.geometric)


def populations_in(rules: Sequence[PrivacyRule]) -> list[PopulationRule]:
    """Return the rules that compare with a population table."""
    return [rule for rule in rules if isinstance(rule, PopulationRule) and rule.full_domain_because]


def population_frame(rule: PopulationRule) -> pl.DataFrame:
    """Return the population table of a rule."""
    if rule.population is None:
        raise InputError(f"The rule {rule.words()} compares with a population table, but none was given.")
    return from_native(rule.population).frame


def population_texts(rule: PopulationRule, columns: Sequence[str]) -> dict[str, pl.Series]:
    """Return the quasi-identifiers of the population of a rule, as text."""
    frame = population_frame(rule)
    absent = [column for column in columns if column not in frame.columns]
    if absent:
        raise InputError(
            f"The population of the rule {rule.words()} lacks quasi-identifiers: {name_few(absent)}. "
            f"Its columns: {list_columns(frame.columns)}.",
            column=absent[0],
        )
    return {column: as_text(frame[column]) for column in columns}


MOST_CELLS = 4_000_000
"""Cells of classes by values that are counted in a full table; where there are more, they are sorted."""

MOST_EMPTY = 16  # cells of that table for each one that is filled


class SensitiveValues:
    """One sensitive column as a rule sees it.

    ``row_of_record`` (n,) is the distinct row of each record, or of each row of a tally; ``n`` (n,) is the number of
    records of that row. The rule determines whether values need an order or groups.
    """

    def __init__(
        self, column: pl.Series, rule: ClassRule, row_of_record: NDArray[np.int64], n: NDArray[np.int64]
    ) -> None:
        values = natural_order(column, must_be_ordered=rule.needs == "ordered histogram")
        present = [value for value in values if value is not None]
        places = as_held(column).cast(pl.Enum(present)).to_physical().cast(pl.Int64).fill_null(len(present))
        numbers: NDArray[np.int64] = places.to_numpy()
        # Weights are added up as floating-point numbers, exact below 2**53 records.
        self.whole = np.bincount(numbers, n, len(values)).astype(np.int64)
        self.missing = len(values) - 1 if values[-1] is None else -1
        self.groups: NDArray[np.int64] | None = None
        if rule.needs == "grouped histogram":  # the group of each value at each level of the rule's hierarchy
            hierarchy = getattr(rule, "hierarchy")  # noqa: B009  (only rules that need groups have one)
            bound = hierarchy.bind(column.name, sorted(present, key=str.encode) + values[len(present) :])
            place = {value: index for index, value in enumerate(bound.values)}
            levels = []
            for labels in bound.labels:
                seen: dict[str | None, int] = {}
                levels.append([seen.setdefault(labels[place[value]], len(seen)) for value in values])
            self.groups = np.array(levels, dtype=np.int64)
        n_rows = int(row_of_record.max(initial=-1)) + 1
        self._rows, self._numbers, self._records = _fill_cells(row_of_record, numbers, n, (n_rows, len(values)))
        self._start = np.searchsorted(self._rows, np.arange(n_rows + 1))

    def by_class(self, labels: NDArray[np.int64], n_classes: int, rows: NDArray[np.int64] | None = None) -> Histogram:
        """Return how often each value occurs in each class of distinct rows.

        ``rows``: (n,) the distinct rows; None for all of them.
        """
        if rows is None:
            return self._count_cells(labels[self._rows], slice(None), n_classes)
        n_cells = self._start[rows + 1] - self._start[rows]
        before = np.concatenate([[0], np.cumsum(n_cells)])
        cells = np.repeat(self._start[rows] - before[:-1], n_cells) + np.arange(before[-1])
        return self._count_cells(np.repeat(labels, n_cells), cells, n_classes)

    def _count_cells(self, classes: NDArray[np.int64], cells: NDArray[np.int64] | slice, n_classes: int) -> Histogram:
        size = n_classes, self.whole.size
        numbers, value, records = _fill_cells(classes, self._numbers[cells], self._records[cells], size)
        start = np.searchsorted(numbers, np.arange(n_classes + 1))
        return Histogram(start, value, records, self.whole, self.missing, self.groups)


def _fill_cells(
    rows: NDArray[np.int64], values: NDArray[np.int64], records: NDArray[np.int64], size: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The cells of a table of rows by values that have records, in order: row and value of each, and how many."""
    (n_rows, n_values), key = size, rows * size[1] + values
    if n_rows * n_values <= min(MOST_CELLS, MOST_EMPTY * key.size):
        # Weights are added up as floating-point numbers, exact below 2**53 records.
        table = np.bincount(key, records, n_rows * n_values)
        found = np.flatnonzero(table)
        counts = table[found]
    else:
        found, place = np.unique(key, return_inverse=True)
        counts = np.bincount(place, records)
    return found // n_values, found % n_values, counts.astype(np.int64)


def natural_order(column: pl.Series, *, must_be_ordered: bool = False) -> list[str | None]:
    """Return the distinct values as text in their natural order: numbers and dates by size, else by UTF-8 bytes.

    Missing comes last.
    """
    distinct = column.unique().sort(nulls_last=True)
    texts = as_text(distinct)
    if column.dtype != pl.String and not isinstance(column.dtype, pl.Enum):
        if must_be_ordered and column.dtype == pl.Boolean:
            raise _unordered_error(column.name)
        return texts.to_list()
    numbers = texts.cast(pl.Float64, strict=False)
    if (numbers.is_null() == texts.is_null()).all() and not numbers.is_nan().any():
        return (
            pl.DataFrame({"number": numbers, "text": texts}).sort("number", "text", nulls_last=True)["text"].to_list()
        )
    if must_be_ordered:
        raise _unordered_error(column.name)
    return texts.to_list()


def _unordered_error(column: str) -> InputError:
    return InputError(
        f"The ordered distance was asked for column {column!r}, but its values are neither numbers nor dates. "
        "Use the equal or the hierarchical distance.",
        column=column,
    )
