"""MDAV: classes of similar records around those that are furthest from the average record, by Gower's distance."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner_with_arrays, jit
from .layout import TOLERANCE

NO_CLASS = -1


class Mixed(NamedTuple):
    """Distinct rows of numbers and categories, in an order that does not depend on the input.

    values : (n_rows, n_columns) float64, numbers divided by their range, categories numbered from 0; not a number
        where a number is missing, while a missing category is a category
    """

    values: NDArray[np.float64]
    records: NDArray[np.int64]  # (n_rows,) how many records have these values
    is_number: NDArray[np.bool_]  # (n_columns,)
    weights: NDArray[np.float64]  # (n_columns,)


@jit
def _average(rows, members, point):
    """Write the average record of some rows to ``point``: means of the known numbers, most frequent categories."""
    for j in range(point.size):
        if rows.is_number[j]:
            total, known = 0.0, 0
            for i in members:
                if not np.isnan(rows.values[i, j]):
                    total += rows.values[i, j] * rows.records[i]
                    known += rows.records[i]
            point[j] = total / known if known else np.nan
        else:
            highest = 0
            for i in members:
                highest = max(highest, int(rows.values[i, j]))
            counts = np.zeros(highest + 1, dtype=np.int64)
            for i in members:
                counts[int(rows.values[i, j])] += rows.records[i]
            point[j] = np.argmax(counts)  # the first of those that are equally frequent


@jit
def _distances(rows, members, point, distance):
    """Write the distance of each of these rows from a point; return the place of the furthest, the first of a tie."""
    furthest = 0
    for place in range(members.size):
        total = 0.0
        for j in range(point.size):
            value, other = rows.values[members[place], j], point[j]
            if rows.is_number[j] and not np.isnan(value) and not np.isnan(other):
                total += rows.weights[j] * abs(value - other)
            elif value != other and not (np.isnan(value) and np.isnan(other)):
                total += rows.weights[j]
        distance[place] = total
        if total > distance[furthest] + TOLERANCE:
            furthest = place
    return furthest


@inner_with_arrays
def _take(rows, members, distance, k, class_of, number):
    """Give the nearest rows the number of a class until it has k records; return the rows that are left."""
    size, n_taken = 0, 0
    while size < k:
        nearest = -1
        for place in range(members.size):
            is_free = class_of[members[place]] == NO_CLASS
            if is_free and (nearest < 0 or distance[place] < distance[nearest] - TOLERANCE):
                nearest = place
        class_of[members[nearest]] = number
        size += rows.records[members[nearest]]
        n_taken += 1
    left = np.empty(members.size - n_taken, dtype=np.int64)
    place = 0
    for at in range(members.size):
        if class_of[members[at]] == NO_CLASS:
            left[place], distance[place] = members[at], distance[at]
            place += 1
    return left, size


@jit
def _group(rows, k, class_of):
    """Write the class of each row, numbered from 0."""
    number = 0
    for i in range(class_of.size):
        if rows.records[i] >= k:
            class_of[i] = number
            number += 1
    members = np.flatnonzero(class_of == NO_CLASS)
    n_left = rows.records[members].sum()
    distance, point = np.empty(members.size), np.empty(rows.is_number.size)
    while n_left >= 2 * k:
        n_before = n_left
        _average(rows, members, point)
        point[:] = rows.values[members[_distances(rows, members, point, distance)]]
        _distances(rows, members, point, distance)
        members, size = _take(rows, members, distance, k, class_of, number)
        number, n_left = number + 1, n_left - size
        if n_before >= 3 * k and n_left >= 2 * k:
            furthest = 0
            for place in range(members.size):
                if distance[place] > distance[furthest] + TOLERANCE:
                    furthest = place
            point[:] = rows.values[members[furthest]]
            _distances(rows, members, point, distance)
            members, size = _take(rows, members, distance, k, class_of, number)
            number, n_left = number + 1, n_left - size
    class_of[members] = number


def group_similar(rows: Mixed, k: int) -> NDArray[np.int64]:
    """Return the class of each row, numbered from 0: of k records at least, but for the last, which has what is left.

    A row of k records or more is a class of its own. The other classes have fewer than 2k records, as all of a row
    come together.
    """
    _check(rows)
    class_of = np.full(rows.records.size, NO_CLASS, dtype=np.int64)
    _group(rows, k, class_of)
    return class_of


def average_row(rows: Mixed, members: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the average of some rows: means of known numbers, most frequent categories, the first of a tie."""
    _check(rows, members)
    point = np.empty(rows.is_number.size)
    _average(rows, members, point)
    return point


def nearest_row(rows: Mixed, members: NDArray[np.int64], point: NDArray[np.float64]) -> int:
    """Return the one of some rows that is nearest to a point, the first of a tie."""
    _check(rows, members)
    distance = np.empty(members.size)
    _distances(rows, members, point, distance)
    return int(members[np.flatnonzero(distance <= distance.min() + TOLERANCE)[0]])


def _check(rows: Mixed, members: NDArray[np.int64] | None = None) -> None:
    n, width = rows.values.shape
    assert rows.records.shape == (n,)
    assert rows.is_number.shape == rows.weights.shape == (width,)
    assert members is None or (members.size and 0 <= members.min() <= members.max() < n)
    categories = rows.values[:, ~rows.is_number]
    assert categories.size == 0 or categories.min() >= 0
