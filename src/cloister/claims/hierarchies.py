"""The hierarchies that claims have by default: age, days, specialty, place, diagnosis, procedure.

Numbers fall into bands that stand in the text of the hierarchy, never into quantiles of the data. A value that a step
top-coded (`162+`) keeps its own label up to the root, except where a hierarchy has such a value itself.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from cloister.errors import InputError, did_you_mean
from cloister.hierarchy import BoundHierarchy, Hierarchy, describe_builders, parse_hierarchy
from cloister.hierarchy.bound import add_ends, group_sizes, require_cover, texts_in_order

from .group_tables import Groups, coarser_groups, groups_of, plain

BOUNDS = re.compile(r"(?P<spec>.*?)(?P<bounds>@(?P<low>[0-9]{1,2})(-(?P<high>[0-9]{1,2}))?)?", re.DOTALL)
DAYS = re.compile(r"[0-9]{1,9}")
TOP_CODED = re.compile(r"[0-9]{1,9}\+")
MOST_DAYS = 36_525
"""A hundred years. What is above is no number of days but a date, or a mistake."""

MOST_DELAY = 3_650
NO_CODE = "no code"
"""What step 6 writes in place of values of columns of codes that are none."""

Level = Callable[[str], str]


@dataclass(frozen=True)
class NamedHierarchy:
    """Levels that functions name, one after the other, between the value itself and `*`.

    The domain is the distinct values present.

    Attributes
    ----------
    kind : its word in a plan
    levels : from a value to its label, from fine to coarse; each nested in the next
    accepts : the values that it covers
    needs : what values must be, for messages
    """

    kind: str
    levels: tuple[Level, ...] = field(repr=False)
    accepts: Callable[[str], bool] = field(repr=False)
    needs: str = field(default="text", repr=False)

    @property
    def spec(self) -> str:
        """Its word in a plan."""
        return self.kind

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that it does not cover."""
        return [value for value in values if value is not None and not self.accepts(value)]

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Return the hierarchy bound to these distinct values."""
        texts, missing = texts_in_order(values)
        n_outside = len(self.outside(texts))
        require_cover(
            column, n_outside, len(texts), f"are not {self.needs}", "Correct them, or name another hierarchy."
        )
        labels = [[level(text) for text in texts] for level in self.levels]
        return add_ends(column, texts, missing, labels, [group_sizes(names) for names in labels], len(texts))


@dataclass(frozen=True)
class CodesOrNone:
    """A hierarchy of codes in which ``no code`` is one more value, with its own label up to the root."""

    hierarchy: Hierarchy

    @property
    def kind(self) -> str:
        """That of the codes."""
        return self.hierarchy.kind

    @property
    def spec(self) -> str:
        """That of the codes."""
        return self.hierarchy.spec

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that it does not cover."""
        return self.hierarchy.outside([value for value in values if value != NO_CODE])

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Return the hierarchy bound to these distinct values."""
        bound = self.hierarchy.bind(column, [value for value in values if value != NO_CODE])
        texts, missing = texts_in_order(values)
        if NO_CODE not in texts:
            return bound
        place = {text: number for number, text in enumerate(bound.values)}
        inside = range(1, bound.n_levels - 1)
        labels = [[NO_CODE if t == NO_CODE else bound.labels[n][place[t]] or "" for t in texts] for n in inside]
        leaves = [np.array([1 if t == NO_CODE else bound.leaves[n][place[t]] for t in texts]) for n in inside]
        return add_ends(column, texts, missing, labels, leaves, bound.n_leaves - missing + 1)


def _is_numbers(text: str) -> bool:
    return DAYS.fullmatch(text) is not None or TOP_CODED.fullmatch(text) is not None


def _days_up_to(most: int) -> Callable[[str], bool]:
    return lambda text: _is_numbers(text) and int(text.removesuffix("+")) <= most


def _needs(most: int) -> str:
    return f"whole numbers of days from 0 to {most:,}"


def _bands(*bands: tuple[int, str]) -> Level:
    """A level of bands, each from a number on; what is below the first stays as it is, and so does `162+`."""
    starts, names = [start for start, _ in bands], [name for _, name in bands]

    def label(text: str) -> str:
        if not text.isdigit():
            return text
        place = bisect_right(starts, int(text)) - 1
        return names[place] if place >= 0 else str(int(text))

    return label


def _every(width: int, name: Callable[[int], str]) -> Level:
    """A level of equal bands from 0 on, named by their place."""
    return lambda text: name(int(text) // width) if text.isdigit() else text


def _age(width: int) -> Level:
    def label(text: str) -> str:
        if not text.isdigit():
            return text
        start = int(text) // width * width
        return "80+" if start >= 80 and width > 5 else f"[{start}-{start + width - 1}]"

    return label


def _hospital(*bands: tuple[int, str]) -> Level:
    level = _bands(*bands)
    return lambda text: level(text.removesuffix("+"))


def _months(count: int) -> Level:
    return _every(30 * count, lambda place: f"[{place * count}-{(place + 1) * count}) months")


AGE = NamedHierarchy("age", (_age(5), _age(10), _age(20)), _is_numbers, "whole numbers of years")
DAYS_IN_HOSPITAL = NamedHierarchy(
    "days-in-hospital",
    (_hospital((0, "0"), (1, "1"), (2, "[2-4]"), (5, "[5-14]"), (15, "15+")), _hospital((0, "0"), (1, "1+"))),
    lambda text: DAYS.fullmatch(text) is not None or text == "15+",
    "whole numbers of days",
)
LENGTH_OF_STAY = NamedHierarchy(
    "length-of-stay",
    (
        _bands(
            (7, "[1-2] weeks"),
            (15, "(2-4] weeks"),
            (29, "(4-8] weeks"),
            (57, "(8-12] weeks"),
            (85, "(12-26] weeks"),
            (183, "26+ weeks"),
        ),
        _bands((0, "none"), (1, "1"), (2, "[2-6]"), (7, "7+")),
    ),
    _days_up_to(MOST_DAYS),
    _needs(MOST_DAYS),
)
DAYS_SINCE_FIRST = NamedHierarchy(
    "days-since-first-claim", (_months(1), _months(3), _months(6)), _days_up_to(MOST_DAYS), _needs(MOST_DAYS)
)
WEEKS_SINCE_FIRST = NamedHierarchy(
    "weeks-since-first-claim", (_every(7, lambda week: f"week {week}"),), _days_up_to(MOST_DAYS), _needs(MOST_DAYS)
)
PAY_DELAY = NamedHierarchy("pay-delay", (_months(1), _months(3)), _days_up_to(MOST_DELAY), _needs(MOST_DELAY))


def _coarser(role: str, groups: Groups | None) -> Level:
    """The level above a group; with ``groups``, of values that are not grouped yet."""
    above = coarser_groups()
    return lambda text: above.get((role, text if groups is None else groups.group(text)), "other")


def _category(groups: Groups) -> Level:
    """The 3-digit category of an ICD-9 code (E codes: 4); apart from it, what of it belongs to another group."""

    def label(text: str) -> str:
        if text == NO_CODE:
            return text
        code = plain(text)
        category = code[: 4 if code.startswith("E") else 3]
        group = groups.group(text)
        return category if group == groups.group(category) else f"{category}/{group}"

    return label


def _diagnosis(tables: Mapping[str, str]) -> NamedHierarchy:
    groups = groups_of("diagnosis", tables)
    levels = (_category(groups), groups.group, _coarser("diagnosis", groups))
    return NamedHierarchy("diagnosis", levels, lambda _: True)


def _procedure(tables: Mapping[str, str]) -> NamedHierarchy:
    groups = groups_of("procedure", tables)
    return NamedHierarchy("procedure", (groups.group, _coarser("procedure", groups)), lambda _: True)


def _grouped(kind: str, role: str) -> NamedHierarchy:
    return NamedHierarchy(kind, (_coarser(role, None),), lambda _: True)


def hierarchies(tables: Mapping[str, str]) -> dict[str, Callable[[], Hierarchy]]:
    """Return the words for hierarchies that a plan has besides builders and files."""
    return {
        "age": lambda: AGE,
        "days-in-hospital": lambda: DAYS_IN_HOSPITAL,
        "length-of-stay": lambda: LENGTH_OF_STAY,
        "days-since-first-claim": lambda: DAYS_SINCE_FIRST,
        "weeks-since-first-claim": lambda: WEEKS_SINCE_FIRST,
        "pay-delay": lambda: PAY_DELAY,
        "diagnosis": lambda: _diagnosis(tables),
        "diagnosis-group": lambda: _grouped("diagnosis-group", "diagnosis"),
        "procedure": lambda: _procedure(tables),
        "procedure-group": lambda: _grouped("procedure-group", "procedure"),
        "place": lambda: _grouped("place", "place"),
        "specialty": lambda: _grouped("specialty", "specialty"),
    }


OF_CODES = frozenset({"icd9", "icd10"})
"""Builders that take codes alone."""


@dataclass(frozen=True)
class BoundedHierarchy:
    """A hierarchy and the levels of it that may be released; ``highest`` None is its root."""

    hierarchy: Hierarchy
    lowest: int = 0
    highest: int | None = None


def relabelled(text: pl.Series, hierarchy: Hierarchy, level: int) -> pl.Series:
    """Return values as the labels of a level; missing where a value is, or has no label."""
    values = text.drop_nulls().unique().sort().to_list()
    own = hierarchy.bind(text.name, values).labels[level] if values else ()
    labels = {value: label or None for value, label in zip(values, own, strict=True)}
    return text.replace_strict(labels, return_dtype=pl.String) if labels else text


def split_bounds(words: str) -> tuple[str, str]:
    """Return the words for a hierarchy without and with their bounds: `age@1-3` is `age` and `@1-3`."""
    match = BOUNDS.fullmatch(words)
    assert match
    return match["spec"], match["bounds"] or ""


def hierarchy_named(words: str, tables: Mapping[str, str]) -> BoundedHierarchy:
    """Return the hierarchy that a plan names: a word of `hierarchies`, a builder as `interval:5,10`, or a file.

    Raises
    ------
    InputError
        There is none such, or its bounds are the wrong way round.
    """
    match = BOUNDS.fullmatch(words)
    assert match
    spec, low = match["spec"], int(match["low"] or 0)
    high = None if match["bounds"] is None else int(match["high"] or low)
    if high is not None and high < low:
        raise InputError("the levels after @ go from the lower to the higher, as in age@1-3.")
    known = hierarchies(tables)
    if spec in known:
        return BoundedHierarchy(known[spec](), low, high)
    usages = [usage for usage, _ in describe_builders()]
    refused = False
    try:
        found = parse_hierarchy(spec)
        return BoundedHierarchy(CodesOrNone(found) if spec in OF_CODES else found, low, high)
    except InputError:
        refused = ":" not in spec and "/" not in spec
        if not refused:
            raise
    hint = did_you_mean(spec, [*known, *(usage.partition(":")[0] for usage in usages)])
    raise InputError(f"there is no such hierarchy.{hint} Known: {', '.join([*known, *usages])}, or a file.")
