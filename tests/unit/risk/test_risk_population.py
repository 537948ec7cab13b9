"""Risk against a population that is not seen: expectations solve their model, and meet populations of known truth."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.oracles import risk as oracle

from cloister.errors import InputError
from cloister.privacy.uniqueness import Sample, maximum_likelihood_pitman, pitman, shlosser, snb, zayatz
from cloister.risk.assessment import assess_table
from cloister.risk.prosecutor import LARGE, _pitman, _snb, expected_reciprocals, parse_threshold

SIZES = np.array([1, 2, 3, 4, 6, 13])
CLASSES = np.array([40, 9, 3, 1, 1, 1])
"""A sample of 90 records in 55 classes."""


def sample_of(population, fraction, random):
    """Class sizes of a simple random sample of classes of people, and the true mean of 1 / F and share of uniques."""
    labels = np.repeat(np.arange(population.size), population)
    chosen = random.choice(labels.size, round(labels.size * fraction), replace=False)
    records = np.bincount(labels[chosen], minlength=population.size)
    sizes, classes = np.unique(records[records > 0], return_counts=True)
    people = population[labels[chosen]]
    return Sample(sizes, classes, labels.size), float((1 / people).mean()), float((people == 1).mean())


def mean_reciprocal(sample, model):
    """What a model takes the mean of 1 / F over the records for."""
    expected = expected_reciprocals(sample, model)
    return float((sample.classes * sample.sizes * expected).sum() / sample.n_records)


@pytest.mark.parametrize("f", [1, 2, 6])
def test_pitman_s_expectation_is_that_of_exact_fractions(f):
    """The chance that x more people are in a class is beta-binomial, summed exactly."""
    sample = Sample(SIZES, CLASSES, 190)
    a, t = Fraction(1, 2), Fraction(7, 2)
    exact = oracle.beta_binomial_reciprocal(f, 100, f - a, t + 90 - f + a)

    assert _pitman(sample, f, float(a), float(t)) == pytest.approx(float(exact), rel=1e-9)


def test_large_classes_by_mean_and_variance():
    """Where sums give way to mean and variance the two agree to a thousandth."""
    sample = Sample(SIZES, CLASSES, 400)
    exact = oracle.beta_binomial_reciprocal(LARGE, 310, LARGE - Fraction(1, 2), 3 + 90 - LARGE + Fraction(1, 2))

    assert _pitman(sample, LARGE, 0.5, 3.0) == pytest.approx(float(exact), rel=1e-3)


def test_a_single_record_is_unique_as_often_as_the_estimators_say():
    """1 / F of sample uniques and the estimate of population uniques are of one model: the first bounds the second."""
    sample = Sample(SIZES, CLASSES, 300)
    for model, estimate in (("pitman", pitman), ("snb", snb), ("zayatz", zayatz)):
        alone = expected_reciprocals(sample, model)[0] * 40 / 90
        assert estimate(sample) < alone < 0.5 * estimate(sample) + 0.5 * 40 / 90 + 1e-9, model


def test_the_slide_negative_binomial_by_bayes_rule():
    """The posterior is the prior times the chance of the sample, summed by hand."""
    from math import comb

    a, p, fraction = 0.7, 0.3, 90 / 300
    prior = [p**a]
    for x in range(400):
        prior.append(prior[-1] * (a + x) / (x + 1) * (1 - p))
    weights = [chance * comb(i, 2) * (1 - fraction) ** (i - 2) for i, chance in enumerate(prior, start=1)]
    expected = sum(w / i for i, w in enumerate(weights, start=1)) / sum(weights)

    assert _snb(Sample(SIZES, CLASSES, 300), 2, a, p) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5])
def test_classes_of_one_and_two_are_as_the_slide_negative_binomial_expects(fraction):
    """Of classes of 1 + negative binomial people, E[s1] and E[s2] are what a simulation finds."""
    random = np.random.default_rng(3)
    population = 1 + random.negative_binomial(0.6, 0.25, 40_000)
    sample, _, _ = sample_of(population, fraction, random)
    a, p, f = 0.6, 0.25, sample.fraction
    g, v = f / (1 - f), (1 - p) * f / (1 - (1 - p) * (1 - f))
    b = a * v / g
    single = 40_000 * f * (1 - v) ** a * (1 + b)

    assert sample.n_of(1) == pytest.approx(single, rel=0.02)
    assert sample.n_of(2) == pytest.approx(single * b * (2 * g + v + g * b) / (2 * (1 + b)), rel=0.04)


@pytest.mark.parametrize("fraction", [0.3, 0.5])
def test_snb_meets_a_population_of_its_kind(fraction):
    """The number of classes, mean risk and uniques are near the truth where enough was sampled."""
    random = np.random.default_rng(3)
    population = 1 + random.negative_binomial(0.6, 0.25, 40_000)
    sample, reciprocal, unique = sample_of(population, fraction, random)

    assert shlosser(sample) == pytest.approx(40_000, rel=0.05)
    assert mean_reciprocal(sample, "snb") == pytest.approx(reciprocal, rel=0.1)
    assert snb(sample) == pytest.approx(unique, rel=0.2)


def test_pitman_meets_a_population_of_its_kind():
    """A population grown by Pitman's process: mean risk and uniques are met."""
    random = np.random.default_rng(5)
    a, t, people = 0.6, 50.0, 60_000
    sizes: list[int] = []
    owners = np.empty(people, dtype=np.int64)  # a person joins the class of an earlier one, or begins a new one
    draws = random.random(people) * (np.arange(people) + t)
    again = random.random(people)
    for i in range(people):
        at = draws[i]
        joined = at < i and not (again[i] * sizes[owners[int(at)]] < a)
        owner = owners[int(at)] if joined else None
        if owner is None:
            owner = len(sizes)
            sizes.append(0)
        owners[i] = owner
        sizes[owner] += 1
    sample, reciprocal, unique = sample_of(np.array(sizes), 0.05, random)

    assert maximum_likelihood_pitman(sample)[0] == pytest.approx(a, abs=0.03)
    assert mean_reciprocal(sample, "pitman") == pytest.approx(reciprocal, rel=0.1)
    assert pitman(sample) == pytest.approx(unique, rel=0.15)


