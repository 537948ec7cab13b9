"""Figures of risk and loss that a release folder of a table must have, recomputed from the released records."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from cloister.hierarchy import Ladder
from cloister.io import n_records, records_of
from cloister.results import Manifest

from .manifest_fields import losses_told
from .verification.promise import Promise
from .verify import class_sizes, released_texts

AGREEMENT = 1e-9
"""How far a figure may be from the one recomputed."""

BANDS = (1, 2, 5, 10, 20, 50, 100, 500, 1000)
"""Lower ends of the class sizes that are counted together."""


def figure_failures(
    frame: pl.DataFrame, manifest: Manifest, promise: Promise, ladders: Mapping[str, Ladder] | None
) -> list[str]:
    """Return the figures of the manifest that are not those of the released records, by their names, as a sentence.

    Parameters
    ----------
    ladders : bound to the values of the records that were released; None where they are not known
    """
    sizes = class_sizes(frame, promise, list(promise.levels))
    if not len(sizes):
        return []
    threshold = manifest["risk"]["threshold"]
    if not 0 < threshold <= 1:
        raise ValueError("not a risk")
    wrong = [*_differences(manifest["risk"], _risk(sizes, threshold), "risk")]
    wrong += _differences(manifest["utility"], _utility(frame, manifest, promise, ladders), "utility")
    return [f"what should follow from the released records does not: {', '.join(wrong)}"] if wrong else []


def _differences(found: Any, expected: Any, name: str) -> Iterator[str]:
    """Names of the figures that are missing, too many or not as expected."""
    if isinstance(expected, dict):
        if not isinstance(found, dict) or found.keys() != expected.keys():
            yield name
            return
        for key, value in expected.items():
            yield from _differences(found[key], value, f"{name}.{key}")
    elif isinstance(expected, float):
        # Compared before the difference is taken: a whole number of the manifest may be larger than any float.
        if isinstance(found, bool) or not expected - AGREEMENT <= found <= expected + AGREEMENT:
            yield name
    elif type(found) is not type(expected) or found != expected:
        yield name


def _risk(sizes: pl.Series, threshold: float) -> dict[str, Any]:
    """Risk of the released records by the sizes of their classes, smallest first."""
    records, smallest, largest = int(sizes.sum()), int(sizes[0]), int(sizes[-1])
    bands = {"1" if high == low + 1 else f"{low}-{high - 1}": (low, high) for low, high in pairwise(BANDS)}
    bands[f"{BANDS[-1]} and more"] = (BANDS[-1], largest + 1)
    return {
        "highest": 1 / smallest,
        "average": len(sizes) / records,
        "share_above_threshold": int(sizes.filter(1 / sizes > threshold + AGREEMENT).sum()) / records,
        "threshold": threshold,
        "classes": len(sizes),
        "smallest_class": smallest,
        "largest_class": largest,
        "records_by_class_size": {
            band: int(sizes.filter((sizes >= low) & (sizes < high)).sum()) for band, (low, high) in bands.items()
        },
    }


def _utility(
    frame: pl.DataFrame, manifest: Manifest, promise: Promise, ladders: Mapping[str, Ladder] | None
) -> dict[str, Any]:
    """Losses as they must be stated: those that cannot be recomputed without the original are taken as they are."""
    stated, settings = manifest["utility"], manifest["settings"]
    exact = is_exact(manifest, promise)
    shown = released_texts(frame, promise)
    columns = {}
    for column, level in promise.levels.items():
        top, loss = stated["columns"][column]["top"], _share(stated["columns"][column]["loss"])
        if ladders is not None and exact and column not in promise.averaged:
            ladder, levels = ladders[column], promise.recoded.get(column, (level,))
            top, loss = ladder.n_levels - 1, _column_loss(shown, column, ladder, levels, promise.suppressed or 0)
        if not level <= top:
            raise ValueError("a level above the top")
        columns[column] = {"loss": loss, "top": top, "labels": shown[column].n_unique()}
        if column in promise.averaged:
            columns[column]["variance_lost"] = _share(stated["columns"][column]["variance_lost"])
    # A loss that is not stated fails where what is stated is compared.
    losses = {name: _share(stated["losses"].get(name, 0)) for name in losses_told(manifest)}
    if promise.suppressed is not None:
        weights = [float(settings["weights"].get(column, 1)) for column in columns]
        losses |= _recomputed(columns, weights, promise, class_sizes(frame, promise, list(promise.levels)))
    return {"loss": losses[settings["loss"]], "exact": exact, "losses": losses, "columns": columns}


def _recomputed(
    columns: Mapping[str, Mapping[str, Any]], weights: Sequence[float], promise: Promise, sizes: pl.Series
) -> dict[str, float]:
    """Losses that follow from those of the columns, from levels and from class sizes."""
    released, suppressed = int(sizes.sum()), promise.suppressed or 0
    records = released + suppressed
    by_leaf = [column["loss"] for column in columns.values()]
    by_level = [
        (released * level / max(1, columns[column]["top"]) + suppressed) / records
        for column, level in promise.levels.items()
    ]
    # Where levels differ between classes, labels alone do not tell at which they are.
    precision = {} if promise.recoded else {"precision": _mean(by_level, weights, geometric=False)}
    return precision | {
        "iyengar": _mean(by_leaf, weights, geometric=False),
        "arx": _mean(by_leaf, weights, geometric=True),
        "discernibility": (sum(size * size for size in sizes) + suppressed * records) / records**2,
        "average_class_size": 1 / (len(sizes) + (suppressed > 0)),
    }


def is_exact(manifest: Manifest, promise: Promise) -> bool:
    """Return whether losses are exact; where a number is kept back, they can be no more than estimates."""
    return bool(manifest["utility"]["exact"]) and promise.suppressed is not None


def _share(number: Any) -> float:
    if not 0 <= number <= 1:
        raise ValueError("not a share")
    return float(number)


def _column_loss(shown: pl.DataFrame, column: str, ladder: Ladder, levels: Sequence[int], suppressed: int) -> float:
    """Mean over all records of (leaves covered - 1) / (leaves of the domain - 1); 1 where suppressed.

    A label that stands for several sets counts as the largest.
    """
    schema = {"label": pl.String, "leaves": pl.Int64}
    rungs = [pl.DataFrame({"label": ladder.labels[at], "leaves": ladder.leaves[at]}, schema=schema) for at in levels]
    covered = pl.concat(rungs).group_by("label").agg(pl.col("leaves").max())
    labels = pl.DataFrame([shown[column].alias("label"), records_of(shown).alias("records")])
    joined = labels.join(covered, on="label", how="left", nulls_equal=True)
    domain = max(1, ladder.n_leaves - 1)
    lost = int(((joined["leaves"] - 1) * joined["records"]).sum()) / domain
    return (lost + suppressed) / (n_records(shown) + suppressed)


def _mean(losses: Sequence[float], weights: Sequence[float], *, geometric: bool) -> float:
    """Weighted mean, or geometric mean of 1 + loss, minus 1."""
    pairs, whole = list(zip(losses, weights, strict=True)), math.fsum(weights)
    if geometric:
        return math.exp(math.fsum(weight / whole * math.log(1 + loss) for loss, weight in pairs)) - 1
    return math.fsum(weight / whole * loss for loss, weight in pairs)
