"""A release of generalized code sets: one record a patient, its codes in terms."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from cloister.codesets.data_file import CODES
from cloister.release import DataFileRelease
from cloister.results import Verdict

from .data import Generalization
from .written import read_released


@dataclass(frozen=True)
class GeneralizedCodesRelease(DataFileRelease):
    """Generalized code sets that passed verification.

    Attributes
    ----------
    generalized : what is released: terms, and the terms of each record
    """

    generalized: Generalization
    _check: Callable[[Generalization], Verdict] = field(repr=False)

    def recheck(self) -> Verdict:
        """Return the verdict on the released records."""
        return self._check(self.generalized)

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on the data file: on what is read back of its text."""
        frame = self.read_written(folder)
        if not frame.cast(pl.String).equals(self.frame.cast(pl.String)):
            return Verdict(False, "the file was read back", (), ("the data file does not hold what was released",))
        released = self.generalized
        written = read_released(frame[CODES], released.k, released.m, repeats=released.repeats)
        if written.named_records() != released.named_records():
            return Verdict(False, "the file was read back", (), ("the data file does not read as what was released",))
        return self._check(released)
