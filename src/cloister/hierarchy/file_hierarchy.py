"""A hierarchy written by the user, one row of labels per value: rows, or a file in the form of ARX.

Before use, check that the hierarchy is legal, and preview each level. In a legal hierarchy every value occurs once,
levels nest, and there is one root. Problems name lines, not labels; a preview shows labels, for the data owner only.
"""

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from string import whitespace
from typing import ClassVar

import numpy as np

from cloister.errors import InputError, setting
from cloister.hierarchy.bound import BoundHierarchy, Hierarchy, require_cover, texts_in_order

Rows = Sequence[Sequence[str]]
LINES_SHOWN = 5  # how many line numbers a message lists
LABELS_SHOWN = 3  # how many labels a preview shows of a level
GROUPS_DRAWN = 200


@dataclass(frozen=True)
class HierarchyProblem:
    """A reason why a hierarchy cannot be used."""

    kind: str  # `empty`, `ragged`, `duplicate`, `no-root`, `header`, `two-roots` or `not-nested`
    message: str
    rows: tuple[int, ...] = ()  # the lines concerned, counted from 1


def check_rows(rows: Rows, lines: Sequence[int] = ()) -> list[HierarchyProblem]:
    """Return the problems of hierarchy rows (original value first, root last); empty if the hierarchy is legal.

    Parameters
    ----------
    lines : (n_values,) line of each row in its file; counted from 1 by default

    Examples
    --------
    >>> [problem.kind for problem in check_rows([["44", "40-49", "*"], ["45", "40-49"], ["46", "40-49", "*"]])]
    ['ragged']
    """
    if not rows:
        message = "There are no rows. Write one a value: the value, its ever coarser labels, a root."
        return [HierarchyProblem("empty", message)]
    width = Counter(map(len, rows)).most_common(1)[0][0]
    numbered = list(zip(lines or range(1, len(rows) + 1), rows, strict=True))
    whole = [(line, row) for line, row in numbered if len(row) == width]
    ragged = [line for line, row in numbered if len(row) != width]
    columns, kept = list(zip(*(row for _, row in whole), strict=True)), [line for line, _ in whole]
    return [*_row_problems(ragged, width, columns, kept), *_level_problems(columns, kept)]


def _row_problems(ragged: Sequence[int], width: int, columns: Rows, lines: Sequence[int]) -> Iterator[HierarchyProblem]:
    if ragged:
        message = f"Most rows have {width} columns, but not {_at(ragged)}. Give every value a label at every level."
        yield HierarchyProblem("ragged", message, tuple(ragged))
    first: dict[str, int] = {}
    values = zip(lines, columns[0], strict=True) if columns else ()
    if again := [line for line, value in values if first.setdefault(value, line) != line]:
        message = f"A value that stood before stands again {_at(again)}. Keep one row for each value."
        yield HierarchyProblem("duplicate", message, tuple(again))


def _level_problems(columns: Rows, lines: Sequence[int]) -> Iterator[HierarchyProblem]:
    roots = columns[-1] if columns else ()
    if len(columns) < 2 or not any(roots):
        message = "There is no root. End every row with one more column that holds the same label, such as *."
        yield HierarchyProblem("no-root", message)
    elif len(set(roots[1:])) == 1 and roots[0] != roots[1] and len(roots) > 2:
        message = (
            f"Line {lines[0]} looks like names of columns, which hierarchy files do not have: its last label differs "
            "from that of all other lines. Remove it."
        )
        yield HierarchyProblem("header", message, (lines[0],))
    elif len(set(roots)) > 1:
        others = [line for line, root in zip(lines, roots, strict=True) if root != roots[0]]
        message = (
            f"The last column has {len(set(roots))} different labels; it differs from the first row {_at(others)}. "
            "Correct them, or end every row with one more column that holds the same label, such as *."
        )
        yield HierarchyProblem("two-roots", message, tuple(others))
    for level, (labels, coarser) in enumerate(pairwise(columns[1:]), start=1):
        parents: dict[str, str] = {}
        rows = zip(lines, labels, coarser, strict=True)
        split = [(line, label) for line, label, parent in rows if parents.setdefault(label, parent) != parent]
        if split:
            broken, where = len({label for _, label in split}), tuple(line for line, _ in split)
            message = (
                f"Levels {level} and {level + 1} do not nest (the first column is level 0): the values of a label have "
                f"to share their next label, and those of {broken} do not, {_at(where)}. Give them the same one there."
            )
            yield HierarchyProblem("not-nested", message, where)


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
    sizes: tuple[int, ...] = ()  # records of each group, in the order of values; none where groups are too many to draw


