"""What the released records of a table say: for the manifest, and to verify it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from cloister.io import as_text, counted, n_records, table_columns, with_records_of

from .manifest import PublishedSettings, TableManifest, TableRisk

RISK_THRESHOLD = 0.2
"""Risk above which a record counts as at high risk."""

AGREEMENT = 1e-9
"""How far a risk may lie above the threshold by rounding alone."""

BANDS = (1, 2, 5, 10, 20, 50, 100, 500, 1000)
"""Lower ends of the class sizes that are counted together."""


@dataclass(frozen=True)
class TableFacts:
    """The parts of a manifest that follow from the released records and the settings.

    Attributes
    ----------
    labels : distinct labels of each quasi-identifier
    """

    released: int
    risk: TableRisk
    labels: Mapping[str, int]

    def differing(self, manifest: TableManifest) -> list[str]:
        """Return the figures of a manifest that say something else."""
        told = {name: column.labels for name, column in manifest.utility.columns.items()}
        risk, own = manifest.risk.model_dump(), self.risk.model_dump()
        parts = [f"risk.{name}" for name, figure in own.items() if risk[name] != figure]
        parts += [f"utility.columns.{name}.labels" for name, n in self.labels.items() if told[name] != n]
        return parts if manifest.records.released == self.released else [*parts, "records.released"]


def facts_of(records: pl.DataFrame, settings: PublishedSettings) -> TableFacts:
    """Return what released records say, or their tally; rows of suppressed ones set aside."""
    quasi = [name for name in table_columns(records) if name in settings.hierarchies]
    sizes = class_sizes(records, quasi).sort()
    n, smallest, largest = int(sizes.sum()), int(sizes[0]), int(sizes[-1])
    bands = {"1": sizes == 1}
    bands |= {f"{low}-{high - 1}": sizes.is_between(low, high - 1) for low, high in pairwise(BANDS[1:])}
    bands[f"{BANDS[-1]} and more"] = sizes >= BANDS[-1]
    return TableFacts(
        released=n_records(records),
        risk=TableRisk(
            highest=1 / smallest,
            average=len(sizes) / n,
            share_above_threshold=int(sizes.filter(sizes * RISK_THRESHOLD < 1 - AGREEMENT).sum()) / n,
            threshold=RISK_THRESHOLD,
            classes=len(sizes),
            smallest_class=smallest,
            largest_class=largest,
            records_by_class_size={band: int(sizes.filter(inside).sum()) for band, inside in bands.items()},
        ),
        labels={name: as_text(records.get_column(name)).n_unique() for name in quasi},
    )


def class_sizes(released: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Return the records of each combination of values in these columns."""
    texts = pl.DataFrame([as_text(released[column]).alias(f"c{j}") for j, column in enumerate(columns)])
    every = with_records_of(texts, released)
    return every.group_by(texts.columns).agg(counted(every).alias("records"))["records"]
