"""The share of each released label that meets a condition: all, none, or an estimate.

A condition is a value (or anything below it in the hierarchy), several values as a list, or a range of numbers or days
``(low, high)`` with both ends, ``None`` for an open one.

One rule estimates every share: what a label may stand for is equally likely (Tamersoy et al. 2012, Appendix B). An
interval is spread evenly over its width, a list over its values. A group is spread over the values that a hierarchy
file lists below it; of other hierarchies over the finest labels that the release contains below it; where it contains
none, over the codes that the classification has below it. ``*`` of numbers and dates is spread over the single values
that the release contains, or over its range where it contains intervals. So the shares of values that exclude each
other and leave nothing out add up to 1. Where neither the release nor the hierarchy says what a label covers, its
share is not known, and is NaN. Missing values have no share in a group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, setting
from cloister.hierarchy import ROOT, FileHierarchy, GroupsHierarchy, Hierarchy, IcdHierarchy
from cloister.hierarchy.value_lists import read_list
from cloister.release.codebook import MEANING_OF_LIST, bounds_of
from cloister.results import CountBounds

Shares = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]
Label: TypeAlias = str | None
End: TypeAlias = float | int | str | date | None
Wanted: TypeAlias = object
"""A value, a list of values, or a pair of ends."""

KINDS = {"number": ("numbers", ("40", "49")), "date": ("dates", ("2020-01-01", "2020-12-31"))}
"""What a measured column holds, and a range of that as an example."""


class Stretch(NamedTuple):
    """A closed range of numbers or days."""

    low: float
    high: float


Part: TypeAlias = Stretch | Label
"""What a condition is made of: a range, or a value with everything below it; None is a missing value."""


@dataclass(frozen=True, eq=False, repr=False)
class Meeting:
    """For each label or row: whether it certainly or possibly meets a condition, and its share; equal lengths."""

    surely: Mask
    possibly: Mask
    share: Shares  # 1 where surely, 0 where not possibly, NaN where not known

    @classmethod
    def of(cls, surely: Mask, possibly: Mask, share: Shares) -> "Meeting":
        """Return a meeting whose shares agree with what is sure."""
        return cls(surely, possibly | surely, np.where(surely, 1.0, np.where(possibly, share, 0.0)))

    def __and__(self, other: "Meeting") -> "Meeting":
        """Return the conjunction of two conditions, which are treated as independent."""
        return Meeting.of(self.surely & other.surely, self.possibly & other.possibly, self.share * other.share)

    def count(self, unseen: int = 0) -> CountBounds:
        """Return bounds on the number of records that meet the condition; ``unseen`` records raise the upper bound."""
        return bounds_on(int(self.surely.sum()), float(self.share.sum()), int(self.possibly.sum()), unseen)

    def at(self, places: Places) -> "Meeting":
        """Return the values for the labels at these places."""
        return Meeting(self.surely[places], self.possibly[places], self.share[places])


def bounds_on(lower: int, expected: float, upper: int, unseen: int = 0) -> CountBounds:
    """Return bounds with an estimate between them, NaN if it is not known; ``unseen`` records raise the upper bound."""
    within = expected if np.isnan(expected) and lower < upper else min(max(expected, float(lower)), float(upper))
    return CountBounds(lower, float(lower) if lower == upper else within, upper + unseen)


@dataclass(frozen=True, eq=False, repr=False)
class LabelledColumn:
    """The labels of a released column, with their entries of the codebook."""

    name: str
    labels: tuple[Label, ...]
    place: Places  # (n_rows,) the label of each row
    kind: str  # number, date, boolean or text
    is_coarse: tuple[bool, ...]  # whether a label may be that of a group
    ends: tuple[tuple[Label, Label], ...]  # numbers or days, None where open or not known
    hierarchy: Hierarchy | None = None
    recorded: tuple[Label, ...] = ()  # values that are known to be recorded; empty for a recipient
    lists: Mapping[Label, tuple[str, ...]] = field(default_factory=dict)  # the values of labels that list some

    @classmethod
    def of(
        cls, series: pl.Series, rows: pl.DataFrame, hierarchy: Hierarchy | None = None, recorded: Sequence[Label] = ()
    ) -> "LabelledColumn":
        """Return the labels of a column of text, with its codebook rows; without rows, labels are original values."""
        labels = tuple(series.unique().sort().to_list())
        known = {row["label"]: row for row in rows.iter_rows(named=True) if row["label"] is not None}
        found = [known.get(label) for label in labels]
        of_label = pl.DataFrame({"label": pl.Series(labels, dtype=pl.String), "place": np.arange(len(labels))})
        own = series.alias("label").to_frame()
        joined = own.join(of_label, on="label", how="left", nulls_equal=True, maintain_order="left")
        return cls(
            series.name,
            labels,
            joined["place"].to_numpy(),
            str(rows["type"][0]) if rows.height else "text",
            tuple(row is not None and row["level"] != "0" for row in found),
            tuple(
                (label, label) if row is None else (row["lower"], row["upper"])
                for label, row in zip(labels, found, strict=True)
            ),
            hierarchy,
            tuple(recorded),
            {label: read_list(label) for label, row in known.items() if row["meaning"] == MEANING_OF_LIST},
        )

    def meeting(self, wanted: Wanted) -> Meeting:
        """Return which labels meet a condition: (n_labels,)."""
        return self.any_of(self.parts(wanted))

    def rows(self, wanted: Wanted) -> Meeting:
        """Return which rows meet a condition: (n_rows,)."""
        return self.meeting(wanted).at(self.place)

    def any_of(self, parts: Sequence[Part]) -> Meeting:
        """Return which labels meet one of several parts, which must exclude each other."""
        if self.lists:
            return self._from_values(self.without_lists.any_of(parts))
        each = [self._measure.meeting(part) for part in parts]
        nothing = np.zeros(len(self.labels), dtype=np.bool_)
        return Meeting.of(
            np.logical_or.reduce([nothing, *(one.surely for one in each)]) | self._covers_group(parts),
            np.logical_or.reduce([nothing, *(one.possibly for one in each)]),
            np.sum([nothing.astype(np.float64), *(one.share for one in each)], axis=0),
        )

    @cached_property
    def without_lists(self) -> "LabelledColumn":
        """The column with the values that labels list in place of these labels; its rows mean nothing."""
        if not self.lists:
            return self
        own = list(zip(self.labels, self.ends, self.is_coarse, strict=True))
        added = [(value, (value, value), False) for values in self.lists.values() for value in values]
        known = {one[0]: one for one in [*added, *own] if one[0] not in self.lists}
        ordered = sorted(known.values(), key=lambda one: (one[0] is not None, one[0] or ""))
        labels, ends, is_coarse = zip(*ordered, strict=True)
        return replace(self, labels=labels, ends=ends, is_coarse=is_coarse, lists={})

    def _from_values(self, found: Meeting) -> Meeting:
        """Return which labels meet a condition that values and other labels meet so: listed ones are equally likely."""
        place = {label: n for n, label in enumerate(self.without_lists.labels)}
        members = [[place[value] for value in self.lists.get(label, ()) or (label,)] for label in self.labels]
        return Meeting.of(
            np.array([found.surely[one].all() for one in members], dtype=np.bool_),
            np.array([found.possibly[one].any() for one in members], dtype=np.bool_),
            np.array([found.share[one].mean() for one in members]),
        )

    def parts(self, wanted: Wanted) -> list[Part]:
        """Return a condition as parts that exclude each other."""
        if isinstance(wanted, tuple):
            return self._range(wanted)
        values = list(wanted) if isinstance(wanted, list | set | frozenset) else [wanted]
        if not values:
            raise InputError(f"No value of {self.name!r} is asked for. Give one, or leave the column out.")
        each = (self.lists.get(value, (value,)) if isinstance(value, str) else (value,) for value in values)
        asked = list(dict.fromkeys(self._part(value) for one in each for value in one))
        spans = sorted(part for part in asked if isinstance(part, Stretch))
        named = [part for part in asked if not isinstance(part, Stretch)]
        finest = [one for one in named if not any(self.overlap(one, other) == [one] for other in named if other != one)]
        return [*self._join_ranges(spans), *finest]

    def overlap(self, one: Part, other: Part) -> list[Part]:
        """Return the intersection of two parts; empty if they exclude each other."""
        if isinstance(one, Stretch) and isinstance(other, Stretch):
            both = Stretch(max(one.low, other.low), min(one.high, other.high))
            return [both] if both.low <= both.high else []
        if one == other or other == ROOT or (not isinstance(one, Stretch) and other in self.paths.above(one)):
            return [one]
        return [other] if one == ROOT or (not isinstance(other, Stretch) and one in self.paths.above(other)) else []

    @property
    def is_measured(self) -> bool:
        """Whether labels are numbers, days or ranges of them."""
        return self.kind in ("number", "date")

    def _range(self, wanted: tuple[End, ...]) -> list[Part]:
        """Return a range as one part, or as the values of a hierarchy file that lie in it."""
        listed = self.hierarchy.values if isinstance(self.hierarchy, FileHierarchy) and not self.is_measured else ()
        numbers = {text: ends[0] for text in listed if (ends := bounds_of(text)) and ends[0] == ends[1]}
        if len(wanted) != 2 or not (self.is_measured or numbers):
            raise InputError(
                f"The labels of {self.name!r} are {self.kind}, and a range is of numbers or dates. Ask for values, or "
                "give the hierarchy that they came from with ",
                setting("hierarchies", {self.name: "FILE"}),
            )
        low, high = (self._number(end, None if numbers else self.kind) for end in wanted)
        span = Stretch(-np.inf if low is None else low, np.inf if high is None else high)
        if span.low > span.high:
            raise InputError(
                f"The range of {self.name!r} that is asked for ends before it begins. Give its lower end first."
            )
        if not numbers:
            return [span]
        return [text for text, number in numbers.items() if span.low <= float(str(number)) <= span.high]

    def _join_ranges(self, spans: Sequence[Stretch]) -> list[Stretch]:
        """Merge ranges that overlap, and ranges of whole numbers that are adjacent."""
        joined: list[Stretch] = []
        step = 1.0 if isinstance(self._measure, RangeLabels) and self._measure.is_whole else 0.0
        for span in spans:
            if joined and (span.low <= joined[-1].high or (step and span.low == joined[-1].high + step)):
                span = Stretch(joined[-1].low, max(span.high, joined.pop().high))
            joined.append(span)
        return joined

    def _part(self, value: object) -> Part:
        if value is None:
            return None
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if not self.is_measured or text == ROOT:
            return text
        ends = bounds_of(text, is_date=self.kind == "date")
        if ends is None:
            raise self._is_no(self.kind)
        low, high = (self._number(end) for end in ends)
        if high is not None and (text.endswith(")") or text.startswith("<")):
            high = float(np.nextafter(high, -np.inf))
        return Stretch(-np.inf if low is None else low, np.inf if high is None else high)

    def _number(self, end: End, kind: str | None = None) -> float | None:
        kind = kind or self.kind
        if end is None:
            return None
        try:
            if kind == "date":
                day = end if isinstance(end, date) else datetime.fromisoformat(str(end)).date()
                return float(day.toordinal())
            number = float(str(end))
        except ValueError:
            raise self._is_no(kind) from None
        if not np.isfinite(number):
            raise self._is_no(kind)
        return number

    def _is_no(self, kind: str) -> InputError:
        """Return an error that names valid conditions on the column."""
        nouns, range_of_them = KINDS.get(kind, KINDS["number"])
        return InputError(
            f"Column {self.name!r} holds {nouns}, but what was asked for is no {kind}. Ask for one or a range, as ",
            setting("where", {self.name: range_of_them}),
            column=self.name,
        )

    @cached_property
    def paths(self) -> "LabelPaths":
        """The ancestors of each label in the hierarchy."""
        return LabelPaths(self.name, self.without_lists.labels, self.hierarchy, self.recorded)

    @cached_property
    def _measure(self) -> "RangeLabels | NamedLabels":
        column = self.without_lists
        return RangeLabels.of(column) if self.is_measured else NamedLabels(column)

    def _covers_group(self, parts: Sequence[Part]) -> Mask:
        """Return which labels are groups of a hierarchy file that the given values cover completely."""
        found = np.zeros(len(self.labels), dtype=np.bool_)
        if isinstance(self.hierarchy, FileHierarchy) and not self.is_measured:
            named = [self.paths.as_listed(part) for part in parts if not isinstance(part, Stretch)]
            inside = {leaf for one in named for leaf in self.paths.leaves_below(one)}
            for place, label in enumerate(self.labels):
                below = self.paths.leaves_below(label)
                found[place] = 0 < len(below) <= len(inside) and {*below} <= inside
        return found


class LabelPaths:
    """The ancestors of each value and label of a column, as far as its hierarchy is known."""

    def __init__(
        self, name: str, labels: Sequence[Label], hierarchy: Hierarchy | None, recorded: Sequence[Label]
    ) -> None:
        self.name, self.hierarchy = name, hierarchy
        named = _named_by(hierarchy)
        is_icd = isinstance(hierarchy, IcdHierarchy)
        self.leaves = {one for one in (recorded or (() if is_icd else named)) if one is not None}
        self.is_complete = bool(recorded) or isinstance(hierarchy, FileHierarchy)  # nothing is recorded but the leaves
        self._above: dict[str, dict[Label, None]] = {}
        if hierarchy is not None:
            known = sorted({one for one in (*labels, *named, *recorded) if one is not None})
            outside = {*hierarchy.outside(known)}
            self._learn([one for one in known if one not in outside])

    def _learn(self, values: Sequence[str]) -> None:
        assert self.hierarchy is not None
        bound = self.hierarchy.bind(self.name, values)
        for row in zip(bound.values, *bound.labels[1:], strict=True):
            for level, label in enumerate(row):
                if label is not None:
                    above = dict.fromkeys(one for one in row[level + 1 :] if one != label)
                    self._above.setdefault(label, above)

    def above(self, value: Label) -> dict[Label, None]:
        """Return the ancestors of a value, fine to coarse; empty if the hierarchy does not contain the value."""
        value = self.as_listed(value)
        if value is None or value == ROOT:
            return {}
        if value not in self._above and self.hierarchy is not None and not self.hierarchy.outside([value]):
            self._learn([value])
        return self._above.get(value, {})

    def as_listed(self, value: Label) -> Label:
        """Return a value as the hierarchy names it: a hierarchy file uses a text for missing values."""
        return (
            (self.hierarchy.missing_as or "") if value is None and isinstance(self.hierarchy, FileHierarchy) else value
        )

    @cached_property
    def _leaves_below(self) -> dict[Label, list[str]]:
        found: dict[Label, list[str]] = {}
        for leaf in sorted(self.leaves):
            for label in {leaf, *self.above(leaf), ROOT}:
                found.setdefault(label, []).append(leaf)
        return found

    def leaves_below(self, label: Label) -> list[str]:
        """Return the values that a label is known to cover; a value covers itself."""
        return self._leaves_below.get(label, [])

    def share_of(self, value: Label, label: Label) -> float:
        """Return the share of a label that a value below it makes up; NaN if the label's other values are not known."""
        own, whole = self.leaves_below(self.as_listed(value)), self.leaves_below(label)
        if whole and (own or self.is_complete):
            return len(own) / len(whole)
        if value is None or not isinstance(self.hierarchy, IcdHierarchy):
            return np.nan
        bound = self.hierarchy.bind(self.name, [value])
        leaves = {labels[0]: float(covered[0]) for labels, covered in zip(bound.labels, bound.leaves, strict=True)}
        return leaves.get(value, 1.0) / leaves[label] if label in leaves else np.nan


