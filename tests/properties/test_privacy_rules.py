"""Laws of privacy rules: they hold where their definition says, and what they declare of themselves is true."""

from collections import Counter
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.classes import Listed
from tests.made.examples import examples
from tests.oracles import privacy_rules as oracle

from cloister.privacy import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    KPatients,
    LDiversity,
    NoAttack,
    PopulationUniqueness,
    PositivePayout,
    RecursiveLDiversity,
    SampleUniqueness,
    TCloseness,
)
from cloister.privacy.class_size import _least_class
from cloister.privacy.closeness import hierarchical_distance, ordered_distance
from cloister.privacy.uniqueness import Sample, estimated_share

VALUES = st.sampled_from([None, 10, 20, 30, 40, 50])
RECORDS = st.lists(st.tuples(st.integers(0, 5), VALUES), min_size=1, max_size=30)
NAMES = {
    value: (str(value), group, half, "*")
    for value, group, half in [
        (10, "a", "A"),
        (20, "b", "A"),
        (30, "a", "A"),
        (40, "c", "B"),
        (50, "c", "B"),
        (None, "", ""),
    ]
}
"""A hierarchy in which groups are not neighbours and missing stays apart until the root."""

PEOPLE = [key for key in range(7) for _ in range(4)]
SHARES = [0.05, 0.1, 0.2, 0.25, 0.3, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.75, 0.9]
FACTORS = [0.25, 0.3, 0.5, 1.0, 1.1, 1.5, 2.0, 3.0]


LEVEL_LOSS = Fraction(1, 3)
PRICES = st.tuples(*(st.sampled_from([0.1, 0.3, 1.0, 2.0, 3.0, 7.0]) for _ in range(4)))


def class_rules():
    """Every rule about classes by its model, and its definition: of the records and the whole input."""
    levels, factors = st.sampled_from(SHARES), st.sampled_from(FACTORS)
    small = st.integers(2, 4)
    return {
        "k-anonymity": small.map(lambda k: (KAnonymity(k), lambda r, w: oracle.k_anonymity(r, k))),
        "k-patients": small.map(lambda k: (KPatients(k, "c"), lambda r, w: oracle.k_patients(r, k))),
        "k-map": st.integers(2, 6).map(lambda k: (KMap(k, population=()), lambda r, w: oracle.k_map(r, PEOPLE, k))),
        "l-diversity": small.map(lambda ell: (LDiversity(ell, "c"), lambda r, w: oracle.l_diversity(r, ell))),
        "entropy-l-diversity": st.sampled_from([1.2, 1.5, 2.0, 2.5, 3.0, 4.0]).map(
            lambda ell: (EntropyLDiversity(ell, "c"), lambda r, w: oracle.entropy_l_diversity(r, ell))
        ),
        "recursive-l-diversity": st.tuples(factors, small).map(
            lambda x: (RecursiveLDiversity(*x, "c"), lambda r, w: oracle.recursive_l_diversity(r, *x))
        ),
        "alpha-k-anonymity": st.tuples(levels, small).map(
            lambda x: (AlphaKAnonymity(*x, "c"), lambda r, w: oracle.alpha_k_anonymity(r, *x))
        ),
        "beta-likeness": factors.map(lambda b: (BetaLikeness(b, "c"), lambda r, w: oracle.beta_likeness(r, w, b))),
        "enhanced-beta-likeness": factors.map(
            lambda b: (EnhancedBetaLikeness(b, "c"), lambda r, w: oracle.beta_likeness(r, w, b, enhanced=True))
        ),
        "delta-disclosure": st.sampled_from([0.2, log(2), log(1.5), 1.0, 2.0]).map(
            lambda d: (DeltaDisclosure(d, "c"), lambda r, w: oracle.delta_disclosure(r, w, d))
        ),
        "t-closeness": st.tuples(levels, st.sampled_from(["equal", "ordered", "hierarchical"])).map(
            lambda x: (
                TCloseness(x[0], "c", x[1], spec="tree" if x[1] == "hierarchical" else None),
                lambda r, w: oracle.t_closeness(r, w, *x, NAMES),
            )
        ),
        "delta-presence": st.tuples(st.sampled_from([0.0, 0.1, 0.25]), st.sampled_from([0.25, 0.5, 0.75, 1.0]))
        .filter(lambda x: x != (0.0, 1.0))
        .map(lambda x: (DeltaPresence(*x, population=()), lambda r, w: oracle.delta_presence(r, PEOPLE, *x))),
        "no-attack": st.sampled_from([(0.3, 0.1), (7.0, 3.0), (2.0, 1.0), (1.0, 2.0), (300.0, 100.0)]).map(
            lambda x: (NoAttack(*x), lambda r, w: oracle.no_attack(r, *x))
        ),
        "positive-payout": PRICES.map(
            lambda x: (PositivePayout(*x), lambda r, w: oracle.positive_payout(r, LEVEL_LOSS, *x))
        ),
    }


