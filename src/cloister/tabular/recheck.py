"""A release folder of a table, checked again from its files alone, and against the original if that is given."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy, Ladder, parse_hierarchy
from cloister.hierarchy.build import BUILDERS
from cloister.io import as_text, n_records, table_columns, without_formulas
from cloister.release_folder import CODEBOOK, TABLE, check_files, read_data, stated
from cloister.report_figures import ReportCounts, report_failures
from cloister.results import Manifest, Verdict

from .codebook import codebook_of
from .manifest import allowed_suppression, contradictions, promise_of, rules_of
from .manifest_fields import field_failures
from .recheck_data import columns_that_stayed, data_file_of, read_released, said_of_database
from .recheck_figures import figure_failures, is_exact
from .roles import check_columns
from .shown import shown_of_records
from .verification.promise import Original, Population, Promise, bound_ladders
from .verify import OTHERS_AS_RECORDED, class_sizes, released_texts, verify

T = TypeVar("T")


@dataclass(frozen=True)
class Expectation:
    """What the recipient expects, whatever the manifest says: a class size, and the quasi-identifiers to judge by."""

    k: int | None = None
    quasi_identifiers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Around:
    """What a release may hold beside the table.

    Attributes
    ----------
    reduced : from the data file, or the original, to the table as it was protected
    codebook : from the codebook of the table to that of the release
    column : of which the report of the table says nothing; None if there is none
    shown : from what the report shows of the table to what it shows of the release
    """

    reduced: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame
    codebook: Callable[[pl.DataFrame], pl.DataFrame] = lambda book: book
    column: str | None = None
    shown: Callable[[ReportCounts], ReportCounts] = lambda shown: shown


PLAIN = Around()


def recheck(
    folder: Path,
    manifest: Manifest,
    expectation: Expectation,
    original: pl.DataFrame | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    populations: Mapping[str, pl.DataFrame] | None = None,
    around: Around = PLAIN,
    read: pl.DataFrame | None = None,
) -> Verdict:
    """Check hashes, columns, counts, classes, order, ids, figures and codebook of a release folder.

    Parameters
    ----------
    original : the table it was made from
    hierarchies : those that came from files, by column; needed with an original or a population
    populations : tables that rules compare with, by the name of their files
    around : what the release holds beside the table, and how the table looks without it
    read : the data file, where it was read before; the tally of the protected table, where that is in a database

    Raises
    ------
    InputError
        The folder cannot be read as a release, or what is expected of it does not fit it.
    """
    promise = _stated(lambda: promise_of(manifest))
    failures = check_files(folder, manifest)
    failures += _stated(lambda: contradictions(manifest, promise) + field_failures(manifest))
    if TABLE not in manifest and data_file_of(folder, manifest) is None:
        return Verdict(False, "the files were looked for", (), tuple(failures))
    try:
        released = read_released(folder, manifest, promise, read)
    except InputError as error:
        if TABLE in manifest:
            raise
        return Verdict(False, "the data file was read", (), (*failures, error.message.rstrip(".")))
    frame, source, ladders, stayed = around.reduced(released), None, None, columns_that_stayed(manifest)
    if original is not None:
        if manifest["settings"].get("escape_formulas"):
            original = without_formulas(original)
        original = original.with_columns(pl.lit(None, dtype=pl.Int64).alias(column) for column in stayed)
        source = source_of(around.reduced(original), manifest, promise, hierarchies or {})
        limit = _stated(lambda: allowed_suppression(manifest, n_records(original)))
        promise = replace(promise, limit=limit)
        ladders = _ladders_of_released(frame, source, manifest, promise, hierarchies or {})
    people = _populations(populations or {}, manifest, promise, hierarchies or {})
    verdict = verify(frame, promise, source, people)
    check_columns(expectation.quasi_identifiers, frame.columns, "the release")
    if uncounted := [column for column in expectation.quasi_identifiers if column in stayed]:
        raise InputError(
            f"Classes by {', '.join(uncounted)} were not counted: the values of these columns stay in the database. "
            "Expect something of the others, or count there."
        )
    if tuple(table_columns(frame)) == promise.columns and not any("roles" in failure for failure in failures):
        failures += _stated(lambda: _codebook_failures(folder, frame, manifest, around))
        failures += _stated(lambda: figure_failures(frame, manifest, promise, ladders))
        records = released_texts(frame, promise)
        if records.height:
            hidden = {promise.id if promise.numbered else None, around.column}
            skipped = {around.column, *promise.averaged}
            shown = shown_of_records(records, list(promise.levels), skipped, promise.k, hidden)
            failures += report_failures(folder, manifest, around.shown(shown))
        failures += _expectation_failures(frame, manifest, promise, expectation)
    checks = (
        verdict.checks if failures else (*verdict.checks, *_checked(is_exact(manifest, promise), ladders is not None))
    )
    how = said_of_database(verdict.how) if TABLE in manifest else verdict.how
    if unseen := [column for column in stayed if column != promise.id]:
        others = [check for check in checks if check != OTHERS_AS_RECORDED]
        checks = (*others, f"not looked at, as they stay in the database: {', '.join(unseen)}")
    return Verdict(verdict.holds and not failures, how, checks, (*verdict.failures, *failures))


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
    return stated(read, "a table")


def source_of(
    frame: pl.DataFrame, manifest: Manifest, promise: Promise, hierarchies: Mapping[str, Hierarchy]
) -> Original:
    """Return a table as that which a release was made from, its hierarchies bound to its values.

    Raises
    ------
    InputError
        It lacks a column, or a hierarchy is missing or does not cover it.
    """
    check_columns([column for column in promise.columns if column != promise.id], frame.columns, "the original")
    ladders = _ladders(frame, manifest, promise, hierarchies)
    groups = {}
    for rule in promise.rules:
        if "hierarchy" in rule and rule["column"] in frame.columns:
            column, spec = rule["column"], rule["hierarchy"]
            hierarchy = hierarchies[column] if column in hierarchies else _by_words(column, spec, is_file=False)
            groups[column, spec] = bound_ladders(frame, {column: hierarchy})[column]
    return Original(frame, ladders, groups)


def _populations(
    frames: Mapping[str, pl.DataFrame], manifest: Manifest, promise: Promise, hierarchies: Mapping[str, Hierarchy]
) -> dict[str, Population]:
    asked = {rule["population"] for rule in promise.rules if "population" in rule}
    strange = sorted(frames.keys() - asked)
    if strange:
        raise InputError(
            f"No rule of the release compares with the population {strange[0]}. Its rules name: "
            f"{', '.join(sorted(asked)) or 'none'}.",
            file=strange[0],
        )
    people = {}
    for name, frame in frames.items():
        check_columns(list(promise.levels), frame.columns, f"the population {name}")
        people[name] = Population(frame, _ladders(frame, manifest, promise, hierarchies))
    return people


def _ladders(
    frame: pl.DataFrame, manifest: Manifest, promise: Promise, hierarchies: Mapping[str, Hierarchy]
) -> dict[str, Ladder]:
    """Ladders of the quasi-identifiers, bound to the values of a table."""
    chosen = {
        column: hierarchies[column] if column in hierarchies else _built(manifest, column) for column in promise.levels
    }
    ladders = bound_ladders(frame, chosen)
    for column, level in promise.levels.items():
        if not level < ladders[column].n_levels:
            raise InputError(f"The manifest states level {level} of column {column!r}, which its hierarchy lacks.")
    return ladders


def _ladders_of_released(
    frame: pl.DataFrame,
    source: Original,
    manifest: Manifest,
    promise: Promise,
    hierarchies: Mapping[str, Hierarchy],
) -> Mapping[str, Ladder] | None:
    """Ladders bound to the values of those original records that were released; None where it is not known which."""
    if promise.suppressed == 0:
        return source.ladders
    if promise.recoded or promise.averaged or tuple(table_columns(frame)) != promise.columns:
        return None
    labels = []
    for column, level in promise.levels.items():
        ladder = source.ladders[column]
        rung = pl.DataFrame(
            {column: ladder.values, "label": ladder.labels[level]}, schema={column: pl.String, "label": pl.String}
        )
        values = as_text(source.frame[column]).alias(column).to_frame()
        labels.append(values.join(rung, column, "left", nulls_equal=True, maintain_order="left")["label"].alias(column))
    classes = released_texts(frame, promise).select(list(promise.levels)).unique()
    every = pl.DataFrame(labels).with_row_index("record")
    rows = every.join(classes, on=list(promise.levels), how="semi", nulls_equal=True)["record"]
    return _ladders(source.frame[rows.sort()], manifest, promise, hierarchies)


def _built(manifest: Manifest, column: str) -> Hierarchy:
    """The hierarchy of a column by the words of the manifest, which may name a builder but no file of this machine."""
    settings = manifest.get("settings")
    specs = settings.get("hierarchies") if isinstance(settings, dict) else None
    spec = specs.get(column) if isinstance(specs, dict) else None
    if not isinstance(spec, str):
        raise InputError(f"The manifest does not name the hierarchy of column {column!r}.", column=column)
    return _by_words(column, spec, is_file=manifest["columns"][column].get("hierarchy") == "file")


def _by_words(column: str, spec: str, *, is_file: bool) -> Hierarchy:
    name, colon, _ = spec.partition("/")[0].partition(":")
    if is_file or name not in BUILDERS or not (colon or "/" not in spec):
        raise InputError(
            f"The hierarchy of column {column!r} came from a file. To compare with the original, give it with "
            f"--hierarchies DIR or --qi {column}=FILE.",
            column=column,
        )
    return parse_hierarchy(spec)


def _codebook_failures(folder: Path, frame: pl.DataFrame, manifest: Manifest, around: Around) -> list[str]:
    """How the codebook differs from the one that the release must have; as counts."""
    book = folder / CODEBOOK
    if not os.path.isfile(book):
        return [f"{CODEBOOK} is missing"]
    expected = around.codebook(codebook_of(frame, manifest))
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


def _expectation_failures(
    frame: pl.DataFrame, manifest: Manifest, promise: Promise, expectation: Expectation
) -> list[str]:
    """What the recipient asks for beyond the manifest; without a class size, that which the rules ask for."""
    columns: Sequence[str] = expectation.quasi_identifiers or tuple(promise.levels)
    k = expectation.k or max(rule.class_size for rule in rules_of(manifest))
    sizes = class_sizes(frame, promise, columns)
    small = len(sizes.filter(sizes < k))
    if not small:
        return []
    return [f"as asked: {small} of {len(sizes)} classes have fewer than {k} records (the smallest {sizes[0]})"]
