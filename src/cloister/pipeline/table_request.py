"""From settings to the request for a table: hierarchies, weights and levels of its columns, privacy models and ids."""

import os
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import polars as pl

from cloister.errors import InputError, Message, name_few, setting
from cloister.hierarchy import CutHierarchy, Hierarchy, IntervalHierarchy, hierarchy_file, parse_hierarchy, suppress
from cloister.io import Query, as_text
from cloister.io.other_files import KINDS as PROGRAMS
from cloister.jobs.manifest import only_part
from cloister.privacy import KAnonymity
from cloister.release.manifest import parse_manifest
from cloister.settings.declaration import ByColumn, ColumnAssignments
from cloister.settings.reading import how_read
from cloister.settings.run_options import DISASSOCIATION
from cloister.shapes.protocol import Rows
from cloister.shapes.table.format.manifest import TableManifest
from cloister.shapes.table.format.options import AVERAGES, FULL_DOMAIN, MDAV, TableOptions
from cloister.shapes.table.method.data import Ids, QuasiIdentifier, TableRequest
from cloister.shapes.table.method.roles import decide_columns
from cloister.shapes.table.method.settings import build_table_request, method_in_memory, parse_ids, read_rule
from cloister.sources import parse_profile

from .output_paths import IN_MEMORY, release_at

if TYPE_CHECKING:
    from cloister.shapes.table_with_codes.format.data import CodesRequested

BOUNDS = re.compile(r"(?P<spec>.*)@(?P<low>[0-9]+)(-(?P<high>[0-9]+))?", re.DOTALL)
HIGHEST_DIGITS = 9
"""A level of more digits is a mistake; Python refuses to read numbers of some thousand."""
Value = TypeVar("Value")
SUFFIXES = (".gz", ".zip", ".csv", ".tsv", ".txt", ".parquet", ".ndjson", *PROGRAMS)


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
        if not grid.scale.is_half_open and as_text(frame[column].unique()).str.contains(r"\.[0-9]*[1-9]").any()
    ]


def stem_of(data: Path | Query) -> str:
    """Return the name of a data file without its format: ``adult`` for ``adult.csv.gz``."""
    collection = parse_profile(data)
    name = data.name if collection is None else collection.path.name
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def hierarchy_files(folder: Path, data: Path | Query) -> dict[str, Path]:
    """Return the files of a hierarchy folder by column: ``STEM_hierarchy_COLUMN.csv``, else ``COLUMN.csv``."""
    if not os.path.isdir(folder):
        raise InputError(f"The hierarchies were to be in the folder {folder.name}, but there is no such folder.")
    start = f"{stem_of(data)}_hierarchy_"
    itself = None if isinstance(data, Query) else os.path.realpath(data)
    every = sorted(path for path in folder.glob("*.csv") if os.path.realpath(path) != itself)
    named = {path.stem.removeprefix(start): path for path in every if path.name.startswith(start)}
    found = named or {path.stem: path for path in every}
    if not found:
        raise InputError(f"The folder {folder.name} has no hierarchies: no {start}COLUMN.csv and no COLUMN.csv.")
    return found


def quasi_identifiers(
    wanted: ByColumn[object], folder: Path | None, data: Path | Query, columns: Sequence[str], missing_as: str | None
) -> tuple[dict[str, QuasiIdentifier], list[str]]:
    """Return the requested quasi-identifiers, and notes for the user on their hierarchies.

    Parameters
    ----------
    wanted : for each column nothing, ``HIERARCHY`` or ``HIERARCHY@LOW-HIGH``, in Python also a hierarchy or a
        `QuasiIdentifier`; or words, as ``COLUMN=HIERARCHY``
    columns : of the data
    """
    files = {} if folder is None else hierarchy_files(folder, data)
    notes: list[str] = []
    found: dict[str, QuasiIdentifier] = {}
    if not wanted:
        orphans = [path.name for column, path in files.items() if column not in columns]
        if orphans:
            notes.append(f"hierarchy files without a column, not used: {name_few(orphans)}")
        wanted = {column: "" for column in columns if column in files}
    for column, given in _split_words(wanted, columns):
        if not isinstance(given, str):
            found[column] = _given_as_object(column, given)
            continue
        spec, low, high = _split_bounds(column, given)
        if column in found:
            raise InputError(f"Column {column!r} is named twice by ", setting("qi"), ". Name it once.", column=column)
        if not spec and column in columns and column not in files:
            if folder is not None:
                raise InputError(
                    f"Column {column!r} has no hierarchy file in {folder.name}. Name one, as ",
                    setting("qi", {column: "suppress"}),
                    column=column,
                )
            notes.append(f"{column} has no hierarchy: it is kept as it is or suppressed")
        if spec:
            hierarchy = parse_hierarchy(spec, missing_as=missing_as)
        else:
            hierarchy = hierarchy_file(files[column], missing_as=missing_as) if column in files else suppress()
        found[column] = QuasiIdentifier(hierarchy, low, high)
    return found, notes


