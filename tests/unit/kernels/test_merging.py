"""What merging classes loses: the kernel against the definition, and what its wrapper refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.kernels.shared_labels import MergedClasses, merge_prices


@st.composite
def classes(draw):
    """Classes of rows with random nested labels, random losses that rise with the level, random levels."""
    attributes, levels, n = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 6))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = np.zeros((attributes, levels, n), dtype=np.int64)
    for level in range(levels - 2, -1, -1):
        codes[:, level] = codes[:, level + 1] * 3 + generator.integers(0, 3, (attributes, n))
    costs = np.cumsum(generator.random((attributes, levels, 1)), axis=1).repeat(n, axis=2)
    there = generator.random(n) < 0.8
    return MergedClasses(
        codes, costs, generator.integers(0, levels, (attributes, n)), generator.integers(1, 9, n), there
    )


def price(found, one, other, weights, highest):
    """The weighted loss of all records of two classes at their lowest common labels, less that which they have."""
    total = 0.0
    for j, weight in enumerate(weights):
        lowest = max(found.levels[j, one], found.levels[j, other])
        common = next(level for level in range(lowest, 9) if found.codes[j, level, one] == found.codes[j, level, other])
        if common > highest[j]:
            return np.inf
        for each in (one, other):
            gained = found.costs[j, common, each] - found.costs[j, found.levels[j, each], each]
            total += weight * found.sizes[each] * gained
    return total


@examples(100)
@given(classes(), st.data())
def test_prices_are_what_merging_loses(found, data):
    """Of every other class that is there; classes that are gone, or above the highest level, cannot be had."""
    attributes, levels, n = found.codes.shape
    one = data.draw(st.integers(0, n - 1))
    weights = np.array(data.draw(st.lists(st.floats(0, 2), min_size=attributes, max_size=attributes)))
    highest = np.array(data.draw(st.lists(st.integers(0, levels - 1), min_size=attributes, max_size=attributes)))
    expected = [
        price(found, one, other, weights, highest) if other != one and found.is_there[other] else np.inf
        for other in range(n)
    ]

    assert merge_prices(found, one, weights, highest) == pytest.approx(np.array(expected))


@pytest.mark.parametrize(
    ("change", "one", "words"),
    [
        ({"levels": np.zeros((1, 3), dtype=np.int64)}, 0, "same attributes and classes"),
        ({"sizes": np.ones(3, dtype=np.int64)}, 0, "one entry a class"),
        ({}, 2, "one of them"),
        ({"codes": np.array([[[0, 1], [0, 1]]])}, 0, "one label at the last level"),
    ],
)
def test_classes_that_do_not_fit(change, one, words):
    """Arrays that do not fit together are refused."""
    sound = MergedClasses(
        np.array([[[0, 1], [0, 0]]]),
        np.zeros((1, 2, 2)),
        np.zeros((1, 2), dtype=np.int64),
        np.ones(2, dtype=np.int64),
        np.ones(2, dtype=np.bool_),
    )
    with pytest.raises(ValueError, match=words):
        merge_prices(sound._replace(**change), one, np.ones(1), np.ones(1, dtype=np.int64))
