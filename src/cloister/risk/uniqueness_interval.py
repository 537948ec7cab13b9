"""An interval for population uniqueness: several estimators, and a bootstrap of the class sizes over each.

A sample of few people does not determine how many of them are unique in the population, and estimators err in opposite
directions. Zayatz's is too high: it assumes that the classes of the population are as small as those of the sample.
Ewens' formula is mostly too low: its number of classes grows with the logarithm of the people only. Pitman's and the
slide negative binomial are between them.
"""

import math
from dataclasses import dataclass

import numpy as np

from cloister.privacy.uniqueness import Sample, estimated_share

USED = ("pitman", "zayatz", "snb", "ewens")

SEED, RESAMPLES, TAIL = 0, 100, 0.025
"""Fixed, so that equal class sizes have equal intervals."""

FEW_SAMPLED = 0.03
"""Below this sampling fraction the interval says little (docs/assess.md)."""


@dataclass(frozen=True)
class UniquenessInterval:
    """The lowest and the highest share of records that may be unique in the population, and each estimate."""

    lower: float
    upper: float
    estimates: dict[str, float]
    is_warned: bool  # whether less than `FEW_SAMPLED` of the population is in the sample


def uniqueness_interval(sample: Sample) -> UniquenessInterval:
    """Return the interval from the lowest to the highest end of the bootstrap intervals of several estimators.

    Classes are drawn with replacement, as many as there are; the population keeps its proportion to the records. The
    interval of an estimator is from the 2.5% to the 97.5% quantile, its estimate included. If no two records are alike,
    the interval begins at 0.

    References
    ----------
    Efron, Tibshirani (1993), "An introduction to the bootstrap", chapter 13: percentile intervals; the estimators:
    `cloister.privacy.uniqueness`.

    Examples
    --------
    >>> whole = Sample(np.array([1, 2]), np.array([3, 1]), population=5)
    >>> found = uniqueness_interval(whole)
    >>> found.lower, found.upper
    (0.6, 0.6)
    """
    estimates = {name: estimated_share(sample, name) for name in USED}
    lower, upper = min(estimates.values()), max(estimates.values())
    if sample.n_records < sample.population and sample.n_of(1):
        drawn = np.array([[estimated_share(each, name) for name in USED] for each in _resamples(sample)])
        low, high = np.quantile(drawn, [TAIL, 1 - TAIL], axis=0)
        is_bare = sample.n_classes == sample.n_records
        bound = sample.n_of(1) / sample.n_records
        lower = 0.0 if is_bare else min(lower, float(low.min()))
        upper = min(max(upper, float(high.max())), bound)
    return UniquenessInterval(lower, upper, estimates, sample.fraction < FEW_SAMPLED)


def _resamples(sample: Sample) -> list[Sample]:
    random = np.random.default_rng(SEED)
    drawn = random.multinomial(sample.n_classes, sample.classes / sample.n_classes, size=RESAMPLES)
    records = (drawn * sample.sizes).sum(axis=1).tolist()
    people = [max(n, math.ceil(n / sample.fraction)) for n in records]
    return [Sample(sample.sizes, classes, n) for classes, n in zip(drawn, people, strict=True)]
