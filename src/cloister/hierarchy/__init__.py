"""Generalization hierarchies: intervals, prefixes, dates, diagnosis codes, files.

The functions here create hierarchies; `bind` converts one into the `BoundHierarchy` of a column.
"""

from collections.abc import Iterable
from decimal import Decimal

from cloister.errors import InputError
from cloister.hierarchy.bound import ROOT, BoundHierarchy, Hierarchy, MadeOfRecords
from cloister.hierarchy.build import (
    DateHierarchy,
    PrefixHierarchy,
    SuppressHierarchy,
    describe_builders,
    names_hierarchy,
    parse_hierarchy,
)
from cloister.hierarchy.categories import GroupsHierarchy, KeepHierarchy, RareHierarchy, SimilarHierarchy
from cloister.hierarchy.file_hierarchy import (
    FileHierarchy,
    check_file,
    check_rows,
    hierarchy_file,
    preview,
    text_of_cell,
)
from cloister.hierarchy.icd import IcdHierarchy, icd9, icd10
from cloister.hierarchy.interval import CutHierarchy, IntervalHierarchy, Intervals, Number, QuantileHierarchy

__all__ = [
    "ROOT", "BoundHierarchy", "CutHierarchy", "DateHierarchy", "FileHierarchy", "GroupsHierarchy", "Hierarchy",
    "IcdHierarchy", "IntervalHierarchy", "Intervals", "KeepHierarchy", "MadeOfRecords", "PrefixHierarchy",
    "QuantileHierarchy", "RareHierarchy", "SimilarHierarchy", "SuppressHierarchy", "check_file", "check_rows", "dates",
    "describe_builders", "hierarchy_file", "hierarchy_rows", "icd9", "icd10", "intervals", "names_hierarchy",
    "parse_hierarchy", "prefix", "preview", "suppress",
]  # fmt: skip


def intervals(
    *widths: float | Decimal,
    top: float | Decimal | None = None,
    bottom: float | Decimal | None = None,
    cuts: Iterable[float | Decimal] | None = None,
) -> IntervalHierarchy | CutHierarchy:
    """Return levels of intervals of these widths, each dividing the next, or one level between cut points.

    See `IntervalHierarchy` and `CutHierarchy`. With a number that is no ``int`` intervals are half-open.

    Examples
    --------
    >>> [level[0] for level in intervals(5, 10, top=90).bind("age", ["44"]).labels]
    ['44', '[40-44]', '[40-49]', '*']
    >>> [level[0] for level in intervals(cuts=[18.5, 25, 30]).bind("bmi", ["24.9"]).labels]
    ['24.9', '[18.5, 25)', '*']
    """
    if cuts is not None and not widths and top is bottom is None:
        return CutHierarchy((tuple(map(_exact, cuts)),))
    if cuts is not None:
        raise InputError("Intervals have widths, top and bottom, or cuts. Give one of both.")
    bounds = [None if bound is None else _exact(bound) for bound in (top, bottom)]
    return IntervalHierarchy(tuple(map(_exact, widths)), *bounds)


def _exact(number: float | Decimal) -> Number:
    """A number as it is written; anything else as it is, to be refused."""
    return Decimal(repr(number)) if isinstance(number, float) else number


def prefix(length: int) -> PrefixHierarchy:
    """Return levels that drop one character each from codes of up to ``length``; see `PrefixHierarchy`.

    Examples
    --------
    >>> [level[0] for level in prefix(3).bind("zip", ["813"]).labels]
    ['813', '81*', '8**', '*']
    """
    return PrefixHierarchy(length)


def dates(*units: str) -> DateHierarchy:
    """Return levels of ever longer periods, such as `dates("month", "year")`; see `DateHierarchy`.

    Examples
    --------
    >>> [level[0] for level in dates("month", "year").bind("born", ["2024-05-17"]).labels]
    ['2024-05-17', '2024-05', '2024', '*']
    """
    return DateHierarchy(units)


def suppress() -> SuppressHierarchy:
    """Return the two levels value and root; see `SuppressHierarchy`.

    Examples
    --------
    >>> [level[0] for level in suppress().bind("sex", ["F"]).labels]
    ['F', '*']
    """
    return SuppressHierarchy()


def hierarchy_rows(
    rows: Iterable[Iterable[object]], *, name: str = "rows", missing_as: str | None = None
) -> FileHierarchy:
    """Return the hierarchy of rows in the form of an ARX file, where None is an empty cell.

    See `FileHierarchy`.

    Examples
    --------
    >>> [level[0] for level in hierarchy_rows([["F", "*"], ["M", "*"]]).bind("sex", ["M"]).labels]
    ['M', '*']
    """
    cells = (tuple(map(text_of_cell, row)) for row in rows)
    return FileHierarchy(name, tuple(cells), missing_as=missing_as)
