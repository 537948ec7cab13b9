"""What a plan says of the columns, the levels and the steps of a release: the manifest must fit it."""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cloister.errors import InputError
from cloister.masking import is_masked_count
from cloister.typed_toml import typed

from .codes import EXCLUDING, KINDS, kinds_of, shipped_rules
from .data_file import CLAIMS, KEPT, PATIENTS, PSEUDONYM, QUASI, ClaimsForm, ReleasedColumn
from .hierarchies import hierarchy_named, split_bounds
from .plan import ClaimsPlan
from .plan import Section as TablePlan
from .plan_sections import NEVER_RELEASED, PAY_DELAY, PSEUDONYMS
from .steps import Step

NOT_RELEASED = NEVER_RELEASED | {"id", "drop"}
OWN_RULE = re.compile("[A-Za-z][A-Za-z -]{0,39}")
"""Names of rules of a list of one's own."""

IN_FILES = frozenset({"1 pseudonyms", "3 patients without claims", "5 derived columns", "6 grouping", "6 top-coding"})
"""Steps whose counts follow from the files (`claims/facts.py`)."""

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


def plan_published(plan: ClaimsPlan) -> ClaimsPlan:
    """Return the plan as it is published: with names of files in place of paths, and without the file of the key."""
    published: dict[str, Any] = asdict(plan)
    for table in (PATIENTS, CLAIMS):
        published[table]["qi"] = {column: _words(words, plan) for column, words in published[table]["qi"].items()}
    if plan.exclusions.file is not None:
        published["exclusions"]["file"] = Path(plan.exclusions.file).name
    if plan.population.patients is not None:
        published["population"]["patients"] = Path(plan.population.patients).name
    published["grouping"]["tables"] = {role: Path(file).name for role, file in plan.grouping.tables.items()}
    published["ids"]["patients"] = plan.ids.patients.partition(":")[0]
    return typed(published, ClaimsPlan, "release.json", ("settings", "plan"))


def _words(words: str, plan: ClaimsPlan) -> str:
    spec, bounds = split_bounds(words)
    is_file = hierarchy_named(words, plan.grouping.tables).hierarchy.kind == "file"
    return f"{Path(spec).name if is_file else spec}{bounds}"


def smallest_class(threshold: float) -> int:
    """Return k: the smallest class in which a random guess is right with a chance of at most the threshold."""
    k = max(1, math.floor(1 / threshold) - 1)
    while 1 / k > threshold:
        k += 1
    return k


def is_declared(form: ClaimsForm, plan: ClaimsPlan) -> bool:
    """Whether the columns of a release are those that its plan names, with roles, hierarchies and levels."""
    tables: tuple[tuple[str, TablePlan], ...] = ((PATIENTS, plan.patients), (CLAIMS, plan.claims))
    return form.ids == plan.ids.patients and all(_is_declared(form, plan, table, part) for table, part in tables)


def _is_declared(form: ClaimsForm, plan: ClaimsPlan, table: str, part: TablePlan) -> bool:
    roles: Mapping[str, str] = part.roles
    ids = [column for column, role in roles.items() if role == "id"]
    if form.names(table)[:1] != ids or form.names(table, QUASI) != [*part.qi]:
        return False
    for name, words in part.qi.items():
        column = form.of(table)[name]
        low, high = _bounds(words, column)
        if column.hierarchy != hierarchy_published(words) or not low <= (column.level or 0) <= high:
            return False
    kept = {column: role for column, role in roles.items() if role not in NOT_RELEASED and column not in part.qi}
    kept |= {PAY_DELAY: "keep"} if PAY_DELAY in {*part.derived} - {*part.qi} else {}
    expected = {column: released_as(role, table, plan) for column, role in kept.items()}
    found = {name: one for name, one in form.of(table).items() if one.role in (KEPT, PSEUDONYM)}
    return found == {column: what for column, what in expected.items() if what is not None}


def released_as(role: str, table: str, plan: ClaimsPlan) -> ReleasedColumn | None:
    """Return what a column that has no hierarchy is released as; None where it is not."""
    if role not in PSEUDONYMS:
        return ReleasedColumn(role=KEPT)
    how = getattr(plan.ids, role)
    shared = role if how == "number" else f"{role} of {table}"
    return None if how == "drop" else ReleasedColumn(role=PSEUDONYM, numbered_with=shared)


def hierarchy_published(words: str) -> str:
    """Return the words for a hierarchy without bounds; of a file, its kind alone."""
    spec, _ = split_bounds(words)
    try:
        return "file" if hierarchy_named(spec, {}).hierarchy.kind == "file" else spec
    except InputError:
        return "file"  # whose name alone is published


def _bounds(words: str, column: ReleasedColumn) -> tuple[int, int]:
    top, (_, bounds) = column.top or 0, split_bounds(words)
    low, _, high = bounds.removeprefix("@").partition("-")
    return int(low or 0), min(int(high or low or top), top)


def n_nodes(form: ClaimsForm, plan: ClaimsPlan) -> int:
    """How many choices of levels the plan allows."""
    count = 1
    for table, qi in ((PATIENTS, plan.patients.qi), (CLAIMS, plan.claims.qi)):
        for name, words in qi.items():
            low, high = _bounds(words, form.of(table)[name])
            count *= high - low + 1
    return count


def are_draws(draws: int, plan: ClaimsPlan) -> bool:
    """Whether there are so many draws as whole repeats have."""
    return draws % plan.risk.draws == 0 and draws <= plan.risk.draws * plan.risk.repeats


def step_fits(step: Step, plan: ClaimsPlan, k: int) -> bool:
    """Whether a step counts no more than it can, and masks counts below k."""
    is_excluding, has_own = step.step == EXCLUDING, plan.exclusions.file is not None
    kinds = kinds_of(shipped_rules(plan))
    looked_for = step.looked_for
    if looked_for is None or not is_excluding:
        is_looked_for = looked_for is None and not is_excluding
    else:
        listed = tuple(kind for kind in KINDS if kind in looked_for)
        is_looked_for = looked_for == listed and {*kinds} <= {*listed} if has_own else looked_for == kinds
    known = STEPS[step.step] | {rule.range.name for rule in shipped_rules(plan) if is_excluding}
    named = step.step in IN_FILES or all(
        reason in known or (is_excluding and has_own and OWN_RULE.fullmatch(reason) is not None)
        for reason in step.counts
    )
    total = step.total is None or (step.step in TOTALS and is_masked_count(step.total, k))
    return is_looked_for and named and total and all(is_masked_count(count, k) for count in step.counts.values())
