"""Numbers about what was lost."""

from .case_counts import (
    CountedSets,
    Itemset,
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
    AVERAGE_CLASS_SIZE,
    DISCERNIBILITY,
    ENTROPY,
    IYENGAR,
    LOSSES,
    MEAN_LOSSES,
    PRECISION,
    TABLE_LOSSES,
    AttributeLoss,
    Generalized,
    Logarithms,
    Loss,
    TableLoss,
    parse_loss,
)

__all__ = [
    "ARX", "AVERAGE_CLASS_SIZE", "DISCERNIBILITY", "ENTROPY", "IYENGAR", "LOSSES", "MEAN_LOSSES", "PRECISION",
    "TABLE_LOSSES", "AttributeLoss", "CountedSets", "Generalized", "Itemset", "Logarithms", "Loss", "QueryErrors",
    "Reading", "TableLoss", "TermSets", "error_histogram", "frequent_itemsets", "lost_top_itemsets",
    "matching_errors", "maximal", "pair_errors", "parse_loss", "query_errors", "share_within",
]  # fmt: skip
