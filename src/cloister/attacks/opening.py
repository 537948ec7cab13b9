"""A release and its original, opened for an attack by what its shape asks; alone, or as parts of a job."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TypeVar

import polars as pl

from cloister.checker import Request
from cloister.claims import recheck as claims
from cloister.codesets import original as codes
from cloister.errors import InputError
from cloister.io import from_native, without_formulas
from cloister.manifests import AnyManifest, typed
from cloister.reading import ReadingWords, how_read
from cloister.release import Release
from cloister.release_folder import read_manifest
from cloister.shape import Original
from cloister.sources import read_table
from cloister.table_with_codes.data import TableWithCodesManifest
from cloister.tabular.manifest import TableManifest
from cloister.trajectories import recheck as trajectories

from .chunks import open_chunks
from .claims import open_claims
from .codes import open_codes
from .parts import Link, PartsAttack, links_between
from .simulation import BUDGET, OpenedRelease, simulate
from .table import open_table, open_table_with_codes
from .trajectories import open_trajectories

FOLDER = "release"
T = TypeVar("T")


def check_targets(targets: int, seed: int) -> None:
    """Refuse numbers that no attack has."""
    for name, number, least in (("targets", targets, 1), ("seed", seed, 0)):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise InputError(f"{name} is {number!r}, but must be a whole number from {least} on.")


def open_release(release: Release | str | Path, original: object, known: Request, seed: int = 0) -> OpenedRelease:
    """Open a release and its original for an attack."""
    if not isinstance(release, Release):
        place = Path(release)
        return open_folder(place, typed(read_manifest(place)), original, known, seed)
    if known.crosswalk is None:
        known = replace(known, crosswalk=release.custody.crosswalk)
    with tempfile.TemporaryDirectory(prefix="cloister-") as private:  # mode 0700; what is in it may be released
        folder = Path(private) / FOLDER
        return open_folder(folder, typed(release.write(folder)), original, known, seed)


def open_folder(folder: Path, manifest: AnyManifest, original: object, known: Request, seed: int = 0) -> OpenedRelease:
    """Open a folder that holds the files of a release.

    ``manifest``: of the release; it need not be in the folder yet
    """
    known = replace(known, original=original)
    if manifest.form == "claims":
        return open_claims(folder, manifest, _given(claims.read_original(known)), seed)
    if manifest.form == "trajectories":
        return open_trajectories(folder, manifest, _given(trajectories.read_original(known, manifest)))
    if manifest.form == "disassociation":
        return open_chunks(folder, manifest, _given(codes.read_original(known, manifest.settings)))
    if manifest.form == "generalization":
        return open_codes(folder, manifest, _given(codes.read_original(known, manifest.settings)), known)
    frame = _frame(known, manifest)
    if isinstance(manifest, TableWithCodesManifest):
        return open_table_with_codes(folder, manifest, frame, known.hierarchies, known.secret(), known.words.missing)
    return open_table(folder, manifest, frame, known.hierarchies, known.secret())


def _given(original: T | None) -> T:
    """The original, which every attack needs."""
    assert original is not None
    return original


def _frame(known: Request, manifest: TableManifest) -> pl.DataFrame:
    original, words = known.original, known.words
    if isinstance(original, str | Path):
        frame = read_table(
            original,
            **how_read(words),
            usual_delimiter=manifest.settings.delimiter,
        ).frame
    else:
        frame = from_native(original).frame
    return without_formulas(frame) if manifest.settings.escape_formulas else frame


@dataclass(frozen=True)
class OpenedPart:
    """One release of several that are handed over together, and what it was made from."""

    name: str
    release: Release | str | Path
    original: object
    known: Request = Request()  # noqa: RUF009  (frozen)


def attack_parts(parts: Sequence[OpenedPart], *, targets: int = BUDGET, seed: int = 0) -> PartsAttack:
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


def links_of_parts(parts: Sequence[OpenedPart], *, seed: int = 0) -> tuple[Link, ...]:
    """Return what leads from one of several releases to another; the releases by themselves are not attacked."""
    return links_between(_opened(parts, seed), budget=BUDGET, seed=seed)


def _opened(parts: Sequence[OpenedPart], seed: int) -> list[tuple[str, OpenedRelease]]:
    return [(part.name, open_release(part.release, part.original, part.known, seed)) for part in parts]


def part_of(name: str, folder: Path, original: Original, crosswalk: str | Path | None) -> OpenedPart:
    """Return a part of a job with what it was made from."""
    known = Request(
        hierarchies=original.hierarchies or {},
        crosswalk=crosswalk,
        privacy=original.privacy,
        words=ReadingWords(original.missing),
    )
    return OpenedPart(name, folder, original.data, known)
