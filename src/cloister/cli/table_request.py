"""From the words of the command line to a request for a table."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy, hierarchy_file, parse_hierarchy
from cloister.hierarchy import suppress as suppress_hierarchy
from cloister.io import Query
from cloister.sources import profiled
from cloister.tabular.data import AVERAGES, QuasiIdentifier

BOUNDS = re.compile(r"(?P<spec>.*)@(?P<low>[0-9]+)(-(?P<high>[0-9]+))?", re.DOTALL)
HIGHEST_DIGITS = 9
"""A level of more digits is a mistake; Python refuses to read numbers of some thousand."""
SUFFIXES = (".gz", ".zip", ".csv", ".tsv", ".txt", ".parquet", ".ndjson")


@dataclass(frozen=True)
class QuasiIdentifiers:
    """The quasi-identifiers of a request, and what the user should be told about how they were found."""

    by_column: dict[str, QuasiIdentifier]
    notes: tuple[str, ...] = field(default=())


def stem_of(data: Path | Query) -> str:
    """Name of a data file without its format: ``adult`` of ``adult.csv.gz``."""
    collection = profiled(data)
    name = data.name if collection is None else collection.path.name
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def hierarchy_files(folder: Path, data: Path | Query) -> dict[str, Path]:
    """Files of a hierarchy folder by column: ``STEM_hierarchy_COLUMN.csv``, or ``COLUMN.csv`` if there is none such.

    Raises
    ------
    InputError
        The folder is not there or holds no hierarchies.
    """
    if not os.path.isdir(folder):
        raise InputError(f"The hierarchies were to be in the folder {folder.name}, but there is no such folder.")
    start = f"{stem_of(data)}_hierarchy_"
    itself = None if isinstance(data, Query) else os.path.realpath(data)
    every = sorted(path for path in folder.glob("*.csv") if os.path.realpath(path) != itself)
    named = {path.stem.removeprefix(start): path for path in every if path.name.startswith(start)}
    found = named or {path.stem: path for path in every}
    if not found:
        raise InputError(f"The folder {folder.name} holds no hierarchies: no {start}COLUMN.csv and no COLUMN.csv.")
    return found


def quasi_identifiers(
    wanted: Sequence[str], folder: Path | None, data: Path | Query, columns: Sequence[str], missing_as: str | None
) -> QuasiIdentifiers:
    """Return the quasi-identifiers that ``--qi`` and ``--hierarchies`` ask for.

    Parameters
    ----------
    wanted : each ``COLUMN``, ``COLUMN=HIERARCHY`` or ``COLUMN=HIERARCHY@LOW-HIGH``
    folder : of hierarchy files, if given
    columns : of the data
    """
    files = {} if folder is None else hierarchy_files(folder, data)
    notes: list[str] = []
    found: dict[str, QuasiIdentifier] = {}
    if not wanted:
        orphans = [path.name for column, path in files.items() if column not in columns]
        if orphans:
            notes.append(f"hierarchy files without a column, not used: {', '.join(orphans)}")
        for column in columns:
            if column in files:
                found[column] = QuasiIdentifier(hierarchy_file(files[column], missing_as=missing_as))
        return QuasiIdentifiers(found, tuple(notes))
    for text in wanted:
        column, spec = split_wanted(text, columns)
        spec, low, high = _split_bounds(column, spec)
        if column in found:
            raise InputError(f"Column {column!r} is named twice by --qi. Name it once.", column=column)
        if not spec and column in columns and column not in files:
            if folder is not None:
                raise InputError(
                    f"Column {column!r} has no hierarchy file in {folder.name}. Name one, as --qi {column}=suppress.",
                    column=column,
                )
            notes.append(f"{column} has no hierarchy: it is kept as it is or suppressed")
        found[column] = QuasiIdentifier(_hierarchy(column, spec, files, missing_as), low, high)
    return QuasiIdentifiers(found, tuple(notes))


def split_wanted(text: str, columns: Sequence[str]) -> tuple[str, str]:
    """Return the column that a ``--qi`` names, and what follows: ``HIERARCHY``, ``HIERARCHY@LOW-HIGH``, ``@LOW-HIGH``.

    Names may hold ``=`` and ``@``: a column of the data that is the whole text wins, then the longest that begins it.

    Examples
    --------
    >>> split_wanted("age=interval:5@1", ["age"]), split_wanted("a=b=suppress", ["a", "a=b"])
    (('age', 'interval:5@1'), ('a=b', 'suppress'))
    """
    if text in columns:
        return text, ""
    for column in sorted(columns, key=len, reverse=True):
        rest = text.removeprefix(column)
        if rest == text:
            continue
        if rest.startswith("="):
            return column, rest[1:]
        if rest.startswith("@") and BOUNDS.fullmatch(rest):
            return column, rest
    column, _, rest = text.partition("=")
    return column, rest


def _split_bounds(column: str, spec: str) -> tuple[str, int, int | None]:
    """Take the bounds of levels off the words for a hierarchy."""
    match = BOUNDS.fullmatch(spec)
    if match is None or os.path.exists(spec):
        return spec, 0, None
    low, high = match["low"], match["high"] or match["low"]
    if max(len(low), len(high)) > HIGHEST_DIGITS:
        raise InputError(f"No hierarchy has levels as high as those after @ for column {column!r}.", column=column)
    return match["spec"], int(low), int(high)


def _hierarchy(column: str, spec: str, files: dict[str, Path], missing_as: str | None) -> Hierarchy:
    if spec:
        return parse_hierarchy(spec, missing_as=missing_as)
    if column in files:
        return hierarchy_file(files[column], missing_as=missing_as)
    return suppress_hierarchy()


def pairs(texts: Sequence[str], option: str, columns: Sequence[str] = ()) -> dict[str, float]:
    """Return ``COLUMN=NUMBER`` options as a mapping; several may stand in one, separated by commas.

    Parameters
    ----------
    columns : of the data; a text that as a whole names one of them is not split at the commas of the name

    Raises
    ------
    InputError
        One is not of that form.
    """
    found: dict[str, float] = {}
    for part in (part for text in texts for part in _parts(text, columns)):
        column, _, number = part.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not column or value != value:  # not a number
            raise InputError(f"{option} takes COLUMN=NUMBER, as in {option} age=2.")
        if column in found:
            raise InputError(f"{option} names column {column!r} twice.", column=column)
        found[column] = value
    return found


def _parts(text: str, columns: Sequence[str]) -> list[str]:
    return [text] if text.rpartition("=")[0] in columns else text.split(",")


def whole_levels(texts: Sequence[str], columns: Sequence[str] = ()) -> dict[str, int]:
    """Return ``--levels`` as a mapping from column to level."""
    levels = pairs(texts, "--levels", columns)
    for column, level in levels.items():
        if not level.is_integer() or level < 0:
            raise InputError(f"The level of column {column!r} must be a whole number from 0 on.", column=column)
    return {column: int(level) for column, level in levels.items()}


def averages(texts: Sequence[str], columns: Sequence[str] = ()) -> dict[str, str]:
    """Return ``--microaggregate`` as a mapping from column to mean or median.

    Raises
    ------
    InputError
        One is not of that form.
    """
    found: dict[str, str] = {}
    for part in (part for text in texts for part in _parts(text, columns)):
        column, _, how = part.rpartition("=")
        if not column or how not in AVERAGES:
            raise InputError("--microaggregate takes COLUMN=mean or COLUMN=median, as in --microaggregate age=mean.")
        if column in found:
            raise InputError(f"--microaggregate names column {column!r} twice.", column=column)
        found[column] = how
    return found
