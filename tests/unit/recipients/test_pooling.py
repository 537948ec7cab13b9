"""Rubin's rules over several reconstructions."""

from math import inf, log
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from lifelines import CoxPHFitter
from scipy import stats
from sklearn.linear_model import LogisticRegression
from statsmodels.formula import api as formula

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


@pytest.fixture(scope="module")
def frames():
    """Three tables of one made-up study that differ in a column."""
    rng = np.random.default_rng(0)
    x, d = rng.normal(size=80), rng.random(80) < 0.5
    found = [{"x": x + rng.normal(size=80) / 9, "d": d.astype(int), "t": rng.exponential(size=80)} for _ in range(3)]
    return [pandas.DataFrame(one) for one in found]


@pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")  # of lifelines
def test_fitted_results_are_pooled_term_by_term(frames):
    """Each term of a model of statsmodels or lifelines is pooled as its estimates and variances are."""
    logits = [formula.logit("d ~ x", frame).fit(disp=0) for frame in frames]
    coxes = [CoxPHFitter().fit(frame, "t", "d") for frame in frames]
    logit, cox = cl.pool(logits), cl.pool(coxes)

    one = cl.pool([fit.params["x"] for fit in logits], [fit.cov_params()["x"]["x"] for fit in logits], complete=78)
    assert logit["term"].to_list() == ["Intercept", "x"]
    assert logit.row(1)[1:] == pytest.approx(
        (one.estimate, one.standard_error, *one.interval, one.degrees_of_freedom, one.missing_information)
    )
    assert cox["term"].to_list() == ["x"]
    assert cox["estimate"].item() == pytest.approx(np.mean([fit.params_["x"] for fit in coxes]))
    assert 0 < cox["missing_information"].item() < 1


def test_results_without_variances_have_a_mean_alone(frames):
    """scikit-learn states no variances, so that there is no interval."""
    fits = [LogisticRegression().fit(frame[["x"]], frame["d"]) for frame in frames]
    found = cl.pool(fits)

    assert found["term"].to_list() == ["x", "intercept"]
    assert found["estimate"][0] == pytest.approx(np.mean([fit.coef_[0, 0] for fit in fits]))
    assert found["lower"].null_count() == 2


def test_pairs_are_pooled_as_numbers_are():
    """Pairs of an estimate and a variance give a frame of one row."""
    found, one = cl.pool([(1.0, 0.5), (2.0, 0.5)]), cl.pool([1.0, 2.0], [0.5, 0.5])

    assert found.row(0)[1:3] == (one.estimate, one.standard_error)
    assert one.missing_information == pytest.approx((1.5 + 2 / (one.degrees_of_freedom + 3)) / 2.5)
    assert cl.pool([1.0, 2.0]).missing_information == 1.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [(["a", "b"], "neither of statsmodels"), ([(1.0, 1.0)], "1 estimates"), ([(1.0, 1.0), 2.0], "neither")],
)
def test_unknown_results_are_refused(wrong, message):
    """Text, one result alone, and numbers among pairs end with a sentence."""
    with pytest.raises(cl.InputError, match=message):
        cl.pool(wrong)


def test_results_with_different_terms_are_refused():
    """A category that one table lacks is not pooled silently."""
    fits = [
        SimpleNamespace(params=pandas.Series({name: log(2)}), cov_params=lambda: np.ones((1, 1))) for name in ("a", "b")
    ]
    with pytest.raises(cl.InputError, match="different terms"):
        cl.pool(fits)
