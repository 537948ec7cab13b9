"""Apply the choice of a method: labels, averages and recorded values, ordered by values; and the release."""

import hashlib
import hmac
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, NoSafeRelease, setting
from cloister.hierarchy import ROOT
from cloister.io import RECORDS, as_tally, as_text, is_tally, note_table, records_of, table_columns, with_records_of
from cloister.io.columns import pack_text
from cloister.io.runs import read_runs, write_runs
from cloister.release.figures import OriginalCounts
from cloister.release.release import DataFileRelease
from cloister.results import Verdict
from cloister.search.problem import Report
from cloister.shapes.table.format.facts import DerivedTable
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.method.recoding.choice import Choice, RecordCodes, alike, choose, is_safe

from .data import EncodedTable, Ids, ProtectedTable, Role, TableRequest
from .describe import original_counts
from .measure import mean_of, numbers_of


@dataclass(frozen=True, repr=False)
class TableRelease(DataFileRelease):
    """A table that passed verification.

    ``notes``: what the releaser should know, in sentences without their stops.
    """

    derived: DerivedTable = field(repr=False)
    data: Any
    encoded: EncodedTable = field(repr=False)  # the original
    _check: Callable[[pl.DataFrame], Verdict] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def original_counts(self) -> OriginalCounts:
        """Count classes and labels of the original."""
        return original_counts(self.encoded, guarantee_of(self.derived.stated))

    def recheck(self) -> Verdict:
        """Return the verdict on the protected records."""
        return self._check(self.frame)

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on the data file."""
        return self._check(self.read_written(folder))


@dataclass(frozen=True, repr=False)
class TalliedRelease(TableRelease):
    """A table known only by its tally; its records are written from the tally, and read back as runs.

    Attributes
    ----------
    data, frame : the tally of the protected records
    id_column : numbered, of which each row has the first number of its records; None if there is none
    """

    id_column: str | None = None

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the data file, some records at a time."""
        data = folder / f"data.{self.format}"
        write_runs(as_tally(self.frame), data, self.delimiter_written(), self.id_column)
        return (data.name,)

    def read_written(self, folder: Path) -> pl.DataFrame:
        """Return the runs of records, read back from a folder."""
        runs = read_runs(folder / f"data.{self.format}", self.delimiter_written(), self.id_column)
        return runs.frame.with_columns(runs.weights.alias(RECORDS))


class TableInDatabase(Protocol):
    """A protected table inside an open transaction of a database."""

    @property
    def tally(self) -> pl.DataFrame:
        """The tally of the protected table."""

    def stay(self) -> None:
        """Keep the table in the database."""

    def leave(self) -> None:
        """Remove the table if it was kept."""


@dataclass(frozen=True, repr=False)
class DatabaseRelease(TableRelease):
    """A table that was protected in its database: the folder describes it, the database contains its records.

    ``table``: the name of the protected table
    """

    table: str = field(kw_only=True)
    made: TableInDatabase = field(repr=False, kw_only=True)

    def commit(self, partial: Path) -> None:
        """Keep the protected table in the database, after noting its name."""
        note_table(partial, self.table)
        self.made.stay()

    def rollback(self) -> None:
        """Remove the protected table if it was kept."""
        self.made.leave()

    def write_data(self, folder: Path) -> tuple[str, ...]:  # noqa: ARG002  (the records are not in the folder)
        """Write nothing: the records stay in the database."""
        return ()

    def read_written(self, folder: Path) -> pl.DataFrame:  # noqa: ARG002
        """Return the tally of the protected table."""
        return self.made.tally


SHORTEST_KEY = 32
DIGITS = 19  # of the largest number
DECIMALS = 2
"""Decimals of a mean or median, always: taken from the values, their number would tell of single ones. Two are what
clinical figures are recorded with; further ones would give away the exact sum of a class."""

NUMBER = r"^[+-]?(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,3})?$"
"""What counts as a number; the limits keep exact arithmetic short."""


