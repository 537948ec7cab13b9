"""Columns that undo a protection: released as recorded, or left out, although they say who a record is of.

k-anonymity is about the quasi-identifiers. It is worth little where another column repeats one of them more finely than
it is released, where a text names its patient, or where the column left out says that a patient has several records.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import polars as pl

from cloister.results import Disclosing

from .identifiers import is_named_patient

MOST_SAID = 0.4
"""Share of the doubt that a label leaves which a column may take away; one that halves each label takes half of it."""

LEAST_RECORDS = 100  # from fewer nothing follows
MOST_RECORDS = 100_000  # more are not looked at, but every second, third ... of them
FREE = 0.5  # share of the records with a text of several words that no other record has
WORDS = r"\p{L}{2,}\P{L}+\p{L}{2,}"
ONE_PERSON = 0.8  # of the doubt about a value that whose record it is takes away: people grow older meanwhile
GROUPS = 0.05  # a column with fewer values than this share of the records tells groups apart, not patients


def repeated_patients(columns: Mapping[str, pl.Series], quasi_identifiers: Sequence[pl.Series]) -> list[Disclosing]:
    """Return the columns left out that tell patients apart who have several records.

    Such a column has many values, some of them in several records, and is called after patients; or records of the same
    value agree, as those of one person do, in two quasi-identifiers of which neither says the other. A ZIP code says
    the county, a birth date the age in years and in groups: those are one thing said.
    """
    found, ordered_ones = [], [ordered(one) for one in quasi_identifiers]
    for name, values in columns.items():
        present, distinct = len(values) - values.null_count(), values.drop_nulls().n_unique()
        if not GROUPS * present <= distinct < present:
            continue
        text = values.cast(pl.String)
        said = [] if is_named_patient(name) else [one for one in ordered_ones if _says(text, one)]
        alone = [
            one for one in said if not any(_says(other.cast(pl.String), one) for other in said if other is not one)
        ]
        if is_named_patient(name) or len(alone) >= 2:
            found.append(Disclosing(name, "several records of a patient"))
    return found


def _says(column: pl.Series, value: pl.Series) -> bool:
    """Whether records of the same value of a column, which stand for one person, hardly differ."""
    step = 1 + len(column) // MOST_RECORDS
    is_looked_at = column.rank("dense") % step == 0  # all records of a value, or none
    one = pl.Series([""] * len(column), dtype=pl.String)
    looked_at = [series.filter(is_looked_at) for series in (one, value, column)]
    return share_said(*looked_at) > ONE_PERSON


def free_texts(columns: Mapping[str, pl.Series]) -> list[Disclosing]:
    """Return the columns of text in which most records have several words that no other record has."""
    found = []
    for name, values in columns.items():
        if values.dtype == pl.String and len(values) >= LEAST_RECORDS:
            is_free = values.is_unique() & values.str.contains(WORDS).fill_null(value=False)
            found += [Disclosing(name, "free text")] if is_free.sum() > FREE * len(values) else []
    return found


def said_of(
    quasi_identifiers: Mapping[str, tuple[pl.Series, pl.Series]], columns: Mapping[str, pl.Series]
) -> list[Disclosing]:
    """Return the columns that say a quasi-identifier more finely than its labels, alone or two days by what is between.

    Parameters
    ----------
    quasi_identifiers : for each its labels as released, and its values; if these are no numbers, the labels below
    columns : as recorded, of the same records; all as text
    """
    step = 1 + next((len(series) for series in columns.values()), 0) // MOST_RECORDS
    recorded = {name: ordered(series.gather_every(step)) for name, series in columns.items()}
    days = {name: found for name in columns if (found := _days(columns[name].gather_every(step))) is not None}
    between = {two: days[two] - days[one] for one, two in combinations(days, 2)}
    disclosing = []
    for name, (labels, finer) in quasi_identifiers.items():
        label, value = labels.gather_every(step), ordered(finer.gather_every(step))
        by_chance = 1 / math.sqrt(max(len(label), 1))
        said = dict.fromkeys(
            column
            for column, series in [*recorded.items(), *between.items()]
            if share_said(label, value, series) > MOST_SAID + by_chance
        )
        disclosing += [Disclosing(column, "says a quasi-identifier", name) for column in said]
    return disclosing


def share_said(labels: pl.Series, values: pl.Series, column: pl.Series) -> float:
    """Return how much of the doubt about a value that its label leaves another column takes away, at most 1.

    The doubt is how far a record is from another of its label: their difference where values are numbers, else whether
    they differ. What is left of it is how far it is from another that also has the same value of the column; where
    none has, and that is a number, from the next by that number.

    References
    ----------
    Goodman, Kruskal (1954), "Measures of association for cross classifications", tau; for numbers with Gini's mean
    difference in place of the probability to differ.
    """
    records = pl.DataFrame([labels.alias("label").fill_null(""), values.alias("value"), column.alias("column")])
    records = records.drop_nulls().sort("label", "value")
    is_number = values.dtype.is_numeric()
    records = records.with_columns(_apart(is_number, "label").alias("doubt")).filter(pl.col("doubt") > 0)
    records = records.sort("label", "column", "value").with_columns(_apart(is_number, "label", "column").alias("left"))
    if column.dtype.is_numeric():
        value = pl.col("value")
        following = pl.coalesce(value.shift(-1).over("label"), value.shift().over("label"))
        to_next = (value - following).abs() if is_number else (value != following).cast(pl.Float64)
        records = records.with_columns(pl.coalesce("left", to_next).alias("left"))
    compared = records.drop_nulls()
    if compared.height < LEAST_RECORDS:
        return 0.0
    return 1.0 - float(compared["left"].sum()) / float(compared["doubt"].sum())


def _apart(is_number: bool, *groups: str) -> pl.Expr:
    """How far a record is from another of its group on average, sorted by value; null where it is alone.

    Numbers by their mean difference in the group; else the share of the others that have another value.
    """
    n, value = pl.len().over(groups).cast(pl.Float64), pl.col("value")
    if is_number:
        rank = pl.int_range(1, pl.len() + 1).over(groups)
        return pl.when(n > 1).then(((2 * rank - n - 1) * value).sum().over(groups) * 2 / (n * (n - 1)))
    return pl.when(n > 1).then(1 - (pl.len().over(*groups, "value") - 1) / (n - 1))


def ordered(text: pl.Series) -> pl.Series:
    """Return numbers as such, and days as numbers of days; any other text as it is."""
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() == text.null_count():
        return numbers
    days = _days(text)
    return text if days is None else days


def _days(text: pl.Series) -> pl.Series | None:
    """Days since 1970, with the time of day as a fraction left out; None where another text stands among them."""
    days = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    return days.to_physical().cast(pl.Float64) if days.null_count() == text.null_count() < len(text) else None
