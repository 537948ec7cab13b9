"""Columns of any names in two parts: those that say the same of a patient are found, and unrelated ones are not."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.jobs.linked_columns import RecordedValues, find_linked_columns

SEEDS = st.integers(0, 2**32 - 1)
FIRST = date(2019, 1, 1)
K = 5


def days(draw, n):
    """Days of some years, of which most occur once."""
    return [FIRST + timedelta(days=int(day)) for day in draw.integers(0, 2000, n)]


def rare(draw, n):
    """A code of 40, of which some are rare."""
    return [int(place) for place in np.minimum(draw.geometric(0.12, n), 40)]


SAME = {
    "days and their numbers": (days, date.isoformat, lambda day: str((day - FIRST).days)),
    "days in two formats": (days, date.isoformat, lambda day: day.strftime("%d.%m.%Y")),
    "codes and other codes": (rare, lambda code: f"c{code}", lambda code: f"x{code * 7919 % 997}"),
    "codes and groups of two": (rare, lambda code: f"c{code}", lambda code: f"x{code // 2}"),
    "numbers in other units": (
        lambda draw, n: list(draw.normal(80, 15, n)),
        "{:.1f}".format,
        lambda kg: f"{kg * 2.2:.1f}",
    ),
    "numbers in one order": (lambda draw, n: list(range(n)), "V{:04}".format, lambda place: f"S{place * 3:07}x"),
    "numbers of persons": (lambda draw, n: list(draw.permutation(n)), "u{}".format, "U{:05}".format),
}


def parts(one, two, ids=None, k=K):
    """Two parts with one column each."""
    frames = [pl.DataFrame({name: pl.Series(values)}) for name, values in (("a", one), ("b", two))]
    own, other = (None, None) if ids is None else ids
    return {"one": RecordedValues(frames[0], k, own), "two": RecordedValues(frames[1], k, other)}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("with_ids", [True, False])
@pytest.mark.parametrize("how", SAME)
@examples(20)
@given(seed=SEEDS, n=st.integers(150, 300))
def test_columns_that_say_the_same_are_found(how, with_ids, seed, n):
    """By ids whatever the order of rows, and by the order of rows where there are no ids."""
    draw = np.random.default_rng(seed)
    make, own, other = SAME[how]
    values = make(draw, n)
    one, two = [own(value) for value in values], [other(value) for value in values]
    ids = None
    if with_ids:
        order = draw.permutation(n)
        ids = pl.Series([f"p{row}" for row in range(n)]), pl.Series([f"P-{row}" for row in order])
        two = [two[row] for row in order]

    (found,) = find_linked_columns(parts(one, two, ids))
    assert found.startswith("rows of one and two lead to each other: a of one and b of two say the same")


UNRELATED = {
    "sexes": lambda draw, n: draw.choice(["F", "M"], n),
    "rare marks": lambda draw, n: np.where(draw.random(n) < 0.04, "1", "0"),
    "counts": lambda draw, n: draw.poisson(1.5, n).astype(str),
    "codes": lambda draw, n: np.array([f"c{code}" for code in rare(draw, n)]),
    "measurements": lambda draw, n: draw.normal(80, 15, n).round(1).astype(str),
    "skewed": lambda draw, n: np.exp(draw.normal(3, 2, n)).round(0).astype(str),
    "days": lambda draw, n: np.array([day.isoformat() for day in days(draw, n)]),
    "persons": lambda draw, n: np.array([f"u{number}" for number in draw.permutation(n)]),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what", UNRELATED)
@examples(100)
@given(other=st.sampled_from(list(UNRELATED)), seed=SEEDS, n=st.integers(20, 300))
def test_unrelated_columns_are_released(what, other, seed, n):
    """Columns drawn apart are refused in no case."""
    draw = np.random.default_rng(seed)

    assert find_linked_columns(parts(UNRELATED[what](draw, n), UNRELATED[other](draw, n))) == []


def test_values_of_k_patients_and_other_patients_link_nothing():
    """A copy whose values k share is released; so are columns of parts that are known to have no patient in common."""
    values = [f"c{row % 12}" for row in range(12 * K)]
    ids = [pl.Series([f"{part}{row}" for row in range(60)]) for part in "pq"]
    unique = [str(row * row) for row in range(60)]

    assert find_linked_columns(parts(values, values)) == []
    assert find_linked_columns(parts(unique, unique, ids)) == []
    assert find_linked_columns(parts(unique, unique[:-1])) == []
    assert find_linked_columns(parts(unique, unique)) != []
