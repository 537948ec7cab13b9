"""Microaggregation: in every class the values of a number are replaced by their mean or median."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from statistics import median

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, setting

LEAST_LOST = 0.01  # the least share of variance that is stated as lost
DECIMALS = 2
"""Decimals of a mean or median, always: taken from the values, their number would tell of single ones. Two are what
clinical figures are recorded with; further ones would give away the exact sum of a class."""

NUMBER = r"^[+-]?(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,3})?$"
"""What counts as a number; the limits keep exact arithmetic short."""


def _mean(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


AGGREGATES: Mapping[str, Callable[[Sequence[Fraction]], Fraction]] = {"mean": _mean, "median": median}


def check_numbers(text: pl.Series) -> None:
    """Refuse a column that holds anything but numbers and missing values."""
    wrong = int((~text.str.contains(NUMBER)).sum())
    if wrong:
        raise InputError(
            f"Column {text.name!r} was to be averaged within classes, but {wrong} of {len(text)} records hold "
            f"something else than a number there. Correct them, read them as missing ({setting('missing')}), or do not "
            "average it.",
            column=text.name,
        )


def microaggregated(text: pl.Series, classes: NDArray[np.int64], aggregate: str) -> pl.Series:
    """Return the mean or median of the class of each record, exact before it is rounded half to even.

    Where a record of a class has no value, the whole class has none: the mean of the others, beside empty cells, would
    tell whose value is missing.

    *Guarantee*: the records of a class stay alike, so that what holds of classes still does. Against somebody who knows
    all values of a class but one, nothing: the mean tells the last. Not truthful: no record need have the value shown.
    Cost: one pass over the records.

    Parameters
    ----------
    classes : (n_records,) class of each record, numbered from 0

    References
    ----------
    Domingo-Ferrer, Mateo-Sanz (2002), "Practical data-oriented microaggregation for statistical disclosure control".
    Deviation: the classes are those of all quasi-identifiers, not found by the numbers alone.
    """
    values = numbers_of(text)
    members: list[list[Fraction | None]] = [[] for _ in range(int(classes.max(initial=-1)) + 1)]
    for value, one in zip(values, classes.tolist(), strict=True):
        members[one].append(value)
    averages: list[str | None] = []
    for group in members:
        numbers = [number for number in group if number is not None]
        is_known = bool(numbers) and len(numbers) == len(group)
        averages.append(written(AGGREGATES[aggregate](numbers)) if is_known else None)
    return pl.Series(text.name, [averages[one] for one in classes.tolist()], dtype=pl.String)


def numbers_of(text: pl.Series) -> list[Fraction | None]:
    """Return the numbers exactly; missing ones are None."""
    known = {value: Fraction(value) for value in text.drop_nulls().unique().to_list()}
    return [None if value is None else known[value] for value in text.to_list()]


def written(number: Fraction) -> str:
    """Return a number with two decimals, rounded half to even."""
    hundredths = round(number * 10**DECIMALS)
    whole, part = divmod(abs(hundredths), 10**DECIMALS)
    return f"{'-' if hundredths < 0 else ''}{whole}.{part:0{DECIMALS}}"


def variance_lost(text: pl.Series, shown: pl.Series) -> float:
    """Return the share of the variance of the released records' values that their means or medians lost.

    Records shown without a value count as if they were shown the mean of all. Rounded up to hundredths, and never
    below one: 0 would tell that every patient has just the value shown.
    """
    pairs = [(a, b) for a, b in zip(numbers_of(text), numbers_of(shown), strict=True) if a is not None]
    if not pairs:
        return LEAST_LOST
    mean = _mean([value for value, _ in pairs])
    whole = sum(((value - mean) ** 2 for value, _ in pairs), Fraction(0))
    lost = sum(((value - (mean if seen is None else seen)) ** 2 for value, seen in pairs), Fraction(0))
    return max(LEAST_LOST, float(min(Fraction(1), Fraction(-(-100 * lost // whole), 100)))) if whole else LEAST_LOST
