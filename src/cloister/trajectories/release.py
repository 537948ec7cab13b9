"""A release of trajectories: one row a pair, patients numbered in the order of what they hold; attributes in a file."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.io import write_csv
from cloister.release import DataFileRelease
from cloister.release_folder import ATTRIBUTES, read_data
from cloister.results import Verdict

from .data import AGE, CODE, ID, Alignment, AnonymizedTrajectories, WrittenTrajectories
from .request import AttributesTable, ranks

HOW = "the files were read back"


@dataclass(frozen=True, repr=False)
class TrajectoriesRelease(DataFileRelease):
    """Anonymized trajectories that passed verification.

    Attributes
    ----------
    attributes : the auxiliary columns under the released ids; None where there are none
    """

    anonymized: AnonymizedTrajectories
    attributes: pl.DataFrame | None = field(repr=False)
    _check: Callable[[WrittenTrajectories], Verdict] = field(repr=False)

    def recheck(self) -> Verdict:
        """Return the verdict on the released rows."""
        return self._check(WrittenTrajectories(self.frame, self.attributes))

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the data file, and the attributes file if there is one."""
        names = super().write_data(folder)
        if self.attributes is None:
            return names
        write_csv(self.attributes, folder / ATTRIBUTES, self.delimiter)
        return (*names, ATTRIBUTES)

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on what is read back of the files."""
        frame = self.read_written(folder).cast(pl.String)
        if not frame.equals(self.frame.cast(pl.String)):
            return Verdict(False, HOW, (), ("the data file does not hold what was released",))
        if self.attributes is not None:
            attributes = read_data(folder / ATTRIBUTES, self.delimiter).cast(pl.String)
            if not attributes.equals(self.attributes.cast(pl.String)):
                return Verdict(False, HOW, (), (f"{ATTRIBUTES} does not hold what was released",))
        return self._check(WrittenTrajectories(frame.with_columns(pl.col("id").cast(pl.Int64)), self.attributes))


Integers = NDArray[np.int64]


def order_of(released: AnonymizedTrajectories, alignment: Alignment, attributes: AttributesTable | None) -> Integers:
    """Return the patients of the original in the order in which they are released: (n_patients,).

    By the released sequence, code before age, pair by pair, in the order of UTF-8 bytes; then by auxiliary attributes.
    Patients who are alike in both are interchangeable.
    """
    texts = [tuple(released.rows_of(cluster)) for cluster in range(released.n_clusters)]
    place = {rows: number for number, rows in enumerate(sorted(set(texts)))}
    rank = np.array([place[rows] for rows in texts], dtype=np.int64)[alignment.cluster_of]
    beside = np.zeros(rank.size, dtype=np.int64) if attributes is None else ranks(attributes.frame)
    order: Integers = np.lexsort((beside, rank)).astype(np.int64)
    return order


def written(
    released: AnonymizedTrajectories, alignment: Alignment, attributes: AttributesTable | None, order: Integers
) -> WrittenTrajectories:
    """Return what is written of the patients in this order."""
    rows = [released.rows_of(cluster) for cluster in range(released.n_clusters)]
    sizes = np.array([len(each) for each in rows], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    cluster = alignment.cluster_of[order]
    lengths = sizes[cluster]
    before = np.repeat(np.cumsum(lengths) - lengths, lengths)
    at = np.repeat(starts[cluster], lengths) + np.arange(before.size) - before
    codes = pl.Series(CODE, [code for each in rows for code, _ in each], dtype=pl.String)
    ages = pl.Series(AGE, [age for each in rows for _, age in each], dtype=pl.String)
    ids = np.repeat(np.arange(1, order.size + 1), lengths)
    frame = pl.DataFrame([pl.Series(ID, ids), codes.gather(at), ages.gather(at)])
    beside = None
    if attributes is not None:
        number = pl.Series(ID, np.arange(1, order.size + 1))
        beside = pl.DataFrame([number, *attributes.frame[order].get_columns()])
    return WrittenTrajectories(frame, beside)