def preview(
    hierarchy: Hierarchy, values: Iterable[str | None] | Mapping[str | None, int], column: str = "values"
) -> tuple[LevelPreview, ...]:
    """Return the groups of the values at each level; repeated values count as often as they occur.

    ``values``: one for each record, or how many records have each
    """
    occurrences = Counter(values)
    bound = hierarchy.bind(column, list(occurrences))
    found = []
    for level, labels in enumerate(bound.labels):
        groups: Counter[str | None] = Counter()
        for label, value in zip(labels, bound.values, strict=True):
            groups[label] += occurrences[value]
        least, most = min(groups.values(), default=0), max(groups.values(), default=0)
        sizes = tuple(groups.values()) if len(groups) <= GROUPS_DRAWN else ()
        found.append(LevelPreview(level, len(groups), least, most, tuple(groups)[:LABELS_SHOWN], sizes))
    return tuple(found)


@dataclass(frozen=True)
class FileHierarchy:
    """The levels of a hierarchy file.

    The domain is the values that the file lists, whether they occur or not. Missing must be listed if it occurs: as an
    empty cell, or under the text ``missing_as``. It then has the labels of that row, except that it stays missing at
    level 0, and it is a leaf of the domain only if it occurs; where the text ``missing_as`` occurs as well, the two are
    a leaf each. An empty label below the root reads as missing. One label may stand at several levels for different
    sets.

    Parameters
    ----------
    lines : (n_values,) line of each row in the file; counted from 1 if empty
    missing_as : text under which missing is listed, or None for an empty cell
    """

    name: str
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    lines: tuple[int, ...] = field(default=(), repr=False)
    missing_as: str | None = field(default=None, repr=False)
    kind: ClassVar[str] = "file"

    def __post_init__(self) -> None:
        for problem in check_rows(self.rows, self.lines)[:1]:
            line = problem.rows[0] if problem.rows else None
            raise InputError(f"{self.name}: {problem.message}", file=self.name, line=line)

    @property
    def spec(self) -> str:
        """The name of the file."""
        return self.name

    @property
    def values(self) -> tuple[str, ...]:
        """The leaves: all values listed in the file, whether they occur or not."""
        return tuple(self._row_of)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {row[0]: number for number, row in enumerate(self.rows)}

    @cached_property
    def _group_sizes(self) -> tuple[Counter[str], ...]:
        return tuple(map(Counter, zip(*self.rows, strict=True)))

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Return the distinct values that the file does not list."""
        return [value for value in values if value is not None and value not in self._row_of]

    def _n_written_otherwise(self, texts: Sequence[str]) -> int:
        """How many of the values that are not listed are so but for case, spaces or a decimal zero."""
        listed = {_plainly(value) for value in self._row_of}
        return sum(_plainly(text) in listed for text in self.outside(texts))

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Return the hierarchy bound to these distinct values."""
        texts, missing = texts_in_order(values)
        advice = "Add a row for each to the file, or use a builder: suppress takes any value."
        if n_alike := self._n_written_otherwise(texts):
            advice = (
                f"{n_alike} of them stand there written otherwise, in other case, with spaces or as 34.0 for 34: write "
                f"them alike. {advice}"
            )
        require_cover(column, len(self.outside(texts)), len(texts), f"are not listed in {self.name}", advice)
        # The row that missing values take their labels from, if the file lists them.
        row = self._row_of.get("" if self.missing_as is None else self.missing_as, self._row_of.get(""))
        if missing and row is None:
            raise InputError(
                f"Column '{column}' has missing values, but {self.name} does not list them. Add a row for the empty "
                "value, or name the value that stands for missing in the file with ",
                setting("missing_as"),
                file=self.name,
                column=column,
            )
        numbers = [self._row_of[text] for text in texts]
        present: tuple[str | None, ...] = tuple(texts)
        surplus = 0
        if row is not None:
            # Leaves of the row of missing values, less 1: none if nothing needs it, 2 if its text occurs as well.
            surplus = missing + (self.rows[row][0] in texts) - 1
            if missing:
                numbers.append(row)
                present = (*texts, None)
        paths = list(zip(*(self.rows[number] for number in numbers), strict=True)) or [()] * len(self.rows[0])
        below = tuple(tuple(label or None for label in level) for level in paths[1:-1])
        counts = np.ones((len(paths), len(present)), dtype=np.int64)
        for level in range(1, len(paths)):
            sizes = self._group_sizes[level]
            of_missing = None if row is None else self.rows[row][level]
            counts[level] = [sizes[label] + surplus * (label == of_missing) for label in paths[level]]
        counts.flags.writeable = False
        n_leaves = max(len(self.rows) + surplus, 1)
        return BoundHierarchy(column, present, (present, *below, tuple(paths[-1])), counts, n_leaves)


