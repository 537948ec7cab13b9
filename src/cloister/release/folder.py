"""A release folder on disk: its manifest, its required files, and checks that they are unchanged."""

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import polars as pl

from cloister.errors import CloisterError, InputError, NamedSetting
from cloister.io import formula_columns, is_taken, read_table, sha256
from cloister.io.batches import is_as_written, read_released_frames
from cloister.release.earlier_names import with_earlier_names, with_names_of_today
from cloister.release.head import (
    ATTRIBUTES,
    CLUSTERS,
    CODEBOOK,
    DATA,
    FIGURES,
    MANIFEST,
    PATIENTS_AND_CLAIMS,
    REPORTS,
    SCHEMA,
    SCRIPT,
    UNBOUND,
)
from cloister.release.manifest import AnyManifest, outline_of
from cloister.results import Figures, Manifest
from cloister.settings.reading import KEEP

SMALL, VERSION = re.compile("[0-9]{1,3}"), re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}")
TABLE = "table"
"""The part of the manifest of a table whose records are in a database."""


class ListsFiles(Protocol):
    """The common interface of the manifests of releases and jobs."""

    @property
    def schema_(self) -> int:
        """Version of the manifest's layout."""

    @property
    def files(self) -> dict[str, str]:
        """The hash of each file, by file name."""

    def as_json(self) -> Manifest:
        """Return the manifest in its JSON form."""


def read_data(path: Path, delimiter: str | None = None) -> pl.DataFrame:
    """Read a released data file."""
    if path.suffix == ".csv":
        return read_table(path, encoding="utf-8", delimiter=delimiter, row_index=KEEP).frame
    return read_table(path).frame


def read_tables(folder: Path, manifest: AnyManifest) -> dict[str, pl.DataFrame]:
    """Read the tables of a release, by file name; tables from Parquet have types.

    Raises
    ------
    InputError
        A file cannot be read, or does not have the columns that the manifest declares.
    """
    tables = {}
    for spec in (one for one in manifest.file_specs() if one.columns is not None):
        frame = read_data(folder / spec.name, manifest.settings.delimiter)
        if tuple(frame.columns) != spec.columns:
            raise InputError(f"{spec.name} does not have the columns that {MANIFEST} declares.", file=spec.name)
        tables[spec.name] = frame
    return tables


def is_release(folder: Path) -> bool:
    """Return whether a folder is a release of cloister without foreign files, so that it is safe to replace."""
    try:
        manifest = read_manifest(folder)
    except CloisterError:
        return False
    return not _strangers(folder, outline_of(manifest).hashes) and holds_files_alone(folder)


def holds_files_alone(folder: Path) -> bool:
    """Return whether a folder contains only regular files."""
    return all(entry.is_file(follow_symlinks=False) for entry in os.scandir(folder))


def release_around(path: Path) -> Path | None:
    """Return the nearest enclosing folder with a manifest of cloister; None if there is none."""
    for folder in Path(os.path.realpath(path)).parents:
        with suppress(CloisterError, OSError):
            read_manifest(folder)
            return folder
    return None


def check_new(path: Path, where: NamedSetting | None = None) -> None:
    """Reject an output path that exists, or that is inside a release; ``where``: the setting that gives another."""
    if is_taken(path):
        named = (" by ", where) if where else ()
        raise InputError(f"{path.name} exists already. Give another name", *named, ", or remove it.", file=path.name)
    if release_around(path) is not None:
        raise InputError(
            f"{path.name} would be inside a release, which must not contain other files. Name another place."
        )


def _strangers(folder: Path, files: Mapping[str, object]) -> list[str]:
    """Return the names in a release folder that do not belong to the release."""
    of_claims = {name for pair in PATIENTS_AND_CLAIMS for name in pair}
    known = {CODEBOOK, SCRIPT, CLUSTERS, ATTRIBUTES, *DATA, *of_claims} & files.keys()
    return sorted({entry.name for entry in folder.iterdir()} - {MANIFEST, *REPORTS, *known})


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a release folder; its schema decides how it is read, not the version that wrote it."""
    path = folder / MANIFEST
    if not os.path.isdir(folder):
        is_there = "is a file, and a release is a folder. Give the folder" if os.path.exists(folder) else None
        raise InputError(
            f"{folder.name} {is_there}." if is_there else f"There is no folder {folder.name}.", file=folder.name
        )
    if not is_file(path):
        raise InputError(f"{folder.name} is not a release: it has no {MANIFEST} of its own.", file=MANIFEST)
    manifest = _load_json(path)
    stated = outline_of(manifest if isinstance(manifest, dict) else {})
    if not isinstance(manifest, dict) or not isinstance(stated.files, dict):
        raise InputError(f"{MANIFEST} of {folder.name} is not the manifest of a release.", file=MANIFEST)
    if stated.schema_ in (SCHEMA, UNBOUND):
        return with_names_of_today(manifest)
    # Anything could be there; what is neither a small number nor a version is not repeated.
    of = f"schema '{stated.schema_}'" if SMALL.fullmatch(str(stated.schema_)) else "an unknown schema"
    by = f", cloister {stated.cloister}," if VERSION.fullmatch(str(stated.cloister)) else ""
    raise InputError(
        f"{folder.name} is a release of {of}, and this version reads {UNBOUND} and {SCHEMA}. Verify it with what wrote "
        f"it{by} or a later version.",
        file=MANIFEST,
    )


def _load_json(path: Path) -> object:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        """Reject duplicate keys, as other programs could read another value."""
        if len(dict(pairs)) != len(pairs):
            raise ValueError
        return dict(pairs)

    try:
        found: object = json.loads(path.read_bytes(), object_pairs_hook=once)
        return found
    except (OSError, ValueError, RecursionError):
        pass
    raise InputError(f"{path.name} of {path.parent.name} cannot be read as JSON.", file=path.name)


def check_files(folder: Path, manifest: AnyManifest) -> list[str]:
    """Return the faults of a release folder's files, in sentences: missing, changed or foreign files."""
    failures = [] if (must := manifest.must_list()) is None else [f"{MANIFEST} must list {must}"]
    for name, digest in manifest.files.items():
        path = folder / name
        if Path(name).name != name or not is_file(path):
            failures.append(f"{Path(name).name} is missing")
        elif f"sha256:{sha256(path)}" != digest:
            failures.append(f"{name} was changed after its release")
        else:
            failures += _as_written_failures(path, manifest)
    failures += report_failures(folder, manifest.schema_, manifest.files)
    foreign = len(_strangers(folder, manifest.files))
    if foreign:
        failures.append(f"{foreign} file{'s do' if foreign > 1 else ' does'} not belong to the release")
    return failures


