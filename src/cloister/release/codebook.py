"""The codebook of any release: the meaning, type and bounds of released columns and labels.

Types and bounds follow from the released files alone: a label says between which numbers or days a value lies.
"""

import calendar
import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Literal

import polars as pl

from cloister.hierarchy.value_lists import read_list
from cloister.io import as_text

COLUMNS = ("column", "role", "hierarchy", "level", "label", "meaning", "type", "order", "lower", "upper")
Row = tuple[str | None, str, str | None, str | None, str | None, str]
"""The first six of the columns; the others follow from them."""

Type = Literal["number", "date", "boolean", "text"]

MEANING_OF_LIST = "one of the listed values"
"""Of a label that lists values: its text is the list."""

OF_CODES = ("icd9", "icd10", "prefix")
"""Hierarchies of codes, which are text even where they look like numbers."""

TYPED: Mapping[str, Type] = {"interval": "number", "date": "date"}
"""Hierarchies of which all labels have bounds."""

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_AS_RECORDED = re.compile(_NUMBER)
_INTERVAL = re.compile(rf"\[({_NUMBER})(?:-| to |, )({_NUMBER})[\])]")
_OPEN = re.compile(rf"(<|>=)({_NUMBER})")
_PERIOD = re.compile(r"(\d{4})(s)?(?:-(?:W(\d\d)|Q([1-4])|(\d\d)(?:-(\d\d)(?:[T ].*)?)?))?")
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].*)?$"
_DIGITS = rf"^{_NUMBER}(?:[eE][+-]?[0-9]+)?$"

Bounds = tuple[str | None, str | None]


def codebook_of(rows: Iterable[Row], types: Mapping[str, Type] | None = None) -> pl.DataFrame:
    """Return the codebook from rows of columns and labels.

    ``order`` counts the labels of a column of numbers or dates from its lowest bound on; ``lower`` and ``upper`` are
    the ends of a label, of a list its least and greatest number: both belong to it, but for the upper one of a half-
    open label such as ``[9.5, 10)``, and a decimal counts as the whole number below it where the ends of a closed label
    are whole. What is open on a side, is missing or is ``*`` has no bound there.

    ``types``: types of columns that have no labels, or whose labels must not be read as numbers
    """
    frame = pl.DataFrame(list(rows), schema=dict.fromkeys(COLUMNS[:6], pl.String), orient="row")
    parts = [
        _with_bounds(part, (types or {}).get(str(column)))
        for (column,), part in frame.group_by("column", maintain_order=True)
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.String))


def type_of(series: pl.Series) -> Type:
    """Return the type of the values of a released column; text if all are missing."""
    text = as_text(series).drop_nulls()
    patterns: dict[Type, str] = {"number": _DIGITS, "date": _DAY, "boolean": "^(?:true|false|True|False)$"}
    for kind, pattern in patterns.items():
        if text.len() and text.str.contains(pattern).all():
            return kind
    return "text"


def bounds_of(label: str, *, is_date: bool = False) -> Bounds | None:
    """Return the bounds of the numbers or days that a label covers; None if the label states no bounds.

    Examples
    --------
    >>> bounds_of("[40-44]"), bounds_of(">=90"), bounds_of("2024-Q1", is_date=True)
    (('40', '44'), ('90', None), ('2024-01-01', '2024-03-31'))
    """
    label = label.strip()
    if is_date:
        return _days(label)
    if _AS_RECORDED.fullmatch(label):
        return label, label
    if match := _INTERVAL.fullmatch(label):
        return match[1], match[2]
    if match := _OPEN.fullmatch(label):
        return (None, match[2]) if match[1] == "<" else (match[2], None)
    return None


def _days(label: str) -> Bounds | None:
    """Return the first and last day of a day, week, month, quarter, year or decade."""
    match = _PERIOD.fullmatch(label)
    if match is None:
        return None
    decade, week, quarter, month, day = match.groups()[1:]
    try:
        if week:
            monday = date.fromisocalendar(int(match[1]), int(week), 1)
            return monday.isoformat(), (monday + timedelta(days=6)).isoformat()
        years = (int(match[1]), int(match[1]) + (9 if decade else 0))
        months = (3 * int(quarter) - 2, 3 * int(quarter)) if quarter else (int(month or 1), int(month or 12))
        first = date(years[0], months[0], int(day or 1))
        last = date(years[1], months[1], int(day or calendar.monthrange(years[1], months[1])[1]))
    except (ValueError, OverflowError):
        return None
    return first.isoformat(), last.isoformat()


def _with_bounds(rows: pl.DataFrame, kind: Type | None) -> pl.DataFrame:
    """Return the codebook rows of one column, with its type, and with order and bounds of its labels."""
    hierarchy, labels = rows["hierarchy"][0], rows["label"].to_list()
    lists = {one: read_list(one) for one in rows.filter(pl.col("meaning") == MEANING_OF_LIST)["label"]}
    informative = {one for label in labels for one in lists.get(label, (label,))} - {None, "*"}
    ends: dict[str, Bounds | None] = {}
    if kind is None and hierarchy not in OF_CODES:
        ends = {label: bounds_of(label, is_date=hierarchy == "date") for label in informative}
        if hierarchy == "file" and rows["level"][0] != "0":  # a group may be called by a number, which bounds nothing
            ends = {label: None if _AS_RECORDED.fullmatch(label) else found for label, found in ends.items()}
        if hierarchy in TYPED:
            kind = TYPED[hierarchy]
        elif informative and None not in ends.values():
            kind = "number"
        else:
            kind, ends = "boolean" if informative and informative <= {"true", "false"} else "text", {}
    for label, values in lists.items() if ends else ():  # of numbers, which all have ends
        ordered = sorted((own for value in values if (own := ends[value])), key=_place)
        ends[label] = ordered[0][0], ordered[-1][1]
    known = {label: found for label, found in ends.items() if found is not None}
    order = {
        label: str(place) for place, label in enumerate(sorted(known, key=lambda one: (_place(known[one]), one)), 1)
    }
    more: dict[str, list[str | None]] = {
        "type": [kind or "text"] * len(labels),
        "order": [order.get(label) for label in labels],
        "lower": [known.get(label, (None, None))[0] for label in labels],
        "upper": [known.get(label, (None, None))[1] for label in labels],
    }
    return rows.with_columns(pl.Series(name, values, pl.String) for name, values in more.items())


def _place(ends: Bounds) -> tuple[float, float] | tuple[str, str]:
    """Return the sort key of a label by its bounds."""
    low, high = ends
    if any("-" in one[1:] for one in ends if one):  # days, as text
        return str(low), str(high)
    return float(low if low is not None else "-inf"), float(high if high is not None else "inf")
