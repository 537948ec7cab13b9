"""The grid under an interval hierarchy: which cell a number falls into, how it is named, how much it covers."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

BELOW, ABOVE = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""Stand for the starts of the two open cells, below the bottom and from the top on."""


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

    def cells(self, floors: Integers, width: int) -> "Cells":
        """Return the cells of this width that the numbers fall into."""
        origin = self.bottom or 0
        starts = origin + (floors - origin) // width * width
        if self.bottom is not None:
            starts[floors < self.bottom] = BELOW
        if self.top is not None:
            starts[floors >= self.top] = ABOVE
        return Cells(self, width, *np.unique(starts, return_index=True, return_inverse=True))


@dataclass(frozen=True)
class Cells:
    """The cells of one width that have a number.

    Attributes
    ----------
    grid, width : where the cells come from
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

    def leaves(self, finest: "Cells") -> Integers:
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
