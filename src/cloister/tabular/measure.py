"""Risk and utility of a released table, counted on the release itself."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

import polars as pl

from cloister.errors import InternalError
from cloister.hierarchy import Ladder
from cloister.io import as_text, distinct_values
from cloister.results import ColumnLoss, Levels, Risk, SearchResult, Utility
from cloister.utility import LOSSES

from .data import TableRequest

BANDS = (2, 5, 10, 20, 50, 100, 500, 1000)
"""Lower ends of the class sizes that the histogram puts together."""

AGREEMENT = 1e-9
"""How far the loss measured on the release may be from the loss that the search computed."""


def class_sizes(released: pl.DataFrame, columns: list[str]) -> pl.Series:
    """Records of each combination of values in these columns."""
    return released.group_by(columns).len()["len"]


def measure_risk(sizes: pl.Series, threshold: float) -> Risk:
    """Prosecutor risk of records that stand in classes of these sizes.

    Parameters
    ----------
    sizes : records of each class, at least 1
    threshold : risk taken as acceptable, in (0, 1]
    """
    records = int(sizes.sum())
    ordered = sizes.sort()
    above = sizes.filter(sizes * threshold < 1.0 - AGREEMENT)
    return Risk(
        highest=1.0 / int(ordered[0]),
        average=len(sizes) / records,
        share_above_threshold=int(above.sum()) / records,
        threshold=threshold,
        classes=len(sizes),
        smallest=int(ordered[0]),
        largest=int(ordered[-1]),
        histogram=_histogram(sizes),
    )


def _histogram(sizes: pl.Series) -> tuple[tuple[str, int], ...]:
    """Records by the size of their class."""
    bands = [(f"{low}-{high - 1}", sizes.is_between(low, high - 1)) for low, high in pairwise(BANDS)]
    bands.append((f"{BANDS[-1]} and more", sizes >= BANDS[-1]))
    return tuple((label, int(sizes.filter(inside).sum())) for label, inside in bands)


def measure_utility(
    released: pl.DataFrame,
    ladders: Mapping[str, Ladder],
    levels: Levels,
    suppressed: int,
    request: TableRequest,
) -> Utility:
    """Information lost by each quasi-identifier and altogether, a suppressed record counted as lost entirely.

    Parameters
    ----------
    released : released records, without suppressed ones
    """
    columns = tuple(
        _column_loss(released[column], ladder, levels[column], suppressed) for column, ladder in ladders.items()
    )
    weights = [float(request.weights.get(column.column, 1.0)) for column in columns]
    losses = {name: loss.aggregate([c.loss for c in columns], weights) for name, loss in LOSSES.items()}
    return Utility(loss=losses[request.loss.name], losses=losses, columns=columns)


def guarded_utility(released: pl.DataFrame, original: pl.DataFrame, levels: Levels, request: TableRequest) -> Utility:
    """Information lost as far as the released records tell, with k - 1 suppressed: the most that ``<k`` stands for.

    It says nothing of the records that were suppressed: hierarchies whose domain is the values present are bound
    anew, without theirs.

    Parameters
    ----------
    released, original : the released records, generalized and as recorded
    """
    ladders = {
        column: request.quasi_identifiers[column].hierarchy.bind(column, distinct_values(as_text(original[column])))
        for column in original.columns
        if column in levels
    }
    return measure_utility(released, ladders, levels, request.k - 1, request)


def _column_loss(labels: pl.Series, ladder: Ladder, level: int, suppressed: int) -> ColumnLoss:
    leaves = dict(zip(ladder.labels[level], ladder.leaves[level].tolist(), strict=True))
    counts = labels.to_frame("label").group_by("label").len()
    lost = sum(records * (leaves[label] - 1) for label, records in counts.iter_rows())
    domain = max(1, ladder.n_leaves - 1)
    records = len(labels) + suppressed
    loss = float(Fraction(lost + suppressed * domain, records * domain))
    return ColumnLoss(ladder.column, level, ladder.n_levels - 1, loss, counts.height)


def confirm_loss(utility: Utility, search: SearchResult) -> None:
    """Refuse to go on if the release does not lose what the search said it would.

    Raises
    ------
    InternalError
        The two differ.
    """
    if abs(utility.loss - search.loss) > AGREEMENT:
        raise InternalError(f"The release loses {utility.loss:.12f}, but the search computed {search.loss:.12f}.")
