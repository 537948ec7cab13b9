"""What the published searches define, by enumeration of all policies, and inherited properties by their definition.

Minimal safe policies: LeFevre et al. (2005) and El Emam et al. (2009). Least rank: Samarati (2001). Paths of the
heuristics: Sweeney (1997) and Babu et al. (2013). Inherited properties: Prasser, Kohlmayer, Kuhn (2016).
"""

from collections import Counter
from itertools import product

from .full_domain import at_least, carry_out, generalize


def is_below(one, other):
    """Whether a policy is a specialization of another, or the same."""
    return all(a <= b for a, b in zip(one, other))


def inherits(stored, levels, is_upward):
    """Whether a policy has a property because a stored one has it."""
    return any(is_below(own, levels) if is_upward else is_below(levels, own) for own in stored)


def safe_policies(case):
    """Outcomes of all safe policies, by level vector."""
    outcomes = [
        carry_out(case.records, case.hierarchies, levels, at_least(case.k))
        for levels in product(*(range(len(hierarchy[0])) for hierarchy in case.hierarchies))
    ]
    return {o.levels: o for o in outcomes if o.suppressed <= case.limit and o.kept}


def minimal(safe):
    """Level vectors of which no specialization is safe."""
    return {levels for levels in safe if not any(other != levels and is_below(other, levels) for other in safe)}


def of_least_rank(safe):
    """Level vectors of the least rank."""
    least = min(map(sum, safe), default=None)
    return {levels for levels in safe if sum(levels) == least}


def best(case, outcomes):
    """Levels of the outcome of least loss; ties by fewer suppressed, lower rank, smaller levels."""
    losses = [(o.loss(case.loss, case.weights), o) for o in outcomes]
    least = min(loss for loss, _ in losses)
    equal = [o for loss, o in losses if loss <= least + 1e-12]
    return min(equal, key=lambda o: (o.suppressed, sum(o.levels), o.levels)).levels


def distinct_labels(case, levels):
    """Labels of each attribute that occur in the generalized records."""
    general = generalize(case.records, case.hierarchies, levels)
    return [len({record[j] for record in general}) for j in range(len(levels))]


def smallest_class(case, levels):
    """Records of the smallest class before suppression."""
    return min(Counter(generalize(case.records, case.hierarchies, levels)).values())


def is_safe(case, levels):
    """Whether a policy suppresses no more than allowed and releases something."""
    outcome = carry_out(case.records, case.hierarchies, levels, at_least(case.k))
    return outcome.suppressed <= case.limit and outcome.kept > 0


def raised(case, levels):
    """Direct generalizations with the attribute raised."""
    for j, hierarchy in enumerate(case.hierarchies):
        if levels[j] + 1 < len(hierarchy[0]):
            yield j, (*levels[:j], levels[j] + 1, *levels[j + 1 :])


def datafly(case, choose):
    """Where the path ends that generalizes the attribute with the most (or fewest) distinct values; None if unsafe."""
    levels = (0,) * len(case.hierarchies)
    while not is_safe(case, levels):
        counts = distinct_labels(case, levels)
        above = dict(raised(case, levels))
        if not above:
            return None
        levels = above[choose(above, key=lambda j: counts[j])]
    return levels


def igreedy(case, variant):
    """Where the path ends that goes where the smallest class is largest; None if unsafe."""
    levels = (0,) * len(case.hierarchies)
    while not is_safe(case, levels):
        counts = distinct_labels(case, levels)
        above = list(raised(case, levels))
        if not above:
            return None

        def merit(step, counts=counts):
            j, policy = step
            tie = counts[j] if variant == "original" else max(distinct_labels(case, policy))
            return smallest_class(case, policy), tie

        levels = max(above, key=merit)[1]
    return levels
