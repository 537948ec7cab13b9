"""A release of generalized code sets, and checks that its data can be written."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.io.attributes import AttributesTable
from cloister.release.release import DataFileRelease
from cloister.results import Verdict
from cloister.shapes.codes.data import CODES, CodeSets
from cloister.shapes.generalization.format.data import Generalization, term_text
from cloister.shapes.generalization.format.released import MARKS, read_released

MOST_BYTES = 2**31  # A larger data file is refused


def check_writable(codes: CodeSets, attributes: AttributesTable | None = None) -> None:
    """Reject codes that look like terms, and auxiliary attributes with the names of the columns of codes."""
    if attributes is not None and CODES in attributes.frame.columns:
        raise InputError(f"{attributes.name} has a column {CODES!r}, as the release calls its terms. Rename it.")
    odd = sum(not MARKS.isdisjoint(code) for code in codes.vocabulary)
    if odd:
        raise InputError(
            f"{odd} of {codes.n_codes} distinct codes have a bracket or a comma inside, which write generalized terms "
            "in a release. Write codes without them, or protect by disassociation."
        )


def check_size(released: Generalization) -> None:
    """Reject a data file that would be too large to read: each record spells all codes of its terms."""
    lengths = np.array([len(term_text(codes).encode()) + 1 for codes in released.named_terms()], dtype=np.int64)
    size = int((lengths * released.supports()).sum())
    if size > MOST_BYTES:
        raise InputError(
            f"The largest of {len(released.terms)} terms holds {int(released.terms.sizes.max())} codes, which would be "
            f"written in every record that has it: {size / 2**30:.1f} GiB. Give a utility policy with smaller sets."
        )


@dataclass(frozen=True, repr=False)
class GeneralizedCodesRelease(DataFileRelease):
    """Verified generalized code sets: terms, and the terms of each record."""

    generalized: Generalization
    _check: Callable[[Generalization], Verdict] = field(repr=False)

    def recheck(self) -> Verdict:
        """Return the verdict on the released records."""
        return self._check(self.generalized)

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on the data file: on what is read back of its text."""
        frame = self.read_written(folder)
        if not frame.cast(pl.String).equals(self.frame.cast(pl.String)):
            return Verdict("the file was read back", (), ("the data file does not hold what was released",))
        released = self.generalized
        written = read_released(frame[CODES], released.k, released.m, repeats=released.repeats)
        if written.named_records() != released.named_records():
            return Verdict("the file was read back", (), ("the data file does not read as what was released",))
        return self._check(released)
