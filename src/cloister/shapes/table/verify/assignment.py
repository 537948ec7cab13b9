"""Check that each released record can come from its own original record, if the release does not reveal which.

A maximum flow leads from the released records to those of the original beneath their labels. Records that are alike
are one node. Where a patient may have several records, a second flow gives the patients of a class patients of their
own. Nothing here searches for what to release: a flow only asks whether the release could come from this original.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.io import Tally
from cloister.results import Checks
from cloister.shapes.table.format.guarantee import Guarantee, OriginalTable

from .classes import COUNT, ReleasedClasses
from .flow import Flow
from .record_by_record import find_labelled_columns, levels_of, recorded_columns

Bits = NDArray[np.uint8]  # one bit for each distinct combination of quasi-identifiers of the original
Integers = NDArray[np.int64]
GROUP, POINT, VALUE, PATIENT, PLACE = "group\0", "point\0", "value\0", "patient\0", "place\0"
BEFORE, SIZE, HISTORY, NEEDED = "before\0", "size\0", "history\0", "needed\0"
"""Columns that number the classes, the combinations of quasi-identifiers, the recorded values and the patients."""


@dataclass(frozen=True)
class Beneath:
    """The original records that the labels of each class cover.

    Attributes
    ----------
    unknown : how many labels occur in no hierarchy at the levels stated; the rest is empty if there are any
    groups : the released records by labels and recorded values: ``group``, ``value``, `COUNT`
    points : the records of the original: ``point``, ``value``, ``patient`` if patients count, `COUNT`
    pairs : ``group`` and ``point`` wherever the labels cover the combination
    released : the released records with the numbers of their class (``place``), group and values
    """

    unknown: int
    groups: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    points: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    pairs: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    released: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)


def find_beneath(classes: ReleasedClasses, guarantee: Guarantee, original: OriginalTable) -> Beneath:
    """Find the records of the original that the labels of each class cover."""
    columns, recorded = find_labelled_columns(guarantee), recorded_columns(guarantee)
    patient = [guarantee.patient] if guarantee.patient in original.frame.columns else []
    points = _number_combinations(_with_counts(original.tally), columns, POINT)
    distinct = points.unique(POINT, maintain_order=True).sort(POINT)
    covered = {column: _find_covered(distinct[column], original, column, guarantee) for column in columns}
    released = _with_counts(classes.records).join(
        classes.sizes.with_row_index(PLACE).drop(COUNT), on=classes.columns, nulls_equal=True
    )
    released = _number_combinations(released, columns, GROUP)
    groups = released.unique(GROUP, maintain_order=True).sort(GROUP)
    unknown = sum(label not in covered[column] for column in columns for label in groups[column].unique())
    if unknown:
        return Beneath(unknown)
    values = points.select(recorded).unique(maintain_order=True) if recorded else None
    released, points = (_number_values(frame, values) for frame in (released, points))
    if patient:
        points = _number_combinations(points, patient, PATIENT)
    keys = [POINT, VALUE, *([PATIENT] if patient else [])]
    return Beneath(
        0, _tally(released, [GROUP, VALUE]), _tally(points, keys), _pairs(groups, covered, distinct.height), released
    )


def _number_combinations(frame: pl.DataFrame, columns: Sequence[str], name: str) -> pl.DataFrame:
    """Number the distinct combinations of some columns."""
    if not columns:
        return frame.with_columns(pl.lit(0, dtype=pl.Int64).alias(name))
    known = frame.select(columns).unique(maintain_order=True).with_row_index(name)
    return frame.join(known.cast({name: pl.Int64}), on=list(columns), nulls_equal=True, maintain_order="left")


def _number_values(frame: pl.DataFrame, values: pl.DataFrame | None) -> pl.DataFrame:
    """Number the recorded values as the original has them; -1 for those that it has not."""
    if values is None:
        return frame.with_columns(pl.lit(0, dtype=pl.Int64).alias(VALUE))
    known = values.with_row_index(VALUE).cast({VALUE: pl.Int64})
    joined = frame.join(known, on=values.columns, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.col(VALUE).fill_null(-1))


def _tally(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Count the records of each combination of numbers."""
    return frame.group_by(keys, maintain_order=True).agg(pl.col(COUNT).sum())


