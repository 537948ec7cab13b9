"""The columns of a file: how messages may name them, as the first line may be a record, and usual names of codes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from cloister.errors import InputError, did_you_mean
from cloister.io.columns import as_text

MOST_LISTED = 50
"""Columns that a message lists."""

_VALUE = re.compile(
    r"[\d\W_]*"  # a number, a date, a telephone number
    r"|\d{1,2}[-. /]?[^\W\d_]{3,9}[-. /]?\d{2,4}"  # 17 MAR 1980
    r"|\d{4}-\d\d-\d\d.*"  # 1980-03-17T10:00
    r"|.*@.*",
    re.DOTALL,
)
_NUMBERED = re.compile(r"[^\W\d_]{0,3}[-_ ]?\d{3,}\w*|[^\W\d_]\d\d(\.\w+)?")
"""M00017, MRN-123456, E11.9: of patients, or columns that somebody numbered."""

ADVICE = "the first line of a file must name its columns"

ID_NAMES = ("id", "patient_id", "person_id", "subject_id", "member_id")
CODE_NAMES = ("code", "icd9", "icd10", "condition_concept_id")
CODES_NAMES = ("codes",)
AGE_NAMES = ("age", "age_years")
"""Names that a column is looked for by, the likeliest first."""

WHITE_SPACE = re.compile(r"\s")


def _looks_like_value(name: str) -> bool:
    return (_VALUE.fullmatch(name) or _NUMBERED.fullmatch(name)) is not None


def listed(names: Sequence[str], header: Sequence[str] | None = None) -> str:
    """Return columns as a message may list them: by name, or by position where the names look like values.

    Parameters
    ----------
    header : all columns of the file; None where these are all

    Examples
    --------
    >>> listed(["age", "sex"])
    'age, sex'
    >>> listed(["M00017", "30"])
    'column 1 to 2 (not named here, as they look like values: the first line of a file must name its columns)'
    """
    header = names if header is None else header
    if any(map(_looks_like_value, header)):
        places = [header.index(name) + 1 for name in names]
        is_run = len(places) == places[-1] - places[0] + 1
        positions = f"{places[0]} to {places[-1]}" if is_run else _cut([f"{place}" for place in places])
        return f"column {positions} (not named here, as they look like values: {ADVICE})"
    return _cut(names)


def _cut(names: Sequence[str]) -> str:
    more = len(names) - MOST_LISTED
    return ", ".join(names[:MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def nearest_column(column: str, header: Sequence[str]) -> str:
    """Return a sentence that names the column which was perhaps meant, with a space before it; empty if none is."""
    return "" if any(map(_looks_like_value, header)) else did_you_mean(column, header, repr)


def check_header(frame: pl.DataFrame, file: str) -> None:
    """Refuse a table of CSV whose first line looks like one of its records, where all columns would be shown.

    A name that looks like a value is one if the column below it is full of values of the same shape: `2019` above
    counts, or a code above zeros and ones, is the name of a column.
    """
    for place, column in enumerate(frame, 1):
        name = column.name
        if not (name and _VALUE.fullmatch(name)) or column.null_count() == column.len():
            continue
        shapes = column.drop_nulls().cast(pl.String).str.replace_all(r"[0-9]", "9").str.replace_all(r"\pL", "a")
        if 2 * (shapes == re.sub(r"[^\W\d_]", "a", re.sub(r"[0-9]", "9", name))).sum() > shapes.len():
            raise InputError(
                f"The first line of {file} looks like a record, not like names of columns (see column {place}): "
                f"{ADVICE}. Write a line of names above it, or rename that column.",
                file=file,
            )


@dataclass(frozen=True)
class Header:
    """The columns of a file, as far as messages may name them."""

    file: str
    present: Sequence[str]
    usual: Sequence[str]
    example: str

    def _are_names(self) -> bool:
        named = bool(set(self.usual).intersection(self.present))
        return len(self.present) > 1 and named and not any(map(WHITE_SPACE.search, self.present))

    def listed(self) -> str:
        """Return a sentence that lists the columns, where that gives no patient away."""
        if self._are_names():
            return f"Its columns: {listed(self.present)}."
        return f"Its first line must name the columns, as in: {self.example}."

    def check(self, *wanted: str | None) -> None:
        """Refuse a column that was asked for and is not there."""
        column = next((name for name in wanted if name is not None and name not in self.present), None)
        if column is None:
            return
        hint = nearest_column(column, self.present) if self._are_names() else ""
        message = f"Column {column!r} was asked for, but {self.file} has no such column.{hint} {self.listed()}"
        raise InputError(message, file=self.file, column=column)


def text_of_codes(column: pl.Series, file: str) -> pl.Series:
    """Return codes as text; refuses numbers that have lost their text already."""
    if column.dtype.is_float() or column.dtype.is_decimal():
        raise InputError(
            f"Column {column.name!r} of {file} holds decimal numbers, but codes are text: 250.10 and 250.1 differ. "
            "Export it as text.",
            file=file,
            column=column.name,
        )
    return as_text(column)


def taken_as(roles: Sequence[tuple[str, str | None, str | None]]) -> list[str]:
    """Return notes on columns recognised by name, from each role, the column found and the one asked for."""
    return [f"the column {name!r} was taken as {role}" for role, name, wanted in roles if name and wanted is None]


def not_released(rest: Sequence[str]) -> list[str]:
    """Return the note on columns that are not released."""
    return [f"columns not released: {', '.join(rest)}"] if rest else []
