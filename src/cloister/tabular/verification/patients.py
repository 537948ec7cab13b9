"""Whose the records of a release are, where a patient may have several: numbers that begin anew in each class.

The numbers follow from the released records alone, and with the original they tell apart the same patients.
"""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from cloister.results import Checks

from .guarantee import COUNT, Guarantee, OriginalTable

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
