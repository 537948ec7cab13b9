"""A release folder of a table, checked again from its files alone, and against the original if that is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy, parse_hierarchy
from cloister.io import as_text, distinct_values
from cloister.release import CODEBOOK, check_files, read_data
from cloister.results import Manifest, Verdict

from .manifest import promise_of
from .roles import check_columns
from .verify import Original, Promise, verify


@dataclass(frozen=True)
class Expectation:
    """What the recipient expects, whatever the manifest says: a class size, and the quasi-identifiers to judge by."""

    k: int | None = None
    quasi_identifiers: tuple[str, ...] = ()


def recheck(
    folder: Path,
    manifest: Manifest,
    expectation: Expectation,
    original: pl.DataFrame | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Verdict:
    """Check hashes, columns, counts, classes, order, ids and codebook of a release folder.

    Parameters
    ----------
    original : the table it was made from
    hierarchies : those that came from files, by column; needed with an original

    Raises
    ------
    InputError
        The folder cannot be read as a release, or what is expected of it does not fit it.
    """
    promise = _promise(manifest)
    failures = check_files(folder, manifest)
    data = _data_file(folder, manifest)
    if data is None:
        return Verdict(False, "the files were looked for", (), tuple(failures or ["no data file is listed"]))
    try:
        frame = read_data(data)
    except InputError as error:
        return Verdict(False, "the data file was read", (), (*failures, error.message.rstrip(".")))
    source = None if original is None else _original(original, manifest, promise, hierarchies or {})
    verdict = verify(frame, promise, source)
    check_columns(expectation.quasi_identifiers, frame.columns, "the release")
    if set(promise.levels) <= set(frame.columns):
        failures += _codebook_failures(folder, frame, promise)
        failures += _expectation_failures(frame, promise, expectation)
    checks = (
        verdict.checks
        if failures
        else (*verdict.checks, "files are as they were released", "labels are those of the codebook")
    )
    return Verdict(verdict.holds and not failures, verdict.how, checks, (*verdict.failures, *failures))


def _promise(manifest: Manifest) -> Promise:
    try:
        return promise_of(manifest)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        pass
    raise InputError("The manifest release.json lacks what a table must promise.", file="release.json")


def _data_file(folder: Path, manifest: Manifest) -> Path | None:
    for name in ("data.csv", "data.parquet"):
        if name in manifest["files"] and (folder / name).is_file():
            return folder / name
    return None


def _original(
    frame: pl.DataFrame, manifest: Manifest, promise: Promise, hierarchies: Mapping[str, Hierarchy]
) -> Original:
    check_columns([column for column in promise.columns if column != promise.id], frame.columns, "the original")
    ladders = {}
    for column, level in promise.levels.items():
        if column in hierarchies:
            hierarchy = hierarchies[column]
        elif manifest["columns"][column].get("hierarchy") == "file":
            raise InputError(
                f"The hierarchy of column {column!r} came from a file. To compare with the original, give it with "
                f"--hierarchies DIR or --qi {column}=FILE.",
                column=column,
            )
        else:
            hierarchy = parse_hierarchy(_spec(manifest, column))
        ladders[column] = hierarchy.bind(column, distinct_values(as_text(frame[column])))
        if not level < ladders[column].n_levels:
            raise InputError(f"The manifest states level {level} of column {column!r}, which its hierarchy lacks.")
    return Original(frame, ladders)


def _spec(manifest: Manifest, column: str) -> str:
    """How the manifest names the hierarchy of a column."""
    settings = manifest.get("settings")
    specs = settings.get("hierarchies") if isinstance(settings, dict) else None
    spec = specs.get(column) if isinstance(specs, dict) else None
    if not isinstance(spec, str):
        raise InputError(f"The manifest does not name the hierarchy of column {column!r}.", column=column)
    return spec


def _codebook_failures(folder: Path, frame: pl.DataFrame, promise: Promise) -> list[str]:
    """Labels that are released but not in the codebook at the stated level, or the other way round; as counts."""
    book = folder / CODEBOOK
    if not book.is_file():
        return [f"{CODEBOOK} is missing"]
    try:
        listed = read_data(book, ",")
    except InputError as error:
        return [error.message.rstrip(".")]
    if not {"column", "level", "label"} <= set(listed.columns):
        return [f"{CODEBOOK} lacks its columns"]
    failures = []
    for column, level in promise.levels.items():
        rows = listed.filter((pl.col("column") == column) & (pl.col("level") == str(level)))
        described = set(rows["label"])
        released = set(as_text(frame[column]))
        if described != released:
            failures.append(
                f"column {column!r} has {len(released - described)} labels that the codebook does not list at level "
                f"{level}, and lacks {len(described - released)} that it lists"
            )
    return failures


def _expectation_failures(frame: pl.DataFrame, promise: Promise, expectation: Expectation) -> list[str]:
    """What the recipient asks for beyond the manifest."""
    columns: Sequence[str] = expectation.quasi_identifiers or tuple(promise.levels)
    k = expectation.k or promise.k
    levels = dict.fromkeys(columns, 0)
    if k == promise.k and set(levels) == set(promise.levels):
        return []
    asked = replace(promise, levels=levels, k=k, released=None)
    return [f"as asked: {failure}" for failure in verify(frame, asked).failures if "classes" in failure]
