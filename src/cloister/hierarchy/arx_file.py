"""Hierarchy files in the form of ARX: no header, original values first, one common root last."""

import csv
import io
import os
from pathlib import Path

from cloister.errors import InputError
from cloister.hierarchy.check import HierarchyReport, check_rows
from cloister.hierarchy.file_hierarchy import FileHierarchy

ENCODINGS = ("utf-8-sig", "cp1252")


def read_hierarchy_file(
    path: str | Path, delimiter: str | None = None, *, missing_as: str | None = None
) -> FileHierarchy:
    """Return the hierarchy of an ARX file.

    Parameters
    ----------
    path : the file; UTF-8, or else Windows-1252
    delimiter : one character; detected if None: `;` if the file has one, else a tab, else `,`
    missing_as : text under which missing is listed, or None for an empty cell

    Raises
    ------
    InputError
        The file cannot be read, or is not a legal hierarchy.
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
