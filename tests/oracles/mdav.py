"""MDAV on numbers and categories, slowly and exactly: Domingo-Ferrer and Torra (2005), with Gower's distance (1971).

Rows that several records have stay together; those of k records or more are classes by themselves.
"""

from fractions import Fraction


def distance(one, other, spans, weights):
    """Gower's distance; ``spans``: the range of each column of numbers, None of categories."""
    total = Fraction(0)
    for a, b, span, weight in zip(one, other, spans, weights, strict=True):
        if span is not None and a is not None and b is not None:
            total += weight * (Fraction(abs(a - b)) / span if span else 0)
        else:
            total += weight * (a != b)
    return total


def average(rows, counts, members, spans):
    """The average record: means of numbers that are not missing, most frequent categories, the least of a tie."""
    found = []
    for column, span in enumerate(spans):
        values = [rows[i][column] for i in members for _ in range(counts[i])]
        if span is None:
            found.append(min(set(values), key=lambda value: (-values.count(value), value)))
        else:
            known = [value for value in values if value is not None]
            found.append(Fraction(sum(known)) / len(known) if known else None)
    return found


def classes(rows, counts, k, spans, weights):
    """The classes of rows, as sets of their places; the last may have fewer than k records."""

    def far(point, members):
        return max(members, key=lambda i: (distance(rows[i], point, spans, weights), -i))

    def around(center, members):
        taken = []
        for i in sorted(members, key=lambda i: (distance(rows[i], rows[center], spans, weights), i)):
            if sum(counts[j] for j in taken) >= k:
                break
            taken.append(i)
        return taken

    found = [{i} for i in range(len(rows)) if counts[i] >= k]
    left = [i for i in range(len(rows)) if counts[i] < k]
    while (size := sum(counts[i] for i in left)) >= 2 * k:
        first = far(average(rows, counts, left, spans), left)
        one = around(first, left)
        left = [i for i in left if i not in one]
        found.append(set(one))
        if size >= 3 * k and sum(counts[i] for i in left) >= 2 * k:
            other = around(far(rows[first], left), left)
            left = [i for i in left if i not in other]
            found.append(set(other))
    return found + ([set(left)] if left else [])
