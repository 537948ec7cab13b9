"""Population tables that rules bring along: who could be in the data, by their quasi-identifiers."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from cloister.errors import InputError
from cloister.io import as_text, from_native
from cloister.io.header import listed
from cloister.privacy import PrivacyRule


def has_population(rule: PrivacyRule) -> bool:
    """Whether a rule compares with a population table."""
    return getattr(rule, "needs", None) == "population"


def in_sample(rule: PrivacyRule, n_records: int) -> PrivacyRule:
    """Return a rule that knows how many records the table has, if it must."""
    sampled: PrivacyRule = getattr(rule, "in_sample", lambda _: rule)(n_records)
    return sampled


def population_frame(rule: PrivacyRule) -> pl.DataFrame:
    """Return the population table of a rule."""
    population: Any = getattr(rule, "population", None)
    if population is None:
        raise InputError(f"The rule {rule.words()} compares with a population table, but none was given.")
    return from_native(population).frame


def population_texts(rule: PrivacyRule, columns: Sequence[str]) -> dict[str, pl.Series]:
    """Return the quasi-identifiers of the population of a rule, as text."""
    frame = population_frame(rule)
    absent = [column for column in columns if column not in frame.columns]
    if absent:
        raise InputError(
            f"The population of the rule {rule.words()} lacks quasi-identifiers: {', '.join(absent)}. "
            f"Its columns: {listed(frame.columns)}.",
            column=absent[0],
        )
    return {column: as_text(frame[column]) for column in columns}
