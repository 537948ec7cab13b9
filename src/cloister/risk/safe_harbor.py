"""Signs that a table would fail HIPAA's Safe Harbor: columns to review, never values.

Safe Harbor wants three-digit ZIP areas of 20,000 people or fewer changed to 000; which those are depends on the census.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from cloister.errors import InputError

from .column_names import is_named_age, is_named_birth_year, is_named_zip, words_of
from .identifiers import DATE, OF_NUMBERS, OF_TEXT, PERSON, ZIP, ZIP_START, what_a_name_says
from .values import ARE_NUMBERS, TEXT, Values, forms, sum_up_together


@dataclass(frozen=True)
class ZipAreas:
    """The small areas of one census."""

    year: int
    prefixes: frozenset[str]
    source: str


CENSUS_2000 = ZipAreas(
    2000,
    frozenset(
        ("036", "059", "063", "102", "203", "556", "692", "790", "821", "823", "830", "831", "878", "879", "884", "890",
         "893")
    ),
    "US Department of Health and Human Services, guidance on de-identification (2012), from 67 FR 53182, 53233-53234 "
    "(14 August 2002): 2000 census, ZIP code tabulation areas",
)  # fmt: skip

CENSUS_2010 = ZipAreas(
    2010,
    frozenset(
        ("036", "059", "102", "202", "203", "204", "205", "369", "556", "692", "753", "772", "821", "823", "878", "879",
         "884", "893")
    ),
    "2010 census, ZIP code tabulation areas, as data users have published it: the department has published no list of "
    "2010; 202, 204, 753 and 772 are not in every version",
)  # fmt: skip

CENSUSES = {"2000": (CENSUS_2000,), "2010": (CENSUS_2010,), "both": (CENSUS_2000, CENSUS_2010)}
"""By the word that asks for them."""

EVERY = "both"


def small_areas(census: str = EVERY) -> frozenset[str]:
    """Return the three-digit areas that are too small by one census, or by any census.

    Examples
    --------
    >>> "369" in small_areas("2000"), "369" in small_areas()
    (False, True)
    """
    if census not in CENSUSES:
        raise InputError(f"Lists of small ZIP areas are of the census {', '.join(CENSUSES)}; ask for one of these.")
    return frozenset().union(*(areas.prefixes for areas in CENSUSES[census]))


Confidence = Literal["certain", "likely", "possible"]
RANK = {"certain": 0, "likely": 1, "possible": 2}

MOSTLY = 0.9  # a form is that of a column if so many of its values have it
NEARLY_UNIQUE = 0.95
OLDEST = 89
WORDS_OF_TEXT = 4
LENGTH_OF_TEXT = 200
FEW = 20  # a column of fewer values is not called unique: in so few any column may be
OF_ZIP = (ZIP, r"^\d{5}-\d{4}$", r"^0\d{4}$")
OF_FREE_TEXT = {"words": TEXT.str.count_matches(r"\S+"), "long": TEXT.str.len_chars() >= LENGTH_OF_TEXT}


@dataclass(frozen=True)
class IdentifierSign:
    """A sign that a column contains an identifier."""

    column: str
    letter: str
    what: str  # what was found, in words and never in values
    records: int
    # ``certain``: what the rule names is there; ``likely``: name or form leave little doubt; ``possible``: worth a
    # look
    confidence: Confidence


Found = tuple[str, str, int, Confidence]
"""Letter, what was found, records and confidence: an `IdentifierSign` whose column is known."""


def look_for_identifiers(
    frame: pl.DataFrame,
    texts: pl.DataFrame,
    *,
    records: pl.Series | None = None,
    counted: Mapping[str, Values] | None = None,
    census: str = EVERY,
    today: datetime.date | None = None,
) -> tuple[IdentifierSign, ...]:
    """Return the signs of identifiers in all columns of a table, by column, the most certain first.

    What is not found may still be there: names are not recognized by their values, nor numbers that look like any
    other. Safe Harbor also asks that nobody has actual knowledge that the rest could identify a patient.

    Parameters
    ----------
    counted : the values of each column, where they were counted before
    census : the census whose lists of small ZIP areas are used: ``2000``, ``2010`` or ``both``
    """
    areas = small_areas(census)
    year = (today or datetime.date.today()).year
    counted = {column.name: Values.of(column, records) for column in texts} if counted is None else counted
    types = dict(zip(frame.columns, frame.dtypes, strict=True))
    own = (dtype.is_float() or dtype.is_temporal() or dtype == pl.Boolean for dtype in types.values())
    _look_together([counted[column] for column, has_own_form in zip(types, own, strict=True) if not has_own_form])
    found: list[IdentifierSign] = []
    for column, dtype in types.items():
        values = counted[column]
        if len(values.texts) == 0:
            continue
        signs = [*_from_values(dtype, values), *_old(column, values, year)]
        if is_named_zip(column) or not dtype.is_float():
            signs += _zip(column, values, areas)
        signs += _from_name(column, values, {letter for letter, *_ in signs})
        n = values.n_records
        is_certain = any(sure == "certain" for *_, sure in signs)
        if n >= FEW and len(values.texts) >= NEARLY_UNIQUE * n and not is_certain:
            alone = values.n_where(values.records == 1)
            is_likely = not dtype.is_float() and alone == n
            what = "values that hardly any two records share"
            signs.append(("R", what, alone, "likely" if is_likely else "possible"))
        found += [IdentifierSign(column, *sign) for sign in sorted(signs, key=lambda one: (RANK[one[3]], one[0]))]
    return tuple(found)


def _look_together(columns: Sequence[Values]) -> None:
    """Count in columns of text together what is asked of each."""
    sum_up_together(columns, forms(*ARE_NUMBERS))
    of_both = (DATE, PERSON.regex, *OF_ZIP)
    of_numbers, of_text = (forms(*of_both, *(one.regex for one in patterns)) for patterns in (OF_NUMBERS, OF_TEXT))
    sum_up_together((one for one in columns if one.are_numbers), of_numbers)
    sum_up_together((one for one in columns if not one.are_numbers), of_text | OF_FREE_TEXT)


def _from_values(dtype: pl.DataType, values: Values) -> Iterator[Found]:
    n = values.n_records
    if dtype in (pl.Date, pl.Datetime):
        yield "C", "dates finer than a year", n, "certain"
        return
    if dtype.is_float() or dtype == pl.Boolean:
        return
    numbers = values.are_numbers
    patterns = OF_NUMBERS if numbers else OF_TEXT
    dated, people, *found = values.count_like(DATE, PERSON.regex, *(one.regex for one in patterns))
    if dated and (not numbers or dated >= MOSTLY * n):
        yield "C", "values that look like dates finer than a year", dated, _how_sure(dated, n)
    for pattern, alike in zip(patterns, found, strict=True):
        if alike and (pattern.inside or alike >= MOSTLY * n):
            yield pattern.letter, f"values that look like {pattern.what}", alike, _how_sure(alike, n)
    if numbers:
        return
    # Free text, and what may be names of people.
    n_values = len(values.texts)
    words, long = values.sum_up(OF_FREE_TEXT)
    if long or (words / n >= WORDS_OF_TEXT and n_values > n / 2):
        yield "R", "free text, which may hold anything", n, "likely"
    if people >= 0.8 * n and n_values > 0.3 * n and n >= FEW:
        yield "A", f"values that look like {PERSON.what}", people, "possible"


def _how_sure(alike: int, n: int) -> Confidence:
    return "certain" if alike >= MOSTLY * n else "possible" if alike < n / 2 else "likely"


def _zip(column: str, values: Values, areas: frozenset[str]) -> Iterator[Found]:
    n = values.n_records
    fine, plus_four, from_zero = values.count_like(*OF_ZIP)
    if is_named_zip(column):
        if fine:
            yield "B", "ZIP codes of more than three digits", fine, "certain" if fine > n / 2 else "likely"
        if small := values.n_where(values.texts.str.extract(ZIP_START, 1).is_in(list(areas))):
            what = "ZIP codes of areas with 20,000 people or fewer, which must become 000"
            yield "B", what, small, "certain"
    elif plus_four >= MOSTLY * n:
        yield "B", "values that look like ZIP codes of nine digits", plus_four, "likely"
    elif fine >= MOSTLY * n and from_zero:
        yield "B", "values that look like ZIP codes of more than three digits", fine, "possible"


def _old(column: str, values: Values, year: int) -> Iterator[Found]:
    if is_named_age(column):
        numbers = values.texts.str.extract(r"^\D{0,3}(\d{1,3})(?:\.\d+)?(?:\D+(\d{1,3}))?\D?$", 1).cast(pl.Int64)
        upper = values.texts.str.extract(r"^\D{0,3}\d{1,3}\D+(\d{1,3})\D?$", 1).cast(pl.Int64)
        old = (numbers > OLDEST) & (upper.is_null() | (upper > numbers))
        # One group of 90 and more is allowed: a single value from 90 on may be that.
        if kinds := int(old.fill_null(False).sum()):
            what = "ages over 89, which must be put together as 90 and more"
            yield "C", what, values.n_where(old), "certain" if kinds > 1 else "possible"
    if is_named_birth_year(column):
        old = values.texts.str.extract(r"^(\d{4})(?:\.0)?$", 1).cast(pl.Int64) < year - OLDEST
        if old.fill_null(False).any():
            yield "C", "years of birth of people over 89", values.n_where(old), "likely"


def _from_name(column: str, values: Values, found: set[str]) -> Iterator[Found]:
    """Yield the identifier that the name of a column suggests, unless its values show it already, or rule it out."""
    suggested = what_a_name_says(column)
    if suggested is None or suggested.letter in found:
        return
    if suggested.letter == "C":  # years or durations are no dates
        is_none = is_named_birth_year(column) or (values.are_numbers and not {"day", "month"} & set(words_of(column)))
    else:  # nor are three digits, of areas large enough, a place
        is_place = suggested.letter == "B" and is_named_zip(column)
        is_none = is_place and not values.n_where(values.texts.str.count_matches(r"\d") > len("000"))
    if not is_none:
        yield suggested.letter, "the name of the column", values.n_records, "likely" if suggested.strong else "possible"
