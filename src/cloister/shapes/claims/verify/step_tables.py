"""The input of SQL for repeating steps 1 to 6: patients and claims as read, their codes, and the tables of codes.

The tables are those of the format, with the spelling by which they know a code; what is done by them is SQL.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from cloister.io import as_text
from cloister.io.columns import pack_text
from cloister.shapes.claims.format.code_systems import (
    BOTH,
    CODINGS_OF,
    ICD9,
    ICD10,
    KINDS,
    LISTS,
    codes_in,
    codings_of,
    shipped_rules,
)
from cloister.shapes.claims.format.data import PATIENT, Claims
from cloister.shapes.claims.format.group_tables import (
    NAMED,
    RANGED,
    CodeGroups,
    ExclusionRule,
    groups_of,
    place_codes,
    plain,
    read_exclusions,
    words,
)
from cloister.shapes.claims.format.hierarchies import NO_CODE, split_bounds
from cloister.shapes.claims.format.plan import PSEUDONYMS, ClaimsPlan
from cloister.shapes.claims.format.released_columns import CLAIMS, PATIENTS, PSEUDONYM, TABLES, kept_columns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LINE = "line"
READ = {
    PATIENTS: {"birth_date": "birth-date", "birth_year": "birth-year", "id": "id"},
    CLAIMS: {"procedure": "procedure", "stay": "length-of-stay"},
}
DATES = {"date": "date", "end_date": "end-date", "paid_date": "paid-date"}
"""Columns of SQL that the steps read, by file, with their roles; without a column of the role all is missing."""

TEXT, NUMBER, FLAG = pl.String, pl.Int32, pl.Boolean


@dataclass(frozen=True)
class CodeColumn:
    """A column of codes of claims, for the template; ``place`` is its number.

    ``is_judged``: whether what is no code counts as such; ``has_own_codes``: whether a table of the plan adds codes.
    """

    place: int
    name: str
    kind: str
    is_list: bool
    is_judged: bool
    is_grouped: bool
    is_named: bool
    has_own_codes: bool
    takes_icd9: bool
    takes_icd10: bool


@dataclass(frozen=True)
class TopCoded:
    """A column whose large numbers get a common label, for the template.

    ``column``: in SQL, of the ``rows`` of a view; ``after``: the place of an earlier one of the same column.
    """

    table: str
    name: str
    is_derived: bool
    column: str
    rows: str
    after: int | None
    quantile: float
    exclude_zero: bool


def code_columns(plan: ClaimsPlan) -> list[CodeColumn]:
    """Return the columns of codes that the steps examine."""
    found: list[CodeColumn] = []
    for kind in (*KINDS, "specialty"):
        for name in plan.claims.columns(kind, LISTS.get(kind, kind)):
            is_list, is_judged = plan.claims.roles[name] != kind, kind in RANGED
            word, _ = split_bounds("" if is_list else plan.claims.qi.get(name, ""))
            codings = CODINGS_OF.get(word, BOTH)
            column = CodeColumn(
                place=len(found),
                name=name,
                kind=kind,
                is_list=is_list,
                is_judged=is_judged,
                is_grouped=not is_list and kind in plan.grouping.columns,
                is_named=kind in NAMED,
                has_own_codes=is_judged and kind in plan.grouping.tables,
                takes_icd9=ICD9 in codings,
                takes_icd10=ICD10 in codings,
            )
            found.append(column)
    return found


def pseudonym_columns(plan: ClaimsPlan) -> list[str]:
    """Return the columns of claims with ids that become numbers."""
    return [name for name, one in kept_columns(plan, CLAIMS).items() if one.role == PSEUDONYM]


def rules_of(plan: ClaimsPlan) -> list[ExclusionRule]:
    """Return the exclusion list: the plan's selection from the shipped list, and its own rules."""
    own = plan.exclusions.file
    return [*shipped_rules(plan), *(() if own is None else read_exclusions(own))]


def top_coded(data: Claims) -> list[TopCoded]:
    """Return the existing columns that the plan top-codes."""
    plan, found = data.plan, list[TopCoded]()
    for number, coding in enumerate(plan.top_coding):
        for table in reversed(TABLES):  # a column of claims comes first
            roles = plan.of(table).roles
            is_derived, is_read = coding.column in plan.of(table).derived, roles.get(coding.column, "id") != "id"
            is_gone = roles.get(coding.column) in PSEUDONYMS and coding.column not in kept_columns(plan, table)
            if is_derived or (is_read and coding.column in data.of(table).columns and not is_gone):
                column = coding.column if is_derived else f"number_{number}"
                after = [place for place, one in enumerate(found) if (one.table, one.name) == (table, coding.column)]
                rows = f"left_{'derived_' if is_derived else ''}{'claim' if table == CLAIMS else 'patient'}"
                last = after[-1] if after else None
                one = TopCoded(
                    table, coding.column, is_derived, column, rows, last, coding.quantile, coding.exclude_zero
                )
                found.append(one)
                break
    return found


