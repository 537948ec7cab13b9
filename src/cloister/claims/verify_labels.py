"""Whether labels can be those of the level declared, where the hierarchy is a word that says what they look like."""

import re

import polars as pl

from .data_file import QUASI, ReleasedColumn
from .group_tables import coarser_groups
from .ladders import NamedHierarchy, hierarchies

OF_NUMBERS = frozenset(
    {"age", "days-in-hospital", "length-of-stay", "days-since-first-claim", "weeks-since-first-claim", "pay-delay"}
)
TOP_CODED = re.compile(r"[0-9]{1,9}\+")
"""A label from a step before, such as `162+`, which stays up to the root."""

ABOVE_GROUPS = {"diagnosis": 3, "procedure": 2, "diagnosis-group": 1, "procedure-group": 1, "place": 1, "specialty": 1}
"""The level above the groups, whose labels are known whatever the groups are."""


def labels_fit(column: ReleasedColumn, released: pl.Series) -> bool:
    """Whether the highest level is that of the hierarchy, and every label one of the level; true where unknown."""
    known = hierarchies({})
    if column.role != QUASI or column.hierarchy not in known or column.level is None:
        return True
    hierarchy = known[column.hierarchy]()
    if not isinstance(hierarchy, NamedHierarchy) or column.top != len(hierarchy.levels) + 1:
        return False
    texts = released.drop_nulls().unique().to_list()
    if column.level == column.top:
        return all(text == "*" for text in texts)
    if column.hierarchy in OF_NUMBERS:
        return all(_is_of_level(text, hierarchy, column.level) for text in texts)
    if column.level == ABOVE_GROUPS[column.hierarchy]:
        return {*texts} <= {*coarser_groups().values(), "other"}
    return True


def _is_of_level(text: str, hierarchy: NamedHierarchy, level: int) -> bool:
    """Whether one of the numbers that a label can begin with has this label."""
    if level == 0:
        return hierarchy.accepts(text)
    if TOP_CODED.fullmatch(text):
        return True
    first = re.search(r"[0-9]{1,9}", text)
    number = int(first[0]) if first else 0
    # bands of days, of weeks and of months of 30 days, some without their first number
    begins = (number, 7 * number, 7 * number + 1, 30 * number)
    return any(hierarchy.levels[level - 1](str(begin)) == text for begin in begins)
