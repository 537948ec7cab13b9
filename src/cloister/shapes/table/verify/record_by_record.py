"""A released table compared with its original, record by record, where it is known which record was made from which.

Releases whose levels differ from class to class, whose numbers were averaged, or of patients with several records are
compared here; where the records are not known, `assignment` does."""

from fractions import Fraction
from statistics import median

import polars as pl

from cloister.hierarchy import BoundHierarchy
from cloister.io.columns import packed
from cloister.results import Checks
from cloister.shapes.table.format.guarantee import Guarantee, OriginalTable

from .classes import COUNT


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
    for column in labelled(guarantee):
        fits = pl.Series([False]).new_from_index(0, released.height)
        for level in levels_of(guarantee, column):
            fits |= ancestors(own[column], original.hierarchies[column], level).eq_missing(released[column])
        wrong += int((~fits).sum())
    checks.require(
        wrong == 0,
        "every label is that of its record's own value, at a level stated for its column",
        f"{wrong} labels are not those of the value of their record at any level stated for the column",
    )
    if others := recorded_columns(guarantee):
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


def labelled(guarantee: Guarantee) -> list[str]:
    """Return the quasi-identifiers that are released as labels."""
    return [column for column in guarantee.levels if column not in guarantee.averaged]


def recorded_columns(guarantee: Guarantee) -> list[str]:
    """Return the columns that are released as recorded."""
    return [column for column in guarantee.columns if column not in guarantee.levels and column != guarantee.id]


def levels_of(guarantee: Guarantee, column: str) -> tuple[int, ...]:
    """Return the levels that occur in a quasi-identifier."""
    return guarantee.recoded.get(column, (guarantee.levels[column],))


def ancestors(text: pl.Series, hierarchy: BoundHierarchy, level: int) -> pl.Series:
    """Return the ancestor of each value at a level, by a join with the bound hierarchy's rows."""
    columns = {"value": hierarchy.values, "label": hierarchy.labels[level]}
    pairs, values = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), text
    if isinstance(text.dtype, pl.Enum):
        values = pl.concat([text.dtype.categories, pl.Series([None], dtype=pl.String)])
    own = values.to_frame("value").join(pairs, on="value", how="left", nulls_equal=True, maintain_order="left")["label"]
    if isinstance(text.dtype, pl.Enum):
        own = packed(own, always=True).gather(text.to_physical().cast(pl.UInt32).fill_null(values.len() - 1))
    return own.alias(text.name)


def with_patients(released: pl.DataFrame, guarantee: Guarantee, original: OriginalTable) -> pl.DataFrame:
    """Return the records with the patient of each, by place, where only the original says whose they are."""
    patient = guarantee.patient
    if patient is None or patient in released.columns or original.records is None:
        return released
    return released.with_columns(original.frame[patient].gather(original.records.drop_nulls()).alias(patient))


def check_same_patients(released: pl.DataFrame, guarantee: Guarantee, original: OriginalTable, checks: Checks) -> None:
    """Where it is known from which record each was made: numbers of a class and patients belong to each other."""
    patient = guarantee.patient
    if patient is None or guarantee.id is None or original.records is None:
        return
    own = released.select([*guarantee.levels, patient]).with_columns(
        original.frame[patient].gather(original.records.drop_nulls()).alias("own")
    )
    kinds = [patient, "own"], [patient], ["own"]
    pairs, numbers, patients = (own.select([*guarantee.levels, *kind]).n_unique() for kind in kinds)
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


ROUNDING = Fraction(1, 200)  # how far an average may be from the exact one: half of a hundredth


SAME = "records of one number in a class are those of one patient"
