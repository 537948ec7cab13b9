"""Numbers about what was lost."""

from .attribute_loss import ARX, IYENGAR, PRECISION, AttributeLoss
from .case_counts import (
    CountedSets,
    QueryErrors,
    error_histogram,
    lost_top_itemsets,
    matching_errors,
    pair_errors,
    query_errors,
    share_within,
)
from .class_loss import AVERAGE_CLASS_SIZE, DISCERNIBILITY
from .generalized import Generalized, Logarithms
from .itemsets import Itemset, frequent_itemsets, maximal
from .losses import LOSSES, MEAN_LOSSES, TABLE_LOSSES, Loss, TableLoss, parse_loss
from .record_loss import ENTROPY
from .term_answers import Reading, TermSets

__all__ = [
    "ARX",
    "AVERAGE_CLASS_SIZE",
    "DISCERNIBILITY",
    "ENTROPY",
    "IYENGAR",
    "LOSSES",
    "MEAN_LOSSES",
    "PRECISION",
    "TABLE_LOSSES",
    "AttributeLoss",
    "CountedSets",
    "Generalized",
    "Itemset",
    "Logarithms",
    "Loss",
    "QueryErrors",
    "Reading",
    "TableLoss",
    "TermSets",
    "error_histogram",
    "frequent_itemsets",
    "lost_top_itemsets",
    "matching_errors",
    "maximal",
    "pair_errors",
    "parse_loss",
    "query_errors",
    "share_within",
]
