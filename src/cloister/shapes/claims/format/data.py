"""Patients and their claims as read: two matching tables of text; and their states before the search."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import StringConstraints

from cloister.errors import InputError
from cloister.io import Query, Source, as_text
from cloister.io.columns import code_texts, list_columns, map_categories, map_columns, nearest_column, pack_text
from cloister.release.head import Count, Section
from cloister.release.masking import WITHHELD, mask_small_count, total_needs_suppression
from cloister.settings.reading import HowRead
from cloister.sources import read_claim_tables

from .plan import YEAR, ClaimsPlan

ISO = r"^\s*([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]|\s*$)"
COMPACT = r"^\s*([0-9]{8})\s*$"
WHOLE = r"^\s*([0-9]{1,9})(?:\.[0-9]*)?\s*$"

PATIENT = "\0patient"
"""Column that steps work with: the number of the patient in the patients' file. No column read has such a name."""

RowNumbers = NDArray[np.int64]

MOST_CONTENTS = 1 << 62
"""Numbers that rows may have by their content before they are numbered by it."""

OF_DAYS = ("length-of-stay", "days-since-first-claim", "pay-delay")
LONGEST_SEX, LONGEST_NAME, MOST_WORDS = 20, 60, 8
MANY_DIGITS = re.compile(r"[0-9]{4}")


def days_in(text: pl.Series) -> pl.Series:
    """Return the days of dates written ``YYYY-MM-DD`` (later times are ignored) or ``YYYYMMDD``; null for others."""

    def read(texts: pl.Series) -> pl.Series:
        iso = texts.str.extract(ISO).str.to_date("%Y-%m-%d", strict=False)
        return iso.zip_with(iso.is_not_null(), texts.str.extract(COMPACT).str.to_date("%Y%m%d", strict=False))

    return map_categories(text, read)


def whole_numbers_in(text: pl.Series) -> pl.Series:
    """Return the whole numbers from 0 on below 10^9, decimals rounded down; null for others."""
    return map_categories(text, lambda texts: texts.str.extract(WHOLE).cast(pl.Int64))


def dates_of(text: pl.Series, table: str) -> pl.Series:
    """Return the days of a column of dates, null where missing; see `days_in`."""
    return _whole(days_in(text), text, table, "dates", "Write dates as YYYY-MM-DD")


def numbers_of(values: pl.Series, table: str = "the data") -> pl.Series:
    """Return the whole numbers of a column, null where missing; for text see `whole_numbers_in`."""
    if values.dtype.is_integer():
        return values
    advice = "Correct them, or give the column another role"
    return _whole(whole_numbers_in(values), values, table, "numbers from 0 on", advice)


def _whole(read: pl.Series, text: pl.Series, table: str, needed: str, advice: str) -> pl.Series:
    wrong = int((read.is_null() & text.is_not_null()).sum())
    if wrong:
        raise InputError(
            f"Column {text.name!r} of {table}: {wrong} values are not {needed}. {advice}.", column=text.name
        )
    return read


