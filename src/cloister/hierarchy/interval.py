"""Generalize numbers to wider intervals: on a grid of widths, between cut points, or near quantiles of a column."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError, Message, setting
from cloister.hierarchy.bound import BoundHierarchy, BuiltHierarchy, JoinedLabel, Levels, MadeOfRecords, require_cover
from cloister.settings.reading import unit_of

NUMBER = re.compile(r"([+-]?)([0-9]{0,15})(?:\.([0-9]*))?")
OPEN = re.compile(
    r"(?P<sign>>=|>|≥|<=|<|≤|over|above|under|below)\s*(?P<bound>[0-9.]+)"
    r"|(?P<from>[0-9.]+)\s*(?P<end>\+|(and|or|years? and) (over|above|older|more|under|below|younger|less))",
    re.IGNORECASE,
)
"""`> 89`, `90+`, `90 and over`, `<18`: all that lies beyond a number."""

COMMA = re.compile(r"[+-]?[0-9.]*[0-9],[0-9]+")
LARGEST = 10**15  # bounds, widths and values, in their smallest unit, stay below this, so that the grid fits 64 bits
PLACES = 9
LABEL = re.compile(
    r"\[(?P<first>-?[0-9]+)(?:-| to )(?P<last>-?[0-9]+)\]|\[(?P<from>-?[0-9.]+), (?P<to>-?[0-9.]+)\)"
    r"|<(?P<below>-?[0-9.]+)|>=(?P<above>-?[0-9.]+)"
)
"""The forms of labels, as `Scale.label` writes them."""

Integers = NDArray[np.int64]
Ends = tuple[Integers, Integers]
"""Where intervals begin and end, in units."""
Number = int | Decimal

BELOW, ABOVE = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""Where the two open cells begin and end: below the bottom, and from the top on."""


def _state_number(number: Number) -> str:
    return str(number) if type(number) is int else format(number, "f")


