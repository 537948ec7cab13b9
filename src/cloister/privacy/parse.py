"""Parse rules: from the command line, ``MODEL=VALUES`` or ``MODEL:NAME=VALUES``, and from a manifest."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import PurePath
from typing import Any, get_args

from cloister.errors import InputError, did_you_mean

from .class_size import SIGNIFICANCE, AverageRisk, DeltaPresence, KAnonymity, KMap, KPatients, NoAttack, PositivePayout
from .closeness import BetaLikeness, DeltaDisclosure, EnhancedBetaLikeness, TCloseness
from .l_diversity import AlphaKAnonymity, EntropyLDiversity, LDiversity, RecursiveLDiversity
from .rule import PUBLISHED, PrivacyRule
from .uniqueness import PopulationUniqueness, SampleUniqueness

RULES: dict[str, type[PrivacyRule]] = {
    kind.model: kind
    for kind in (
        *(KAnonymity, KPatients, KMap, LDiversity, EntropyLDiversity, RecursiveLDiversity, TCloseness, DeltaPresence),
        *(AlphaKAnonymity, BetaLikeness, EnhancedBetaLikeness, DeltaDisclosure, AverageRisk, SampleUniqueness),
        *(PopulationUniqueness, NoAttack, PositivePayout),
    )
}
"""All rules, by their models."""

WHOLE = re.compile(r"[0-9]{1,100}")
"""Python itself refuses to read numbers of some thousand digits."""

REAL = re.compile(r"-?([0-9]{1,100}(\.[0-9]{0,100})?|\.[0-9]{1,100})(e[+-]?[0-9]{1,3})?", re.IGNORECASE)
BUILDER = re.compile(r"[a-z0-9]+(:[^/\\]*)?(/[a-z]+=[+-]?[0-9]+)*")
"""A hierarchy in words, as against the path of a file."""

CLOSENESS = re.compile(rf"(?P<column>.+?)=\s*(?P<t>{REAL.pattern})\s*(,(?P<distance>.*))?", re.DOTALL | re.IGNORECASE)
"""A hierarchy may hold equal signs, as bounds do: the first one that a number follows, and no more, ends the column."""

LONGEST_SHOWN = 100
"""A longer word is a mistake that need not be repeated in a message."""


class _NotWritten(Exception):
    """A text does not have the form of its rule."""


def parse_rule(text: str) -> PrivacyRule:
    """Return the rule that ``text`` names, as ``k-anonymity=5`` or ``l-diversity:diagnosis=2``.

    The name ends at the last equal sign, so names of columns may hold colons, commas and equal signs (for t-closeness:
    at the first one that a number follows, since hierarchies may hold equal signs too). A population or
    hierarchy is not read here: the rule holds where to find it as ``source``, to be replaced by `with_population` or
    `with_hierarchy`.

    Examples
    --------
    >>> parse_rule("recursive-l-diversity:diagnosis=3,2")
    RecursiveLDiversity(c=3.0, l=2, column='diagnosis')
    """
    model = re.split("[:=]", text, maxsplit=1)[0]
    rest, model = text[len(model) :], model.strip()
    kind = RULES.get(model)
    if kind is None:
        hint = did_you_mean(model[:LONGEST_SHOWN], RULES)
        asked = f"The rule {model!r}" if len(model) <= LONGEST_SHOWN else "The rule asked for"
        raise InputError(f"{asked} is not known.{hint} Rules of this version: {', '.join(RULES)}.")
    is_named = kind.usage.startswith(f"{model}:")
    name, _, values = rest.removeprefix(":").rpartition("=")
    try:
        if is_named != rest.startswith(":") or is_named != bool(name):
            raise _NotWritten
        return SPECIAL[model](name, values.split(",")) if model in SPECIAL else _numbers(kind, name, values.split(","))
    except _NotWritten:
        raise InputError(f"The rule {model} is written as in {kind.usage}.") from None


def _whole(text: str) -> int:
    if not WHOLE.fullmatch(text.strip()):
        raise _NotWritten
    return int(text)


def _real(text: str) -> float:
    if not REAL.fullmatch(text.strip()):
        raise _NotWritten
    return float(text)


def _several(values: Sequence[str], n_values: int) -> Sequence[str]:
    if len(values) != n_values:
        raise _NotWritten
    return values


def _numbers(kind: type[PrivacyRule], name: str, values: list[str]) -> PrivacyRule:
    """Parse a rule with this many numbers, each as its field declares, and its column if it has one."""
    read = [_whole if int in get_args(one.type) else _real for one in fields(kind) if one.name != "column"]
    numbers = [one(text) for one, text in zip(read, _several(values, len(read)), strict=True)]
    return kind(*numbers, *([name] if name else []))


def _k_map(name: str, values: list[str]) -> PrivacyRule:
    if not WHOLE.fullmatch(name):
        return KMap(_whole(*_several(values, 1)), name=PurePath(name).name, source=name)
    significance = _real(values.pop()) if len(values) == 2 else SIGNIFICANCE
    return KMap(_whole(*_several(values, 1)), size=int(name), significance=significance)


def _population_uniqueness(name: str, values: list[str]) -> PrivacyRule:
    estimator = values.pop().strip() if len(values) == 2 else "dankar"
    return PopulationUniqueness(_real(*_several(values, 1)), _whole(name), estimator)


def _closeness(name: str, values: list[str]) -> PrivacyRule:
    """The column ends before the first equal sign that a number and a comma, or a number alone, follows."""
    match = CLOSENESS.fullmatch(f"{name}={','.join(values)}")
    if match is None or match["distance"] in ("", "hierarchical"):
        raise _NotWritten
    column, t, distance = match["column"], _real(match["t"]), match["distance"] or "equal"
    if distance in ("equal", "ordered"):
        return TCloseness(t, column, distance)
    spec = distance if BUILDER.fullmatch(distance) else PurePath(distance).name
    return TCloseness(t, column, "hierarchical", spec=spec, source=distance)


SPECIAL: dict[str, Callable[[str, list[str]], PrivacyRule]] = {
    KMap.model: _k_map,
    TCloseness.model: _closeness,
    DeltaPresence.model: lambda name, values: DeltaPresence(
        *map(_real, _several(values, 2)), name=PurePath(name).name, source=name
    ),
    PopulationUniqueness.model: _population_uniqueness,
}
"""How rules are made that are not written by their fields alone."""


def rule_of(description: object) -> PrivacyRule:
    """Return the rule whose ``describe()`` is ``description``.

    A population or hierarchy is known by its name only: the rule describes itself, and can be given the thing by
    `with_population` or `with_hierarchy`, but cannot be checked before.

    Raises
    ------
    ValueError, TypeError, KeyError : No rule describes itself so.

    Examples
    --------
    >>> rule_of({"model": "k-anonymity", "k": 5})
    KAnonymity(k=5)
    """
    if not isinstance(description, Mapping):
        raise TypeError("a rule is stated as an object")
    fields_of = {published: name for name, published in PUBLISHED.items()}
    keywords: dict[str, Any] = {fields_of.get(str(name), str(name)): value for name, value in description.items()}
    rule = RULES[keywords.pop("model")](**keywords)
    if rule.describe() != dict(description):
        raise ValueError("the rule is stated with more or other keys than it has")
    return rule
