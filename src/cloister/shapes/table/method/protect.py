"""Apply the choice of a method: labels, averages and recorded values, ordered by values; and the release."""

import hashlib
import hmac
import math
from collections import Counter, defaultdict
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
from cloister.io import Tally, as_text, concat_tallies, note_table
from cloister.io.batches import read_runs, write_runs
from cloister.io.columns import pack_text
from cloister.release.figures import OriginalCounts
from cloister.release.release import DataFileRelease
from cloister.results import Verdict
from cloister.search.problem import Report
from cloister.shapes.table.format.facts import DerivedTable
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.format.options import MDAV, MODE
from cloister.shapes.table.method.recoding.choice import Choice, RecordCodes, alike, choose, is_safe

from .data import EncodedTable, Ids, ProtectedTable, Role, TableRequest
from .describe import original_counts
from .measure import count_non_numbers, mean_of


@dataclass(frozen=True, repr=False)
class TableRelease(DataFileRelease):
    """A table that passed verification.

    ``notes``: what the releaser should know, in sentences without their stops.
    """

    derived: DerivedTable = field(repr=False)
    data: Any
    encoded: EncodedTable = field(repr=False)  # the original
    _check: Callable[[Tally], Verdict] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def tally(self) -> Tally:
        """The protected records."""
        return Tally(self.frame, self.derived.every.counts)

    def original_counts(self) -> OriginalCounts:
        """Count classes and labels of the original."""
        return original_counts(self.encoded, guarantee_of(self.derived.stated), self.derived.without)

    def recheck(self) -> Verdict:
        """Return the verdict on the protected records."""
        return self._check(self.tally)

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on the data file."""
        return self._check(Tally(self.read_written(folder)))


@dataclass(frozen=True, repr=False)
class TalliedRelease(TableRelease):
    """A table known only by its tally; its records are written from the tally, and read back as runs.

    Attributes
    ----------
    data, frame : the distinct protected records, each once
    id_column : numbered, of which each row has the first number of its records; None if there is none
    """

    id_column: str | None = None

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the data file, some records at a time."""
        data = folder / f"data.{self.format}"
        write_runs(self.tally, data, self.delimiter_written(), self.id_column)
        return (data.name,)

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on the runs of records in the data file."""
        return self._check(read_runs(folder / f"data.{self.format}", self.delimiter_written(), self.id_column))


class TableInDatabase(Protocol):
    """A protected table inside an open transaction of a database."""

    @property
    def tally(self) -> Tally:
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

    def recheck(self) -> Verdict:
        """Return the verdict on the tally of the protected table."""
        return self._check(self.made.tally)

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

    def recheck_written(self, folder: Path) -> Verdict:  # noqa: ARG002
        """Return the verdict on the protected table in its database."""
        return self._check(self.made.tally)


SHORTEST_KEY = 32
DIGITS = 19  # of the largest number
DECIMALS = 2
"""Decimals of every mean or median. A number of decimals that depends on the values would reveal single values.
Clinical figures have two decimals; more would reveal the exact sum of a class."""


def protect(
    table: EncodedTable, request: TableRequest, report: Report | None = None, codes: RecordCodes | None = None
) -> ProtectedTable:
    """Return a safe release of a table by the requested method.

    *Guarantee*: every class of released records with equal quasi-identifiers satisfies every rule, and so does the
    release as a whole, against anybody who knows the quasi-identifiers of a patient. No more than the limit is
    suppressed. The docstring of each method states what it guarantees for the loss (`choose`). Not
    promised: anything that no rule covers.
    Cost: the method, then one pass over the records.

    ``codes``: of all records, where classes are to be merged for their sake.
    """
    for column, aggregate in request.microaggregate.items():
        if aggregate != MODE:
            check_numbers(as_text(table.frame[column]))
    choice = choose(table, request, report, codes)
    if request.keep_suppressed and 0 < choice.suppressed < request.k:
        raise NoSafeRelease(
            f"Suppressed records cannot be kept as rows of *: they are fewer than {request.k}, a number that must "
            "not be told. Leave them out, or change the suppression limit."
        )
    labels = table.tally.replace_rows(choice.labels).filter(pl.Series(choice.is_released))
    originals = pl.Series("record", np.flatnonzero(choice.is_released), dtype=pl.Int64)
    records = table.frame[originals]
    shown = labels.frame.with_columns(average_columns(records, labels.frame, request.microaggregate))
    if request.microaggregate and not is_safe(table, shown, originals):
        raise NoSafeRelease(
            "Classes came to look alike because their averages are the same, and together they violate the rules. "
            "Average fewer columns, or take other rules."
        )
    labels = labels.replace_rows(shown) if request.method == MDAV else labels
    columns = []
    for column, role in table.roles.items():
        if role is Role.QUASI_IDENTIFIER:
            # What is released as recorded keeps its type: a number stays a number.
            is_recorded = shown[column].equals(as_text(records[column]), null_equal=True)
            columns.append(records[column] if is_recorded else shown[column])
        elif role in (Role.SENSITIVE, Role.KEPT) or (role is Role.IDENTIFIER and request.ids is not Ids.DROP):
            columns.append(records[column])
    frame = pl.DataFrame(columns)
    if request.patients is not None and request.ids is not Ids.DROP:
        frame = frame.with_columns(_numbers_in_classes(frame, request.patients.column, list(request.quasi_identifiers)))
    return _finish_table(labels.replace_rows(frame), labels, originals, choice, request)


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
    """Return the columns of means, medians and modes, with that of each record's class.

    ``labels``: quasi-identifiers of the same records; equal ones are a class.
    """
    if not aggregates:
        return []
    classes = alike(labels)
    return [microaggregate(as_text(records[column]), classes, how) for column, how in aggregates.items()]


def _finish_table(
    table: Tally, labels: Tally, originals: pl.Series, choice: Choice, request: TableRequest
) -> ProtectedTable:
    if request.keep_suppressed and choice.suppressed:
        table = _with_stars(table, choice.suppressed)
        originals = originals.extend_constant(None, table.frame.height - len(originals))
    frame, is_released = table.frame, originals.is_not_null()
    name = request.id if request.id in frame.columns else None
    if name is not None and request.ids is Ids.HMAC:
        frame = frame.with_columns(_star_suppressed(_hash_ids(frame[name], request.id_key or b""), is_released))
    # By the UTF-8 bytes of the released values, column by column, missing first. Keyed ids decide among records that
    # are equal in all else, so that the order of the input never does; ids to be numbers are numbered alike.
    values = [column for column in frame if column.name != name]
    values += [] if name is None else [frame[name]]
    order = _order(values)
    table, originals = table.replace_rows(frame).gather(order), originals.gather(order)
    frame, is_released = table.frame, originals.is_not_null()
    if name is not None and request.patients is not None:
        frame = frame.with_columns(_star_suppressed(frame[name].cast(pl.Int64, strict=False), is_released))
    elif name is not None and request.ids is Ids.NUMBER:
        # Suppressed rows take no number; a row of a tally has the number of the first of its records.
        records = table.weights * is_released.cast(pl.Int64)
        frame = frame.with_columns(_star_suppressed((records.cum_sum() - records + 1).alias(name), is_released))
    # Text is copied: a view of the input's text would take suppressed values with it.
    texts_of = [name for name, kind in frame.schema.items() if kind == pl.String]
    copied = frame.with_columns(pl.concat_str(pl.col(name), pl.lit("")).alias(name) for name in texts_of)
    of_released = labels.gather(order.filter(order < labels.frame.height))
    return ProtectedTable(
        table.replace_rows(copied), choice.search, choice.suppressed, originals, of_released, choice.levels, choice.loss
    )


def _with_stars(table: Tally, suppressed: int) -> Tally:
    """Return a table as text, with suppressed records as rows of ``*`` at its end."""
    row = pl.DataFrame({column: [ROOT] for column in table.frame.columns})
    n = pl.Series([suppressed], dtype=pl.Int64)
    stars = Tally(pl.concat([row] * suppressed)) if table.counts is None else Tally(row, n)
    return concat_tallies([table.replace_rows(pl.DataFrame([as_text(column) for column in table.frame])), stars])


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


def _exact_numbers(average: Callable[[Sequence[Fraction]], Fraction]) -> Callable[[Sequence[str]], str]:
    return lambda values: write_average(average([Fraction(value) for value in values]))


def mode_of(values: Sequence[str]) -> str | None:
    """Return the most frequent value; of equally frequent ones the first in the order of their UTF-8 bytes.

    None where each value occurs once: any of them would be the value of one patient.
    """
    value, count = min(Counter(values).items(), key=lambda one: (-one[1], one[0].encode()))
    return value if count > 1 else None


AGGREGATES: Mapping[str, Callable[[Sequence[str]], str | None]] = {
    "mean": _exact_numbers(mean_of),
    "median": _exact_numbers(median),
    MODE: mode_of,
}


def check_numbers(text: pl.Series) -> None:
    """Reject a column with values other than numbers and missing."""
    wrong = count_non_numbers(text)
    if wrong:
        raise InputError(
            f"Column {text.name!r} was to be averaged within classes, but {wrong} of {len(text)} records hold "
            "something else than a number there. Correct them, read them as missing (",
            setting("missing"),
            "), or do not average it.",
            column=text.name,
        )


def microaggregate(text: pl.Series, classes: NDArray[np.int64], aggregate: str) -> pl.Series:
    """Return the mean, median or mode of each record's class, numbers computed exactly and rounded half to even.

    If a record of a class has no value, no record of the class gets one: a mean next to empty cells would reveal whose
    value is missing.

    *Guarantee*: the records of a class stay alike, so that what holds of classes still does. Against someone who knows
    all values of a class but one, nothing: the mean reveals the last one, and so does a mode that depends on it. A mode
    is the value of at least two records of the class, and of all if all agree: it is as recorded then, and nobody can
    see that it is. Where no two records agree there is none. Not truthful: no record need have the mean shown, nor a
    particular one the mode. Cost: one pass over the records.

    ``classes``: (n_records,) class of each record, numbered from 0.

    Source: Domingo-Ferrer, Mateo-Sanz (2002), "Practical data-oriented microaggregation for statistical disclosure
    control"; Domingo-Ferrer, Torra (2005), "Ordinal, continuous and heterogeneous k-anonymity through
    microaggregation", for modes. Deviation: the classes are those of the method, not found by the column alone.
    """
    members: dict[int, list[str | None]] = defaultdict(list)
    for value, one in zip(text.to_list(), classes.tolist(), strict=True):
        members[one].append(value)
    averages: dict[int, str | None] = {}
    for one, group in members.items():
        values = [value for value in group if value is not None]
        averages[one] = AGGREGATES[aggregate](values) if len(values) == len(group) else None
    return pl.Series(text.name, [averages[one] for one in classes.tolist()], dtype=pl.String)


def write_average(number: Fraction) -> str:
    """Return a number with two decimals, rounded half to even."""
    hundredths = round(number * 10**DECIMALS)
    whole, part = divmod(abs(hundredths), 10**DECIMALS)
    return f"{'-' if hundredths < 0 else ''}{whole}.{part:0{DECIMALS}}"
