"""Numbers about what was lost."""

from .attribute_loss import ARX, IYENGAR, LOSSES, AttributeLoss, parse_loss
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
from .itemsets import Itemset, frequent_itemsets, maximal

__all__ = [
    "ARX",
    "IYENGAR",
    "LOSSES",
    "AttributeLoss",
    "CountedSets",
    "Itemset",
    "QueryErrors",
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
