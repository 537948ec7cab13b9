"""From the words of the command line to a request for a table."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy, hierarchy_file, parse_hierarchy
from cloister.hierarchy import suppress as suppress_hierarchy
from cloister.tabular.data import QuasiIdentifier

BOUNDS = re.compile(r"(?P<spec>.*)@(?P<low>\d+)(-(?P<high>\d+))?")
SUFFIXES = (".gz", ".csv", ".tsv", ".txt", ".parquet")


@dataclass(frozen=True)
class QuasiIdentifiers:
    """The quasi-identifiers of a request, and what the user should be told about how they were found."""

    by_column: dict[str, QuasiIdentifier]
    notes: tuple[str, ...] = field(default=())


def stem_of(data: Path) -> str:
    """Name of a data file without its format: ``adult`` of ``adult.csv.gz``."""
    name = data.name
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def hierarchy_files(folder: Path, data: Path) -> dict[str, Path]:
    """Files of a hierarchy folder by column: ``STEM_hierarchy_COLUMN.csv``, or ``COLUMN.csv`` if there is none such.

    Raises
    ------
    InputError
        The folder is not there or holds no hierarchies.
    """
    if not folder.is_dir():
        raise InputError(f"The hierarchies were to be in the folder {folder.name}, but there is no such folder.")
    start = f"{stem_of(data)}_hierarchy_"
    every = sorted(path for path in folder.glob("*.csv") if path.resolve() != data.resolve())
    named = {path.stem.removeprefix(start): path for path in every if path.name.startswith(start)}
    found = named or {path.stem: path for path in every}
    if not found:
        raise InputError(f"The folder {folder.name} holds no hierarchies: no {start}COLUMN.csv and no COLUMN.csv.")
    return found


def quasi_identifiers(
    wanted: Sequence[str], folder: Path | None, data: Path, columns: Sequence[str], missing_as: str | None
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
        column, _, spec = (text, "", "") if text in columns else text.partition("=")
        if column in found:
            raise InputError(f"Column {column!r} is named twice by --qi. Name it once.", column=column)
        if not spec and column in columns and column not in files:
            if folder is not None:
                raise InputError(
                    f"Column {column!r} has no hierarchy file in {folder.name}. Name one, as --qi {column}=suppress.",
                    column=column,
                )
            notes.append(f"{column} has no hierarchy: it is kept as it is or suppressed")
        found[column] = _quasi_identifier(column, spec, files, missing_as)
    return QuasiIdentifiers(found, tuple(notes))


def _quasi_identifier(column: str, spec: str, files: dict[str, Path], missing_as: str | None) -> QuasiIdentifier:
    match = BOUNDS.fullmatch(spec)
    low, high = 0, None
    if match is not None and not Path(spec).exists():
        spec, low = match["spec"], int(match["low"])
        high = int(match["high"]) if match["high"] else low
    return QuasiIdentifier(_hierarchy(column, spec, files, missing_as), low, high)


def _hierarchy(column: str, spec: str, files: dict[str, Path], missing_as: str | None) -> Hierarchy:
    if spec:
        return parse_hierarchy(spec, missing_as=missing_as)
    if column in files:
        return hierarchy_file(files[column], missing_as=missing_as)
    return suppress_hierarchy()


def pairs(texts: Sequence[str], option: str) -> dict[str, float]:
    """Return ``COLUMN=NUMBER`` options as a mapping; several may stand in one, separated by commas.

    Raises
    ------
    InputError
        One is not of that form.
    """
    found: dict[str, float] = {}
    for text in ",".join(texts).split(",") if texts else ():
        column, _, number = text.rpartition("=")
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


def whole_levels(texts: Sequence[str]) -> dict[str, int]:
    """Return ``--levels`` as a mapping from column to level."""
    levels = pairs(texts, "--levels")
    for column, level in levels.items():
        if not level.is_integer() or level < 0:
            raise InputError(f"The level of column {column!r} must be a whole number from 0 on.", column=column)
    return {column: int(level) for column, level in levels.items()}
