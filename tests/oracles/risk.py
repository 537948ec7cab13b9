"""Risk by its definitions: every set looked at, every probability a fraction. Shares no code with the package."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb, prod


def unique_rows(rows, columns):
    """Numbers of the rows that no other row equals in these columns."""
    seen = Counter(tuple(row[j] for j in columns) for row in rows)
    return {i for i, row in enumerate(rows) if seen[tuple(row[j] for j in columns)] == 1}


def minimal_uniques(rows, n_columns, largest):
    """Sets of columns, as tuples, with the rows that they make unique while no part of them does."""
    found = {}
    for size in range(1, largest + 1):
        for columns in combinations(range(n_columns), size):
            parts = (part for less in range(1, size) for part in combinations(columns, less))
            by_parts = set().union(*(unique_rows(rows, part) for part in parts))
            found[columns] = unique_rows(rows, columns) - by_parts
    return found


def suda_scores(rows, n_columns, largest):
    """Score of each row: for each minimal unique of k columns the product of n - i for i from k to the largest size."""
    scores = [0] * len(rows)
    for columns, alone in minimal_uniques(rows, n_columns, largest).items():
        for row in alone:
            scores[row] += prod(n_columns - i for i in range(len(columns), min(largest, n_columns - 1) + 1))
    return scores


def separation(rows, columns):
    """Classes, and the share of pairs of rows that differ in some of these columns."""
    values = [tuple(row[j] for j in columns) for row in rows]
    pairs = list(combinations(values, 2))
    apart = sum(one != other for one, other in pairs)
    return len(set(values)), Fraction(apart, len(pairs)) if pairs else Fraction(0)


def knowledge(records, m, k):
    """What attackers find who know m items of a record, or all of it: shares in the order of the result's fields."""
    n = len(records)
    held = {}

    def support(items):
        if items not in held:
            held[items] = sum(items <= record for record in records)
        return held[items]

    least, alone, few = [], [], []
    for record in records:
        sets = [frozenset(items) for items in combinations(sorted(record), min(m, len(record)))]
        supports = [support(items) for items in sets]
        least.append(min(supports))
        alone.append(Fraction(sum(s == 1 for s in supports), len(sets)))
        few.append(Fraction(sum(s < k for s in supports), len(sets)))
    distinct = {frozenset(items) for record in records for items in combinations(sorted(record), m)}
    rare = [
        Fraction(sum(support(s) < below for s in distinct), len(distinct)) if distinct else None for below in (2, k)
    ]
    worst = [Fraction(sum(value < below for value in least), n) for below in (2, k)]
    return [*worst, sum(alone) / n, sum(few) / n, *rare]


def beta_binomial_reciprocal(f, others, first, second):
    """Mean of 1 / (f + x), x beta-binomial of whole parameters or fractions."""

    def rising(start, times):
        return prod((Fraction(start) + i for i in range(times)), start=Fraction(1))

    whole = Fraction(first) + Fraction(second)
    chances = [
        comb(others, x) * rising(first, x) * rising(second, others - x) / rising(whole, others)
        for x in range(others + 1)
    ]
    assert sum(chances) == 1
    return sum(chance / (f + x) for x, chance in enumerate(chances))


def class_risks(ours, people, threshold):
    """Journalist and marketer risk against a list of people: highest, average, share above, marketer, unique share."""
    counted, n = Counter(people), len(ours)
    records = Counter(ours)
    marketer = sum(Fraction(count, counted[value]) for value, count in records.items()) / n
    average = max(Fraction(len(records), sum(counted[value] for value in records)), marketer)
    above = Fraction(sum(Fraction(1, counted[value]) > threshold for value in ours), n)
    alone = Fraction(sum(counted[value] == 1 for value in ours), n)
    return max(Fraction(1, counted[value]) for value in ours), average, above, marketer, alone
