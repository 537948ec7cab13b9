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
from .losses import (
    ARX,
    IYENGAR,
    LOSSES,
    MEAN_LOSSES,
    PAYOUT,
    PRECISION,
    AttributeLoss,
    Generalized,
    Logarithms,
    Loss,
    find_game,
    level_loss,
    parse_loss,
    payout_lost,
)

__all__ = [
    "ARX", "IYENGAR", "LOSSES", "MEAN_LOSSES", "PAYOUT", "PRECISION", "AttributeLoss", "CountedSets", "Generalized",
    "Logarithms", "Loss", "QueryErrors", "Reading", "TermSets", "error_histogram", "find_game", "frequent_itemsets",
    "level_loss", "lost_top_itemsets", "matching_errors", "maximal", "pair_errors", "parse_loss", "payout_lost",
    "query_errors", "share_within",
]  # fmt: skip
