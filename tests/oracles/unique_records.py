"""Records that are unique, by counting rows as tuples; columns grown by trying each, without code of the package."""

from collections import Counter


def unique_rows(rows, columns):
    """Number of rows that no other row equals in these columns."""
    counts = Counter(tuple(row[column] for column in columns) for row in rows)
    return sum(count == 1 for count in counts.values())


def grown_columns(rows, labels, recorded):
    """At most three columns, each the first that makes most further rows unique, with their number."""
    known, grown = list(labels), []
    for _ in range(3):
        gains = [(unique_rows(rows, [*known, name]) - unique_rows(rows, known), name) for name in recorded]
        gain, best = max(gains, key=lambda pair: pair[0], default=(0, None))
        if not gain:
            break
        grown.append((best, gain))
        known.append(best)
        recorded = [name for name in recorded if name != best]
    return tuple(grown)
