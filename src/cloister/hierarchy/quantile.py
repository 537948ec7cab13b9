"""Intervals between quantiles of a column: round numbers near them, which no few records decide."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError, setting
from cloister.hierarchy.bound import BoundHierarchy, require_cover
from cloister.hierarchy.interval import CutHierarchy, Scale

PLACES = 4
ONE: int = 10**PLACES
GRIDS = [lead * 10**power for power in range(14, -1, -1) for lead in (5, 2, 1)]
"""Distances of round numbers from each other, in units of ``10**-PLACES``, the roundest first."""


@dataclass(frozen=True)
class QuantileHierarchy:
    """Levels of intervals that hold about equally many records: what they are is known once the records are.

    Each cut point is the roundest number (a multiple of 1, 2 or 5 times a power of ten) between the k-th record below a
    quantile and the k-th above it: no value that fewer than k records decide. The released hierarchy is that of the cut
    points, `interval:cuts=...`; nothing else of the quantiles is said.

    Parameters
    ----------
    parts : into how many parts the records are cut, for each level; each divides the one before
    """

    parts: tuple[int, ...]
    kind: ClassVar[str] = "quantile"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(sorted(self.parts, reverse=True)))
        pairs = zip(self.parts, self.parts[1:], strict=False)
        if not self.parts or min(self.parts) < 2 or any(more == fewer or more % fewer for more, fewer in pairs):
            raise InputError("quantile needs numbers of parts from 2, each dividing the next; as in quantile:10,5.")

    @property
    def spec(self) -> str:
        """As on the command line: `quantile:10,5`."""
        return f"quantile:{','.join(map(str, self.parts))}"

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that are no numbers."""
        scale = Scale(PLACES)
        return [value for value in values if value is not None and scale.read(value) is None]

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:  # noqa: ARG002 - of the protocol
        """Refuse: how many records have each value is not known here."""
        raise InputError(
            f"{self.spec} needs the records of column {column!r}, which are known where a table is protected in memory "
            f"({setting('engine', 'memory')}). State cut points here, as interval:cuts=18,40,65."
        )

    def cut(self, column: str, texts: Sequence[str], k: int) -> CutHierarchy:
        """Return the cut points for the records of a column, each with k records or more on either side of it."""
        outside = self.outside(sorted(set(texts)))
        refusal = CutHierarchy(((0,),)).refusal(outside)
        require_cover(column, len(outside), len(set(texts)), *refusal)
        scale = Scale(PLACES)
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


def _near(units: NDArray[np.int64], share: Fraction, k: int, finest: int) -> int | None:
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
    whole, rest = f"{Decimal(units).scaleb(-PLACES):f}".split(".")
    return Decimal(f"{whole}.{rest.rstrip('0') or '0'}")
