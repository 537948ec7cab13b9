"""Uniqueness: few released records are unique in the release, or unique in the population by an estimate.

In the formulas of the estimators N and n are people and records, f = n / N, u the classes and s(i) those of i records.
Every estimate is of the expected number of population uniques over N, from the class sizes of the sample. Gamma
functions are computed in logarithms throughout, and never as a difference of large ones: with a few records of billions
of people, such a difference would have no correct digit.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.settings.constraints import Interval

from .rule import TOLERANCE, Share, TableRule, at_most, check_field, write_number

LARGEST_FRACTION_OF_PITMAN = 0.1
"""Dankar et al. (2012): above this sampling fraction their rule leaves Pitman's estimator."""

SMALLEST = 1e-9
"""How close to its limits a parameter is looked for."""

MOST_PEOPLE = 10**11
"""Populations up to this size are computed with, and tested; as many people as ever lived."""

LARGE = 1000
"""From here on two terms of Stirling's series are exact."""


@dataclass(frozen=True)
class Sample:
    """The class sizes of a sample.

    Attributes
    ----------
    sizes : (n_sizes,) int64, the sizes that occur, ascending, the first at least 1
    classes : (n_sizes,) int64, classes of each size, from 0 on
    population : people, at least as many as records
    """

    sizes: NDArray[np.int64]
    classes: NDArray[np.int64]
    population: int

    @property
    def n_records(self) -> int:
        """The number of records in all classes."""
        return int((self.sizes * self.classes).sum())

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.classes.sum())

    def n_of(self, size: int) -> int:
        """Return the number of classes of a size."""
        return int(self.classes[self.sizes == size].sum())

    @property
    def fraction(self) -> float:
        """The sampling fraction of the population."""
        return self.n_records / self.population


def estimated_share(sample: Sample, estimator: str) -> float:
    """Return the estimated share of population uniques among the records, from 0 to the share of sample uniques."""
    uniques = sample.n_of(1)
    if uniques == 0:
        return 0.0
    bound = uniques / sample.n_records
    if sample.n_records == sample.population:
        return bound
    return min(EVERY_ESTIMATOR[estimator](sample), bound)


def zayatz(sample: Sample) -> float:
    """Return Zayatz's estimate: the probability that a sample unique is a population unique, times their share.

    By Bayes' rule, assuming that class sizes in the population are distributed like those in the sample, and one
    record of a class of i people sampled with probability i C(N - i, n - 1) / C(N, n).

    Source: Zayatz (1991), "Estimation of the number of unique population elements using a sample".
    """
    people, records = sample.population, sample.n_records
    possible = sample.sizes <= people - records + 1
    sizes, classes = sample.sizes[possible], sample.classes[possible]
    fewer: NDArray[np.float64] = 1 - sizes.astype(np.float64)
    chance = log_gamma_ratio(people, fewer) - log_gamma_ratio(people - records + 1, fewer)
    uniques = sample.n_of(1)
    return float(uniques * uniques / (classes * sizes * np.exp(chance)).sum() / records)


def pitman(sample: Sample) -> float:
    """Return the estimate by Pitman's sampling formula with maximum likelihood parameters; Zayatz's if there are none.

    The expected uniques are N G(t + 1) G(t + a + N - 1) / (G(t + a) G(t + N)), G the gamma function: the exact mean,
    where the literature uses its limit for large N.

    Source: Hoshino (2001), "Applying Pitman's sampling formula to microdata disclosure risk assessment".
    """
    fitted = maximum_likelihood_pitman(sample)
    if fitted is None:
        return zayatz(sample)
    a, t = fitted
    off = np.array([a - 1])
    mean = log_gamma_ratio(t + sample.population, off) - log_gamma_ratio(t + 1, off)
    return math.exp(float(mean[0]))


