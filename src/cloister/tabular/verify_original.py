"""Releases compared with their original where levels differ between classes, numbers were averaged, or patients repeat.

Where it is known which record is whose, record by record; otherwise by what labels could stand for.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from statistics import median

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy import BoundHierarchy
from cloister.io import is_tally, records_of
from cloister.results import Checks

from .guarantee import COUNT, Guarantee, OriginalTable, ReleasedClasses

ROUNDING = Fraction(1, 200)  # how far an average may be from the exact one: half of a hundredth
Bits = NDArray[np.uint8]  # one bit for each record of the original


def check_record_by_record(texts: pl.DataFrame, guarantee: Guarantee, original: OriginalTable, checks: Checks) -> None:
    """Compare every released record with the record it was made from.

    ``texts``: the released table as text, rows of ``*`` included; ``original.records`` says whose each row is.
    """
    records = pl.Series([], dtype=pl.Int64) if original.records is None else original.records
    known = records.drop_nulls()
    is_whose = (
        len(records) == texts.height
        and known.n_unique() == len(known)
        and (len(known) == 0 or 0 <= int(known.sort()[0]) <= int(known.sort()[-1]) < original.frame.height)
    )
    checks.require(
        is_whose,
        "every released record was made from one record of the original, and no two from the same",
        "it is not known from which record of the original each released record was made",
    )
    if not is_whose:
        return
    released, own = texts.filter(records.is_not_null()), original.frame[known]
    wrong = 0
    for column in _labelled(guarantee):
        fits = pl.Series([False]).new_from_index(0, released.height)
        for level in _levels(guarantee, column):
            fits |= ancestors(own[column], original.hierarchies[column], level).eq_missing(released[column])
        wrong += int((~fits).sum())
    checks.require(
        wrong == 0,
        "every label is that of its record's own value, at a level stated for its column",
        f"{wrong} labels are not those of the value of their record at any level stated for the column",
    )
    if others := _others(guarantee):
        moved = sum(int(released[column].ne_missing(own[column]).sum()) for column in others)
        checks.require(
            moved == 0,
            "columns that were not generalized are as in the original",
            f"{moved} values differ from the original in columns that were not generalized",
        )
    _check_averages(released, own, guarantee, checks)


def _check_averages(released: pl.DataFrame, own: pl.DataFrame, guarantee: Guarantee, checks: Checks) -> None:
    """Averages are those of the recorded values of all records that look alike; empty where one has no value."""
    if not guarantee.averaged:
        return
    columns, wrong = list(guarantee.levels), 0
    for column, how in guarantee.averaged.items():
        values = released.select(columns).with_columns(own[column].alias("recorded"), released[column].alias("shown"))
        groups = values.group_by(columns).agg(pl.col("recorded"), pl.col("shown").first())
        for recorded, shown in groups.select("recorded", "shown").iter_rows():
            if shown is None or None in recorded:
                wrong += not (shown is None and None in recorded)
                continue
            numbers = [Fraction(value) for value in recorded]
            exact = median(numbers) if how == "median" else sum(numbers, Fraction(0)) / len(numbers)
            try:
                wrong += abs(Fraction(shown) - exact) > ROUNDING
            except ValueError:
                wrong += 1
    checks.require(
        wrong == 0,
        "averages are those of the recorded values of each class",
        f"{wrong} averages are not those of the recorded values of their class",
    )


def check_by_labels(classes: ReleasedClasses, guarantee: Guarantee, original: OriginalTable, checks: Checks) -> None:
    """Check what can be checked where it is not known which record is whose.

    Labels occur in the hierarchies, every class has enough records of the original beneath it, and no combination of
    the other columns is more frequent than there.
    """
    columns = _labelled(guarantee)
    beneath = {column: _beneath(original, column, _levels(guarantee, column)) for column in columns}
    unknown = sum(
        classes.sizes[column].n_unique() - sum(label in beneath[column] for label in classes.sizes[column].unique())
        for column in columns
    )
    checks.require(
        unknown == 0,
        "labels are those of the hierarchies at the levels stated",
        f"{unknown} labels occur nowhere in the hierarchies at the levels stated",
    )
    if not unknown and columns:
        # Classes that differ in averages only are counted together: averages say nothing of what is beneath.
        together = classes.sizes.group_by(columns).agg(pl.col(COUNT).sum())
        short, held = 0, records_of(original.frame).to_numpy() if is_tally(original.frame) else None
        for *labels, records in together.select(*columns, COUNT).iter_rows():
            masks = [beneath[column][label] for column, label in zip(columns, labels, strict=True)]
            rows = reduce(np.bitwise_and, masks)
            n = np.bitwise_count(rows).sum() if held is None else held @ np.unpackbits(rows, count=held.size)
            short += int(n) < records
        checks.require(
            short == 0,
            "every class has at least as many records of the original beneath its labels",
            f"{short} classes have more records than the original has beneath their labels",
        )
    if others := _others(guarantee):
        found, recorded = (ReleasedClasses(frame, others).sizes for frame in (classes.records, original.frame))
        both = found.join(recorded, on=others, how="left", nulls_equal=True, suffix="_recorded")
        more = both.filter(pl.col(COUNT) > pl.col(COUNT + "_recorded").fill_null(0)).height
        checks.require(
            more == 0,
            "values of columns that were not generalized occur in the original, as often at least",
            f"{more} combinations of values occur less often in the original, in columns that were not generalized",
        )
    checks.done.append("which record is whose was not checked: the release does not tell")
    if guarantee.averaged:
        checks.done.append("averages were not recomputed: it is not known which records of the original are in a class")


def _beneath(original: OriginalTable, column: str, levels: Sequence[int]) -> dict[str | None, Bits]:
    """By label, the records of the original that it may stand for at one of these levels."""
    hierarchy, text = original.hierarchies[column], original.frame[column]
    place = {value: number for number, value in enumerate(hierarchy.values)}
    numbers = np.array([place[value] for value in text.to_list()], dtype=np.int64)
    values: dict[str | None, set[int]] = {}
    for level in levels:
        for number, label in enumerate(hierarchy.labels[level]):
            values.setdefault(label, set()).add(number)
    masks = {}
    for label, covered in values.items():
        is_covered = np.zeros(len(hierarchy.values), dtype=np.bool_)
        is_covered[list(covered)] = True
        masks[label] = np.packbits(is_covered[numbers])
    return masks


def _labelled(guarantee: Guarantee) -> list[str]:
    return [column for column in guarantee.levels if column not in guarantee.averaged]


def _others(guarantee: Guarantee) -> list[str]:
    return [column for column in guarantee.columns if column not in guarantee.levels and column != guarantee.id]


def _levels(guarantee: Guarantee, column: str) -> tuple[int, ...]:
    return guarantee.recoded.get(column, (guarantee.levels[column],))


def ancestors(text: pl.Series, hierarchy: BoundHierarchy, level: int) -> pl.Series:
    """Return the ancestor of each value at a level, by a join with the bound hierarchy's rows."""
    level_pairs = pl.DataFrame(
        {"value": hierarchy.values, "label": hierarchy.labels[level]},
        schema=dict.fromkeys(["value", "label"], pl.String),
    )
    joined = text.to_frame("value").join(level_pairs, on="value", how="left", nulls_equal=True, maintain_order="left")
    return joined["label"].alias(text.name)