def protect(
    table: EncodedTable, request: TableRequest, report: Report | None = None, codes: RecordCodes | None = None
) -> ProtectedTable:
    """Return a safe release of a table by the requested method.

    *Guarantee*: every class of released records with equal quasi-identifiers satisfies every rule, and so does the
    release as a whole, against anybody who knows the quasi-identifiers of a patient. No more than the limit is
    suppressed. What each method promises of the loss stands with it (`choose`). Not promised: what no rule speaks of.
    Cost: the method, then one pass over the records.

    ``codes``: of all records, where classes are to be merged for their sake.
    """
    for column in request.microaggregate:
        check_numbers(as_text(table.frame[column]))
    choice = choose(table, request, report, codes)
    if request.keep_suppressed and 0 < choice.suppressed < request.k:
        raise NoSafeRelease(
            f"Suppressed records cannot be kept as rows of *: they are fewer than {request.k}, a number that must "
            "not be told. Leave them out, or change the suppression limit."
        )
    labels = with_records_of(choice.labels, table.frame).filter(choice.is_released)
    originals = pl.Series("record", np.flatnonzero(choice.is_released), dtype=pl.Int64)
    records = table.frame[originals]
    shown = labels.select(table_columns(labels)).with_columns(average_columns(records, labels, request.microaggregate))
    if request.microaggregate and not is_safe(table, shown, originals):
        raise NoSafeRelease(
            "Classes came to look alike because their averages are the same, and together they violate the rules. "
            "Average fewer columns, or take other rules."
        )
    columns = []
    for column, role in table.roles.items():
        if role is Role.QUASI_IDENTIFIER:
            # What is released as recorded keeps its type: a number stays a number.
            is_recorded = shown[column].equals(as_text(records[column]), null_equal=True)
            columns.append(records[column] if is_recorded else shown[column])
        elif role in (Role.SENSITIVE, Role.KEPT) or (role is Role.IDENTIFIER and request.ids is not Ids.DROP):
            columns.append(records[column])
    frame = with_records_of(pl.DataFrame(columns), records)
    if request.patients is not None and request.ids is not Ids.DROP:
        frame = frame.with_columns(_numbers_in_classes(frame, request.patients.column, list(request.quasi_identifiers)))
    return _finish_frame(frame, labels, originals, choice, request)


def _numbers_in_classes(frame: pl.DataFrame, patient: str, quasi_identifiers: Sequence[str]) -> pl.Series:
    """Number the patients of each class from 1 on: nothing joins the records of a patient across classes.

    The order is that of their records as released, one after the other, so that it says nothing of the original ids.
    As text of one length, which sorts as the numbers do.
    """
    values = [as_text(frame[column]).fill_null("").alias(f"c{j}") for j, column in enumerate(frame.columns)]
    rows = pl.DataFrame([text for text, column in zip(values, frame.columns, strict=True) if column != patient])
    classes = pl.DataFrame([as_text(frame[column]).alias(column) for column in quasi_identifiers])
    of = pl.DataFrame(
        {
            "class": classes.select(pl.struct(pl.all()).rank("dense")).to_series(),
            "patient": as_text(frame[patient]),
            "row": rows.select(pl.struct(pl.all()).rank("dense").cast(pl.String).str.zfill(DIGITS)).to_series(),
        }
    )
    histories = of.group_by("class", "patient").agg(pl.col("row").sort().str.join())
    histories = histories.sort("class", "row").with_columns(
        pl.int_range(1, pl.len() + 1).over("class").cast(pl.String).str.zfill(DIGITS).alias("number")
    )
    numbers = of.join(histories, on=["class", "patient"], how="left", maintain_order="left")["number"]
    return numbers.alias(patient)


def average_columns(records: pl.DataFrame, labels: pl.DataFrame, aggregates: Mapping[str, str]) -> list[pl.Series]:
    """Return the columns of averages, with the average of each record's class.

    ``labels``: quasi-identifiers of the same records; equal ones are a class.
    """
    if not aggregates:
        return []
    classes = alike(labels)
    return [microaggregate(as_text(records[column]), classes, how) for column, how in aggregates.items()]


def _finish_frame(
    frame: pl.DataFrame, labels: pl.DataFrame, originals: pl.Series, choice: Choice, request: TableRequest
) -> ProtectedTable:
    place = pl.Series(np.arange(len(originals)), dtype=pl.Int64)
    if request.keep_suppressed and choice.suppressed:
        row, n = pl.DataFrame({column: [ROOT] for column in table_columns(frame)}), choice.suppressed
        count = pl.lit(n, dtype=pl.Int64).alias(RECORDS)
        stars = row.with_columns(count) if is_tally(frame) else pl.concat([row] * n)
        texts = [as_text(series) if series.name != RECORDS else series for series in frame]
        frame = pl.concat([pl.DataFrame(texts), stars])
        originals = originals.extend_constant(None, stars.height)
        place = place.extend_constant(None, stars.height)
    name = request.id if request.id in frame.columns else None
    if name is not None and request.ids is Ids.HMAC:
        frame = frame.with_columns(
            _star_suppressed(_hash_ids(frame[name], request.id_key or b""), originals.is_not_null())
        )
    # By the UTF-8 bytes of the released values, column by column, missing first. Keyed ids decide among records that
    # are equal in all else, so that the order of the input never does; ids to be numbers are numbered alike.
    values = [column for column in frame if column.name not in (name, RECORDS)]
    values += [] if name is None else [frame[name]]
    order = _order(values)
    frame, originals, place = frame[order], originals.gather(order), place.gather(order)
    if name is not None and request.patients is not None:
        frame = frame.with_columns(_star_suppressed(frame[name].cast(pl.Int64, strict=False), originals.is_not_null()))
    elif name is not None and request.ids is Ids.NUMBER:
        # Suppressed rows take no number; a row of a tally has the number of the first of its records.
        records = records_of(frame) * originals.is_not_null().cast(pl.Int64)
        frame = frame.with_columns(
            _star_suppressed((records.cum_sum() - records + 1).alias(name), originals.is_not_null())
        )
    # Text is copied: a view of the input's text would take suppressed values with it.
    texts_of = [name for name, kind in frame.schema.items() if kind == pl.String]
    copied = frame.with_columns(pl.concat_str(pl.col(name), pl.lit("")).alias(name) for name in texts_of)
    return ProtectedTable(
        copied, choice.search, choice.suppressed, originals, labels[place.drop_nulls()], choice.levels, choice.loss
    )


