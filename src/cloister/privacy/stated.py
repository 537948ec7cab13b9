"""Rules as a manifest states them, made into rules again."""

from collections.abc import Callable, Mapping
from typing import Any

from .alpha_k_anonymity import AlphaKAnonymity
from .average_risk import AverageRisk
from .beta_likeness import BetaLikeness, EnhancedBetaLikeness
from .delta_disclosure import DeltaDisclosure
from .delta_presence import DeltaPresence
from .k_anonymity import KAnonymity
from .k_map import KMap
from .l_diversity import EntropyLDiversity, LDiversity, RecursiveLDiversity
from .rule import Rule
from .t_closeness import TCloseness
from .uniqueness import PopulationUniqueness, SampleUniqueness

Stated = Mapping[str, Any]


def rule_of(description: object) -> Rule:
    """Return the rule whose ``describe()`` is ``description``.

    A population or hierarchy is known by its name only: the rule describes itself, and can be given the thing by
    `with_population` or `with_hierarchy`, but cannot be checked before.

    Raises
    ------
    ValueError, TypeError, KeyError
        No rule describes itself so.

    Examples
    --------
    >>> rule_of({"model": "k-anonymity", "k": 5})
    KAnonymity(k=5)
    """
    if not isinstance(description, Mapping):
        raise TypeError("a rule is stated as an object")
    model = description["model"]
    if not isinstance(model, str) or model not in MAKERS:
        raise ValueError("the model is not known")
    rule = MAKERS[model](description)
    if rule.describe() != dict(description):
        raise ValueError("the rule is stated with more or other keys than it has")
    return rule


def _k_map(stated: Stated) -> Rule:
    if "population" in stated:
        return KMap(stated["k"], name=_text(stated["population"]))
    size = stated["population_size"]
    if size is None or ("class_size" in stated and stated["class_size"] is None):
        raise ValueError("a number is missing")
    return KMap(stated["k"], size=size, significance=stated["significance"], least=stated.get("class_size"))


def _closeness(stated: Stated) -> Rule:
    spec = _text(stated["hierarchy"]) if "hierarchy" in stated else None
    return TCloseness(stated["t"], stated["column"], stated["distance"], spec=spec)


def _presence(stated: Stated) -> Rule:
    return DeltaPresence(stated["lower"], stated["upper"], name=_text(stated["population"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is a text")
    return value


MAKERS: dict[str, Callable[[Stated], Rule]] = {
    KAnonymity.model: lambda stated: KAnonymity(stated["k"]),
    KMap.model: _k_map,
    LDiversity.model: lambda stated: LDiversity(stated["l"], stated["column"]),
    EntropyLDiversity.model: lambda stated: EntropyLDiversity(stated["l"], stated["column"]),
    RecursiveLDiversity.model: lambda stated: RecursiveLDiversity(stated["c"], stated["l"], stated["column"]),
    TCloseness.model: _closeness,
    DeltaPresence.model: _presence,
    AlphaKAnonymity.model: lambda stated: AlphaKAnonymity(stated["alpha"], stated["k"], stated["column"]),
    BetaLikeness.model: lambda stated: BetaLikeness(stated["beta"], stated["column"]),
    EnhancedBetaLikeness.model: lambda stated: EnhancedBetaLikeness(stated["beta"], stated["column"]),
    DeltaDisclosure.model: lambda stated: DeltaDisclosure(stated["delta"], stated["column"]),
    AverageRisk.model: lambda stated: AverageRisk(stated["risk"]),
    SampleUniqueness.model: lambda stated: SampleUniqueness(stated["share"]),
    PopulationUniqueness.model: lambda stated: PopulationUniqueness(
        stated["share"], stated["population_size"], stated["estimator"]
    ),
}
"""What makes each rule from what a manifest states, by its model."""