@dataclass(frozen=True, eq=False, repr=False)
class Claims:
    """Patients, one row each, with any number of claims.

    Both have the columns that the plan names, as text, null where missing, and `PATIENT`, the number of the patient
    (uint32), by which claims are joined: they have no ids of patients. Text of claims is packed: they are many, with
    few different values. A release is written as the patients' file was: ``format``, ``delimiter``.
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
        cls, patients: str | Path | Query, claims: str | Path | Query, plan: ClaimsPlan, **how: Unpack[HowRead]
    ) -> "Claims":
        """Read both (CSV, also gzip'd, Parquet, or a query to a database); codes are always text.

        Parameters
        ----------
        patients : one row a patient; here and below a file, or ``PROFILE:PATH``
        claims : any number of rows a patient
        plan : roles of their columns
        how : encoding, delimiter, texts that stand for a missing value and more; see
            `cloister.settings.reading.ReadingWords`

        Raises
        ------
        InputError
            A file cannot be read, a column has no role or is not there, a patient's id is missing or repeated, or a
            claim has no patient; with record and line, never a value.
        """
        tables = read_claim_tables(patients, claims, **how)
        return claims_of(*tables, plan)

    def of(self, table: str) -> pl.DataFrame:
        """Return the rows of one file."""
        return self.patients if table == "patients" else self.claims

    def of_patients(self, wanted: pl.Series, *, others: bool = False) -> "Claims":
        """Return the patients whose numbers are ``wanted``, or all ``others``, with their claims."""
        patients, claims = (
            frame.filter(frame[PATIENT].is_in(wanted.implode()) ^ others) for frame in (self.patients, self.claims)
        )
        return replace(self, patients=patients, claims=claims)

    @property
    def n_patients(self) -> int:
        """Number of patients."""
        return self.patients.height

    @property
    def n_claims(self) -> int:
        """Number of claims."""
        return self.claims.height

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The row of the patient of each claim, (n_claims,)."""
        rows = self.patients.select(PATIENT).with_row_index("row")
        joined = self.claims.select(PATIENT).join(rows, on=PATIENT, how="left", maintain_order="left")
        return joined["row"].to_numpy().astype(np.int64)

    def dates(self, role: str, needed_for: str) -> pl.Series:
        """Return the days of the claims' column with a role."""
        column = self.plan.claims.column(role)
        if column is None:
            raise InputError(f"{needed_for} is derived from claims with the role {role}, but no column has it.")
        return dates_of(self.claims[column], "claims")

    @property
    def n_without_claims(self) -> int:
        """The number of patients without claims."""
        return self.patients.height - self.claims[PATIENT].n_unique()


def years_of(data: Claims) -> pl.Series:
    """Return the calendar year of each claim, null where its date is missing."""
    return data.dates("date", YEAR).dt.year().cast(pl.Int64)


def claims_of(patients: Source, claims: Source, plan: ClaimsPlan) -> Claims:
    """Join the data of two files."""
    people = _columns(patients, plan.patients.roles, "patients", as_text)
    events = _columns(claims, plan.claims.roles, "claims", pack_text)
    (patient_id,), (claim_id,) = plan.patients.columns("id"), plan.claims.columns("id")
    ids = people[patient_id]
    if ids.null_count():
        found = f"a patient without a value in {ids.name!r}. Give every patient an id"
        raise _at(ids.is_null(), patients, found, ids)
    again = ~ids.is_first_distinct()
    if again.any():
        found = f"a patient whose {ids.name!r} stands in an earlier record. One row a patient"
        raise _at(again, patients, found, ids)
    numbered = people.with_columns(pl.Series(PATIENT, range(people.height), dtype=pl.UInt32))
    key = numbered.select(pl.col(patient_id).alias(claim_id), PATIENT)

    def owners(names: pl.Series) -> pl.Series:
        return names.alias(claim_id).to_frame().join(key, on=claim_id, how="left", maintain_order="left")[PATIENT]

    joined = events.with_columns(map_categories(events[claim_id], owners).alias(PATIENT))
    lost = joined[PATIENT].is_null()
    if lost.any():
        found = f"a claim without a patient in {patients.name} ({lost.sum()} claims in all)"
        raise _at(lost, claims, f"{found}. Add the patients, or leave these claims out", joined[claim_id])
    notes, names = (*patients.notes, *claims.notes), (patients.name, claims.name)
    made = Claims(numbered, joined.drop(claim_id), plan, patients.format, patients.delimiter or ",", notes, names)
    if made.n_without_claims:
        done = "are left out" if plan.patients.without_claims == "drop" else "are kept"
        # how many there are is for the lines of the steps, where small counts are withheld
        made = replace(made, notes=(*notes, f"patients without claims {done} (patients.without_claims)"))
    return made


def _columns(
    source: Source, roles: Mapping[str, str], table: str, held: Callable[[pl.Series], pl.Series]
) -> pl.DataFrame:
    """The columns of a file that are not dropped, as text that is so held; every column must have a role."""
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
            f"{'1 column' if len(left) == 1 else f'{len(left)} columns'} of {source.name} without a role: "
            f"{list_columns(left, frame.columns)}. Give each one in {table}.roles: drop, if it is not released.",
            file=source.name,
            column=left[0],
        )
    kept = (frame[column] for column, role in roles.items() if role != "drop")
    return pl.DataFrame(map_columns(held, kept, frame.height))


def _at(wrong: pl.Series, source: Source, found: str, column: pl.Series) -> InputError:
    record = int(wrong.arg_true()[0]) + 1
    line = record + 1 if source.delimiter is not None else None
    where = f"record {record}" if line is None else f"record {record}, line {line} (where no cell spans lines)"
    return InputError(
        f"{source.name}: {where} is {found}.", file=source.name, row=record, line=line, column=column.name
    )


def check_contents(data: Claims) -> None:
    """Reject dates in a column of days, and free text in a column of sexes."""
    (of_patients, of_claims), found = data.names, []
    for column in data.plan.claims.columns(*OF_DAYS):
        dates = days_in(data.claims[column]).is_not_null()
        found.append((of_claims, column, dates, "are dates, not numbers of days"))
    for column in data.plan.patients.columns("sex"):
        sexes = data.patients[column]
        text = sexes.is_in([value for value in sexes.drop_nulls().unique() if not is_sex(value)])
        found.append((of_patients, column, text, "are no sex: one or two words, or a number of up to five digits"))
    for file, column, wrong, problem in found:
        if rows := int(wrong.fill_null(False).sum()):
            raise InputError(
                f"Column {column!r} of {file}: {rows} values {problem}. Correct them, or give the column another role.",
                file=file,
                column=column,
            )


def is_sex(text: str) -> bool:
    """Return whether a text can be the name or number of a sex, in any language.

    Examples
    --------
    >>> [is_sex(text) for text in ("F", "not known", "8507", "ask Mrs Miller 555-1234")]
    [True, True, True, False]
    """
    words = text.split()
    named = 0 < len(words) <= 2 and len(text) <= LONGEST_SEX and all(word.isalpha() for word in words)
    return named or re.fullmatch(r"\s*[0-9]{1,5}\s*", text) is not None


