"""What the columns of a table seem to be, by their names and by what they hold. What is not known is not released."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from cloister.claims.guessing import IDS, Guess, are_ages, are_codes, are_dates, are_few, are_years, plain_name
from cloister.errors import InputError
from cloister.hierarchy import parse_hierarchy
from cloister.io import as_text
from cloister.risk.identifiers import CLASSES, is_named_age, is_named_birth_year, is_named_zip, what_a_name_says
from cloister.risk.safe_harbor import IdentifierSign, look_for_identifiers

ID, QUASI, SENSITIVE, DROP = "id", "quasi-identifier", "sensitive", "drop"
RECORD_NUMBERS = "H"
USUAL_AGES = "interval:5,10,20/top=90"
BIRTHS, BIRTH_YEARS = "date:year,decade", "interval:5,10,20"
KINDS_OF_PEOPLE = re.compile(
    r"sex|gender|race|ethnic|marital|civil_status|language|religion|(^|_)state($|_)|region|country|nationality|"
    r"education|occupation|insurance_type|payer|(^|_)smok"
)
"""Names of columns that tell kinds of people apart: few values, known to others."""

OF_THE_BODY = re.compile(r"height|weight|(^|_)bmi($|_)|income|salary")
OF_CARE = re.compile(
    r"icd|diag|(^|_)dx|disease|condition|procedure|cpt|hcpcs|drug|medication|(^|_)atc($|_)|outcome|result|treatment|"
    r"therapy|department|ward"
)
"""Names of columns about a patient's care, released as recorded where their values are shared by many."""

COUNTED = re.compile(r"(^|_)(n|nr|no|num|number|count|counts)(_|$)")
"""Names of columns that count something: they may stand out, and are not released as recorded."""

MANY_KINDS = 60
UNIQUE_SHARE = 0.05
"""A column is not released as recorded if more of its values than this stand in one record alone."""


@dataclass(frozen=True)
class Column:
    """A column to be guessed.

    Attributes
    ----------
    name : its name; ``plain`` the same in small letters, words parted by ``_``
    values : distinct values, sorted
    unique_share : share of the records whose value no other has
    findings : signs of identifiers
    """

    name: str
    values: Sequence[str] = field(repr=False)
    unique_share: float
    is_key: bool
    findings: tuple[IdentifierSign, ...] = field(repr=False)

    @property
    def plain(self) -> str:
        """The name in small letters, words parted by ``_``."""
        return plain_name(self.name)


def guess_table(frame: pl.DataFrame, file: str) -> list[Guess]:
    """Guess the role of each column of a table with one row a patient."""
    texts = pl.DataFrame([as_text(column) for column in frame])
    found = look_for_identifiers(frame, texts)
    columns = [_column(texts[name], [one for one in found if one.column == name]) for name in texts.columns]
    identifier = _identifier(columns, frame.height, file)
    guesses = [
        Guess(one.name, ID, "sure", "by its name, and another value for each patient")
        if one is identifier
        else guess_column(one)
        for one in columns
    ]
    guesses = _one_birth(guesses, texts)
    if not any(guess.role == QUASI for guess in guesses):
        raise InputError(
            f"No column of {file} was recognised as a quasi-identifier, such as age, sex or ZIP. Rename columns, or "
            "write the job by hand.",
            file=file,
        )
    return guesses


def _one_birth(guesses: Sequence[Guess], texts: pl.DataFrame) -> list[Guess]:
    """Guesses with the year of a birth dropped where its date is there, or the date where more years are known."""
    taken = [guess for guess in guesses if guess.role == QUASI]
    dates = [guess.column for guess in taken if guess.hierarchy == BIRTHS]
    years = [guess.column for guess in taken if guess.hierarchy == BIRTH_YEARS and is_named_birth_year(guess.column)]
    dropped: dict[str, str] = {}
    for date, year in ((date, year) for date in dates for year in years):
        same = texts[date].str.head(4).eq(texts[year]).drop_nulls()
        if same.is_empty() or not same.all():
            continue
        more = texts[date].null_count() > texts[year].null_count()
        dropped |= {date: year} if more else {year: date}
    return [
        Guess(guess.column, DROP, "sure", f"{dropped[guess.column]} tells the same birth")
        if guess.column in dropped
        else guess
        for guess in guesses
    ]


def _column(text: pl.Series, findings: Sequence[IdentifierSign]) -> Column:
    n = max(1, len(text))
    alone = float(text.is_unique().sum()) / n
    is_key = text.n_unique() == len(text) and not text.null_count()
    return Column(text.name, text.drop_nulls().unique().sort().to_list(), alone, is_key, tuple(findings))


