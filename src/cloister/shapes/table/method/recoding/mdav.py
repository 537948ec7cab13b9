"""Microaggregation of mixed columns: classes of similar records whatever the hierarchies, to be averaged."""

import heapq

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease
from cloister.io import as_text
from cloister.io.foreign import interruptible
from cloister.kernels.mdav import Mixed, average_row, group_similar, nearest_row
from cloister.shapes.table.format.options import MODE
from cloister.shapes.table.method.data import EncodedTable, TableRequest
from cloister.shapes.table.method.measure import numbers_of

from .table_recoding import recoding_of

Integers = NDArray[np.int64]


def mdav(table: EncodedTable, request: TableRequest) -> Integers:
    """Return the class of each record, (n_records,), so that the records of a class are similar.

    The record furthest from the average record and its nearest ones make a class of k, then the record furthest from
    that one and its nearest ones, until fewer than 2k records are left, which make the last. The average of numbers is
    their mean, of categories the most frequent. The distance is Gower's: of numbers the difference divided by the
    range, of categories and missing values 1 if they differ; each times the weight of the column.

    *Guarantee*: every class satisfies all rules about classes, and the table those about the table; no record is
    suppressed. The classes depend neither on the order of the records nor on that of the columns; ties are decided by
    the values. Not promised: the least loss; that a value shown is that of any record (`microaggregate`). Cost: rows x
    rows x columns / k, where rows are the distinct ones of fewer than k records.

    Source: Domingo-Ferrer, Mateo-Sanz (2002), "Practical data-oriented microaggregation for statistical disclosure
    control": MDAV; Domingo-Ferrer, Torra (2005), "Ordinal, continuous and heterogeneous k-anonymity through
    microaggregation", for categories; Gower (1971), "A general coefficient of similarity and some of its properties".
    Deviations: records with the same values stay together, and k of them are a class of their own, so that other
    classes have up to 2k - 2 records; records left in the end, if fewer than k, and classes that violate another rule
    are merged with the class of the nearest average.
    """
    recoding = recoding_of(table, request)
    order, names = recoding.canonical, table.problem.names
    first = np.unique(table.problem.row_of_record, return_index=True)[1][order]
    is_number = np.array([request.microaggregate[name] != MODE for name in names])
    columns = [
        (_divided_by_range if one else _numbered)(as_text(table.frame[name]).gather(first))
        for name, one in zip(names, is_number, strict=True)
    ]
    rows = Mixed(np.stack(columns, axis=1), table.problem.task.rows.records[order], is_number, recoding.weights)
    class_of_row = np.empty(recoding.n_rows, dtype=np.int64)
    class_of = interruptible(lambda: group_similar(rows, request.class_size))
    class_of_row[order] = _merge_violating(table, order, rows, class_of)
    return class_of_row[table.problem.row_of_record]


def _divided_by_range(text: pl.Series) -> NDArray[np.float64]:
    """Numbers from 0, the smallest, to 1, the largest; not a number where missing."""
    numbers = numbers_of(text)
    known = [number for number in numbers if number is not None]
    low, high = min(known, default=0), max(known, default=0)
    span = high - low or 1
    return np.array([np.nan if number is None else float((number - low) / span) for number in numbers])


def _numbered(text: pl.Series) -> NDArray[np.float64]:
    """Categories numbered in the order of their UTF-8 bytes from 1 on, missing as 0."""
    return text.rank("dense").fill_null(0).to_numpy().astype(np.float64)


def _merge_violating(table: EncodedTable, order: Integers, rows: Mixed, class_of: Integers) -> Integers:
    """Merge classes that violate a rule with the class of the nearest average, the smallest first.

    ``order``: the number of each row in the table
    """
    checker, n = table.checker, int(class_of.max()) + 1
    members = np.split(np.argsort(class_of, kind="stable"), np.cumsum(np.bincount(class_of))[:-1])
    sizes = np.bincount(class_of, rows.records).astype(np.int64)
    averages = rows._replace(values=np.stack([average_row(rows, one) for one in members]), records=sizes)

    def merge(one: int) -> int:
        sizes[one], size = 0, sizes[one]
        if not sizes.any():
            raise NoSafeRelease(
                f"Asked for was: {table.problem.requirement}. Even all {size:,} records as one class violate that. "
                "Ask for less or release more records together."
            )
        other = nearest_row(averages, np.flatnonzero(sizes), averages.values[one])
        sizes[other] += size
        members[other] = np.sort(np.concatenate([members[other], members[one]]))
        averages.values[other] = average_row(rows, members[other])
        class_of[members[one]] = other
        return other

    waiting = [(int(sizes[one]), one) for one in np.flatnonzero(~checker.holds(order, class_of, n)).tolist()]
    heapq.heapify(waiting)
    while waiting:
        size, one = heapq.heappop(waiting)
        if size == sizes[one]:  # it was not merged since
            other = merge(one)
            if not checker.accepts(order[members[other]]):
                heapq.heappush(waiting, (int(sizes[other]), other))
    while checker.count_suppressed(np.sort(sizes[sizes > 0])):
        merge(int(np.argmin(np.where(sizes > 0, sizes, np.iinfo(np.int64).max))))
    return class_of
