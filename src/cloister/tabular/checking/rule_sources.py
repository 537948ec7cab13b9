"""Files and tables that rules compare with: hierarchies and populations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import parse_hierarchy
from cloister.io import as_text, from_native, read_table
from cloister.io.columns import listed
from cloister.privacy import PrivacyRule, parse_rule


def read_rule(
    text: str,
    *,
    missing_as: str | None = None,
    missing: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
) -> PrivacyRule:
    """Return the rule that a text names, with the table or hierarchy that it names read.

    Parameters
    ----------
    missing, encoding, delimiter : how population tables are read, as the table itself
    """
    rule: Any = parse_rule(text)
    source = getattr(rule, "source", None)
    if source is not None and hasattr(rule, "with_population"):
        rule = rule.with_population(
            read_table(Path(source), encoding=encoding, delimiter=delimiter, missing=missing).frame
        )
    elif source is not None:
        rule = rule.with_hierarchy(parse_hierarchy(source, missing_as=missing_as))
    read: PrivacyRule = rule
    return read


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
