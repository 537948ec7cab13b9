"""The form of the two files of a release of claims, and the plan's statements on columns, levels and steps."""

import dataclasses
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io.columns import as_text, map_categories, repack_text
from cloister.release.head import Count, Section
from cloister.release.masking import is_masked_count
from cloister.settings.toml import parse_section

from .code_systems import EXCLUDING, KINDS, kinds_of, shipped_rules
from .data import Step
from .hierarchies import bounds_of, hierarchies, hierarchy_named, split_bounds
from .plan import CHOSEN, NEVER_RELEASED, PSEUDONYMS, ClaimsPlan, section_errors

PATIENTS, CLAIMS = TABLES = "patients", "claims"
TRUNCATED = "claims_truncated"
"""Column of patients: 1 where claims of the patient were omitted."""

SUPPRESSED = "sup_"
"""Beginning of the columns of claims that are 1 where the cell of a quasi-identifier was suppressed."""

NUMBER, HASHED = "number", "hmac"
"""What the ids of patients are: numbers in released order, or keyed hashes."""

IDENTIFIER: Final = "identifier"
QUASI: Final = "quasi-identifier"
KEPT: Final = "keep"
PSEUDONYM: Final = "pseudonym"
FLAG: Final = "flag"

OWN_RULE = re.compile("[A-Za-z][A-Za-z -]{0,39}")
"""Names of rules of a list of one's own."""

IN_FILES = frozenset({"1 pseudonyms", "3 patients without claims", "5 derived columns", "6 grouping", "6 top-coding"})
"""Steps whose counts follow from the files (`shapes/claims/format/facts.py`)."""

STEPS: dict[str, frozenset[str]] = {
    "1 pseudonyms": frozenset(),
    EXCLUDING: frozenset(),
    "3 claims removed": frozenset({"newborns", "procedure codes with a letter", "revenue codes of three digits"}),
    "3 patients without claims": frozenset(),
    "4 representativeness": frozenset(),
    "5 derived columns": frozenset(),
    "6 grouping": frozenset(),
    "6 top-coding": frozenset(),
    "7 truncation": frozenset(),
    "8 adversary power": frozenset(),
    "9 node risk": frozenset(),
    "10 search": frozenset(),
    "11 suppression": frozenset({"patients left out", "cells suppressed", "claims left out"}),
    "12 evaluation": frozenset(),
}
"""Steps in their order, each with what it may count besides names of rules."""

TOTALS = frozenset({EXCLUDING, "3 claims removed", "3 patients without claims", "7 truncation"})


class ReleasedColumn(Section):
    """One column of a released file.

    hierarchy, level, top : of a quasi-identifier: its hierarchy, the level released, and the highest there is
    numbered_with : of a pseudonym: columns with the same word share their numbers
    ids : of the identifier
    """

    role: Literal["identifier", "quasi-identifier", "keep", "pseudonym", "flag"]
    hierarchy: str | None = None
    level: Count | None = None
    top: Count | None = None
    numbered_with: str | None = None
    ids: Literal["number", "hmac"] | None = None


