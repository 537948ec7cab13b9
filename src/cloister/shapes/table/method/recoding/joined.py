"""Join labels: each class gets the shortest run of intervals that has its numbers, or the list of its values."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloister.hierarchy import BoundHierarchy
from cloister.hierarchy.interval import ABOVE, BELOW, Ends
from cloister.hierarchy.value_lists import can_list, count_listed, list_values, write_list
from cloister.utility import AttributeLoss

from .table_recoding import JoinedClasses, Partition, TableRecoding


def join_labels(recoding: TableRecoding, partition: Partition) -> TableRecoding:
    """Return the recoding whose labels join intervals of the lowest level, or list values, as a class needs them.

    A class of ages 38 to 52 has the label `[35-54]` instead of `*`, if intervals of all levels end at 40; one whose
    records have two of four regions has `{Midwest | South}`.

    *Guarantee*: no class grows, no label covers more than that of the partition, and every rule holds of the released
    classes; where one about the table would not, nothing is joined. Ends of labels are ends of intervals of the
    hierarchy, at the lowest level allowed from 1 on, not those of values. Both ends occur: an interval at either end of
    a label has a record of the class. Each listed value occurs, too: a label lists half of k values at most, and only
    values that k released records have. Not promised: that labels of different classes exclude each other. Cost: one
    pass over the distinct rows for each column.

    Source: The function "interval" of ARX's microaggregation (Prasser, Eicher, Spengler, Bild, Kuhn 2020) releases the
    least and greatest value of a class; here ends lie on the grid of the hierarchy.
    """
    places = [*recoding.intervals, *recoding.listed]
    found = {place: joined for place in places if (joined := _join_column(recoding, partition, place)) is not None}
    if not found:
        return recoding
    narrower = replace(recoding, joined=found)
    released = narrower.released(partition)
    holds = recoding.checker.holds(released.rows, released.classes, released.n_classes)
    sizes = np.sort(recoding.checker.records(released.rows, released.classes, released.n_classes))
    return narrower if holds.all() and not recoding.checker.count_suppressed(sizes) else recoding


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


def find_bits(recoding: TableRecoding, attribute: int, n_codes: int) -> tuple[NDArray[np.uint64], int]:
    """Return a bit for each code of level 0 that a label may list, all bits for others; and how many values it lists.

    None are listed where the loss counts levels.
    """
    bits = np.full(n_codes, np.iinfo(np.uint64).max, dtype=np.uint64)
    is_by_level = isinstance(recoding.loss, AttributeLoss) and recoding.loss.by_level
    if is_by_level or attribute not in recoding.listed:
        return bits, 0
    codes = np.flatnonzero(_find_listable(recoding, attribute, np.arange(recoding.n_rows)))
    bits[codes] = np.left_shift(np.uint64(1), np.arange(codes.size, dtype=np.uint64))
    return bits, max(0, min(count_listed(recoding.k), codes.size - 1))


def _find_listable(recoding: TableRecoding, attribute: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether labels may list the value of each code of level 0: k of these rows' records have it, shape (n_codes,).

    Not the name of a group: it covers more.
    """
    coded, code = recoding.coded[attribute], recoding.at(attribute, 0, rows)
    labels, above = coded.labels[0], zip(coded.labels[1:], coded.leaves[1:], strict=True)
    groups = {label for labels, leaves in above for label, n in zip(labels, leaves, strict=True) if n > 1}
    records = np.bincount(code, recoding.problem.task.rows.records[rows], len(labels))
    is_value = np.array([can_list(label) and label not in groups for label in labels], dtype=np.bool_)
    return (records >= recoding.k) & is_value


def _join_column(recoding: TableRecoding, partition: Partition, attribute: int) -> JoinedClasses | None:
    """The joined labels of the classes of a partition in one column; None where there are none."""
    rows = np.flatnonzero(partition.is_released)
    label = _label_runs if attribute in recoding.intervals else _label_lists
    labels, bound = label(recoding, partition, attribute, rows)
    if not labels:
        return None
    made, levels = {one.label: one for one in bound.joined}, partition.levels[:, attribute]
    leaves = _count_below(recoding, partition, attribute, rows)
    of_class, joined = np.full(levels.size, -1, dtype=np.int64), dict[str, int]()
    for place, text in labels.items():
        one = made.get(text)
        if one is not None and one.level == levels[place] and one.leaves < leaves[place]:
            of_class[place] = joined.setdefault(text, len(joined))
    return JoinedClasses(tuple(made[text] for text in joined), of_class) if joined else None


