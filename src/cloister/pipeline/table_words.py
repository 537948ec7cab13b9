"""From words to the hierarchies, weights and levels of the columns of a table."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cloister.errors import InputError, setting
from cloister.hierarchy import CutHierarchy, Hierarchy, IntervalHierarchy, hierarchy_file, parse_hierarchy
from cloister.hierarchy import suppress as suppress_hierarchy
from cloister.io import Query, as_text, distinct_values, write_csv
from cloister.io.other_files import KINDS as PROGRAMS
from cloister.settings import Words
from cloister.shape import Rows
from cloister.sources import profiled
from cloister.tabular.data import QuasiIdentifier, TableRequest
from cloister.tabular.options import AVERAGES, TableOptions

if TYPE_CHECKING:
    from cloister.table_with_codes.data import CodesRequested

BOUNDS = re.compile(r"(?P<spec>.*)@(?P<low>[0-9]+)(-(?P<high>[0-9]+))?", re.DOTALL)
HIGHEST_DIGITS = 9
"""A level of more digits is a mistake; Python refuses to read numbers of some thousand."""
SUFFIXES = (".gz", ".zip", ".csv", ".tsv", ".txt", ".parquet", ".ndjson", *PROGRAMS)


@dataclass(frozen=True)
class QuasiIdentifiers:
    """The quasi-identifiers of a request, and what the user should be told about how they were found."""

    by_column: dict[str, QuasiIdentifier]
    notes: tuple[str, ...] = field(default=())


def notes_on_decimals(request: TableRequest, frame: pl.DataFrame) -> list[str]:
    """Return notes on decimal numbers whose intervals have the labels of whole numbers."""
    grids = {
        column: wanted.hierarchy
        for column, wanted in request.quasi_identifiers.items()
        if isinstance(wanted.hierarchy, IntervalHierarchy | CutHierarchy) and column in frame.columns
    }
    return [
        f"{column} has decimals, which {grid.spec} counts by their whole part; with a decimal point in a number, as "
        f"{grid.decimal_spec}, labels are half-open: [5, 10)"
        for column, grid in grids.items()
        if not grid.scale.is_half_open and as_text(frame[column]).str.contains(r"\.[0-9]*[1-9]").any()
    ]


def stem_of(data: Path | Query) -> str:
    """Name of a data file without its format: ``adult`` of ``adult.csv.gz``."""
    collection = profiled(data)
    name = data.name if collection is None else collection.path.name
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def hierarchy_files(folder: Path, data: Path | Query) -> dict[str, Path]:
    """Files of a hierarchy folder by column: ``STEM_hierarchy_COLUMN.csv``, or ``COLUMN.csv`` if there is none such."""
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
    wanted: Mapping[str, Any] | Words,
    folder: Path | None,
    data: Path | Query,
    columns: Sequence[str],
    missing_as: str | None,
) -> QuasiIdentifiers:
    """Return the quasi-identifiers that are asked for.

    Parameters
    ----------
    wanted : for each column nothing, ``HIERARCHY`` or ``HIERARCHY@LOW-HIGH``; or words, as ``COLUMN=HIERARCHY``
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
    for column, spec in _wanted(wanted, columns):
        spec, low, high = _split_bounds(column, spec)
        if column in found:
            raise InputError(
                f"Column {column!r} is named twice by {setting('quasi_identifiers')}. Name it once.", column=column
            )
        if not spec and column in columns and column not in files:
            if folder is not None:
                raise InputError(
                    f"Column {column!r} has no hierarchy file in {folder.name}. Name one, as "
                    f"{setting('quasi_identifiers', f'{column}=suppress')}.",
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


def _wanted(wanted: Mapping[str, Any] | Words, columns: Sequence[str]) -> list[tuple[str, str]]:
    if not isinstance(wanted, Words):
        return list(wanted.items())
    typed = [split_wanted(text, columns) for text in wanted.texts]
    return [*(pair for pair in typed if pair[0] not in wanted.later), *wanted.later.items()]


def by_column(
    given: Mapping[str, Any] | Words | None,
    name: str,
    read: Callable[[str], Any],
    takes: str,
    example: str,
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return a value for each column: as given, or from words as typed; several may stand in one, apart by commas.

    Parameters
    ----------
    read : from the word for a column to its value; None where it is none
    columns : of the data; a text that as a whole names one of them is not split at the commas of the name
    """
    if not isinstance(given, Words):
        return dict(given or {})
    found: dict[str, Any] = {}
    for text in given.texts:
        for part in [text] if text.rpartition("=")[0] in columns else text.split(","):
            column, _, word = part.rpartition("=")
            value = read(word)
            if not column or value is None:
                raise InputError(f"{setting(name)} takes {takes}, as in {setting(name, example)}.")
            if column in found:
                raise InputError(f"{setting(name)} names column {column!r} twice.", column=column)
            found[column] = value
    return {column: value for column, value in found.items() if column not in given.later} | dict(given.later)


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if value == value else None  # not a number


def weights_by_column(given: Mapping[str, float] | Words, columns: Sequence[str]) -> dict[str, float]:
    """Return the weight of each column that has one."""
    return by_column(given, "weights", _number, "COLUMN=NUMBER", "age=2", columns)


def whole_levels(given: Mapping[str, int] | Words | None, columns: Sequence[str]) -> dict[str, int]:
    """Return the level of each column, where there is a fixed transformation."""
    levels = by_column(given, "levels", _number, "COLUMN=NUMBER", "age=2", columns)
    for column, level in levels.items():
        if level < 0 or level != level // 1:
            raise InputError(f"The level of column {column!r} must be a whole number from 0 on.", column=column)
    return {column: int(level) for column, level in levels.items()}


def averages(given: Mapping[str, str] | Words, columns: Sequence[str]) -> dict[str, str]:
    """Return mean or median for each column that is averaged."""

    def average(word: str) -> str | None:
        return word if word in AVERAGES else None

    return by_column(given, "microaggregate", average, "COLUMN=mean or COLUMN=median", "age=mean", columns)


def rows_of(request: TableRequest, records: str, codes: "CodesRequested | None" = None) -> Rows:
    """Return what is asked of a table, in words."""
    wanted = sorted(request.quasi_identifiers.items())
    return [
        ("records", records),
        ("quasi-identifiers", ", ".join(f"{name} ({one.hierarchy.spec})" for name, one in wanted)),
        *([] if codes is None else [("codes", f"{codes.column}, m = {codes.m}")]),
        ("released as recorded", ", ".join((*request.sensitive, *request.keep)) or "nothing"),
        ("rules", "; ".join(rule.sentence() for rule in request.rules)),
        ("suppressed", f"at most {request.suppression} of the records"),
        ("method", request.chosen_method),
    ]


def list_values(
    options: TableOptions, request: TableRequest, columns: Sequence[str], values_of: Callable[[str], pl.Series]
) -> None:
    """Where the owner asked for it, list the values that their hierarchies do not hold, for the owner alone to read."""
    outside = [
        (column, value)
        for column, wanted in request.quasi_identifiers.items()
        if options.unmatched_values is not None and column in columns
        for value in wanted.hierarchy.outside(distinct_values(as_text(values_of(column))))
    ]
    if outside and options.unmatched_values is not None:
        write_csv(
            pl.DataFrame(outside, schema={"column": pl.String, "value": pl.String}, orient="row"),
            options.unmatched_values,
        )
