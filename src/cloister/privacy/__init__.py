"""Rules about groups of patients: yes or no. Each says what it counts and whether it is monotone."""

from .k_anonymity import KAnonymity
from .parse import parse_rule

__all__ = ["KAnonymity", "parse_rule"]
