"""A release of a table: its protected records, as the kind of dataframe that came in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from cloister.release import DataFileRelease
from cloister.results import Verdict


@dataclass(frozen=True)
class TableRelease(DataFileRelease):
    """A table that passed verification.

    Attributes
    ----------
    data : the protected records, as the kind of dataframe that came in
    """

    data: Any
    _check: Callable[[pl.DataFrame], Verdict] = field(repr=False)

    def recheck(self) -> Verdict:
        """Return the verdict on the protected records."""
        return self._check(self.frame)

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on the data file."""
        return self._check(self.read_written(folder))
