"""Anonymization of trajectories by its definitions, slow: alignment, clustering, losses, queries.

Tamersoy, Loukides, Nergiz, Saygin, Malin (2012), "Anonymization of longitudinal electronic medical records", IEEE
TITB 16(3): Definitions 4 to 8, Algorithms 1 to 4, Appendix B, with what cloister makes precise. A node is the frozen
set of the values that it covers; a hierarchy is a function from a value to the nodes above it, the value first, from
small to large. A trajectory is a tuple of (code, age) values, or of (code, age, detail); what it becomes is a tuple of
pairs of nodes. Weights are fractions, losses too.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product


@dataclass(frozen=True)
class Setting:
    """Nodes above each code, age and detail, weights, how losses are counted; ``sets`` of codes are not mixed."""

    codes: dict
    ages: dict
    weights: tuple = (Fraction(1, 2), Fraction(1, 2))
    exact: bool = False
    baseline: bool = False
    sets: tuple = ()
    details: dict | None = None  # None: pairs have none

    @property
    def hierarchies(self):
        """Those of the attributes that pairs have."""
        return (self.codes, self.ages) if self.details is None else (self.codes, self.ages, self.details)


def leaves(node):
    """Leaves below a node: none below a leaf."""
    return 0 if len(node) == 1 else len(node)


def loss(node, above, hierarchy):
    """Definition 4, with the root as all values."""
    return Fraction(leaves(above) - leaves(node), len(hierarchy)) if node != above else Fraction(0)


def suppression(node, hierarchy):
    """What a node loses by becoming the root, which counts all values."""
    return Fraction(len(hierarchy) - leaves(node), len(hierarchy))


def meeting(node, other, hierarchy):
    """Definition 5: the smallest node that covers both."""
    return min((up for up in hierarchy[min(node)] if node | other <= up), key=len)


def is_mixed(node, sets):
    """Whether a node covers codes of a set and others."""
    return any(node & one and not node <= one for one in sets)


def steps(setting, x, y, weight):
    """Losses, by attribute, of generalizing two pairs, or None; of suppressing y; of suppressing x."""
    found = []
    for node, other, hierarchy, share in zip(x, y, setting.hierarchies, setting.weights, strict=True):
        above = meeting(node, other, hierarchy)
        both = weight * loss(node, above, hierarchy) + loss(other, above, hierarchy)
        found.append(
            (share * both, share * suppression(other, hierarchy), share * weight * suppression(node, hierarchy))
        )
    both, of_y, of_x = zip(*found, strict=True)
    return None if is_mixed(meeting(x[0], y[0], setting.codes), setting.sets) else both, of_y, of_x


def matrices(setting, xs, ys, weight=1):
    """Algorithm 2: the matrices i, a and r as dicts by (h, j); r is G, Y or X."""
    nothing = tuple(frozenset([next(iter(hierarchy))]) for hierarchy in setting.hierarchies)
    lost, r = {(0, 0): (Fraction(0),) * len(nothing)}, {}

    def after(place, losses):
        return tuple(before + each for before, each in zip(lost[place], losses, strict=True))

    for h, j in product(range(len(xs) + 1), range(len(ys) + 1)):
        options = []
        x, y = xs[h - 1] if h else nothing, ys[j - 1] if j else nothing
        both, of_y, of_x = steps(setting, x, y, weight)
        if h and j and both is not None:
            options.append((after((h - 1, j - 1), both), "G"))
        if j:
            options.append((after((h, j - 1), of_y), "Y"))
        if h:
            options.append((after((h - 1, j), of_x), "X"))
        if options:
            lost[h, j], r[h, j] = min(options, key=lambda option: sum(option[0]))  # the first of a tie
    i, a = ({place: losses[attribute] for place, losses in lost.items()} for attribute in (0, 1))
    return i, a, r


def matched(setting, xs, ys, weight=1):
    """Pairs (h, j) of indexes that are generalized together."""
    if setting.baseline:
        pairs = range(min(len(xs), len(ys)))
        return [(h, h) for h in pairs if steps(setting, xs[h], ys[h], weight)[0] is not None]
    r = matrices(setting, xs, ys, weight)[2]
    h, j, found = len(xs), len(ys), []
    while h or j:
        if r[h, j] == "G":
            found.append((h - 1, j - 1))
        h, j = h - (r[h, j] != "Y"), j - (r[h, j] != "X")
    return found[::-1]


def aligned(setting, xs, ys, weight=1):
    """What two sequences become, and its weighted loss."""
    pairs = matched(setting, xs, ys, weight)
    merged = tuple(tuple(map(meeting, xs[h], ys[j], setting.hierarchies)) for h, j in pairs)
    lost = sum(sum(steps(setting, xs[h], ys[j], weight)[0]) for h, j in pairs)
    lost += sum(sum(steps(setting, x, x, weight)[2]) for h, x in enumerate(xs) if h not in dict(pairs))
    taken = {j for _, j in pairs}
    lost += sum(sum(steps(setting, y, y, 1)[1]) for j, y in enumerate(ys) if j not in taken)
    return merged, lost


def as_nodes(trajectory):
    """A trajectory of values as one of nodes."""
    return tuple(tuple(frozenset([value]) for value in pair) for pair in trajectory)


def place(trajectory):
    """Where a trajectory stands where the first of a tie is taken: shorter ones first, then by ages and codes."""
    return len(trajectory), [(age, code, *detail) for code, age, *detail in trajectory]


def distance(setting, sequence, trajectory, weight=1):
    """The loss of aligning what a cluster has become with a trajectory."""
    return aligned(setting, sequence, as_nodes(trajectory), weight)[1]


def form_cluster(setting, left, seed, size):
    """Algorithm 4: the members, in the order of joining, and what they become; they are taken out of what is left."""
    left.remove(seed)
    members, sequence = [seed], as_nodes(seed)
    while len(members) < size:
        weight = len(members) if setting.exact else 1
        nearest = min(left, key=lambda other: (distance(setting, sequence, other, weight), place(other)))
        left.remove(nearest)
        members.append(nearest)
        sequence = aligned(setting, sequence, as_nodes(nearest), weight)[0]
    return members, sequence


def clusters(setting, trajectories, k):
    """Algorithm 3: every cluster's members and sequence, in the order in which they are formed."""
    left, found = list(trajectories), []

    def farthest(origin):
        return min(left, key=lambda other: (-distance(setting, as_nodes(origin), other), place(other)))

    def most_frequent():
        count = Counter(left)
        return min(left, key=lambda one: (-count[one], place(one)))

    while len(left) >= 3 * k:
        x = farthest(most_frequent())
        found.append(form_cluster(setting, left, x, k))
        found.append(form_cluster(setting, left, farthest(x), k))
    while len(left) >= 2 * k:
        found.append(form_cluster(setting, left, farthest(most_frequent()), k))
    found.append(form_cluster(setting, left, most_frequent(), len(left)))
    return found