class ClaimsForm(Section):
    """The columns of both files, in their order; the id comes first in both."""

    patients: dict[str, ReleasedColumn]
    claims: dict[str, ReleasedColumn]

    @property
    def ids(self) -> str:
        """What the ids of patients are, in both files: number or hmac."""
        return str(next(iter(self.patients.values())).ids)

    def of(self, table: str) -> dict[str, ReleasedColumn]:
        """Return the columns of one file."""
        return self.patients if table == PATIENTS else self.claims

    def names(self, table: str, *roles: str) -> list[str]:
        """Return the names of the columns with one of these roles; of all if none is given."""
        return [name for name, column in self.of(table).items() if not roles or column.role in roles]

    def levels(self, table: str) -> dict[str, int]:
        """Return the level of each quasi-identifier of a file."""
        return {name: column.level for name, column in self.of(table).items() if column.level is not None}

    def is_declared(self, plan: ClaimsPlan) -> bool:
        """Return whether the columns are those of a plan, at levels that it allows."""
        tops = {
            table: {name: (one.level or 0, one.top or 0) for name, one in self.of(table).items()} for table in TABLES
        }
        if any(any(section_errors(table, plan.of(table))) for table in TABLES):  # among them that each has one id
            return False
        has_all = all(plan.of(table).qi.keys() <= tops[table].keys() for table in TABLES)
        is_of_plan = has_all and bool(plan.claims.qi) and self == form_of(plan, tops)
        return is_of_plan and self.has_known_tops() and all(levels_allowed(self, plan))

    def has_known_tops(self) -> bool:
        """Whether the highest level of each hierarchy with a name of its own is that of the hierarchy."""
        known = hierarchies({})
        columns = [column for table in TABLES for column in self.of(table).values() if column.hierarchy in known]
        return all(column.top == len(known[str(column.hierarchy)]().levels) + 1 for column in columns)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class WrittenClaims:
    """The text of the two files, packed for claims; an empty cell is null."""

    patients: pl.DataFrame
    claims: pl.DataFrame

    @classmethod
    def of_frames(cls, patients: pl.DataFrame, claims: pl.DataFrame) -> "WrittenClaims":
        """Hold columns of any type, ids first; what is packed lists the values that stand there and no others."""
        return cls(pl.DataFrame([*map(as_text, patients)]), pl.DataFrame([*map(repack_text, claims)]))

    def __repr__(self) -> str:
        return f"WrittenClaims({self.patients.height} patients, {self.claims.height} claims)"

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The row of each claim's patient, (n_claims,), by the ids, which come first in both files; -1 if none."""
        ids, owners = self.patients.to_series(0), self.claims.to_series(0)
        rows = pl.DataFrame({"id": ids, "row": range(ids.len())}, schema={"id": pl.String, "row": pl.Int64})

        def found(names: pl.Series) -> pl.Series:
            return names.alias("id").to_frame().join(rows, on="id", how="left", maintain_order="left")["row"]

        return map_categories(owners, found).fill_null(-1).to_numpy().astype(np.int64)

    def of(self, table: str) -> pl.DataFrame:
        """Return the rows of one file."""
        return self.patients if table == PATIENTS else self.claims


def form_of(plan: ClaimsPlan, levels: Mapping[str, Mapping[str, tuple[int, int]]]) -> ClaimsForm:
    """Return the columns that a plan releases; ``levels``: of each quasi-identifier, with its highest, by file."""
    parts = {}
    for table in TABLES:
        section = plan.of(table)
        (name,) = section.columns("id")
        ids = ReleasedColumn.model_validate({"role": IDENTIFIER, "ids": plan.ids.patients.partition(":")[0]})
        made = [(name, ids)]
        for column, words in section.qi.items():
            level, top = levels[table][column]
            kind = _hierarchy_published(words)
            made.append((column, ReleasedColumn(role=QUASI, hierarchy=kind, level=level, top=top)))
        made += kept_columns(plan, table).items()
        flags = [TRUNCATED] if table == PATIENTS else [f"{SUPPRESSED}{column}" for column in section.qi]
        made += [(flag, ReleasedColumn(role=FLAG)) for flag in flags]
        names = [name for name, _ in made]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"The release has a column {twice[0]!r} of {table} of its own. Rename yours, or drop it.")
        parts[table] = dict(made)
    return ClaimsForm(patients=parts[PATIENTS], claims=parts[CLAIMS])


def kept_columns(plan: ClaimsPlan, table: str) -> dict[str, ReleasedColumn]:
    """Return the columns of a file that are released as recorded, and those of ids that get numbers, in their order."""
    section, found = plan.of(table), {}
    for column, role in ({**section.roles} | dict.fromkeys(section.derived, KEPT)).items():
        if column in section.qi or role in NEVER_RELEASED or role in ("id", "drop"):
            continue
        how = getattr(plan.ids, role) if role in PSEUDONYMS else ""
        if how == "drop":
            continue
        shared = role if how == "number" else f"{role} of {table}"
        found[column] = ReleasedColumn(role=PSEUDONYM, numbered_with=shared) if how else ReleasedColumn(role=KEPT)
    return found


def _hierarchy_published(words: str) -> str:
    """The words for a hierarchy without bounds; of a file, whose name alone is published, its kind."""
    spec, _ = split_bounds(words)
    try:
        return "file" if hierarchy_named(spec, {}).kind == "file" else spec
    except InputError:
        return "file"


