"""A release of patients and their claims: two files that one id joins."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from cloister.io import write_csv, write_parquet
from cloister.release import Release
from cloister.release_folder import read_data
from cloister.results import Verdict

from .data_file import CLAIMS, PATIENTS, WrittenClaims

HOW = "the files were read back"


@dataclass(frozen=True)
class ClaimsRelease(Release):
    """Patients and their claims that passed verification.

    Attributes
    ----------
    files : the rows of both files, as text
    format, delimiter : how they are written: csv or parquet
    """

    files: WrittenClaims = field(repr=False)
    format: str
    delimiter: str
    _check: Callable[[WrittenClaims, bool], Verdict] = field(repr=False)

    @property
    def patients(self) -> pl.DataFrame:
        """One row a released patient."""
        return self.files.patients

    @property
    def claims(self) -> pl.DataFrame:
        """One row a released claim."""
        return self.files.claims

    def delimiter_written(self) -> str | None:
        """Return what separates the cells of the files; None for Parquet."""
        return self.delimiter if self.format == "csv" else None

    def recheck(self) -> Verdict:
        """Return the verdict on the released rows."""
        return self._check(self.files, True)

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write both files."""
        for table in (PATIENTS, CLAIMS):
            if self.format == "parquet":
                write_parquet(self.files.of(table), folder / f"{table}.parquet")
            else:
                write_csv(self.files.of(table), folder / f"{table}.csv", self.delimiter)
        return f"{PATIENTS}.{self.format}", f"{CLAIMS}.{self.format}"

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on what is read back of the files.

        They must be equal to what was verified; so the adversary is not simulated once more, which would find the same.
        """
        read = [
            read_data(folder / f"{table}.{self.format}", self.delimiter).cast(pl.String) for table in (PATIENTS, CLAIMS)
        ]
        for table, frame in zip((PATIENTS, CLAIMS), read, strict=True):
            if not frame.equals(self.files.of(table)):
                return Verdict(False, HOW, (), (f"the file of {table} does not hold what was released",))
        return self._check(WrittenClaims(read[0], read[1]), False)
