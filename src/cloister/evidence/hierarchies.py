"""Suggest hierarchies for the content of a column: ages, dates, numbers by their spread, postal codes, categories."""

import datetime
import math
import re

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import parse_hierarchy
from cloister.hierarchy.build import PartialDate, lost_zeros
from cloister.hierarchy.interval import Scale
from cloister.io import as_text

from .column import DATE, FEW, NUMBER, Column

INTERVAL = "interval:"
OLDEST = 89
"""Safe Harbor puts older people together."""

N_INTERVALS = 40  # of the narrowest width, in the middle 90 % of the records
DATES, BIRTHS = "date:month,quarter,year", "date:year,decade"
LONGEST_PREFIX = 10


def ages(column: Column) -> str:
    """Return intervals of ages whose last group begins at 90, or where texts such as `80+` begin."""
    tops = [found[1] for value in column.values.to_list() if (found := Scale().read_open(value)) and found[0]]
    return f"{INTERVAL}5,10,20/top={min([OLDEST + 1, *tops])}"


def oldest_birth(today: datetime.date | None = None) -> int:
    """Return the first year of birth of people who are not over 89."""
    return (today or datetime.date.today()).year - OLDEST


def birth_years(column: Column) -> str:
    """Return intervals of years of birth; those of people over 89 are one group."""
    is_old = (column.numbers < oldest_birth()).any()
    return f"{INTERVAL}5,10,20" + (f"/bottom={oldest_birth()}" if is_old else "")


def births(column: Column) -> str:
    """Return periods of dates of birth; those of people over 89 are one group."""
    found = (PartialDate.parse(value) for value in column.values.to_list())
    is_old = any(one is not None and one.day.year < oldest_birth() for one in found)
    return BIRTHS + (f"/bottom={oldest_birth()}" if is_old else "")


def widths(column: Column) -> str | None:
    """Return intervals of three widths by the middle 90 % of the records; None for few values, or no numbers.

    One outlier changes nothing: widths follow from quantiles, and are 1, 2 or 5 times a power of ten.
    """
    if not column.are_numbers or column.n_values <= FEW:
        return None
    known = ~np.isnan(column.numbers)
    order = np.argsort(column.numbers[known])
    numbers, records = column.numbers[known][order], column.records[known][order]
    place = np.cumsum(records) / records.sum()
    low, high = (float(numbers[np.searchsorted(place, share)]) for share in (0.05, 0.95))
    if not (math.isfinite(high - low) and 0 < high - low < 10**12 and np.abs(numbers).max() < 10**12):
        return None
    least = (high - low) / N_INTERVALS
    power = math.floor(math.log10(least))
    lead = next(one for one in (1, 2, 5, 10) if one * 10.0**power >= least * (1 - 1e-9))
    if column.is_whole and power < 0:
        lead, power = 1, 0
    if power < -6:
        return None
    return INTERVAL + ",".join(_write_width(lead * times, power, column.is_measured) for times in (1, 5, 10))


def _write_width(lead: int, power: int, is_measured: bool) -> str:
    """A width; of decimals with a point, which makes intervals half-open, as [70, 75)."""
    if power >= 0:
        return f"{lead * 10**power}{'.0' if is_measured else ''}"
    return f"{lead * 10.0**power:.{-power}f}"


def postal(column: Column) -> str:
    """Return prefixes of codes; of those that lost leading zeros, padded."""
    values = column.values.to_list()
    return f"prefix:{max(map(len, values))}{'/pad=0' if lost_zeros(values) else ''}"


def propose_hierarchy(text: pl.Series) -> str:
    """Suggest a hierarchy for a column by its content only, as on the command line.

    Numbers get intervals by their spread, dates periods, short codes of one length prefixes; all else is kept or
    suppressed. The hierarchy covers every value.
    """
    column = Column.of(as_text(text), "")
    values = column.values.to_list()
    lengths = {*map(len, values)}
    candidates = [
        DATES if column.mostly(DATE) else None,
        widths(column) if column.share_like(NUMBER[1:-1]) == 1.0 else None,
        f"prefix:{max(lengths)}" if len(lengths) == 1 and 1 < max(lengths) <= LONGEST_PREFIX and len(values) > FEW
        and all(re.fullmatch(r"[A-Z0-9]+", value) for value in values) else None,
    ]  # fmt: skip
    for words in candidates:
        if words is not None and covers(words, text.name, values):
            return words
    return "suppress"


def covers(words: str, column: str, values: list[str]) -> bool:
    """Whether a hierarchy covers all these values."""
    try:
        parse_hierarchy(words).bind(column, values)
    except InputError:
        return False
    return True