def plan_published(plan: ClaimsPlan) -> ClaimsPlan:
    """Return the published plan: file names replace paths, and the key file is omitted."""

    def hierarchy(words: str) -> str:
        spec, bounds = split_bounds(words)
        is_file = hierarchy_named(words, plan.grouping.tables).kind == "file"
        return f"{Path(spec).name if is_file else spec}{bounds}"

    ids = dataclasses.replace(plan.ids, patients=plan.ids.patients.partition(":")[0])
    named = dataclasses.replace(plan.with_files(lambda file: Path(file).name, hierarchy), ids=ids)
    return parse_section(dataclasses.asdict(named), ClaimsPlan, "the plan")


def at_levels(plan: ClaimsPlan, form: ClaimsForm, truncation: str) -> ClaimsPlan | None:
    """Return a plan by which nothing but a release's levels and truncation can be chosen; None if it forbids these."""
    percentile = "none" if truncation == "none" else float(truncation)
    if not form.is_declared(plan) or percentile not in plan.truncation.percentiles:
        return None
    qi = {}
    for table in TABLES:
        specs = {name: split_bounds(words)[0] for name, words in plan.of(table).qi.items()}
        qi[table] = {name: f"{spec}@{form.of(table)[name].level}" for name, spec in specs.items()}
    return dataclasses.replace(
        plan,
        patients=dataclasses.replace(plan.patients, qi=qi[PATIENTS]),
        claims=dataclasses.replace(plan.claims, qi=qi[CLAIMS]),
        truncation=dataclasses.replace(plan.truncation, percentiles=(percentile,)),
    )


HALVINGS = 4
"""How often ``max_flag_rate`` is halved where suppression does not suffice."""


def halvings(max_flag_rate: float) -> tuple[float, ...]:
    """Return the possible values of ``max_flag_rate``: the requested one first, the lowest last.

    Examples
    --------
    >>> lowered(0.16)
    (0.16, 0.08, 0.04, 0.02, 0.01)
    """
    return tuple(max_flag_rate / 2**times for times in range(HALVINGS + 1))


def flag_rates(plan: ClaimsPlan) -> tuple[float | str, ...]:
    """Return the possible limits of the flag rate before suppression, or that it was chosen."""
    asked = plan.risk.max_flag_rate
    return (CHOSEN, *halvings(plan.risk.threshold)) if isinstance(asked, str) else halvings(asked)


def levels_allowed(form: ClaimsForm, plan: ClaimsPlan) -> list[int]:
    """Return how many levels of each column the plan allows; 0 if it does not allow the released level."""
    found = []
    for table in TABLES:
        for name, words in plan.of(table).qi.items():
            column, (low, high) = form.of(table)[name], bounds_of(words)
            top = column.top or 0
            allowed = range(low, (top if high is None else min(high, top)) + 1)
            found.append(len(allowed) * (column.level in allowed))
    return found


def are_draws(draws: int, plan: ClaimsPlan) -> bool:
    """Return whether the number of draws corresponds to complete repeats."""
    return draws % plan.risk.draws == 0 and draws <= plan.risk.draws * plan.risk.repeats


def step_fits(step: Step, plan: ClaimsPlan, k: int) -> bool:
    """Return whether the counts of a step are possible, with counts below k masked."""
    rules, known, looked_for = shipped_rules(plan), STEPS[step.step], None
    is_excluding, has_own = step.step == EXCLUDING, plan.exclusions.file is not None
    if is_excluding:
        known, kinds = frozenset(rule.range.name for rule in rules), {*kinds_of(rules)}
        kinds |= {*(step.looked_for or ())} if has_own else set()  # a list of one's own may name any others
        looked_for = tuple(kind for kind in KINDS if kind in kinds)
    named = step.step in IN_FILES or all(
        reason in known or (is_excluding and has_own and OWN_RULE.fullmatch(reason) is not None)
        for reason in step.counts
    )
    total = step.total is None or (step.step in TOTALS and is_masked_count(step.total, k))
    counts = all(is_masked_count(count, k) for count in step.counts.values())
    return step.looked_for == looked_for and named and total and counts
