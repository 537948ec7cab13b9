"""Utility of a released table, measured on the release itself."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InternalError
from cloister.hierarchy import BoundHierarchy
from cloister.hierarchy.value_lists import count_shown
from cloister.io import Tally, as_text, distinct_values
from cloister.release.masking import must_mask
from cloister.results import ColumnLoss, Utility
from cloister.shapes.table.format.facts import class_sizes
from cloister.shapes.table.format.guarantee import join_released
from cloister.shapes.table.format.losses import AGREEMENT, aggregate_losses, find_largest_sets, measure_column_loss
from cloister.shapes.table.format.options import MDAV, MODE
from cloister.utility import AttributeLoss, Generalized, Logarithms, level_loss

from .data import EncodedTable, ProtectedTable, TableRequest

LEAST_LOST = 0.01  # the least share of variance that is stated as lost

NUMBER = r"^[+-]?(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,3})?$"
"""What counts as a number; the limits keep exact arithmetic short."""


def measure_utility(
    labels: Tally,
    hierarchies: Mapping[str, BoundHierarchy],
    levels: Mapping[str, tuple[int, ...]],
    suppressed: int,
    request: TableRequest,
    table_loss: float | None = None,
) -> Utility:
    """Return the information loss of each quasi-identifier and in total; suppressed records count as complete loss.

    A label that covers different sets at the levels that occur counts as the largest set: a reader cannot tell which.

    Parameters
    ----------
    labels : of released records, before anything was averaged
    table_loss : the loss that was minimized, where it is not a mean of the columns' losses nor follows from class sizes
    """
    columns = tuple(
        measure_column_loss(labels, hierarchy, levels[column], suppressed) for column, hierarchy in hierarchies.items()
    )
    sizes = class_sizes(labels, list(hierarchies))
    losses = aggregate_losses(columns, sizes, suppressed, request.weights, request.game)
    if table_loss is not None:
        losses.setdefault(request.loss.name, table_loss)
    return Utility(loss=losses[request.loss.name], losses=losses, columns=columns)


def exact_utility(table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> Utility:
    """Return the exact information loss, with suppressed records, for the custodian; confirm the method's loss.

    Of MDAV, which releases no labels, the loss of a column is the mean error of its averages (`averaging_error`).
    """
    if request.method == MDAV:
        columns = [_averaged_column(name, table, protected, request) for name in table.hierarchies]
        sizes = class_sizes(protected.released(), list(table.hierarchies))
        losses = aggregate_losses(columns, sizes, protected.suppressed, request.weights)
        return Utility(losses[request.loss.name], losses, tuple(columns))
    table_loss = None if isinstance(request.loss, AttributeLoss) else _loss_of_table(table, protected, request)
    labels, levels, suppressed = protected.labels, protected.levels, protected.suppressed
    exact = measure_utility(labels, table.hierarchies, levels, suppressed, request, table_loss)
    assert protected.loss is not None
    confirm_loss(exact, protected.loss)
    return exact


def with_joined(
    hierarchies: Mapping[str, BoundHierarchy], original: Tally, protected: ProtectedTable, request: TableRequest
) -> Mapping[str, BoundHierarchy]:
    """Return hierarchies bound to the values of a table with the released labels that join intervals or list values."""
    asked = {name: request.quasi_identifiers[name] for name in request.columns_to_join}
    own = {name: one.hierarchy for name, one in asked.items()}
    lowest = {name: one.lowest for name, one in asked.items()}
    return join_released(hierarchies, own, protected.labels.frame, lowest, original, request.k)


def _averaged_column(name: str, table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> ColumnLoss:
    recorded = as_text(table.frame[name].gather(protected.originals.drop_nulls()))
    shown = as_text(protected.released().frame[name])
    lost = averaging_error(recorded, shown, request.microaggregate[name])
    return ColumnLoss(name, protected.levels[name], table.hierarchies[name].n_levels - 1, lost, 1.0, shown.n_unique())


def public_utility(exact: Utility, table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> Utility:
    """Return the information loss, as far as a recipient may know it.

    Exact figures can give suppressed records away: their number, that the domain of a hierarchy reaches to values that
    only they have, or how they are spread over classes. So figures always follow from the released records alone
    (hierarchies bound to their values, or to what labels show), with k - 1 suppressed records where a number
    below k is masked. Choosing by whether that changes anything would itself say so. Losses that look within classes
    would reveal how the values of a class are spread: entropy is always computed as if they were spread evenly over
    what their label covers, and divergence as if they were all the same, the most that it can be.
    """
    labels, k = protected.labels, request.k
    is_masked = must_mask(protected.suppressed, k)
    suppressed = k - 1 if is_masked else protected.suppressed
    originals, released = table.tally.gather(protected.originals.drop_nulls()), protected.released()
    bound = {name: request.bind(name, distinct_values(originals.frame[name])) for name in table.hierarchies}
    hierarchies = {
        name: count_shown(one, as_text(labels.frame[name]).unique().to_list())
        for name, one in with_joined(bound, originals, protected, request).items()
    }
    is_averaged = request.method == MDAV  # whose losses look within classes
    columns = [
        replace(one, loss=_published_share(Fraction(str(one.loss))))
        if is_averaged
        else measure_column_loss(labels, hierarchies[one.column], one.levels, suppressed)
        for one in exact.columns
    ]
    sizes = class_sizes(released, list(hierarchies))
    losses = aggregate_losses(columns, sizes, suppressed, request.weights, request.game)
    for name in exact.losses.keys() - losses.keys():  # of the whole table
        is_estimated = bool(protected.suppressed) or request.loss.looks_within_classes
        losses[name] = exact.losses[name]
        if is_estimated:
            n, alone = labels.n_records, _loss_of_released(originals, hierarchies, protected, request)
            losses[name] = (n * alone + suppressed) / (n + suppressed)
        is_masked |= is_estimated
    for place, one in enumerate(columns):
        if one.column in request.microaggregate:
            text, recorded = as_text(released.frame[one.column]), as_text(originals.frame[one.column])
            is_mode = request.microaggregate[one.column] == MODE
            variance = None if is_mode else variance_lost(recorded, text)
            changed = values_changed(recorded, text, k) if is_mode else None
            columns[place] = replace(one, labels=text.n_unique(), variance_lost=variance, values_changed=changed)
    is_exact = not is_masked and not is_averaged
    return Utility(loss=losses[request.loss.name], losses=losses, columns=tuple(columns), exact=is_exact)


def confirm_loss(utility: Utility, loss: float) -> None:
    """Raise an error if the measured loss differs from the loss that the method reported."""
    if abs(utility.loss - loss) > AGREEMENT:
        raise InternalError(f"The release loses {utility.loss:.12f}, but the method computed {loss:.12f}.")


def _loss_of_table(table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> float:
    """The loss that is minimized, measured on the records and their labels one by one."""
    is_kept = np.zeros(table.frame.height, dtype=np.bool_)
    is_kept[protected.originals.drop_nulls().to_numpy()] = True
    records = table.tally.weights
    if request.has_one_transformation:
        labels = [
            _label_groups(as_text(table.frame[column]), hierarchy, protected.levels[column][0], records)
            for column, hierarchy in table.hierarchies.items()
        ]
    else:
        labels = _labelled_variously(table.tally, table.hierarchies, protected)
    recorded = pl.DataFrame(
        [
            _label_groups(as_text(table.frame[column]), hierarchy, 0, records)["label"].alias(column)
            for column, hierarchy in table.hierarchies.items()
        ]
    )
    return _table_loss(labels, table.hierarchies, is_kept, records, request, protected, recorded)


def _loss_of_released(
    originals: Tally, hierarchies: Mapping[str, BoundHierarchy], protected: ProtectedTable, request: TableRequest
) -> float:
    """The same if the released records were all there are, their values spread evenly under each label.

    The divergence would be 0 then. It is computed as if all records of a class had the same value, the most it can be.
    """
    n_rows = originals.frame.height
    alone = replace(protected, originals=pl.Series(range(n_rows), dtype=pl.Int64))
    spread = pl.col("label_records") / pl.col("leaves")
    labels = [one.with_columns(value_records=spread) for one in _labelled_variously(originals, hierarchies, alone)]
    is_kept = np.ones(n_rows, dtype=np.bool_)
    return _table_loss(labels, hierarchies, is_kept, originals.weights, request, protected)


def _table_loss(
    labels: Sequence[pl.DataFrame],
    hierarchies: Mapping[str, BoundHierarchy],
    is_kept: NDArray[np.bool_],
    records: pl.Series,
    request: TableRequest,
    protected: ProtectedTable,
    recorded: pl.DataFrame | None = None,
) -> float:
    """``recorded``: the values as recorded; None where they are as their labels."""
    assert not isinstance(request.loss, AttributeLoss)
    columns = pl.DataFrame([one["label"].alias(f"c{j}") for j, one in enumerate(labels)])
    columns = columns.with_columns(pl.Series("is_kept", is_kept))
    classes = columns.with_columns(records.alias("records")).group_by(columns.columns).agg(pl.col("records").sum())

    def logarithms(name: str) -> Logarithms:
        return np.stack([np.log(column[name].to_numpy()) for column in labels])

    def log_alike(values: pl.DataFrame) -> Logarithms:
        alike = values.with_columns(records.alias("records"))
        shared = alike.select(pl.col("records").sum().over(values.columns)).to_series()
        return shared.cast(pl.Float64).log().to_numpy().astype(np.float64)

    generalized = Generalized(
        sizes=classes["records"].cast(pl.Int64).to_numpy(),
        is_kept=classes["is_kept"].to_numpy(),
        records=records.to_numpy(),
        is_kept_row=is_kept,
        domains=np.array([hierarchy.n_leaves for hierarchy in hierarchies.values()], dtype=np.int64),
        weights=np.array([float(request.weights.get(column, 1.0)) for column in hierarchies]),
        level_loss=level_loss(
            [protected.levels[column][-1] for column in hierarchies],
            [hierarchy.n_levels - 1 for hierarchy in hierarchies.values()],
        ),
        log_leaves=lambda: logarithms("leaves"),
        log_label_records=lambda: logarithms("label_records"),
        log_value_records=lambda: logarithms("value_records"),
        log_class_records=lambda: log_alike(columns),
        sum_of_row_records=lambda: float(log_alike(columns if recorded is None else recorded) @ records.to_numpy()),
        sum_of_leaves=lambda: float((logarithms("leaves") @ records.to_numpy()).sum()),
    )
    return request.loss.measure(generalized).loss


def _labelled_variously(
    table: Tally, hierarchies: Mapping[str, BoundHierarchy], protected: ProtectedTable
) -> list[pl.DataFrame]:
    """Label of each record as released, its leaves, records with label and value; suppressed ones as at the root."""
    columns, originals = [], protected.originals.drop_nulls()
    for column, hierarchy in hierarchies.items():
        text, levels = as_text(table.frame[column]), protected.levels[column]
        by_level = [_label_groups(text, hierarchy, level, table.weights) for level in levels]
        shared = pl.concat(
            labelled.group_by("label").agg(pl.col("label_records").first()).with_columns(level=pl.lit(level))
            for labelled, level in zip(by_level, levels, strict=True)
        )
        released = pl.DataFrame({"record": originals, "label": as_text(protected.labels.frame[column])})
        released = released.join(find_largest_sets(hierarchy, levels), on="label", how="left", nulls_equal=True)
        released = released.join(shared, on=["label", "level"], how="left", nulls_equal=True)
        every = pl.DataFrame({"record": range(table.frame.height)}, schema={"record": pl.Int64})
        every = every.with_columns(by_level[0]["value_records"])
        every = every.join(released, on="record", how="left", maintain_order="left")
        of_root = pl.col("leaves").fill_null(hierarchy.n_leaves), pl.col("label_records").fill_null(table.n_records)
        columns.append(every.with_columns(of_root))
    return columns


def _label_groups(text: pl.Series, hierarchy: BoundHierarchy, level: int, records: pl.Series) -> pl.DataFrame:
    """Label of each value at a level, the leaves it covers, and how many records share label and finest label.

    The finest label is that of level 0: the value itself, or the open group of a bound, which is never distinguished.

    ``records``: how many records have each value.
    """
    by_level = pl.DataFrame(
        {
            "value": hierarchy.values,
            "label": hierarchy.labels[level],
            "leaves": hierarchy.leaves[level],
            "finest": hierarchy.labels[0],
        },
        schema={"value": pl.String, "label": pl.String, "leaves": pl.Int64, "finest": pl.String},
    )
    values = pl.DataFrame([text.alias("value"), records.alias("n")])
    joined = values.join(by_level, on="value", how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(
        pl.col("n").sum().over("label").alias("label_records"), pl.col("n").sum().over("finest").alias("value_records")
    )


def mean_of(numbers: Sequence[Fraction]) -> Fraction:
    """Return the exact mean."""
    return sum(numbers, Fraction(0)) / len(numbers)


def count_non_numbers(text: pl.Series) -> int:
    """Return how many values are neither numbers nor missing."""
    return int((~text.str.contains(NUMBER)).sum())


def numbers_of(text: pl.Series) -> list[Fraction | None]:
    """Return exact numbers; missing values become None."""
    known = {value: Fraction(value) for value in text.drop_nulls().unique().to_list()}
    return [None if value is None else known[value] for value in text.to_list()]


def variance_lost(text: pl.Series, shown: pl.Series) -> float:
    """Return the share of variance lost by replacing the numbers of released records with means or medians.

    Records shown without a value count as if they were shown the mean of all. Published shares are rounded up to
    hundredths, and never below one: 0 would reveal that every patient has exactly the value shown.
    """
    pairs = [(a, b) for a, b in zip(numbers_of(text), numbers_of(shown), strict=True) if a is not None]
    if not pairs:
        return LEAST_LOST
    mean = mean_of([value for value, _ in pairs])
    whole = sum(((value - mean) ** 2 for value, _ in pairs), Fraction(0))
    lost = sum(((value - (mean if seen is None else seen)) ** 2 for value, seen in pairs), Fraction(0))
    return _published_share(lost / whole) if whole else LEAST_LOST


def values_changed(text: pl.Series, shown: pl.Series, k: int) -> float:
    """Return the share of released records whose value is not the mode shown, rounded up; of fewer than k, as if k."""
    changed = max(int(text.ne_missing(shown).sum()), min(k, len(text)))
    return _published_share(Fraction(changed, max(1, len(text))))


def averaging_error(text: pl.Series, shown: pl.Series, aggregate: str) -> float:
    """Return how far averages are from the values of their records: 0 as recorded, 1 everything lost.

    Of numbers the mean of the difference divided by the range, 1 for a record shown without its value; of modes the
    share of records with another value. A column that shows one value for all, and had several, loses everything.
    """
    if shown.n_unique() == 1 < text.n_unique():
        return 1.0
    if aggregate == MODE:
        return int(text.ne_missing(shown).sum()) / len(text)
    pairs = list(zip(numbers_of(text), numbers_of(shown), strict=True))
    known = [a for a, _ in pairs if a is not None]
    span = max(known) - min(known) if known else Fraction(0)
    errors = (
        Fraction(1) if b is None else abs(a - b) / span if span else Fraction(0) for a, b in pairs if a is not None
    )
    return float(min(Fraction(1), sum(errors, Fraction(0)) / max(1, len(pairs))))


def _published_share(share: Fraction) -> float:
    """Return a share rounded up to hundredths, and never below one."""
    return max(LEAST_LOST, float(min(Fraction(1), Fraction(-(-100 * share // 1), 100))))