def _named_by(hierarchy: Hierarchy | None) -> Sequence[str]:
    """Return the values that a hierarchy names: those of its file or groups, or categories of a classification."""
    if isinstance(hierarchy, FileHierarchy):
        return hierarchy.values
    if isinstance(hierarchy, GroupsHierarchy):
        return [one for group in hierarchy.partitions[0] for one in group]
    return hierarchy.categories if isinstance(hierarchy, IcdHierarchy) else ()


@dataclass(frozen=True, eq=False, repr=False)
class NamedLabels:
    """Labels that are values or named groups of values."""

    column: LabelledColumn
    _met: dict[Label, Meeting] = field(default_factory=dict)

    def meeting(self, part: Part) -> Meeting:
        """Return which labels meet a value: (n_labels,)."""
        assert not isinstance(part, Stretch)
        if part not in self._met:
            relation = [self._relation(place, part) for place in range(len(self.column.labels))]
            surely, possibly = (np.array([each[side] for each in relation], dtype=np.bool_) for side in (0, 1))
            self._met[part] = Meeting.of(surely, possibly, self._spread(part, surely, possibly))
        return self._met[part]

    def _relation(self, place: int, value: Label) -> tuple[bool, bool]:
        """Return whether a label certainly and possibly equals a value or a descendant of it."""
        label, paths = self.column.labels[place], self.column.paths
        if value in (label, ROOT) or (value is not None and value in paths.above(label)):
            return True, True
        if label == ROOT or (label is not None and label in paths.above(value)):
            return False, True
        # Where the place of neither is known, a group may hold any value.
        are_unknown = label is not None and not paths.above(value) and not paths.above(label)
        return False, value is not None and are_unknown and self.column.is_coarse[place]

    @cached_property
    def _finest_below(self) -> list[Places]:
        """The finest labels strictly below each label, in the order of the labels."""
        labels, paths = self.column.labels, self.column.paths
        below: dict[Label, list[int]] = {label: [] for label in labels}
        for place, label in enumerate(labels):
            for above in {*paths.above(label), ROOT} if label not in (None, ROOT) else ():
                below.setdefault(above, []).append(place)
        finest = [not below[label] for label in labels]
        return [np.array([one for one in below[label] if finest[one]], dtype=np.int64) for label in labels]

    def _spread(self, value: Label, surely: Mask, possibly: Mask) -> Shares:
        """Return the share of each label that a value makes up, first for labels without finer labels below."""
        paths, share = self.column.paths, surely.astype(np.float64)
        for place in sorted(np.flatnonzero(possibly & ~surely), key=lambda place: self._finest_below[place].size > 0):
            finer = self._finest_below[place]
            if value is None and not paths.is_complete:
                share[place] = 0.0
            elif paths.is_complete or not finer.size:
                share[place] = paths.share_of(value, self.column.labels[place])
            else:
                share[place] = share[finer].mean()
        return share


