"""Privacy models: rules that a group of patients satisfies or violates. Each declares its inputs and whether it is
monotone."""

from .class_size import (
    AverageRisk,
    DeltaPresence,
    KAnonymity,
    KMap,
    KPatients,
    NoAttack,
    PopulationRule,
    PositivePayout,
)
from .closeness import BetaLikeness, DeltaDisclosure, EnhancedBetaLikeness, TCloseness
from .l_diversity import AlphaKAnonymity, EntropyLDiversity, LDiversity, RecursiveLDiversity
from .parse import parse_rule, rule_of
from .rule import ClassRule, EquivalenceClasses, Histogram, PrivacyRule, TableRule, least_group
from .uniqueness import PopulationUniqueness, SampleUniqueness

__all__ = [
    "AlphaKAnonymity", "AverageRisk", "BetaLikeness", "ClassRule", "DeltaDisclosure", "DeltaPresence",
    "EnhancedBetaLikeness", "EntropyLDiversity", "EquivalenceClasses", "Histogram", "KAnonymity", "KMap", "KPatients",
    "LDiversity", "NoAttack", "PopulationRule", "PopulationUniqueness", "PositivePayout", "PrivacyRule",
    "RecursiveLDiversity", "SampleUniqueness", "TCloseness", "TableRule", "least_group", "parse_rule", "rule_of",
]  # fmt: skip
