"""Repeat steps 1 to 6, to check a release's statements about them and its source data.

The steps are SQL, in `steps.sql.j2`, written from their definitions and run by DuckDB; what made the release works with
Polars and is not loaded. `step_tables` says what SQL is given; here is what follows from its answers.

Rows stay in the order in which they were read, and patients keep their numbers: crosswalks are written by these.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import as_held, map_categories, pack_text
from cloister.io.databases import connect_in_memory, frame_of
from cloister.io.foreign import interruptible, translate_errors
from cloister.shapes.claims.format.code_systems import EXCLUDING, FEW, kinds_of
from cloister.shapes.claims.format.data import Claims, StepLine, check_contents, dates_of, numbers_of
from cloister.shapes.claims.format.facts import GROUP_SIZES
from cloister.shapes.claims.format.group_tables import OTHER
from cloister.shapes.claims.format.hierarchies import MOST_DELAY, NO_CODE
from cloister.shapes.claims.format.key_file import read_key
from cloister.shapes.claims.format.plan import (
    AGE,
    DAYS_IN_HOSPITAL,
    DAYS_OF_YEAR,
    DAYS_SINCE_FIRST,
    HMAC,
    LENGTH_OF_STAY,
    PAY_DELAY,
    PSEUDONYMS,
    YEAR,
)
from cloister.shapes.claims.format.released_columns import CLAIMS, PATIENTS, TABLES, kept_columns
from cloister.shapes.claims.format.representativeness import PreprocessedClaims
from cloister.verification.script import Script

from .step_tables import (
    LINE,
    CodeColumn,
    TopCoded,
    code_columns,
    pseudonym_columns,
    register_tables,
    rules_of,
    top_coded,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TEMPLATE = "shapes/claims/verify/steps.sql.j2"
DERIVED: dict[str, dict[str, type[pl.DataType]]] = {
    CLAIMS: dict.fromkeys((DAYS_SINCE_FIRST, DAYS_OF_YEAR, LENGTH_OF_STAY, PAY_DELAY, YEAR), pl.Int32),
    PATIENTS: {AGE: pl.Int64, DAYS_IN_HOSPITAL: pl.String},
}
"""Derived columns of each file, and their types."""

BLOCK = 64
"""Bytes of a block of SHA-256."""


def repeat_steps(data: Claims) -> PreprocessedClaims:
    """Return patients and claims after steps 1 to 6, recomputed from the original and the plan.

    Raises
    ------
    InputError
        What was read is none that the steps can be done with, a file of the plan cannot be read, or DuckDB fails; no
        value is quoted.
    """
    check_contents(data)
    refusal = InputError("Steps 1 to 6 cannot be done again with these patients and claims. Check them and the plan.")
    with TemporaryDirectory(prefix="cloister-verify-") as aside, connect_in_memory(aside) as connection:
        steps = partial(translate_errors, lambda: _Steps.of(data, connection).done(), refusal)
        return interruptible(steps, connection.interrupt)


@dataclass(frozen=True, eq=False, repr=False)
class _Steps:
    """The steps after SQL was run."""

    data: Claims
    connection: "DuckDBPyConnection"
    coded: list[CodeColumn]
    topped: list[TopCoded]

    @staticmethod
    def of(data: Claims, connection: "DuckDBPyConnection") -> "_Steps":
        plan = data.plan
        coded, topped = code_columns(plan), top_coded(data)
        register_tables(data, connection, coded, topped)
        facts = {
            "pseudonyms": range(len(pseudonym_columns(plan))),
            "coded": coded,
            "top_codings": topped,
            "removals": plan.removals,
            "derived": plan.claims.derived,
            "keeps_without_claims": plan.patients.without_claims == "keep",
            "is_birth_date": plan.patients.column("birth-date") is not None,
            "is_stay": plan.claims.column("length-of-stay") is not None,
            "few": FEW,
            "most_delay": MOST_DELAY,
            "no_code": NO_CODE,
            "other": OTHER,
        }
        connection.execute(Script(TEMPLATE, facts).text()).fetchall()
        return _Steps(data, connection, coded, topped)

    def done(self) -> PreprocessedClaims:
        """Return what is left, what was excluded, and the lines."""
        derived = [
            frame_of(self.connection.sql(f"SELECT * EXCLUDE (patient) FROM derived_{one} ORDER BY line"))  # noqa: S608
            for one in ("patient", "claim")
        ]
        data = self._without_ids()
        left, excluded = (
            _with_derived(data, *(one.filter(pl.col("excluded") == is_excluded) for one in derived))
            for is_excluded in (False, True)
        )
        _check_readable(left)
        return PreprocessedClaims(self._with_labels(left), (*self._lines(),), excluded)

    def _without_ids(self) -> Claims:
        """Return what was read without the ids that no release has, those of patients as keyed hashes if so asked."""
        plan, data = self.data.plan, self.data
        gone = [{*plan.of(table).columns(*PSEUDONYMS)} - kept_columns(plan, table).keys() for table in TABLES]
        patients, (name,) = data.patients.drop(gone[0]), plan.patients.columns("id")
        patients = self._with_hashes(patients, name) if plan.ids.patients.startswith(HMAC) else patients.drop(name)
        return replace(data, patients=patients, claims=data.claims.drop(gone[1]))

    def _with_hashes(self, patients: pl.DataFrame, name: str) -> pl.DataFrame:
        """Replace ids by their keyed hashes: RFC 2104, by the SHA-256 of DuckDB."""
        key = read_key(Path(self.data.plan.ids.patients.removeprefix(HMAC)))
        pads = {"inner": _pad_key(key, 0x36), "outer": _pad_key(key, 0x5C)}
        hashes = self.connection.execute(
            "SELECT sha256($outer || unhex(sha256($inner || encode(id)))) FROM patient_read ORDER BY line", pads
        ).fetchall()
        return patients.with_columns(pl.Series(name, [one for (one,) in hashes], dtype=pl.String))

    def _with_labels(self, left: Claims) -> Claims:
        """Replace codes and great numbers by their labels."""
        frames = {table: left.of(table) for table in TABLES}
        replaced = [
            *((CLAIMS, one.name, "label", one.place) for one in self.coded if not one.is_list),
            *((one.table, one.name, "top_label", place) for place, one in enumerate(self.topped)),
        ]
        for table, name, source, place in replaced:
            rows = self._rows(f"SELECT text, label FROM {source} WHERE place = {place}")  # noqa: S608
            column = as_held(frames[table][name])
            if rows:
                by = partial(pl.Series.replace_strict, old=dict(rows), default=None, return_dtype=pl.String)
                column = map_categories(column, by)
            frames[table] = frames[table].with_columns(pack_text(column) if table == CLAIMS else column)
        return replace(left, patients=frames[PATIENTS], claims=frames[CLAIMS])

    def _lines(self) -> Iterator[StepLine]:
        """Return the line of each step."""
        plan = self.data.plan
        yield StepLine("1 pseudonyms", counts=self._sizes_of_groups())
        by_rule = dict(self._rows("SELECT name, count(DISTINCT patient) FROM named_by GROUP BY name"))
        ((n_excluded,),) = self._rows("SELECT count(*) FROM high_risk")
        yield StepLine(EXCLUDING, n_excluded, by_rule, looked_for=kinds_of(rules_of(plan)))
        yield self._remove_claims()
        ((n_without,),) = self._rows(
            "SELECT count(*) FROM person WHERE patient NOT IN (FROM high_risk)"
            " AND patient NOT IN (SELECT patient FROM derived_claim WHERE NOT excluded)"
        )
        kept = plan.patients.without_claims == "keep"
        counts = {"without claims": n_without} if kept else {}
        yield StepLine("3 patients without claims", None if kept else n_without, counts)
        yield StepLine("4 representativeness")
        yield StepLine("5 derived columns", counts=self._missing())
        yield StepLine("6 grouping", counts=self._group_codes())
        tops = self._rows("SELECT place, sum(n) FILTER (is_above) FROM top_label GROUP BY place")
        above = {place: int(n or 0) for place, n in tops}
        yield StepLine(
            "6 top-coding",
            counts={f"{one.name!r} top-coded": above.get(place, 0) for place, one in enumerate(self.topped)},
        )

    def _sizes_of_groups(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for place, name in enumerate(pseudonym_columns(self.data.plan)):
            for low, high in GROUP_SIZES:
                band = f"{low}+" if high is None else f"{low}" if low == high else f"{low}-{high}"
                most = "" if high is None else f" AND claims <= {high}"
                asked = f"SELECT count(*) FROM id_group WHERE place = {place} AND claims >= {low}{most}"  # noqa: S608
                ((counts[f"{self.data.plan.claims.roles[name]} {name!r} with {band} claims"],),) = self._rows(asked)
        return counts

    def _remove_claims(self) -> StepLine:
        plan = self.data.plan
        has_procedures = plan.claims.column("procedure") is not None
        has_dates = plan.patients.column("birth-date") is not None and plan.claims.column("date") is not None
        reasons = {
            "newborns": ("newborn", plan.removals.newborns and has_dates),
            "procedure codes with a letter": ("letter", plan.removals.letter_procedures and has_procedures),
            "revenue codes of three digits": ("revenue", plan.removals.revenue_codes and has_procedures),
        }
        found = {
            reason: self._rows(f"SELECT count(*), count(DISTINCT patient) FROM judged WHERE {flag}")[0]  # noqa: S608
            for reason, (flag, is_asked) in reasons.items()
            if is_asked
        }
        ((n_claims, n_patients),) = self._rows("SELECT count(*), count(DISTINCT patient) FROM removed")
        claims, patients = ({reason: pair[which] for reason, pair in found.items()} for which in (0, 1))
        return StepLine("3 claims removed", n_claims, claims, patients, n_patients)

    def _missing(self) -> dict[str, int]:
        counts = {}
        for table, one in ((CLAIMS, "claim"), (PATIENTS, "patient")):
            for name in self.data.plan.of(table).derived:
                asked = f"SELECT count(*) FROM derived_{one} WHERE NOT excluded AND {name} IS NULL"  # noqa: S608
                ((counts[f"{name} missing"],),) = self._rows(asked)
        return counts

    def _group_codes(self) -> dict[str, int]:
        counts = {}
        for column in self.coded:
            in_column = "SELECT sum(claims) FROM label WHERE place = ? AND"
            ((n_without,),) = self._rows(f"{in_column} NOT is_code", [column.place])
            if n_without:
                counts[f"{column.name!r} not a code"] = int(n_without)
            if column.is_grouped:
                ((n_other,),) = self._rows(f"{in_column} label = ?", [column.place, OTHER])
                counts[f"{column.name!r} in group {OTHER}"] = int(n_other or 0)
        return counts

    def _rows(self, query: str, given: list[object] | None = None) -> list[tuple[Any, ...]]:
        return self.connection.execute(query, given).fetchall()


def _with_derived(data: Claims, patients: pl.DataFrame, claims: pl.DataFrame) -> Claims:
    """Return some lines of what was read, with what is derived of them."""
    frames = []
    for table, rows in zip(TABLES, (patients, claims), strict=True):
        own = [rows[name].cast(DERIVED[table][name]) for name in data.plan.of(table).derived]
        frames.append(data.of(table)[rows[LINE]].with_columns(own))
    return replace(data, patients=frames[0], claims=frames[1])


def _pad_key(key: bytes, byte: int) -> bytes:
    """Return a key as long as a block, each byte of it changed by another: RFC 2104, section 2."""
    short = key if len(key) <= BLOCK else hashlib.sha256(key).digest()
    return bytes(one ^ byte for one in short.ljust(BLOCK, b"\0"))


def _check_readable(left: Claims) -> None:
    """Refuse texts that are no dates or numbers in columns of which something was made: to SQL they are missing."""
    plan, made = left.plan, {*left.plan.claims.derived, *left.plan.patients.derived}
    by_date = {DAYS_SINCE_FIRST, DAYS_OF_YEAR, LENGTH_OF_STAY, PAY_DELAY, YEAR, AGE} & made
    newborns = plan.removals.newborns and plan.patients.column("birth-date") is not None
    dates = [
        (CLAIMS, "date", bool(by_date) or newborns),
        (CLAIMS, "end-date", LENGTH_OF_STAY in made),
        (CLAIMS, "paid-date", PAY_DELAY in made),
        (PATIENTS, "birth-date", AGE in made or (newborns and plan.claims.column("date") is not None)),
    ]
    numbers = [
        (CLAIMS, "length-of-stay", DAYS_IN_HOSPITAL in made),
        (PATIENTS, "birth-year", AGE in made and plan.patients.column("birth-date") is None),
    ]
    for read, columns in ((dates_of, dates), (numbers_of, numbers)):
        for table, role, is_used in columns:
            for name in plan.of(table).columns(role) if is_used else ():
                read(left.of(table)[name], table)
    for coding in plan.top_coding:
        frame = left.claims if coding.column in left.claims.columns else left.patients
        if coding.column in frame.columns:
            numbers_of(frame[coding.column])
