"""Full-domain generalization with suppression by its definition.

Prasser, Kohlmayer, Kuhn (2016), "Preliminaries and formalism": generalize all records to the levels of a policy,
suppress the classes that violate the rule, accept the policy if no more than the limit was suppressed. A hierarchy is
a list of rows: original value first, root last.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, log, prod


@dataclass(frozen=True)
class Outcome:
    """One policy carried out: every record with its label vector, and whether it is kept."""

    levels: tuple[int, ...]
    suppressed: int
    kept: int
    losses: tuple[Fraction, ...]
    by_level: tuple[Fraction, ...]
    records: list[tuple[str, ...]]
    general: list[tuple[str, ...]]
    is_kept: list[bool]
    covers: list[tuple[int, ...]]
    domains: tuple[int, ...]

    def loss(self, name, weights):
        """The loss of this name; weights count in proportion."""
        n, whole = len(self.records), sum(weights)
        sizes = Counter(self.general)
        if name == "iyengar":
            return float(sum(Fraction(w) * x for w, x in zip(weights, self.losses)) / Fraction(whole))
        if name == "arx":
            return exp(sum(w * log(1 + x) for w, x in zip(weights, self.losses)) / whole) - 1
        if name == "precision":
            return float(sum(Fraction(w) * x for w, x in zip(weights, self.by_level)) / Fraction(whole))
        if name == "discernibility":
            return sum(sizes[record] if kept else n for record, kept in zip(self.general, self.is_kept)) / n**2
        if name == "dm_star":
            return sum(sizes[record] for record in self.general) / n**2
        if name == "average_class_size":
            return 1 / (self.kept + (self.suppressed > 0))
        if name == "ambiguity":
            exponents = [w * len(weights) / whole for w in weights]
            most = prod(domain**e for domain, e in zip(self.domains, exponents))
            if most == 1:
                return self.suppressed / n
            stands_for = [
                prod(c**e for c, e in zip(covers, exponents)) if kept else most
                for covers, kept in zip(self.covers, self.is_kept)
            ]
            return log(sum(stands_for) / n) / log(most)
        if name == "kl_divergence":
            return self._divergence()
        if name == "entropy":
            return sum(w * self._entropy(j) for j, w in enumerate(weights)) / whole
        raise KeyError(name)

    def _divergence(self):
        """Sum of p log(p / q) over recorded combinations; q spreads a class over what its labels cover."""
        n, area = len(self.records), prod(self.domains)
        rows, sizes = Counter(self.records), Counter(self.general)
        most = sum(r / n * log(r / n * area) for r in rows.values())
        if most < 0.01:
            return self.suppressed / n
        found = {}
        for row, label, covers, kept in zip(self.records, self.general, self.covers, self.is_kept):
            q = sizes[label] / n / prod(covers) if kept else self.suppressed / n / area
            found[row] = rows[row] / n * log(rows[row] / n / q)
        return min(1.0, sum(found.values()) / most)

    def _entropy(self, j):
        """Share of the information about the values of one attribute that is lost."""
        n = len(self.records)
        values, labels = Counter(r[j] for r in self.records), Counter(g[j] for g in self.general)
        whole = sum(log(n / values[r[j]]) for r in self.records)
        if whole == 0:
            return self.suppressed / n
        lost = [
            log((labels[g[j]] if kept else n) / values[r[j]])
            for r, g, kept in zip(self.records, self.general, self.is_kept)
        ]
        return sum(lost) / whole


def generalize(records, hierarchies, levels):
    """Every record with each value replaced by its label at the level of its attribute."""
    bound_hierarchies = [{row[0]: row for row in hierarchy} for hierarchy in hierarchies]
    return [
        tuple(bound[value][level] for bound, value, level in zip(bound_hierarchies, record, levels))
        for record in records
    ]


def at_least(k):
    """The rule of k-anonymity: which label vectors are kept, given the label vector of every record."""

    def keeps(general):
        sizes = Counter(general)
        return {labels for labels, size in sizes.items() if size >= k}

    return keeps


def carry_out(records, hierarchies, levels, keeps):
    """Generalize, suppress what ``keeps`` does not keep, and count what each attribute lost."""
    general = generalize(records, hierarchies, levels)
    released = keeps(general)
    is_kept = [record in released for record in general]
    n, suppressed = len(records), is_kept.count(False)
    covered = [Counter(row[level] for row in hierarchy) for hierarchy, level in zip(hierarchies, levels)]
    covers = [tuple(c[label] for c, label in zip(covered, record)) for record in general]
    losses, by_level = [], []
    for j, (hierarchy, level) in enumerate(zip(hierarchies, levels)):
        others, top = len(hierarchy) - 1, len(hierarchy[0]) - 1
        lost = sum(Fraction(c[j] - 1, others) for c, kept in zip(covers, is_kept) if kept) if others else Fraction(0)
        losses.append((lost + suppressed) / n)
        by_level.append((Fraction(level, top) * (n - suppressed) + suppressed) / n)
    domains = tuple(len(hierarchy) for hierarchy in hierarchies)
    kept = len({record for record in general if record in released})
    return Outcome(
        tuple(levels), suppressed, kept, tuple(losses), tuple(by_level), records, general, is_kept, covers, domains
    )


def best_policy(records, hierarchies, keeps, limit, loss, weights):
    """Least loss over the whole lattice; ties by fewer suppressed, lower rank, smaller levels. None if none is safe."""
    outcomes = [
        carry_out(records, hierarchies, levels, keeps)
        for levels in product(*(range(len(hierarchy[0])) for hierarchy in hierarchies))
    ]
    safe = [(o.loss(loss, weights), o) for o in outcomes if o.suppressed <= limit and o.kept]
    if not safe:
        return None
    least = min(loss for loss, _ in safe)
    equal = [o for loss, o in safe if loss <= least + 1e-12]
    return min(equal, key=lambda o: (o.suppressed, sum(o.levels), o.levels))