def _with_counts(table: Tally) -> pl.DataFrame:
    """Return the rows of a table with their number of records in the column `COUNT`."""
    return table.frame.with_columns(table.weights.alias(COUNT))


def _find_covered(
    text: pl.Series, original: OriginalTable, column: str, guarantee: Guarantee
) -> Mapping[str | None, Bits]:
    """By label, the combinations whose value it may stand for at one of the levels stated."""
    hierarchy = original.hierarchies[column]
    place = {value: number for number, value in enumerate(hierarchy.values)}
    numbers = np.array([place[value] for value in text.to_list()], dtype=np.int64)
    masks = {}
    for label, values in hierarchy.list_covered(levels_of(guarantee, column)).items():
        is_covered = np.zeros(len(hierarchy.values), dtype=np.bool_)
        is_covered[list(values)] = True
        masks[label] = np.packbits(is_covered[numbers])
    return masks


def _pairs(groups: pl.DataFrame, covered: Mapping[str, Mapping[str | None, Bits]], n_points: int) -> pl.DataFrame:
    """Pairs of groups and the points that all of their labels cover."""
    every = np.packbits(np.ones(n_points, dtype=np.bool_))
    found: list[Integers] = []
    for labels in groups.select(list(covered)).iter_rows() if covered else [()] * groups.height:
        masks = [covered[column][label] for column, label in zip(covered, labels, strict=True)]
        bits = reduce(np.bitwise_and, masks, every)
        parts = np.flatnonzero(bits)
        byte, bit = np.nonzero(np.unpackbits(bits[parts, None], axis=1))
        found.append(parts[byte] * 8 + bit)
    sizes = [one.size for one in found]
    columns = {
        GROUP: np.repeat(np.arange(groups.height), sizes),
        POINT: np.concatenate([np.empty(0, np.int64), *found]),
    }
    return pl.DataFrame(columns, schema={GROUP: pl.Int64, POINT: pl.Int64})


def bounds_of_patients(beneath: Beneath, classes: ReleasedClasses) -> tuple[pl.Series, pl.Series] | None:
    """Return the least and greatest possible number of patients in each class; None if it cannot be known.

    For the least number, fill the class with the records of the patients who have the most. If the class has all
    records below its labels, both numbers equal the number of its patients.
    """
    if beneath.unknown or PATIENT not in beneath.points.columns:
        return None
    of_group = _candidates(beneath).group_by(GROUP, PATIENT).agg(pl.col(COUNT).sum())
    of_group = of_group.sort(GROUP, COUNT, descending=[False, True])
    before = of_group.with_columns((pl.col(COUNT).cum_sum() - pl.col(COUNT)).over(GROUP).alias(BEFORE))
    places = beneath.released.group_by(PLACE).agg(pl.col(GROUP).first()).sort(PLACE)
    places = places.with_columns(classes.sizes[COUNT].alias(SIZE))
    joined = places.join(before, on=GROUP, how="left").group_by(PLACE)
    counts = joined.agg((pl.col(BEFORE) < pl.col(SIZE)).sum().alias("least"), pl.col(PATIENT).count().alias("most"))
    counts = counts.sort(PLACE)
    return counts["least"], counts["most"]


def _candidates(beneath: Beneath) -> pl.DataFrame:
    """Records of the original that a group could have: beneath its labels, and with values that it released."""
    near = beneath.pairs.join(beneath.points, on=POINT)
    return near.join(beneath.groups.select(GROUP, VALUE), on=[GROUP, VALUE], how="semi")