@dataclass(frozen=True, eq=False, repr=False)
class RangeLabels:
    """Labels that are numbers, days or ranges of them.

    Days, and numbers among intervals of whole numbers, count as whole: a decimal belongs to the number below it.
    """

    labels: tuple[Label, ...]
    # low, high: (n_labels,) where a label begins and ends, infinite where open, NaN of a missing value
    low: Shares
    high: Shares
    is_whole: bool
    is_half_open: Mask  # (n_labels,) the high end is not in the label
    recorded: Shares  # numbers that are known to be recorded

    @classmethod
    def of(cls, column: LabelledColumn) -> "RangeLabels":
        """Read the bounds of the labels."""
        is_day = column.kind == "date"
        ends = [(column._number(low), column._number(high)) for low, high in column.ends]
        low = np.array([-np.inf if one is None else one for one, _ in ends])
        high = np.array([np.inf if one is None else one for _, one in ends])
        missing = np.array([label is None for label in column.labels], dtype=np.bool_)
        low[missing] = high[missing] = np.nan
        open_signs = [label is not None and (label[-1:] == ")" or label[:1] == "<") for label in column.labels]
        half_open = np.array(open_signs, dtype=np.bool_)
        closed = np.isfinite(low) & np.isfinite(high) & ~half_open & (low < high)
        is_whole = is_day or bool(closed.any() and (low[closed] % 1 == 0).all())
        recorded = [column._number(one) for one in column.recorded if one is None or bounds_of(one, is_date=is_day)]
        numbers = np.array([one for one in recorded if one is not None], dtype=np.float64)
        if not numbers.size and not (low < high)[np.isfinite(low)].any():  # single values alone
            numbers = low[np.isfinite(low)]
        if is_whole:
            single = ~half_open & np.isfinite(low) & (low == high)
            low, high = np.where(single, np.floor(low), low), np.where(single, np.floor(high), high)
            high, half_open = np.where(half_open, high, high + 1), ~missing & np.isfinite(high)
        return cls(column.labels, low, high, is_whole, half_open, numbers)

    def meeting(self, part: Part) -> Meeting:
        """Return which labels meet a range, or a missing value: (n_labels,)."""
        is_any = np.isinf(self.low) & np.isinf(self.high)
        if not isinstance(part, Stretch):
            surely = np.array([part == ROOT or label is part for label in self.labels], dtype=np.bool_)
            return Meeting.of(surely, surely | is_any, np.where(is_any, self._any(part), 0.0))
        least, most = self._ends_of(part)
        last = np.where(self.is_half_open, np.nextafter(self.high, -np.inf), self.high)
        surely = (least <= self.low) & (last <= most) & ~is_any
        possibly = (least <= last) & ((self.low < most) if self.is_whole else (self.low <= most))
        return Meeting.of(surely, possibly, np.where(is_any, self._any(part), self._by_width(least, most)))

    def _ends_of(self, part: Stretch) -> tuple[float, float]:
        """Return the effective bounds of a range: a whole upper bound includes its decimals in whole numbers."""
        least, most = part
        return least, most + 1 if self.is_whole and most % 1 == 0 else most

    def _by_width(self, least: float, most: float) -> Shares:
        """Return the share of each label by width; an open label is as wide as the widest closed label."""
        width = (self.high - self.low)[np.isfinite(self.low) & np.isfinite(self.high)]
        reach = max(float(width.max(initial=0)), 1.0)
        low = np.where(np.isinf(self.low), self.high - reach, self.low)
        high = np.where(np.isinf(self.high), self.low + reach, self.high)
        return np.array([_common(one, other, least, most) for one, other in zip(low, high, strict=True)])

    def _any(self, part: Part) -> float:
        """Return the share of a label for any value: of recorded values if known, else of the range of labels."""
        if not isinstance(part, Stretch):
            return float(part == ROOT)
        least, most = self._ends_of(part)
        if self.recorded.size:
            return float(np.mean((least <= self.recorded) & (self.recorded <= most)))
        ends = np.concatenate([self.low, self.high])
        ends = ends[np.isfinite(ends)]
        if not ends.size:
            return np.nan
        return _common(float(ends.min()), float(ends.max()), least, most)


def _common(low: float, high: float, least: float, most: float) -> float:
    """Return the share of one range that is inside another; for a single number, 1 if it is inside, else 0."""
    width = high - low
    return max(min(high, most) - max(low, least), 0.0) / width if width > 0 else float(least <= low <= most)
