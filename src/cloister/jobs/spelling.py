"""Readings of columns that two systems may spell differently, for anyone who joins two parts.

A column is read in six ways: as written; with numbers in one form; folded; folded without its prefix; and with dates as
days, the day or the month first. Folding ignores case, spaces, hyphens and other signs, forms of Unicode, leading zeros
and the decimal comma. A reading may make values equal that differ, so that no reading replaces another.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from cloister.io.read import days_written
from cloister.risk.row_numbers import Numbers, number_values
from cloister.settings.reading import USUAL, parse_date_format

NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?$"
DASHES = "[\u2010-\u2015\u2212]"
TIME_OF_DAY = r"[ T][0-9]{1,2}:[0-9]{2}.*$"
LIKE_A_DATE = "^([0-9]{1,4}|[A-Za-z]{3})[ ./-]?([0-9]{1,2}|[A-Za-z]{3})[ ./-]?[0-9]{1,4}$"
MONTH_FIRST = tuple(name for name in USUAL if name.startswith("m"))
FOLDED, DAYS = 2, 4
"""Places of two readings: folded, and with dates as days, the day first."""

DAY_FIRST = tuple(name for name in USUAL if name not in MONTH_FIRST)


def respell(one: pl.DataFrame, two: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield two tables with values replaced by numbers, once per reading with a different set of agreeing rows.

    All columns are read the same way. In the last reading, each column is read so that most of its rows agree, and the
    fewest values are merged.
    """
    found = {name: _number_readings(one[name], two[name]) for name in one.columns}
    n_readings = max((len(numbers) for numbers in found.values()), default=0)
    ways = [dict.fromkeys(found, place) for place in range(n_readings)]
    ways.append({name: _best_reading(numbers, one.height) for name, numbers in found.items()})
    seen = set()
    for way in ways:
        chosen = {name: found[name][place] for name, place in way.items()}
        key = tuple(map(id, chosen.values()))
        if key not in seen:
            seen.add(key)
            frame = pl.DataFrame(chosen)
            yield frame.head(one.height), frame.tail(two.height)


def _number_readings(one: pl.Series, two: pl.Series) -> list[Numbers]:
    """Number the values of two columns together, in each reading; readings with the same agreement are merged."""
    found: list[Numbers] = []
    for own, other in zip(read_spellings(one), read_spellings(two), strict=True):
        numbers = number_values(pl.concat([own, other]))
        found.append(next((known for known in found if np.array_equal(known, numbers)), numbers))
    return found


def _best_reading(numbers: list[Numbers], height: int) -> int:
    """Return the reading in which most rows agree; of equal ones, the reading with most values."""

    def rate(place: int) -> tuple[int, int, int]:
        one, two = numbers[place][:height], numbers[place][height:]
        agreeing = int(np.isin(one, two).sum() + np.isin(two, one).sum())
        return agreeing, np.unique(numbers[place]).size, -place

    return max(range(len(numbers)), key=rate)


def read_spellings(column: pl.Series) -> list[pl.Series]:
    """Return a text column in each reading."""
    text = column.unique().alias("text")
    plain, folded = text.str.strip_chars(), _fold(text)
    days = [_days(text, first).fill_null(folded) for first in (DAY_FIRST, MONTH_FIRST)]
    readings = [text, _number(plain).fill_null(plain), folded, _without_prefix(folded), *days]
    read = pl.DataFrame([text, *(values.alias(str(place)) for place, values in enumerate(readings))])
    joined = column.alias("text").to_frame().join(read, on="text", how="left", nulls_equal=True, maintain_order="left")
    return joined.get_columns()[1:]


def _number(text: pl.Series) -> pl.Series:
    """Return numbers in one canonical form; null for any other text."""
    number = text.set(~text.str.to_lowercase().str.contains(NUMBER), None).cast(pl.Float64)
    return number.set(~number.is_finite(), None).cast(pl.String)


def _fold(text: pl.Series) -> pl.Series:
    """Return texts without case, spaces, punctuation and leading zeros, and numbers in canonical form."""
    lower = text.str.normalize("NFKC").str.to_uppercase().str.to_lowercase().str.normalize("NFKC")
    close = lower.str.replace_all(r"\s", "").str.replace_all(DASHES, "-")
    bare = close.str.replace_all(r"[^\p{L}\p{M}\p{N}]", "").str.replace_all(r"(^|\p{L})0+([0-9])", "${1}${2}")
    return _number(close.str.replace(",", ".", literal=True)).fill_null(bare.set(bare == "", None)).fill_null(close)


def _without_prefix(folded: pl.Series) -> pl.Series:
    """Return texts without the letters that prefix a number in more than half of them."""
    letters = folded.str.extract(r"^(\p{L}+)[0-9]")
    known = letters.drop_nulls()
    prefix = known.mode().sort().first() if len(known) else None
    if prefix is None or 2 * (known == prefix).sum() <= folded.len() - folded.null_count():
        return folded
    rest = folded.str.strip_prefix(prefix).str.replace(r"^0+([0-9])", "${1}")
    rest = _number(rest).fill_null(rest)
    return folded.zip_with((letters != prefix).fill_null(value=True), rest)


def _days(text: pl.Series, first: tuple[str, ...]) -> pl.Series:
    """Return dates as days, for the formats that the reader knows; null for any other text."""
    stripped = text.str.normalize("NFKC").str.strip_chars().str.replace(TIME_OF_DAY, "")
    is_like = stripped.str.contains(LIKE_A_DATE).fill_null(value=False)
    stated = stripped.filter(is_like)
    found = days_written(stated, None)
    for name in dict.fromkeys((*first, *USUAL)):
        if not found.null_count():
            break
        found = found.fill_null(days_written(stated, parse_date_format(name)))
    return pl.repeat(None, len(text), dtype=pl.String, eager=True).scatter(is_like.arg_true(), found.cast(pl.String))
