"""Comparison of a released table with its original: value counts, pairs of columns, and a prediction model."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from math import ceil, floor, log10
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy
from cloister.io import Tally, as_text
from cloister.io.write import without_formulas
from cloister.release.figures import band_sizes
from cloister.release.folder import read_data, read_manifest
from cloister.release.head import CODEBOOK
from cloister.release.manifest import parse_manifest
from cloister.shapes.table.format.facts import class_sizes
from cloister.shapes.table.format.manifest import PublishedSettings
from cloister.shapes.table.method.describe import group_values, naive_bayes_auc

from .answers import answers_from
from .codes_in_table import table_in
from .labels import LabelledColumn, Meeting

MOST = 10
"""Values of a column that are counted one by one; numbers and days of more values in so many ranges."""

MISSING = "missing"
Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Conditions:
    """Conditions on a column, of which a record meets at most one."""

    names: tuple[str, ...]  # of values and ranges
    place: Places  # (n_records,) the one that each record of the original meets; as many as there are names for none
    label: Places  # (n_released,) the label of each released record
    met: tuple[Meeting, ...]  # which labels meet each condition
    column: LabelledColumn

    @cached_property
    def share(self) -> Numbers:
        """The share of each label that meets a condition: (n_conditions, n_labels)."""
        return np.stack([one.share for one in self.met])

    def before(self) -> Numbers:
        """Return the share of all original records that meet each condition."""
        return np.bincount(self.place, minlength=len(self.names))[: len(self.names)] / max(1, self.place.size)

    def after(self) -> NDArray[np.float64]:
        """Return the shares of released records that meet each: surely, estimated, possibly, (3, n_conditions)."""
        records = np.bincount(self.label, minlength=self.share.shape[1]) / max(1, self.label.size)
        sides = [(one.surely @ records, one.share @ records, one.possibly @ records) for one in self.met]
        return np.array(sides).T

    def rows(self) -> list[tuple[str, float, float, float, float]]:
        """Return for each condition its name, the share before, and the shares after: estimated, certain, possible."""
        surely, estimated, possibly = self.after().tolist()
        return list(zip(self.names, self.before().tolist(), estimated, surely, possibly, strict=True))

    def together(self, other: "Conditions") -> tuple[Numbers, Numbers]:
        """Return the shares of records that meet one condition of each column, before and after."""
        width, labels = len(other.names) + 1, other.share.shape[1]
        before = np.bincount(self.place * width + other.place, minlength=(len(self.names) + 1) * width)
        pairs = np.bincount(self.label * labels + other.label, minlength=self.share.shape[1] * labels)
        after = self.share @ pairs.reshape(-1, labels) @ other.share.T
        return before.reshape(-1, width)[:-1, :-1] / max(1, self.place.size), after / max(1, self.label.size)


def conditions(recorded: pl.Series, labels: pl.Series, column: LabelledColumn) -> Conditions:
    """Return the conditions on a column: its most frequent values, or ranges that cover all values."""
    text = as_text(recorded)
    number = _numbers(text, column.kind)
    wanted: list[object]
    if number is not None and number.n_unique() > MOST:
        bounds = _ranges(number.drop_nulls())
        wanted = [pair if column.kind == "number" else (_day(pair[0]), _day(pair[1])) for pair in bounds]
        names = [
            " to ".join(f"{end:g}" if column.kind == "number" else f"{_day(end)}" for end in pair) for pair in bounds
        ]
        lows = np.array([low for low, _ in bounds])
        place = np.searchsorted(lows, number.fill_null(lows[0]).to_numpy(), side="right") - 1
        place[number.is_null().to_numpy()] = len(bounds)
        if number.null_count():
            wanted, names = [*wanted, None], [*names, MISSING]
    else:
        counted = text.value_counts(name="n").sort("n", text.name, descending=[True, False]).head(MOST)
        wanted = counted[text.name].to_list()
        names = [MISSING if value is None else str(value) for value in wanted]
        known = {value: place for place, value in enumerate(wanted)}
        place = text.replace_strict(known, default=len(wanted), return_dtype=pl.Int64).to_numpy()
    label = labels.replace_strict({one: at for at, one in enumerate(column.labels)}, return_dtype=pl.Int64)
    met = tuple(column.meeting(one) for one in wanted)
    return Conditions(tuple(names), place.astype(np.int64), label.to_numpy(), met, column)


def _day(number: float) -> date:
    return date.fromordinal(int(number))


def _numbers(text: pl.Series, kind: str) -> pl.Series | None:
    """Return numbers and days as numbers; None for a column of neither."""
    if kind == "number":
        return text.cast(pl.Float64, strict=False)
    if kind == "date":
        days = text.str.to_date(strict=False)
        return (days.cast(pl.Int32) + date(1970, 1, 1).toordinal()).cast(pl.Float64)
    return None


def _ranges(number: pl.Series) -> list[tuple[float, float]]:
    """Return ranges of equal width that cover all numbers, with both ends; whole numbers are in one range only."""
    low, high = float(number.min() or 0), float(number.max() or 0)  # type: ignore[arg-type]
    is_whole = bool((number == number.floor()).all())
    width = (high - low + is_whole) / MOST or 1.0
    digit = 10.0 ** floor(log10(width))
    width = next(step * digit for step in (1, 2, 5, 10) if step * digit >= width)
    width = max(1.0, width) if is_whole else width
    first = floor(low / width)
    return [(at * width, (at + 1) * width - is_whole) for at in range(first, ceil((high + is_whole) / width))]


@dataclass(frozen=True)
class RecordPair:
    """A record of the original, and the first of the released records that may be its own, as text by column."""

    original: Mapping[str, str | None]
    released: Mapping[str, str | None] | None  # None if no released record fits: it was suppressed
    n_fit: int


@dataclass(frozen=True)
class ComparedTable:
    """A released table and its original: columns with conditions, and columns that a model may predict."""

    asked: dict[str, Conditions]
    original: pl.DataFrame
    released: pl.DataFrame
    targets: tuple[str, ...]
    recorded: tuple[str, ...]
    averaged: Collection[str]  # columns of averages, which fit any record

    def pair(self, place: int) -> RecordPair:
        """Return a record of the original with a released one: labels cover its values, recorded values are equal.

        A release does not reveal which of several released records is its own.
        """
        row = self.original.slice(place, 1)
        original = pl.DataFrame([as_text(row[name]) for name in (*self.asked, *self.recorded)]).row(0, named=True)
        fits = np.ones(self.released.height, dtype=np.bool_)
        for name, one in self.asked.items():
            if name not in self.averaged:
                fits &= one.column.rows(original[name]).possibly
        for name in self.recorded:
            same = self.released.select(pl.col(name).eq_missing(pl.lit(original[name], dtype=pl.String)))
            fits &= same.to_series().to_numpy()
        first = self.released.row(int(fits.argmax()), named=True) if fits.any() else None
        return RecordPair(original, first, int(fits.sum()))

    @cached_property
    def sizes(self) -> list[tuple[str, int, int]]:
        """For each band of class size its name, and the records in classes of that size before and after."""
        frames = (self.original, self.released)
        before, after = (band_sizes(class_sizes(Tally(one), list(self.asked)), members=True) for one in frames)
        return [(band, before[band], after[band]) for band in before]

    def model(self, target: str) -> tuple[float, float]:
        """Return the area under the ROC curve of a model for a column's most frequent value, before and after."""
        found = []
        value = as_text(self.original[target]).fill_null("").mode().sort()[0]
        for frame, is_original in ((self.original, True), (self.released, False)):
            outcome = (as_text(frame[target]).fill_null("") == value).to_numpy()
            half = np.random.default_rng(0).permutation(outcome.size) % 2 == 0
            columns = [group_values(frame[name]) if is_original else as_text(frame[name]) for name in self.asked]
            found.append(naive_bayes_auc(columns, outcome, half))
        return found[0], found[1]


def compare_with_original(folder: Path, original: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> ComparedTable:
    """Return a verified release of a table together with its original table."""
    manifest, codebook = parse_manifest(read_manifest(folder)), read_data(folder / CODEBOOK, ",").cast(pl.String)
    if isinstance(manifest.settings, PublishedSettings) and manifest.settings.escape_formulas:
        original = without_formulas(original)
    answers = answers_from(folder, manifest, codebook, hierarchies)
    table = table_in(answers)
    if table is None:
        raise InputError(f"{folder.name} has no table that can be read here.")
    asked = {
        name: conditions(original[name], table.frame[name], table.column(name, original[name]))
        for name in hierarchies
        if name in original.columns and name in table.frame.columns
    }
    targets = tuple(name for name in table.frame.columns if name not in asked and name in original.columns)
    recorded = tuple(name for name, role in manifest.roles().items() if role in ("sensitive", "kept"))
    return ComparedTable(asked, original, table.frame, targets, recorded, table.averaged)
