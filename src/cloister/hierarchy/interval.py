"""Numbers named by ever wider intervals on a grid that the user states."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cloister.errors import InputError
from cloister.hierarchy.binding import make_ladder, require_cover, texts_in_order
from cloister.hierarchy.grid import Grid
from cloister.hierarchy.ladder import Ladder

NUMBER = re.compile(r"([+-]?)([0-9]{0,15})(?:\.([0-9]*))?")
LARGEST = 10**15
"""Bounds and widths stay below this, so that the grid fits 64-bit integers."""


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

    Raises
    ------
    InputError
        The widths do not nest, or the bounds do not leave room.
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

    def bind(self, column: str, values: Sequence[str | None]) -> Ladder:
        """Return the ladder of these distinct values.

        Raises
        ------
        InputError
            A value is not a number.
        """
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
