"""Losses that a release of a table must state, worked out again from the released records by other means."""

import math
from collections.abc import Mapping, Sequence

import polars as pl

from cloister.hierarchy import Ladder
from cloister.io import n_records, records_of

from .manifest import TableManifest
from .verification.promise import Promise

AGREEMENT = 1e-9
"""How far a figure may be from the one recomputed."""


def differing_losses(
    records: pl.DataFrame, sizes: pl.Series, manifest: TableManifest, promise: Promise, ladders: Mapping[str, Ladder]
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


def _column_loss(records: pl.DataFrame, column: str, ladder: Ladder, levels: Sequence[int], suppressed: int) -> float:
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
