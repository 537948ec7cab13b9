"""Numbers named by ever wider intervals on a grid that the user states."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy.bound import BuiltHierarchy, Levels

NUMBER = re.compile(r"([+-]?)([0-9]{0,15})(?:\.([0-9]*))?")
LARGEST = 10**15  # bounds and widths stay below this, so that the grid fits 64-bit integers
Integers = NDArray[np.int64]

BELOW, ABOVE = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""Stand for the starts of the two open cells, below the bottom and from the top on."""


@dataclass(frozen=True)
class IntervalHierarchy(BuiltHierarchy[int]):
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
    kind: ClassVar[str] = "interval"

    def __post_init__(self) -> None:
        if not self.widths or not all(type(width) is int and 0 < width < LARGEST for width in self.widths):
            raise InputError("interval needs positive whole numbers as widths; write for example interval:5,10,20.")
        for finer, coarser in zip(self.widths, self.widths[1:], strict=False):
            if coarser == finer or coarser % finer:
                raise InputError(
                    f"interval needs widths of which each divides the next, so that levels nest: {coarser} is not a "
                    f"larger multiple of {finer}. Write for example interval:5,10,20."
                )
        bounds = [bound for bound in (self.bottom, self.top) if bound is not None]
        if not all(type(bound) is int and abs(bound) < LARGEST for bound in bounds):
            raise InputError("interval needs whole numbers as top and bottom; write for example /top=90/bottom=0.")
        if len(bounds) == 2 and bounds[0] >= bounds[1]:
            raise InputError(f"interval needs bottom below top, but bottom is {bounds[0]} and top is {bounds[1]}.")

    @property
    def spec(self) -> str:
        """As on the command line: `interval:5,10,20/top=90/bottom=0`."""
        bounds = {"top": self.top, "bottom": self.bottom}
        options = [f"/{name}={bound}" for name, bound in bounds.items() if bound is not None]
        return f"interval:{','.join(map(str, self.widths))}{''.join(options)}"

    def read(self, text: str) -> int | None:
        """Return the largest whole number not above the number, if it is below 10^15."""
        match = NUMBER.fullmatch(text.strip())
        if match is None:
            return None
        sign, digits, fraction = match.group(1), match.group(2), match.group(3) or ""
        if not digits and not fraction:
            return None
        size, is_whole = int(digits or 0), not fraction.strip("0")
        return -size - (not is_whole) if sign == "-" else size

    def refusal(self, _: Sequence[str]) -> tuple[str, str]:
        """Return what is wrong with values that are no numbers."""
        advice = "Correct them, or use suppress, prefix or a hierarchy file."
        return "are not whole or decimal numbers, which interval needs", advice

    def levels(self, texts: Sequence[str], read: Sequence[int]) -> Levels:  # noqa: ARG002 - of the base class
        """Return one level for each width; the surplus of the finest cells counts in all that hold them."""
        floors = np.array(read, dtype=np.int64)
        every = [self._cells(floors, width) for width in self.widths]
        finest = every[0]
        found = np.bincount(finest.cell_of, minlength=finest.sizes.size)
        surplus: Integers = np.maximum(found - finest.sizes, 0)
        leaves = []
        for cells in every:
            covered = cells.sizes.copy()
            np.add.at(covered, cells.cell_of[finest.first], surplus)
            leaves.append(covered[cells.cell_of])
        labels = [[cells.names[cell] for cell in cells.cell_of] for cells in every]
        return labels, leaves, self._n_leaves(floors) + int(surplus.sum())

    def _n_leaves(self, floors: Integers) -> int:
        """Whole numbers from bound to bound, or to the end of the coarsest cell; and one leaf for each open cell."""
        origin, width = self.bottom or 0, self.widths[-1]
        inside = floors if self.bottom is None else floors[floors >= self.bottom]
        inside = inside if self.top is None else inside[inside < self.top]
        if inside.size:
            low = origin + (int(inside.min()) - origin) // width * width
            high = origin + (int(inside.max()) - origin) // width * width + width
        else:
            low = high = origin if self.top is None or self.bottom is not None else self.top
        low = low if self.bottom is None else self.bottom
        high = high if self.top is None else self.top
        return high - low + (self.bottom is not None) + (self.top is not None)

    def _cells(self, floors: Integers, width: int) -> "_Cells":
        """The cells of a width that the numbers fall into; a cell that would cross the top ends there."""
        origin = self.bottom or 0
        begin = origin + (floors - origin) // width * width
        if self.bottom is not None:
            begin[floors < self.bottom] = BELOW
        if self.top is not None:
            begin[floors >= self.top] = ABOVE
        starts, first, cell_of = np.unique(begin, return_index=True, return_inverse=True)
        names, sizes = [], np.ones(starts.size, dtype=np.int64)
        for cell, start in enumerate(starts.tolist()):
            if start == BELOW:
                names.append(f"<{self.bottom}")
            elif start == ABOVE:
                names.append(f">={self.top}")
            else:
                end = start + width if self.top is None else min(start + width, self.top)
                dash = "-" if start >= 0 <= end - 1 else " to "
                names.append(f"[{start}{dash}{end - 1}]")
                sizes[cell] = end - start
        return _Cells(names, sizes, first, cell_of)


@dataclass(frozen=True)
class _Cells:
    """The cells of one width that have a number.

    Attributes
    ----------
    sizes : (n_cells,) whole numbers in each; 1 for an open one
    first : (n_cells,) position of one number in each
    cell_of : (n_numbers,) the cell of each number
    """

    names: list[str]
    sizes: Integers
    first: NDArray[np.intp]
    cell_of: NDArray[np.intp]