def ewens(sample: Sample) -> float:
    """Return the estimate by Ewens' sampling formula, Pitman's with a = 0; 1 if no two records are alike.

    The maximum likelihood t makes the expected number of classes, the sum of t / (t + i) over i below n, that of the
    sample; the expected uniques are N t / (t + N - 1).

    Source: Hoshino, Takemura (1998), "On the relation between logarithmic series model and other superpopulation models
    useful for microdata disclosure risk assessment".
    """
    from scipy.optimize import brentq

    u, n = sample.n_classes, sample.n_records
    if u == n:
        return 1.0

    def excess(logarithm: float) -> float:
        t = math.exp(logarithm)
        return t * _digamma_rise(t, n) - u

    low, high = math.log(SMALLEST), math.log(10) + 2 * math.log(n)
    t = math.exp(low if excess(low) >= 0 else brentq(excess, low, high, xtol=1e-13))
    return t / (t + sample.population - 1)


def snb(sample: Sample) -> float:
    """Return the estimate by the slide negative binomial model; Zayatz's if the model cannot be fitted.

    Class sizes of the population are 1 + a negative binomial variable of parameters a and p, so K p^a of the K classes
    are unique. K is Shlosser's estimate as modified by Haas and Stokes; a and p give the classes of one and of two
    records their expected numbers.

    Source: Chen, McNulty (1998), "Estimation of identification disclosure risk in microdata"; Haas, Stokes (1998),
    "Estimating the number of classes in a finite population".
    """
    n_classes = shlosser(sample)
    fitted = fitted_snb(sample, n_classes)
    if fitted is None:
        return zayatz(sample)
    a, p = fitted
    return n_classes * math.exp(a * math.log(p)) / sample.population


def dankar(sample: Sample) -> float:
    """Return the estimate chosen by the rule of Dankar et al.

    Where at most a tenth is sampled, Pitman's; else the lesser of the slide negative binomial and Zayatz's.

    Source: Dankar, El Emam, Neisa, Roffey (2012), "Estimating the re-identification risk of clinical data sets".
    """
    if sample.fraction <= LARGEST_FRACTION_OF_PITMAN:
        return pitman(sample)
    return min(snb(sample), zayatz(sample))


ESTIMATORS: dict[str, Callable[[Sample], float]] = {"dankar": dankar, "pitman": pitman, "zayatz": zayatz, "snb": snb}
"""Those of the rule population-uniqueness."""

EVERY_ESTIMATOR = ESTIMATORS | {"ewens": ewens}


def maximum_likelihood_pitman(sample: Sample) -> tuple[float, float] | None:
    """Return the maximum likelihood parameters of Pitman's formula; None if there are none.

    They are (a, t), 0 < a < 1 and t > -a, at which both derivatives of the likelihood are 0.

    For each a there is one t; along that curve a is found where the other derivative changes its sign.
    """
    from scipy.optimize import brentq
    from scipy.special import digamma

    if not 1 < sample.n_classes < sample.n_records:
        return None

    def slope(a: float) -> float:
        u, t = sample.n_classes, _t_of_maximum_likelihood(sample, a)
        climb = (u - 1 - t / a * _digamma_rise(t / a + 1, u - 1)) / a
        return float(climb - (sample.classes * (digamma(sample.sizes - a) - digamma(1 - a))).sum())

    low, high = 1e-4, 1 - SMALLEST
    if not (slope(low) > 0 > slope(high)):
        return None
    a = float(brentq(slope, low, high, xtol=1e-12))
    return a, _t_of_maximum_likelihood(sample, a)


def _t_of_maximum_likelihood(sample: Sample, a: float) -> float:
    """The t at which the likelihood is largest for this a: its derivative falls from infinity to below 0 at 10 n^2."""
    from scipy.optimize import brentq

    u, n = sample.n_classes, sample.n_records

    def slope(logarithm: float) -> float:
        t = math.exp(logarithm) - a
        return _digamma_rise(t / a + 1, u - 1) / a - _digamma_rise(t + 1, n - 1)

    low, high = math.log(SMALLEST), math.log(10) + 2 * math.log(n)
    return math.exp(high if slope(high) >= 0 else brentq(slope, low, high, xtol=1e-13)) - a


def _digamma_rise(x: float, more: int) -> float:
    """Digamma function at x + more less that at x, both above 0, to all digits however large x is."""
    return math.log1p(more / x) + _beyond_logarithm(x + more) - _beyond_logarithm(x)


def _beyond_logarithm(x: float) -> float:
    """Digamma function minus the logarithm."""
    from scipy.special import digamma

    return float(digamma(x)) - math.log(x) if x < LARGE else -1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4)


