"""A hierarchy that somebody wrote down, one row of labels for each value: rows, or a file in the form of ARX."""

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from cloister.errors import InputError
from cloister.hierarchy.check import HierarchyReport, check_rows
from cloister.hierarchy.ladder import Ladder, require_cover, texts_in_order

ENCODINGS = ("utf-8-sig", "cp1252")


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
    rows : (n_values,) rows of labels, from the value to the root
    lines : (n_values,) line of each row in the file; counted from 1 if empty
    missing_as : text under which missing is listed, or None for an empty cell
    """

    name: str
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    lines: tuple[int, ...] = field(default=(), repr=False)
    missing_as: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        report = check_rows(self.rows, self.name, self.lines or None)
        for problem in report.problems[:1]:
            line = problem.rows[0] if problem.rows else None
            raise InputError(f"{self.name}: {problem.message}", file=self.name, line=line)

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[object]], name: str = "rows", *, missing_as: str | None = None) -> Self:
        """Return the hierarchy of rows written in Python, as a file would hold them: None is an empty cell."""
        cells = (tuple("" if label is None else str(label) for label in row) for row in rows)
        return cls(name, tuple(cells), missing_as=missing_as)

    @property
    def kind(self) -> str:
        """`file`."""
        return "file"

    @property
    def spec(self) -> str:
        """Name of the file."""
        return self.name

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {row[0]: number for number, row in enumerate(self.rows)}

    @cached_property
    def _group_sizes(self) -> tuple[Counter[str], ...]:
        return tuple(map(Counter, zip(*self.rows, strict=True)))

    @property
    def _missing_row(self) -> int | None:
        """The row that missing values take their labels from, if the file lists them."""
        listed = (self._row_of.get(text) for text in (self.missing_as, "") if text is not None)
        return next((row for row in listed if row is not None), None)

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that the file does not list."""
        return [value for value in values if value is not None and value not in self._row_of]

    def bind(self, column: str, values: Sequence[str | None]) -> Ladder:
        """Return the ladder of these distinct values."""
        texts, missing = texts_in_order(values)
        n_outside = len(self.outside(texts))
        advice = "Add a row for each to the file, or use a builder: suppress takes any value."
        require_cover(column, n_outside, len(texts), f"are not listed in {self.name}", advice)
        if missing and self._missing_row is None:
            raise InputError(
                f"Column '{column}' has missing values, but {self.name} does not list them. Add a row for the empty "
                "value, or name the value that stands for missing in the file with --missing-as.",
                file=self.name,
                column=column,
            )
        return self._ladder(column, texts, missing)

    def _ladder(self, column: str, texts: Sequence[str], missing: bool) -> Ladder:
        numbers = [self._row_of[text] for text in texts]
        values: tuple[str | None, ...] = tuple(texts)
        if missing and self._missing_row is not None:
            numbers.append(self._missing_row)
            values = (*texts, None)
        paths = list(zip(*(self.rows[number] for number in numbers), strict=True)) or [()] * len(self.rows[0])
        below = tuple(tuple(label or None for label in level) for level in paths[1:-1])
        surplus = self._surplus(texts, missing)
        counts = np.ones((len(paths), len(values)), dtype=np.int64)
        for level in range(1, len(paths)):
            sizes = self._group_sizes[level]
            of_missing = None if self._missing_row is None else self.rows[self._missing_row][level]
            counts[level] = [sizes[label] + surplus * (label == of_missing) for label in paths[level]]
        counts.flags.writeable = False
        return Ladder(column, values, (values, *below, tuple(paths[-1])), counts, max(len(self.rows) + surplus, 1))

    def _surplus(self, texts: Sequence[str], missing: bool) -> int:
        """Leaves that the row of missing stands for, less 1: -1 if nothing needs it, 1 if its text occurs as well."""
        if self._missing_row is None:
            return 0
        return missing + (self.rows[self._missing_row][0] in texts) - 1


def read_hierarchy_file(
    path: str | Path, delimiter: str | None = None, *, missing_as: str | None = None
) -> FileHierarchy:
    """Return the hierarchy of an ARX file.

    Parameters
    ----------
    path : the file; UTF-8, or else Windows-1252
    delimiter : one character; detected if None: `;` if the file has one, else a tab, else `,`
    missing_as : text under which missing is listed, or None for an empty cell
    """
    name = os.fsencode(Path(path).name).decode("utf-8", "replace")
    rows, lines = _read_rows(Path(path), delimiter)
    return FileHierarchy(name, rows, lines, missing_as)


def check_file(path: str | Path, delimiter: str | None = None) -> HierarchyReport:
    """Return what is wrong with a hierarchy file; raises InputError only if it cannot be read at all."""
    rows, lines = _read_rows(Path(path), delimiter)
    return check_rows(rows, Path(path).name, lines)


def _read_rows(path: Path, delimiter: str | None) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]:
    """Return the rows that are not blank, and the line on which each begins."""
    text = _decode(_read_bytes(path), path.name)
    if delimiter is None:
        delimiter = next((mark for mark in ";\t" if mark in text), ",")
    records = _parse(text, delimiter)
    if records is None:
        raise InputError(
            f"{path.name} cannot be split into columns. Name the delimiter (one character) and check its quotes.",
            file=path.name,
        )
    return tuple(row for row, _ in records), tuple(line for _, line in records)


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        pass  # raised below, so that no path stays in the chain of causes
    raise InputError(
        f"The hierarchy file {path.name} cannot be read. Check that it exists and its rights.", file=path.name
    )


def _decode(content: bytes, name: str) -> str:
    for encoding in ENCODINGS:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise InputError(f"{name} is neither UTF-8 nor Windows-1252 text. Save it as UTF-8.", file=name)


def _parse(text: str, delimiter: str) -> list[tuple[tuple[str, ...], int]] | None:
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        records, line = [], 1
        for row in reader:
            if row:
                records.append((tuple(row), line))
            line = reader.line_num + 1
    except (csv.Error, TypeError, ValueError):
        return None
    return records
