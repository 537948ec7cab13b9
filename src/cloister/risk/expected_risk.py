"""What 1 / F is expected to be for a class with f records in the sample, F its people, under models of class sizes."""

import numpy as np
from numpy.typing import NDArray

from cloister.privacy.population_estimates import Sample, fitted_snb, likeliest_pitman, log_gamma_ratio, shlosser

Numbers = NDArray[np.float64]

SUMMED = 100_000
"""People of a class up to which probabilities are added up; 1 / F is less than 0.00001 beyond."""

LARGE = 50
"""From so many records on, 1 / F is worked out from mean and variance of F."""


def expected_reciprocals(sample: Sample, model: str) -> Numbers:
    """Return the expectation of 1 / F given the records of the class, for each size of the sample, shape (n_sizes,).

    Where a model has no solution, Zayatz's stands in, as in the estimates of population uniques.

    Parameters
    ----------
    model : ``pitman``, ``snb`` or ``zayatz``

    Examples
    --------
    >>> import numpy as np
    >>> whole = Sample(np.array([1, 2]), np.array([3, 1]), population=5)
    >>> expected_reciprocals(whole, "pitman").tolist()
    [1.0, 0.5]
    """
    if sample.fraction == 1:
        return 1.0 / sample.sizes
    fitted = parameters(sample, model)
    if fitted is None:
        return _zayatz(sample)
    expected = _pitman if model == "pitman" else _snb
    return np.array([expected(sample, int(f), *fitted) for f in sample.sizes])


def parameters(sample: Sample, model: str) -> tuple[float, float] | None:
    """Return the parameters of a model that was fitted to a sample; None if it has no solution, or needs none."""
    if model == "pitman":
        return likeliest_pitman(sample)
    if model == "snb" and sample.n_of(1):
        return fitted_snb(sample, shlosser(sample))
    return None


def _pitman(sample: Sample, f: int, a: float, t: float) -> float:
    """By Pitman's process: a beta-binomial number, of f - a and t + n - f + a, of those not sampled join the class.

    The next person joins a class of f among n with probability (f - a) / (n + t), whatever came before.
    """
    others, first, second = sample.population - sample.n_records, f - a, t + sample.n_records - f + a
    whole = first + second
    if f >= LARGE:
        mean = others * first / whole
        variance = mean * second / whole * (whole + others) / (whole + 1)
        return float((1 + variance / (f + mean) ** 2) / (f + mean))
    x = np.arange(min(others, SUMMED), dtype=np.float64)
    steps = np.log(others - x) + np.log(first + x) - np.log(x + 1) - np.log(second + others - x - 1)
    one = np.array([first])
    none_joins = float((log_gamma_ratio(second, one) - log_gamma_ratio(second + others, one))[0])
    chances = np.exp(none_joins + np.concatenate([[0.0], np.cumsum(steps)]))
    return _mean_reciprocal(np.arange(f, f + chances.size, dtype=np.float64), chances, 1.0)


def _snb(sample: Sample, f: int, a: float, p: float) -> float:
    """By Bayes' rule, F - 1 being negative binomial and every person sampled with the same probability."""
    i = np.arange(f, f + SUMMED, dtype=np.float64)
    steps = (
        np.log(i - 1 + a) - np.log(i) + np.log1p(-p) + np.log(i + 1) - np.log(i + 1 - f) + np.log1p(-sample.fraction)
    )
    logs = np.concatenate([[0.0], np.cumsum(steps[:-1])])
    chances = np.exp(logs - logs.max())
    return _mean_reciprocal(i, chances, float(chances.sum()))


def _zayatz(sample: Sample) -> Numbers:
    """By Bayes' rule, the classes of the population being spread over sizes as those of the sample are.

    People are taken to be sampled one by one with the same probability; Zayatz draws a sample of fixed size.
    """
    from scipy.special import gammaln

    found = []
    for f in sample.sizes:
        i, classes = sample.sizes[sample.sizes >= f], sample.classes[sample.sizes >= f]
        logs = np.log(classes) + gammaln(i + 1.0) - gammaln(i - f + 1.0) + (i - f) * np.log1p(-sample.fraction)
        chances = np.exp(logs - logs.max())
        found.append(_mean_reciprocal(i.astype(np.float64), chances, float(chances.sum())))
    return np.array(found)


def _mean_reciprocal(people: Numbers, chances: Numbers, total: float) -> float:
    """Mean of one over the people; what chance there is beyond them counts as half of the least value summed."""
    beyond = max(0.0, total - float(chances.sum())) / float(people[-1]) / 2
    return (float((chances / people).sum()) + beyond) / total