def rules():
    """Any of them."""
    return st.one_of(*class_rules().values())


def listed(records, whole=None):
    """Classes with the population and the hierarchy of this page."""
    return Listed(records, whole, PEOPLE, NAMES, LEVEL_LOSS)


def judged(rule, records, whole):
    """By class key, whether a class satisfies a rule."""
    classes = listed(records, whole)
    return dict(zip(classes.keys, rule.holds(classes).tolist(), strict=True))


@examples(800)
@given(records=RECORDS, others=st.lists(VALUES, max_size=10), case=rules())
def test_rules_hold_where_their_definition_says(records, others, case):
    """Every rule judges every class as its definition does, also where a figure equals its threshold."""
    rule, definition = case
    whole = [value for _, value in records] + others

    assert definition(records, whole) == judged(rule, records, whole)


@examples(500)
@given(records=RECORDS, case=rules())
def test_a_class_that_satisfies_a_rule_has_the_size_it_declares(records, case):
    """No class smaller than ``class_size`` satisfies a rule."""
    rule, _ = case
    safe = judged(rule, records, [value for _, value in records])
    sizes = Counter(key for key, _ in records)

    assert [key for key in safe if safe[key] and sizes[key] < rule.class_size] == []


@examples(800)
@given(records=RECORDS, case=rules(), merge=st.lists(st.integers(0, 2), min_size=7, max_size=7))
def test_monotone_and_closed_rules_are(records, case, merge):
    """Joined with others, a class that satisfies a monotone rule still does; so do joined ones of a closed rule."""
    rule, _ = case
    whole = [value for _, value in records]
    fine = judged(rule, records, whole)
    joined = [(merge[key], value) for key, value in records]
    people = [merge[key] for key in PEOPLE]
    classes = Listed(joined, whole, people, NAMES, LEVEL_LOSS)
    coarse = dict(zip(classes.keys, rule.holds(classes).tolist(), strict=True))

    for key in coarse:
        parts = [fine[part] for part in fine if merge[part] == key]
        if rule.is_monotone and any(parts):
            assert coarse[key]
        if (
            rule.is_closed
            and all(parts)
            and not (getattr(rule, "forbids_suppression", False) and not all(fine.values()))
        ):
            assert coarse[key]


@examples(800)
@given(records=RECORDS, case=rules(), merge=st.lists(st.integers(0, 1), min_size=7, max_size=7))
def test_no_split_keeps_more_than_a_rule_says(records, case, merge):
    """The parts of a class that satisfy a rule hold at most the records that the rule says may be kept of it."""
    rule, _ = case
    whole = [value for _, value in records]
    sizes, fine = Counter(key for key, _ in records), judged(rule, records, whole)
    joined = [(merge[key], value) for key, value in records]
    classes = Listed(joined, whole, [merge[key] for key in PEOPLE], NAMES, LEVEL_LOSS)
    most = dict(zip(classes.keys, rule.most_kept(classes, rule.holds(classes)).tolist(), strict=True))

    for key, kept in most.items():
        assert sum(sizes[part] for part in fine if merge[part] == key and fine[part]) <= kept
        assert kept <= sum(sizes[part] for part in fine if merge[part] == key)


def test_what_may_be_kept_is_less_than_all():
    """Of a class in which one value is too frequent, no more may be kept than the other values allow."""
    classes = listed([(0, 10)] * 9 + [(0, 20)] + [(1, 20)] * 10)
    rules = [EntropyLDiversity(2, "c"), AlphaKAnonymity(0.5, 2, "c"), RecursiveLDiversity(1, 2, "c")]

    assert [rule.most_kept(classes, rule.holds(classes)).tolist() for rule in rules] == [[2, 0]] * 3
    assert TCloseness(0.1, "c").most_kept(classes, np.zeros(2, dtype=bool)).tolist() == [2, 0]


