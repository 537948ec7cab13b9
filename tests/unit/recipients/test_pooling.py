"""Rubin's rules over several reconstructions."""

from math import inf

import pytest
from scipy import stats

import cloister as cl


def test_a_published_way_of_pooling():
    """Mean, variances and degrees of freedom are those of Rubin (1987), worked by hand for five estimates."""
    found = cl.pool([2.0, 3.0, 4.0, 3.5, 2.5], [1.0, 1.2, 0.8, 1.0, 1.0])

    assert found.estimate == pytest.approx(3.0)
    assert found.within == pytest.approx(1.0)
    assert found.between == pytest.approx(0.625)
    assert found.variance == pytest.approx(1 + 1.2 * 0.625)
    assert found.degrees_of_freedom == pytest.approx(4 * (1 + 1 / 0.75) ** 2)
    reach = stats.t.ppf(0.975, found.degrees_of_freedom) * found.standard_error
    assert found.interval == pytest.approx((3 - reach, 3 + reach))


def test_small_samples_have_fewer_degrees_of_freedom():
    """With those of the complete data, the formula of Barnard and Rubin (1999) gives no more than these."""
    found = cl.pool([2.0, 3.0, 4.0], [1.0, 1.0, 1.0], complete=10)
    ratio = (4 / 3) / found.variance
    observed = 11 / 13 * 10 * (1 - ratio)

    assert found.degrees_of_freedom == pytest.approx(1 / (1 / (2 / ratio**2) + 1 / observed))
    assert found.degrees_of_freedom < 10


def test_reconstructions_that_agree_vary_no_more_than_one():
    """Without variance between them the interval is that of one analysis; without any variance it is a point."""
    same = cl.pool([3.0, 3.0], [4.0, 4.0])

    assert same.degrees_of_freedom == inf
    assert same.interval == pytest.approx((3 - 1.959964 * 2, 3 + 1.959964 * 2))
    assert cl.pool([3.0, 3.0]).interval == (3.0, 3.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"estimates": [1.0]},
        {"estimates": [1.0, 2.0], "variances": [1.0]},
        {"estimates": [1.0, float("nan")]},
        {"estimates": [1.0, 2.0], "variances": [1.0, -1.0]},
        {"estimates": [1.0, 2.0], "confidence": 1.0},
        {"estimates": [1.0, 2.0], "complete": 0},
    ],
)
def test_what_cannot_be_pooled_is_refused(wrong):
    """One estimate, a missing variance or a share that is none ends with a sentence."""
    with pytest.raises(cl.InputError):
        cl.pool(**wrong)
