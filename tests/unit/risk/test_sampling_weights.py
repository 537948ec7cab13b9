"""Risk of a survey whose records represent different numbers of people."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.errors import InputError
from cloister.risk.prosecutor import reciprocals_by_weights
from cloister.testing import hospital_patients

QI = ["age", "sex"]


def survey(weights):
    """Made-up patients, each with the weight of its place."""
    frame = hospital_patients(1, 400).select(*QI)
    return frame.with_columns(weight=pl.Series(np.resize(weights, frame.height)))


def mean_of_reciprocal(f, p, most=20_000):
    """The expectation of 1 / F of a negative binomial F, by adding up its probabilities."""
    people = np.arange(f, most)
    logs = [math.lgamma(n) - math.lgamma(f) - math.lgamma(n - f + 1) + (n - f) * math.log1p(-p) for n in people]
    return float(np.sum(np.exp(np.array(logs) + f * math.log(p)) / people))


@given(f=st.integers(1, 60), weight=st.floats(1.1, 80))
@examples(60)
def test_the_risk_of_a_class_is_that_of_its_definition(f, weight):
    """The formula, exact or by mean and variance, agrees with the sum over all numbers of people."""
    found = reciprocals_by_weights(np.array([f]), np.array([f * weight]))[0]
    assert found == pytest.approx(mean_of_reciprocal(f, 1 / weight), rel=1e-6 if f < 20 else 0.003)


def test_weights_of_one_are_the_whole_population():
    """If every record is for itself alone, the risk is that of a prosecutor."""
    found = cl.assess(survey([1]), qi=QI, sampling_weights="weight")
    assert found.population.highest == found.prosecutor.highest == 1.0
    assert found.population.people == 400
    assert found.population.marketer == pytest.approx(found.prosecutor.average)


def test_equal_weights_are_a_sampling_fraction():
    """Of the same population, the interval is the same, and the risk of a class at least that of the estimator."""
    weighted = cl.assess(survey([20]), qi=QI, sampling_weights="weight").population
    sampled = cl.assess(survey([20]), qi=QI, sampling_fraction=0.05).population
    assert weighted.interval == sampled.interval
    assert weighted.marketer >= sampled.marketer


def test_records_of_small_weights_are_at_higher_risk():
    """A record that represents hardly anybody else can be found, however large the population is."""
    rare = survey([100]).with_columns(weight=pl.when(pl.int_range(pl.len()) == 0).then(1.0).otherwise("weight"))
    alone = rare.filter(pl.len().over(QI) == 1)
    assert alone.height
    first = pl.concat([alone.head(1).with_columns(weight=pl.lit(1.0)), rare.tail(-1)])
    assert cl.assess(first, qi=QI, sampling_weights="weight").population.highest == 1.0


@pytest.mark.parametrize("weight", [0, -1, None, math.nan, math.inf, "many"])
def test_weights_that_are_no_numbers_above_zero_are_refused_without_showing_them(weight):
    """The message counts them and names the column."""
    frame = survey([20]).with_columns(pl.col("weight").cast(pl.String))
    text = None if weight is None else str(weight)
    frame = frame.with_columns(weight=pl.when(pl.int_range(pl.len()) == 3).then(pl.lit(text)).otherwise("weight"))
    with pytest.raises(InputError, match="1 of 400 sampling weights in column 'weight'") as refused:
        cl.assess(frame, qi=QI, sampling_weights="weight")
    assert "many" not in str(refused.value)


def test_weights_that_add_up_to_fewer_people_than_records_are_refused():
    """Weights with a mean of one half do not say how many people there are."""
    with pytest.raises(InputError, match="add up to 200 people for 400 records"):
        cl.assess(survey([0.5]), qi=QI, sampling_weights="weight")


def test_only_one_of_three_says_what_is_known_of_the_population():
    """A fraction and weights contradict each other."""
    with pytest.raises(InputError, match="sampling_weights"):
        cl.assess(survey([20]), qi=QI, sampling_weights="weight", sampling_fraction=0.1)
