"""The two types of this room: a hierarchy as the user states it, and the same bound to the values of one column."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

ROOT = "*"
"""The label of the top level when a builder makes it; also how a suppressed record is written."""


@dataclass(frozen=True)
class Ladder:
    """The levels of one column: what each of its values is called at each level, and how much that covers.

    Attributes
    ----------
    column : name of the column
    values : (n_values,) the distinct values present, sorted by UTF-8 bytes, missing (None) last if it occurs
    labels : n_levels tuples of (n_values,) labels; level 0 is the value itself, the last level one root for all.
        Missing is None (released as an empty cell) until the root. Equal labels at one level are one group.
    leaves : (n_levels, n_values) int64, leaves of the domain that the label covers; 1 at level 0
    n_leaves : leaves of the whole domain, at least 1; missing is one of them only if it occurs
    """

    column: str
    values: tuple[str | None, ...] = field(repr=False)
    labels: tuple[tuple[str | None, ...], ...] = field(repr=False)
    leaves: NDArray[np.int64] = field(repr=False)
    n_leaves: int

    @property
    def n_levels(self) -> int:
        """Number of levels, the original one included."""
        return len(self.labels)


class Hierarchy(Protocol):
    """Coarser and coarser names for the values of a column, not yet bound to data."""

    @property
    def kind(self) -> str:
        """What sort of hierarchy this is, as the manifest names it: `file`, `interval`, `prefix` ..."""

    @property
    def spec(self) -> str:
        """How the user would write it on the command line; a file by its name, never by its path."""

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that the hierarchy does not cover."""

    def bind(self, column: str, values: Sequence[str | None]) -> Ladder:
        """Return the ladder of these distinct values.

        Raises
        ------
        InputError
            A value is not covered; says how many and what to do, never which.
        """
