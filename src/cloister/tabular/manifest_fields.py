"""Fields of a table's manifest that follow from nothing released: what they may say at all."""

from collections.abc import Iterator, Mapping
from typing import Any

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
    | {"level_bounds", "not_released"},
    "guarantee": frozenset({"rules", "sentences", "verified", "verified_how", "checks", "one_row_per_patient"}),
    "search": frozenset({"levels", "lattice", "checked", "optimal", "bound", "gap"}),
}
"""What is said of the rest."""


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
    wrong = [*_unknown(manifest)]
    if "search" in manifest:
        wrong += _search_failures(manifest)
    return [f"release.json {failure}" for failure in wrong]


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
    if not all(_is_count(search.get(name)) for name in ("lattice", "checked")):
        yield "has a search.lattice or search.checked that counts nothing"


def _highest_bound(manifest: Manifest) -> float:
    """The loss; 1 where that is an estimate, which may be below what was proven of the true one."""
    loss: Any = manifest["utility"]["loss"]
    is_told = manifest["utility"]["exact"] is True or manifest["search"].get("optimal") is True
    return loss + AGREEMENT if is_told and _is_within(loss, 1.0) else 1.0


def _is_within(number: Any, highest: float) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= highest


def _is_count(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0