def shlosser(sample: Sample) -> float:
    """Return the number of classes in the population, by Shlosser's estimator as modified by Haas and Stokes."""
    f, i, s = sample.fraction, sample.sizes.astype(np.float64), sample.classes
    unseen = s * np.exp(i * math.log1p(-f))
    # (1 - f)^i ((1 + f)^i - 1), so written that nothing cancels where f is small, and nothing overflows.
    seen = s * np.exp(i * math.log1p(-f * f)) * -np.expm1(-i * math.log1p(f))
    first = (i * f**2 * np.exp((i - 1) * math.log1p(-f * f)) * s).sum() / seen.sum()
    second = unseen.sum() / (i * f * np.exp((i - 1) * math.log1p(-f)) * s).sum()
    return float(sample.n_classes + sample.n_of(1) * first * second**2)


def fitted_snb(sample: Sample, n_classes: float) -> tuple[float, float] | None:
    """Return (a, p) that give classes of one and two records their expected numbers; None if there are none.

    With g = f / (1 - f), v = (1 - p) f / (1 - (1 - p)(1 - f)) and b = a v / g the expected numbers are
    s(1) = K f (1 - v)^a (1 + b) and s(2) / s(1) = b (2 g + v + g b) / (2 (1 + b)).
    The second gives b for each v from 0 to 1; v is found, as its log-odds, where the first is met. A v closer than
    ``SMALLEST`` to 0 or 1 counts as none: p would be 1 or 0 within rounding.
    """
    from scipy.optimize import brentq

    s1, s2, f = sample.n_of(1), sample.n_of(2), sample.fraction
    if s2 == 0:
        return None
    ratio, odds = 2 * s2 / s1, sample.n_records / (sample.population - sample.n_records)

    def off(logit: float) -> float:
        v = 1 / (1 + math.exp(-logit))
        b = _positive_root(odds, 2 * odds + v - ratio, ratio)
        return math.log(n_classes * f * (1 + b) / s1) - b * odds / v * math.log1p(math.exp(logit))

    end = math.log((1 - SMALLEST) / SMALLEST)
    if not off(-end) > 0 > off(end):
        return None
    logit = float(brentq(off, -end, end, xtol=1e-13))
    v, rest = 1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit))
    b = _positive_root(odds, 2 * odds + v - ratio, ratio)
    return b * odds / v, odds * rest / (odds + v)


def _positive_root(first: float, middle: float, last: float) -> float:
    """The positive b with ``first`` b^2 + ``middle`` b = ``last``."""
    root = math.sqrt(middle**2 + 4 * first * last)
    return 2 * last / (root + middle) if middle > 0 else (root - middle) / (2 * first)


