"""Describe an undecided column in a few words: a hint for the user who decides, never a decision."""

import numpy as np

from cloister.risk.column_names import DATE, DATE_PART, PEOPLE, PLACE, is_about, is_named_survey_weight
from cloister.risk.identifiers import PERSON

from .column import Column

LEAST_DAY, LAST_DAY = 3_000, 80_000
"""Days since 1900, 1960 or 1970 that a date of our time may be counted as."""

UK_POSTCODE = r"[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}"
NUTS = r"(AT|BE|BG|CH|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|NO|PL|PT|RO|SE|SI|SK|UK)[0-9A-Z]{1,3}"
OF_A_PERSON = PERSON.regex.strip("^$")
OF_NAMES_AND_PLACES = (OF_A_PERSON, UK_POSTCODE, NUTS)


def suspicion(column: Column) -> str:
    """Describe a column by its form and number of values, never by a value."""
    looks = _of_dates(column) or _of_people(column) or _of_places(column) or _of_numbers(column)
    count = "one value in all records" if column.n_values == 1 else f"{column.n_values:,} values"
    return f"{looks}; {count}" if looks else count


def _of_dates(column: Column) -> str | None:
    if not column.are_numbers or not column.is_whole:
        return None
    is_named = column.speaks_of(
        lambda name: is_about(name, DATE) or name.casefold().endswith(("dt", "dte", "date", "dat"))
    )
    if column.share_between(1850, 2100) >= 0.9 and column.n_values > 1:
        return "looks like years"
    if (
        column.share_between(1, 31) >= 0.9
        and column.n_values > 2
        and column.speaks_of(
            lambda name: is_about(name, DATE_PART) or name[:2].casefold() in ("mo", "da", "dy")  # as in `modth`
        )
    ):
        return "looks like part of a date"
    if column.share_between(LEAST_DAY, LAST_DAY) >= 0.9 and (is_named or _spread(column)):
        return "looks like a date (number of a day)" if is_named else "may be numbers of days"
    return None


def _spread(column: Column) -> bool:
    """Whether whole numbers spread as dates of a study do: many of them, within sixty years."""
    known = column.numbers[~np.isnan(column.numbers)]
    return column.n_values > 0.2 * column.n_present and float(np.ptp(known)) < 365 * 60


def _of_people(column: Column) -> str | None:
    if column.speaks_of(is_named_survey_weight):
        return "a survey weight, by its name: it says the stratum again"
    if not column.are_numbers and column.share_like(OF_A_PERSON) >= 0.8:
        return "looks like names of people"
    if column.speaks_of(lambda name: is_about(name, PEOPLE)):
        return "about people, by its name"
    return None


def _of_places(column: Column) -> str | None:
    if not column.are_numbers and column.mostly(UK_POSTCODE):
        return "looks like postcodes"
    if not column.are_numbers and column.mostly(NUTS):
        return "looks like codes of regions"
    return "a place, by its name" if column.speaks_of(lambda name: is_about(name, PLACE)) else None


def _of_numbers(column: Column) -> str | None:
    if column.is_measured:
        return "measurements"
    if column.n_rows > 1 and column.n_values > 0.9 * column.n_rows:
        return "numbers that hardly any two records share" if column.are_numbers else "another value in each record"
    return None
