"""Estimators of population uniqueness: each solves the equations of its paper."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles import privacy_rules as oracle

from cloister.errors import InputError
from cloister.privacy import PopulationUniqueness
from cloister.privacy.uniqueness import (
    Sample,
    dankar,
    estimated_share,
    ewens,
    fitted_snb,
    maximum_likelihood_pitman,
    pitman,
    shlosser,
    snb,
    zayatz,
)
from cloister.shapes.table.verify.uniqueness import population_uniqueness

SIZES = [1] * 40 + [2] * 9 + [3] * 3 + [4, 6, 13]
"""A sample of 90 records in 55 classes."""


def sample_of(sizes, people):
    """A sample by its sizes."""
    found, classes = np.unique(sizes, return_counts=True)
    return Sample(found, classes, people)


@examples(100)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(0, 500))
def test_zayatz_is_bayes_rule(sizes, more):
    """Zayatz's estimate is that of exact fractions."""
    assume(1 in sizes)
    people = sum(sizes) + more

    assert float(oracle.zayatz(sizes, people)) == pytest.approx(zayatz(sample_of(sizes, people)), rel=1e-9)


def test_pitman_is_the_likeliest():
    """No parameters near the fitted ones make the sample likelier."""
    a, t = maximum_likelihood_pitman(sample_of(SIZES, 1000))
    best = oracle.pitman_likelihood(SIZES, a, t)

    for da in (-1e-4, 0, 1e-4):
        for dt in (-1e-3, 0, 1e-3):
            assert oracle.pitman_likelihood(SIZES, a + da, t + dt) <= best
    grid = [(a, t) for a in (0.1, 0.3, 0.5, 0.7, 0.9) for t in (0.5, 2, 8, 20)]
    assert all(oracle.pitman_likelihood(SIZES, *point) < best for point in grid)


def test_pitman_expects_the_uniques_of_its_process():
    """The share of uniques is the product over all people of the chance that nobody joins."""
    sample = sample_of(SIZES, 1000)
    a, t = maximum_likelihood_pitman(sample)

    assert float(oracle.pitman_uniques(a, t, 1000)) == pytest.approx(pitman(sample), rel=1e-9)


def test_the_slide_negative_binomial_fits_what_was_seen():
    """With the fitted parameters, one and two records are expected in as many classes as have them."""
    sample = sample_of(SIZES, 300)
    fraction = Decimal(90) / 300
    n_classes = float(oracle.shlosser(SIZES, 300))
    a, p = fitted_snb(sample, n_classes)

    assert n_classes == pytest.approx(shlosser(sample), rel=1e-12)
    assert float(oracle.sampled(a, p, fraction, 1, 400)) * n_classes == pytest.approx(40, rel=1e-6)
    assert float(oracle.sampled(a, p, fraction, 2, 400)) * n_classes == pytest.approx(9, rel=1e-6)
    assert n_classes * p**a / 300 == pytest.approx(snb(sample), rel=1e-12)


def test_estimators_without_a_solution_leave_it_to_zayatz():
    """All records unique, or no class of two: Zayatz's estimate stands in, and nothing else is raised."""
    alone, no_pairs = sample_of([1] * 10, 200), sample_of([1, 1, 3, 3], 20)

    assert zayatz(alone) == pitman(alone) == snb(alone) == dankar(alone)
    assert zayatz(no_pairs) == snb(no_pairs)


def test_the_rule_of_dankar_looks_at_the_sampling_fraction():
    """Up to a tenth sampled it is Pitman's estimate, beyond it the lesser of the two others."""
    few, many = sample_of(SIZES, 900), sample_of(SIZES, 899)

    assert pitman(few) == dankar(few)
    assert min(snb(many), zayatz(many)) == dankar(many)


@examples(80)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=60),
    st.integers(0, 10**9),
    st.sampled_from(["dankar", "pitman", "zayatz", "snb"]),
)
def test_estimates_are_between_nothing_and_the_sample_uniques(sizes, more, estimator):
    """Whatever the sample, an estimate is a number from 0 to the share of sample uniques."""
    found = estimated_share(sample_of(sizes, sum(sizes) + more), estimator)

    assert 0 <= found <= float(oracle.unique_share(sizes))