SAME = "records of one number in a class are those of one patient"


def with_patients(released: pl.DataFrame, guarantee: Guarantee, original: OriginalTable) -> pl.DataFrame:
    """Return the records with the patient of each, by place, where only the original says whose they are."""
    patient = guarantee.patient
    if patient is None or patient in released.columns or original.records is None:
        return released
    return released.with_columns(original.frame[patient].gather(original.records.drop_nulls()).alias(patient))


def check_numbers(texts: pl.DataFrame, guarantee: Guarantee, keys: Sequence[str], checks: Checks) -> None:
    """Neither order nor numbers carry information.

    Records are sorted by their values, then by number; the patients of a class are numbered from 1 on by their records,
    compared one after the other.
    """
    number = pl.col(guarantee.id or "").cast(pl.Int64, strict=False)
    values = texts.select(pl.col(keys).fill_null(""), number.alias("number"))
    checks.require(
        values.equals(values.sort([*keys, "number"])),
        "records are sorted by their released values and numbers",
        "records are not sorted by their released values and numbers: their order may carry information",
    )
    place = pl.struct(keys).ne_missing(pl.struct(keys).shift()).fill_null(value=True).cum_sum()
    records = values.with_columns(place.alias("place")).filter(pl.col("number").is_not_null())
    histories = records.group_by([*guarantee.levels, "number"]).agg(pl.col("place").sort())
    wrong = 0
    for numbers, places in (
        histories.group_by(list(guarantee.levels)).agg("number", "place").select("number", "place").iter_rows()
    ):
        ordered = sorted(zip(numbers, places, strict=True))
        in_order = all(one <= next_one for (_, one), (_, next_one) in pairwise(ordered))
        wrong += [number for number, _ in ordered] != list(range(1, len(ordered) + 1)) or not in_order
    checks.require(
        wrong == 0 and records.height == texts.height - (texts[guarantee.id or ""] == "*").sum(),
        "patients are numbered from 1 on in each class, by their released records",
        "patients are not numbered 1, 2, 3 ... in each class by their released records",
    )


def check_same_patients(released: pl.DataFrame, guarantee: Guarantee, original: OriginalTable, checks: Checks) -> None:
    """Where it is known from which record each was made: numbers of a class and patients belong to each other."""
    patient = guarantee.patient
    if patient is None or guarantee.id is None or original.records is None:
        return
    own = released.select([*guarantee.levels, patient]).with_columns(
        original.frame[patient].gather(original.records.drop_nulls()).alias("own")
    )
    classes = list(guarantee.levels)
    pairs, numbers, patients = (
        own.select(columns).n_unique()
        for columns in (
            [*classes, patient, "own"],
            [*classes, patient],
            [*classes, "own"],
        )
    )
    checks.require(pairs == numbers == patients, SAME, "records of one number in a class are of several patients")


def histories(records: pl.DataFrame, guarantee: Guarantee) -> pl.DataFrame:
    """Return how many patients of a class have the same records: the class, ``history`` and the count."""
    classes, patient = list(guarantee.levels), guarantee.patient or ""
    others = [column for column in guarantee.columns if column not in (*classes, patient)]
    cells = [
        pl.when(pl.col(column).is_null())
        .then(pl.lit("-"))
        .otherwise(pl.concat_str(pl.col(column).str.len_bytes(), pl.lit(":"), pl.col(column)))
        for column in others
    ]
    row = pl.concat_str(*cells) if cells else pl.lit(".")
    found = records.group_by([*classes, patient]).agg(row.sort().str.join("|").alias("history"))
    return found.group_by([*classes, "history"]).agg(pl.len().cast(pl.Int64).alias(COUNT))
