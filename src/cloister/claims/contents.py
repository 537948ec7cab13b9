"""Whether columns hold what their roles say: what no step could make right is refused before the first."""

import re

import polars as pl

from cloister.errors import InputError

from .data import Claims
from .dates import days_in

OF_DAYS = ("length-of-stay", "days-since-first-claim", "pay-delay")
LONGEST_SEX, LONGEST_NAME, MOST_WORDS = 20, 60, 8
MANY_DIGITS = re.compile(r"[0-9]{4}")


def check_contents(data: Claims) -> None:
    """Refuse dates in a column of days, and free text in a column of sexes.

    Raises
    ------
    InputError
        With file, column and the number of rows, never a value.
    """
    plan, (of_patients, of_claims) = data.plan, data.names
    for column in plan.claim_columns(*OF_DAYS):
        _refuse(
            of_claims, data.claims[column], days_in(data.claims[column]).is_not_null(), "are dates, not numbers of days"
        )
    for column in plan.patient_columns("sex"):
        sexes = data.patients[column]
        text = [value for value in sexes.drop_nulls().unique() if not is_sex(value)]
        _refuse(of_patients, sexes, sexes.is_in(text), "are no sex: one or two words, or a number of up to five digits")


def _refuse(file: str, series: pl.Series, wrong: pl.Series, found: str) -> None:
    rows = int(wrong.fill_null(False).sum())
    if rows:
        raise InputError(
            f"Column {series.name!r} of {file}: {rows} values {found}. Correct them, or give the column another role.",
            file=file,
            column=series.name,
        )


def is_sex(text: str) -> bool:
    """Whether a text can be the name or number of a sex, in any language.

    Examples
    --------
    >>> [is_sex(text) for text in ("F", "not known", "8507", "ask Mrs Miller 555-1234")]
    [True, True, True, False]
    """
    words = text.split()
    named = 0 < len(words) <= 2 and len(text) <= LONGEST_SEX and all(word.isalpha() for word in words)
    return named or re.fullmatch(r"\s*[0-9]{1,5}\s*", text) is not None


def is_name(text: str) -> bool:
    """Whether a text can be a category such as a region or a race, and is no remark.

    Examples
    --------
    >>> [is_name(text) for text in ("Black or African American", "12345-6789", "District 12", "call 555-1234")]
    [True, True, True, False]
    """
    words = text.split()
    if len(text) > LONGEST_NAME or len(words) > MOST_WORDS:
        return False
    digits = any(character.isdigit() for character in text)
    return not digits or len(words) <= 1 or (len(words) <= 3 and MANY_DIGITS.search(text) is None)
