"""Full-domain generalization with suppression by its definition.

Prasser, Kohlmayer, Kuhn (2016), "Preliminaries and formalism": generalize all records to the levels of a policy,
suppress the classes that violate the rule, accept the policy if no more than the limit was suppressed. A hierarchy is
a list of rows: original value first, root last.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, log


@dataclass(frozen=True)
class Outcome:
    """One policy carried out."""

    levels: tuple[int, ...]
    suppressed: int
    kept: int
    losses: tuple[Fraction, ...]

    def loss(self, geometric, weights):
        """Weighted mean of the attribute losses."""
        whole = sum(weights)
        if geometric:
            return exp(sum(w * log(1 + x) for w, x in zip(weights, self.losses)) / whole) - 1
        return float(sum(Fraction(w) * x for w, x in zip(weights, self.losses)) / Fraction(whole))


def generalize(records, hierarchies, levels):
    """Every record with each value replaced by its label at the level of its attribute."""
    ladders = [{row[0]: row for row in hierarchy} for hierarchy in hierarchies]
    return [tuple(ladder[value][level] for ladder, value, level in zip(ladders, record, levels)) for record in records]


def carry_out(records, hierarchies, levels, k):
    """Generalize, suppress, and count what each attribute lost."""
    general = generalize(records, hierarchies, levels)
    sizes = Counter(general)
    kept = [record for record in general if sizes[record] >= k]
    suppressed = len(records) - len(kept)
    losses = []
    for j, (hierarchy, level) in enumerate(zip(hierarchies, levels)):
        covered = Counter(row[level] for row in hierarchy)
        others = len(hierarchy) - 1
        lost = sum(Fraction(covered[record[j]] - 1, others) for record in kept) if others else Fraction(0)
        losses.append((lost + suppressed) / len(records))
    return Outcome(tuple(levels), suppressed, len(set(kept)), tuple(losses))


def best_policy(records, hierarchies, k, limit, geometric, weights):
    """Least loss over the whole lattice; ties by fewer suppressed, lower rank, smaller levels. None if none is safe."""
    outcomes = [
        carry_out(records, hierarchies, levels, k)
        for levels in product(*(range(len(hierarchy[0])) for hierarchy in hierarchies))
    ]
    safe = [(o.loss(geometric, weights), o) for o in outcomes if o.suppressed <= limit and o.kept]
    if not safe:
        return None
    least = min(loss for loss, _ in safe)
    equal = [o for loss, o in safe if loss <= least + 1e-12]
    return min(equal, key=lambda o: (o.suppressed, sum(o.levels), o.levels))
