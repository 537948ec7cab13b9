"""Labels that list values: `{Midwest | South}` of a class whose records have these two, and no other.

No list says anything about values that a release does not show: whether a class has a list, and what the list loses,
follow from the released records with frequent values alone.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from .bound import ROOT, BoundHierarchy, Hierarchy, JoinedLabel
from .build import DateHierarchy
from .interval import Intervals, QuantileHierarchy

BEGIN, BETWEEN, END = "{", " | ", "}"
MOST_VALUES = 63
"""Values of a column whose labels list values at most: a kernel has a bit for each, and one set more for none."""


def may_list(hierarchy: Hierarchy) -> bool:
    """Whether labels of a hierarchy may list values: those of numbers and dates are periods and intervals."""
    return not isinstance(hierarchy, Intervals | QuantileHierarchy | DateHierarchy)


def count_listed(k: int) -> int:
    """Return how many values a label lists at most: half of k, so that not each can be that of one record.

    Examples
    --------
    >>> [count_listed(k) for k in (3, 4, 5, 11)]
    [0, 2, 2, 5]
    """
    return min(k // 2, MOST_VALUES) if k >= 4 else 0


def can_list(value: str | None) -> bool:
    """Whether a label may list a value: not a missing one, none with the signs of a list, and no `*`."""
    return value not in (None, ROOT) and not {"{", "|", "}"} & {*(value or "")}


def write_list(values: Collection[str]) -> str:
    """Return the label that lists some values."""
    return BEGIN + BETWEEN.join(sorted(values)) + END


def read_list(label: str | None) -> tuple[str, ...]:
    """Return the values that a label lists, none if it is no list.

    Examples
    --------
    >>> read_list("{Midwest | South}"), read_list("South"), read_list("{South | Midwest}")
    (('Midwest', 'South'), (), ())
    """
    if label is None or not (label.startswith(BEGIN) and label.endswith(END)):
        return ()
    values = tuple(label[len(BEGIN) : -len(END)].split(BETWEEN))
    return values if len(values) > 1 and values == tuple(sorted({*values})) and all(map(can_list, values)) else ()


def list_values(
    bound: BoundHierarchy, labels: Iterable[str | None], k: int, frequent: Collection[str | None]
) -> BoundHierarchy:
    """Return the hierarchy with those of the labels that list values.

    Each has at most `count_listed` values, all of them frequent; nothing is added for other labels.

    ``frequent``: values that at least k records have
    """
    place_of = {value: place for place, value in enumerate(bound.values) if value in frequent}
    known = {label for level in bound.labels for label in level}
    found = []
    for label in sorted({*labels} - known - {None}, key=str):
        values = read_list(label)
        if values and len(values) <= count_listed(k) and all(value in place_of for value in values):
            places = [place_of[value] for value in values]
            level = next(n for n, level in enumerate(bound.labels) if len({level[place] for place in places}) == 1)
            runs = tuple((place, place) for place in places)
            found.append(JoinedLabel(label or "", 0, level, len(places), runs))
    return replace(bound, joined=tuple(found), order=np.arange(len(bound.values))) if found else bound


def has_lists(bound: BoundHierarchy) -> bool:
    """Whether released labels of a column list values, which are joined at level 0; intervals are joined above."""
    return bool(bound.joined) and bound.joined[0].base == 0


def count_shown(bound: BoundHierarchy, labels: Collection[str | None]) -> BoundHierarchy:
    """Return a hierarchy whose domain is the values that labels show, where some list values and all others are `*`.

    Otherwise what a list loses would say how many values `*` covers.

    Examples
    --------
    >>> from cloister.hierarchy import suppress
    >>> labels = ["{a | b}", "c", "*"]
    >>> bound = list_values(suppress().bind("x", [*"abcde"]), labels, k=4, frequent="abcde")
    >>> count_shown(bound, labels).n_leaves
    3
    """
    if not has_lists(bound) or bound.n_levels != 2:
        return bound
    listed = {int(place) for one in bound.joined for place in bound.places_of(one)}
    n_shown = len(listed | {place for place, label in enumerate(bound.labels[0]) if label in labels})
    return replace(bound, n_leaves=n_shown, leaves=np.minimum(bound.leaves, n_shown))
