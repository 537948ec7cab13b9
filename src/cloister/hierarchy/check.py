"""Hierarchies before they are used: whether a file is a legal one, and what each level does to a column.

Legal is every value once, levels that nest, one root. Answers are in line numbers, not labels; a preview shows labels,
for the owner's eyes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from cloister.hierarchy.ladder import Hierarchy

Rows = Sequence[Sequence[str]]
LINES_SHOWN = 5
"""How many line numbers a message lists."""

LABELS_SHOWN = 3
"""How many labels a preview shows of a level."""


@dataclass(frozen=True)
class HierarchyProblem:
    """One reason why a hierarchy cannot be used.

    Attributes
    ----------
    kind : `empty`, `ragged`, `duplicate`, `no-root`, `two-roots` or `not-nested`
    message : what was found, on which lines, and what to do; never a label
    rows : the lines concerned, counted from 1
    """

    kind: str
    message: str
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class HierarchyReport:
    """What a check found."""

    name: str
    n_values: int
    n_levels: int
    groups: tuple[int, ...]
    problems: tuple[HierarchyProblem, ...]

    @property
    def is_legal(self) -> bool:
        """Whether the hierarchy can be used."""
        return not self.problems


def check_rows(rows: Rows, name: str, lines: Sequence[int] | None = None) -> HierarchyReport:
    """Return what is wrong with the rows of a hierarchy: original value first, root last.

    Parameters
    ----------
    rows : (n_values,) rows of labels
    lines : (n_values,) line of each row in its file; counted from 1 if not given

    Examples
    --------
    >>> check_rows([["44", "40-49", "*"], ["45", "40-49", "*"]], "age.csv").groups
    (2, 1, 1)
    """
    if not rows:
        empty = HierarchyProblem(
            "empty", "There are no rows. Write one a value: the value, its ever coarser labels, a root."
        )
        return HierarchyReport(name, 0, 0, (), (empty,))
    numbers = range(1, len(rows) + 1) if lines is None else lines
    width = Counter(map(len, rows)).most_common(1)[0][0]
    whole = [(line, row) for line, row in zip(numbers, rows, strict=True) if len(row) == width]
    columns = list(zip(*(row for _, row in whole), strict=True))
    kept = [line for line, _ in whole]
    ragged = [line for line, row in zip(numbers, rows, strict=True) if len(row) != width]
    problems = (*_ragged(ragged, width), *_duplicates(columns, kept), *_roots(columns, kept), *_nesting(columns, kept))
    return HierarchyReport(name, len(rows), width, tuple(len(set(column)) for column in columns), problems)


Columns = Sequence[Sequence[str]]


def _ragged(ragged: Sequence[int], width: int) -> Iterator[HierarchyProblem]:
    if ragged:
        message = f"Most rows have {width} columns, but not {_at(ragged)}. Give every value a label at every level."
        yield HierarchyProblem("ragged", message, tuple(ragged))


def _duplicates(columns: Columns, lines: Sequence[int]) -> Iterator[HierarchyProblem]:
    seen: set[str] = set()
    again: list[int] = []
    for line, value in zip(lines, columns[0], strict=True) if columns else ():
        if value in seen:
            again.append(line)
        seen.add(value)
    if again:
        message = f"A value that stood before stands again {_at(again)}. Keep one row for each value."
        yield HierarchyProblem("duplicate", message, tuple(again))


def _roots(columns: Columns, lines: Sequence[int]) -> Iterator[HierarchyProblem]:
    roots = columns[-1] if columns else ()
    if len(columns) < 2 or not any(roots):
        message = "There is no root. End every row with one more column that holds the same label, such as *."
        yield HierarchyProblem("no-root", message)
    elif len(set(roots)) > 1:
        others = [line for line, root in zip(lines, roots, strict=True) if root != roots[0]]
        message = (
            f"The last column has {len(set(roots))} different labels; it differs from the first row {_at(others)}. "
            "Correct them, or end every row with one more column that holds the same label, such as *."
        )
        yield HierarchyProblem("two-roots", message, tuple(others))


def _nesting(columns: Columns, lines: Sequence[int]) -> Iterator[HierarchyProblem]:
    for level in range(1, len(columns) - 1):
        broken, split = _split(columns[level], columns[level + 1], lines)
        if broken:
            message = (
                f"Levels {level} and {level + 1} do not nest (the first column is level 0): the values of a label have "
                f"to share their next label, and those of {broken} do not, {_at(split)}. Give them the same one there."
            )
            yield HierarchyProblem("not-nested", message, tuple(split))


def _split(finer: Sequence[str], coarser: Sequence[str], lines: Sequence[int]) -> tuple[int, list[int]]:
    """Return how many finer labels have more than one coarser label, and the lines that differ from the first."""
    parents: dict[str, str] = {}
    broken: set[str] = set()
    split: list[int] = []
    for line, label, parent in zip(lines, finer, coarser, strict=True):
        if parents.setdefault(label, parent) != parent:
            broken.add(label)
            split.append(line)
    return len(broken), split


def _at(lines: Sequence[int]) -> str:
    listed = ", ".join(map(str, lines[:LINES_SHOWN]))
    rest = len(lines) - LINES_SHOWN
    return f"on line{'s' if len(lines) > 1 else ''} {listed}{f' and {rest} more' if rest > 0 else ''}"


@dataclass(frozen=True)
class LevelPreview:
    """One level of a hierarchy over the values of a column."""

    level: int
    n_groups: int
    smallest: int
    largest: int
    examples: tuple[str | None, ...] = field(repr=False)


def preview(hierarchy: Hierarchy, values: Iterable[str | None], column: str = "values") -> tuple[LevelPreview, ...]:
    """Return the groups that the values form at each level; repeated values count as often as they are given."""
    occurrences = Counter(values)
    ladder = hierarchy.bind(column, list(occurrences))
    weights = [occurrences[value] for value in ladder.values]
    return tuple(_preview_level(level, labels, weights) for level, labels in enumerate(ladder.labels))


def _preview_level(level: int, labels: Iterable[str | None], weights: Iterable[int]) -> LevelPreview:
    groups: Counter[str | None] = Counter()
    for label, weight in zip(labels, weights, strict=True):
        groups[label] += weight
    sizes = groups.values()
    return LevelPreview(level, len(groups), min(sizes, default=0), max(sizes, default=0), tuple(groups)[:LABELS_SHOWN])
