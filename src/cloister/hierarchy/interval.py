"""Numbers named by ever wider intervals: on a grid of widths, or between cut points, that the user states."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError, setting
from cloister.hierarchy.bound import BuiltHierarchy, Levels

NUMBER = re.compile(r"([+-]?)([0-9]{0,15})(?:\.([0-9]*))?")
COMMA = re.compile(r"[+-]?[0-9.]*[0-9],[0-9]+")
LARGEST = 10**15  # bounds, widths and values, in their smallest unit, stay below this, so that the grid fits 64 bits
PLACES = 9
Integers = NDArray[np.int64]
Number = int | Decimal


def _stated(number: Number) -> str:
    return str(number) if type(number) is int else format(number, "f")


BELOW, ABOVE = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""Stand for the starts of the two open cells, below the bottom and from the top on."""


@dataclass(frozen=True)
class Scale:
    """The unit in which numbers are counted, and how intervals of them are written.

    Attributes
    ----------
    places : decimals of the unit
    is_half_open : whether labels leave their upper end out, ``[9.5, 10)``, as decimals need; else it is within
    """

    places: int = 0
    is_half_open: bool = False

    @classmethod
    def of(cls, numbers: Sequence[Number], example: str) -> "Scale":
        """Return the scale of numbers as they were stated: with a decimal point in one, intervals are half-open."""
        decimals = [one for one in numbers if isinstance(one, Decimal)]
        if any(type(one) is not int and not (isinstance(one, Decimal) and one.is_finite()) for one in numbers):
            raise InputError(f"interval needs numbers; write for example {example}.")
        places = max((-int(one.normalize().as_tuple().exponent) for one in decimals), default=0)
        scale = cls(max(places, 0), bool(decimals))
        if scale.places > PLACES or not all(abs(scale.units(one)) < LARGEST for one in numbers):
            raise InputError(f"interval needs numbers below 10^15 in their last place; write for example {example}.")
        return scale

    def units(self, number: Number) -> int:
        """Return a number in units."""
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
        """Return so many units as a number."""
        text = format(Decimal(units).scaleb(-self.places), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text

    def label(self, start: int, end: int) -> str:
        """Return the interval from one number of units to below another."""
        if self.is_half_open:
            return f"[{self.written(start)}, {self.written(end)})"
        return f"[{start}{'-' if start >= 0 <= end - 1 else ' to '}{end - 1}]"


@dataclass(frozen=True)
class _Cells:
    """The cells of one level that have a number.

    Attributes
    ----------
    sizes : (n_cells,) units in each; of an open one what it covers of the domain
    first : (n_cells,) position of one number in each
    cell_of : (n_numbers,) the cell of each number
    """

    names: list[str]
    sizes: Integers
    first: NDArray[np.intp]
    cell_of: NDArray[np.intp]


class _Intervals(BuiltHierarchy[int]):
    """What hierarchies of intervals share."""

    kind: ClassVar[str] = "interval"

    @property
    def scale(self) -> Scale:
        """The unit of the numbers stated."""
        raise NotImplementedError

    @property
    def spec(self) -> str:
        """As on the command line."""
        raise NotImplementedError

    @property
    def decimal_spec(self) -> str:
        """The same with half-open intervals: the first number of it as a decimal."""
        return re.sub(r"-?[0-9]+", lambda first: f"{first[0]}.0", self.spec, count=1)

    def read(self, text: str) -> int | None:
        """Return the largest whole number of units not above the number."""
        return self.scale.read(text)

    def refusal(self, texts: Sequence[str]) -> tuple[str, str]:
        """Return what is wrong with values that are no numbers."""
        if n := sum(COMMA.fullmatch(text.strip()) is not None for text in texts):
            advice = f"{n:,} have a decimal comma, which {setting('decimal', ',')} reads."
        else:
            advice = f"Correct them, make them missing with {setting('numbers', 'COLUMN')}, or use suppress or prefix."
        return "are not whole or decimal numbers, which interval needs", advice

    def _levels(self, every: Sequence[_Cells], n_leaves: int) -> Levels:
        """Return labels and leaves; the surplus of the finest cells counts in all that hold them."""
        finest = every[0]
        found = np.bincount(finest.cell_of, minlength=finest.sizes.size)
        surplus: Integers = np.maximum(found - finest.sizes, 0)
        leaves = []
        for cells in every:
            covered = cells.sizes.copy()
            np.add.at(covered, cells.cell_of[finest.first], surplus)
            leaves.append(covered[cells.cell_of])
        labels = [[cells.names[cell] for cell in cells.cell_of] for cells in every]
        return labels, leaves, n_leaves + int(surplus.sum())


@dataclass(frozen=True)
class IntervalHierarchy(_Intervals):
    """Levels of intervals: the number as recorded, one level a width (`[40-44]`, `[40-49]`, `[40-59]`), then `*`.

    Intervals begin at multiples of the width from ``bottom``, or from 0 where there is none, so that levels nest; one
    that would cross ``top`` ends there. From the first width on, values of ``top`` and above are `>=90` and values
    below ``bottom`` are `<0`. With whole widths a decimal number belongs to the interval of its whole part: 44.9 is in
    `[40-44]`, so that no label tells whether some value, perhaps one that is suppressed, is a decimal. With a decimal
    point in a width (`0.5`, or `5.0`) intervals are half-open and say so: `[9.5, 10)`. No label holds a minimum,
    maximum or quantile of the data: ends come from the settings or the grid.

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
        """The unit of the numbers stated."""
        bounds = [bound for bound in (self.bottom, self.top) if bound is not None]
        return Scale.of([*self.widths, *bounds], "interval:5,10,20/top=90/bottom=0")

    @property
    def spec(self) -> str:
        """As on the command line: `interval:5,10,20/top=90/bottom=0`."""
        bounds = {"top": self.top, "bottom": self.bottom}
        options = [f"/{name}={_stated(bound)}" for name, bound in bounds.items() if bound is not None]
        return f"interval:{','.join(map(_stated, self.widths))}{''.join(options)}"

    def levels(self, texts: Sequence[str], read: Sequence[int]) -> Levels:  # noqa: ARG002 - of the base class
        """Return one level for each width."""
        floors = np.array(read, dtype=np.int64)
        bottom, top = (None if one is None else self.scale.units(one) for one in (self.bottom, self.top))
        widths = [self.scale.units(width) for width in self.widths]
        cells = [self._cells(floors, width, bottom, top) for width in widths]
        return self._levels(cells, _n_leaves(floors, widths[-1], bottom, top))

    def _cells(self, floors: Integers, width: int, bottom: int | None, top: int | None) -> _Cells:
        """The cells of a width that the numbers fall into; a cell that would cross the top ends there."""
        origin = bottom or 0
        begin = origin + (floors - origin) // width * width
        if bottom is not None:
            begin[floors < bottom] = BELOW
        if top is not None:
            begin[floors >= top] = ABOVE
        starts, first, cell_of = np.unique(begin, return_index=True, return_inverse=True)
        names, sizes = [], np.ones(starts.size, dtype=np.int64)
        for cell, start in enumerate(starts.tolist()):
            if start in (BELOW, ABOVE):
                names.append(
                    f"<{self.scale.written(origin)}" if start == BELOW else f">={self.scale.written(top or 0)}"
                )
                continue
            end = start + width if top is None else min(start + width, top)
            names.append(self.scale.label(start, end))
            sizes[cell] = end - start
        return _Cells(names, sizes, first, cell_of)


def _n_leaves(floors: Integers, width: int, bottom: int | None, top: int | None) -> int:
    """Numbers from bound to bound, or to the end of the coarsest cell; and one leaf for each open cell."""
    origin = bottom or 0
    inside = floors if bottom is None else floors[floors >= bottom]
    inside = inside if top is None else inside[inside < top]
    if inside.size:
        low = origin + (int(inside.min()) - origin) // width * width
        high = origin + (int(inside.max()) - origin) // width * width + width
    else:
        low = high = origin if top is None or bottom is not None else top
    low = low if bottom is None else bottom
    high = high if top is None else top
    return high - low + (bottom is not None) + (top is not None)


@dataclass(frozen=True)
class CutHierarchy(_Intervals):
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
        example = "interval:cuts=0,2,18,65/18,65"
        if not self.cuts or not all(self.cuts):
            raise InputError(f"interval needs cut points; write for example {example}.")
        assert self.scale  # refuses what is no number
        for level in self.cuts:
            if any(one >= other for one, other in pairwise(level)):
                raise InputError(f"interval needs cut points that rise; write for example {example}.")
        for finer, coarser in pairwise(self.cuts):
            if not set(coarser) < set(finer):
                raise InputError(
                    "interval needs levels that nest: the cut points of each are some of those before. Write for "
                    f"example {example}."
                )

    @cached_property
    def scale(self) -> Scale:
        """The unit of the numbers stated."""
        return Scale.of([cut for level in self.cuts for cut in level], "interval:cuts=0,2,18,65")

    @property
    def spec(self) -> str:
        """As on the command line: `interval:cuts=0,2,18,65/18,65`."""
        return f"interval:cuts={'/'.join(','.join(map(_stated, level)) for level in self.cuts)}"

    def levels(self, texts: Sequence[str], read: Sequence[int]) -> Levels:  # noqa: ARG002 - of the base class
        """Return one level for each list of cuts."""
        floors = np.array(read, dtype=np.int64)
        every = [np.array([self.scale.units(cut) for cut in level], dtype=np.int64) for level in self.cuts]
        low, high = int(every[0][0]), int(every[0][-1])
        return self._levels([self._cells(floors, cuts, low, high) for cuts in every], high - low + 2)

    def _cells(self, floors: Integers, cuts: Integers, low: int, high: int) -> _Cells:
        places, first, cell_of = np.unique(
            np.searchsorted(cuts, floors, side="right"), return_index=True, return_inverse=True
        )
        ends, written = cuts.tolist(), self.scale.written
        names, sizes = [], np.ones(places.size, dtype=np.int64)
        for cell, place in enumerate(places.tolist()):
            if place == 0:
                names.append(f"<{written(ends[0])}")
                sizes[cell] += ends[0] - low
            elif place == len(ends):
                names.append(f">={written(ends[-1])}")
                sizes[cell] += high - ends[-1]
            else:
                names.append(self.scale.label(ends[place - 1], ends[place]))
                sizes[cell] = ends[place] - ends[place - 1]
        return _Cells(names, sizes, first, cell_of)
