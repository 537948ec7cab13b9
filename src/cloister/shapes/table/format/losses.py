"""Information losses that follow from labels and class sizes of a released table; recomputed in verification."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from cloister.hierarchy import BoundHierarchy
from cloister.hierarchy.value_lists import count_shown
from cloister.io import Tally, as_text
from cloister.privacy import PositivePayout
from cloister.results import ColumnLoss
from cloister.utility import MEAN_LOSSES, PAYOUT, find_game, payout_lost
from cloister.utility.losses import average_class_size, discernibility

from .facts import class_sizes
from .guarantee import Guarantee
from .manifest import TableManifest

AGREEMENT = 1e-9  # how far the loss measured on the release may be from the loss that the search computed


def differing_losses(
    records: Tally, manifest: TableManifest, guarantee: Guarantee, hierarchies: Mapping[str, BoundHierarchy]
) -> list[str]:
    """Return the losses of a manifest that contradict the records, each other or the original.

    Parameters
    ----------
    records : as text; rows of suppressed ones set aside
    hierarchies : bound to the values of the records that were released; of the columns where they are known
    """
    wrong, columns = [], []
    for name, found in manifest.utility.columns.items():
        level, levels = guarantee.levels[name], guarantee.recoded.get(name, (guarantee.levels[name],))
        if name in hierarchies:
            shown = count_shown(hierarchies[name], as_text(records.frame[name]).unique().to_list())
            one = measure_column_loss(records, shown, levels, guarantee.suppressed or 0)
            wrong += [] if abs(one.loss - found.loss) <= AGREEMENT else [f"utility.columns.{name}.loss"]
            wrong += [] if one.top == found.top else [f"utility.columns.{name}.top"]
        else:
            one = ColumnLoss(name, levels, found.top, found.loss, level / max(1, found.top), found.labels)
        columns.append(one)
    if guarantee.suppressed is None:
        return wrong
    sizes = class_sizes(records, list(guarantee.levels))
    game = find_game(manifest.settings.loss, manifest.guarantee.rules)
    losses = aggregate_losses(columns, sizes, guarantee.suppressed, manifest.settings.weights, game)
    if guarantee.recoded and len(hierarchies) < len(columns):  # levels that differ between classes: looked up by labels
        del losses["precision"]
    stated_losses = manifest.utility.losses
    return wrong + [
        f"utility.losses.{name}"
        for name, loss in losses.items()
        if name in stated_losses and abs(stated_losses[name] - loss) > AGREEMENT
    ]


def measure_column_loss(
    labels: Tally, hierarchy: BoundHierarchy, levels: tuple[int, ...], suppressed: int
) -> ColumnLoss:
    """Return the loss of a quasi-identifier; suppressed records count as complete loss."""
    one = labels.replace_rows(labels.frame[hierarchy.column].alias("label").to_frame())
    counts = one.count(["label"]).with_columns(pl.col("label").cast(pl.String))
    top, domain = hierarchy.n_levels - 1, max(1, hierarchy.n_leaves - 1)
    # A label without a set is in a release that was changed only, which is found out by itself.
    at = counts.join(find_largest_sets(hierarchy, levels), on="label", how="left", nulls_equal=True)
    records, risen = int(counts["records"].sum()), int((at["records"] * at["level"]).sum())
    # Whole numbers of Python: sums of large domains do not fit into 64 bits.
    lost = sum(n * (leaves - 1) for n, leaves in at.select("records", "leaves").drop_nulls().iter_rows())
    loss = float(Fraction(lost + suppressed * domain, (records + suppressed) * domain))
    return ColumnLoss(hierarchy.column, levels, top, loss, risen / (records * max(1, top)), counts.height)


def aggregate_losses(
    columns: Sequence[ColumnLoss],
    sizes: pl.Series,
    suppressed: int,
    weights: Mapping[str, float],
    game: PositivePayout | None = None,
) -> dict[str, float]:
    """Return the losses that follow from losses of columns, class sizes and the number of suppressed records.

    ``game``: the rule whose payout is maximized, if that is the loss
    """
    factors = [float(weights.get(column.column, 1.0)) for column in columns]
    by_leaf = [column.loss for column in columns]
    released = int(sizes.sum())
    share = suppressed / (released + suppressed)
    by_level = [(1 - share) * column.by_level + share for column in columns]
    losses = {
        name: loss.aggregate(by_level if loss.by_level else by_leaf, factors) for name, loss in MEAN_LOSSES.items()
    }
    classes = sizes.to_numpy()
    lost = np.array([suppressed] if suppressed else [], dtype=np.int64)
    losses["discernibility"] = discernibility(classes, lost, released + suppressed)
    losses["average_class_size"] = average_class_size(classes, lost, released + suppressed)
    if game is not None:
        by_levels = sum(column.by_level for column in columns) / len(columns)
        losses[PAYOUT] = payout_lost(game, classes, released + suppressed, by_levels)
    return losses


def find_largest_sets(hierarchy: BoundHierarchy, levels: Sequence[int]) -> pl.DataFrame:
    """Return for each label at these levels the leaves of its largest set, and the lowest level of that set."""
    ordered = hierarchy.sets(levels).sort("leaves", "level", descending=[True, False])
    return ordered.unique("label", keep="first", maintain_order=True)
