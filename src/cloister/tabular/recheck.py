"""A release folder of a table, checked again from its files alone, and against the original if that is given."""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy, Ladder, parse_hierarchy
from cloister.hierarchy.build import BUILDERS
from cloister.io import as_text, distinct_values
from cloister.release import CODEBOOK, check_files, data_file, read_data
from cloister.results import Manifest, Verdict
from cloister.utility import LOSSES

from .codebook import codebook_of
from .manifest import allowed_suppression, contradictions, promise_of
from .roles import check_columns
from .verify import Original, Promise, class_sizes, released_records, verify

T = TypeVar("T")

AGREEMENT = 1e-9
"""How far a figure may be from the one recomputed."""

BANDS = (2, 5, 10, 20, 50, 100, 500, 1000)
"""Lower ends of the class sizes that are told together."""


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
    """Check hashes, columns, counts, classes, order, ids, figures and codebook of a release folder.

    Parameters
    ----------
    original : the table it was made from
    hierarchies : those that came from files, by column; needed with an original

    Raises
    ------
    InputError
        The folder cannot be read as a release, or what is expected of it does not fit it.
    """
    promise = _stated(lambda: promise_of(manifest))
    failures = check_files(folder, manifest) + _stated(lambda: contradictions(manifest, promise))
    name = data_file(manifest)
    if name is None or not os.path.isfile(folder / name):
        return Verdict(False, "the files were looked for", (), tuple(failures))
    try:
        frame = read_data(folder / name, _delimiter(manifest, name))
    except InputError as error:
        return Verdict(False, "the data file was read", (), (*failures, error.message.rstrip(".")))
    source = None
    if original is not None:
        source = _original(original, manifest, promise, hierarchies or {})
        limit = _stated(lambda: allowed_suppression(manifest, original.height))
        promise = replace(promise, limit=limit)
    verdict = verify(frame, promise, source)
    check_columns(expectation.quasi_identifiers, frame.columns, "the release")
    if tuple(frame.columns) == promise.columns and not any("roles" in failure for failure in failures):
        failures += _stated(lambda: _codebook_failures(folder, frame, manifest))
        failures += _stated(lambda: _figure_failures(frame, manifest, promise, source))
        failures += _expectation_failures(frame, promise, expectation)
    checks = (
        verdict.checks if failures else (*verdict.checks, *_checked(_is_exact(manifest, promise), source is not None))
    )
    return Verdict(verdict.holds and not failures, verdict.how, checks, (*verdict.failures, *failures))


def _checked(is_exact: bool, has_original: bool) -> tuple[str, ...]:
    """What was checked besides the table, where all of it holds."""
    losses = "losses follow from the original and the released records" if has_original else "losses fit each other"
    return (
        "files are as they were released, and no others are there",
        "the manifest does not contradict itself",
        "the codebook lists what was released, and nothing else",
        "figures of risk follow from the released records",
        losses if is_exact else "losses are estimates, which were not recomputed",
    )


def _stated(read: Callable[[], T]) -> T:
    """What is read from a manifest; refuses one that lacks it."""
    try:
        return read()
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        pass
    raise InputError("The manifest release.json lacks what a table must promise.", file="release.json")


def _delimiter(manifest: Manifest, name: str) -> str | None:
    if not name.endswith(".csv"):
        return None
    delimiter = _stated(lambda: manifest["settings"]["delimiter"])
    if not isinstance(delimiter, str):
        raise InputError("The manifest release.json does not name the delimiter of the data.", file="release.json")
    return delimiter


def _original(
    frame: pl.DataFrame, manifest: Manifest, promise: Promise, hierarchies: Mapping[str, Hierarchy]
) -> Original:
    check_columns([column for column in promise.columns if column != promise.id], frame.columns, "the original")
    ladders = {}
    for column, level in promise.levels.items():
        hierarchy = hierarchies[column] if column in hierarchies else _built(manifest, column)
        ladders[column] = hierarchy.bind(column, distinct_values(as_text(frame.get_column(column))))
        if not level < ladders[column].n_levels:
            raise InputError(f"The manifest states level {level} of column {column!r}, which its hierarchy lacks.")
    return Original(frame, ladders)


