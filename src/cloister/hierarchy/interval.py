"""Numbers named by ever wider intervals on a grid that the user states."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy.bound import BoundHierarchy, make_ladder, require_cover, texts_in_order

NUMBER = re.compile(r"([+-]?)([0-9]{0,15})(?:\.([0-9]*))?")
LARGEST = 10**15
"""Bounds and widths stay below this, so that the grid fits 64-bit integers."""

Integers = NDArray[np.int64]

BELOW, ABOVE = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""Stand for the starts of the two open cells, below the bottom and from the top on."""


@dataclass(frozen=True)
class IntervalHierarchy:
    """Levels of intervals: the number as recorded, one level a width (`[40-44]`, `[40-49]`, `[40-59]`), then `*`.

    Intervals begin at multiples of the width from ``bottom``, or from 0 where there is none, so that levels nest; one
    that would cross ``top`` ends there. From the first width on, values of ``top`` and above are `>=90` and values
    below ``bottom`` are `<0`. A decimal number belongs to the interval of its whole part: 44.9 is in `[40-44]`, so
    that no label tells whether some value, perhaps one that is suppressed, is a decimal. No label holds a minimum,
    maximum or quantile of the data: ends come from the settings or the grid.

    The domain is the whole numbers from ``bottom`` to ``top``; where a bound is not given, to the end of the coarsest
    interval that has a value. A bound adds one leaf for all that lies beyond it, whether such values occur or not. An
    interval of the first width with more distinct values than whole numbers (decimals, or spellings such as `7` and
    `07`) has as many leaves as values, and so has what lies beyond a bound: leaves always add up.

    Parameters
    ----------
    widths : positive whole numbers, each a multiple of the one before and larger
    top, bottom : whole numbers, or None for no bound; ``bottom`` is below ``top``
    """

    widths: tuple[int, ...]
    top: int | None = None
    bottom: int | None = None

    def __post_init__(self) -> None:
        if not self.widths or not all(type(width) is int and 0 < width < LARGEST for width in self.widths):
            raise InputError("interval needs positive whole numbers as widths; write for example interval:5,10,20.")
        for finer, coarser in zip(self.widths, self.widths[1:], strict=False):
            if coarser == finer or coarser % finer:
                raise InputError(
                    f"interval needs widths of which each divides the next, so that levels nest: {coarser} is not a "
                    f"larger multiple of {finer}. Write for example interval:5,10,20."
                )
        self._check_bounds()

    def _check_bounds(self) -> None:
        bounds = [bound for bound in (self.bottom, self.top) if bound is not None]
        if not all(type(bound) is int and abs(bound) < LARGEST for bound in bounds):
            raise InputError("interval needs whole numbers as top and bottom; write for example /top=90/bottom=0.")
        if len(bounds) == 2 and bounds[0] >= bounds[1]:
            raise InputError(f"interval needs bottom below top, but bottom is {bounds[0]} and top is {bounds[1]}.")

    @property
    def kind(self) -> str:
        """`interval`."""
        return "interval"

    @property
    def spec(self) -> str:
        """As on the command line: `interval:5,10,20/top=90/bottom=0`."""
        bounds = {"top": self.top, "bottom": self.bottom}
        options = [f"/{name}={bound}" for name, bound in bounds.items() if bound is not None]
        return f"interval:{','.join(map(str, self.widths))}{''.join(options)}"

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that are not whole or decimal numbers below 10^15."""
        return [value for value in values if value is not None and _floor(value) is None]

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Return the ladder of these distinct values."""
        texts, missing = texts_in_order(values)
        numbers = [number for text in texts if (number := _floor(text)) is not None]
        require_cover(
            column,
            len(texts) - len(numbers),
            len(texts),
            f"are not whole or decimal numbers, which {self.kind} needs",
            "Correct them, or use suppress, prefix or a hierarchy file.",
        )
        floors = np.array(numbers, dtype=np.int64)
        grid = Grid.around(floors, self.widths[-1], self.bottom, self.top)
        levels = [grid.cells(floors, width) for width in self.widths]
        return make_ladder(
            column,
            texts,
            missing,
            [cells.labels() for cells in levels],
            [cells.leaves(levels[0]) for cells in levels],
            grid.n_leaves + int(levels[0].surplus().sum()),
        )


