"""Extract patients' codes from a table: one patient per line, one code per line, or coded events with ages.

Ages are written in one canonical form, or computed from dates.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Literal

import polars as pl

from cloister.errors import InputError, Message, name_few, setting
from cloister.io.columns import AGE_NAMES, CODE_NAMES, CODES_NAMES, ID_NAMES, Header, as_text, check_once, text_of_codes
from cloister.io.csv import Source, line_of_record, load_text
from cloister.settings.reading import proposal

FIRST = "first"  # Stands for the first date of each patient where a column with the date to count from may be named
NUMBER = re.compile(r"\+?([0-9]{1,9})(?:\.([0-9]{0,9}))?|\+?\.([0-9]{1,9})")
DATE = "%Y-%m-%d"
TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
COMPLETE = "Every line needs a patient, a code and an age: complete or remove such lines."
CORRECT = "Correct or remove such lines."
WHOLE_DATE = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{TIME})?$"  # A date, with or without a time of the day


def _notes(roles: Sequence[tuple[str, str | None, str | None]], rest: Sequence[str]) -> list[str]:
    """Notes on columns recognised by name, from each role, the column found and the one asked for; and on the rest."""
    notes = [f"the column {name!r} was taken as {role}" for role, name, wanted in roles if name and wanted is None]
    return [*notes, note_not_released(rest)] if rest else notes


def note_not_released(columns: Sequence[str]) -> str:
    """Return the note on file columns that are not released."""
    return f"columns not released: {name_few(columns)}"


@dataclass(frozen=True)
class CodeColumns:
    """Columns of a file of codes, None: the first of the usual names; and the separator of codes in a cell.

    ``separator``: one text in addition to white space; None: commas, semicolons and bars, and the brackets and quotes
    of a list
    """

    id: str | None = None
    codes: str | None = None
    code: str | None = None
    separator: str | None = None


MOSTLY_ONCE = 0.5
"""Cells are lists of codes rather than names of diagnoses if more of them than this share differ."""
SEPARATOR = r"[;,|]"
AS_A_LIST = r"^\s*[\[{](.*)[\]}]\s*$"


def split_at(cells: pl.Series, separator: str | None) -> pl.Series:
    """Return cells with white space in place of other separators of codes, and without the brackets of lists.

    Examples
    --------
    >>> split_at(pl.Series(["I10;E11.9", "['I10', 'E11.9']", "I10"]), None).str.split(" ").to_list()
    [['I10', 'E11.9'], ['I10', 'E11.9'], ['I10']]
    """
    if separator is not None:
        return cells.str.replace_all(separator, " ", literal=True) if separator.strip() else cells
    if not cells.str.contains(SEPARATOR).any() and not cells.str.contains(AS_A_LIST).any():
        return cells
    listed = cells.str.extract(AS_A_LIST, 1).str.replace_all("['\"]", "")
    plain = pl.select(pl.coalesce(listed, cells)).to_series().str.replace_all(rf"\s*{SEPARATOR}\s*", " ")
    return plain.str.strip_chars().alias(cells.name)


@dataclass(frozen=True)
class CodeSource:
    """Codes read from a table."""

    # text; wide: all codes of a record, separated by white space; long: one code; null where there is none
    cells: pl.Series
    ids: pl.Series | None  # text; wide: one a record; long: whose code it is; None where the file names no patients
    layout: Literal["wide", "long"]
    columns: CodeColumns
    not_released: tuple[str, ...]
    missing: tuple[str, ...]  # texts that stand for a missing code
    format: Literal["csv", "parquet"]
    delimiter: str | None
    name: str
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"CodeSource({self.name!r}, {self.layout}, {len(self.cells)} lines)"


def code_lists(source: Source, wanted: CodeColumns, missing: Sequence[str] = ()) -> CodeSource:
    """Return the codes of a table: wide (one record per line, codes separated by spaces) or long (one code per line).

    Examples
    --------
    >>> frame = pl.DataFrame({"id": ["1", "2"], "codes": ["001 250.10", "V51"]})
    >>> found = code_lists(Source(frame, "csv", ",", "utf-8", "codes.csv"), CodeColumns())
    >>> found.layout, found.cells.to_list()
    ('wide', ['001 250.10', 'V51'])
    """
    frame, file = source.frame, source.name
    found = _code_columns(frame.columns, wanted, file)
    used = [column for column in (found.id, found.codes, found.code) if column is not None]
    rest = tuple(column for column in frame.columns if column not in used)
    codes = str(found.code or found.codes)
    cells, ids = text_of_codes(frame[codes], file), None if found.id is None else as_text(frame[found.id])
    if ids is not None:
        _check_ids(ids, str(found.id), file, wide=found.code is None)
    parted = split_at(cells, wanted.separator)
    at = "commas, semicolons and bars" if wanted.separator is None else repr(wanted.separator)
    how_parted = (
        [
            Message(
                f"cells of {codes!r} with several codes were split at {at} (",
                setting("separator"),
                " names another separator)",
            )
        ]
        if parted is not cells
        else []
    )
    if found.code is not None and ids is not None and parted is not cells:
        parted, ids = _one_a_line(cells, parted, ids)
    cells = parted
    if ids is None and rest:
        header = Header(file, frame.columns, (*CODES_NAMES, *CODE_NAMES), "id,codes")
        _check_rows_are_patients(frame.select(rest), cells, codes, header)
    roles = (("id", found.id, wanted.id), ("codes", found.codes, wanted.codes), ("code", found.code, wanted.code))
    no_id = ["there is no id: every line is assumed to be another patient"] if found.id is None else []
    return CodeSource(
        cells=cells,
        ids=ids,
        layout="wide" if found.code is None else "long",
        columns=found,
        not_released=rest,
        missing=tuple(missing),
        format=source.format,
        delimiter=source.delimiter,
        name=file,
        notes=(*source.notes, *_notes(roles, ()), *how_parted, *no_id, *_notes((), rest)),
    )


def _check_rows_are_patients(others: pl.DataFrame, cells: pl.Series, codes: str, header: Header) -> None:
    """Refuse a file without an id whose rows are hardly patients: codes of one patient would be those of several.

    So are rows of one code, if a column called after patients does not say otherwise, and rows with what seem to be
    names of diagnoses, next to a column whose values repeat like ids.
    """
    from cloister.evidence.column import may_be_id_by_name  # both import this package
    from cloister.risk.identifiers import GROUPS

    named = [one for one in others if may_be_id_by_name(one.name)]
    repeated = [one.name for one in named if one.n_unique() < others.height]
    if named and not repeated and others.height:  # engines ask with the header alone, which settles nothing
        return
    has_lists = bool(cells.str.contains(r"\S\s+\S").any())
    like_ids = [one.name for one in others if GROUPS * others.height <= one.n_unique() < others.height]
    if not repeated and has_lists and not (like_ids and _are_names(cells)):
        return
    if repeated:
        what = f"Values of {repeated[0]!r} repeat in {header.file}"
    else:
        what = f"Each row of {header.file} {'seems to have' if has_lists else 'has'} one code"
    names = [*repeated, *like_ids, *others.columns]
    raise InputError(
        f"{what}, and no column is given as the id of patients: each row would count as another patient. "
        "Name the column that tells patients apart, as ",
        setting("id", names[0] if repeated or header.are_names() else "COLUMN"),
        ", and ",
        setting("code", codes),
        ". If each row is a patient, give the column of codes alone.",
        file=header.file,
    )


def _are_names(cells: pl.Series) -> bool:
    """Whether cells are rather names of diagnoses than lists of codes: mostly without digits, and in several rows."""
    has_digits = int(cells.str.contains(r"[0-9]").sum())
    return 2 * has_digits < len(cells) and cells.n_unique() <= len(cells) * MOSTLY_ONCE


def _one_a_line(cells: pl.Series, parted: pl.Series, ids: pl.Series) -> tuple[pl.Series, pl.Series]:
    """One code a line, of cells that had separators; a cell with nothing but white space inside stays as it is."""
    lists = pl.DataFrame({"id": ids, "cell": cells, "parted": parted.str.split(" ")})
    is_parted = pl.col("parted").list.join(" ") != pl.col("cell").str.strip_chars()
    kept = pl.when(is_parted.fill_null(value=False)).then("parted").otherwise(pl.concat_list("cell"))
    rows = lists.select("id", kept.alias("code")).explode("code")
    return rows["code"].alias(cells.name), rows["id"].alias(ids.name)


def check_layout(codes: str | None, code: str | None) -> None:
    """Refuse a column with all codes of a patient next to one with one code a line."""
    if codes is not None and code is not None:
        raise InputError(
            setting("codes"),
            " names a column with all codes of a patient, ",
            setting("code"),
            " one with one code. Give one.",
        )


def _code_columns(present: Sequence[str], wanted: CodeColumns, file: str) -> CodeColumns:
    """Assign columns to their purposes; one of ``codes`` and ``code`` is None."""
    header = Header(file, present, (*ID_NAMES, *CODES_NAMES, *CODE_NAMES), "id,codes")
    header.check(wanted.id, wanted.codes, wanted.code)
    check_layout(wanted.codes, wanted.code)
    all_of_them, one = setting("codes"), setting("code")
    codes, code = wanted.codes, wanted.code
    if codes is None and code is None:
        codes, code = header.first(CODES_NAMES), header.first(CODE_NAMES)
        if codes is not None and code is not None:
            raise InputError(
                f"{file} has a column {codes!r} and a column {code!r}. Name the one to use with ",
                all_of_them,
                " (all codes of a patient) or ",
                one,
                " (one code a line).",
                file=file,
            )
    if codes is None and code is None:
        usual = ", ".join((*CODES_NAMES, *CODE_NAMES))
        raise InputError(
            f"{file} has no column of codes: none is called {usual}. Name it with ",
            all_of_them,
            " or ",
            one,
            f". {header.listed()}",
            file=file,
        )
    identifier = wanted.id or header.first(ID_NAMES)
    if code is not None and identifier is None:
        raise InputError(
            f"{file} has one code per line, so a column must identify patients, but it has none of "
            f"{', '.join(ID_NAMES)}. Name it with ",
            setting("id"),
            f". {header.listed()}",
            file=file,
        )
    if identifier is not None and identifier in (codes, code):
        raise InputError(f"Column {identifier!r} cannot be both the id and the codes.", file=file, column=identifier)
    return CodeColumns(identifier, codes, code, wanted.separator)


def _check_ids(ids: pl.Series, column: str, file: str, *, wide: bool) -> None:
    if ids.null_count():
        have = "has" if ids.null_count() == 1 else "have"
        first = int(ids.is_null().arg_true()[0]) + 1
        raise InputError(
            f"Column {column!r} of {file} identifies patients, but {ids.null_count()} of {len(ids)} lines "
            f"{have} none (the first is record {first}). Give every patient an id.",
            file=file,
            row=first,
            column=column,
        )
    if wide and (distinct := ids.n_unique()) != len(ids):
        raise InputError(
            f"Every patient has one line of codes, but {file} has {len(ids)} lines and {distinct} distinct values of "
            f"{column!r}. Put all codes of a patient into one line, or give one code a line.",
            file=file,
            column=column,
        )


AgeUnit = Literal["years", "days"]


@dataclass(frozen=True)
class EventColumns:
    """Columns of a file of events; None: the first of the usual names."""

    id: str | None = None  # column that distinguishes patients
    code: str | None = None  # column with one code
    age: str | None = None  # column with the age, in any unit
    date: str | None = None  # column with a date, in place of the age
    # column with the date that ages are counted from, or ``first``: each patient's first date
    anchor: str | None = None
    unit: AgeUnit = "years"  # what ages made of dates are counted in
    detail: str | None = None  # column with a further attribute of each event; never found by its name

    def __post_init__(self) -> None:
        if (self.date is None) != (self.anchor is None):
            raise InputError(
                setting("date"),
                " and ",
                setting("anchor"),
                " make ages together: a column of dates, and the column with the date to count from (such as that of "
                f"birth) or {FIRST} for each patient's first date. Give both or neither.",
            )
        if self.date is not None and self.age is not None:
            raise InputError(
                setting("age"),
                " names a column of ages, and ",
                setting("date"),
                " makes ages from dates. Give one of them.",
            )
        if self.unit not in ("years", "days"):
            raise InputError("Ages from dates can be counted in years or days. Choose one of them.")


@dataclass(frozen=True)
class EventSource:
    """Coded events read from a table; all are complete."""

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
    details: pl.Series | None = field(default=None, repr=False)  # text, one an event, none missing; None: not asked for

    def refuse(
        self, wrong: pl.Series, what: str, advice: str, column: str | None, count: tuple[int, int] | None = None
    ) -> None:
        """Refuse invalid events; see `_refuse`."""
        _refuse(self, wrong, what, advice, column, count)


def _refuse(
    of: Source | EventSource,
    wrong: pl.Series,
    what: str,
    advice: str,
    column: str | None,
    count: tuple[int, int] | None = None,
) -> None:
    """Refuse invalid records: state the fault, their number, the line of the first, and the remedy.

    ``count``: how many of how many; records by default
    """
    if not wrong.any():
        return
    record = int(wrong.arg_true()[0]) + 1
    line, place = None, f"record {record}"
    if of.path is not None and of.delimiter is not None:
        line = line_of_record(load_text(of.path, of.encoding).data, of.delimiter, record)
        place += f", line {line}"
    n, total = count or (int(wrong.sum()), len(wrong))
    sentence = f"{n} of {total} {what} ({place} is the first). "
    raise InputError(sentence, advice, file=of.name, row=record, line=line, column=column)


Refuse = Callable[[pl.Series, str, str, str | None], None]
"""Refuses records that are wrong, if any is."""


def code_events(source: Source, wanted: EventColumns, *, labels: bool = False) -> EventSource:
    """Return the coded events of a table, one per line; codes are text, and released ages are labels.

    Examples
    --------
    >>> frame = pl.DataFrame({"id": ["1", "1"], "code": ["401.1"] * 2, "age": ["33", "34.50"]})
    >>> code_events(Source(frame, "csv", ",", "utf-8", "events.csv"), EventColumns()).ages.to_list()
    ['33', '34.5']
    """
    frame, file = source.frame, source.name
    found = _event_columns(frame.columns, wanted, file)
    used = [found.id, found.code, found.age or found.date, None if found.anchor == FIRST else found.anchor]
    used.append(found.detail)
    names = [name for name in used if name is not None]
    refuse = partial(_refuse, source)
    ids, codes = as_text(frame[names[0]]).str.strip_chars(), text_of_codes(frame[names[1]], file).str.strip_chars()
    absent = [
        ids.is_null() | (ids == ""),
        codes.is_null() | (codes == ""),
        *(frame[one].is_null() for one in names[2:] if one != found.detail),
    ]
    kinds = ("patient", "code", "date" if found.date else "age", "date to count from")
    for name, what, which in zip(names, kinds, absent, strict=False):
        refuse(which, f"lines have no {what} in column {name!r} of {file}", COMPLETE, name)
    if labels:
        ages = as_text(frame[str(found.age)]).str.strip_chars()
    elif found.date is None:
        ages = _plain_ages(frame[str(found.age)], file, refuse)
    else:
        anchor = None if found.anchor == FIRST else frame[str(found.anchor)]
        ages = _ages_from_dates(frame[found.date], anchor, ids, found.unit, file, refuse)
    details = None if found.detail is None else _details(frame[found.detail], file, refuse)
    rest = tuple(column for column in frame.columns if column not in names)
    roles = (("id", found.id, wanted.id), ("code", found.code, wanted.code), ("age", found.age, wanted.age))
    return EventSource(
        ids=ids,
        codes=codes,
        ages=ages,
        columns=found,
        not_released=rest,
        format=source.format,
        delimiter=source.delimiter,
        name=file,
        notes=(*source.notes, *_notes(roles, rest)),
        path=source.path,
        encoding=source.encoding,
        details=details,
    )


def _details(column: pl.Series, file: str, refuse: Refuse) -> pl.Series:
    """Return a further attribute of events as text; it must not be missing."""
    text = as_text(column).str.strip_chars()
    what = f"lines have no detail in column {column.name!r} of {file}"
    refuse(text.is_null() | (text == ""), what, "Write a value for it that the hierarchy has.", column.name)
    return text


def _event_columns(present: Sequence[str], wanted: EventColumns, file: str) -> EventColumns:
    """Assign columns to their purposes, and fill in all names."""
    anchor = None if wanted.anchor == FIRST else wanted.anchor
    header = Header(file, present, (*ID_NAMES, *CODE_NAMES, *AGE_NAMES), "id,code,age")
    header.check(wanted.id, wanted.code, wanted.age, wanted.date, anchor, wanted.detail)
    roles = [("id", wanted.id, ID_NAMES), ("code", wanted.code, CODE_NAMES)]
    roles += [("age", wanted.age, AGE_NAMES)] if wanted.date is None else []
    columns = {role: asked or header.first(usual) for role, asked, usual in roles}
    for role, _, usual in roles:
        if columns[role] is None:
            raise InputError(
                f"{file} has no column of {'patients' if role == 'id' else f'{role}s'}: none is called "
                f"{', '.join(usual)}. Name it with ",
                setting(role),
                f". {header.listed()}",
                file=file,
            )
    check_once([*columns.values(), wanted.date, anchor, wanted.detail], file)
    return replace(wanted, id=columns["id"], code=columns["code"], age=columns.get("age"))


def _plain_ages(column: pl.Series, file: str, refuse: Refuse) -> pl.Series:
    """Return ages as text, in one form for equal numbers: ``33`` for 33, 33.0 and +33, ``33.5`` for 33.50."""
    text = as_text(column)
    written = {age: _plain(age, is_number=column.dtype.is_numeric()) for age in text.unique().to_list()}
    odd = [age for age, plain in written.items() if plain is None]
    bad = text.is_in(odd) if odd else pl.zeros(0, pl.Boolean, eager=True)
    refuse(bad, f"ages in column {column.name!r} of {file} are no number from 0 on", CORRECT, column.name)
    return text.replace_strict(list(written), [str(plain) for plain in written.values()], return_dtype=pl.String)


def _plain(age: str, *, is_number: bool) -> str | None:
    """Return the shortest text of an age; None for anything else."""
    text = age.strip()
    if is_number and "e" in text.lower():  # how a floating-point number may be written
        text = format(Decimal(text), "f")
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    whole, fraction = (found[1] or "0").lstrip("0") or "0", (found[2] or found[3] or "").rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _ages_from_dates(
    dates: pl.Series, anchor: pl.Series | None, ids: pl.Series, unit: AgeUnit, file: str, refuse: Refuse
) -> pl.Series:
    """Compute ages in completed years, or days, from a reference date; None: the first date of each patient."""
    days = _as_dates(dates, file, refuse)
    if anchor is None:
        starts = pl.DataFrame({"id": ids, "date": days}).select(pl.col("date").min().over("id")).to_series()
    else:
        starts = _as_dates(anchor, file, refuse)
    early = f"dates in column {dates.name!r} of {file} are before the date from which ages count"
    refuse(days < starts, early, CORRECT, dates.name)
    if unit == "days":
        return (days - starts).dt.total_days().cast(pl.String)
    return completed_years(starts, days).cast(pl.String)


def completed_years(starts: pl.Series, ends: pl.Series) -> pl.Series:
    """Count the completed years from one date to another; negative if the end is before the start.

    Examples
    --------
    >>> from datetime import date
    >>> completed_years(pl.Series([date(1999, 3, 31)]), pl.Series([date(2024, 4, 1)])).to_list()
    [25]
    """
    # Months are numbered in eight bits, which hold no hundreds.
    place, start = (days.dt.month().cast(pl.Int32) * 100 + days.dt.day() for days in (ends, starts))
    return ends.dt.year() - starts.dt.year() - (place < start).cast(pl.Int32)


def _as_dates(column: pl.Series, file: str, refuse: Refuse) -> pl.Series:
    """Dates of a column of dates, times, or texts that are an ISO date, with a time or without."""
    if column.dtype in (pl.Date, pl.Datetime):
        return column.cast(pl.Date)
    text = as_text(column).str.strip_chars()
    found = text.str.head(10).str.to_date(DATE, strict=False)
    found = found.set(~text.str.contains(WHOLE_DATE), None)
    wrong = found.is_null()
    advice = proposal(text.unique().drop_nulls().to_list(), of="different ones") if wrong.any() else ""
    no_date = f"values in column {column.name!r} of {file} are no dates written as YYYY-MM-DD"
    refuse(wrong, no_date, advice or "Write them so.", column.name)
    return found
