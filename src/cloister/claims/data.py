"""Patients and their claims as read: two tables of text that fit together, and what their columns may hold."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Unpack

import polars as pl

from cloister.errors import InputError
from cloister.io import Query, Source, as_text
from cloister.io.columns import listed, nearest_column
from cloister.reading import HowRead
from cloister.sources import read_claim_tables

from .plan import ClaimsPlan

ISO = r"^\s*([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]|\s*$)"
COMPACT = r"^\s*([0-9]{8})\s*$"
WHOLE = r"^\s*([0-9]{1,9})(?:\.[0-9]*)?\s*$"

PATIENT = "\0patient"
"""Column that steps work with: the number of the patient in the patients' file. No column read has such a name."""

OF_DAYS = ("length-of-stay", "days-since-first-claim", "pay-delay")
LONGEST_SEX, LONGEST_NAME, MOST_WORDS = 20, 60, 8
MANY_DIGITS = re.compile(r"[0-9]{4}")


def days_in(text: pl.Series) -> pl.Series:
    """The days of dates written ``YYYY-MM-DD`` (a time after them is dropped) or ``YYYYMMDD``; null for all else."""
    distinct = text.drop_nulls().unique()  # few, however many claims there are
    iso = distinct.str.extract(ISO).str.to_date("%Y-%m-%d", strict=False)
    days = iso.zip_with(iso.is_not_null(), distinct.str.extract(COMPACT).str.to_date("%Y%m%d", strict=False))
    return text.replace_strict(distinct, days, default=None, return_dtype=pl.Date)


def whole_numbers_in(text: pl.Series) -> pl.Series:
    """The numbers from 0 on below 10^9, decimals rounded down; null for all else."""
    return text.str.extract(WHOLE).cast(pl.Int64)


def dates_of(text: pl.Series, table: str) -> pl.Series:
    """The days of a column of dates, null where missing; see `days_in`."""
    return _whole(days_in(text), text, table, "dates", "Write dates as YYYY-MM-DD")


def numbers_of(text: pl.Series, table: str) -> pl.Series:
    """The whole numbers of a column of text, null where missing; see `whole_numbers_in`."""
    advice = "Correct them, or give the column another role"
    return _whole(whole_numbers_in(text), text, table, "numbers from 0 on", advice)


def _whole(read: pl.Series, text: pl.Series, table: str, needed: str, advice: str) -> pl.Series:
    wrong = int((read.is_null() & text.is_not_null()).sum())
    if wrong:
        raise InputError(
            f"Column {text.name!r} of {table}: {wrong} values are not {needed}. {advice}.", column=text.name
        )
    return read


@dataclass(frozen=True, eq=False, repr=False)
class Claims:
    """One row a patient, and any number of claims of each.

    Attributes
    ----------
    patients, claims : the columns that the plan names, as text, null where missing; in both the column `PATIENT` is the
        number of the patient (int64)
    plan : what is to be done with them
    format, delimiter : how the patients' file was written, which is how a release is
    names : of the two files
    notes : what a user should know about how they were read
    """

    patients: pl.DataFrame
    claims: pl.DataFrame
    plan: ClaimsPlan
    format: Literal["csv", "parquet"] = "csv"
    delimiter: str = ","
    notes: tuple[str, ...] = ()
    names: tuple[str, str] = ("patients", "claims")

    def __repr__(self) -> str:
        return f"Claims({self.patients.height} patients, {self.claims.height} claims)"

    @classmethod
    def read(
        cls,
        patients: str | Path | Query,
        claims: str | Path | Query,
        plan: ClaimsPlan,
        **how: Unpack[HowRead],
    ) -> "Claims":
        """Read both (CSV, also gzip'd, Parquet, or a query to a database); codes are text always.

        Parameters
        ----------
        patients : one row a patient; here and below a file, or ``PROFILE:PATH``
        claims : any number of rows a patient
        plan : roles of their columns
        how : encoding, delimiter, texts that stand for a missing value and more; see `cloister.reading.ReadingWords`

        Raises
        ------
        InputError
            A file cannot be read, a column has no role or is not there, a patient's id is missing or repeated, or a
            claim has no patient; with record and line, never a value.
        """
        tables = read_claim_tables(patients, claims, **how)
        return claims_of(*tables, plan)

    def with_frames(self, patients: pl.DataFrame | None = None, claims: pl.DataFrame | None = None) -> "Claims":
        """The same with other rows or columns."""
        return replace(
            self,
            patients=self.patients if patients is None else patients,
            claims=self.claims if claims is None else claims,
        )

    def of_patients(self, wanted: pl.Series, *, others: bool = False) -> "Claims":
        """The patients whose numbers are ``wanted``, or all ``others``, with their claims."""
        patients, claims = (frame[PATIENT].is_in(wanted.implode()) for frame in (self.patients, self.claims))
        if others:
            patients, claims = ~patients, ~claims
        return self.with_frames(self.patients.filter(patients), self.claims.filter(claims))

    @property
    def n_patients(self) -> int:
        """Number of patients."""
        return self.patients.height

    @property
    def n_claims(self) -> int:
        """Number of claims."""
        return self.claims.height

    @property
    def n_without_claims(self) -> int:
        """Patients that have no claims."""
        return self.patients.height - self.claims[PATIENT].n_unique()


