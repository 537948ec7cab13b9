"""Hypothesis strategies for the four shapes: small data in which patients both share values and stand out.

This module needs Hypothesis: ``pip install 'cloister[testing]'``. Its data are plain frames, rows and lists, as
`cloister` accepts them.
"""

from dataclasses import dataclass, field
from datetime import date, timedelta

import polars as pl

try:
    from hypothesis import strategies as st
except ImportError:
    raise ImportError("cloister.testing.strategies needs Hypothesis: pip install 'cloister[testing]'.") from None

Labels = tuple[str, ...]
Pair = tuple[str, int]

CODES = ("250.00", "250.01", "250.10", "272.4", "401.1", "401.9", "414.01", "428.0", "493.90", "V58.66", "E888.9")
"""Some codes of ICD-9-CM, neighbours among them."""

PLACES = ("Office", "Inpatient Hospital", "Outpatient Hospital", "Independent Lab")
FIRST_DAY = date(2024, 1, 1)

CLAIMS_PLAN = """
[patients]
derived = ["age"]
[patients.roles]
patient_id = "id"
birth_date = "birth-date"
sex = "sex"
[patients.qi]
age = "age"
sex = "suppress"
[claims]
[claims.roles]
patient_id = "id"
date = "date"
icd9 = "diagnosis"
place_of_service = "place"
[claims.qi]
icd9 = "diagnosis"
place_of_service = "place"
"""
"""A plan for what `claims` makes."""


@dataclass(frozen=True)
class MadeTable:
    """A table of quasi-identifiers."""

    frame: pl.DataFrame
    hierarchies: dict[str, list[Labels]] = field(default_factory=dict)


@dataclass(frozen=True)
class MadeClaims:
    """Patients and their claims."""

    patients: pl.DataFrame
    claims: pl.DataFrame


@st.composite
def hierarchies(draw: st.DrawFn, largest: int = 6) -> list[Labels]:
    """Generate the rows of a legal hierarchy: every level merges groups of the one below, and the last has one root.

    Parameters
    ----------
    largest : most values that it has, from 1
    """
    n_values = draw(st.integers(1, largest))
    n_middle = draw(st.integers(0, 2))
    groups = list(range(n_values))
    columns = [[f"v{value}" for value in range(n_values)]]
    for level in range(n_middle):
        merged = {group: draw(st.integers(0, 2)) for group in sorted(set(groups))}
        groups = [merged[group] for group in groups]
        columns.append([f"l{level}g{group}" for group in groups])
    columns.append(["*"] * n_values)
    return list(zip(*columns, strict=True))


@st.composite
def tables(draw: st.DrawFn, most_records: int = 24, most_columns: int = 4, *, missing: bool = False) -> MadeTable:
    """Generate tables of few values, so that classes of all sizes occur.

    Parameters
    ----------
    most_records, most_columns : from 1
    missing : whether values may be missing; the hierarchies then have a row for them
    """
    names = [f"c{number}" for number in range(draw(st.integers(1, most_columns)))]
    bound_hierarchies = {name: draw(hierarchies()) for name in names}
    values = {name: st.sampled_from([row[0] for row in rows]) for name, rows in bound_hierarchies.items()}
    record = st.tuples(*(st.none() | values[name] if missing else values[name] for name in names))
    records = draw(st.lists(record, min_size=1, max_size=most_records))
    frame = pl.DataFrame(records, schema=dict.fromkeys(names, pl.String), orient="row")
    if missing:
        bound_hierarchies = {name: [*rows, ("", *rows[0][1:])] for name, rows in bound_hierarchies.items()}
    return MadeTable(frame, bound_hierarchies)


def code_sets(
    most_records: int = 16, most_codes: int = 4, codes: tuple[str, ...] = CODES
) -> st.SearchStrategy[list[list[str]]]:
    """Generate sets of codes, one per patient, as `cloister.CodeSets.from_records` accepts them; none is empty.

    Parameters
    ----------
    most_records, most_codes : of all, and of one patient; from 1
    """
    code = st.sampled_from([*codes, *codes[:3], *codes[:3]])
    record = st.lists(code, min_size=1, max_size=most_codes, unique=True).map(sorted)
    return st.lists(record, min_size=1, max_size=most_records)


def trajectories(
    most_records: int = 12,
    most_pairs: int = 4,
    codes: tuple[str, ...] = CODES,
    ages: tuple[int, ...] = (40, 41, 44, 50),
) -> st.SearchStrategy[list[list[Pair]]]:
    """Generate codes with ages, one list per patient, as `cloister.Trajectories.from_records` accepts; none is empty.

    Parameters
    ----------
    most_records, most_pairs : of all, and of one patient; from 1
    """
    pair = st.tuples(st.sampled_from(codes), st.sampled_from(ages))
    record = st.lists(pair, min_size=1, max_size=most_pairs).map(lambda pairs: sorted(pairs, key=lambda own: own[::-1]))
    return st.lists(record, min_size=1, max_size=most_records)


@st.composite
def claims(draw: st.DrawFn, most_patients: int = 12, most_claims: int = 4) -> MadeClaims:
    """Generate patients with claims of one year; `CLAIMS_PLAN` is a plan for them.

    Parameters
    ----------
    most_patients, most_claims : of all, and of one patient; from 1
    """
    patient = st.tuples(st.integers(1930, 2023).map(lambda year: date(year, 6, 15)), st.sampled_from("FM"))
    claim = st.tuples(
        st.integers(0, 365).map(lambda days: FIRST_DAY + timedelta(days=days)),
        st.none() | st.sampled_from(CODES),
        st.sampled_from(PLACES),
    )
    people = draw(st.lists(patient, min_size=1, max_size=most_patients))
    events = [draw(st.lists(claim, min_size=1, max_size=most_claims)) for _ in people]
    return MadeClaims(
        pl.DataFrame(
            [(f"P{number}", *own) for number, own in enumerate(people)],
            schema={"patient_id": pl.String, "birth_date": pl.Date, "sex": pl.String},
            orient="row",
        ),
        pl.DataFrame(
            [(f"P{number}", *own) for number, mine in enumerate(events) for own in mine],
            schema={"patient_id": pl.String, "date": pl.Date, "icd9": pl.String, "place_of_service": pl.String},
            orient="row",
        ),
    )
