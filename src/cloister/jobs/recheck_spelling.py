"""Readings of columns that two parts may spell differently: the verifier's own version, value by value.

The definition is that of `jobs.spelling`, of which nothing is used here.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers = NDArray[np.intp]
Reading = Callable[[str], str]

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?")
_ZEROS = re.compile(r"(?:^|(?<=[^\W\d_]))0+(?=[0-9])")
_PREFIX = re.compile(r"([^\W\d_]+)[0-9]")
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"))
_CLOCK = re.compile(r"[ T][0-9]{1,2}:[0-9]{2}.*", re.DOTALL)
_YEAR_FIRST = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})-([0-9]{2})|/([0-9]{1,2})/([0-9]{1,2})|\.([0-9]{2})\.([0-9]{2})|([0-9]{2})([0-9]{2}))"
)
_NUMERIC = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4}|(?<!-)[0-9]{2})")
_NAMED = re.compile(
    r"(?P<d>[0-9]{1,2})(?P<sign>[ -])(?P<m>[a-z]{3})(?P=sign)(?P<y>[0-9]{4}|(?<=-)[0-9]{2})"
    r"|(?P<m2>[a-z]{3}) (?P<d2>[0-9]{1,2}) (?P<y2>[0-9]{4})"
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_LAST_OF_TWO_DIGITS = 68


def respell(one: pl.DataFrame, two: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield two tables with values replaced by numbers, once per reading; see `jobs.spelling.respell`."""
    sides = [[frame[name].to_list() for frame in (one, two)] for name in one.columns]
    read = [[_readings({*texts} - {None}) for texts in side] for side in sides]
    tried: list[list[Numbers]] = []
    best: list[tuple[tuple[int, int], Numbers]] = [((-1, -1), np.zeros(0, np.intp))] * len(sides)
    for reading in range(6):
        chosen = []
        for place, (side, ways) in enumerate(zip(sides, read, strict=True)):
            numbers, agreeing = _number(side, [way[reading] for way in ways])
            chosen.append(numbers)
            best[place] = max(best[place], (agreeing, numbers), key=lambda each: each[0])
        tried.append(chosen)
    tried.append([numbers for _, numbers in best])
    for place, chosen in enumerate(tried):
        if not any(all(map(np.array_equal, chosen, earlier)) for earlier in tried[:place]):
            frame = pl.DataFrame(dict(zip(one.columns, chosen, strict=True)))
            yield frame[: one.height], frame[one.height :]


def _number(side: Sequence[Sequence[str | None]], ways: Sequence[Reading]) -> tuple[Numbers, tuple[int, int]]:
    """Number the values of two columns in a reading; return the number of agreeing rows and of values, too."""
    known: dict[str | None, int] = {}
    numbers = []
    for texts, way in zip(side, ways, strict=True):
        as_read = {text: None if text is None else way(text) for text in dict.fromkeys(texts)}
        numbers.append([known.setdefault(as_read[text], len(known)) for text in texts])
    both = {*numbers[0]} & {*numbers[1]}
    agreeing = sum(number in both for each in numbers for number in each)
    return np.array([*numbers[0], *numbers[1]], dtype=np.intp), (agreeing, len(known))


def _readings(texts: set[str]) -> list[Reading]:
    """Return the readings of a column with these texts, each as a function."""
    folded = {text: _fold(text) for text in texts}
    found = [match[1] for text in folded.values() if (match := _PREFIX.match(text))]
    prefix, n = Counter(found).most_common(1)[0] if found else ("", 0)
    prefix = prefix if 2 * n > len(texts) else ""
    days = [partial(_day, month_first=month_first) for month_first in (False, True)]
    return [
        str,
        lambda text: _plain(text.strip()),
        folded.__getitem__,
        lambda text: _without(prefix, folded[text]),
        *(lambda text, read=read: read(text) or folded[text] for read in days),
    ]


def _plain(text: str) -> str:
    if not _NUMBER.fullmatch(text.lower()):
        return text
    number = float(text)
    return repr(number) if math.isfinite(number) else text


def _fold(text: str) -> str:
    normal = unicodedata.normalize("NFKC", text)
    close = "".join(unicodedata.normalize("NFKC", normal.upper().lower()).split()).translate(_DASHES)
    as_number = close.replace(",", ".")
    if _NUMBER.fullmatch(as_number) and math.isfinite(float(as_number)):
        return repr(float(as_number))
    return _ZEROS.sub("", "".join(sign for sign in close if unicodedata.category(sign)[0] in "LMN")) or close


def _without(prefix: str, folded: str) -> str:
    match = _PREFIX.match(folded)
    if not prefix or match is None or match[1] != prefix:
        return folded
    return _plain(re.sub("^0+(?=[0-9])", "", folded.removeprefix(prefix)))


def _day(text: str, *, month_first: bool) -> str | None:
    """Return the date that a text states, in ISO format; None if it states none."""
    stated = _CLOCK.sub("", unicodedata.normalize("NFKC", text).strip())
    parts: list[tuple[str, int, str]] = []
    if match := _YEAR_FIRST.fullmatch(stated):
        month, day = (part for part in match.groups()[1:] if part is not None)
        parts = [(match[1], int(month), day)]
    elif match := _NUMERIC.fullmatch(stated):
        first, sign, second, year = match.groups()
        parts = [(year, int(second), first)]
        if sign != ".":
            parts.insert(0 if month_first else 1, (year, int(first), second))
    elif match := _NAMED.fullmatch(stated.lower()):
        day, month, year = (match[name] or match[f"{name}2"] for name in "dmy")
        parts = [(year, _MONTHS.index(month) + 1 if month in _MONTHS else 0, day)]
    for year, month, day in parts:
        whole = int(year) + (0 if len(year) == 4 else 2000 if int(year) <= _LAST_OF_TWO_DIGITS else 1900)
        try:
            return date(whole, month, int(day)).isoformat()
        except ValueError:
            continue
    return None
