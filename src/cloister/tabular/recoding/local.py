"""Local recoding: every record at the least costly transformation at which enough are left to make its class."""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.classes import group
from cloister.kernels.layout import TOLERANCE, Rows
from cloister.results import SearchResult
from cloister.search.problem import SearchProblem, distinct_levels

from .table_recoding import SUPPRESSED, Partition, TableRecoding

MOST_TRANSFORMATIONS = 20_000  # that are tried
WORK = 100_000_000  # visits of rows; where a lattice would need more, some ways from its bottom to its top are tried
POWER = 1.3  # of an attribute's loss: one that is lost whole weighs more than two by halves (1 to 2 tried)


def recode_locally(recoding: TableRecoding, first: SearchResult) -> Partition:
    """Return the release of a transformation, or one that loses less, in which each class has levels of its own.

    The transformations of the lattice, or many of a large one, are taken by what they lose on average, least first. The
    records left that make a class satisfying the rules at one are released so; the others wait for the next. In the end
    each class takes the lowest levels at which its records agree.

    *Guarantee*: every class of released records with equal labels satisfies all rules about classes, and the release
    those about the table, against anybody who knows the quasi-identifiers of a patient. The loss is never more than
    that of the transformation. Not promised: the least loss of all such releases; that labels of different classes
    exclude each other (an age of [40-49] stands beside [40-44]). Cost: a count of the records left for each
    transformation tried.

    Parameters
    ----------
    first : what a search found

    References
    ----------
    After the local recoding of ARX (Prasser, Eicher, Spengler, Bild, Kuhn 2020, Software: Practice and Experience
    50(7)), which searches the lattice again for the records left; here no search is needed.
    """
    problem = recoding.problem
    levels = [first.levels[name] for name in problem.names]
    whole = recoding.full_domain(levels, problem.kept_rows(levels))
    groups, _ = cheapest_classes(recoding, problem.task.threshold.k)
    if not groups:
        return whole
    class_of_row = np.full(recoding.n_rows, SUPPRESSED, dtype=np.int64)
    for number, rows in enumerate(groups):
        class_of_row[rows] = number
    found = recoding.settled(Partition(class_of_row, recoding.common_levels(groups)))
    is_worse = recoding.suppressed(found) > recoding.suppressed(whole) or not found.is_released.any()
    return whole if is_worse or recoding.measure(found) >= recoding.measure(whole) - TOLERANCE else found


def cheapest_classes(recoding: TableRecoding, least: int) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Return classes that satisfy the rules, each of the rows left at the cheapest transformation; and rows in none.

    Parameters
    ----------
    least : records of a class at least
    """
    rest, groups = recoding.canonical, list[NDArray[np.int64]]()
    for tried in by_cost(recoding.problem):
        if rest.size:
            fitting, rest = _classes_at(recoding, rest, tried, least)
            groups += fitting
    return groups, rest


def _classes_at(
    recoding: TableRecoding, rest: NDArray[np.int64], levels: NDArray[np.int64], least: int
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The classes of the rows left that satisfy the rules at a transformation, and the rows that are in none."""
    task = recoding.problem.task
    own = Rows(np.ascontiguousarray(task.rows.codes[:, rest]), task.rows.records[rest])
    found = group(own, task.maps, levels)
    is_large = found.sizes >= least
    if not is_large.any():
        return [], rest
    is_in = is_large[found.labels]
    holds = np.zeros(is_large.size, dtype=np.bool_)
    labels = (np.cumsum(is_large) - 1)[found.labels[is_in]]
    holds[is_large] = recoding.checker.holds(rest[is_in], labels, int(is_large.sum()))
    is_in = holds[found.labels]
    rows, labels = rest[is_in], found.labels[is_in]
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return np.split(rows[order], ends) if rows.size else [], rest[~is_in]


def n_transformations(problem: SearchProblem) -> int:
    """Return how many transformations differ in what they merge."""
    return math.prod(map(len, distinct_levels(problem)))


def by_cost(problem: SearchProblem) -> Iterator[NDArray[np.int64]]:
    """Yield transformations by their mean loss, the coarsest last; of a large lattice those on some ways upwards."""
    worth, is_small = distinct_levels(problem), n_transformations(problem) <= MOST_TRANSFORMATIONS
    places = np.array(list(product(*map(range, map(len, worth)))) if is_small else _ways(problem, worth))
    levels = np.stack([np.array(own)[place] for own, place in zip(worth, places.T, strict=True)], axis=1)
    costs = problem.task.costs
    terms = costs.mean[np.arange(len(worth)), levels] ** POWER @ costs.weight
    # Rounded, so that equal costs are equal however they were added up; then by rank, then by levels.
    yield from levels[np.lexsort([*levels.T[::-1], levels.sum(axis=1), np.round(terms, 12)])]


def _ways(problem: SearchProblem, worth: list[list[int]]) -> NDArray[np.int64]:
    """Transformations on ways from the bottom to the top, each step of which is cheap by a draw of its own."""
    costs, draw = problem.task.costs, np.random.default_rng(0)
    heights, n = np.array([len(own) - 1 for own in worth]), len(worth)
    mean = np.full((n, int(heights.max()) + 2), np.inf)
    for j, own in enumerate(worth):
        mean[j, : len(own)] = costs.weight[j] * costs.mean[j, own]
    rank = int(heights.sum())
    ways = max(1, WORK // (max(rank, 1) * problem.task.rows.records.size))
    at, found = np.zeros((ways, n), dtype=np.int64), [np.zeros((1, n), dtype=np.int64)]
    for _ in range(rank):
        step = mean[np.arange(n), at + 1] - mean[np.arange(n), at] + TOLERANCE
        at = at.copy()
        at[np.arange(ways), np.argmin(step * draw.exponential(size=at.shape), axis=1)] += 1
        found.append(at)
    return np.unique(np.concatenate(found), axis=0)