TREE_HEAD = ("name", "type", "height")  # how the lines begin that come first in a file of Amnesia
TREE_LINE = re.compile(r"(.+?) has:? (.+)")


def _plainly(text: str) -> str:
    """Return a value without differences in spelling: case, surrounding spaces, a decimal zero."""
    return re.sub(r"\.0+$", "", text.strip().casefold())


def hierarchy_of_content(content: bytes, name: str, missing_as: str | None = None) -> FileHierarchy:
    """Return the hierarchy in the content of a file that is in no folder yet."""
    return FileHierarchy(name, *_split_rows(_decode_text(content, name), name, None), missing_as)


def hierarchy_file(path: str | Path, *, delimiter: str | None = None, missing_as: str | None = None) -> FileHierarchy:
    """Return the hierarchy of a file of ARX or Amnesia, in UTF-8 or else Windows-1252; see `FileHierarchy`.

    Parameters
    ----------
    delimiter : one character; detected if None: `;` if the file has one, else a tab, else `,`
    """
    name = os.fsencode(Path(path).name).decode("utf-8", "replace")
    return FileHierarchy(name, *_read_rows(Path(path), delimiter), missing_as)


def check_file(path: str | Path, delimiter: str | None = None) -> list[HierarchyProblem]:
    """Return the problems of a hierarchy file; raises InputError only if the file cannot be read at all."""
    return check_rows(*_read_rows(Path(path), delimiter))


def _read_rows(path: Path, delimiter: str | None) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]:
    """The rows of a file, and the line that each begins in; refused after the handler, so that no cause is kept."""
    try:
        content = path.read_bytes()
    except (OSError, ValueError):
        content = None
    if content is None:
        problem = "cannot be read. Check that it exists and its rights."
        raise InputError(f"The hierarchy file {path.name} {problem}", file=path.name)
    return _split_rows(_decode_text(content, path.name), path.name, delimiter)


def text_of_cell(label: object) -> str:
    """Return the text of a value or label; empty for None, and for white space alone, which is missing in data too."""
    text = "" if label is None else str(label)
    return text if text.strip(whitespace) else ""


def _split_rows(text: str, name: str, delimiter: str | None) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]:
    if tree := _tree_of(text, name):
        return tree, ()
    rows, lines, line = [], [], 1
    try:
        mark = delimiter if delimiter is not None else next((mark for mark in ";\t" if mark in text), ",")
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        for row in reader:
            if row:
                rows.append(tuple(map(text_of_cell, row)))
                lines.append(line)
            line = reader.line_num + 1
        return tuple(rows), tuple(lines)
    except (csv.Error, TypeError, ValueError):
        pass
    problem = "cannot be split into columns. Name the delimiter (one character) and check its quotes."
    raise InputError(f"The hierarchy file {name} {problem}", file=name)


def _tree_of(text: str, file: str) -> tuple[tuple[str, ...], ...]:
    """The rows of a file of Amnesia, in which each line names a label and what is below it; empty if it is none."""
    found = [TREE_LINE.fullmatch(line.strip()) for line in text.splitlines() if line.strip()]
    below = {one[1].strip(): [part.strip() for part in one[2].split(",")] for one in found if one}
    above = {child: label for label, children in below.items() for child in children}
    if not below or sum(one is None for one in found) > len(TREE_HEAD) or not text.lstrip().startswith(TREE_HEAD):
        return ()
    return rows_of_tree(above, sorted(above.keys() - below.keys()), file)


def rows_of_tree(
    above: Mapping[str, str], values: Iterable[str], file: str = "The hierarchy"
) -> tuple[tuple[str, ...], ...]:
    """Return the labels of each value up to its root; ``above`` is the label directly above each value or label.

    A value that is less deep than others is its own label until they meet. Labels in a circle have no root: an error,
    which names the ``file``.

    Examples
    --------
    >>> rows_of_tree({"a": "A", "A": "*", "b": "*"}, "ab")
    (('a', 'A', '*'), ('b', 'b', '*'))
    """
    paths = []
    for value in values:
        path = [value]
        while path[-1] in above and len(path) <= len(above):
            path.append(above[path[-1]])
        if path[-1] in above:
            raise InputError(f"{file} has labels that are above each other, in a circle. Correct its links.", file=file)
        paths.append(path)
    height = max(map(len, paths), default=0)
    return tuple((*[path[0]] * (height - len(path)), *path) for path in paths)


def _decode_text(content: bytes, name: str) -> str:
    for encoding in ("utf-8-sig", "cp1252"):
        with suppress(UnicodeDecodeError):
            return content.decode(encoding)
    problem = "is neither UTF-8 nor Windows-1252 text. Save it as UTF-8."
    raise InputError(f"The hierarchy file {name} {problem}", file=name)
