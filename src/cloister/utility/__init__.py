"""Measures of utility and information loss."""

from .case_counts import (
    CountedSets,
    QueryErrors,
    Reading,
    TermSets,
    error_histogram,
    frequent_itemsets,
    lost_top_itemsets,
    matching_errors,
    maximal,
    pair_errors,
    query_errors,
    share_within,
)
from .losses import ARX, IYENGAR, LOSSES, MEAN_LOSSES, AttributeLoss, Generalized, Logarithms, Loss, parse_loss

__all__ = [
    "ARX", "IYENGAR", "LOSSES", "MEAN_LOSSES", "AttributeLoss", "CountedSets", "Generalized", "Logarithms",
    "Loss", "QueryErrors", "Reading", "TermSets", "error_histogram", "frequent_itemsets", "lost_top_itemsets",
    "matching_errors", "maximal", "pair_errors", "parse_loss", "query_errors", "share_within",
]  # fmt: skip
