"""Top-down splitting and greedy clustering by their definitions, on plain records.

LeFevre, DeWitt, Ramakrishnan (2006) and Byun et al. (2007), along hierarchies: a hierarchy is a list of rows, original
value first, root last. Groups are lists of positions of records.
"""

from collections import Counter
from fractions import Fraction
from math import inf


class Table:
    """Records with their hierarchies; weights of the attributes.

    ``reach``: for attributes whose intervals may be joined, from where to where that of each value reaches, in leaves
    ``listed``: for attributes whose labels may list values, how many at most, and which
    """

    def __init__(self, records, hierarchies, weights, reach=None, listed=None):
        self.records = records
        self.hierarchies = hierarchies
        self.weights = weights
        self.reach = reach or {}
        self.listed = listed or {}
        self.row_of = [{row[0]: row for row in hierarchy} for hierarchy in hierarchies]

    def label(self, j, level, place):
        """The label of a record at a level."""
        return self.row_of[j][self.records[place][j]][level]

    def common_levels(self, group):
        """The lowest levels at which all records of a group share their labels."""
        return [
            next(level for level in range(len(hierarchy[0])) if len({self.label(j, level, i) for i in group}) == 1)
            for j, hierarchy in enumerate(self.hierarchies)
        ]

    def covered(self, j, level, label):
        """Leaves below a label, and of the whole hierarchy."""
        return Counter(row[level] for row in self.hierarchies[j])[label], len(self.hierarchies[j])

    def lost(self, j, level, label):
        """Weighted loss of a label, as a fraction."""
        leaves, domain = self.covered(j, level, label)
        return Fraction(self.weights[j]) * Fraction(leaves - 1, max(1, domain - 1))

    def joined(self, j, group):
        """Leaves from the first interval of a group to the last, or of its list; endless where none are joined."""
        if j in self.listed:
            (most, may_be_listed), values = self.listed[j], {self.records[place][j] for place in group}
            return len(values) if len(values) <= most and values <= may_be_listed else inf
        ends = [self.reach[j][self.records[place][j]] for place in group] if j in self.reach else [(0, inf)]
        return max(high for _, high in ends) - min(low for low, _ in ends)

    def price(self, group):
        """Weighted loss of a record of a group at its common labels, in floating-point numbers, first column first."""
        whole, total = sum(self.weights), 0.0
        for j, level in enumerate(self.common_levels(group)):
            leaves, domain = self.covered(j, level, self.label(j, level, group[0]))
            price = (self.weights[j] / whole) * ((leaves - 1) / max(1, domain - 1))
            total += min(price, (self.joined(j, group) - 1) * (self.weights[j] / whole / max(1, domain - 1)))
        return total


def mondrian(table, holds):
    """Groups that top-down splitting ends with; ``holds`` says of a group whether it satisfies the rules."""
    waiting, done = [list(range(len(table.records)))], []
    while waiting:
        group = waiting.pop()
        parts = split(table, group, holds)
        if parts is None:
            done.append(group)
        else:
            waiting += parts
    return done


def split(table, group, holds):
    """Parts of a group by its costliest attribute that can be split; None if there is none."""
    levels = table.common_levels(group)
    cost = [table.lost(j, level, table.label(j, level, group[0])) for j, level in enumerate(levels)]
    for j in sorted(range(len(levels)), key=lambda j: (-cost[j], j)):
        if levels[j] == 0:
            continue
        children = {}
        for place in group:
            children.setdefault(table.label(j, levels[j] - 1, place), []).append(place)
        order = label_order(table, j, levels[j] - 1)
        apart = {label: child for label, child in children.items() if holds(child)}
        rest = [place for label, child in children.items() if label not in apart for place in child]
        while rest and not holds(rest) and apart:
            smallest = min(apart, key=lambda label: (len(apart[label]), order[label]))
            rest += apart.pop(smallest)
        if apart:
            return [*apart.values(), *([rest] if rest else [])]
    return None


def label_order(table, j, level):
    """Labels in the order of the first value below them that occurs."""
    order = {}
    for value in sorted({record[j] for record in table.records}, key=str.encode):
        order.setdefault(table.row_of[j][value][level], len(order))
    return order


def grown(table, cluster, free, least):
    """A cluster after adding, one by one, the cheapest free row until there are enough records.

    ``free`` are groups of records, one for each distinct row, in order; what is taken is removed.
    """
    cluster = list(cluster)
    while len(cluster) < least and free:
        best = min(free, key=lambda row: table.price([*cluster, *row]))
        free.remove(best)
        cluster += best
    return cluster


def furthest(table, row, free):
    """The free row that costs most together with a row; the first of equal ones."""
    return max(free, key=lambda other: table.price([*row, *other]), default=None)


def nearest(table, clusters, one):
    """Number of the cluster that costs least to join with one; None if there is no other."""
    own, best, lowest = table.price(clusters[one]), None, inf
    for number, other in enumerate(clusters):
        if number != one and other:
            joint = table.price([*clusters[one], *other])
            cost = len(clusters[one]) * (joint - own) + len(other) * (joint - table.price(other))
            if cost < lowest:
                best, lowest = number, cost
    return best


def lowered(table, levels, holds, limit):
    """Level of each value in each column, and the records released, after Fung et al. (2005), from a transformation."""
    n, whole = len(table.records), sum(Fraction(weight) for weight in table.weights)
    cut = [dict.fromkeys((row[0] for row in hierarchy), level) for hierarchy, level in zip(table.hierarchies, levels)]

    def labels(place, cut):
        values = table.records[place]
        return tuple((cut[j][value], table.label(j, cut[j][value], place)) for j, value in enumerate(values))

    def price(place, cut):
        return sum(table.lost(j, *label) for j, label in enumerate(labels(place, cut))) / whole

    def kept(among, cut):
        groups = {}
        for place in among:
            groups.setdefault(labels(place, cut), []).append(place)
        return {place for group in groups.values() if holds(group) for place in group}

    def lower(node):
        j, level, label = node
        below = {
            value: level - 1 for value in cut[j] if cut[j][value] == level and table.row_of[j][value][level] == label
        }
        return [*cut[:j], cut[j] | below, *cut[j + 1 :]]

    def rank(node):
        below = lower(node)
        saved = sum(price(place, cut) - price(place, below) for place in range(n))
        return -round(float(saved), 12), *node

    released, refused = kept(range(n), cut), set()
    while True:
        found = {(j, *label) for place in range(n) for j, label in enumerate(labels(place, cut)) if label[0]}
        if not found - refused:
            return cut, released
        node = min(found - refused, key=rank)
        finer = lower(node)
        left = kept(released, finer)
        gone = released - left
        gain = sum(price(place, cut) - price(place, finer) for place in left) - sum(1 - price(p, cut) for p in gone)
        if gone and (n - len(left) > limit or gain <= Fraction(1, 10**9)):
            refused.add(node)
        else:
            cut, released = finer, left