def accumulated(setting, found):
    """Step 20: the losses of codes and ages as the paper counts them, each pair of a merged sequence once."""
    totals = [Fraction(0)] * len(setting.hierarchies)
    for members, _ in found:
        sequence = as_nodes(members[0])
        for number, member in enumerate(members[1:], start=1):
            weight, ys = number if setting.exact else 1, as_nodes(member)
            pairs = matched(setting, sequence, ys, weight)
            for attributes, hierarchy in enumerate(setting.hierarchies):
                for h, j in pairs:
                    above = meeting(sequence[h][attributes], ys[j][attributes], hierarchy)
                    totals[attributes] += loss(sequence[h][attributes], above, hierarchy) + loss(
                        ys[j][attributes], above, hierarchy
                    )
                lonely = [x for h, x in enumerate(sequence) if h not in dict(pairs)]
                lonely += [y for j, y in enumerate(ys) if j not in {j for _, j in pairs}]
                totals[attributes] += sum(suppression(pair[attributes], hierarchy) for pair in lonely)
            sequence = aligned(setting, sequence, ys, weight)[0]
    pairs = sum(len(member) for members, _ in found for member in members)
    return tuple(total / pairs for total in totals)


def frequent_pairs(trajectories, least, most):
    """Sets of up to ``most`` pairs that at least so many trajectories hold, with their counts."""
    sets = {
        frozenset(chosen)
        for one in trajectories
        for size in range(1, most + 1)
        for chosen in combinations(sorted(set(one)), size)
    }
    counts = {chosen: sum(chosen <= set(one) for one in trajectories) for chosen in sets}
    return {chosen: count for chosen, count in counts.items() if count >= least}
