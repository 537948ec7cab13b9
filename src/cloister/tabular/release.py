"""A release of a table: its protected records, as the kind of dataframe that came in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from cloister.io.tally import read_runs, write_runs
from cloister.release import DataFileRelease
from cloister.results import Verdict


@dataclass(frozen=True, repr=False)
class TableRelease(DataFileRelease):
    """A table that passed verification.

    Attributes
    ----------
    notes : what the releaser should know, in sentences without their stops
    """

    data: Any
    _check: Callable[[pl.DataFrame], Verdict] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def recheck(self) -> Verdict:
        """Return the verdict on the protected records."""
        return self._check(self.frame)

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on the data file."""
        return self._check(self.read_written(folder))


@dataclass(frozen=True, repr=False)
class TalliedRelease(TableRelease):
    """A table of which only the tally is here; its records are written from it, and read back as runs.

    Attributes
    ----------
    data, frame : the tally of the protected records
    id_column : numbered, of which each row has the first number of its records; None if there is none
    """

    id_column: str | None = None

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the data file, some records at a time."""
        data = folder / f"data.{self.format}"
        write_runs(self.frame, data, self.delimiter_written(), self.id_column)
        return (data.name,)

    def read_written(self, folder: Path) -> pl.DataFrame:
        """Return the runs of the records as they are read back from a folder."""
        return read_runs(folder / f"data.{self.format}", self.delimiter_written(), self.id_column)


@dataclass(frozen=True, repr=False)
class DatabaseRelease(TableRelease):
    """A table that was protected where its rows are: the folder holds what is told of it, the database its records.

    Attributes
    ----------
    stay, leave : make the protected table stay in the database, and take it back after that
    """

    counted: pl.DataFrame = field(repr=False, kw_only=True)
    stay: Callable[[], None] = field(repr=False, kw_only=True)
    leave: Callable[[], None] = field(repr=False, kw_only=True)

    def commit(self) -> None:
        """Make the protected table stay in the database."""
        self.stay()

    def rollback(self) -> None:
        """Remove the protected table, if it was made to stay."""
        self.leave()

    def delimiter_written(self) -> str | None:
        """Return None: there is no data file."""
        return None

    def write_data(self, folder: Path) -> tuple[str, ...]:  # noqa: ARG002  (the records are not in the folder)
        """Write nothing: the records are in the database."""
        return ()

    def read_written(self, folder: Path) -> pl.DataFrame:  # noqa: ARG002
        """Return the tally of the protected table."""
        return self.counted
