"""A release: protected data with their manifest, and the folder they are handed over in; of any shape.

The folder appears whole or not at all: written aside, read back, verified from those very bytes, renamed.
"""

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from cloister import __version__
from cloister.errors import CloisterError, GuaranteeViolation, InputError, InternalError
from cloister.io import Place, appearing, read_table, sha256, write_csv, write_parquet, write_private
from cloister.report import render_report
from cloister.results import Manifest, Verdict

MANIFEST = "release.json"
REPORT = "report.html"
CODEBOOK = "codebook.csv"
DATA = ("data.csv", "data.parquet")
"""Names of the data file; a release has one of them."""

CLUSTERS = "clusters.json"
"""Disassociated code sets; the data file beside them is ``data.csv``."""

DISASSOCIATION = "disassociation"
"""The method for code sets whose releases hold clusters."""

WITH_CODES = "codes"
"""The part of the manifest that a table with a column of codes has, whose clusters are beside the data file."""

SCHEMA = 1

T = TypeVar("T")


@dataclass(frozen=True)
class Custody:
    """What only the custodian may see: never part of a release folder.

    Attributes
    ----------
    figures : exact figures, paths and the hash of the input
    crosswalk : original id of each released record, or where each record went; None where there are no ids
    """

    figures: dict[str, Any] = field(repr=False)
    crosswalk: pl.DataFrame | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Release(ABC):
    """Protected data that passed verification.

    Attributes
    ----------
    codebook : meaning of columns and labels
    manifest : what ``release.json`` will say
    custody : what only the custodian may see
    """

    codebook: pl.DataFrame = field(repr=False)
    manifest: Manifest
    custody: Custody = field(repr=False)

    @abstractmethod
    def delimiter_written(self) -> str | None:
        """Return what separates the cells of the data file; None where it is not CSV."""

    @abstractmethod
    def recheck(self) -> Verdict:
        """Return the verdict on the protected records."""

    @abstractmethod
    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the protected records into a folder; return the names of the files."""

    @abstractmethod
    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on the protected records as they are read back from a folder."""

    def summary(self) -> Manifest:
        """Return the manifest: settings, guarantee, utility, risk, search."""
        copy: Manifest = json.loads(json.dumps(self.manifest))
        delimiter = self.delimiter_written()
        if delimiter is not None:
            # Whoever reads the file again must not guess: some delimiters are never detected.
            copy["settings"]["delimiter"] = delimiter
        return copy

    def verify(self) -> Verdict:
        """Check the protected records again.

        Raises
        ------
        GuaranteeViolation
            They do not keep the promise.
        """
        verdict = self.recheck()
        if not verdict.holds:
            raise GuaranteeViolation(f"The release does not hold: {'; '.join(verdict.failures)}.")
        return verdict

    def write(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        internal: str | Path | None = None,
        crosswalk: str | Path | None = None,
    ) -> Manifest:
        """Write the release folder and return its manifest; nothing appears unless everything does.

        Parameters
        ----------
        folder : must not exist, or be an earlier release if ``overwrite``; mode 0700, its files 0600
        internal : another folder, outside, for exact figures that only the custodian may see
        crosswalk : file, outside, for the secret map from released to original ids

        Raises
        ------
        InputError
            A place cannot be written to, or exists, or is inside the release, or secrets inside another release.
        InternalError
            What was read back did not pass verification.
        """
        target, inside, secret = Path(folder), _optional(internal), _optional(crosswalk)
        check_apart(target, inside, secret)
        if secret is not None and self.custody.crosswalk is None:
            raise InputError("A crosswalk was asked for, but no id column was named, so there is nothing to map.")
        places = [Place(target, overwrite, is_release)]
        if secret is not None:
            places.append(Place(secret, is_file=True))
        if inside is not None:
            places.append(Place(inside, overwrite, _is_internal))
        with appearing(*places) as (partial, *others):
            manifest = self._fill(partial)
            if secret is not None and self.custody.crosswalk is not None:
                write_csv(self.custody.crosswalk, others[0])
            if inside is not None:
                write_private(others[-1] / "internal.json", _json(self.custody.figures | {"manifest": manifest}))
        return manifest

    def _fill(self, partial: Path) -> Manifest:
        """Write everything into the partial folder, and verify what is read back."""
        started = time.perf_counter()
        names = self.write_data(partial)
        write_csv(self.codebook, partial / CODEBOOK)
        verdict = self.recheck_written(partial)
        if not verdict.holds:
            raise InternalError(f"What was written did not pass verification: {'; '.join(verdict.failures)}.")
        manifest = self.summary()
        seconds = manifest["seconds"]
        seconds["write"] = round(time.perf_counter() - started, 6)
        seconds["total"] = round(seconds["total"] + seconds["write"], 6)
        write_private(partial / REPORT, render_report(manifest).encode())
        manifest["files"] = {name: f"sha256:{sha256(partial / name)}" for name in (*names, CODEBOOK)}
        write_private(partial / MANIFEST, _json(manifest))
        return manifest


