"""Fields of a table's manifest that follow from nothing released: what they may say at all."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cloister.release_folder import TABLE
from cloister.results import Manifest
from cloister.utility import LOSSES

from .data import Role

AGREEMENT = 1e-9
"""How far a bound may be above the loss."""

ALWAYS_TOLD = ("iyengar", "arx", "precision", "discernibility", "average_class_size")
"""Losses that stand in every manifest, beside the one that was minimized."""

OF_ROLE: dict[str, frozenset[str]] = {
    Role.QUASI_IDENTIFIER: frozenset({"role", "hierarchy", "level", "levels", "average"}),
    Role.SENSITIVE: frozenset({"role"}),
    Role.KEPT: frozenset({"role"}),
    Role.IDENTIFIER: frozenset({"role", "ids"}),
}
"""What is said of a column."""

OF_PART: dict[str, frozenset[str]] = {
    "settings": frozenset({"source", "delimiter", "k", "rules", "suppression", "loss", "weights", "search"})
    | {"local_recoding", "merge_bound", "microaggregate", "time_limit", "rest", "ids", "keep_suppressed", "hierarchies"}
    | {"level_bounds", "not_released", "escape_formulas"},
    "guarantee": frozenset({"rules", "sentences", "verified", "one_row_per_patient"}),
    "search": frozenset({"levels", "lattice", "checked", "optimal", "bound", "gap"}),
}
"""What is said of the rest."""


TABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,2}")
"""What a table in a database can be called."""

REST = ("error", "drop", "keep")
SEARCH = re.compile(r"[a-z:-]{1,40}")
"""What the name of a search looks like; the searches themselves are not loaded here."""


def losses_told(manifest: Manifest) -> set[str]:
    """Names of the losses that a manifest must tell.

    Raises
    ------
    KeyError, TypeError, ValueError
        It does not say which loss was minimized.
    """
    if manifest["settings"]["loss"] not in LOSSES:
        raise ValueError("a loss that this version does not know")
    return {*ALWAYS_TOLD, manifest["settings"]["loss"]}


def field_failures(manifest: Manifest) -> list[str]:
    """Return what a manifest says that no release says, in sentences.

    Raises
    ------
    AttributeError, KeyError, TypeError, ValueError
        The manifest is not one of a table.
    """
    wrong = [*_unknown(manifest), *_lacking(manifest), *_wrong_settings(manifest)]
    if "search" in manifest:
        wrong += _search_failures(manifest)
    if TABLE in manifest and not is_place(manifest):
        wrong.append("does not say in which table of a database its records are")
    return [f"release.json {failure}" for failure in wrong]


def is_place(manifest: Manifest) -> bool:
    """Return whether a manifest names a table, and of its columns those that were not counted."""
    place, columns = manifest[TABLE], manifest["columns"]
    if not isinstance(place, dict) or place.keys() != {"name", "not_counted"}:
        return False
    name, stayed = place["name"], place["not_counted"]
    is_named = isinstance(name, str) and TABLE_NAME.fullmatch(name) is not None
    roles = (Role.IDENTIFIER, Role.SENSITIVE, Role.KEPT)
    if not isinstance(stayed, list) or len({*map(str, stayed)}) < len(stayed):
        return False
    judged = {str(rule.get("column")) for rule in manifest["guarantee"]["rules"]}
    is_known = all(columns.get(str(column), {}).get("role") in roles and column not in judged for column in stayed)
    return is_named and is_known and not manifest["settings"]["keep_suppressed"]


def _unknown(manifest: Manifest) -> Iterator[str]:
    """How many keys there are that this version does not write; their names could be anything."""
    for part, known in OF_PART.items():
        strange = len(manifest.get(part, {}).keys() - known)
        if strange:
            yield f"has {strange} unknown keys in {part}"
    for column, described in manifest["columns"].items():
        strange = len(described.keys() - OF_ROLE.get(described["role"], frozenset()))
        if strange:
            yield f"has {strange} unknown keys of column {column!r}"


def _lacking(manifest: Manifest) -> Iterator[str]:
    """How many keys are missing that every release has; Parquet has no delimiter."""
    for part in ("settings", "guarantee"):
        lacking = len(OF_PART[part] - {"delimiter"} - manifest[part].keys())
        if lacking:
            yield f"lacks {lacking} {'key' if lacking == 1 else 'keys'} of {part}"


def _wrong_settings(manifest: Manifest) -> Iterator[str]:
    settings = manifest["settings"]
    for name, is_right in KINDS.items():
        if name in settings and not is_right(settings[name]):
            yield f"has a wrong settings.{name}"


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_by_column(value: Any, is_right: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(is_right, value.values()))


def _is_bounds(value: Any) -> bool:
    """Whether these are the lowest and the highest level, null for the top."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and _is_count(value[0])
        and (value[1] is None or _is_count(value[1]))
    )


KINDS: Mapping[str, Callable[[Any], bool]] = {
    "k": _is_number,
    "suppression": _is_number,
    "weights": lambda value: _is_by_column(value, _is_number),
    "search": lambda value: value is None or (isinstance(value, str) and SEARCH.fullmatch(value) is not None),
    "local_recoding": _is_switch,
    "merge_bound": lambda value: value is None or _is_within(value, 1.0),
    "time_limit": lambda value: value is None or (_is_number(value) and value > 0),
    "rest": lambda value: value in REST,
    "keep_suppressed": _is_switch,
    "escape_formulas": _is_switch,
    "hierarchies": lambda value: _is_by_column(value, lambda spec: isinstance(spec, str)),
    "level_bounds": lambda value: _is_by_column(value, _is_bounds),
    "not_released": _are_texts,
}
"""Settings that follow from nothing released, and whether a value can be theirs."""


def _search_failures(manifest: Manifest) -> Iterator[str]:
    search: Mapping[str, Any] = manifest["search"]
    for name in sorted(OF_PART["search"] - search.keys()):
        yield f"lacks search.{name}"
    optimal, bound, gap = (search.get(name) for name in ("optimal", "bound", "gap"))
    if not isinstance(optimal, bool):
        yield "has a search.optimal that is neither true nor false"
    if bound is not None and not _is_within(bound, _highest_bound(manifest)):
        yield "has a search.bound that is no bound on utility.loss"
    if gap is not None and not _is_within(gap, 1.0):
        yield "has a search.gap that is not between 0 and 1"
    if optimal is True and not _is_within(gap, 0.0):
        yield "has a search.gap that is not 0, though search.optimal is true"
    if not _is_count(search.get("lattice")) or search.get("checked") is not None:
        yield "has a search.lattice that counts nothing, or a search.checked"


def _highest_bound(manifest: Manifest) -> float:
    """The loss; 1 where that is an estimate, which may be below what was proven of the true one."""
    loss: Any = manifest["utility"]["loss"]
    is_told = manifest["utility"]["exact"] is True or manifest["search"].get("optimal") is True
    return loss + AGREEMENT if is_told and _is_within(loss, 1.0) else 1.0


def _is_within(number: Any, highest: float) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= highest


def _is_count(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0
