"""One coded event a line -> patients, codes and ages: ages written in one way, or counted from dates."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Literal, Unpack

import polars as pl

from cloister.errors import InputError, setting
from cloister.io.columns import AGE_NAMES, CODE_NAMES, ID_NAMES, Header, as_text, not_released, taken_as, text_of_codes
from cloister.io.csv import LeftOut, Source, line_of_record
from cloister.io.query import Query
from cloister.io.read import read_table
from cloister.io.text import load_text
from cloister.reading import HowRead, proposal

FIRST = "first"  # Stands for the first date of each patient where a column with the date to count from may be named
AgeUnit = Literal["years", "days"]

NUMBER = re.compile(r"\+?([0-9]{1,9})(?:\.([0-9]{0,9}))?|\+?\.([0-9]{1,9})")
DATE = "%Y-%m-%d"
TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
WHOLE_DATE = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{TIME})?$"  # A date, with or without a time of the day

Refuse = Callable[[pl.Series, str, str | None], None]
"""Refuses records that are wrong, if any is: message with ``{place}`` and ``{count}``, column."""


@dataclass(frozen=True)
class EventColumns:
    """Columns of a file of events; None: the first of the usual names is taken."""

    id: str | None = None  # column that tells patients apart
    code: str | None = None  # column with one code
    age: str | None = None  # column with the age, in any unit
    date: str | None = None  # column with a date, in place of the age
    # column with the date that ages are counted from, or ``first``: each patient's first date
    anchor: str | None = None
    unit: AgeUnit = "years"  # what ages made of dates are counted in

    def __post_init__(self) -> None:
        if (self.date is None) != (self.anchor is None):
            raise InputError(
                f"{setting('date')} and {setting('anchor')} make ages together: a column of dates, and the column "
                "with the "
                f"date to count from (such as that of birth) or {FIRST} for each patient's first date. Give both or "
                "neither."
            )
        if self.date is not None and self.age is not None:
            raise InputError(
                f"{setting('age')} names a column of ages, and {setting('date')} makes ages from dates. Give one of "
                "them."
            )
        if self.unit not in ("years", "days"):
            raise InputError("Ages from dates can be counted in years or days. Choose one of them.")


@dataclass(frozen=True)
class EventSource:
    """Coded events as they were read, none of them incomplete."""

    # ids, codes, ages: text, one an event, none missing, without spaces around; ages are numbers from 0 on, each
    # written in the shortest way
    ids: pl.Series = field(repr=False)
    codes: pl.Series = field(repr=False)
    ages: pl.Series = field(repr=False)
    columns: EventColumns
    not_released: tuple[str, ...]
    format: Literal["csv", "parquet"]
    delimiter: str | None
    name: str
    notes: tuple[str, ...] = ()
    path: Path | None = field(default=None, repr=False)
    encoding: str | None = None

    def refuse(self, wrong: pl.Series, message: str, column: str | None) -> None:
        """Refuse events that are wrong; how many, and the place of the first, stand in the message in braces."""
        _refuse(self, self.path, wrong, message, column)


def read_code_events(
    path: str | Path | Query,
    *,
    columns: EventColumns | None = None,
    usual_delimiter: str | None = None,
    labels: bool = False,
    **how: Unpack[HowRead],
) -> EventSource:
    """The coded events in a CSV file (gzip'd or not) or a Parquet file.

    Parameters
    ----------
    path : one event a line, ``id,code,age``; codes are text always
    columns : which column is what; None, or None within, for the usual names

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "events.csv")
    ...     _ = path.write_text("id,code,age\\n1,401.1,33\\n1,401.1,34.50\\n")
    ...     source = read_code_events(path)
    >>> source.codes.to_list(), source.ages.to_list()
    (['401.1', '401.1'], ['33', '34.5'])
    """
    source = read_table(path, usual_delimiter=usual_delimiter, **how)
    # Where something was left out, records are no longer in the lines that they would be counted to.
    is_whole = source.left_out == LeftOut()
    file = None if isinstance(path, Query) or not is_whole else Path(path)
    return code_events(source, columns or EventColumns(), file, labels=labels)


def code_events(source: Source, wanted: EventColumns, path: Path | None = None, *, labels: bool = False) -> EventSource:
    """The coded events of a table that was read."""
    frame, file = source.frame, source.name
    found = _columns(frame.columns, wanted, file)
    used = [found.id, found.code, found.age or found.date]
    used += [found.anchor] if found.anchor != FIRST else []
    names = [name for name in used if name is not None]
    refuse = partial(_refuse, source, path)
    kinds = ("patient", "code", "date" if found.date else "age", "date to count from")
    for name, what in zip(names, kinds, strict=False):
        absent = frame[name].is_null()
        if what in ("patient", "code"):
            text = _ids(frame[name]) if what == "patient" else _codes(frame[name], file)
            absent = text.is_null() | (text == "")
        have, first = ("1 line has", "") if absent.sum() == 1 else (f"{absent.sum()} lines have", " is the first")
        refuse(
            absent,
            f"{have} no {what} in column {name!r} of {file} ({{place}}{first}). Every line needs a patient, a code and "
            "an age: complete or remove such lines.",
            name,
        )
    ids = _ids(frame[names[0]])
    if labels:
        ages = as_text(frame[str(found.age)]).str.strip_chars()
    elif found.date is None:
        ages = plain_ages(frame[str(found.age)], file, refuse)
    else:
        anchor = None if found.anchor == FIRST else frame[str(found.anchor)]
        ages = ages_from_dates(frame[found.date], anchor, ids, found.unit, file, refuse)
    rest = tuple(column for column in frame.columns if column not in names)
    roles = (("id", found.id, wanted.id), ("code", found.code, wanted.code), ("age", found.age, wanted.age))
    return EventSource(
        ids=ids,
        codes=_codes(frame[names[1]], file),
        ages=ages,
        columns=found,
        not_released=rest,
        format=source.format,
        delimiter=source.delimiter,
        name=file,
        notes=(*source.notes, *taken_as(roles), *not_released(rest)),
        path=path,
        encoding=source.encoding,
    )


def _refuse(of: Source | EventSource, path: Path | None, wrong: pl.Series, message: str, column: str | None) -> None:
    if not wrong.any():
        return
    record = int(wrong.arg_true()[0]) + 1
    line, place = None, f"record {record}"
    if path is not None and of.delimiter is not None:
        line = line_of_record(load_text(path, of.encoding).data, of.delimiter, record)
        place += f", line {line}"
    message = message.replace("{place}", place).replace("{count}", str(int(wrong.sum())))
    raise InputError(message, file=of.name, row=record, line=line, column=column)


def _columns(present: Sequence[str], wanted: EventColumns, file: str) -> EventColumns:
    """Return which column is what, with all names filled in."""
    anchor = None if wanted.anchor == FIRST else wanted.anchor
    header = Header(file, present, (*ID_NAMES, *CODE_NAMES, *AGE_NAMES), "id,code,age")
    header.check(wanted.id, wanted.code, wanted.age, wanted.date, anchor)
    roles = [("id", wanted.id, ID_NAMES), ("code", wanted.code, CODE_NAMES)]
    roles += [("age", wanted.age, AGE_NAMES)] if wanted.date is None else []
    columns = {role: asked or next((name for name in usual if name in present), None) for role, asked, usual in roles}
    for role, _, usual in roles:
        if columns[role] is None:
            raise InputError(
                f"{file} has no column of {'patients' if role == 'id' else f'{role}s'}: none is called "
                f"{', '.join(usual)}. Name it with {setting(role)}. {header.listed()}",
                file=file,
            )
    taken = [name for name in (*columns.values(), wanted.date, anchor) if name is not None]
    twice = next((name for name in taken if taken.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"Column {twice!r} cannot be two things at once. Name others.", file=file, column=twice)
    return EventColumns(columns["id"], columns["code"], columns.get("age"), wanted.date, wanted.anchor, wanted.unit)


def _ids(column: pl.Series) -> pl.Series:
    return as_text(column).str.strip_chars()


def _codes(column: pl.Series, file: str) -> pl.Series:
    return text_of_codes(column, file).str.strip_chars()


def plain_ages(column: pl.Series, file: str, refuse: Refuse) -> pl.Series:
    """Return ages as text, equal numbers alike: ``33`` for 33, 33.0 and +33, ``33.5`` for 33.50."""
    text = as_text(column)
    written = {age: _plain(age, is_number=column.dtype.is_numeric()) for age in text.unique().to_list()}
    odd = [age for age, plain in written.items() if plain is None]
    bad = text.is_in(odd) if odd else pl.zeros(0, pl.Boolean, eager=True)
    ages, are, first = ("1 age", "is", "") if bad.sum() == 1 else (f"{bad.sum()} ages", "are", " is the first")
    refuse(
        bad,
        f"{ages} in column {column.name!r} of {file} {are} no number from 0 on ({{place}}{first}). Correct or remove "
        "such lines.",
        column.name,
    )
    return text.replace_strict(list(written), [str(plain) for plain in written.values()], return_dtype=pl.String)


def _plain(age: str, *, is_number: bool) -> str | None:
    """The shortest text of an age; None where it is none."""
    text = age.strip()
    if is_number and "e" in text.lower():  # how a floating-point number may be written
        text = format(Decimal(text), "f")
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    whole, fraction = (found[1] or "0").lstrip("0") or "0", (found[2] or found[3] or "").rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def ages_from_dates(
    dates: pl.Series, anchor: pl.Series | None, ids: pl.Series, unit: AgeUnit, file: str, refuse: Refuse
) -> pl.Series:
    """Return ages counted from dates: completed years, or days.

    ``anchor``: the date to count from, of each event; None: the first date of its patient
    """
    days = _as_dates(dates, file, refuse)
    if anchor is None:
        frame = pl.DataFrame({"id": ids, "date": days})
        starts = frame.select(pl.col("date").min().over("id")).to_series()
    else:
        starts = _as_dates(anchor, file, refuse)
    refuse(
        days < starts,
        f"{{count}} of {len(days)} dates in column {dates.name!r} of {file} lie before the date that ages are counted "
        "from ({place} is the first). Correct or remove such lines.",
        dates.name,
    )
    if unit == "days":
        return (days - starts).dt.total_days().cast(pl.String)
    return completed_years(starts, days).cast(pl.String)


def completed_years(starts: pl.Series, ends: pl.Series) -> pl.Series:
    """Return how many years were completed from one date to another; below 0 where the end lies before the start.

    Examples
    --------
    >>> from datetime import date
    >>> completed_years(pl.Series([date(1999, 3, 31)]), pl.Series([date(2024, 4, 1)])).to_list()
    [25]
    """
    not_yet = _day_of_year(ends) < _day_of_year(starts)
    return ends.dt.year() - starts.dt.year() - not_yet.cast(pl.Int32)


def _day_of_year(days: pl.Series) -> pl.Series:
    """A number that orders the days of a year; months are numbered in eight bits, which hold no hundreds."""
    return days.dt.month().cast(pl.Int32) * 100 + days.dt.day()


def _as_dates(column: pl.Series, file: str, refuse: Refuse) -> pl.Series:
    """Dates of a column of dates, times, or texts that are an ISO date, with a time or without."""
    if column.dtype in (pl.Date, pl.Datetime):
        return column.cast(pl.Date)
    text = as_text(column).str.strip_chars()
    found = text.str.head(10).str.to_date(DATE, strict=False)
    found = found.set(~text.str.contains(WHOLE_DATE), None)
    wrong = found.is_null()
    advice = proposal(text.unique().drop_nulls().to_list(), of="different ones") if wrong.any() else ""
    refuse(
        wrong,
        f"{{count}} of {len(found)} values in column {column.name!r} of {file} are no dates written as YYYY-MM-DD "
        f"({{place}} is the first).{advice or ' Write them so.'}",
        column.name,
    )
    return found
