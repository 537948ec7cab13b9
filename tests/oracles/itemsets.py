"""Frequent itemsets by their definition: every set of codes, counted record by record."""

from itertools import combinations


def frequent(records, least, largest=None):
    """Every set of codes that at least ``least`` records hold, with its support."""
    codes = sorted({code for record in records for code in record})
    sizes = range(1, min(len(codes), largest or len(codes)) + 1)
    counted = {
        chosen: sum(set(chosen) <= set(record) for record in records)
        for size in sizes
        for chosen in combinations(codes, size)
    }
    return {chosen: support for chosen, support in counted.items() if support >= least}


def maximal(itemsets):
    """Those sets that are part of no other."""
    return {chosen for chosen in itemsets if not any(set(chosen) < set(other) for other in itemsets)}


def pairs_error(true, found):
    """Mean of |s - s'| / mean(s, s') over pairs that occur in either."""
    errors = [abs(a - b) / ((a + b) / 2) for a, b in zip(true, found) if a + b]
    return sum(errors) / len(errors) if errors else 0.0