def claims_of(patients: Source, claims: Source, plan: ClaimsPlan) -> Claims:
    """Join what was read of two files."""
    people = _columns(patients, plan.patients.roles, "patients")
    events = _columns(claims, plan.claims.roles, "claims")
    (patient_id,), (claim_id,) = plan.patient_columns("id"), plan.claim_columns("id")
    ids = people[patient_id]
    if ids.null_count():
        found = f"a patient without a value in {ids.name!r}. Give every patient an id"
        raise _at(ids.is_null(), patients, found, ids)
    again = ~ids.is_first_distinct()
    if again.any():
        found = f"a patient whose {ids.name!r} stands in an earlier record. One row a patient"
        raise _at(again, patients, found, ids)
    numbered = people.with_columns(pl.Series(PATIENT, range(people.height), dtype=pl.Int64))
    key = numbered.select(pl.col(patient_id).alias(claim_id), PATIENT)
    joined = events.join(key, on=claim_id, how="left", maintain_order="left")
    lost = joined[PATIENT].is_null()
    if lost.any():
        found = f"a claim without a patient in {patients.name} ({lost.sum()} claims in all)"
        raise _at(lost, claims, f"{found}. Add the patients, or leave these claims out", joined[claim_id])
    made = Claims(
        numbered,
        joined,
        plan,
        patients.format,
        patients.delimiter or ",",
        (*patients.notes, *claims.notes),
        (patients.name, claims.name),
    )
    if made.n_without_claims:
        done = "are left out" if plan.patients.without_claims == "drop" else "are kept"
        # how many there are is for the lines of the steps, where small counts are withheld
        made = replace(made, notes=(*made.notes, f"patients without claims {done} (patients.without_claims)"))
    return made


def _columns(source: Source, roles: Mapping[str, str], table: str) -> pl.DataFrame:
    """The columns of a file that are not dropped, as text; every column must have a role."""
    frame = source.frame
    for column in roles:
        if column not in frame.columns:
            hint = nearest_column(column, frame.columns)
            raise InputError(
                f"The plan has a role for column {column!r} of {table}, but {source.name} has no such column.{hint}",
                file=source.name,
                column=column,
            )
    left = [column for column in frame.columns if column not in roles]
    if left:
        raise InputError(
            f"The plan has no role for {len(left)} columns of {source.name}: {listed(left, frame.columns)}. "
            f"Give each one in {table}.roles; drop leaves a column out.",
            file=source.name,
            column=left[0],
        )
    return pl.DataFrame([as_text(frame[column]) for column, role in roles.items() if role != "drop"])


def _at(wrong: pl.Series, source: Source, found: str, column: pl.Series) -> InputError:
    record = int(wrong.arg_true()[0]) + 1
    line = record + 1 if source.delimiter is not None else None
    where = f"record {record}" if line is None else f"record {record}, line {line} (where no cell spans lines)"
    return InputError(
        f"{source.name}: {where} is {found}.", file=source.name, row=record, line=line, column=column.name
    )


def check_contents(data: Claims) -> None:
    """Refuse dates in a column of days, and free text in a column of sexes."""
    plan, (of_patients, of_claims) = data.plan, data.names
    for column in plan.claim_columns(*OF_DAYS):
        _refuse(
            of_claims, data.claims[column], days_in(data.claims[column]).is_not_null(), "are dates, not numbers of days"
        )
    for column in plan.patient_columns("sex"):
        sexes = data.patients[column]
        text = [value for value in sexes.drop_nulls().unique() if not is_sex(value)]
        _refuse(of_patients, sexes, sexes.is_in(text), "are no sex: one or two words, or a number of up to five digits")


def _refuse(file: str, series: pl.Series, wrong: pl.Series, found: str) -> None:
    rows = int(wrong.fill_null(False).sum())
    if rows:
        raise InputError(
            f"Column {series.name!r} of {file}: {rows} values {found}. Correct them, or give the column another role.",
            file=file,
            column=series.name,
        )


def is_sex(text: str) -> bool:
    """Whether a text can be the name or number of a sex, in any language.

    Examples
    --------
    >>> [is_sex(text) for text in ("F", "not known", "8507", "ask Mrs Miller 555-1234")]
    [True, True, True, False]
    """
    words = text.split()
    named = 0 < len(words) <= 2 and len(text) <= LONGEST_SEX and all(word.isalpha() for word in words)
    return named or re.fullmatch(r"\s*[0-9]{1,5}\s*", text) is not None


def is_name(text: str) -> bool:
    """Whether a text can be a category such as a region or a race, and is no remark.

    Examples
    --------
    >>> [is_name(text) for text in ("Black or African American", "12345-6789", "District 12", "call 555-1234")]
    [True, True, True, False]
    """
    words = text.split()
    if len(text) > LONGEST_NAME or len(words) > MOST_WORDS:
        return False
    digits = any(character.isdigit() for character in text)
    return not digits or len(words) <= 1 or (len(words) <= 3 and MANY_DIGITS.search(text) is None)
