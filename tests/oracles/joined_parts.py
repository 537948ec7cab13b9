"""Whether rows of two tables lead to each other, by the definition: every set of columns, every row."""

from collections import Counter
from itertools import combinations


def leads_to_few(one, two, names, k, exempt=frozenset()):
    """Whether some set of columns, not all of them exempt, leads a row of one table to 1..k-1 rows of the other."""
    return any(
        0 < min(here[key], there[key]) < k
        for size in range(1, len(names) + 1)
        for places in combinations(range(len(names)), size)
        if not exempt.issuperset(names[place] for place in places)
        for here, there in [[Counter(tuple(row[place] for place in places) for row in rows) for rows in (one, two)]]
        for key in here.keys() & there.keys()
    )
