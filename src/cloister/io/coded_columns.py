"""Columns of files with codes: their usual names, what is said of those that are not there, codes as text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import as_text
from cloister.io.header import listed, nearest_column

ID_NAMES = ("id", "patient_id", "person_id", "subject_id", "member_id")
CODE_NAMES = ("code", "icd9", "icd10", "condition_concept_id")
CODES_NAMES = ("codes",)
AGE_NAMES = ("age", "age_years")
"""Names that a column is looked for by, the likeliest first."""

WHITE_SPACE = re.compile(r"\s")


@dataclass(frozen=True)
class Header:
    """The columns of a file, as far as messages may name them.

    Attributes
    ----------
    file : name of the file
    present : what stands in its first line
    usual : names by which a first line is known to name columns: a file without one has its first patient there
    example : a first line as it should be
    """

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

    def check(self, *asked: str | None) -> None:
        """Refuse a column that was asked for and is not there."""
        column = next((name for name in asked if name is not None and name not in self.present), None)
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
    """Return notes on what was taken for what: for each role the column found, and the one asked for."""
    return [f"the column {name!r} was taken as {role}" for role, name, asked in roles if name and asked is None]


def not_released(rest: Sequence[str]) -> list[str]:
    """Return the note on columns that are not released."""
    return [f"columns not released: {', '.join(rest)}"] if rest else []