def split_wanted(text: str, columns: Sequence[str]) -> tuple[str, str]:
    """Split the text of ``--qi`` into a column and its rest: ``HIERARCHY``, ``HIERARCHY@LOW-HIGH`` or ``@LOW-HIGH``.

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
    """Split the bounds of levels from the text of a hierarchy."""
    match = BOUNDS.fullmatch(spec)
    if match is None or os.path.exists(spec):
        return spec, 0, None
    low, high = match["low"], match["high"] or match["low"]
    if max(len(low), len(high)) > HIGHEST_DIGITS:
        raise InputError(f"No hierarchy has levels as high as those after @ for column {column!r}.", column=column)
    return match["spec"], int(low), int(high)


def _given_as_object(column: str, given: object) -> QuasiIdentifier:
    """Return a quasi-identifier from the object that a Python caller gave for its hierarchy."""
    if isinstance(given, QuasiIdentifier):
        return given
    if hasattr(given, "bind") and not isinstance(given, type):
        return QuasiIdentifier(cast("Hierarchy", given))
    kind = f"the class {given.__name__}" if isinstance(given, type) else f"a value of type {type(given).__name__}"
    raise InputError(
        setting("qi"),
        f' takes a hierarchy for each column, as an object or a text such as {{"sex": "suppress"}}, but '
        f"{kind} was given for column {column!r}.",
        column=column,
    )


def _split_words(wanted: ByColumn[object], columns: Sequence[str]) -> list[tuple[str, object]]:
    if not isinstance(wanted, ColumnAssignments):
        return [(column, "" if spec is None else spec) for column, spec in wanted.items()]
    typed = [split_wanted(text, columns) for text in wanted.texts]
    return [*(pair for pair in typed if pair[0] not in wanted.later), *wanted.later.items()]


def by_column(
    given: ByColumn[Value] | None,
    name: str,
    read: Callable[[str], Value | None],
    takes: str,
    example: object,
    columns: Sequence[str],
) -> dict[str, Value]:
    """Return a value for each column, as given or parsed from text; one text may list several, separated by commas.

    Parameters
    ----------
    read : from the word for a column to its value; None where it is none
    columns : of the data; a text that as a whole names one of them is not split at the commas of the name
    """
    if not isinstance(given, ColumnAssignments):
        return dict(given or {})
    found: dict[str, Value] = {}
    for text in given.texts:
        for part in [text] if text.rpartition("=")[0] in columns else text.split(","):
            column, _, word = part.rpartition("=")
            value = read(word)
            if not column or value is None:
                raise InputError(setting(name), f" takes {takes}, as in ", setting(name, {"age": example}))
            if column in found:
                raise InputError(setting(name), f" names column {column!r} twice.", column=column)
            found[column] = value
    return {column: value for column, value in found.items() if column not in given.later} | dict(given.later)


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if value == value else None  # not a number


def rows_of(request: TableRequest, records: str, codes: "CodesRequested | None" = None) -> Rows:
    """Return a summary of the request for a table."""
    wanted = sorted(request.quasi_identifiers.items())
    recorded, of_codes = list[str](), list[tuple[str, str]]()
    if codes is not None:
        recorded = ["all codes"] if codes.method == DISASSOCIATION else []
        of_codes = [("codes", f"{codes.column}, m = {codes.m}" + ("" if recorded else f", {codes.method}"))]
    return [
        ("records", records),
        ("quasi-identifiers", ", ".join(f"{name} ({one.hierarchy.spec})" for name, one in wanted)),
        *of_codes,
        ("released as recorded", ", ".join((*request.sensitive, *request.keep, *recorded)) or "nothing"),
        ("rules", "; ".join(rule.sentence() for rule in request.rules)),
        ("suppressed", f"at most {request.suppression} of the records"),
        ("method", request.chosen_method),
    ]


def rows_if_counted(options: TableOptions, request: TableRequest, records: str, engine: str) -> Rows:
    """Return a summary of the request for a table that an engine counts, with the reason for a change of method."""
    usual, method = method_in_memory(options, request), request.chosen_method
    why = "" if method == usual else f" ({engine} counts records, which {usual} cannot do with; the engine memory can)"
    return [*rows_of(request, records)[:-1], ("method", f"{method}{why}")]


def notes_on_method(options: TableOptions, request: TableRequest, engine: str) -> list[str]:
    """Return a note if the method differs from the default in memory."""
    usual, method = method_in_memory(options, request), request.chosen_method
    instead = (
        f"the method is {method} in place of {usual}, which needs all rows: {engine} counts records. For {usual}, give "
    )
    return [] if method == usual else [Message(instead, IN_MEMORY)]


def request_of(
    options: TableOptions,
    columns: Sequence[str],
    *,
    file: str = "the table",
    propose: Callable[[str], QuasiIdentifier] | None = None,
    is_counted: bool = False,
    id_key: bytes | None = None,
) -> tuple[TableRequest, list[str]]:
    """Return the request that the settings state, and notes for the user.

    See `build_table_request`; ``propose``: see `decide_columns`
    ``id_key``: of keyed ids, the key where it is in no file
    """
    found, notes = quasi_identifiers(
        options.quasi_identifiers, options.hierarchies, options.data, columns, options.missing_as
    )
    if options.method == MDAV:
        notes = [f"{MDAV} uses no hierarchies: numbers are replaced by means, other columns by modes"]
    # population tables are read as the table is
    rules = [
        read_rule(rule, missing_as=options.missing_as, **how_read(options)) if isinstance(rule, str) else rule
        for rule in options.rules
    ]
    ids, key = (parse_ids(options.ids), id_key) if id_key is not None else _ids(options.ids)
    if key is not None and ids is not Ids.HMAC:
        raise InputError("id_key is for ", setting("ids", "hmac"), " alone. Ask for that, or leave it out.")
    if key is not None:
        notes.append("ids are keyed hashes: releases made with the same key can be linked")

    def average(word: str) -> str | None:
        return word if word in AVERAGES else None

    looked_up = {
        "quasi_identifiers": found,
        "rules": (*([] if options.k is None else [KAnonymity(options.k)]), *rules),
        "weights": by_column(options.weights, "weight", _number, "COLUMN=NUMBER", 2, columns),
        "levels": _levels(options, columns),
        "microaggregate": by_column(
            options.microaggregate,
            "microaggregate",
            average,
            "COLUMN=mean, COLUMN=median or COLUMN=mode",
            "mean",
            columns,
        ),
        "ids": ids,
        "id_key": key,
    }
    request = build_table_request(vars(options) | looked_up, is_counted=is_counted)
    of_codes = [] if options.codes is None else [options.codes]  # which have a role of their own
    return decide_columns(request, columns, file, propose, of_codes), notes


def _levels(options: TableOptions, columns: Sequence[str]) -> dict[str, int] | None:
    """Return the fixed transformation if one was given, else None."""
    if options.levels and options.levels_from is not None:
        raise InputError(
            setting("levels"), " and ", setting("levels_from"), " both fix the transformation. Give one of them."
        )
    if options.levels:
        given: ByColumn[float] = options.levels
        levels = by_column(given, "levels", _number, "COLUMN=NUMBER", 2, columns)
        for column, level in levels.items():
            if level < 0 or level != level // 1:
                raise InputError(f"The level of column {column!r} must be a whole number from 0 on.", column=column)
        return {column: int(level) for column, level in levels.items()}
    if options.levels_from is None:
        return None
    earlier = parse_manifest(release_at(only_part(options.levels_from)))
    if not isinstance(earlier, TableManifest) or earlier.method != FULL_DOMAIN:
        raise InputError(
            f"The release {options.levels_from.name} has levels that differ between classes; none can be like it. "
            "Take a release by full-domain generalization.",
            file="release.json",
        )
    if earlier.search is None:
        raise InputError(f"The release {options.levels_from.name} states no levels to be like.", file="release.json")
    return earlier.search.levels


def _ids(text: str) -> tuple[Ids, bytes | None]:
    choice, _, file = text.partition(":")
    ids = parse_ids(choice)
    if (ids is Ids.HMAC) != bool(file):
        raise InputError(
            "Keyed ids need the file of the key, as in ", setting("ids", "hmac:KEYFILE"), "; other ids take none."
        )
    return ids, _key(Path(file)) if file else None


def _key(path: Path) -> bytes:
    """Read a secret key from a file that only its owner can read."""
    try:
        status, key = path.stat(), path.read_bytes()
    except OSError:
        status, key = None, b""
    if status is None:
        raise InputError(f"The key file {path.name} cannot be read.", file=path.name)
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise InputError(f"The key file {path.name} can be read by others. Set its mode to 0600.", file=path.name)
    return key
