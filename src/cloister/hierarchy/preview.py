"""What a hierarchy does to a column, level by level, for the owner's eyes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from cloister.hierarchy.ladder import Hierarchy

SHOWN = 3
"""How many labels a preview shows of a level."""


@dataclass(frozen=True)
class LevelPreview:
    """One level of a hierarchy over the values of a column.

    Attributes
    ----------
    level : 0 for the original values
    n_groups : different labels
    smallest, largest : values (records, if one value a record was given) in the smallest and the largest group
    examples : a few labels; not in the representation, because they are data
    """

    level: int
    n_groups: int
    smallest: int
    largest: int
    examples: tuple[str | None, ...] = field(repr=False)


def preview(hierarchy: Hierarchy, values: Iterable[str | None], column: str = "values") -> tuple[LevelPreview, ...]:
    """Return the groups that the values form at each level; repeated values count as often as they are given.

    Raises
    ------
    InputError
        A value is outside the hierarchy.
    """
    occurrences = Counter(values)
    ladder = hierarchy.bind(column, list(occurrences))
    weights = [occurrences[value] for value in ladder.values]
    return tuple(_preview_level(level, labels, weights) for level, labels in enumerate(ladder.labels))


def _preview_level(level: int, labels: Iterable[str | None], weights: Iterable[int]) -> LevelPreview:
    groups: Counter[str | None] = Counter()
    for label, weight in zip(labels, weights, strict=True):
        groups[label] += weight
    sizes = groups.values()
    return LevelPreview(level, len(groups), min(sizes, default=0), max(sizes, default=0), tuple(groups)[:SHOWN])