def _built(manifest: Manifest, column: str) -> Hierarchy:
    """The hierarchy of a column by the words of the manifest, which may name a builder but no file of this machine."""
    settings = manifest.get("settings")
    specs = settings.get("hierarchies") if isinstance(settings, dict) else None
    spec = specs.get(column) if isinstance(specs, dict) else None
    if not isinstance(spec, str):
        raise InputError(f"The manifest does not name the hierarchy of column {column!r}.", column=column)
    name, colon, _ = spec.partition("/")[0].partition(":")
    builds = name in BUILDERS and (bool(colon) or "/" not in spec)
    if not builds or manifest["columns"][column].get("hierarchy") == "file":
        raise InputError(
            f"The hierarchy of column {column!r} came from a file. To compare with the original, give it with "
            f"--hierarchies DIR or --qi {column}=FILE.",
            column=column,
        )
    return parse_hierarchy(spec)


def _codebook_failures(folder: Path, frame: pl.DataFrame, manifest: Manifest) -> list[str]:
    """How the codebook differs from the one that the release must have; as counts."""
    book = folder / CODEBOOK
    if not os.path.isfile(book):
        return [f"{CODEBOOK} is missing"]
    expected = codebook_of(frame, manifest)
    try:
        listed = read_data(book, ",")
    except InputError as error:
        return [error.message.rstrip(".")]
    if listed.columns != expected.columns:
        return [f"{CODEBOOK} lacks its columns"]
    if listed.equals(expected):
        return []
    failures = []
    for column, described in manifest["columns"].items():
        released, told = (set(rows.filter(pl.col("column") == column)["label"]) for rows in (expected, listed))
        if told != released:
            failures.append(
                f"column {column!r} has {len(released - told)} labels that the codebook does not list at level "
                f"{described.get('level')}, and lacks {len(told - released)} that it lists"
            )
    return failures or [f"{CODEBOOK} does not say of columns and labels what release.json says of them"]


def _figure_failures(frame: pl.DataFrame, manifest: Manifest, promise: Promise, source: Original | None) -> list[str]:
    """Figures of the manifest that are not those of the released records, by their names."""
    sizes = class_sizes(frame, promise, list(promise.levels))
    if not len(sizes):
        return []
    threshold = manifest["risk"]["threshold"]
    if not 0 < threshold <= 1:
        raise ValueError("not a risk")
    wrong = [*_differences(manifest["risk"], _risk(sizes, threshold), "risk")]
    wrong += _differences(manifest["utility"], _utility(frame, manifest, promise, source), "utility")
    return [f"what should follow from the released records does not: {', '.join(wrong)}"] if wrong else []


def _differences(found: Any, expected: Any, name: str) -> Iterator[str]:
    """Names of the figures that are missing, too many or not as expected."""
    if isinstance(expected, dict):
        if not isinstance(found, dict) or found.keys() != expected.keys():
            yield name
            return
        for key, value in expected.items():
            yield from _differences(found[key], value, f"{name}.{key}")
    elif isinstance(expected, float):
        # Compared before the difference is taken: a whole number of the manifest may be larger than any float.
        if isinstance(found, bool) or not expected - AGREEMENT <= found <= expected + AGREEMENT:
            yield name
    elif type(found) is not type(expected) or found != expected:
        yield name


