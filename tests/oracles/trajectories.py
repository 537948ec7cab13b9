"""Anonymization of trajectories by its definitions, slow: alignment, clustering, losses, queries.

Tamersoy, Loukides, Nergiz, Saygin, Malin (2012), "Anonymization of longitudinal electronic medical records", IEEE
TITB 16(3): Definitions 4 to 8, Algorithms 1 to 4, Appendix B, with what cloister makes precise. A node is the frozen
set of the values that it covers; a hierarchy is a function from a value to the nodes above it, the value first, from
small to large. A trajectory is a tuple of (code, age) values; what it becomes is a tuple of pairs of nodes. Weights are
fractions, losses too.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product


@dataclass(frozen=True)
class Setting:
    """Nodes above each code and age, weights, and how losses are counted; ``sets`` of codes are not mixed."""

    codes: dict
    ages: dict
    weights: tuple = (Fraction(1, 2), Fraction(1, 2))
    exact: bool = False
    baseline: bool = False
    sets: tuple = ()


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
    """Losses (code, age) of generalizing two pairs, or None; of suppressing y; of suppressing x."""
    found = []
    for node, other, hierarchy, share in zip(x, y, (setting.codes, setting.ages), setting.weights):
        above = meeting(node, other, hierarchy)
        both = weight * loss(node, above, hierarchy) + loss(other, above, hierarchy)
        found.append(
            (share * both, share * suppression(other, hierarchy), share * weight * suppression(node, hierarchy))
        )
    (code, code_y, code_x), (age, age_y, age_x) = found
    mixed = is_mixed(meeting(x[0], y[0], setting.codes), setting.sets)
    return None if mixed else (code, age), (code_y, age_y), (code_x, age_x)


def matrices(setting, xs, ys, weight=1):
    """Algorithm 2: the matrices i, a and r as dicts by (h, j); r is G, Y or X."""
    i, a, r = {(0, 0): Fraction(0)}, {(0, 0): Fraction(0)}, {}
    nothing = (frozenset([next(iter(setting.codes))]), frozenset([next(iter(setting.ages))]))
    for h, j in product(range(len(xs) + 1), range(len(ys) + 1)):
        options = []
        x, y = xs[h - 1] if h else nothing, ys[j - 1] if j else nothing
        both, of_y, of_x = steps(setting, x, y, weight)
        if h and j and both is not None:
            options.append((i[h - 1, j - 1] + both[0], a[h - 1, j - 1] + both[1], "G"))
        if j:
            options.append((i[h, j - 1] + of_y[0], a[h, j - 1] + of_y[1], "Y"))
        if h:
            options.append((i[h - 1, j] + of_x[0], a[h - 1, j] + of_x[1], "X"))
        if options:
            i[h, j], a[h, j], r[h, j] = min(options, key=lambda option: option[0] + option[1])  # the first of a tie
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
    merged = tuple(
        (meeting(xs[h][0], ys[j][0], setting.codes), meeting(xs[h][1], ys[j][1], setting.ages)) for h, j in pairs
    )
    lost = sum(sum(steps(setting, xs[h], ys[j], weight)[0]) for h, j in pairs)
    lost += sum(sum(steps(setting, x, x, weight)[2]) for h, x in enumerate(xs) if h not in dict(pairs))
    taken = {j for _, j in pairs}
    lost += sum(sum(steps(setting, y, y, 1)[1]) for j, y in enumerate(ys) if j not in taken)
    return merged, lost


def as_nodes(trajectory):
    """A trajectory of values as one of nodes."""
    return tuple((frozenset([code]), frozenset([age])) for code, age in trajectory)


def place(trajectory):
    """Where a trajectory stands where the first of a tie is taken: shorter ones first, then by ages and codes."""
    return len(trajectory), [(age, code) for code, age in trajectory]


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
    totals = [Fraction(0), Fraction(0)]
    for members, _ in found:
        sequence = as_nodes(members[0])
        for number, member in enumerate(members[1:], start=1):
            weight, ys = number if setting.exact else 1, as_nodes(member)
            pairs = matched(setting, sequence, ys, weight)
            for attributes, hierarchy in enumerate((setting.codes, setting.ages)):
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
    return totals[0] / pairs, totals[1] / pairs


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