MIXED = [(0, 10), (0, 20), (0, 30), (1, 10), (1, 10), (1, 10), (2, 20), (2, 30), (2, 30), (2, 20)]
NOT_MONOTONE = [
    EntropyLDiversity(2.5, "c"),
    RecursiveLDiversity(2, 2, "c"),
    AlphaKAnonymity(0.5, 2, "c"),
    BetaLikeness(0.3, "c"),
    EnhancedBetaLikeness(0.3, "c"),
    DeltaDisclosure(0.35, "c"),
    TCloseness(0.1, "c"),
    TCloseness(0.1, "c", "ordered"),
    TCloseness(0.1, "c", "hierarchical", spec="tree"),
    DeltaPresence(0, 0.75, population=()),
]


@pytest.mark.parametrize("rule", NOT_MONOTONE, ids=lambda rule: rule.words())
def test_rules_that_are_not_monotone_say_so(rule):
    """There are a class that satisfies the rule and records which, added to it, break it."""
    whole = [value for _, value in MIXED]
    people = [0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2]
    before = Listed(MIXED, whole, people, NAMES)
    joined = Listed([(min(key, 1) if key == 2 else 0, value) for key, value in MIXED], whole, [0] * 6 + [1] * 6, NAMES)

    assert not rule.is_monotone
    assert rule.holds(before)[0]
    assert not rule.holds(joined)[0]


def test_a_positive_payout_is_neither_monotone_nor_closed():
    """Two classes of two pay, together at a coarser level they do not: their records lose more than attacks cost."""
    rule = PositivePayout(300, 4, 10, 4)
    fine, coarse = Listed([(0, None), (0, None), (1, None), (1, None)]), Listed([(0, None)] * 4, None, None, None, 1)

    assert not rule.is_monotone
    assert not rule.is_closed
    assert rule.holds(fine).all()
    assert not rule.holds(coarse).any()


@examples(300)
@given(st.integers(1, 12), st.fractions(0, 1, max_denominator=9), PRICES)
def test_attacks_and_payouts_are_those_of_the_game(size, level_loss, prices):
    """A class is released where the publisher's payout by the adversary's best answer is above 0."""
    rule, gain, cost = PositivePayout(*prices), Fraction(str(prices[0])), Fraction(str(prices[1]))
    classes = Listed([(0, None)] * size, level_loss=level_loss)

    assert rule.holds(classes).tolist() == [oracle.payout(size, level_loss, *prices) > 0]
    assert rule.is_attacked(classes.sizes).tolist() == [gain / size >= cost]


