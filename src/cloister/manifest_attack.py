"""What a manifest may say of an attack: shares in hundredths, and words that are known beforehand.

An attack cannot be repeated without the original, so a release could say of it what it likes; but no more than this.
"""

import re
from collections.abc import Mapping
from typing import Any

from cloister.results import Manifest

ATTACK = "attack"
"""The part of a manifest, of any shape, that says how a release stood an attack."""

SECTION = frozenset({"k", "seed", "targets", "guess", "holds", "levels", "inferences", "criteria"})
LEVEL = frozenset({"known", "covered", "matched", "below_k", "least", "rate", "confidence"})
SHARES = ("matched", "below_k", "rate", "confidence")
INFERENCE = frozenset({"column", "accuracy", "baseline", "certain"})
CRITERIA = frozenset({"singling_out", "linkability", "inference"})

A_FURTHER_CODE = "a further code"
"""What is guessed of code sets, in place of the name of a column."""

WORDS = re.compile(
    r"(all )?[0-9]{1,6} quasi-identifiers?|the quasi-identifier"
    r"|(all quasi-identifiers and )?([0-9]{1,10}|all) codes?"
    r"|([0-9]{1,6}|all) (pairs?|codes? without ages)"
    r"|columns of patients( and (1 value of each column of claims|values as the plan expects|all values of claims))?"
)
"""What adversaries know, in words."""


def is_attack_told(manifest: Manifest) -> bool:
    """Return whether the part on an attack has the form that this version writes."""
    told = manifest.get(ATTACK)
    if not isinstance(told, dict) or told.keys() != SECTION or told["holds"] is not True:
        return False
    whole = all(_whole(told[name], least) for name, least in (("k", 1), ("seed", 0), ("targets", 1)))
    levels, inferences, criteria = told["levels"], told["inferences"], told["criteria"]
    lists = isinstance(levels, list) and isinstance(inferences, list) and isinstance(criteria, dict)
    return (
        whole
        and lists
        and _is_share(told["guess"])
        and all(map(_is_level, levels))
        and all(_is_inference(each, _columns(manifest)) for each in inferences)
        and criteria.keys() == CRITERIA
        and all(share is None or _is_share(share) for share in criteria.values())
    )


def _columns(manifest: Manifest) -> set[str]:
    """Names of the columns that are released, also of what rides along."""
    parts = [manifest.get(name) for name in ("columns", "side")]
    return {str(name) for part in parts if isinstance(part, Mapping) for name in _names(part)}


def _names(part: Mapping[str, Any]) -> set[str]:
    inner = part.get("columns")
    return {*part, *(inner if isinstance(inner, list | dict) else [])}


def _is_level(told: Any) -> bool:
    return (
        isinstance(told, dict)
        and told.keys() == LEVEL
        and isinstance(told["known"], str)
        and WORDS.fullmatch(told["known"]) is not None
        and isinstance(told["covered"], bool)
        and (told["least"] is None or _whole(told["least"], 0))
        and all(told[name] is None or _is_share(told[name]) for name in SHARES)
    )


def _is_inference(told: Any, columns: set[str]) -> bool:
    return (
        isinstance(told, dict)
        and told.keys() == INFERENCE
        and (told["column"] in columns or told["column"] == A_FURTHER_CODE)
        and all(told[name] is None or _is_share(told[name]) for name in INFERENCE - {"column"})
    )


def _whole(value: Any, least: int) -> bool:
    return type(value) is int and value >= least


def _is_share(value: Any) -> bool:
    """Whether a value is a share in hundredths."""
    return type(value) in (int, float) and 0 <= value <= 1 and abs(100 * value - round(100 * value)) < 1e-9