def _floor(text: str) -> int | None:
    """Return the largest whole number not above the number; None of anything else."""
    match = NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    sign, digits, fraction = match.group(1), match.group(2), match.group(3) or ""
    if not digits and not fraction:
        return None
    size, is_whole = int(digits or 0), not fraction.strip("0")
    return -size - (not is_whole) if sign == "-" else size


@dataclass(frozen=True)
class Grid:
    """The whole numbers that intervals are cut from.

    Attributes
    ----------
    low, high : first whole number of the range, and the first one after it
    bottom, top : the user's bounds, if any; each adds an open cell beyond it
    """

    low: int
    high: int
    bottom: int | None
    top: int | None

    @classmethod
    def around(cls, floors: Integers, width: int, bottom: int | None, top: int | None) -> Self:
        """Return the grid from bound to bound; where there is none, to the end of the coarsest cell with a number."""
        inside = floors[_inside(floors, bottom, top)]
        origin = bottom or 0
        if inside.size:
            low = _start(int(inside.min()), origin, width)
            high = _start(int(inside.max()), origin, width) + width
        else:
            low = high = origin if top is None or bottom is not None else top
        return cls(low if bottom is None else bottom, high if top is None else top, bottom, top)

    @property
    def n_leaves(self) -> int:
        """Whole numbers of the range, and one leaf for each open cell."""
        return self.high - self.low + (self.bottom is not None) + (self.top is not None)

    def cells(self, floors: Integers, width: int) -> "GridCells":
        """Return the cells of this width that the numbers fall into."""
        origin = self.bottom or 0
        starts = origin + (floors - origin) // width * width
        if self.bottom is not None:
            starts[floors < self.bottom] = BELOW
        if self.top is not None:
            starts[floors >= self.top] = ABOVE
        return GridCells(self, width, *np.unique(starts, return_index=True, return_inverse=True))


@dataclass(frozen=True)
class GridCells:
    """The cells of one width that have a number.

    Attributes
    ----------
    starts : (n_cells,) first whole number of each, or the marks of the open cells
    first : (n_cells,) position of one number in each
    cell_of : (n_numbers,) the cell of each number
    """

    grid: Grid
    width: int
    starts: Integers
    first: NDArray[np.intp]
    cell_of: NDArray[np.intp]

    def surplus(self) -> Integers:
        """Return how many distinct numbers each cell has beyond its whole numbers; each is one more leaf."""
        found = np.bincount(self.cell_of, minlength=self.starts.size)
        beyond: Integers = np.maximum(found - self._sizes(), 0)
        return beyond

    def labels(self) -> list[str]:
        """Return the name of each number's cell."""
        names = [self._name(int(start)) for start in self.starts]
        return [names[cell] for cell in self.cell_of]

    def leaves(self, finest: "GridCells") -> Integers:
        """Return the leaves that each number's cell covers, the surplus of the finest cells in it included."""
        covered = self._sizes()
        np.add.at(covered, self.cell_of[finest.first], finest.surplus())
        of_number: Integers = covered[self.cell_of]
        return of_number

    def _sizes(self) -> Integers:
        """Whole numbers in each cell; 1 for an open one."""
        is_open = (self.starts == BELOW) | (self.starts == ABOVE)
        starts = np.where(is_open, 0, self.starts)
        ends = starts + self.width if self.grid.top is None else np.minimum(starts + self.width, self.grid.top)
        return np.where(is_open, 1, ends - starts).astype(np.int64)

    def _name(self, start: int) -> str:
        if start == BELOW:
            return f"<{self.grid.bottom}"
        if start == ABOVE:
            return f">={self.grid.top}"
        end = start + self.width if self.grid.top is None else min(start + self.width, self.grid.top)
        last = end - 1
        dash = "-" if start >= 0 <= last else " to "
        return f"[{start}{dash}{last}]"


def _inside(floors: Integers, bottom: int | None, top: int | None) -> NDArray[np.bool_]:
    inside = np.ones(floors.shape, dtype=np.bool_)
    if bottom is not None:
        inside &= floors >= bottom
    if top is not None:
        inside &= floors < top
    return inside


def _start(number: int, origin: int, width: int) -> int:
    return origin + (number - origin) // width * width