@examples(300)
@given(st.lists(VALUES, min_size=1, max_size=6), st.lists(VALUES, min_size=1, max_size=6))
def test_distances_are_the_least_work(own, others):
    """The hierarchical distance is the least work of moving; the ordered one is with nothing missing, else no less."""
    whole = own + others
    classes = listed([(0, value) for value in own], whole).histogram(None)
    values = list(dict.fromkeys(whole))
    surplus = [own.count(value) * len(whole) - whole.count(value) * len(own) for value in values]
    scale = Fraction(1, len(own) * len(whole))
    domain = sorted(value for value in set(whole) if value is not None)

    def apart(one, other):
        one, other = values[one], values[other]
        if None in (one, other):
            return Fraction(one is not other)
        return Fraction(abs(domain.index(one) - domain.index(other)), max(len(domain) - 1, 1))

    def height(one, other):
        rungs = zip(NAMES[values[one]], NAMES[values[other]], strict=True)
        return Fraction(next(level for level, (a, b) in enumerate(rungs) if a == b), 3)

    divisor = np.gcd.reduce(surplus) or 1
    units = [number // int(divisor) for number in surplus]
    assume(sum(abs(number) for number in units) <= 12)
    ordered = oracle.least_work(units, apart) * int(divisor) * scale
    tree = oracle.least_work(units, height) * int(divisor) * scale

    assert abs(float(tree) - hierarchical_distance(classes)[0]) < 1e-12
    assert float(ordered) <= ordered_distance(classes)[0] + 1e-12
    if None not in whole:
        assert abs(float(ordered) - ordered_distance(classes)[0]) < 1e-12


@given(st.integers(2, 30), st.integers(1, 400), st.sampled_from([0.5, 0.1, 0.05, 0.01, 0.001]))
def test_the_class_size_of_k_map_is_that_of_the_test(k, n_records, significance):
    """The derived class size is the least that a Poisson variable reaches rarely enough."""
    expected = oracle.poisson_class(k, n_records, 400, significance)

    assert expected == KMap(k, size=400, significance=significance).in_sample(n_records).least
    assert expected == _least_class(k, k * n_records / 400, significance)


SIZES = st.lists(st.sampled_from([1, 1, 1, 2, 2, 3, 4, 7, 12]), min_size=1, max_size=40)


def suppressing_rules():
    """Table rules that suppress the least by their models, and what the definition of each asks of class sizes."""
    bounds = st.sampled_from(SHARES)
    return {
        "average-risk": bounds.map(
            lambda x: (AverageRisk(x), lambda s: oracle.average_risk(s) <= Fraction(x) + oracle.NEAR)
        ),
        "sample-uniqueness": bounds.map(
            lambda x: (SampleUniqueness(x), lambda s: oracle.unique_share(s) <= Fraction(x) + oracle.NEAR)
        ),
    }


def table_rules():
    """Any of them."""
    return st.one_of(*suppressing_rules().values())


@examples(400)
@given(SIZES, table_rules())
def test_the_fewest_classes_are_suppressed(sizes, case):
    """Rules about the table suppress as many of the smallest classes as needed, and not one more."""
    rule, holds = case

    assert oracle.n_to_suppress(sizes, holds) == rule.n_violating(np.array(sorted(sizes)))


@examples(400)
@given(SIZES, table_rules(), st.randoms(use_true_random=False))
def test_coarser_tables_lose_no_more(sizes, case, random):
    """Where classes are joined, average risk and sample uniqueness suppress no more records."""
    rule, _ = case
    groups = Counter()
    for size in sizes:
        groups[random.randrange(len(sizes))] += size
    fine, coarse = np.array(sorted(sizes)), np.array(sorted(groups.values()))

    assert rule.is_monotone
    assert coarse[: rule.n_violating(coarse)].sum() <= fine[: rule.n_violating(fine)].sum()


@examples(150)
@given(SIZES, st.integers(1, 400), st.sampled_from([0.0, 0.01, 0.05, 0.1, 0.2]))
def test_zayatz_suppresses_the_fewest(sizes, more, share):
    """With Zayatz's estimator the number of suppressed uniques is the least, tried one by one with exact fractions."""
    people = sum(sizes) + more

    def holds(rest):
        return 1 not in rest or oracle.zayatz(rest, people) <= Fraction(share) + oracle.NEAR

    assert oracle.n_to_suppress(sizes, holds) == PopulationUniqueness(share, people, "zayatz").n_violating(
        np.array(sorted(sizes))
    )


@examples(60)
@given(SIZES, st.integers(0, 4000), st.sampled_from(["dankar", "pitman", "zayatz", "snb"]), st.sampled_from(SHARES))
def test_population_uniqueness_holds_after_suppression(sizes, more, estimator, share):
    """After suppression the estimate is within the share; with one record less it is not."""
    people = sum(sizes) + more
    ascending = np.array(sorted(sizes))
    n = PopulationUniqueness(share, people, estimator).n_violating(ascending)

    def estimate(rest):
        found, classes = np.unique(rest, return_counts=True)
        return estimated_share(Sample(found, classes, people), estimator) if len(rest) else 0.0

    assert estimate(ascending[n:]) <= share + 1e-12
    assert n == 0 or estimate(ascending[n - 1 :]) > share


def test_thresholds_given_as_logarithms_are_met_exactly():
    """Entropy of exactly ln l is enough, and a factor of exactly e^delta is not below it."""
    even = listed([(0, 10), (0, 20), (1, 10), (1, 10), (1, 20), (1, 20)])
    halved = listed([(0, 10), (0, 20), (0, 20), (0, 20), (1, 10), (1, 10), (1, 10), (1, 20)])

    assert EntropyLDiversity(2, "c").holds(even).all()
    assert EntropyLDiversity(exp(log(2)), "c").holds(even).all()
    assert not DeltaDisclosure(log(2), "c").holds(halved).any()
    assert DeltaDisclosure(0.694, "c").holds(halved).all()