def register_tables(
    data: Claims, connection: "DuckDBPyConnection", coded: list[CodeColumn], topped: list[TopCoded]
) -> None:
    """Register the columns and tables that SQL reads."""
    dates, texts = _number_dates(data)
    codes = {f"code_{one.place}": data.claims[one.name] for one in coded}
    ids = {f"id_{place}": data.claims[name] for place, name in enumerate(pseudonym_columns(data.plan))}
    more = {PATIENTS: {}, CLAIMS: dates | codes | ids}
    for table, name in ((PATIENTS, "patient_read"), (CLAIMS, "claim_read")):
        frame = data.of(table)
        recorded = {one.column: frame[one.name] for one in topped if one.table == table and not one.is_derived}
        cells = {own: _column(data, table, role) for own, role in READ[table].items()} | more[table] | recorded
        columns = [cell.alias(own) for own, cell in cells.items()]
        numbers = [pl.int_range(frame.height, dtype=pl.Int32, eager=True).alias(LINE), frame[PATIENT].alias("patient")]
        connection.register(name, ArrowFrame(pl.DataFrame([*numbers, *columns])))
    tables = _tables_of_codes(data, coded) | {"date_text": ({"number": NUMBER, "text": TEXT}, enumerate(texts))}
    for name, (schema, rows) in tables.items():
        connection.register(name, ArrowFrame(pl.DataFrame([*rows], schema=schema, orient="row")))


def _column(data: Claims, table: str, role: str) -> pl.Series:
    """Return the column with a role; all is missing where there is none."""
    frame, names = data.of(table), data.plan.of(table).columns(role)
    return frame[names[0]] if names else pl.Series([None], dtype=TEXT).new_from_index(0, frame.height)


def _number_dates(data: Claims) -> tuple[dict[str, pl.Series], list[str]]:
    """Return the dates of claims as numbers, and their texts, which are few: SQL reads each text once."""
    numbers, texts = dict[str, pl.Series](), list[str]()
    for own, role in DATES.items():
        column = pack_text(_column(data, CLAIMS, role), always=True)
        numbers[own] = column.to_physical().cast(NUMBER) + len(texts)
        assert isinstance(column.dtype, pl.Enum)
        texts += column.dtype.categories.to_list()
    return numbers, texts


@dataclass(frozen=True, eq=False, repr=False)
class ArrowFrame:
    """A frame as a stream of Arrow: of a frame as it is, DuckDB asks for PyArrow."""

    frame: pl.DataFrame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


Table = tuple[dict[str, type[pl.DataType]], Iterable[tuple[object, ...]]]


def _tables_of_codes(data: Claims, coded: list[CodeColumn]) -> dict[str, Table]:
    plan, parts, texts, diagnoses = data.plan, list[tuple[object, ...]](), {NO_CODE}, {NO_CODE}
    for one in coded:
        for cell in as_text(data.claims[one.name].unique()).drop_nulls().to_list():
            codes = codes_in(cell) if one.kind in RANGED else [cell]
            parts += [(one.place, one.kind, cell, code) for code in codes]
            (diagnoses if one.kind == "diagnosis" else texts).update([cell, *codes])
    codings = codings_of(diagnoses)
    written = (
        (text, plain(text), words(text), *(one in codings.get(text, ()) for one in (ICD9, ICD10)))
        for text in sorted(texts | diagnoses)
    )
    roles = dict.fromkeys(one.kind for one in coded if one.is_grouped or one.has_own_codes)
    groups = {role: groups_of(role, plan.grouping.tables) for role in roles}
    ranges = [
        (role, number, one.name, one.first, one.last)
        for role, found in groups.items()
        if isinstance(found, CodeGroups)
        for number, one in enumerate(found.ranges)
    ]
    named = [
        (role, text, name)
        for role, found in groups.items()
        if not isinstance(found, CodeGroups)
        for text, name in found.group_of.items()
    ]
    rules = [(one.range.name, one.kind, one.coding, one.range.first, one.range.last) for one in rules_of(plan)]
    of_range = {"name": TEXT, "low": TEXT, "high": TEXT}
    return {
        "part": ({"place": NUMBER, "kind": TEXT, "cell": TEXT, "code": TEXT}, parts),
        "written": ({"text": TEXT, "plain": TEXT, "words": TEXT, "icd9": FLAG, "icd10": FLAG}, written),
        "code_range": ({"role": TEXT, "number": NUMBER, **of_range}, ranges),
        "named": ({"role": TEXT, "words": TEXT, "name": TEXT}, named),
        "rule": ({"name": TEXT, "kind": TEXT, "coding": TEXT, "low": TEXT, "high": TEXT}, rules),
        "place_name": ({"name": TEXT, "place_code": TEXT}, place_codes().items()),
    }