def _identifier(columns: Sequence[Column], n: int, file: str) -> Column | None:
    """The column of ids: one of the usual names, with another value in each record."""
    named = [one for one in columns if one.plain in IDS]
    numbers = [one for one in columns if _says(one, RECORD_NUMBERS)]
    whole = next((one for one in (*named, *numbers) if one.is_key), None)
    if whole is None and named and len(named[0].values) > 1:
        raise InputError(
            f"A table has one row a patient, but {file} has {n:,} rows and {len(named[0].values):,} distinct values of "
            f"{named[0].name!r}. Reduce it to one row a patient, or use init codes, trajectories or claims.",
            file=file,
            column=named[0].name,
        )
    return whole


def guess_column(column: Column) -> Guess:
    """Guess the role of a column that is not the id."""
    if not column.values:
        return Guess(column.name, DROP, "sure", "it is empty")
    return (
        _of_a_person(column)
        or _identifying(column)
        or _of_care(column)
        or Guess(column.name, DROP, "not sure", "nothing known of it")
    )


def _of_a_person(column: Column) -> Guess | None:
    """Quasi-identifiers, with their hierarchies."""
    name, values = column.name, column.values
    if is_named_age(name) and are_ages(values):
        return Guess(name, QUASI, "sure", "ages, by name and content", USUAL_AGES)
    if (is_named_birth_year(name) or "birth" in column.plain) and are_years(values):
        return Guess(name, QUASI, "sure", "years of birth, by name and content", BIRTH_YEARS)
    if are_dates(values):
        birth = re.search(r"birth|(^|_)dob($|_)", column.plain) is not None
        words = BIRTHS if birth else "date:month,quarter,year"
        if not _is_readable(name, values, words):
            return Guess(name, DROP, "likely", "dates in a form that cannot be generalized: write them YYYY-MM-DD")
        return Guess(name, QUASI, "sure" if _says(column, "C") else "likely", "dates, by content", words)
    if is_named_zip(name) and all(re.fullmatch(r"[0-9]{5}", value) for value in values):
        return Guess(name, QUASI, "sure", "ZIP codes, by name and content", "prefix:5")
    # few values, or not too many and each that of several people
    are_kinds = are_few(values) or (len(values) <= MANY_KINDS and column.unique_share <= UNIQUE_SHARE)
    if KINDS_OF_PEOPLE.search(column.plain) and are_kinds:
        return Guess(name, QUASI, "sure" if are_few(values) else "likely", "by its name, few values", "suppress")
    width = _width(values) if OF_THE_BODY.search(column.plain) else None
    if width is not None:
        return Guess(name, QUASI, "likely", "by its name, numbers", f"interval:{width},{5 * width},{10 * width}")
    return None


def _is_readable(name: str, values: Sequence[str], words: str) -> bool:
    """Whether a hierarchy takes all values of a column."""
    try:
        parse_hierarchy(words).bind(name, list(values))
    except InputError:
        return False
    return True


def _identifying(column: Column) -> Guess | None:
    """Direct identifiers: by the checks of Safe Harbor."""
    sure = [one for one in column.findings if one.confidence in ("certain", "likely")]
    if sure or _says(column, None):
        said = what_a_name_says(column.name)
        letter = sure[0].letter if sure else said.letter if said else "R"
        return Guess(column.name, DROP, "sure", f"identifies patients: {CLASSES[letter]}")
    if column.unique_share > UNIQUE_SHARE and OF_CARE.search(column.plain):
        return Guess(column.name, DROP, "likely", "many of its values stand in one record alone")
    if column.findings:
        return Guess(column.name, DROP, "likely", f"may identify patients: {CLASSES[column.findings[0].letter]}")
    return None


def _of_care(column: Column) -> Guess | None:
    """What is released as recorded: about a patient's care, and shared by many."""
    if not OF_CARE.search(column.plain) or COUNTED.search(column.plain):
        return None
    if any(" " in value and len(value.split()) > 1 and are_codes(value.split()) for value in column.values[:100]):
        return Guess(column.name, DROP, "likely", "lists of codes; codes and m of a table protect them")
    if are_codes(column.values):
        return Guess(column.name, SENSITIVE, "sure", "codes of diagnoses, by name and content")
    return Guess(column.name, SENSITIVE, "likely", "by its name, values that many share")


def _says(column: Column, letter: str | None) -> bool:
    """Whether the name leaves little doubt that it is of a class of identifiers, or of this one."""
    said = what_a_name_says(column.name)
    return said is not None and said.strong and letter in (None, said.letter)


def _width(values: Sequence[str]) -> int | None:
    """A power of ten that cuts numbers into some tens of intervals; None where they are no numbers."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return None
    size = max(map(abs, numbers))
    if not math.isfinite(size) or not 1 <= size < 10**12:
        return None
    return int(10 ** max(0, math.floor(math.log10(size)) - 1))