def report_failures(folder: Path, schema: int, listed: Collection[str]) -> list[str]:
    """Return the reports that are unlisted or missing, in sentences; only the older schema may list none."""
    unlisted = [name for name in REPORTS if name not in listed]
    if schema == SCHEMA:
        return [f"{MANIFEST} does not list {name}" for name in unlisted]
    return [f"{name} is missing" for name in unlisted if not is_file(folder / name)]


def hashes_of(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the hash of each of these files in a folder, as a manifest lists it."""
    return {name: f"sha256:{sha256(folder / name)}" for name in names}


def is_file(path: Path) -> bool:
    """Return whether a path is a regular file, and not a symbolic link."""
    return os.path.isfile(path) and not path.is_symlink()


def manifest_failures(folder: Path, expected: Manifest) -> list[str]:
    """Return a failure if the manifest is not in canonical form: its white space could carry a message."""
    try:
        is_written = _is_json_of(folder / MANIFEST, expected)
    except ValueError:  # a text that no file can hold
        is_written = False
    return [] if is_written else [f"{MANIFEST} is not written in the one way there is"]


def _is_json_of(path: Path, content: Manifest) -> bool:
    """Return whether a file contains exactly this content, with today's names or with earlier ones."""
    return path.read_bytes() in (json_bytes(content), json_bytes(with_earlier_names(content)))


def _as_written_failures(path: Path, manifest: AnyManifest) -> list[str]:
    """Return a failure if a table of a release is not in canonical form."""
    if path.suffix not in (".csv", ".parquet"):
        return []  # clusters, which their verifier writes again
    delimiter = _delimiter_of(path, manifest)
    try:
        if is_as_written(path, delimiter):
            return []
    except InputError as error:
        return [error.message.without_stop()]
    return [] if has_other_bytes(path, manifest) else [f"{path.name} is not written in the one way there is"]


def has_other_bytes(path: Path, manifest: AnyManifest) -> bool:
    """Return whether the canonical form of a file is not known here: that of Parquet depends on the Polars version."""
    return path.suffix == ".parquet" and manifest.machine.polars != pl.__version__


def _delimiter_of(path: Path, manifest: AnyManifest) -> str | None:
    """Return the delimiter of a released file; None for Parquet."""
    if path.suffix == ".parquet":
        return None
    return "," if path.name == CODEBOOK else manifest.settings.delimiter


def formulas_in(
    folder: Path, manifest: AnyManifest, known: Mapping[str, pl.DataFrame] | None = None
) -> dict[str, list[str]]:
    """Return the columns of each CSV file with a cell or name that a spreadsheet would run as a formula.

    ``known``: the tables of some of them, by their names without endings, so that they need not be read again
    """
    found = {}
    for name in (name for name in manifest.files if name.endswith(".csv")):
        if known is not None and Path(name).stem in known:
            frames = iter([known[Path(name).stem]])
        else:
            frames = read_released_frames(folder / name, _delimiter_of(folder / name, manifest))
        found[name] = sorted({column for frame in frames for column in formula_columns(frame)})
    return {name: columns for name, columns in found.items() if columns}


def json_bytes(content: Mapping[str, object]) -> bytes:
    """Return an object as the bytes of a release's JSON file."""
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def report_json(manifest: ListsFiles, warnings: Sequence[str], shown: Mapping[str, object]) -> Manifest:
    """Return the content of ``report.json``: the manifest without the reports' hashes, the warnings and the figures.

    ``shown``: the figures of a release by ``figures``, of a job its parts by ``parts``
    """
    files = {name: digest for name, digest in manifest.files.items() if name not in REPORTS}
    release = manifest.as_json() | {"files": files}
    return {"schema": manifest.schema_, "warnings": warnings, "release": release, **shown}


def figure_failures(folder: Path, manifest: ListsFiles, shown: Mapping[str, object]) -> list[str]:
    """Return a failure if figures in ``report.json`` differ from the derived ones; only its hash covers warnings."""
    report = _load_json(folder / FIGURES)
    warnings = report.get("warnings") if isinstance(report, dict) else None
    is_worded = isinstance(warnings, list) and all(isinstance(one, str) for one in warnings)
    if is_worded and _is_json_of(folder / FIGURES, report_json(manifest, warnings or [], shown)):
        return []
    return [f"{FIGURES} does not say what {MANIFEST} and the released files say"]


def read_figures(folder: Path) -> Figures:
    """Return the figures that the report of a folder shows in addition to the manifest."""
    shown = _load_json(folder / FIGURES)
    assert isinstance(shown, dict)
    figures: Figures = shown["figures"]
    return figures
