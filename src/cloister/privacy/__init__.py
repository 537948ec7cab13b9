"""Rules about groups of patients: yes or no. Each says what it counts and whether it is monotone."""

from .alpha_k_anonymity import AlphaKAnonymity
from .average_risk import AverageRisk
from .beta_likeness import BetaLikeness, EnhancedBetaLikeness
from .delta_disclosure import DeltaDisclosure
from .delta_presence import DeltaPresence
from .k_anonymity import KAnonymity
from .k_map import KMap
from .l_diversity import EntropyLDiversity, LDiversity, RecursiveLDiversity
from .parse import parse_rule, rule_of
from .rule import ClassRule, EquivalenceClasses, Histogram, PrivacyRule, TableRule
from .t_closeness import TCloseness
from .uniqueness import PopulationUniqueness, SampleUniqueness

__all__ = [
    "AlphaKAnonymity",
    "AverageRisk",
    "BetaLikeness",
    "ClassRule",
    "DeltaDisclosure",
    "DeltaPresence",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "EquivalenceClasses",
    "Histogram",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "PopulationUniqueness",
    "PrivacyRule",
    "RecursiveLDiversity",
    "SampleUniqueness",
    "TCloseness",
    "TableRule",
    "parse_rule",
    "rule_of",
]