def check_assignment(beneath: Beneath, guarantee: Guarantee, checks: Checks) -> None:
    """Check that all released records can be assigned to different records of the original.

    Each label covers the value of its record, and the columns that were not generalized are as in its record.
    """
    checks.require(
        beneath.unknown == 0,
        "labels are those of the hierarchies at the levels stated",
        f"{beneath.unknown} labels occur nowhere in the hierarchies at the levels stated",
    )
    if beneath.unknown:
        return
    points = beneath.points.group_by(POINT, VALUE, maintain_order=True).agg(pl.col(COUNT).sum())
    near = beneath.pairs.join(points.drop(COUNT), on=POINT)
    flow = Flow()
    flow.supply("released", beneath.groups, [GROUP, VALUE])
    flow.lead("released", [GROUP, VALUE], "recorded", [POINT, VALUE], near)
    flow.drain("recorded", points, [POINT, VALUE])
    lost = flow.lost()
    fit = checks.require(
        lost == 0,
        "each released record fits a record of the original of its own, by its labels and recorded values together",
        f"{lost} released records fit no record of the original of their own, by labels and recorded values together",
    )
    if fit and PATIENT in beneath.points.columns:
        _check_patients(beneath, guarantee, checks)
    if guarantee.averaged:
        checks.leave("averages", "it is not known which records of the original are in a class")


def _check_patients(beneath: Beneath, guarantee: Guarantee, checks: Checks) -> None:
    """Check that the patients of each class can be patients of the original, each another, with the records they have.

    One record of each goes to a patient of its own, who has all of its values beneath the labels; the others of the
    class go to any. Without numbers a class needs as many patients as the rule asks for.
    """
    sizes = _tally(beneath.released, [PLACE, GROUP]).rename({COUNT: SIZE})
    near = _candidates(beneath).join(sizes.select(PLACE, GROUP), on=GROUP)
    people = near.select(PLACE, PATIENT).unique(maintain_order=True)
    firsts, allowed = _firsts(beneath, guarantee, near, people)
    asked = firsts.group_by(PLACE).agg(pl.col(COUNT).sum().alias(NEEDED))
    rest = sizes.join(asked, on=PLACE).with_columns((pl.col(SIZE) - pl.col(NEEDED)).clip(0).alias(COUNT))
    of_class, records = [PLACE, PATIENT], [POINT, VALUE, PATIENT]
    flow = Flow()
    flow.supply("patients", firsts, [PLACE, HISTORY])
    flow.lead("patients", [PLACE, HISTORY], "first", of_class, allowed)
    flow.lead("first", of_class, "all", of_class, people, most=1)
    flow.supply("rest", rest, [PLACE])
    flow.lead("rest", [PLACE], "all", of_class, people)
    flow.lead("all", of_class, "recorded", records, near)
    flow.drain("recorded", beneath.points, records)
    lost = flow.lost()
    checks.require(
        lost == 0,
        "each patient of a class fits a patient of the original, no two of a class the same",
        f"{lost} records or patients of the classes fit no patient of the original of their own",
    )


def _firsts(
    beneath: Beneath, guarantee: Guarantee, near: pl.DataFrame, people: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return how many patients of each class have the same records, and which of the original have these beneath."""
    if guarantee.id is None:
        k = max((int(rule["k"]) for rule in guarantee.rules if rule["model"] == "k-patients"), default=0)
        firsts = people.select(PLACE).unique().with_columns(pl.lit(0).alias(HISTORY), pl.lit(k).alias(COUNT))
        return firsts, people.with_columns(pl.lit(0).alias(HISTORY))
    cells = _tally(beneath.released, [PLACE, guarantee.id, VALUE]).rename({COUNT: NEEDED}).sort(VALUE, NEEDED)
    listed = cells.group_by(PLACE, guarantee.id).agg(VALUE, NEEDED)
    kinds = listed.group_by(PLACE, VALUE, NEEDED).agg(pl.len().alias(COUNT)).with_row_index(HISTORY)
    needed = kinds.select(PLACE, HISTORY, VALUE, NEEDED, pl.col(VALUE).list.len().alias(SIZE)).explode(VALUE, NEEDED)
    have = near.group_by(PLACE, PATIENT, VALUE).agg(pl.col(COUNT).sum())
    fits = needed.join(have, on=[PLACE, VALUE]).filter(pl.col(COUNT) >= pl.col(NEEDED))
    whole = fits.group_by(PLACE, HISTORY, PATIENT).agg(pl.col(SIZE).first(), pl.len().alias(NEEDED))
    return kinds.select(PLACE, HISTORY, COUNT), whole.filter(pl.col(SIZE) == pl.col(NEEDED))
