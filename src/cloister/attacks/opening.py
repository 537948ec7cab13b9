"""A release and its original, opened for an attack by what its shape asks; alone, or as parts of a job."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from cloister.claims.data import Claims
from cloister.claims.recheck import ClaimsOriginal
from cloister.codesets.data import CodeSets
from cloister.codesets.generalization.data import GeneralizationMethod
from cloister.codesets.request import CodesExpectation, CodesOriginal, GivenCodes, VisitsFile
from cloister.errors import InputError
from cloister.hierarchy import Hierarchy
from cloister.io import from_native, without_formulas
from cloister.originals import ReadingWords, code_columns, original_claims, original_codes, original_trajectories
from cloister.release import Release
from cloister.release_folder import WITH_CODES, delimiter_told, read_manifest
from cloister.results import Manifest
from cloister.shape import Original
from cloister.sources import read_table
from cloister.table_with_codes.manifest import TableWithCodesManifest
from cloister.tabular.manifest import TableManifest
from cloister.trajectories.recheck import TrajectoriesOriginal
from cloister.trajectories.request import GivenTrajectories
from cloister.trajectories.sequences import Trajectories

from .chunks import open_chunks
from .claims import open_claims
from .codes import open_codes
from .parts import Link, PartsAttack, links_between
from .simulation import BUDGET, OpenedRelease, simulate
from .table import open_table
from .table_with_codes import open_table_with_codes
from .trajectories import open_trajectories

FOLDER = "release"


@dataclass(frozen=True)
class Known:
    """What is given of an original beside the data."""

    # by column (of trajectories ``code`` and ``age``), those that came from files
    hierarchies: Mapping[str, Hierarchy] | None = None
    crosswalk: Any = None  # a table, or the file of one
    # plan, attributes, privacy, visit: as of `attack`
    plan: str | Path | None = None
    attributes: str | Path | None = None
    privacy: Any = None
    visit: str | None = None
    # how files are read
    words: ReadingWords = ReadingWords()  # noqa: RUF009  (frozen)

    def secret(self) -> pl.DataFrame | None:
        """Return the crosswalk."""
        if isinstance(self.crosswalk, str | Path):
            return read_table(self.crosswalk).frame
        return None if self.crosswalk is None else from_native(self.crosswalk).frame


def check_targets(targets: int, seed: int) -> None:
    """Refuse numbers that no attack has."""
    for name, number, least in (("targets", targets, 1), ("seed", seed, 0)):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise InputError(f"{name} is {number!r}, but must be a whole number from {least} on.")


def open_release(release: Release | str | Path, original: Any, known: Known, seed: int = 0) -> OpenedRelease:
    """Open a release and its original for an attack."""
    if not isinstance(release, Release):
        place = Path(release)
        if not os.path.isdir(place):
            raise InputError(f"There is no folder {place.name}.", file=place.name)
        return open_folder(place, read_manifest(place), original, known, seed)
    if known.crosswalk is None:
        known = replace(known, crosswalk=release.custody.crosswalk)
    with tempfile.TemporaryDirectory(prefix="cloister-") as private:  # mode 0700; what is in it may be released
        folder = Path(private) / FOLDER
        return open_folder(folder, release.write(folder), original, known, seed)


def open_folder(folder: Path, manifest: Manifest, original: Any, known: Known, seed: int = 0) -> OpenedRelease:
    """Open a folder that holds the files of a release.

    ``manifest``: of the release; it need not be in the folder yet
    """
    shape = manifest.get("shape")
    opened = OPENED.get(shape) if isinstance(shape, str) else None
    if opened is None:
        raise InputError(
            f"{folder.name} is not a release of a shape that this version can attack: {', '.join(OPENED)}."
        )
    return opened(folder, manifest, original, known, seed)


def _table(folder: Path, manifest: Manifest, original: Any, known: Known, _seed: int) -> OpenedRelease:
    if isinstance(original, str | Path):
        frame = read_table(
            original,
            missing=known.words.missing,
            encoding=known.words.encoding,
            delimiter=known.words.delimiter,
            usual_delimiter=delimiter_told(manifest),
        ).frame
    else:
        frame = from_native(original).frame
    frame = without_formulas(frame) if manifest["settings"].get("escape_formulas") else frame
    if WITH_CODES in manifest:
        both, missing = TableWithCodesManifest.of(manifest), known.words.missing
        return open_table_with_codes(folder, both, frame, known.hierarchies, known.secret(), missing)
    return open_table(folder, TableManifest.of(manifest), frame, known.hierarchies, known.secret())


def _codes(folder: Path, manifest: Manifest, original: Any, known: Known, _seed: int) -> OpenedRelease:
    if isinstance(original, CodeSets):
        original = GivenCodes(original)
    if not isinstance(original, GivenCodes):
        read = original_codes(manifest, original, None, known.words)
        assert read is not None
        original = read.given
    given = CodesOriginal(original, known.secret())
    if manifest.get("method") not in tuple(GeneralizationMethod):
        return open_chunks(folder, manifest, given)
    words = known.words
    visits = VisitsFile(
        known.visit,
        **code_columns(manifest),
        encoding=words.encoding,
        delimiter=words.delimiter,
        missing=tuple(words.missing),
    )
    return open_codes(folder, manifest, given, CodesExpectation(privacy=known.privacy, visits=visits))


def _trajectories(folder: Path, manifest: Manifest, original: Any, known: Known, _seed: int) -> OpenedRelease:
    hierarchies = known.hierarchies or {}
    if isinstance(original, Trajectories):
        original = GivenTrajectories(original)
    if isinstance(original, GivenTrajectories):
        given = TrajectoriesOriginal(original, known.secret(), hierarchies.get("code"), hierarchies.get("age"))
        return open_trajectories(folder, manifest, given)
    read = original_trajectories(manifest, original, None, known.attributes, hierarchies, known.words)
    assert read is not None
    given = TrajectoriesOriginal(read.given, known.secret(), read.code_hierarchy, read.age_hierarchy)
    return open_trajectories(folder, manifest, given)


def _claims(folder: Path, manifest: Manifest, original: Any, known: Known, seed: int) -> OpenedRelease:
    if isinstance(original, Claims):
        return open_claims(folder, manifest, ClaimsOriginal(original, known.secret()), seed)
    read = original_claims(original, known.plan, None, known.words)
    assert read is not None
    return open_claims(folder, manifest, ClaimsOriginal(read.claims, known.secret()), seed)


Opened = Callable[[Path, Manifest, Any, Known, int], OpenedRelease]
OPENED: dict[str, Opened] = {"table": _table, "codes": _codes, "trajectories": _trajectories, "claims": _claims}
"""How a release of each shape and its original are opened, from folder, manifest, original, what is known, and seed."""


@dataclass(frozen=True)
class Part:
    """One release of several that are handed over together, and what it was made from."""

    name: str
    release: Release | str | Path  # a release, or its folder
    original: Any  # as of `attack`
    known: Known = Known()  # what else is given of the original


def attack_parts(parts: Sequence[Part], *, targets: int = BUDGET, seed: int = 0) -> PartsAttack:
    """Attack several releases as somebody who knows the same patient in all of them.

    ``parts``: the releases; originals name their patients by the same ids
    ``targets, seed``: as of `attack`

    Returns
    -------
    PartsAttack
        What was found in each part, and what leads from one to another.
    """
    check_targets(targets, seed)
    opened = _opened(parts, seed)
    links = links_between(opened, budget=targets, seed=seed)
    found = tuple((name, simulate(each, budget=targets, seed=seed)) for name, each in opened)
    linked = {(link.first, link.second) for link in links}
    left = tuple(pair for pair in combinations((part.name for part in parts), 2) if pair not in linked)
    return PartsAttack(found, links, left)


def links_of_parts(parts: Sequence[Part], *, seed: int = 0) -> tuple[Link, ...]:
    """Return what leads from one of several releases to another; the releases by themselves are not attacked."""
    return links_between(_opened(parts, seed), budget=BUDGET, seed=seed)


def _opened(parts: Sequence[Part], seed: int) -> list[tuple[str, OpenedRelease]]:
    return [(part.name, open_release(part.release, part.original, part.known, seed)) for part in parts]


def part_of(name: str, folder: Path, original: Original, crosswalk: str | Path | None) -> Part:
    """Return a part of a job with what it was made from."""
    known = Known(original.hierarchies, crosswalk, privacy=original.privacy, words=ReadingWords(original.missing))
    return Part(name, folder, original.data, known)