@dataclass(frozen=True)
class Scale:
    """The unit of numbers, and the notation of their intervals."""

    places: int = 0  # decimals of the unit
    # whether labels leave their upper end out, ``[9.5, 10)``, as decimals need; else it is within
    is_half_open: bool = False

    @classmethod
    def of(cls, numbers: Sequence[Number], example: str) -> "Scale":
        """Return the scale of numbers as stated: if one has a decimal point, intervals are half-open."""
        decimals = [one for one in numbers if isinstance(one, Decimal)]
        if any(type(one) is not int and not (isinstance(one, Decimal) and one.is_finite()) for one in numbers):
            raise InputError(f"interval needs numbers; write for example {example}.")
        places = max((-int(one.normalize().as_tuple().exponent) for one in decimals), default=0)
        scale = cls(max(places, 0), bool(decimals))
        if scale.places > PLACES or not all(abs(scale.units(one)) < LARGEST for one in numbers):
            raise InputError(f"interval needs numbers below 10^15 in their last place; write for example {example}.")
        return scale

    def read_open(self, text: str) -> tuple[bool, int] | None:
        """Parse an open end such as `> 89` or `90+`: whether it goes up, and the number at its start or end.

        What goes up begins with the number; what goes down ends below it.
        """
        match = OPEN.fullmatch(text.strip())
        bound = None if match is None else self.read(match["bound"] or match["from"])
        if match is None or bound is None:
            return None
        word = (match["sign"] or match["end"]).lower()
        is_up = word in (">", ">=", "≥", "over", "above", "+") or word.endswith((" over", " above", " older", " more"))
        is_next = word in (">", "over", "above", "<=", "≤") or (not is_up and match["end"] is not None)
        return is_up, bound + (1 if is_next else 0)

    def units(self, number: Number) -> int:
        """Convert a number to units."""
        return int(Decimal(number).scaleb(self.places))

    def read(self, text: str) -> int | None:
        """Return the largest whole number of units not above a number, if that is below 10^15."""
        match = NUMBER.fullmatch(text.strip())
        if match is None:
            return None
        sign, digits, fraction = match.group(1), match.group(2), match.group(3) or ""
        if not digits and not fraction:
            return None
        size = int((digits or "0") + fraction[: self.places].ljust(self.places, "0"))
        is_whole = not fraction[self.places :].strip("0")
        units = -size - (not is_whole) if sign == "-" else size
        return units if abs(units) < LARGEST else None

    def written(self, units: int) -> str:
        """Convert units to a number."""
        text = format(Decimal(units).scaleb(-self.places), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text

    def label(self, begin: int, end: int) -> str:
        """Return the label of the interval from one number of units to below another; one end may be open."""
        if begin == BELOW or end == ABOVE:
            return f"<{self.written(end)}" if begin == BELOW else f">={self.written(begin)}"
        if self.is_half_open:
            return f"[{self.written(begin)}, {self.written(end)})"
        return f"[{begin}{'-' if begin >= 0 <= end - 1 else ' to '}{end - 1}]"

    def read_label(self, text: str) -> tuple[int, int] | None:
        """Return where the interval of a label begins and ends; None for anything that is not written as a label."""
        match = LABEL.fullmatch(text)
        if match is None:
            return None
        from_, to = match["first"] or match["from"] or match["above"], match["last"] or match["to"] or match["below"]
        begin, end = (BELOW if from_ is None else self.read(from_)), (ABOVE if to is None else self.read(to))
        if begin is None or end is None:
            return None
        end += match["last"] is not None
        return (begin, end) if self.label(begin, end) == text else None


def _is_large(text: str) -> bool:
    """Whether a text is a number too large for a grid."""
    return re.fullmatch(r"[+-]?[0-9]{16,}(\.[0-9]*)?", text.strip()) is not None


def _refusal_of_texts(texts: Sequence[str]) -> tuple[str, str]:
    """Describe values that are not numbers, and what to do."""
    numbers = setting("numbers", ["COLUMN"])
    if any(OPEN.fullmatch(text.strip()) for text in texts):
        advice: str = Message(
            "Some are open-ended, such as 90+: they are read where a bound reaches them, as in interval:5,10/top=90. "
            "Give a bound, or make the rest missing with ",
            numbers,
            ".",
        )
    elif any(_is_large(text) for text in texts):
        advice = "Numbers of 10^15 and more are not read as numbers. Use suppress or prefix."
    elif n := sum(COMMA.fullmatch(text.strip()) is not None for text in texts):
        advice = Message(f"{n:,} have a decimal comma, which ", setting("decimal", ","), " reads.")
    elif n := sum(unit_of(text) is not None for text in texts):
        advice = Message(
            f"{n:,} are numbers with a unit, a currency or commas between thousands, which ", numbers, " reads."
        )
    else:
        advice = Message("Correct them, make them missing with ", numbers, ", or use suppress or prefix.")
    if all(map(_is_large, texts)):
        return "are numbers of 10^15 and more, which interval does not read", advice
    return "are not whole or decimal numbers, which interval needs", advice


class Intervals(BuiltHierarchy[int]):
    """The base of interval hierarchies: a value counts as the largest whole number of units not above it.

    Adjacent intervals of the lowest level can be joined: `[35-39]` and `[40-44]` are `[35-44]`, which crosses the
    intervals of the other levels. Ends of what is joined are ends of intervals, not those of values.
    """

    kind: ClassVar[str] = "interval"

    @property
    def scale(self) -> Scale:
        """The unit of the stated numbers."""
        raise NotImplementedError

    @property
    def spec(self) -> str:
        """As on the command line."""
        raise NotImplementedError

    @property
    def decimal_spec(self) -> str:
        """The command-line words with half-open intervals: the first number as a decimal."""
        return re.sub(r"-?[0-9]+", lambda first: f"{first[0]}.0", self.spec, count=1)

    def _read(self, text: str) -> int | None:
        return self.scale.read(text)

    def _refusal(self, texts: Sequence[str]) -> tuple[str, str]:
        return _refusal_of_texts(texts)

    def _cells_at(self, floors: Integers) -> Sequence[Ends]:
        """By level, where the interval of each number begins and where it ends, (n_numbers,) each."""
        raise NotImplementedError

    def cells(self, texts: Sequence[str], level: int) -> Ends | None:
        """Return where the intervals of values at a level begin and end, in units; None of a level without intervals.

        The value and the root are no intervals.
        """
        read = self.read(texts)
        every = self._cells_at(np.array([0 if one is None else one for one in read], dtype=np.int64))
        return every[level - 1] if 1 <= level <= len(every) and None not in read else None

    def reach(self, cells: Ends, leaves: Integers) -> Ends:
        """Return from where to where the interval of each value reaches, in leaves; (n_values,) each.

        Intervals without a value have a leaf for each number.

        Parameters
        ----------
        leaves : (n_values,) leaves of the interval of each value
        """
        starts, first, number = np.unique(cells[0], return_index=True, return_inverse=True)
        empty = np.maximum(starts[1:] - cells[1][first][:-1], 0)
        high = np.cumsum(leaves[first] + np.concatenate([[0], empty]))
        return (high - leaves[first])[number], high[number]

    def join(self, bound: BoundHierarchy, labels: Iterable[str | None], level: int = 1) -> BoundHierarchy:
        """Return the hierarchy with those of the labels that join adjacent intervals of a level.

        Of other labels, those of the levels among them, nothing is added. Each end of what is joined is the end of an
        interval that has a value.
        """
        n = sum(value is not None for value in bound.values)
        cells = self.cells([value for value in bound.values if value is not None], level)
        known = {label for level in bound.labels for label in level}
        texts = sorted({*labels} - known - {None}, key=str)
        if cells is None or not n or not texts:
            return bound
        order = np.argsort(cells[0], kind="stable")
        begin, end, low, high = (one[order] for one in (*cells, *self.reach(cells, bound.leaves[level][:n])))
        found = []
        for label in texts:
            ends = self.scale.read_label(label or "")
            if ends is None:
                continue
            first, last = int(np.searchsorted(begin, ends[0])), int(np.searchsorted(end, ends[1], "right")) - 1
            if first <= last and (begin[first], end[last]) == ends:
                # Values of one label are adjacent: if both ends have the same, so have all between.
                pairs = ((one[order[first]], one[order[last]]) for one in bound.labels[level:])
                above = level + [*(lower == upper for lower, upper in pairs)].index(True)
                leaves = int(high[last] - low[first])
                found.append(JoinedLabel(label or "", level, above, leaves, ((first, last),)))
        return replace(bound, joined=tuple(found), order=order)

    def _cells(self, every: Sequence[Ends], low: int, high: int, n_leaves: int) -> Levels:
        """Labels and leaves of cells, of which an open one also covers what lies between its end and the bound.

        Where the finest cells have more distinct values than numbers, the surplus counts in all that hold them: so
        leaves add up.

        Parameters
        ----------
        every : for each level where the cell of each number begins, and where it ends, (n_numbers,) each
        """
        labels, leaves, surplus, of_finest = [], [], None, None
        for begin, end in every:
            starts, first, cell_of = np.unique(begin, return_index=True, return_inverse=True)
            names = [self.scale.label(*cell) for cell in zip(starts.tolist(), end[first].tolist(), strict=True)]
            is_open = (starts == BELOW) | (end[first] == ABOVE)
            # One leaf for all that lies beyond a bound, whether such values occur or not.
            sizes = np.where(end[first] == ABOVE, high, end[first]) - np.where(starts == BELOW, low, starts) + is_open
            if surplus is None or of_finest is None:
                surplus, of_finest = np.maximum(np.bincount(cell_of, minlength=sizes.size) - sizes, 0), first
            np.add.at(sizes, cell_of[of_finest], surplus)
            labels.append([names[cell] for cell in cell_of])
            leaves.append(sizes[cell_of])
        return labels, leaves, n_leaves + (0 if surplus is None else int(surplus.sum()))


@dataclass(frozen=True)
class IntervalHierarchy(Intervals):
    """Levels of intervals: the number as recorded, one level per width (`[40-44]`, `[40-49]`, `[40-59]`), then `*`.

    Intervals begin at multiples of the width from ``bottom``, or from 0 where there is none, so that levels nest; one
    that would cross ``top`` ends there. At every level, that of the recorded numbers included, values of ``top`` and
    above are `>=90` and values below ``bottom`` are `<0`; texts such as `> 89`, `90+` or `<1` count among them. With
    whole widths a decimal number belongs to the interval of its whole part: 44.9 is in `[40-44]`, so no label
    reveals whether some value, perhaps a suppressed one, is a decimal. With a decimal point in a width (`0.5`, or
    `5.0`) intervals are half-open and say so: `[9.5, 10)`. No label holds a minimum, maximum or quantile of the data:
    ends come from the settings or the grid.

    The domain is the numbers, in the last place of what was stated, from ``bottom`` to ``top``; where a bound is not
    given, to the end of the coarsest interval that has a value. A bound adds one leaf for all that lies beyond it,
    whether such values occur or not. An interval of the first width with more distinct values than numbers (further
    decimals, or spellings such as `7` and `07`) has as many leaves as values, and so has what lies beyond a bound:
    leaves always add up.

    Parameters
    ----------
    widths : positive numbers, each a multiple of the one before and larger
    top, bottom : numbers, or None for no bound; ``bottom`` is below ``top``
    """

    widths: tuple[Number, ...]
    top: Number | None = None
    bottom: Number | None = None

    def __post_init__(self) -> None:
        units = [self.scale.units(width) for width in self.widths]
        if not units or min(units) <= 0:
            raise InputError("interval needs positive numbers as widths; write for example interval:5,10,20.")
        for place, (finer, coarser) in enumerate(pairwise(units), start=1):
            if coarser <= finer or coarser % finer:
                raise InputError(
                    "interval needs widths of which each divides the next, so that levels nest: "
                    f"{self.widths[place]} is not a larger multiple of {self.widths[place - 1]}. Write for example "
                    "interval:5,10,20."
                )
        if self.top is not None and self.bottom is not None and self.bottom >= self.top:
            raise InputError(f"interval needs bottom below top, but bottom is {self.bottom} and top is {self.top}.")

    @cached_property
    def scale(self) -> Scale:
        """The unit of the stated numbers."""
        bounds = [bound for bound in (self.bottom, self.top) if bound is not None]
        return Scale.of([*self.widths, *bounds], "interval:5,10,20/top=90/bottom=0")

    @property
    def spec(self) -> str:
        """As on the command line: `interval:5,10,20/top=90/bottom=0`."""
        bounds = {"top": self.top, "bottom": self.bottom}
        options = [f"/{name}={_state_number(bound)}" for name, bound in bounds.items() if bound is not None]
        return f"interval:{','.join(map(_state_number, self.widths))}{''.join(options)}"

    @cached_property
    def _bounds(self) -> tuple[int | None, int | None]:
        """Bottom and top in units."""
        bottom, top = (None if one is None else self.scale.units(one) for one in (self.bottom, self.top))
        return bottom, top

    def _read(self, text: str) -> int | None:
        number, (bottom, top) = self.scale.read(text), self._bounds
        if number is not None or (bottom is None and top is None):
            return number
        is_up, bound = self.scale.read_open(text) or (True, BELOW)
        if is_up:
            return bound if top is not None and bound >= top else None
        return bound - 1 if bottom is not None and bound <= bottom else None

    def _beyond(self, read: Sequence[int]) -> Sequence[bool] | None:
        bottom, top = self._bounds
        return [(top is not None and one >= top) or (bottom is not None and one < bottom) for one in read]

    def _cells_at(self, floors: Integers) -> Sequence[Ends]:
        every, (bottom, top) = [], self._bounds
        for width in map(self.scale.units, self.widths):
            begin = (bottom or 0) + (floors - (bottom or 0)) // width * width
            end = begin + width
            if top is not None:
                begin, end = np.where(floors >= top, top, begin), np.where(floors >= top, ABOVE, np.minimum(end, top))
            if bottom is not None:
                begin, end = np.where(floors < bottom, BELOW, begin), np.where(floors < bottom, bottom, end)
            every.append((begin, end))
        return every

    def _levels(self, texts: Sequence[str], read: Sequence[int]) -> Levels:  # noqa: ARG002 - of the base class
        every, (bottom, top) = self._cells_at(np.array(read, dtype=np.int64)), self._bounds
        begin, end = every[-1]
        inside = (begin != BELOW) & (end != ABOVE)
        # From bound to bound, or to the ends of the coarsest cells; nothing where no number is inside.
        low = bottom if bottom is not None else int(begin[inside].min()) if inside.any() else top or 0
        high = top if top is not None else int(end[inside].max()) if inside.any() else bottom or 0
        return self._cells(every, low, high, high - low + (bottom is not None) + (top is not None))


@dataclass(frozen=True)
class CutHierarchy(Intervals):
    """Levels of intervals between cut points: the number as recorded, `[2-17]`, then `*`.

    What is below the first cut is `<0`, what is the last or above is `>=65`. With a decimal point in a cut, intervals
    are half-open: `[18.5, 25)`. The domain is the numbers from the first cut to the last, in the last place of what was
    stated, and one leaf for what lies below and one for what lies above; see `IntervalHierarchy`.

    Parameters
    ----------
    cuts : for each level its cut points, rising; those of a coarser level are among those of the finer one
    """

    cuts: tuple[tuple[Number, ...], ...]

    def __post_init__(self) -> None:
        example = "write for example interval:cuts=0,2,18,65/18,65"
        if not self.cuts or not all(self.cuts):
            raise InputError(f"interval needs cut points; {example}.")
        assert self.scale  # refuses what is no number
        if any(one >= other for level in self.cuts for one, other in pairwise(level)):
            raise InputError(f"interval needs cut points that rise; {example}.")
        if not all(set(coarser) < set(finer) for finer, coarser in pairwise(self.cuts)):
            raise InputError(
                f"interval needs levels that nest: the cut points of each are some of those before; {example}."
            )

    @cached_property
    def scale(self) -> Scale:
        """The unit of the stated numbers."""
        return Scale.of([cut for level in self.cuts for cut in level], "interval:cuts=0,2,18,65")

    @property
    def spec(self) -> str:
        """As on the command line: `interval:cuts=0,2,18,65/18,65`."""
        return f"interval:cuts={'/'.join(','.join(map(_state_number, level)) for level in self.cuts)}"

    def _cells_at(self, floors: Integers) -> Sequence[Ends]:
        every = []
        for level in self.cuts:
            edges = np.array([BELOW, *map(self.scale.units, level), ABOVE], dtype=np.int64)
            place = np.searchsorted(edges[1:-1], floors, side="right")
            every.append((edges[place], edges[place + 1]))
        return every

    def _levels(self, texts: Sequence[str], read: Sequence[int]) -> Levels:  # noqa: ARG002 - of the base class
        every = self._cells_at(np.array(read, dtype=np.int64))
        low, high = self.scale.units(self.cuts[0][0]), self.scale.units(self.cuts[0][-1])
        return self._cells(every, low, high, high - low + 2)


QUANTILE_PLACES = 4
ONE: int = 10**QUANTILE_PLACES
GRIDS = [lead * 10**power for power in range(14, -1, -1) for lead in (5, 2, 1)]
"""Distances of round numbers from each other, in units of ``10**-QUANTILE_PLACES``, the roundest first."""


@dataclass(frozen=True)
class QuantileHierarchy(MadeOfRecords):
    """Levels of intervals with about equal numbers of records. The intervals depend on the records.

    Each cut point is the roundest number (a multiple of 1, 2 or 5 times a power of ten) between the k-th record below a
    quantile and the k-th above it: no value that fewer than k records decide. The released hierarchy is that of the cut
    points, `interval:cuts=...`; it reveals nothing else about the quantiles.

    Parameters
    ----------
    parts : into how many parts the records are cut, for each level; each divides the one before
    """

    parts: tuple[int, ...]
    kind: ClassVar[str] = "quantile"
    stated: ClassVar[str] = "cut points here, as interval:cuts=18,40,65"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(sorted(self.parts, reverse=True)))
        nest = all(more != fewer and more % fewer == 0 for more, fewer in pairwise(self.parts))
        if not self.parts or min(self.parts) < 2 or not nest:
            raise InputError("quantile needs numbers of parts from 2, each dividing the next; as in quantile:10,5.")

    @property
    def spec(self) -> str:
        """As on the command line: `quantile:10,5`."""
        return f"quantile:{','.join(map(str, self.parts))}"

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Return the distinct values that are not numbers."""
        scale = Scale(QUANTILE_PLACES)
        return [value for value in values if value is not None and scale.read(value) is None]

    def cut(self, column: str, texts: Sequence[str], k: int) -> CutHierarchy:
        """Return the cut points for the records of a column, each with at least k records on either side."""
        outside, scale = self.outside(sorted(set(texts))), Scale(QUANTILE_PLACES)
        require_cover(column, len(outside), len(set(texts)), *_refusal_of_texts(outside))
        units = np.sort(np.array([scale.read(text) for text in texts], dtype=np.int64))
        is_decimal = 2 * int((units % ONE != 0).sum()) > units.size
        levels: list[tuple[int, ...]] = []
        for parts in self.parts:
            near = (_near(units, Fraction(part, parts), k, 1 if is_decimal else ONE) for part in range(1, parts))
            found = tuple(sorted({cut for cut in near if cut is not None}))
            if found and (not levels or set(found) < set(levels[-1])):
                levels.append(found)
        if not levels:
            raise InputError(
                f"{self.spec} finds no cut points in column {column!r}: too few of its records differ. Use suppress.",
                column=column,
            )
        return CutHierarchy(tuple(tuple(_number(cut, is_decimal=is_decimal) for cut in level) for level in levels))


def _near(units: Integers, share: Fraction, k: int, finest: int) -> int | None:
    """Return the roundest number near a quantile; None where fewer than k records would lie on one side of it."""
    place = int(share * units.size)
    if place < k or units.size - place < k:
        return None
    low, high = int(units[place - k]), int(units[place + k - 1])
    for grid in GRIDS:
        cut = high // grid * grid
        if grid >= finest and cut > low:
            return cut if min((units < cut).sum(), (units >= cut).sum()) >= k else None
    return None


def _number(units: int, *, is_decimal: bool) -> int | Decimal:
    """A cut point as it is stated: with a decimal point where most values have decimals."""
    if not is_decimal:
        return units // ONE
    whole, rest = f"{Decimal(units).scaleb(-QUANTILE_PLACES):f}".split(".")
    return Decimal(f"{whole}.{rest.rstrip('0') or '0'}")
