"""Find the column that distinguishes patients; among several, the one that distinguishes persons, not their stays."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from cloister.risk.column_names import is_named_survey_weight
from cloister.risk.identifiers import (
    GROUPS,
    is_determined,
    is_named_number,
    is_named_patient,
    numbers_patients,
    repeated_patients,
    what_a_name_says,
)
from cloister.risk.row_numbers import number_values

from .column import Column, Guess, is_id_by_name
from .roles import DROP, ID, PATIENT, QUASI, SENSITIVE, UNDECIDED

REPEATS = "it repeats: a patient has several rows, so patients are counted"
RECORD_NUMBERS = "H"
LEAST_PEOPLE = 20  # a column of fewer values, each in many records, has kinds of people unless it says patients
OF_IDS = (r"[A-Za-z]", r"[0-9]{2}")
AGREE = 0.9  # share of the records of a person that agree in what does not change about one


def find_id(columns: Sequence[Column], texts: pl.DataFrame) -> Guess | None:
    """Return the column of ids: by its name, with unique values; or one that shows which records are of one patient.

    Numbers with decimals, weights of a survey, numbers that only count within a group, and columns with missing values
    are no ids.
    """
    complete = [one for one in columns if one.n_present == one.n_rows]
    able = [one for one in complete if not (one.is_measured or one.speaks_of(is_named_survey_weight))]
    named = [one for one in able if is_id_by_name(one.name)]
    suggested = {one.name: what_a_name_says(one.name) for one in able}
    numbers = [one for one in able if (word := suggested[one.name]) and word.strong and word.letter == RECORD_NUMBERS]
    least = min(LEAST_PEOPLE, GROUPS * texts.height)
    several = [
        one
        for one in named
        if not one.is_key
        and (one.n_values >= least or numbers_patients(one.name, one.values))
        and not counts_in_groups(one, texts)
    ]
    patients = next((one for one in several if is_named_patient(one.name)), None)
    whole = next((one for one in (*named, *numbers) if one.is_key), None)
    if patients is None and whole is not None:
        return Guess(whole.name, ID, "sure", "by its name, and another value for each patient")
    patients = patients or next(iter(several), None)
    return None if patients is None else Guess(patients.name, PATIENT, "sure", REPEATS)


def counts_in_groups(column: Column, texts: pl.DataFrame) -> bool:
    """Whether a column counts people within a group, such as a household, from 1 on.

    Then 1 is the commonest value, 2 the next, and so on without a gap; and another column has the groups, within
    which no number repeats.
    """
    if not (column.are_numbers and column.is_whole) or column.n_values < 2:
        return False
    order = np.argsort(column.numbers)
    numbers, records = column.numbers[order], column.records[order]
    if numbers[0] not in (0, 1) or (np.diff(numbers) != 1).any() or (np.diff(records) > 0).any():
        return False
    largest = int(records[0])
    pairs = (texts.select(pl.struct(name, column.name).n_unique(), pl.col(name).n_unique().alias("groups"))
             for name in texts.columns if name != column.name)  # fmt: skip
    return any(found.item(0, 0) == texts.height and found.item(0, 1) == largest for found in pairs)


def with_patients(
    guesses: Sequence[Guess], texts: pl.DataFrame, columns: Mapping[str, Column], identifier: Guess | None
) -> list[Guess]:
    """Return the guesses with the column that distinguishes persons, where records of one person repeat.

    Of columns that repeat, that is the one which the others determine: every stay is of one person.
    """
    quasi = {one.column: texts[one.column] for one in guesses if one.role == QUASI}
    if identifier is not None and identifier.role == PATIENT:
        finest = identifier.column
    else:
        others = {
            one.column: texts[one.column]
            for one in guesses
            if one.role in (DROP, SENSITIVE, UNDECIDED) and _is_like_id(columns[one.column])
        }
        repeated = repeated_patients(others, list(quasi.values()))
        if not repeated:
            return [*guesses]
        finest = repeated[0].column
    person = _person_above(finest, guesses, texts, columns) or finest
    changed = {one.column: Guess(one.column, DROP, "sure", "rows, not patients") for one in guesses if one.role == ID}
    if person != finest:
        changed[finest] = Guess(finest, DROP, "sure", f"several of its values are of one {person}")
    changed[person] = Guess(person, PATIENT, "sure", REPEATS)
    return [changed.get(one.column, one) for one in guesses]


def _person_above(
    stay: str, guesses: Sequence[Guess], texts: pl.DataFrame, columns: Mapping[str, Column]
) -> str | None:
    """Return the column that one determines and whose values are persons: they agree in what does not change.

    What does not change about a person: sex, ethnicity, birth; the quasi-identifiers whose labels are kept or
    suppressed, or are births.
    """
    fixed = {one.column for one in guesses if one.role == QUASI and (one.hierarchy == "suppress" or "birth" in one.why)}
    of_stay = number_values(texts[stay])
    least, n_stays = max(2, GROUPS * texts.height), np.unique(of_stay).size
    for one in guesses:
        text, column = texts[one.column], columns[one.column]
        if one.column == stay or one.role in (QUASI, SENSITIVE) or not _is_like_id(column):
            continue
        if not least <= column.n_values < n_stays or column.is_measured:
            continue
        if is_determined(text, of_stay) and all(_agrees(text, texts[name]) for name in fixed):
            return one.column
    return None


def _is_like_id(column: Column) -> bool:
    """Whether a column is called after ids or persons, or has codes with letters and digits; no missing value."""
    n = column.n_rows
    if column.n_present < n:
        return False
    is_named = is_named_patient(column.name) or is_named_number(column.name)
    return is_named or column.counted.count_like(*OF_IDS) == (n, n)


def _agrees(person: pl.Series, value: pl.Series) -> bool:
    """Whether nearly all records of a person have the person's most frequent value."""
    counted = pl.DataFrame([person.alias("person"), value.alias("value")]).group_by("person", "value").len()
    return float(counted.group_by("person").agg(pl.col("len").max())["len"].sum()) >= AGREE * len(person)