def _order(columns: Sequence[pl.Series]) -> pl.Series:
    """Return the places of rows in the order of their texts, column by column, by UTF-8 bytes, missing first."""
    ranks = []
    for j, column in enumerate(columns):
        text = pack_text(column)
        is_packed = isinstance(text.dtype, pl.Enum)
        rank = text.to_physical().cast(pl.UInt32) + 1 if is_packed else text.rank("dense")
        ranks.append(rank.fill_null(0).alias(f"c{j}"))
    widths = [int(rank.to_numpy().max(initial=0)) + 1 for rank in ranks]
    if math.prod(widths) >= 2**62:
        return (
            pl.DataFrame(ranks).select(pl.arg_sort_by(*(rank.name for rank in ranks), maintain_order=True)).to_series()
        )
    key = pl.zeros(len(columns[0]), dtype=pl.Int64, eager=True)
    for rank, width in zip(ranks, widths, strict=True):
        key = key * width + rank.cast(pl.Int64)
    return pl.Series(np.argsort(key.to_numpy(), kind="stable"))


def _hash_ids(ids: pl.Series, key: bytes) -> pl.Series:
    if len(key) < SHORTEST_KEY:
        raise InputError(f"Keyed ids need a key of at least {SHORTEST_KEY} bytes, but this one has {len(key)}.")
    hashes = [hmac.new(key, text.encode(), hashlib.sha256).hexdigest() for text in as_text(ids).to_list()]
    return pl.Series(ids.name, hashes, dtype=pl.String)


def _star_suppressed(ids: pl.Series, released: pl.Series) -> pl.Series:
    """Ids of released rows, and ``*`` for suppressed ones where there are any."""
    stars = pl.Series([ROOT], dtype=pl.String).new_from_index(0, len(ids))
    return ids if released.all() else ids.cast(pl.String).zip_with(released, stars)


AGGREGATES: Mapping[str, Callable[[Sequence[Fraction]], Fraction]] = {"mean": mean_of, "median": median}


def check_numbers(text: pl.Series) -> None:
    """Reject a column with values other than numbers and missing."""
    wrong = int((~text.str.contains(NUMBER)).sum())
    if wrong:
        raise InputError(
            f"Column {text.name!r} was to be averaged within classes, but {wrong} of {len(text)} records hold "
            "something else than a number there. Correct them, read them as missing (",
            setting("missing"),
            "), or do not average it.",
            column=text.name,
        )


def microaggregate(text: pl.Series, classes: NDArray[np.int64], aggregate: str) -> pl.Series:
    """Return the mean or median of each record's class, computed exactly and rounded half to even.

    Where a record of a class has no value, the whole class has none: the mean of the others, beside empty cells, would
    tell whose value is missing.

    *Guarantee*: the records of a class stay alike, so that what holds of classes still does. Against someone who knows
    all values of a class but one, nothing: the mean tells the last. Not truthful: no record need have the value shown.
    Cost: one pass over the records.

    ``classes``: (n_records,) class of each record, numbered from 0.

    Source: Domingo-Ferrer, Mateo-Sanz (2002), "Practical data-oriented microaggregation for statistical disclosure
    control". Deviation: the classes are those of all quasi-identifiers, not found by the numbers alone.
    """
    members: dict[int, list[Fraction | None]] = defaultdict(list)
    for value, one in zip(numbers_of(text), classes.tolist(), strict=True):
        members[one].append(value)
    averages: dict[int, str | None] = {}
    for one, group in members.items():
        numbers = [number for number in group if number is not None]
        averages[one] = write_average(AGGREGATES[aggregate](numbers)) if len(numbers) == len(group) else None
    return pl.Series(text.name, [averages[one] for one in classes.tolist()], dtype=pl.String)


def write_average(number: Fraction) -> str:
    """Return a number with two decimals, rounded half to even."""
    hundredths = round(number * 10**DECIMALS)
    whole, part = divmod(abs(hundredths), 10**DECIMALS)
    return f"{'-' if hundredths < 0 else ''}{whole}.{part:0{DECIMALS}}"
