"""Risk of a node by trying every sample, from the definition: plain lists, fractions, no hashing, no bit sets.

Written from section 5 of the appendix of the Heritage Health Prize de-identification; shares no code with cloister.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import comb


class Tables:
    """Patients and claims as lists of labels under one node.

    ``patients[i]`` holds the labels of patient i, ``known[i][h]`` the labels before anything was removed (None where
    missing) and ``released[i][h]`` those after, row by row; ``truncated[i]`` and ``suppressed[i][h]`` what flags say.
    """

    def __init__(self, patients, known, released, truncated=None, suppressed=None, present=None):
        self.patients, self.known, self.released = patients, known, released
        self.truncated = truncated or [False] * len(patients)
        self.suppressed = suppressed or [[0] * len(own) for own in known]
        self.present = present or [True] * len(patients)

    def samples(self, i, power):
        """All samples of a patient, equally likely: for each column a multiset of labels."""
        columns = []
        for h, labels in enumerate(self.known[i]):
            values = [place for place, label in enumerate(labels) if label is not None]
            columns.append(list(combinations(values, min(power[i][h], len(values)))))
        return list(product(*columns))

    def labels(self, i, sample):
        """The multisets of labels at sampled places."""
        return [Counter(self.known[i][h][place] for place in places) for h, places in enumerate(sample)]

    def holds(self, j, wanted):
        """Whether the released claims of a patient hold all multisets."""
        return all(not (need - self._has(j, h)) for h, need in enumerate(wanted))

    def tolerates(self, j, wanted):
        """Whether they do but for what flags say is missing."""
        lacking = [sum((need - self._has(j, h)).values()) for h, need in enumerate(wanted)]
        return self.truncated[j] or all(n <= self.suppressed[j][h] for h, n in enumerate(lacking))

    def alike(self, i):
        """Released patients with the labels of a patient."""
        return [j for j, row in enumerate(self.patients) if row == self.patients[i] and self.present[j]]

    def class_size(self, i, wanted):
        """Patients who fit."""
        return sum(self.holds(j, wanted) for j in self.alike(i))

    def flag_aware_size(self, i, wanted):
        """Patients who fit, or would but for what is said to be missing."""
        return sum(self.tolerates(j, wanted) for j in self.alike(i))

    def likeliest_size(self, i, wanted):
        """Of those who fit, how many are likeliest to be who was drawn so, if the patient is one of them; else 0."""
        chances = {j: self._chance(j, wanted) for j in self.alike(i) if self.holds(j, wanted)}
        best = [j for j, chance in chances.items() if chance == max(chances.values())]
        return len(best) if i in best else 0

    def nearest_size(self, i, wanted):
        """Of those tolerated, how many lack fewest values, if the patient is one of them; else 0."""
        lacking = {
            j: sum(sum((need - self._has(j, h)).values()) for h, need in enumerate(wanted))
            for j in self.alike(i)
            if self.tolerates(j, wanted)
        }
        best = [j for j, n in lacking.items() if n == min(lacking.values())]
        return len(best) if i in best else 0

    def _chance(self, j, wanted):
        """Share of all samples of this size of a patient's released values that are these."""
        chance = Fraction(1)
        for h, need in enumerate(wanted):
            has = self._has(j, h)
            chance /= comb(sum(has.values()), sum(need.values()))
            for label, times in need.items():
                chance *= comb(has[label], times)
        return chance

    def holders(self, h, label):
        """Released patients who have a label in a column of claims."""
        return [j for j, present in enumerate(self.present) if present and self._has(j, h)[label]]

    def _has(self, j, h):
        return Counter(label for label in self.released[j][h] if label is not None)


def exact_risk(tables, power, k, raw=None):
    """Flag rate, mean risk and share missed over all patients and samples; misses by ``raw`` tables where given."""
    flag, mean, missed = Fraction(0), Fraction(0), Fraction(0)
    people = [i for i, present in enumerate(tables.present) if present]
    for i in people:
        samples = tables.samples(i, power)
        weight = Fraction(1, len(samples) * len(people))
        for sample in samples:
            judge = raw or tables
            if not judge.holds(i, judge.labels(i, sample)):
                missed += weight
                continue
            size = tables.class_size(i, tables.labels(i, sample))
            flag += weight * (size < k)
            mean += weight * Fraction(1, size)
    return flag, mean, missed