def _risk(sizes: pl.Series, threshold: float) -> dict[str, Any]:
    """Risk of the released records by the sizes of their classes, smallest first."""
    records, smallest, largest = int(sizes.sum()), int(sizes[0]), int(sizes[-1])
    bands = {f"{low}-{high - 1}": (low, high) for low, high in pairwise(BANDS)}
    bands[f"{BANDS[-1]} and more"] = (BANDS[-1], largest + 1)
    return {
        "highest": 1 / smallest,
        "average": len(sizes) / records,
        "share_above_threshold": int(sizes.filter(1 / sizes > threshold + AGREEMENT).sum()) / records,
        "threshold": threshold,
        "classes": len(sizes),
        "smallest_class": smallest,
        "largest_class": largest,
        "records_by_class_size": {
            band: int(sizes.filter((sizes >= low) & (sizes < high)).sum()) for band, (low, high) in bands.items()
        },
    }


def _utility(frame: pl.DataFrame, manifest: Manifest, promise: Promise, source: Original | None) -> dict[str, Any]:
    """Losses as they must be stated: those that cannot be recomputed without the original are taken as they are."""
    stated, settings = manifest["utility"], manifest["settings"]
    exact = _is_exact(manifest, promise)
    labels = dict(zip(promise.levels, released_records(frame, promise, list(promise.levels)), strict=True))
    columns = {}
    for column, level in promise.levels.items():
        top, loss = stated["columns"][column]["top"], _share(stated["columns"][column]["loss"])
        if source is not None and exact:
            ladder = source.ladders[column]
            top, loss = ladder.n_levels - 1, _column_loss(labels[column], ladder, level, promise.suppressed or 0)
        if not level <= top:
            raise ValueError("a level above the top")
        columns[column] = {"loss": loss, "top": top, "labels": labels[column].n_unique()}
    losses = {name: _share(stated["losses"][name]) for name in LOSSES}
    if exact:
        shares = [columns[column]["loss"] for column in columns]
        weights = [float(settings["weights"].get(column, 1)) for column in columns]
        losses = {name: _mean(shares, weights, geometric=loss.geometric) for name, loss in LOSSES.items()}
    return {"loss": losses[settings["loss"]], "exact": exact, "losses": losses, "columns": columns}


def _is_exact(manifest: Manifest, promise: Promise) -> bool:
    """Whether losses are exact; where a number is kept back, they can be no more than estimates."""
    return bool(manifest["utility"]["exact"]) and promise.suppressed is not None


def _share(number: Any) -> float:
    if not 0 <= number <= 1:
        raise ValueError("not a share")
    return float(number)


def _column_loss(labels: pl.Series, ladder: Ladder, level: int, suppressed: int) -> float:
    """Mean over all records of (leaves covered - 1) / (leaves of the domain - 1); 1 where suppressed."""
    covered = pl.DataFrame(
        {"label": ladder.labels[level], "leaves": ladder.leaves[level]}, schema={"label": pl.String, "leaves": pl.Int64}
    )
    joined = labels.to_frame("label").join(covered.unique(), on="label", how="left", nulls_equal=True)
    domain = max(1, ladder.n_leaves - 1)
    lost = int((joined["leaves"] - 1).sum()) / domain
    return (lost + suppressed) / (len(labels) + suppressed)


def _mean(losses: Sequence[float], weights: Sequence[float], *, geometric: bool) -> float:
    """Weighted mean, or geometric mean of 1 + loss, minus 1."""
    pairs, whole = list(zip(losses, weights, strict=True)), math.fsum(weights)
    if geometric:
        return math.exp(math.fsum(weight / whole * math.log(1 + loss) for loss, weight in pairs)) - 1
    return math.fsum(weight / whole * loss for loss, weight in pairs)


def _expectation_failures(frame: pl.DataFrame, promise: Promise, expectation: Expectation) -> list[str]:
    """What the recipient asks for beyond the manifest."""
    columns: Sequence[str] = expectation.quasi_identifiers or tuple(promise.levels)
    k = expectation.k or promise.k
    sizes = class_sizes(frame, promise, columns)
    small = len(sizes.filter(sizes < k))
    if not small:
        return []
    return [f"as asked: {small} of {len(sizes)} classes have fewer than {k} records (the smallest {sizes[0]})"]
