"""What the released records of a table say: for the manifest, and to verify it; and losses that must fit them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from cloister.hierarchy import BoundHierarchy
from cloister.io import as_text, counted, n_records, records_of, table_columns, with_records_of

from .manifest import PublishedSettings, TableManifest, TableRisk
from .verification.promise import Promise

RISK_THRESHOLD = 0.2
"""Risk above which a record counts as at high risk."""

AGREEMENT = 1e-9
"""How far a figure may be from the one recomputed, and a risk above the threshold, by rounding alone."""

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


def differing_losses(
    records: pl.DataFrame,
    sizes: pl.Series,
    manifest: TableManifest,
    promise: Promise,
    ladders: Mapping[str, BoundHierarchy],
) -> list[str]:
    """Return the losses of a manifest that do not follow from the records, from each other or from the original.

    Parameters
    ----------
    records : as text, or their tally; rows of suppressed ones set aside
    sizes : of their classes
    ladders : bound to the values of the records that were released; of the columns where they are known
    """
    wrong, columns = [], dict(manifest.utility.columns)
    for name, ladder in ladders.items():
        levels = promise.recoded.get(name, (promise.levels[name],))
        loss = _column_loss(records, name, ladder, levels, promise.suppressed or 0)
        own = columns[name].model_copy(update={"loss": loss, "top": ladder.n_levels - 1})
        wrong += [] if abs(loss - columns[name].loss) <= AGREEMENT else [f"utility.columns.{name}.loss"]
        wrong += [] if own.top == columns[name].top else [f"utility.columns.{name}.top"]
        columns[name] = own
    if promise.suppressed is None:
        return wrong
    weights = [manifest.settings.weights.get(name, 1.0) for name in columns]
    tops, losses = {name: one.top for name, one in columns.items()}, [one.loss for one in columns.values()]
    expected = _from_classes(sizes, promise.suppressed) | _from_columns(losses, weights)
    if not promise.recoded:  # where levels differ between classes, labels alone do not tell at which they are
        expected["precision"] = _precision(tops, weights, promise, int(sizes.sum()))
    told = manifest.utility.losses
    return wrong + [f"utility.losses.{name}" for name, loss in expected.items() if abs(told[name] - loss) > AGREEMENT]


def _from_classes(sizes: pl.Series, suppressed: int) -> dict[str, float]:
    records = int(sizes.sum()) + suppressed
    return {
        "discernibility": (sum(size * size for size in sizes) + suppressed * records) / records**2,
        "average_class_size": 1 / (len(sizes) + (suppressed > 0)),
    }


def _from_columns(losses: Sequence[float], weights: Sequence[float]) -> dict[str, float]:
    growth = _mean([math.log(1 + loss) for loss in losses], weights)
    return {"iyengar": _mean(losses, weights), "arx": math.exp(growth) - 1}


def _precision(tops: Mapping[str, int], weights: Sequence[float], promise: Promise, released: int) -> float:
    suppressed = promise.suppressed or 0
    risen = [released * promise.levels[name] / max(1, top) for name, top in tops.items()]
    return _mean([(one + suppressed) / (released + suppressed) for one in risen], weights)


def _column_loss(
    records: pl.DataFrame, column: str, ladder: BoundHierarchy, levels: Sequence[int], suppressed: int
) -> float:
    """Mean over all records of (leaves covered - 1) / (leaves of the domain - 1); 1 where suppressed.

    A label that stands for several sets counts as the largest.
    """
    schema = {"label": pl.String, "leaves": pl.Int64}
    rungs = [pl.DataFrame({"label": ladder.labels[at], "leaves": ladder.leaves[at]}, schema=schema) for at in levels]
    covered = pl.concat(rungs).group_by("label").agg(pl.col("leaves").max())
    labels = pl.DataFrame([records[column].alias("label"), records_of(records).alias("records")])
    joined = labels.join(covered, on="label", how="left", nulls_equal=True)
    lost = int(((joined["leaves"] - 1) * joined["records"]).sum()) / max(1, ladder.n_leaves - 1)
    return (lost + suppressed) / (n_records(records) + suppressed)


def _mean(losses: Sequence[float], weights: Sequence[float]) -> float:
    whole = math.fsum(weights)
    return math.fsum(weight / whole * loss for loss, weight in zip(losses, weights, strict=True))
