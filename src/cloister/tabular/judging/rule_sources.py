"""What rules bring along from outside the table: a population, or a hierarchy of sensitive values."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cloister.hierarchy import parse_hierarchy
from cloister.io import read_table
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
    missing_as : how hierarchy files write a missing value
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
