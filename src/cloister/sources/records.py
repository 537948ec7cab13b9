"""What profiles hand on: records of people, of what they had, and of claims, each with the place that it came from."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from cloister.errors import InputError

from .dates import parsed

FILE, ROW = "\0file", "\0row"
"""Columns that say in which file a record stands, and where; no column read has such a name."""

AGE = "\0age"
"""The column of ages in completed years, where a system tells one in place of a date."""

ID, BIRTH, SEX, CODE, DATE, END = "patient_id", "birth_date", "sex", "code", "date", "end_date"


@dataclass(frozen=True)
class Records:
    """Records of one kind.

    Attributes
    ----------
    frame : text, null where there is none, with the columns `FILE` and `ROW`; always with `ID`
    unit : what `ROW` counts
    notes : what a user should know, such as what was left out
    """

    frame: pl.DataFrame = field(repr=False)
    unit: Literal["record", "line"] = "record"
    notes: tuple[str, ...] = ()

    def refuse(self, wrong: pl.Series, found: str, advice: str, column: str | None = None) -> None:
        """Refuse records that are ``wrong``; a missing truth counts as none.

        Parameters
        ----------
        found : what is wrong, after "have"

        Raises
        ------
        InputError
            There are such records; with their number and the place of the first, never a value.
        """
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
        """The dates of a column, as `dates.parsed` returns them.

        Raises
        ------
        InputError
            Something is none.
        """
        dates = parsed(self.frame[column])
        self.refuse(dates["odd"], f"a {column} that is no date", "Write dates as YYYY-MM-DD", column)
        return dates

    def without(self, left_out: pl.Series, why: str) -> "Records":
        """The records that are not to be left out, with a note on how many are."""
        left_out = left_out.fill_null(value=False)
        count = int(left_out.sum())
        if not count:
            return self
        said = f"{count:,} {self.unit}s were" if count > 1 else f"1 {self.unit} was"
        return Records(self.frame.filter(~left_out), self.unit, (*self.notes, f"{said} left out: {why}"))

    def refuse_of_others(self, owner: pl.Series, named: str) -> None:
        """Refuse records with something that belongs to another patient than they do.

        Parameters
        ----------
        owner : whose that is which a record names, one each; null where it is nobody's
        named : what it is, such as "a visit"

        Raises
        ------
        InputError
            There are such records.
        """
        self.refuse(
            self.frame[ID].ne_missing(owner), f"{named} of another patient", "Correct whose they are, or leave them out"
        )


@dataclass(frozen=True)
class People(Records):
    """Records of people, one each: with `SEX` and `BIRTH`, a date to the day, the month or the year."""

    def checked(self) -> "People":
        """These, if each has an id, and another one.

        Raises
        ------
        InputError
            There are none, or one has no id, or one that another has.
        """
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
    people : one record a patient
    conditions : what patients had: `CODE`, `DATE`; further columns with other codes of the same, none of them missing
    claims : `DATE`, `END`, and what else is known of a claim
    """

    people: Callable[..., People]
    conditions: Callable[..., Records]
    claims: Callable[..., Records]