def test_all_models_meet_a_population_half_of_which_was_sampled():
    """Of classes as uneven as combinations of demographics, half sampled: near the truth, and not below it by much."""
    random = np.random.default_rng(7)
    weight = random.gamma(0.4, 1, 30_000)
    population = np.bincount(random.choice(30_000, 60_000, p=weight / weight.sum()), minlength=30_000)
    sample, reciprocal, _ = sample_of(population[population > 0], 0.5, random)

    for model in ("pitman", "snb", "zayatz"):
        assert mean_reciprocal(sample, model) == pytest.approx(reciprocal, rel=0.15), model
        assert mean_reciprocal(sample, model) > 0.97 * reciprocal, model


def test_the_rule_of_dankar_picks():
    """Up to a tenth sampled Pitman's estimate is told, beyond the lesser of the two others, with all beside it."""
    frame = pl.DataFrame({"a": [str(i) for i, n in enumerate([1] * 40 + [2] * 9 + [4]) for _ in range(n)]})
    few, many = (
        assess_table(frame, frame, ["a"], threshold=0.2, fraction=fraction).population for fraction in (0.1, 0.3)
    )

    assert few.chosen == "pitman"
    assert set(few.uniques) == {"pitman", "zayatz", "snb", "ewens"}
    assert many.uniques[many.chosen] == min(many.uniques["snb"], many.uniques["zayatz"])
    assert (few.how, few.people, many.people) == ("estimated", 620, 207)
    assert few.marketer == few.average


def test_a_population_without_the_patients_is_refused():
    """Fewer people than records in a class: the data are not of that population, told in counts."""
    frame = pl.DataFrame({"a": ["x", "x", "y"]})
    with pytest.raises(InputError, match="2 of 3 records are in 1 classes"):
        assess_table(frame, frame, ["a"], threshold=0.2, people=pl.DataFrame({"a": ["x", "y"]}))


@pytest.mark.parametrize("fraction", [0.0, -1.0, 1.5, 1e-12, float("nan")])
def test_fractions_that_are_none_are_refused(fraction):
    """A share is above 0 and at most 1."""
    frame = pl.DataFrame({"a": ["x"]})
    with pytest.raises(InputError, match="sampling fraction"):
        assess_table(frame, frame, ["a"], threshold=0.2, fraction=fraction)


def test_thresholds_by_name_and_number():
    """The names are those of the Heritage Health Prize and the European Medicines Agency."""
    assert [parse_threshold(text) for text in ("hhp", "ema", "0.2", 1)] == [0.05, 0.09, 0.2, 1.0]
    for wrong in ("fda", "0", "1.01", "nan", -0.1):
        with pytest.raises(InputError, match="threshold"):
            parse_threshold(wrong)
