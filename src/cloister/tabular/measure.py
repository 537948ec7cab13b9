"""Risk and utility of a released table, counted on the release itself."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import polars as pl

from cloister.errors import InternalError
from cloister.hierarchy import Ladder
from cloister.io import as_text, distinct_values
from cloister.results import ColumnLoss, Levels, Risk, SearchResult, Utility
from cloister.utility import LOSSES

from .data import EncodedTable, ProtectedTable, TableRequest, is_withheld

BANDS = (2, 5, 10, 20, 50, 100, 500, 1000)
"""Lower ends of the class sizes that the histogram puts together."""

AGREEMENT = 1e-9
"""How far the loss measured on the release may be from the loss that the search computed."""


def class_sizes(released: pl.DataFrame, columns: list[str]) -> pl.Series:
    """Records of each combination of values in these columns."""
    texts = pl.DataFrame([released[column].alias(f"c{j}") for j, column in enumerate(columns)])
    return texts.group_by(texts.columns).agg(pl.len().alias("records"))["records"]


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
    return _aggregated(columns, request)


def public_utility(table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> Utility:
    """Information lost, as far as a recipient may know it.

    Exact figures can give suppressed records away: their number, or that the domain of a hierarchy reaches to values
    that only they have. Where they would, the figures are worked out from the released records alone (hierarchies
    bound anew to their values), with k - 1 suppressed records where a number below k is kept back.

    Raises
    ------
    InternalError
        The release does not lose what the search said it would.
    """
    search = protected.search
    released = protected.frame.filter(protected.originals.is_not_null())
    exact = measure_utility(released, table.ladders, search.levels, search.suppressed, request)
    confirm_loss(exact, search)
    withheld = is_withheld(search.suppressed, request.k)
    suppressed = request.k - 1 if withheld else search.suppressed
    originals = table.frame[protected.originals.drop_nulls()]
    columns = tuple(_told_loss(as_text(originals[loss.column]), loss, request, suppressed) for loss in exact.columns)
    if not withheld and columns == exact.columns:
        return exact
    return replace(_aggregated(columns, request), exact=False)


def _told_loss(text: pl.Series, exact: ColumnLoss, request: TableRequest, suppressed: int) -> ColumnLoss:
    """Loss of a column if the released values were all there are."""
    hierarchy = request.quasi_identifiers[exact.column].hierarchy
    ladder = hierarchy.bind(exact.column, distinct_values(text))
    leaves = dict(zip(ladder.values, ladder.leaves[exact.level].tolist(), strict=True))
    return replace(exact, loss=_loss(text, leaves, ladder.n_leaves, suppressed))


def _aggregated(columns: tuple[ColumnLoss, ...], request: TableRequest) -> Utility:
    weights = [float(request.weights.get(column.column, 1.0)) for column in columns]
    losses = {name: loss.aggregate([c.loss for c in columns], weights) for name, loss in LOSSES.items()}
    return Utility(loss=losses[request.loss.name], losses=losses, columns=columns)


def _column_loss(labels: pl.Series, ladder: Ladder, level: int, suppressed: int) -> ColumnLoss:
    leaves = dict(zip(ladder.labels[level], ladder.leaves[level].tolist(), strict=True))
    loss = _loss(labels, leaves, ladder.n_leaves, suppressed)
    return ColumnLoss(ladder.column, level, ladder.n_levels - 1, loss, labels.n_unique())


def _loss(texts: pl.Series, leaves: Mapping[str | None, int], n_leaves: int, suppressed: int) -> float:
    """Mean loss of these texts, of which each covers some leaves, and of suppressed records."""
    counts = texts.alias("text").to_frame().group_by("text").len()
    lost = sum(records * (leaves[text] - 1) for text, records in counts.iter_rows())
    domain = max(1, n_leaves - 1)
    records = len(texts) + suppressed
    return float(Fraction(lost + suppressed * domain, records * domain))


def confirm_loss(utility: Utility, search: SearchResult) -> None:
    """Refuse to go on if the release does not lose what the search said it would.

    Raises
    ------
    InternalError
        The two differ.
    """
    if abs(utility.loss - search.loss) > AGREEMENT:
        raise InternalError(f"The release loses {utility.loss:.12f}, but the search computed {search.loss:.12f}.")
