"""Generalization of code sets by its definitions, slow: CBA, UGACLIP, AA, what they lose, what they must protect.

Loukides, Gkoulalas-Divanis, Malin (2010), "Privacy-preserving publication of diagnosis codes for effective biomedical
analysis", IEEE ITAB, Definitions 3.1 to 3.3 and Algorithm 1; Terrovitis, Mamoulis, Kalnis (2008), PVLDB 1(1), section
4; with what cloister makes precise. Records, sets and terms are frozen sets of codes; a term is told by its smallest
code. ``above`` gives the nodes above each code, the root last.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product
from math import log


def all_combinations(records, m):
    """Every set of up to m codes that a record holds."""
    return {
        frozenset(chosen) for record in records for size in range(1, m + 1) for chosen in combinations(record, size)
    }


def maximal(sets):
    """Those that are part of no other; the empty set is none."""
    sets = set(map(frozenset, sets)) - {frozenset()}
    return {one for one in sets if not any(one < other for other in sets)}


def required(records, sets):
    """The largest parts of the sets that some record holds."""
    return maximal(one & record for one in sets for record in records)


def support(records, codes):
    """Records that hold all of some codes."""
    return sum(codes <= record for record in records)


def rare_itemsets(records, k, m):
    """Sets of up to m things that some record holds, but fewer than k."""
    return {itemset for itemset in all_combinations(records, m) if support(records, itemset) < k}


def level(term, above):
    """Height of the lowest node above all codes of a term."""
    if len(term) == 1:
        return 0
    return next(h for h in range(len(above[min(term)])) if len({above[code][h] for code in term}) == 1) + 1


@dataclass
class State:
    """Terms, each a set of codes; codes of none are suppressed."""

    records: list
    above: dict
    groups: list
    exponential: bool
    terms: set = field(default_factory=set)

    def __post_init__(self):
        self.terms = {frozenset([code]) for record in self.records for code in record}

    def holding(self, term):
        """Records that hold a code of a term."""
        return {number for number, record in enumerate(self.records) if record & term}

    def mapped(self, codes):
        """The terms of some codes."""
        return {term for term in self.terms if term & codes}

    def held(self, codes):
        """Records that hold all terms of some codes."""
        found = set(range(len(self.records)))
        for term in self.mapped(codes):
            found &= self.holding(term)
        return len(found)

    def loss(self, term):
        """What a term loses, up to a constant factor."""
        size = 2 ** len(term) - 1 if self.exponential else len(term)
        return size * level(term, self.above) * len(self.holding(term))

    def pairs(self, own):
        """Pairs of one of these terms and another of its utility constraint, the cheapest first."""
        found = {
            frozenset([one, other])
            for one in own
            for group in self.groups
            if one <= group
            for other in self.terms
            if other <= group and other != one
        }
        return sorted(found, key=lambda pair: (self.loss(frozenset().union(*pair)), sorted(map(min, pair))))

    def merge(self, pair):
        """Make one term of two, and of all other occurrences of their codes."""
        named = {plain(code) for term in pair for code in term}
        joined = {term for term in self.terms if named & {plain(code) for code in term}}
        self.terms = (self.terms - joined) | {frozenset().union(*joined)}

    def suppress(self, term):
        """Take a term away, and those of later occurrences of its codes."""
        gone = {other for other in self.terms for one in term for code in other if is_later(code, one)}
        self.terms = self.terms - gone - {term}

    def occurrences(self, term):
        """Codes of a term in all records."""
        return sum(len(record & term) for record in self.records)


def cba(state, sets, k):
    """Algorithm 1."""
    state_order = sorted(sets, key=lambda one: (-support(state.records, one), -len(one), sorted(one)))
    return _cba_in_order(state, state_order, k)


def _cba_in_order(state, queue, k):
    for codes in queue:
        while 0 < state.held(codes) < k:
            own = state.mapped(codes)
            pairs = state.pairs(own)
            if pairs:
                state.merge(pairs[0])
            else:
                state.suppress(min(own, key=lambda term: (state.occurrences(term), min(term))))


def cba_again(state, sets, k):
    """Algorithm 1 on what is generalized already."""
    _cba_in_order(state, sorted(sets, key=lambda one: (-state.held(one), -len(one), sorted(one))), k)


def ugaclip(state, sets, k):
    """The set that most records hold; its least supported term, merged until the set is safe or suppressed with all."""
    while below := [one for one in sets if 0 < state.held(one) < k]:
        codes = min(below, key=lambda one: (-state.held(one), -len(one), sorted(one)))
        fixed = min(state.mapped(codes), key=lambda term: (len(state.holding(term)), min(term)))
        while 0 < state.held(codes) < k:
            pairs = state.pairs([fixed])
            if not pairs:
                group = next(group for group in state.groups if fixed <= group)
                for term in [term for term in state.terms if term <= group]:
                    state.suppress(term)
                break
            state.merge(pairs[0])
            fixed = next(term for term in state.terms if fixed <= term)


def protect(records, sets, above, groups, k, method, exponential=False):
    """Terms when no set, and no part of one, has 1 to k - 1 records."""
    state = State(records, above, groups, exponential)
    again = {cba: cba_again, ugaclip: ugaclip}[method]
    waiting, first = required(records, sets), True
    whole = [one for one in maximal(known(records, sets)) if not support(records, one)]
    while waiting:
        (method if first else again)(state, waiting, k)
        first = False
        waiting = maximal(frozenset(map(min, part)) for one in whole for part in rare_parts(state, one, k))
    return state.terms


def known(records, sets):
    """The sets without codes that no record holds."""
    codes = frozenset().union(*records)
    return {frozenset(one) & codes for one in sets}


def generalized(records, terms):
    """Records as sets of terms."""
    return [frozenset(term for term in terms if term & record) for record in records]


def rare_parts(state, codes, k):
    """What released records have of a set, where fewer than k have it."""
    return rare_among(generalized(state.records, state.terms), state.mapped(codes), k)


def rare_among(records, terms, k):
    """Parts of a set of terms that are all some record has of it, and that fewer than k records hold."""
    parts = {record & terms for record in records} - {frozenset()}
    return {part for part in parts if support(records, part) < k}


def is_protected(records, terms, sets, k):
    """Whether no set of codes, and no part of one, has 1 to k - 1 of the records once they are generalized."""
    released = generalized(records, terms)
    for codes in sets:
        mapped = [term for term in terms if term & codes]
        for size in range(1, len(mapped) + 1):
            for part in combinations(mapped, size):
                if 0 < support(released, frozenset(part)) < k:
                    return False
    return True


def plain(code):
    """A code without the number of its occurrence."""
    return code.partition("#")[0]


def is_later(code, other):
    """Whether one is a later occurrence of the code that the other one is of."""
    return "#" in code and plain(code) == plain(other) and number(code) > number(other)


def number(code):
    """Which occurrence of its code one is."""
    return int(code.partition("#")[2])


def with_earlier(codes):
    """What somebody knows who knows some occurrences: the earlier ones, too."""
    return frozenset(f"{plain(code)}#{place}" for code in codes for place in range(1, number(code) + 1))


def rare_knowledge(records, terms, k, m):
    """How often a patient has each of up to m codes, where 1 to k - 1 released records have all the terms of that."""
    released = generalized(records, terms)
    most = {}
    for code in frozenset().union(*records):
        most[plain(code)] = max(most.get(plain(code), 0), number(code))
    found = []
    for size in range(1, m + 1):
        for codes in combinations(sorted(most), size):
            for often in product(*(range(1, most[code] + 1) for code in codes)):
                known = with_earlier(f"{code}#{times}" for code, times in zip(codes, often))
                mapped = frozenset(term for term in terms if term & known)
                if mapped and 0 < support(released, mapped) < k:
                    found.append((codes, often))
    return found


def apriori(records, above, k, m):
    """AA: terms when every set of up to m terms that occurs has k records; each is all codes below a node."""
    codes = frozenset().union(*records)
    nodes = {code: [(0, code), *((height + 1, name) for height, name in enumerate(above[code]))] for code in codes}
    current = {code: nodes[code][0] for code in codes}

    under = {node: frozenset(c for c in codes if node in nodes[c]) for code in codes for node in nodes[code]}

    def below(node):
        return under[node]

    def cost(node):
        return len(below(node)) if len(below(node)) > 1 else 0

    def total(cut):
        return sum(support(records, frozenset([code])) * cost(cut[code]) for code in codes)

    def raised(chosen):
        cut = dict(current)
        for node in sorted(chosen):
            cut |= {code: node for code in below(node) if cut[code] < node}
        return cut

    def held(itemset, cut):
        return sum(all(record & below(cut[code]) for code in itemset) for record in records)

    def name(code):
        return min(other for other in codes if current[other] == current[code])

    for size in range(1, m + 1):
        itemsets = {
            frozenset(chosen) for record in records for chosen in combinations({name(code) for code in record}, size)
        }
        supports = {itemset: min(k, held(itemset, current)) for itemset in itemsets}
        for itemset in sorted(itemsets, key=lambda one: (-supports[one], sorted(one))):
            if held(itemset, current) >= k:
                continue
            ordered = sorted(itemset)
            options = []
            for choice in product(*(nodes[code][current[code][0] :] for code in ordered)):
                cut = raised(choice)
                if held(itemset, cut) >= k:
                    heights = tuple(height for height, _ in choice)
                    options.append((total(cut), sum(heights), heights, sorted(cut.items())))
            current = dict(min(options)[3])
    return {frozenset(code for code in codes if current[code] == node) for node in set(current.values())}


def information_loss(records, terms, above, weights=None):
    """ILM, with the share of the records as the penalty of a suppressed code; weights of the user's by height."""
    return _penalty(records, terms) + sum(
        Fraction(len(term), _n_codes(records)) * _weight(term, above, weights) * _share(records, term) for term in terms
    )


