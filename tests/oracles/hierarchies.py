"""Hierarchies that are made of categories or of records, by their definitions: each level as what every value is named.

The values are texts; the root, which joins all, is left out. Levels come from fine to coarse, without the values.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import log2


def keep(values, kept):
    """Kept categories alone, all others together."""
    return [{value: value if value in kept else "other" for value in values}]


def rare(records, least, k):
    """Categories of as many records as asked for, and k at least, alone; all others together."""
    return keep(set(records), {value for value in records if records.count(value) >= max(least, k)})


def groups(values, partitions):
    """The group that holds a value; the others together."""
    found = []
    for level in partitions:
        names = {}
        for value in values:
            own = [group for group in level if value in group]
            names[value] = "|".join(own[0]) if own else "other"
        found.append(names)
    return found


def information(pairs, group_of):
    """Mutual information of groups and the other column, in bits a record, of the pairs whose value has a group."""
    known = [(group_of[value], other) for value, other in pairs if value in group_of]
    both, ones = Counter(known), Counter(group for group, _ in known)
    others = Counter(other for _, other in known)
    n = len(known)
    return sum(c / n * log2(c * n / (ones[group] * others[other])) for (group, other), c in both.items())


def similar(pairs, k):
    """The partitions of joining, again and again, the two groups that keep most information; None below four."""
    counts = Counter(value for value, _ in pairs)
    parts = [(value,) for value in sorted(counts) if counts[value] >= k]
    n, levels, wanted = sum(counts[value] for (value,) in parts), [], (len(parts) + 1) // 2
    if len(parts) < 4:
        return None

    def kept(partition):
        return information(pairs, {value: group for group in partition for value in group}) * n

    while len(parts) > 2:
        joined = {
            (one, two): [group for group in parts if group not in (one, two)] + [tuple(sorted(one + two))]
            for one, two in combinations(sorted(parts), 2)
        }
        most = max(kept(partition) for partition in joined.values())
        best = min(pair for pair, partition in joined.items() if kept(partition) > most - 1e-7)
        parts = joined[best]
        if len(parts) == wanted:
            levels.append({frozenset(group) for group in parts})
            wanted = max(2, (wanted + 1) // 2)
    return levels


def quantile_cuts(numbers, parts, k):
    """Of whole numbers, the roundest between the k-th below and the k-th above each quantile, with k on either side."""
    ordered, cuts = sorted(numbers), set()
    for part in range(1, parts):
        place = int(Fraction(part, parts) * len(ordered))
        if place < k or len(ordered) - place < k:
            continue
        between = range(ordered[place - k] + 1, ordered[place + k - 1] + 1)
        roundness = {cut: roundness_of(cut) for cut in between}
        if between:
            cut = max(cut for cut in between if roundness[cut] == max(roundness.values()))
            if min(sum(x < cut for x in ordered), sum(x >= cut for x in ordered)) >= k:
                cuts.add(cut)
    return cuts


def roundness_of(cut):
    """The greatest of 1, 2, 5, 10, 20, 50 ... up to a million that divides a number."""
    return max(one * 10**ten for one in (1, 2, 5) for ten in range(7) if cut % (one * 10**ten) == 0)


def of_ancestors(above, code):
    """The path from a code to the root of a graph of direct ancestors by number, always by the smallest number."""
    path = [code]
    while above[path[-1]]:
        path.append(min(above[path[-1]]))
    return path