def _label_runs(
    recoding: TableRecoding, partition: Partition, attribute: int, rows: NDArray[np.int64]
) -> tuple[dict[int, str], BoundHierarchy]:
    """The shortest run of intervals of each class that is above their level, and the hierarchy with these labels."""
    cells, hierarchy, coded = _cells_of(recoding, attribute), recoding.intervals[attribute], recoding.coded[attribute]
    if cells is None:
        return {}, coded.hierarchy
    # A missing value may be anywhere.
    ends = np.repeat(np.array([[BELOW], [ABOVE]]), coded.leaves[0].size, axis=1)
    ends[:, cells.code] = cells.ends
    code, levels = recoding.at(attribute, 0, rows), partition.levels[:, attribute]
    begin, end = np.full(levels.size, ABOVE), np.full(levels.size, BELOW)
    np.minimum.at(begin, partition.class_of_row[rows], ends[0][code])
    np.maximum.at(end, partition.class_of_row[rows], ends[1][code])
    is_wide = (levels > cells.level) & (begin < end) & ~((begin == BELOW) & (end == ABOVE))
    labels = {one: hierarchy.scale.label(int(begin[one]), int(end[one])) for one in np.flatnonzero(is_wide).tolist()}
    return labels, hierarchy.join(coded.hierarchy, labels.values(), cells.level)


def _label_lists(
    recoding: TableRecoding, partition: Partition, attribute: int, rows: NDArray[np.int64]
) -> tuple[dict[int, str], BoundHierarchy]:
    """The list of the values of each class that may have one, and the hierarchy with these labels.

    None lists all values that may be listed below the label of its level, which says as much. So `*` never says by
    itself that there are more: rare or missing ones, perhaps of suppressed records.
    """
    coded, levels = recoding.coded[attribute], partition.levels[:, attribute]
    if attribute not in recoding.listed:
        return {}, coded.hierarchy
    texts, is_listable = coded.labels[0], _find_listable(recoding, attribute, rows)
    held = np.unique(np.stack([partition.class_of_row[rows], recoding.at(attribute, 0, rows)]), axis=1)
    n_values = np.bincount(held[0], minlength=levels.size)
    n_listable = np.bincount(held[0], is_listable[held[1]], levels.size)
    has_list = (levels > 0) & (n_values == n_listable) & (n_values <= count_listed(recoding.k))
    has_list &= n_values < _count_below(recoding, partition, attribute, rows, is_listable)
    values: dict[int, list[str]] = {}
    for one, at in held[:, has_list[held[0]]].T.tolist():
        values.setdefault(one, []).append(texts[at] or "")
    labels = {one: write_list(own) for one, own in values.items()}
    frequent = {texts[code] for code in np.flatnonzero(is_listable).tolist()}
    return labels, list_values(coded.hierarchy, labels.values(), recoding.k, frequent)


def _count_below(
    recoding: TableRecoding,
    partition: Partition,
    attribute: int,
    rows: NDArray[np.int64],
    is_counted: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """Leaves of the label of each class at its level, or the counted values below it; 0 of a class without rows."""
    coded = recoding.coded[attribute]
    classes, first = np.unique(partition.class_of_row[rows], return_index=True)
    levels, found = partition.levels[classes, attribute], np.zeros(len(partition.levels), dtype=np.int64)
    for level in np.unique(levels).tolist():
        mine, counts = levels == level, coded.leaves[level]
        if is_counted is not None:
            counts = np.bincount(coded.rise(0, level), is_counted, counts.size).astype(np.int64)
        found[classes[mine]] = counts[recoding.at(attribute, level, rows[first[mine]])]
    return found
