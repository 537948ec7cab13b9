"""A release of generalized code sets: one record a patient, its codes in terms."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from cloister.codesets.data_file import CODES
from cloister.io import write_csv, write_parquet
from cloister.release import Release, read_data
from cloister.results import Verdict

from .data import Generalization
from .written import read_released


@dataclass(frozen=True)
class GeneralizedCodesRelease(Release):
    """Generalized code sets that passed verification.

    Attributes
    ----------
    generalized : what is released: terms, and the terms of each record
    frame : the same as the data file has it
    format, delimiter : how the data file is written: csv or parquet
    """

    generalized: Generalization
    frame: pl.DataFrame = field(repr=False)
    format: str
    delimiter: str
    _check: Callable[[Generalization], Verdict] = field(repr=False)

    def delimiter_written(self) -> str | None:
        """Return what separates the cells of the data file; None for Parquet."""
        return self.delimiter if self.format == "csv" else None

    def recheck(self) -> Verdict:
        """Return the verdict on the released records."""
        return self._check(self.generalized)

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the data file."""
        data = folder / f"data.{self.format}"
        if self.format == "parquet":
            write_parquet(self.frame, data)
        else:
            write_csv(self.frame, data, self.delimiter)
        return (data.name,)

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on the data file: on what is read back of its text."""
        frame = read_data(folder / f"data.{self.format}", self.delimiter)
        if not frame.cast(pl.String).equals(self.frame.cast(pl.String)):
            return Verdict(False, "the file was read back", (), ("the data file does not hold what was released",))
        released = self.generalized
        written = read_released(frame[CODES], released.k, released.m, repeats=released.repeats)
        if written.named_records() != released.named_records():
            return Verdict(False, "the file was read back", (), ("the data file does not read as what was released",))
        return self._check(released)
