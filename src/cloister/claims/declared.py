"""Which columns a release has by its plan, beside those that it declares."""

from collections.abc import Mapping
from typing import Any

from cloister.errors import InputError

from .data_file import CLAIMS, KEPT, PATIENTS, PSEUDONYM, QUASI, ClaimsForm, ReleasedColumn
from .ladders import hierarchy_named, split_bounds
from .plan_sections import NEVER_RELEASED, PAY_DELAY, PSEUDONYMS

NOT_RELEASED = NEVER_RELEASED | {"id", "drop"}


def is_declared(form: ClaimsForm, plan: Mapping[str, Any]) -> bool:
    """Whether the columns of a release are those that its plan names, with roles, hierarchies and levels.

    Parameters
    ----------
    plan : as the manifest tells it
    """
    return all(_is_declared(form, plan, table) for table in (PATIENTS, CLAIMS))


def _is_declared(form: ClaimsForm, plan: Mapping[str, Any], table: str) -> bool:
    roles, qi, derived = (plan[table][key] for key in ("roles", "qi", "derived"))
    (own_id,) = (column for column, role in roles.items() if role == "id")
    if form.names(table)[0] != own_id or form.names(table, QUASI) != [*qi]:
        return False
    if not all(_has_levels(column, qi[column.name]) for column in form.of(table) if column.role == QUASI):
        return False
    kept = {column: role for column, role in roles.items() if role not in NOT_RELEASED and column not in qi}
    kept |= {PAY_DELAY: "keep"} if PAY_DELAY in {*derived} - {*qi} else {}
    expected = {column: _kept(role, table, plan["ids"]) for column, role in kept.items()}
    found = {one.name: (one.role, one.numbered_with) for one in form.of(table) if one.role in (KEPT, PSEUDONYM)}
    return found == {column: what for column, what in expected.items() if what is not None}


def _kept(role: str, table: str, ids: Mapping[str, str]) -> tuple[str, str | None] | None:
    """What a column that has no hierarchy is released as; None where it is not."""
    if role not in PSEUDONYMS:
        return KEPT, None
    if ids[role] == "drop":
        return None
    return PSEUDONYM, role if ids[role] == "number" else f"{role} of {table}"


def _has_levels(column: ReleasedColumn, words: str) -> bool:
    """Whether a column has the hierarchy that the plan names and a level within the bounds."""
    low, high = _bounds(words, column.top or 0)
    return column.hierarchy == _hierarchy(words) and low <= (column.level or 0) <= high


def _hierarchy(words: str) -> str:
    spec, _ = split_bounds(words)
    try:
        return "file" if hierarchy_named(spec, {}).hierarchy.kind == "file" else spec
    except InputError:
        return "file"  # whose name alone is told


def _bounds(words: str, top: int) -> tuple[int, int]:
    _, bounds = split_bounds(words)
    low, _, high = bounds.removeprefix("@").partition("-")
    return int(low or 0), min(int(high or low or top), top)


def n_nodes(form: ClaimsForm, plan: Mapping[str, Any]) -> int:
    """How many choices of levels the plan allows."""
    count = 1
    for table in (PATIENTS, CLAIMS):
        for column in form.of(table):
            if column.role == QUASI:
                low, high = _bounds(plan[table]["qi"][column.name], column.top or 0)
                count *= high - low + 1
    return count
