"""A release of a table with codes: the table, with one reconstruction of the codes, and their clusters."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from cloister.codesets.data import CodeSets
from cloister.codesets.disassociation.clusters_file import read_clusters, same_release, write_clusters
from cloister.codesets.disassociation.data import Disassociation
from cloister.codesets.disassociation.release import ItemSupport, reconstruct
from cloister.release_folder import CLUSTERS
from cloister.results import Verdict
from cloister.tabular.release import TableRelease


@dataclass(frozen=True)
class TableWithCodesRelease(TableRelease):
    """A table with codes that passed verification; each cluster has the class of the table that it is in."""

    clusters: Disassociation
    _check_both: Callable[[pl.DataFrame, Disassociation], Verdict] = field(repr=False)

    def reconstruct(self, seed: int = 0, item_support: ItemSupport | str = ItemSupport.ONE) -> CodeSets:
        """Return code sets that could have led to this release; see `cloister.codesets.disassociation.release`."""
        return reconstruct(self.clusters, seed, item_support)

    def recheck(self) -> Verdict:
        """Return the verdict on table and codes."""
        return self._check_both(self.frame, self.clusters)

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the table and the clusters."""
        names = super().write_data(folder)
        write_clusters(self.clusters, folder / CLUSTERS)
        return *names, CLUSTERS

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on both files."""
        written = read_clusters(folder / CLUSTERS)
        if not same_release(written, self.clusters):
            return Verdict(False, "the files were read back", (), (f"{CLUSTERS} does not hold what was verified",))
        return self._check_both(self.read_written(folder), written)