def log_exponential_loss(records, terms, above):
    """UL by exact fractions, then its logarithm; None where it is 0."""
    whole = 2 ** _n_codes(records) - 1
    total = _penalty(records, terms) + sum(
        Fraction(2 ** len(term) - 1, whole) * _weight(term, above) * _share(records, term) for term in terms
    )
    return log(total.numerator) - log(total.denominator) if total else None


def certainty_penalty(records, terms):
    """NCP, occurrence by occurrence."""
    lost = []
    for record in records:
        for code in record:
            term = next((term for term in terms if code in term), None)
            lost.append(1 if term is None else Fraction(len(term), _n_codes(records)) if len(term) > 1 else 0)
    return Fraction(sum(lost), len(lost))


def _n_codes(records):
    return len(frozenset().union(*records))


def _weight(term, above, weights=None):
    if weights is not None:
        return Fraction(0) if len(term) == 1 else Fraction(str(weights[level(term, above) - 1]))
    return Fraction(level(term, above), len(above[min(term)]))


def _share(records, term):
    return Fraction(sum(bool(record & term) for record in records), len(records))


def _penalty(records, terms):
    gone = frozenset().union(*records) - frozenset().union(*terms)
    return sum((_share(records, frozenset([code])) for code in gone), Fraction(0))
