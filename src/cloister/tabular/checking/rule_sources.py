"""What rules look at: hierarchies and populations, in files or tables; the values of a sensitive column by class."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io import as_text, from_native
from cloister.io.columns import listed
from cloister.privacy import ClassRule, Histogram, PopulationRule, PrivacyRule


def populations_in(rules: Sequence[PrivacyRule]) -> list[PopulationRule]:
    """Return the rules that compare with a population table."""
    return [rule for rule in rules if isinstance(rule, PopulationRule) and rule.compares_with_population]


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
            f"The population of the rule {rule.words()} lacks quasi-identifiers: {', '.join(absent)}. "
            f"Its columns: {listed(frame.columns)}.",
            column=absent[0],
        )
    return {column: as_text(frame[column]) for column in columns}


MOST_CELLS = 4_000_000
"""Cells of classes by values that are counted in a full table; where there are more, they are sorted."""

MOST_EMPTY = 16  # cells of that table for each one that is filled


class SensitiveValues:
    """One sensitive column as a rule sees it.

    Parameters
    ----------
    rule : says whether values need an order or groups
    row_of_record : (n,) distinct row of each record, or of each row of a tally
    n : (n,) how many records each stands for
    """

    def __init__(
        self, column: pl.Series, rule: ClassRule, row_of_record: NDArray[np.int64], n: NDArray[np.int64]
    ) -> None:
        values = natural_order(column, must_be_ordered=rule.needs == "ordered histogram")
        present = [value for value in values if value is not None]
        places = as_text(column).cast(pl.Enum(present)).to_physical().cast(pl.Int64).fill_null(len(present))
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
        cells, place = np.unique(row_of_record * len(values) + numbers, return_inverse=True)
        self._records = np.bincount(place, n, cells.size).astype(np.int64)
        self._rows, self._numbers = np.divmod(cells, len(values))
        self._start = np.searchsorted(self._rows, np.arange(int(row_of_record.max(initial=-1)) + 2))

    def by_class(self, labels: NDArray[np.int64], n_classes: int, rows: NDArray[np.int64] | None = None) -> Histogram:
        """Return how often each value occurs in each class of distinct rows.

        Parameters
        ----------
        rows : (n,) the distinct rows; None for all of them
        """
        if rows is None:
            return self._counted(labels[self._rows], slice(None), n_classes)
        n_cells = self._start[rows + 1] - self._start[rows]
        before = np.concatenate([[0], np.cumsum(n_cells)])
        cells = np.repeat(self._start[rows] - before[:-1], n_cells) + np.arange(before[-1])
        return self._counted(np.repeat(labels, n_cells), cells, n_classes)

    def _counted(self, classes: NDArray[np.int64], cells: NDArray[np.int64] | slice, n_classes: int) -> Histogram:
        n_values, weights = self.whole.size, self._records[cells]
        key = classes * n_values + self._numbers[cells]
        if n_classes * n_values <= min(MOST_CELLS, MOST_EMPTY * key.size):
            # Weights are added up as floating-point numbers, exact below 2**53 records.
            table = np.bincount(key, weights=weights, minlength=n_classes * n_values)
            found = np.flatnonzero(table)
            records = table[found].astype(np.int64)
        else:
            found, place = np.unique(key, return_inverse=True)
            records = np.bincount(place, weights=weights).astype(np.int64)
        numbers, value = np.divmod(found, n_values)
        start = np.searchsorted(numbers, np.arange(n_classes + 1))
        return Histogram(start, value, records, self.whole, self.missing, self.groups)


def natural_order(column: pl.Series, *, must_be_ordered: bool = False) -> list[str | None]:
    """Return the distinct values as text in their natural order: numbers and dates by size, else by UTF-8 bytes.

    Missing comes last.
    """
    distinct = column.unique().sort(nulls_last=True)
    texts = as_text(distinct)
    if column.dtype != pl.String:
        if must_be_ordered and column.dtype == pl.Boolean:
            raise _unordered(column.name)
        return texts.to_list()
    numbers = texts.cast(pl.Float64, strict=False)
    if (numbers.is_null() == texts.is_null()).all() and not numbers.is_nan().any():
        return (
            pl.DataFrame({"number": numbers, "text": texts}).sort("number", "text", nulls_last=True)["text"].to_list()
        )
    if must_be_ordered:
        raise _unordered(column.name)
    return texts.to_list()


def _unordered(column: str) -> InputError:
    return InputError(
        f"The ordered distance was asked for column {column!r}, but its values are neither numbers nor dates. "
        "Use the equal or the hierarchical distance.",
        column=column,
    )