@examples(100)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=60), st.integers(2, 10**6))
def test_ewens_parameter_expects_the_classes_of_the_sample(sizes, more):
    """The sum of t / (t + i) over the records is the number of classes, t being that of the estimate."""
    records = sum(sizes)
    assume(1 < len(sizes) < records)
    people = records * more
    share = ewens(sample_of(sizes, people))
    t = share * (people - 1) / (1 - share)

    assert sum(t / (t + i) for i in range(records)) == pytest.approx(len(sizes), rel=1e-6)


def test_a_whole_population_needs_no_estimate():
    """If everybody is in the sample, sample uniques are population uniques."""
    for estimator in ("dankar", "pitman", "zayatz", "snb", "ewens"):
        assert estimated_share(sample_of(SIZES, 90), estimator) == 40 / 90


def people_of(n_people, n_places):
    """The class of each of so many made-up people, few classes having most."""
    drawn = np.random.default_rng(7).pareto(1.2, n_people) * 50
    return drawn.astype(np.int64) % n_places


@pytest.mark.parametrize(("n_places", "n_records"), [(30_000, 5_000), (200_000, 5_000), (30_000, 30_000)])
def test_estimates_come_near_the_truth(n_places, n_records):
    """On a random sample of made-up people the rule of Dankar is within a fifth of the true share of uniques."""
    people = people_of(100_000, n_places)
    true = (np.unique(people, return_counts=True)[1] == 1).sum() / len(people)
    seen = np.random.default_rng(8).choice(people, n_records, replace=False)
    sample = sample_of(np.unique(seen, return_counts=True)[1], len(people))

    assert true == pytest.approx(estimated_share(sample, "dankar"), rel=0.2)


def test_large_samples_are_no_burden():
    """A hundred thousand classes of very different sizes give finite estimates."""
    sizes = np.sort(np.concatenate([np.ones(60_000), np.arange(1, 40_001) % 5 + 1, [50_000, 200_000]]).astype(np.int64))
    for estimator in ("dankar", "pitman", "zayatz", "snb"):
        rule = PopulationUniqueness(0.01, 10_000_000, estimator)
        assert 0 <= rule.n_violating(sizes) <= 68_000


def test_more_records_than_people_are_refused():
    """A population that is smaller than the table is a mistake."""
    with pytest.raises(InputError, match="population of 10"):
        PopulationUniqueness(0.1, 10).n_violating(np.array([1, 5, 6]))


def test_the_estimate_is_not_monotone():
    """Joining larger classes can raise it, so a coarser policy may violate what a finer one satisfies."""
    fine, coarse = np.array([1, *[2] * 10]), np.array([1, 20])
    rule = PopulationUniqueness(0.0043, 42, "zayatz")

    assert not rule.is_closed
    assert rule.n_violating(fine) == 0
    assert rule.n_violating(coarse) == 1


FEW_OF_MANY = [
    ({1: 2, 2: 2, 5: 1}, 10**8),
    ({1: 2, 2: 1, 5: 1, 100: 1}, 8 * 10**9),
    ({1: 49, 2: 35, 5: 25, 3: 19}, 8 * 10**9),
    ({1: 1000, 2: 2}, 10**11),
    ({1: 30_000, 2: 35, 19: 2}, 10**11),
    ({1: 300, 2: 200, 40_000: 3}, 10**11),
]
"""Samples of a few records of very many people: classes by their size."""


@pytest.mark.parametrize(("classes", "people"), FEW_OF_MANY)
@pytest.mark.parametrize("estimator", ["dankar", "pitman", "zayatz", "snb"])
def test_a_few_records_of_billions_are_estimated_alike_twice(classes, people, estimator):
    """However small the fraction sampled, nothing cancels: two independent computations agree to eight digits."""
    sample = Sample(np.array(sorted(classes)), np.array([classes[size] for size in sorted(classes)]), people)
    found = estimated_share(sample, estimator)

    assert population_uniqueness(classes, people, estimator) == pytest.approx(found, rel=1e-8)
    assert 0 <= found <= classes[1] / sample.n_records


def test_zayatz_is_exact_for_billions():
    """Of a few records of ten billion people, Zayatz's estimate is that of exact fractions."""
    sizes = [1, 1, 1, 2, 2, 7]

    assert float(oracle.zayatz(sizes, 10**10)) == pytest.approx(zayatz(sample_of(sizes, 10**10)), rel=1e-12)


def test_a_population_of_more_people_than_there_are_is_refused():
    """Up to a hundred billion people are taken."""
    assert PopulationUniqueness(0.1, 10**11).size == 10**11
    with pytest.raises(InputError, match="at most 100000000000"):
        PopulationUniqueness(0.1, 10**11 + 1)
