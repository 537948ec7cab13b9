"""What profiles hand on: records of people, of what they had, and of claims, each with the place that it came from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from cloister.errors import InputError
from cloister.io.code_events import WHOLE_DATE

FILE, ROW = "\0file", "\0row"
"""Columns that say in which file a record stands, and where; no column read has such a name."""

AGE = "\0age"
"""The column of ages in completed years, where a system tells one in place of a date."""

ID, BIRTH, SEX, CODE, DATE, END = "patient_id", "birth_date", "sex", "code", "date", "end_date"

RUN_TOGETHER = r"^([0-9]{4})([0-9]{2})([0-9]{2})$"


@dataclass(frozen=True)
class SourceRecords:
    """Records of one kind.

    Attributes
    ----------
    frame : text, null where there is none, with the columns `FILE` and `ROW`; always with `ID`
    """

    frame: pl.DataFrame = field(repr=False)
    unit: Literal["record", "line"] = "record"
    notes: tuple[str, ...] = ()

    def refuse(self, wrong: pl.Series, found: str, advice: str, column: str | None = None) -> None:
        """Refuse records that are ``wrong``; a missing truth counts as none."""
        wrong = wrong.fill_null(value=False)
        count = int(wrong.sum())
        if not count:
            return
        first = int(wrong.arg_true()[0])
        file, row = str(self.frame[FILE][first]), int(self.frame[ROW][first])
        have = f"1 {self.unit} has" if count == 1 else f"{count} {self.unit}s have"
        where = f"{file}, {self.unit} {row}{', is the first' if count > 1 else ''}"
        line = row if self.unit == "line" else None
        raise InputError(
            f"{have} {found} ({where}). {advice}.",
            file=file,
            row=None if line else row,
            line=line,
            column=column,
        )

    def dated(self, column: str) -> pl.DataFrame:
        """The dates of a column, as `parsed` returns them."""
        dates = parsed(self.frame[column])
        self.refuse(dates["odd"], f"a {column} that is no date", "Write dates as YYYY-MM-DD", column)
        return dates

    def without(self, left_out: pl.Series, why: str) -> "SourceRecords":
        """The records that are not to be left out, with a note on how many are."""
        left_out = left_out.fill_null(value=False)
        count = int(left_out.sum())
        if not count:
            return self
        said = f"{count:,} {self.unit}s were" if count > 1 else f"1 {self.unit} was"
        return SourceRecords(self.frame.filter(~left_out), self.unit, (*self.notes, f"{said} left out: {why}"))

    def refuse_of_others(self, owner: pl.Series, named: str) -> None:
        """Refuse records with something that belongs to another patient than they do.

        Parameters
        ----------
        owner : whose that is which a record names, one each; null where it is nobody's
        """
        self.refuse(
            self.frame[ID].ne_missing(owner), f"{named} of another patient", "Correct whose they are, or leave them out"
        )


@dataclass(frozen=True)
class People(SourceRecords):
    """Records of people, one each: with `SEX` and `BIRTH`, a date to the day, the month or the year."""

    def checked(self) -> "People":
        """These records, if each has an id of its own."""
        if not self.frame.height:
            raise InputError("There are no patients, so there is nothing to release.")
        ids = self.frame[ID]
        self.refuse(ids.is_null(), "no id of a patient", "Give every patient an id")
        self.refuse(~ids.is_first_distinct(), "the id of a patient who is there already", "Leave one of each there")
        return self


@dataclass(frozen=True)
class Profile:
    """How a collection becomes records.

    Attributes
    ----------
    conditions : what patients had: `CODE`, `DATE`; further columns with other codes of the same, none of them missing
    """

    people: Callable[..., People]
    conditions: Callable[..., SourceRecords]
    claims: Callable[..., SourceRecords]


def parsed(text: pl.Series) -> pl.DataFrame:
    """What dates say, one row each.

    Returns
    -------
    pl.DataFrame
        ``start``, the day, or the first one of the month or year; null where missing. ``whole``, whether the day is
        told. ``odd``, whether there is something that is no date.

    Examples
    --------
    >>> parsed(pl.Series(["2024-05-31T10:00:00Z", "20240531", "2024", None, "soon"])).rows()[2:]
    [(datetime.date(2024, 1, 1), False, False), (None, False, False), (None, False, True)]
    """
    written = text.str.strip_chars().str.replace(RUN_TOGETHER, "$1-$2-$3")
    whole = written.str.contains(WHOLE_DATE).fill_null(value=False)
    day = pl.DataFrame({"text": written, "whole": whole}).select(
        pl.when(pl.col("whole"))
        .then(pl.col("text").str.head(10))
        .when(pl.col("text").str.contains(r"^[0-9]{4}-[0-9]{2}$"))
        .then(pl.col("text") + "-01")
        .when(pl.col("text").str.contains(r"^[0-9]{4}$"))
        .then(pl.col("text") + "-01-01")
    )
    start = day.to_series().str.to_date("%Y-%m-%d", strict=False)
    return pl.DataFrame(
        {"start": start, "whole": whole & start.is_not_null(), "odd": text.is_not_null() & start.is_null()}
    )


def first_and_rest(frame: pl.DataFrame, key: str, code: str, first: str, rest: str) -> pl.DataFrame:
    """One row a key: the first of its codes, and the others separated by spaces; null where there are none.

    Examples
    --------
    >>> frame = pl.DataFrame({"visit": ["1", "1", "1"], "code": ["401.9", "250.00", "401.9"]})
    >>> first_and_rest(frame, "visit", "code", "diagnosis", "diagnoses").rows()
    [('1', '401.9', '250.00')]
    """
    grouped = frame.group_by(key, maintain_order=True).agg(pl.col(code).unique(maintain_order=True).alias("all"))
    return grouped.select(key, *parted("all", first, rest))


def parted(column: str, first: str, rest: str) -> Sequence[pl.Expr]:
    """The first of the codes in a column of lists, and the others separated by spaces."""
    others = pl.col(column).list.slice(1).list.join(" ")
    return (
        pl.col(column).list.first().alias(first),
        pl.when(pl.col(column).list.len() > 1).then(others).alias(rest),
    )


def listed(columns: Sequence[str] | Sequence[pl.Expr]) -> pl.Expr:
    """A list of the codes in some columns, in their order, each once, without what is missing."""
    return pl.concat_list(columns).list.drop_nulls().list.unique(maintain_order=True)
