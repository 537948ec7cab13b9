"""Patients and their claims as read: two tables of text that fit together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import polars as pl

from cloister.errors import InputError
from cloister.io import Query, Source, as_text
from cloister.io.header import listed, nearest_column
from cloister.sources import read_claim_tables

from .plan import ClaimsPlan

PATIENT = "\0patient"
"""Column that steps work with: the number of the patient in the patients' file. No column read has such a name."""


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
        *,
        encoding: str | None = None,
        delimiter: str | None = None,
        missing: Sequence[str] = (),
    ) -> "Claims":
        """Read both (CSV, also gzip'd, Parquet, or a query to a database); codes are text always.

        Parameters
        ----------
        patients : one row a patient; here and below a file, or ``PROFILE:PATH``
        claims : any number of rows a patient
        plan : roles of their columns
        encoding, delimiter : overrule what is detected in CSV files
        missing : texts that stand for a missing value, besides the empty one

        Raises
        ------
        InputError
            A file cannot be read, a column has no role or is not there, a patient's id is missing or repeated, or a
            claim has no patient; with record and line, never a value.
        """
        tables = read_claim_tables(patients, claims, encoding=encoding, delimiter=delimiter, missing=missing)
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
    """Join what was read of two files.

    Raises
    ------
    InputError
        As for `Claims.read`.
    """
    people = _columns(patients, plan.patients.roles, "patients")
    events = _columns(claims, plan.claims.roles, "claims")
    (patient_id,), (claim_id,) = plan.patient_columns("id"), plan.claim_columns("id")
    _check_ids(people[patient_id], patients)
    numbered = people.with_columns(pl.Series(PATIENT, range(people.height), dtype=pl.Int64))
    key = numbered.select(pl.col(patient_id).alias(claim_id), PATIENT)
    joined = events.join(key, on=claim_id, how="left", maintain_order="left")
    _check_patients(joined[PATIENT], joined[claim_id], claims, patients)
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


def _check_ids(ids: pl.Series, source: Source) -> None:
    if ids.null_count():
        raise _at(ids.is_null(), source, f"a patient without a value in {ids.name!r}. Give every patient an id", ids)
    again = ~ids.is_first_distinct()
    if again.any():
        raise _at(again, source, f"a patient whose {ids.name!r} stands in an earlier record. One row a patient", ids)


def _check_patients(numbers: pl.Series, ids: pl.Series, claims: Source, patients: Source) -> None:
    if numbers.null_count():
        lost = numbers.is_null()
        found = f"a claim without a patient in {patients.name} ({lost.sum()} claims in all)"
        raise _at(lost, claims, f"{found}. Add the patients, or leave these claims out", ids)


def _at(wrong: pl.Series, source: Source, found: str, column: pl.Series) -> InputError:
    record = int(wrong.arg_true()[0]) + 1
    line = record + 1 if source.delimiter is not None else None
    where = f"record {record}" if line is None else f"record {record}, line {line} (where no cell spans lines)"
    return InputError(
        f"{source.name}: {where} is {found}.", file=source.name, row=record, line=line, column=column.name
    )
