"""The default hierarchies of claims: age, days, specialty, place, diagnosis, procedure.

Numbers fall into bands that are in the text of the hierarchy, never into quantiles of the data. A value that a step
top-coded (`162+`) keeps its own label up to the root, except where a hierarchy has such a value itself.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import polars as pl

from cloister.errors import InputError, did_you_mean
from cloister.hierarchy import BoundHierarchy, Hierarchy, describe_builders, parse_hierarchy
from cloister.hierarchy.bound import add_ends, group_sizes, require_cover, texts_in_order

from .group_tables import Groups, coarser_groups, groups_of, plain

BOUNDS = re.compile(r"(?P<spec>.*?)(?P<bounds>@[0-9]{1,2}(-[0-9]{1,2})?)?", re.DOTALL)
DAYS = re.compile(r"[0-9]{1,9}")
TOP_CODED = re.compile(r"[0-9]{1,9}\+")
MOST_DAYS = 36_525
"""A hundred years. What is above is no number of days but a date, or a mistake."""

MOST_DELAY = 3_650
NO_CODE = "no code"
"""What step 6 writes in place of values of columns of codes that are none."""

Level = Callable[[str], str]


@dataclass(frozen=True)
class Bands:
    """A level of bands, each with its first number; lower numbers stay unchanged, and so does `162+`.

    ``reads_top_coded``: whether `15+` falls into the band of 15
    """

    starts: tuple[int, ...]
    names: tuple[str, ...]
    reads_top_coded: bool = False

    def __call__(self, text: str) -> str:
        """Return the label of a number."""
        number = text.removesuffix("+") if self.reads_top_coded else text
        if not number.isdigit():
            return text
        place = bisect_right(self.starts, int(number)) - 1
        return self.names[place] if place >= 0 else str(int(number))


@dataclass(frozen=True)
class EqualBands:
    """A level of bands of equal width from 0 on, named by their first and last number, or by the next one.

    ``unit``: the days of what the name counts; ``last``: from a number on there is one band, of this name
    """

    width: int
    name: str
    unit: int = 1
    last: tuple[int, str] | None = None

    def __call__(self, text: str) -> str:
        """Return the label of a number; `162+` stays as it is."""
        if not text.isdigit():
            return text
        first = int(text) // self.unit // self.width * self.width
        if self.last is not None and first >= self.last[0]:
            return self.last[1]
        return self.name.format(first=first, last=first + self.width - 1, next=first + self.width)


@dataclass(frozen=True)
class NumberRange:
    """The whole numbers from 0 on that a hierarchy covers, top-coded ones too; ``top_coded``: the only one of these."""

    needs: str
    most: int | None = None
    top_coded: str | None = None

    def covers(self, text: str) -> bool:
        """Return whether a text is one of these numbers."""
        is_top_coded = text == self.top_coded if self.top_coded else TOP_CODED.fullmatch(text) is not None
        if not is_top_coded and DAYS.fullmatch(text) is None:
            return False
        return self.most is None or int(text.removesuffix("+")) <= self.most


@dataclass(frozen=True)
class NamedHierarchy:
    """Levels that functions name, from fine to coarse, between the value itself and `*`; each nested in the next.

    The domain is the distinct values present; ``numbers``: which these may be, where they are numbers.
    """

    kind: str
    levels: tuple[Level, ...] = field(repr=False)
    numbers: NumberRange | None = field(default=None, repr=False)

    @property
    def spec(self) -> str:
        """Its word in a plan."""
        return self.kind

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Return the distinct values that the hierarchy does not cover."""
        if self.numbers is None:
            return []
        return [value for value in values if value is not None and not self.numbers.covers(value)]

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Return the hierarchy bound to these distinct values."""
        texts, missing = texts_in_order(values)
        if self.numbers is not None:
            problem = f"are not {self.numbers.needs}"
            n_outside = len(self.outside(texts))
            require_cover(column, n_outside, len(texts), problem, "Correct them, or name another hierarchy.")
        labels = [[level(text) for text in texts] for level in self.levels]
        return add_ends(column, texts, missing, labels, [group_sizes(names) for names in labels], len(texts))


@dataclass(frozen=True)
class CodesOrNone:
    """A hierarchy of codes in which ``no code`` is an additional value, with its own label up to the root."""

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
        """Return the distinct values that the hierarchy does not cover."""
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


def _age(width: int) -> EqualBands:
    return EqualBands(width, "[{first}-{last}]", last=None if width == 5 else (80, "80+"))


def _months(count: int) -> EqualBands:
    return EqualBands(count, "[{first}-{next}) months", unit=30)


def _days(most: int) -> NumberRange:
    return NumberRange(f"whole numbers of days from 0 to {most:,}", most)


AGE = NamedHierarchy("age", (_age(5), _age(10), _age(20)), NumberRange("whole numbers of years"))
DAYS_IN_HOSPITAL = NamedHierarchy(
    "days-in-hospital",
    (Bands((0, 1, 2, 5, 15), ("0", "1", "[2-4]", "[5-14]", "15+"), True), Bands((0, 1), ("0", "1+"), True)),
    NumberRange("whole numbers of days", top_coded="15+"),
)
LENGTH_OF_STAY = NamedHierarchy(
    "length-of-stay",
    (
        Bands(
            (7, 15, 29, 57, 85, 183),
            ("[1-2] weeks", "(2-4] weeks", "(4-8] weeks", "(8-12] weeks", "(12-26] weeks", "26+ weeks"),
        ),
        Bands((0, 1, 2, 7), ("none", "1", "[2-6]", "7+")),
    ),
    _days(MOST_DAYS),
)
DAYS_SINCE_FIRST = NamedHierarchy("days-since-first-claim", (_months(1), _months(3), _months(6)), _days(MOST_DAYS))
WEEKS_SINCE_FIRST = NamedHierarchy(
    "weeks-since-first-claim", (EqualBands(1, "week {first}", unit=7),), _days(MOST_DAYS)
)
PAY_DELAY = NamedHierarchy("pay-delay", (_months(1), _months(3)), _days(MOST_DELAY))


def _coarser(role: str, groups: Groups | None = None) -> Level:
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


def _of_codes(role: str, tables: Mapping[str, str]) -> NamedHierarchy:
    groups = groups_of(role, tables)
    levels = (groups.group, _coarser(role, groups))
    return NamedHierarchy(role, (_category(groups), *levels) if role == "diagnosis" else levels)


OF_NUMBERS = (AGE, DAYS_IN_HOSPITAL, LENGTH_OF_STAY, DAYS_SINCE_FIRST, WEEKS_SINCE_FIRST, PAY_DELAY)
OF_GROUPS = {"diagnosis-group": "diagnosis", "procedure-group": "procedure", "place": "place", "specialty": "specialty"}
"""Hierarchies that begin at groups, with the role whose columns they are for."""


def hierarchies(tables: Mapping[str, str]) -> dict[str, Callable[[], NamedHierarchy]]:
    """Return the names of the hierarchies that a plan has in addition to builders and files."""
    found: dict[str, Callable[[], NamedHierarchy]] = {one.kind: partial(replace, one) for one in OF_NUMBERS}
    found |= {role: partial(_of_codes, role, tables) for role in ("diagnosis", "procedure")}
    return found | {kind: partial(NamedHierarchy, kind, (_coarser(role),)) for kind, role in OF_GROUPS.items()}


OF_CODES = frozenset({"icd9", "icd10"})
"""Builders that take codes alone."""


def relabel(text: pl.Series, hierarchy: Hierarchy, level: int) -> pl.Series:
    """Return values as labels of a level; missing for missing values and values without a label."""
    values = text.drop_nulls().unique().sort().to_list()
    own = hierarchy.bind(text.name, values).labels[level] if values else ()
    labels = {value: label or None for value, label in zip(values, own, strict=True)}
    return text.replace_strict(labels, return_dtype=pl.String) if labels else text


def split_bounds(words: str) -> tuple[str, str]:
    """Split the text of a hierarchy and its bounds: `age@1-3` becomes `age` and `@1-3`."""
    match = BOUNDS.fullmatch(words)
    assert match
    return match["spec"], match["bounds"] or ""


def bounds_of(words: str) -> tuple[int, int | None]:
    """Return the lowest and the highest level that the text allows; None is the root."""
    low, _, high = split_bounds(words)[1].removeprefix("@").partition("-")
    return int(low or 0), int(high or low) if low else None


def hierarchy_named(words: str, tables: Mapping[str, str]) -> Hierarchy:
    """Return the hierarchy that a plan names: a name of `hierarchies`, a builder such as `interval:5,10`, or a file.

    Raises
    ------
    InputError
        There is none such, or its bounds are the wrong way round.
    """
    (spec, _), (low, high) = split_bounds(words), bounds_of(words)
    if high is not None and high < low:
        raise InputError("the levels after @ go from the lower to the higher, as in age@1-3.")
    known = hierarchies(tables)
    if spec in known:
        return known[spec]()
    try:
        found = parse_hierarchy(spec)
        return CodesOrNone(found) if spec in OF_CODES else found
    except InputError:
        if ":" in spec or "/" in spec:
            raise
    usages = [usage for usage, _ in describe_builders()]
    hint = did_you_mean(spec, [*known, *(usage.partition(":")[0] for usage in usages)])
    raise InputError(f"there is no such hierarchy.{hint} Known: {', '.join([*known, *usages])}, or a file.")
