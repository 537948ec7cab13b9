"""A release of code sets: clusters, and one reconstruction to work with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from cloister.io import write_csv
from cloister.release import Release
from cloister.release_folder import CLUSTERS, DATA, read_data
from cloister.results import Verdict

from ..data import CodeSets
from .clusters_file import read_clusters, same_release, write_clusters
from .data import Disassociation
from .reconstruct import ItemSupport, reconstruct


@dataclass(frozen=True)
class CodesRelease(Release):
    """Disassociated code sets that passed verification.

    Attributes
    ----------
    clusters : what is released: clusters with their chunks, joint clusters with shared chunks
    frame : one reconstruction, as ``data.csv`` has it
    delimiter : what separates the cells of ``data.csv``
    """

    clusters: Disassociation
    frame: pl.DataFrame = field(repr=False)
    delimiter: str
    _check: Callable[[Disassociation], Verdict] = field(repr=False)

    def reconstruct(self, seed: int = 0, item_support: ItemSupport | str = ItemSupport.ONE) -> CodeSets:
        """Return code sets that could have led to this release; see `cloister.codesets.disassociation.reconstruct`."""
        return reconstruct(self.clusters, seed, item_support)

    def delimiter_written(self) -> str | None:
        """Return what separates the cells of the data file."""
        return self.delimiter

    def recheck(self) -> Verdict:
        """Return the verdict on the clusters."""
        return self._check(self.clusters)

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write clusters and reconstruction."""
        write_clusters(self.clusters, folder / CLUSTERS)
        write_csv(self.frame, folder / DATA[0], self.delimiter)
        return CLUSTERS, DATA[0]

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on both files."""
        written = read_clusters(folder / CLUSTERS)
        if not same_release(written, self.clusters):
            return Verdict(False, "the files were read back", (), (f"{CLUSTERS} does not hold what was verified",))
        frame = read_data(folder / DATA[0], self.delimiter)
        if not frame.equals(self.frame.cast(pl.String)):
            return Verdict(False, "the files were read back", (), (f"{DATA[0]} does not hold what was reconstructed",))
        return self._check(written)