def log_gamma_ratio(x: float, more: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of G(x + more) / G(x), G the gamma function, by Stirling's series; both are above 0."""
    z = x + more
    series: NDArray[np.float64] = more * math.log(x) + (z - 0.5) * np.log1p(more / x) - more
    return series + _beyond_stirling(z) - _beyond_stirling(np.array([x], dtype=np.float64))


def _beyond_stirling(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of G(x) less that of Stirling's formula."""
    from scipy.special import gammaln

    small = np.minimum(x, LARGE)
    exact = gammaln(small) - (small - 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    return np.where(x < LARGE, exact, 1 / (12 * x) - 1 / (360 * x**3))


@dataclass(frozen=True)
class SampleUniqueness(TableRule):
    """At most a ``share`` of the released records are alone in their class.

    Records alone in their class are suppressed until that is so.

    *Guarantee*: someone who knows all quasi-identifiers and who is in the data singles out at most this share of the
    released records. Not promised: anything about classes of two or three; combine the rule with others. Cost: one pass
    over the classes of one record.

    Monotone and closed: a record alone at a coarser transformation is alone at a finer one.

    Source: Skinner, Elliot (2002), "A measure of disclosure risk for microdata": sample uniques.
    """

    share: Share

    model = "sample-uniqueness"
    usage = "sample-uniqueness=0.01"
    says = "at most a share of {share} of the released records are alone in their class"
    is_monotone = is_closed = True

    def n_violating(self, sizes: NDArray[np.int64]) -> int:
        """Return how many of the smallest classes must be suppressed; all uniques if fewer do not satisfy the rule."""
        return _excess_uniques(sizes, self.share)


@dataclass(frozen=True)
class PopulationUniqueness(TableRule):
    """An estimated ``share`` of the released records, at most, belong to people who are unique in the population.

    A person is unique in the population if nobody else in it has the same quasi-identifiers, as released. The release
    is taken for a random sample. Estimated is the expected number of uniques in the population over ``size``, which is
    their expected share of the sample; the estimate is cut to the share of sample uniques, since who is unique in the
    population is so in the sample. Without sample uniques it is 0.

    Estimators: ``zayatz``, ``pitman``, ``snb`` (slide negative binomial), or ``dankar``, the rule of Dankar et al.
    that picks among them: Pitman's where at most a tenth of the population is sampled; else the lesser of the slide
    negative binomial and Zayatz's. Where Pitman's or the slide negative binomial has no solution, or one that is a
    limit within rounding, Zayatz's, which always has one, is in.

    *Guarantee*: none that can be proved: the estimate says that at most this share of the records could be linked, with
    certainty, to one person of the population by someone who knows all quasi-identifiers of everybody. Not promised:
    that the estimate is right; anything against someone who knows who is in the data; anything about people who share
    their quasi-identifiers with one other. Cost: some dozen estimates, a few milliseconds each.

    Neither monotone nor closed: classes that are joined change what the estimators conclude from the larger classes,
    and the estimate may rise. Records alone in their class are suppressed; how many is found by bisection, so it is a
    number at which the rule holds while with one record less it does not. Zayatz's estimate falls with every record
    suppressed, so there it is the least such number.

    Source: Dankar, El Emam, Neisa, Roffey (2012), "Estimating the re-identification risk of clinical data sets"; and as
    named with the estimators.
    """

    share: Share
    size: int
    estimator: str = "dankar"

    model = "population-uniqueness"
    usage = "population-uniqueness:1000000=0.01 or population-uniqueness:1000000=0.01,zayatz"
    says = (
        "an estimated share of at most {share} of the released records belong to people who are unique among {size} "
        "(estimator: {estimator})"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_field("The population of population-uniqueness", self.size, Interval(int, 1))
        if self.size > MOST_PEOPLE:
            raise InputError(
                f"The population of population-uniqueness is {self.size}, but it must be at most {MOST_PEOPLE}, more"
                " people than there are. Give the number of all people that the patients may be among."
            )
        if not isinstance(self.estimator, str) or self.estimator not in ESTIMATORS:
            raise InputError(f"The estimator of population uniqueness must be one of {', '.join(ESTIMATORS)}.")

    def n_violating(self, sizes: NDArray[np.int64]) -> int:
        """Return how many of the smallest classes must be suppressed, at most all uniques."""
        n_records = int(sizes.sum())
        if n_records > self.size:
            raise InputError(
                f"population-uniqueness was given a population of {self.size}, but there are {n_records} records. Give"
                " the number of all people that the patients may be among."
            )
        values, counts = np.unique(sizes, return_counts=True)
        most = _excess_uniques(sizes, self.share)
        if most and self._is_within(values, counts, 0):
            return 0
        return bisect_left(range(most), True, key=lambda suppressed: self._is_within(values, counts, suppressed))

    def _is_within(self, values: NDArray[np.int64], counts: NDArray[np.int64], suppressed: int) -> bool:
        """Whether the estimate is within the share once so many uniques are gone; some uniques must be left."""
        left = counts.copy()
        left[0] -= suppressed
        return estimated_share(Sample(values, left, self.size), self.estimator) <= self.share + TOLERANCE

    def words(self) -> str:
        """Return the rule as on the command line."""
        rest = "" if self.estimator == "dankar" else f",{self.estimator}"
        return f"{self.model}:{self.size}={write_number(self.share)}{rest}"


def _excess_uniques(sizes: NDArray[np.int64], share: float) -> int:
    """Smallest number of uniques to suppress so that the others are at most a share of the remaining records."""
    n_uniques, n_records = int(np.searchsorted(sizes, 1, side="right")), int(sizes.sum())
    suppressed = np.arange(n_uniques + 1)
    left = np.maximum(n_records - suppressed, 1)
    return int(np.argmax(at_most((n_uniques - suppressed) / left, share)))
