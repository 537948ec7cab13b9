"""Claims, steps 2 and 6 to 8, by their definitions: the appendix of El Emam et al. (2012), JMIR 14(1):e33.

A patient is a list of claims, a claim a tuple of values or None, one for each quasi-identifier.
"""

import math
from fractions import Fraction

INFINITE = 10**9


def score(patients, i, claim):
    """Section 1: 1 - least number of other patients with one of the claim's values / number of patients."""
    supports = [
        sum(1 for j, other in enumerate(patients) if j != i and any(row[h] == value for row in other))
        for h, value in enumerate(claim)
        if value is not None
    ]
    return 1 - Fraction(min(supports, default=len(patients)), len(patients))


def nearest_rank(counts, percentile):
    """The least count that at least so many percent of the counts do not exceed."""
    return min(c for c in counts if sum(1 for other in counts if other <= c) * 100 >= percentile * len(counts))


def truncated(patients, percentile):
    """Scores of the claims that each patient keeps, in order: the lowest, as many as the percentile allows."""
    limit = nearest_rank([len(claims) for claims in patients if claims], percentile)
    return [sorted(score(patients, i, claim) for claim in claims)[:limit] for i, claims in enumerate(patients)]


def simpson(values):
    """Section 4.1: the chance that two values are the same; 1 of a single value."""
    if len(values) == 1:
        return Fraction(1)
    n = len(values)
    return sum((Fraction(values.count(v) * (values.count(v) - 1), n * (n - 1)) for v in set(values)), Fraction(0))


def power(patients, h, highest, rounding):
    """Equation (1) with its cases: values that the adversary knows of each patient."""
    counts = [len(claims) for claims in patients if claims]
    mean = sum(counts) / len(counts)
    cap = mean + 2 * math.sqrt(sum((count - mean) ** 2 for count in counts) / len(counts))
    known = [[claim[h] for claim in claims if claim[h] is not None] for claims in patients]
    ratios = []
    for claims, values in zip(patients, known):
        diversity = 1 - simpson(values) if values else 0
        ratios.append(min(len(claims), cap) / float(diversity) if diversity else None)
    largest = max((ratio for ratio in ratios if ratio is not None), default=None)
    rounded = {
        "ceil": lambda x: math.ceil(x - 1e-9),
        "floor": lambda x: math.floor(x + 1e-9),
        "round": lambda x: math.floor(x + 0.5 + 1e-9),
    }[rounding]
    return [
        min(highest if ratio is None else rounded((highest - 1) * ratio / largest + 1), len(values))
        for ratio, values in zip(ratios, known)
    ]


def group_of(rows, code):
    """The group of a code without dot: more digits first, then the narrower range, then the order of the table."""
    fitting = []
    for order, (group, first, last) in enumerate(rows):
        if len(code) >= len(first) and first <= code[: len(first)] <= last:
            digits = [c for c in first if c.isdigit()], [c for c in last if c.isdigit()]
            width = int("".join(digits[1]) or 0) - int("".join(digits[0]) or 0)
            fitting.append((-len(first), width, order, group))
    return min(fitting, default=(0, 0, 0, "OTHER"))[3]
