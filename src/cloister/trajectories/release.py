"""A release of anonymized trajectories: one row a pair, and what rides along in a file beside."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from cloister.io import write_csv
from cloister.release import DataFileRelease
from cloister.release_folder import SIDE, read_data
from cloister.results import Verdict

from .data import AnonymizedTrajectories
from .data_file import WrittenTrajectories

HOW = "the files were read back"


@dataclass(frozen=True)
class TrajectoriesRelease(DataFileRelease):
    """Anonymized trajectories that passed verification.

    Attributes
    ----------
    side : the side columns under the released ids; None where nothing rides along
    """

    anonymized: AnonymizedTrajectories
    side: pl.DataFrame | None = field(repr=False)
    _check: Callable[[WrittenTrajectories], Verdict] = field(repr=False)

    def recheck(self) -> Verdict:
        """Return the verdict on the released rows."""
        return self._check(WrittenTrajectories(self.frame, self.side))

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the data file, and the side file if there is one."""
        names = super().write_data(folder)
        if self.side is None:
            return names
        write_csv(self.side, folder / SIDE, self.delimiter)
        return (*names, SIDE)

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on what is read back of the files."""
        frame = self.read_written(folder).cast(pl.String)
        if not frame.equals(self.frame.cast(pl.String)):
            return Verdict(False, HOW, (), ("the data file does not hold what was released",))
        if self.side is not None:
            side = read_data(folder / SIDE, self.delimiter).cast(pl.String)
            if not side.equals(self.side.cast(pl.String)):
                return Verdict(False, HOW, (), (f"{SIDE} does not hold what was released",))
        return self._check(WrittenTrajectories(frame.with_columns(pl.col("id").cast(pl.Int64)), self.side))
