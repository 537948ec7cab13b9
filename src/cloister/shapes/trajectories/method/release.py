"""A release of trajectories: one row per pair, patients numbered in content order, attributes in a separate file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from cloister.io import write_csv
from cloister.io.attributes import AttributesTable, ranks
from cloister.kernels.ragged import expand_runs, starts_of
from cloister.release.folder import read_data
from cloister.release.head import ATTRIBUTES
from cloister.release.release import DataFileRelease
from cloister.results import Verdict
from cloister.shapes.trajectories.format.data import AGE, CODE, DETAIL, ID, Integers, WrittenTrajectories
from cloister.shapes.trajectories.format.request import GivenTrajectories

from .problem import Alignment, AnonymizedTrajectories


@dataclass(frozen=True, repr=False)
class TrajectoriesRelease(DataFileRelease):
    """Verified anonymized trajectories."""

    anonymized: AnonymizedTrajectories
    attributes: pl.DataFrame | None  # the auxiliary columns under the released ids
    _check: Callable[[WrittenTrajectories], Verdict]

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
        frame, changed = self.read_written(folder).cast(pl.String), None
        if not frame.equals(self.frame.cast(pl.String)):
            changed = "the data file"
        elif self.attributes is not None:
            attributes = read_data(folder / ATTRIBUTES, self.delimiter).cast(pl.String)
            changed = None if attributes.equals(self.attributes.cast(pl.String)) else ATTRIBUTES
        if changed is not None:
            return Verdict("the files were read back", (), (f"{changed} does not hold what was released",))
        return self._check(WrittenTrajectories(frame.with_columns(pl.col(ID).cast(pl.Int64)), self.attributes))


def order_of(released: AnonymizedTrajectories, alignment: Alignment, attributes: AttributesTable | None) -> Integers:
    """Return the patients of the original in released order: (n_patients,).

    By the released sequence, code before age, pair by pair, in the order of UTF-8 bytes; then by auxiliary attributes.
    Patients who are alike in both are interchangeable.
    """
    texts = [tuple(released.rows_of(cluster)) for cluster in range(released.n_clusters)]
    place = {rows: number for number, rows in enumerate(sorted(set(texts)))}
    rank = np.array([place[rows] for rows in texts], dtype=np.int64)[alignment.cluster_of]
    of_attributes = np.zeros(rank.size, dtype=np.int64) if attributes is None else ranks(attributes.frame)
    return np.lexsort((of_attributes, rank))


def write_patients(
    released: AnonymizedTrajectories, alignment: Alignment, attributes: AttributesTable | None, order: Integers
) -> WrittenTrajectories:
    """Return the written rows of the patients in this order."""
    rows = [released.rows_of(cluster) for cluster in range(released.n_clusters)]
    starts, cluster = starts_of([len(each) for each in rows]), alignment.cluster_of[order]
    lengths, number = np.diff(starts)[cluster], np.arange(1, order.size + 1)
    names = (CODE, AGE, DETAIL)[: len(released.columns)]
    texts = pl.DataFrame([pair for each in rows for pair in each], dict.fromkeys(names, pl.String), orient="row")
    frame = pl.DataFrame({ID: np.repeat(number, lengths)}).hstack(texts[expand_runs(starts[cluster], lengths)])
    if attributes is None:
        return WrittenTrajectories(frame)
    return WrittenTrajectories(frame, pl.DataFrame({ID: number}).hstack(attributes.frame[order]))


def crosswalk(given: GivenTrajectories, order: Integers) -> pl.DataFrame:
    """Return the secret map: the number of each released patient, and the id, or the place in what was given."""
    ids = given.trajectories.ids
    original = pl.Series(np.arange(1, order.size + 1)) if ids is None else ids
    return pl.DataFrame([pl.Series("released", np.arange(1, order.size + 1)), original.gather(order).alias("original")])
