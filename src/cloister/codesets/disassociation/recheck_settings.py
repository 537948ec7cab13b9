"""Settings of a manifest of disassociated code sets: what they may say, and what the clusters say of them."""

import re
from collections.abc import Mapping
from typing import Any

from ..encode import plain_code
from ..policy_words import is_made_of_codes, is_support, made_anew
from ..recheck_settings import INPUT, input_agreements
from .data import LARGEST, Disassociation, Refine, Safe
from .verify_figures import constraints_told

SETTINGS = INPUT | {"k", "m", "max_cluster_size", "policy", "refine", "safe", "safe_threshold", "sensitive"}
SETTINGS |= {"diversity"}
SUPPORT = re.compile(r"sup:[0-9.]+(e[+-]?[0-9]+)?")
CONSTRAINTS = ("constraints", "constraints_satisfied", "constraints_preserved")


def setting_agreements(settings: Mapping[str, Any], released: Disassociation) -> dict[str, bool]:
    """Return sentences about the settings of a release of code sets, each with whether it is false.

    Raises
    ------
    AttributeError, KeyError, TypeError, ValueError
        A setting is missing, or has something else in its place.
    """
    sensitive, diversity = settings["sensitive"], settings["diversity"]
    return {
        "settings has unknown or missing keys": settings.keys() == SETTINGS,
        **input_agreements(settings),
        **method_agreements(settings, released),
        "settings.repeats does not fit the clusters": settings["repeats"] is released.repeats,
        "settings.sensitive are not those of the clusters": isinstance(sensitive, list)
        and sorted(sensitive) == sorted(_sensitive_codes(released)),
        "settings.diversity is there without sensitive codes, or is no number": _is_whole(diversity, 1)
        if released.sensitive.size
        else diversity is None,
    }


def method_agreements(settings: Mapping[str, Any], released: Disassociation) -> dict[str, bool]:
    """Return sentences about the settings of the method, each with whether it is false.

    Raises
    ------
    KeyError, TypeError
        A setting is missing, or has something else in its place.
    """
    threshold, policy = settings["safe_threshold"], settings["policy"]
    return {
        "settings.k or settings.m are not those of the clusters": _is_whole(settings["k"], 1)
        and _is_whole(settings["m"], 1)
        and (settings["k"], settings["m"]) == (released.k, released.m),
        "settings.max_cluster_size is no number above k": _is_whole(settings["max_cluster_size"], released.k + 1),
        "settings.refine is unknown, or does not fit the clusters": settings["refine"] in {*Refine}
        and (settings["refine"] != Refine.OFF or not released.n_joints),
        "settings.safe or settings.safe_threshold are unknown": settings["safe"] in {*Safe}
        and type(threshold) in (int, float)
        and 0 < threshold <= 1,
        "settings.policy is unknown": policy is None or (isinstance(policy, str) and _is_policy(policy, released)),
    }


def constraints_agree(utility: Mapping[str, Any], policy: str | None, released: Disassociation) -> bool:
    """Return whether what became of the sets of a policy follows from the clusters, as far as the sets are known.

    Nothing is told without a policy, or of frequent sets. Those of a policy that is made of the codes alone are made
    and counted anew. Those of a file are not known: each number may then count some of those before.

    Raises
    ------
    KeyError, TypeError
        A figure is missing, or has something else in its place.
    """
    told = [utility[name] for name in CONSTRAINTS]
    if policy is None or is_support(policy):
        return told == [None] * len(CONSTRAINTS)
    if not all(_is_whole(number, 0) for number in told):
        return False
    if not is_made_of_codes(policy):
        return bool(_n_codes(released) >= told[0] >= told[1] >= told[2])
    made = made_anew(policy, released.vocabulary, repeats=released.repeats)
    position: dict[str, list[int]] = {}
    for item, code in enumerate(released.vocabulary):
        position.setdefault(plain_code(code, repeats=released.repeats), []).append(item)
    sets = [] if made is None else [[item for code in each for item in position[code]] for each in made.constraints]
    return made is not None and tuple(told) == constraints_told(released, sets)


def _is_policy(policy: str, released: Disassociation) -> bool:
    """Whether words can be those of a policy; what is not made of the codes is called as its file is."""
    if is_support(policy):
        return SUPPORT.fullmatch(policy) is not None and 0 < float(policy.partition(":")[2]) <= 100
    return not is_made_of_codes(policy) or made_anew(policy, released.vocabulary, repeats=released.repeats) is not None


def _n_codes(released: Disassociation) -> int:
    return len({plain_code(code, repeats=released.repeats) for code in released.vocabulary})


def _sensitive_codes(released: Disassociation) -> set[str]:
    """The sensitive codes as users name them."""
    return {plain_code(released.vocabulary[item], repeats=released.repeats) for item in released.sensitive.tolist()}


def _is_whole(value: Any, least: int) -> bool:
    return type(value) is int and least <= value <= LARGEST
