"""Strata: groups of records that classes do not cross, so that counts by their columns stay as recorded."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.classes import classes_of
from cloister.kernels.layout import CODE, LevelMaps, Rows, key_strides, make_task
from cloister.shapes.table.method.coding import Coded

from .mondrian import divide_rows
from .table_recoding import TableRecoding

DECADE = 10.0  # numbers that a stratum spans at most, if it has enough records: an age is then known to ten years
MOST_LABELS = 20  # of a column that is no number, at the level of its strata
LEAST_CLASSES = 2  # that a stratum has room for: with one, all its records would get the same labels


def find_strata(recoding: TableRecoding, attributes: Sequence[int]) -> NDArray[np.int64]:
    """Return the stratum of each distinct row, shape (n_rows,), numbered from 0.

    Records are split by the labels of these attributes: of numbers down to ten years, of other values down to the
    values themselves, or to at most 20 labels. Labels with too few records for two classes, or that violate a rule
    about classes even as one class, stay together, with the smallest of the others while they need it. Of several
    attributes the one with the fewest labels splits first.
    """
    goals = sorted((n_labels, j, level) for j in attributes for n_labels, level in [_goal(recoding, j)])
    parts = [np.arange(recoding.n_rows)]
    for _, j, goal in goals:
        for level in range(int(recoding.problem.highest[j]), goal - 1, -1):
            parts = [child for part in parts for child in _divide(recoding, part, recoding.at(j, level, part))]
    stratum = np.empty(recoding.n_rows, dtype=np.int64)
    for number, part in enumerate(parts):
        stratum[part] = number
    return stratum


def _goal(recoding: TableRecoding, attribute: int) -> tuple[int, int]:
    """How many labels an attribute has at the level of its strata, and that level."""
    coded, low = recoding.coded[attribute], int(recoding.problem.lowest[attribute])
    high = int(recoding.problem.highest[attribute])
    numbers = _numbers(coded)
    if numbers is None:
        fitting = [level for level in range(low, high + 1) if len(coded.labels[level]) <= MOST_LABELS][:1]
    else:
        fitting = [level for level in range(low, high + 1) if _spans_a_decade(coded, numbers, low, level)][-1:]
    level = fitting[0] if fitting else high
    return len(coded.labels[level]), level


def _numbers(coded: Coded) -> list[float | None] | None:
    """The values of a column, None where missing, if the others are numbers and there are many."""
    try:
        numbers = [None if value is None else float(value) for value in coded.hierarchy.values]
    except ValueError:
        return None
    return numbers if len(numbers) > MOST_LABELS else None


def _spans_a_decade(coded: Coded, numbers: list[float | None], low: int, level: int) -> bool:
    """Whether every label of a level covers less than ten years, or has no finer label below it, as >=90."""
    labels = coded.hierarchy.labels
    covered: dict[str | None, set[str | None]] = {}
    spans: dict[str | None, list[float]] = {}
    for finest, label, number in zip(labels[low], labels[level], numbers, strict=True):
        covered.setdefault(label, set()).add(finest)
        if number is not None:
            spans.setdefault(label, []).append(number)
    return all(max(span) - min(span) < DECADE or len(covered[label]) == 1 for label, span in spans.items())


def _divide(recoding: TableRecoding, rows: NDArray[np.int64], codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Rows by their labels; labels that cannot be strata together, with the smallest of the others."""
    labels, _ = classes_of([codes])
    least = LEAST_CLASSES * recoding.problem.task.threshold.k
    sizes = np.bincount(labels, recoding.problem.task.rows.records[rows])
    is_apart = (sizes >= least) & recoding.checker.holds(rows, labels, sizes.size)
    for smallest in np.argsort(sizes, kind="stable"):
        rest = rows[~is_apart[labels]]
        if not rest.size or (sizes[~is_apart].sum() >= least and recoding.checker.accepts(rest)):
            break
        is_apart[smallest] = False
    return divide_rows(rows, np.where(is_apart[labels], labels, -1))


def within_strata(recoding: TableRecoding, stratum: NDArray[np.int64]) -> TableRecoding:
    """Return the recoding with the stratum as one more attribute, the last, that is never generalized.

    Methods that keep to the highest levels allowed then never put records of two strata into one class. What they find
    has one more column of levels. The attribute costs nothing.
    """
    problem, n = recoding.problem, int(stratum.max(initial=0)) + 1
    maps, costs, rows = problem.task.maps, problem.task.costs, problem.task.rows
    n_levels = maps.sizes.shape[1]
    sizes = np.vstack([maps.sizes, np.array([n] + [0] * (n_levels - 1))])
    stride, exact = key_strides(sizes[:, 0])
    more = LevelMaps(
        up=np.concatenate([maps.up, np.arange(n, dtype=maps.up.dtype)]),
        start=np.concatenate([maps.start, np.full((1, n_levels, n_levels), maps.up.size)]),
        sizes=sizes,
        heights=np.append(maps.heights, 1),
        number=np.vstack([maps.number, np.zeros(n_levels, dtype=np.int64)]),
        stride=stride,
        exact=exact,
    )
    nothing = np.zeros((1, n_levels))
    free = costs._replace(
        leaves=np.concatenate([costs.leaves, np.zeros(n, dtype=np.int64)]),
        start=np.concatenate([costs.start, np.full((1, n_levels), costs.leaves.size)]),
        domain=np.append(costs.domain, 1),
        mean=np.concatenate([costs.mean, nothing]),
        worst=np.concatenate([costs.worst, nothing]),
        weight=np.append(costs.weight, 0.0),
    )
    codes = np.ascontiguousarray(np.vstack([rows.codes, stratum.astype(CODE)]))
    extended = replace(
        problem,
        names=(*problem.names, ""),
        task=make_task(Rows(codes, rows.records), more, free, problem.task.threshold),
        lowest=np.append(problem.lowest, 0),
        highest=np.append(problem.highest, 0),
    )
    return replace(recoding, problem=extended)