def exact_flag_aware_risk(tables, power):
    """Mean risk of an adversary who lets values be missing where flags say so: 1 over those tolerated."""
    people = [i for i, present in enumerate(tables.present) if present]
    total = Fraction(0)
    for i in people:
        samples = tables.samples(i, power)
        for sample in samples:
            size = tables.flag_aware_size(i, tables.labels(i, sample))
            total += Fraction(1, size * len(samples) * len(people))
    return total


def risk_of_draw(tables, i, wanted, k):
    """Risk of one draw of a patient for the paper's adversary and for the flag-aware one, 0 where k or more fit.

    Where nobody fits, the flag-aware one may take only who lacks fewest values, if he finds more that way.
    """
    size, flag_aware = tables.class_size(i, wanted), tables.flag_aware_size(i, wanted)
    if size == 0:
        flag_aware = min(flag_aware, tables.nearest_size(i, wanted) or flag_aware)
    held = tables.holds(i, wanted)
    return Fraction(1, size) if held and size < k else 0, Fraction(1, flag_aware) if flag_aware < k else 0


def fewest_who_make_up(figures, excess):
    """Those with the highest figures, the first of equal ones, one by one until they sum up to an excess."""
    chosen, total = [], 0
    while excess > 0 and total < excess:
        left = [i for i, figure in enumerate(figures) if figure > 0 and i not in chosen]
        if not left:
            break
        chosen.append(max(left, key=lambda i: (figures[i], -i)))
        total += figures[chosen[-1]]
    return set(chosen)


def without_rare_labels(tables, k):
    """Patients and labels of claims that are left when labels of fewer than k patients go, one at a time."""
    while True:
        people = [j for j, present in enumerate(tables.present) if present]
        for h in range(len(tables.released[0]) if tables.released else 0):
            for label in {label for j in people for label in tables.released[j][h] if label is not None}:
                if len(tables.holders(h, label)) < k:
                    for j in people:
                        tables.released[j][h] = [own for own in tables.released[j][h] if own != label]
        rare = [
            j
            for j in people
            for place, label in enumerate(tables.patients[j])
            if label is not None and sum(tables.patients[other][place] == label for other in people) < k
        ]
        if not rare:
            return tables
        for j in rare:
            tables.present[j] = False


def information_lost(values, labels):
    """The mean over rows of the bits that a label leaves open of the value, over that of no label at all; 0 if none."""

    def bits(of):
        return sum(math.log2(own[label] / pair[value, label]) for value, label in of) / len(of)

    pairs = list(zip(values, labels))
    own, pair = Counter(labels), Counter(pairs)
    open_bits = bits(pairs)
    pairs = [(value, 0) for value in values]
    own, pair = Counter([0] * len(values)), Counter(pairs)
    all_bits = bits(pairs)
    return open_bits / all_bits if all_bits else 0.0


def plain_greedy(pairs, costs, needed):
    """Labels one by one: most draws that are left for their cost, lower numbers first, while that is of use."""
    left, taken = {draw for _, draw in pairs}, []
    while needed > 0:
        gains = {
            label: len({draw for one, draw in pairs if one == label} & left)
            for label in {one for one, _ in pairs} - {*taken}
            if math.isfinite(costs[label])
        }
        useful = [(-gain / costs[label], label) for label, gain in gains.items() if gain]
        if not useful:
            return taken
        label = min(useful)[1]
        held = {draw for one, draw in pairs if one == label} & left
        left -= held
        needed -= len(held)
        taken.append(label)
    return taken


def patients_by_label(values, labels, cap):
    """(label, count) -> the patients who have the label at least so often, for counts up to ``cap``; nobody: no key.

    ``values[i]``: the base values of patient i; ``labels[v]``: the label of a base value
    """
    found = {}
    for patient, own in enumerate(values):
        for label, times in Counter(labels[value] for value in own).items():
            for count in range(1, min(times, cap) + 1):
                found.setdefault((label, count), []).append(patient)
    return found
