"""Join adjacent intervals: each class of a partition gets the shortest run of intervals that has its numbers."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloister.hierarchy.interval import ABOVE, BELOW, Ends
from cloister.utility import AttributeLoss

from .table_recoding import JoinedClasses, Partition, TableRecoding


def join_intervals(recoding: TableRecoding, partition: Partition) -> TableRecoding:
    """Return the recoding whose labels of numbers are adjacent intervals of the lowest level, as a class needs them.

    A class of ages 38 to 52 has the label `[35-54]` instead of `*`, if intervals of all levels end at 40.

    *Guarantee*: no class grows, no label covers more than that of the partition, and every rule holds of the released
    classes; where one about the table would not, nothing is joined. Ends of labels are ends of intervals of the
    hierarchy, at the lowest level allowed from 1 on, not those of values. Both ends occur: an interval at either end of
    a label has a record of the class. Not promised: that labels of different classes exclude each other. Cost: one
    pass over the distinct rows for each column of numbers.

    Source: The function "interval" of ARX's microaggregation (Prasser, Eicher, Spengler, Bild, Kuhn 2020) releases the
    least and greatest value of a class; here ends lie on the grid of the hierarchy.
    """
    found = {
        place: joined
        for place in recoding.intervals
        if (joined := _join_column(recoding, partition, place)) is not None
    }
    if not found:
        return recoding
    narrower = replace(recoding, joined=found)
    released = narrower.released(partition)
    holds = recoding.checker.holds(released.rows, released.classes, released.n_classes)
    sizes = np.sort(recoding.checker.records(released.rows, released.classes, released.n_classes))
    return narrower if holds.all() and not recoding.checker.n_left_out(sizes) else recoding


def find_reach(recoding: TableRecoding, attribute: int, n_codes: int) -> NDArray[np.float64]:
    """Return from where to where the interval of each code of level 0 reaches, in leaves, shape (2, n_codes).

    Endless where nothing is joined: of missing values, and where the loss counts levels.
    """
    reach = np.repeat(np.array([[-np.inf], [np.inf]]), n_codes, axis=1)
    is_by_level = isinstance(recoding.loss, AttributeLoss) and recoding.loss.by_level
    cells = None if is_by_level or attribute not in recoding.intervals else _cells_of(recoding, attribute)
    if cells is not None and cells.code.size:
        coded = recoding.coded[attribute]
        leaves = coded.leaves[cells.level][coded.rise(0, cells.level)[cells.code]]
        reach[:, cells.code] = recoding.intervals[attribute].reach(cells.ends, leaves)
    return reach


class _Cells(NamedTuple):
    """The intervals of a column that can be joined, of the values that are not missing."""

    level: int
    code: NDArray[np.int64]  # (n_values,) code of each at level 0
    ends: Ends


def _cells_of(recoding: TableRecoding, attribute: int) -> _Cells | None:
    """The intervals of a column at its lowest level allowed, from 1 on; None of a level without intervals."""
    coded, level = recoding.coded[attribute], max(1, int(recoding.problem.lowest[attribute]))
    known = np.array([value is not None for value in coded.values], dtype=np.bool_)
    ends = recoding.intervals[attribute].cells([value for value in coded.values if value is not None], level)
    return None if ends is None else _Cells(level, coded.codes[0][known], ends)


def _join_column(recoding: TableRecoding, partition: Partition, attribute: int) -> JoinedClasses | None:
    """The joined labels of the classes of a partition in one column; None where there are none."""
    cells, hierarchy = _cells_of(recoding, attribute), recoding.intervals[attribute]
    if cells is None:
        return None
    coded, rows = recoding.coded[attribute], np.flatnonzero(partition.is_released)
    class_of = partition.class_of_row[rows]
    # A missing value may be anywhere.
    ends = np.repeat(np.array([[BELOW], [ABOVE]]), coded.leaves[0].size, axis=1)
    ends[:, cells.code] = cells.ends
    code, levels = recoding.at(attribute, 0, rows), partition.levels[:, attribute]
    begin, end = np.full(levels.size, ABOVE), np.full(levels.size, BELOW)
    np.minimum.at(begin, class_of, ends[0][code])
    np.maximum.at(end, class_of, ends[1][code])
    leaves = _count_leaves(recoding, partition, attribute, rows)
    is_wide = (levels > cells.level) & (begin < end) & ~((begin == BELOW) & (end == ABOVE))
    places = np.flatnonzero(is_wide).tolist()
    labels = [hierarchy.scale.label(int(begin[place]), int(end[place])) for place in places]
    made = {one.label: one for one in hierarchy.join(coded.hierarchy, labels, cells.level).joined}
    of_class, joined = np.full(levels.size, -1, dtype=np.int64), dict[str, int]()
    for place, label in zip(places, labels, strict=True):
        one = made.get(label)
        if one is not None and one.level == levels[place] and one.leaves < leaves[place]:
            of_class[place] = joined.setdefault(label, len(joined))
    return JoinedClasses(tuple(made[label] for label in joined), of_class) if joined else None


def _count_leaves(
    recoding: TableRecoding, partition: Partition, attribute: int, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Leaves of the label of each class at its level, shape (n_classes,); 0 of a class without rows."""
    classes, first = np.unique(partition.class_of_row[rows], return_index=True)
    levels, leaves = partition.levels[classes, attribute], np.zeros(len(partition.levels), dtype=np.int64)
    for level in np.unique(levels).tolist():
        mine = levels == level
        codes = recoding.at(attribute, level, rows[first[mine]])
        leaves[classes[mine]] = recoding.coded[attribute].leaves[level][codes]
    return leaves