@dataclass(frozen=True)
class DataFileRelease(Release):
    """Protected data whose records stand in one file.

    Attributes
    ----------
    frame : the records as the data file has them
    format, delimiter : how it is written: csv or parquet
    """

    frame: pl.DataFrame = field(repr=False)
    format: str
    delimiter: str

    def delimiter_written(self) -> str | None:
        """Return what separates the cells of the data file; None for Parquet."""
        return self.delimiter if self.format == "csv" else None

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the data file."""
        data = folder / f"data.{self.format}"
        if self.format == "parquet":
            write_parquet(self.frame, data)
        else:
            write_csv(self.frame, data, self.delimiter)
        return (data.name,)

    def read_written(self, folder: Path) -> pl.DataFrame:
        """Return the records as they are read back from a folder."""
        return read_data(folder / f"data.{self.format}", self.delimiter)


def _optional(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def check_apart(target: Path, internal: Path | None, crosswalk: Path | None, values: Path | None = None) -> None:
    """Refuse places for secrets that are inside the release folder or another one, or where a file would be lost.

    Raises
    ------
    InputError
        One of them is.
    """
    whole = Path(os.path.realpath(target))
    for name, path in (("--internal", internal), ("--crosswalk", crosswalk), ("--values-to", values)):
        if path is None:
            continue
        place = Path(os.path.realpath(path))
        if place == whole or whole in place.parents or place in whole.parents:
            raise InputError(f"{name} holds secrets and must lie outside the release folder {target.name}.")
        around = next((folder for folder in place.parents if _is_manifest_of(folder)), None)
        if around is not None:
            raise InputError(f"{name} holds secrets, but {around.name} around it is a release. Choose a place outside.")
    if crosswalk is not None and os.path.lexists(crosswalk):
        raise InputError(f"The crosswalk file {crosswalk.name} exists already. Give another name.", file=crosswalk.name)


def _is_manifest_of(folder: Path) -> bool:
    """Whether a folder has a manifest of ours, whatever else is in it."""
    try:
        read_manifest(folder)
    except (CloisterError, OSError):
        return False
    return True


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def read_data(path: Path, delimiter: str | None = None) -> pl.DataFrame:
    """Read a released data file."""
    if path.suffix == ".csv":
        return read_table(path, encoding="utf-8", delimiter=delimiter).frame
    return read_table(path).frame


def is_release(folder: Path) -> bool:
    """Whether a folder is a release of cloister and holds nothing else."""
    try:
        manifest = read_manifest(folder)
    except CloisterError:
        return False
    return not _strangers(folder, manifest)


def _strangers(folder: Path, manifest: Manifest) -> list[str]:
    """Names in a release folder that do not belong to the release."""
    known = {CODEBOOK, CLUSTERS, *DATA} & manifest["files"].keys()
    return sorted({entry.name for entry in folder.iterdir()} - {MANIFEST, REPORT, *known})


def data_file(manifest: Manifest) -> str | None:
    """Return the name of the data file that a manifest lists; None where it lists none, or two."""
    listed = [name for name in DATA if name in manifest["files"]]
    return listed[0] if len(listed) == 1 else None


def _is_internal(folder: Path) -> bool:
    return [entry.name for entry in folder.iterdir()] == ["internal.json"]


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a release folder.

    Raises
    ------
    InputError
        The folder is not a release, or one of another version.
    """
    path = folder / MANIFEST
    if path.is_symlink() or not os.path.isfile(path):
        raise InputError(f"{folder.name} is not a release: it has no {MANIFEST} of its own.", file=MANIFEST)
    manifest = _loaded(path)
    if (
        not isinstance(manifest, dict)
        or manifest.get("schema") != SCHEMA
        or not isinstance(manifest.get("files"), dict)
    ):
        raise InputError(f"{MANIFEST} of {folder.name} is not a manifest of schema {SCHEMA}.", file=MANIFEST)
    return manifest


