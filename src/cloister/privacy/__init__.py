"""Rules about groups of patients: yes or no. Each says what it counts and whether it is monotone."""

from .class_size import AverageRisk, DeltaPresence, KAnonymity, KMap, KPatients
from .l_diversity import AlphaKAnonymity, EntropyLDiversity, LDiversity, RecursiveLDiversity
from .likeness import BetaLikeness, DeltaDisclosure, EnhancedBetaLikeness
from .parse import parse_rule, rule_of
from .rule import ClassRule, EquivalenceClasses, Histogram, PrivacyRule, TableRule
from .t_closeness import TCloseness
from .uniqueness import PopulationUniqueness, SampleUniqueness

__all__ = [
    "AlphaKAnonymity", "AverageRisk", "BetaLikeness", "ClassRule", "DeltaDisclosure", "DeltaPresence",
    "EnhancedBetaLikeness", "EntropyLDiversity", "EquivalenceClasses", "Histogram", "KAnonymity", "KMap", "KPatients",
    "LDiversity", "PopulationUniqueness", "PrivacyRule", "RecursiveLDiversity", "SampleUniqueness", "TCloseness",
    "TableRule", "parse_rule", "rule_of",
]  # fmt: skip