def is_name(text: str) -> bool:
    """Return whether a text can be a category such as a region or a race, and is no free text.

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


Masked = Count | Annotated[str, StringConstraints(pattern=r"^(<[1-9][0-9]{0,8}|withheld)$")]


class Step(Section):
    """What is published of a step; ``looked_for``: kinds of codes on the exclusion list, where that is the step."""

    step: str
    total: Masked | None
    counts: dict[str, Masked]
    looked_for: tuple[Literal["diagnosis", "procedure", "place"], ...] | None = None

    def counting(self, counts: Mapping[str, Masked] | None) -> "Step":
        """Return the step with other counts, if they are given."""
        return self if counts is None else self.model_copy(update={"counts": dict(counts)})


@dataclass(frozen=True)
class StepLine:
    """One line of the report, as in `2 high-risk patients`.

    ``total`` is what was removed or changed in all, ``counts`` the same by reason: a patient or claim can have several.
    ``patients, patients_in_all``: of each count of claims, and of a total of claims, how many patients these are of.
    """

    step: str
    total: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    patients: Mapping[str, int] = field(default_factory=dict)
    patients_in_all: int | None = None
    looked_for: tuple[str, ...] | None = None

    def exact(self) -> dict[str, object]:
        """Return all counts, for the custodian only."""
        facts: dict[str, object] = {"step": self.step, "total": self.total, "counts": dict(self.counts)}
        return facts if self.looked_for is None else facts | {"looked_for": list(self.looked_for)}

    def masked(self, k: int) -> Step:
        """What may be published: counts of fewer than k patients are `<k`, or withheld where they are k claims or more.

        The total is withheld where it and the counts together could reveal fewer than k.

        Examples
        --------
        >>> StepLine("3 claims removed", 23, {"newborns": 3, "revenue codes": 20}).masked(11).counts
        {'newborns': '<11', 'revenue codes': 20}
        """
        counts = {name: mask_small_count(count, k, self.patients.get(name)) for name, count in self.counts.items()}
        total: int | str | None = self.total
        if self.total is not None:
            is_disclosive = total_needs_suppression(self.total, self.counts, k, self.patients, self.patients_in_all)
            total = WITHHELD if is_disclosive else mask_small_count(self.total, k)
        looked_for = {} if self.looked_for is None else {"looked_for": self.looked_for}
        return Step.model_validate({"step": self.step, "total": total, "counts": counts, **looked_for})


def early_steps(lines: Sequence[StepLine], counts: Mapping[str, Mapping[str, Masked]], k: int) -> list[Step]:
    """Return published steps, some with counts from the files."""
    return [line.masked(k).counting(counts.get(line.step)) for line in lines]


class StepResult(NamedTuple):
    """Claims after a step, and its line; ``removed``: the complete data of patients that the step removed."""

    claims: Claims
    line: StepLine
    removed: Claims | None = None


def numbers_by_content(keys: pl.DataFrame) -> RowNumbers:
    """Number the rows by content: equal rows have equal numbers, in the order of the content.

    Missing comes first, texts are in the order of UTF-8 bytes.
    """
    numbers, size = np.zeros(keys.height, dtype=np.int64), 1
    for column in keys.get_columns() if keys.height else ():
        codes, n_codes = _codes_in_order(column)
        # columns become digits of one number, which is sorted at once, as long as a number has room for another
        if size * n_codes > MOST_CONTENTS:
            numbers = rank(pl.Series(numbers))
            size = int(numbers.max(initial=-1)) + 1
        numbers, size = numbers * n_codes + codes, size * n_codes
    return rank(pl.Series(numbers)) + 1 if keys.width else numbers


def _codes_in_order(column: pl.Series) -> tuple[RowNumbers, int]:
    """Numbers from 0 in the order of the values of a column, 0 for missing, and how many there may be."""
    if not column.dtype.is_integer():
        texts, places = code_texts(column)
        return places.astype(np.int64) + 1, len(texts) + 1
    numbers = column.cast(pl.Int64)  # of ours, from -1 to the number of rows or labels
    codes = (numbers - numbers.min() + 1).fill_null(0).to_numpy()
    return codes, int(codes.max(initial=0)) + 1


def rank(values: pl.Series) -> RowNumbers:
    """Return the rank of each value among the different ones, from 0; bytes are in their own order."""
    return values.rank("dense").to_numpy().astype(np.int64) - 1


def rank_pairs(first: RowNumbers, second: pl.Series) -> RowNumbers:
    """Return the rank of each pair, of a number from 0 and another value, among the different ones."""
    last = rank(second)
    return rank(pl.Series(first * (int(last.max(initial=0)) + 1) + last))


def sort_numbers(owners: RowNumbers, numbers: RowNumbers, n: int) -> pl.Series:
    """Return the sorted numbers of each of n owners, as bytes with the same sort order."""
    width = int(numbers.max(initial=0)) + 1
    text = (np.sort(owners * width + numbers) % width).astype(">u4").tobytes()
    ends = np.cumsum(np.bincount(owners, minlength=n)) * 4
    parts = [text[start:end] for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]
    return pl.Series("numbers", parts, dtype=pl.Binary)