def _loaded(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes(), object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError):
        pass
    raise InputError(f"{path.name} of {path.parent.name} cannot be read as JSON.", file=path.name)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, of which others would read another value where a key stands twice."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key that stands twice")
    return dict(pairs)


def is_of_this_version(manifest: Manifest) -> bool:
    """Whether a manifest says that this version of the program wrote it."""
    return bool(manifest.get("cloister") == __version__)


def delimiter_told(manifest: Manifest) -> str | None:
    """Return what separates the cells of the data file, if a manifest says so: one character."""
    settings = manifest.get("settings")
    delimiter = settings.get("delimiter") if isinstance(settings, dict) else None
    return delimiter if isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii() else None


def same(told: Any, expected: Any) -> bool:
    """Whether two things are the same in JSON, where 1, 1.0 and true differ.

    Raises
    ------
    TypeError, ValueError
        One of them cannot be written.
    """
    return json.dumps(told, sort_keys=True) == json.dumps(expected, sort_keys=True)


def stated(read: Callable[[], T], promiser: str) -> T:
    """Return what is read from a manifest.

    Parameters
    ----------
    read : the reading
    promiser : what the manifest is of, as a message calls it

    Raises
    ------
    InputError
        The manifest lacks it, or has something else in its place.
    """
    try:
        return read()
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        pass
    raise InputError(f"The manifest {MANIFEST} lacks what {promiser} must promise.", file=MANIFEST)


def check_files(folder: Path, manifest: Manifest) -> list[str]:
    """Return what is wrong with the files of a release folder, in sentences: missing, changed or foreign ones."""
    failures = [] if _lists_what_it_must(manifest) else [_must_list(manifest)]
    for name, digest in manifest["files"].items():
        path = folder / name
        if Path(name).name != name or path.is_symlink() or not os.path.isfile(path):
            failures.append(f"{Path(name).name} is missing")
        elif f"sha256:{sha256(path)}" != digest:
            failures.append(f"{name} was changed after its release")
    foreign = len(_strangers(folder, manifest))
    if foreign:
        failures.append(f"{foreign} file{'s do' if foreign > 1 else ' does'} not belong to the release")
    return failures + _check_report(folder, manifest)


def _lists_what_it_must(manifest: Manifest) -> bool:
    names = {CLUSTERS, DATA[0]} if _has_clusters_alone(manifest) else {data_file(manifest)}
    names |= {CLUSTERS} if WITH_CODES in manifest else set()
    return bool(manifest["files"].keys() == {*names, CODEBOOK})


def _has_clusters_alone(manifest: Manifest) -> bool:
    return manifest.get("shape") == "codes" and manifest.get("method") == DISASSOCIATION


def _must_list(manifest: Manifest) -> str:
    what = f"{CLUSTERS}, {DATA[0]}" if _has_clusters_alone(manifest) else "one data file"
    what = f"{CLUSTERS}, {what}" if WITH_CODES in manifest else what
    return f"{MANIFEST} must list {what} and {CODEBOOK}, no more"


def _check_report(folder: Path, manifest: Manifest) -> list[str]:
    """The report must say what the manifest says. It has no hash, as it tells the time; other versions word it anew."""
    report = folder / REPORT
    if report.is_symlink() or not os.path.isfile(report):
        return [f"{REPORT} is missing"]
    if not is_of_this_version(manifest):
        return []
    try:
        expected = render_report(manifest).encode()
    except Exception:  # a manifest that cannot be rendered was not written by this version
        expected = b""
    return [] if report.read_bytes() == expected else [f"{REPORT} does not say what {MANIFEST} says"]
