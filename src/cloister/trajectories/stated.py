"""What the manifest of a release of trajectories states, as far as its verification needs it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cloister.release_folder import stated
from cloister.results import Manifest

from .data import Cost, Diversity, Method
from .domain import Unknown
from .request import WORKLOAD

PROMISER = "a release of trajectories"

SETTINGS = frozenset({"source", "k", "weights", "cost", "block", "drop_empty_pairs", "code_hierarchy", "age_hierarchy"})
SETTINGS |= {
    "on_unknown_code",
    "sensitive",
    "sensitive_codes",
    "diversity",
    "policy",
    "workload",
    "side",
    "ids",
    "input_columns",
}
SETTINGS |= {"age_unit", "not_released", "delimiter"}
COLUMNS = frozenset({"id", "code", "age", "date", "anchor"})
UNITS = ("years", "days")
WEIGHT = re.compile(r"[0-9]{1,18}(/[0-9]{1,18})?")


@dataclass(frozen=True)
class Stated:
    """Settings and promises of a manifest.

    Attributes
    ----------
    k, drop_empty, code_hierarchy, age_hierarchy, unknown : settings
    diversity : what is promised of a sensitive side column or of sensitive codes
    policy : where sets of codes came from that must not be generalized with others
    kinds : of the hierarchies of codes and of ages
    id_column : of the input, where it named one
    """

    k: int
    drop_empty: bool
    code_hierarchy: str
    age_hierarchy: str
    unknown: Unknown
    diversity: Diversity | None
    policy: str | None
    kinds: tuple[str, str]
    id_column: str | None


def read_stated(manifest: Manifest) -> Stated:
    """Return what a manifest states.

    Raises
    ------
    InputError
        It lacks something, or has something else in its place.
    """
    return stated(lambda: _read(manifest), PROMISER)


def _read(manifest: Manifest) -> Stated:
    settings = manifest["settings"]
    Method(manifest["method"])
    Cost(settings["cost"])
    kinds = manifest["columns"]["code"]["hierarchy"], manifest["columns"]["age"]["hierarchy"]
    return Stated(
        k=_whole(settings["k"]),
        drop_empty=_truth(settings["drop_empty_pairs"]),
        code_hierarchy=_text(settings["code_hierarchy"]),
        age_hierarchy=_text(settings["age_hierarchy"]),
        unknown=Unknown(settings["on_unknown_code"]),
        diversity=_diversity(settings["sensitive"], settings["sensitive_codes"], settings["diversity"]),
        policy=None if settings["policy"] is None else _text(settings["policy"]),
        kinds=(_text(kinds[0]), _text(kinds[1])),
        id_column=None if settings["input_columns"]["id"] is None else _text(settings["input_columns"]["id"]),
    )


def _diversity(column: Any, codes: Any, share: Any) -> Diversity | None:
    if column is None and codes is None and share is None:
        return None
    if codes is not None and (not isinstance(codes, list) or sorted(set(map(_text, codes))) != codes):
        raise ValueError("not codes in order")
    return Diversity(_whole(share), frozenset(codes or ()), None if column is None else _text(column))


def _whole(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError("not a number as it must be")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def input_agreements(settings: Mapping[str, Any], *, has_side: bool) -> dict[str, bool]:
    """Return sentences about settings that follow from nothing released, each with whether it is false.

    Parameters
    ----------
    has_side : whether something rides along

    Raises
    ------
    AttributeError, KeyError, TypeError
        A setting is missing, or has something else in its place.
    """
    columns, rest, delimiter = settings["input_columns"], settings["not_released"], settings["delimiter"]
    named = [name for name in columns.values() if name is not None]
    by_date = columns["date"] is not None
    block, weights, side = settings["block"], settings["weights"], settings["side"]
    return {
        "settings has unknown or missing keys": settings.keys() == SETTINGS,
        "settings.ids are unknown": settings["ids"] == "number",
        "settings.input_columns are not those of a file of trajectories": columns.keys() == COLUMNS
        and all(isinstance(name, str) for name in named)
        and len(set(named)) == len(named)
        and (columns["anchor"] is not None) is by_date
        and not (by_date and columns["age"] is not None),
        "settings.age_unit does not fit settings.input_columns": settings["age_unit"] in UNITS
        if by_date
        else settings["age_unit"] is None,
        "settings.not_released are not other columns": isinstance(rest, list)
        and all(isinstance(name, str) for name in rest)
        and not {*rest} & {*named},
        "settings.delimiter is no single character": isinstance(delimiter, str) and len(delimiter) == 1,
        "settings.weights are not two shares of 1": isinstance(weights, list) and _are_weights(weights),
        "settings.block is no number of patients": block in ("auto", "off")
        or (type(block) is int and block >= 3 * settings["k"]),
        "settings.side does not fit the files": (side is not None) is has_side
        and (side is None or (isinstance(side, str) and "/" not in side)),
        "settings.policy is no name": settings["policy"] is None
        or (isinstance(settings["policy"], str) and "/" not in settings["policy"]),
        "settings.workload is unknown": settings["workload"] is None
        or WORKLOAD.fullmatch(settings["workload"]) is not None,
    }


def _are_weights(weights: list[Any]) -> bool:
    if len(weights) != 2 or not all(isinstance(each, str) and WEIGHT.fullmatch(each) for each in weights):
        return False
    found = [Fraction(each) for each in weights]
    return sum(found) == 1 and [str(each) for each in found] == weights
