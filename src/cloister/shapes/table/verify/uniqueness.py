"""Estimated population uniqueness, recomputed for the verifier from the definitions of the estimators.

N are the people of the population, n the records, f = n / N, u the classes and s(i) those of i records. Everything here
is plain Python: products instead of gamma functions where they are short, a digamma function of its own, bisection.

Source: Zayatz (1991), "Estimation of the number of unique population elements using a sample"; Hoshino (2001),
"Applying Pitman's sampling formula to microdata disclosure risk assessment"; Chen, McNulty (1998), "Estimation of
identification disclosure risk in microdata"; Haas, Stokes (1998), "Estimating the number of classes in a finite
population"; Dankar, El Emam, Neisa, Roffey (2012), "Estimating the re-identification risk of clinical data sets".
"""

import math
from collections.abc import Callable, Mapping

Sizes = Mapping[int, int]  # classes by the number of their records
SMALL_FRACTION = 0.1  # sampling fraction up to which the rule of Dankar et al. takes Pitman's estimator
LEAST, MOST = 1e-4, 1 - 1e-9  # between these Pitman's first parameter is looked for
MARGIN = 1e-9  # how close to 0 and 1 the parameter of the slide negative binomial model is looked for
MANY = 10_000  # from here on differences of logarithms of gamma functions are integrals of the digamma function
HALVINGS = 200  # a bisection ends long before, when floating-point numbers are too few to halve


def population_uniqueness(sizes: Sizes, people: int, estimator: str) -> float:
    """Return the estimated share of records that are unique in the population; infinite if people are too few.

    At most the share of records that are alone in the sample, which it is where everybody was sampled.
    """
    records, alone = sum(size * count for size, count in sizes.items()), sizes.get(1, 0)
    if records > people:
        return math.inf
    if not alone:
        return 0.0
    bound = alone / records
    return bound if records == people else min(bound, _ESTIMATORS[estimator](sizes, people))


def _zayatz(sizes: Sizes, people: int) -> float:
    """Return the share of sample uniques times their probability of being population uniques, by Bayes' rule.

    One record of a class of i people is sampled with a probability that is to that of one person's class as
    i times the product over m from 1 to i - 1 of (N - n - m + 1) / (N - m).
    """
    records = sum(size * count for size, count in sizes.items())
    single, ratio, size = 0.0, 1.0, 1
    for wanted in sorted(sizes):
        while size < wanted and ratio > 0:
            ratio *= max(0, people - records - size + 1) / (people - size)
            size += 1
        single += sizes[wanted] * wanted * ratio
    return sizes[1] / single * sizes[1] / records


def _pitman(sizes: Sizes, people: int) -> float:
    """Return the expected share of uniques by Pitman's formula at maximum likelihood; else Zayatz's estimate."""
    u, n = sum(sizes.values()), sum(size * count for size, count in sizes.items())
    if not 1 < u < n:
        return _zayatz(sizes, people)

    def slope(a: float) -> float:
        t = _t_of_maximum_likelihood(a, u, n)
        climb = (u - 1 - t / a * _harmonic(t / a + 1, u - 1)) / a
        at_one = _digamma(1 - a)
        return climb - math.fsum(count * (_digamma(size - a) - at_one) for size, count in sizes.items())

    if not slope(LEAST) > 0 > slope(MOST):
        return _zayatz(sizes, people)
    a = _root(lambda x: -slope(x), LEAST, MOST)
    t = _t_of_maximum_likelihood(a, u, n)
    return math.exp(_log_gamma_fall(t + 1, 1 - a) - _log_gamma_fall(t + people, 1 - a))


def _t_of_maximum_likelihood(a: float, u: int, n: int) -> float:
    """The t, above -a, where the sum over i below u of 1 / (t + i a) equals that over i below n of 1 / (t + i)."""

    def fall(logarithm: float) -> float:
        t = math.exp(logarithm) - a
        return _harmonic(t + 1, n - 1) - _harmonic(t / a + 1, u - 1) / a

    return math.exp(_root(fall, math.log(MARGIN), 4 * math.log(n) + 10)) - a


def _slide_negative_binomial(sizes: Sizes, people: int) -> float:
    """K p^a / N, where a and p give classes of one and of two records their expected numbers; else Zayatz's estimate.

    With w = (1 - p)(1 - f) / (1 - (1 - p)(1 - f)), b = a w, g = f / (1 - f) and v = w g, s(1) = K f (1 - v)^a (1 + b),
    and s(2) / s(1) = g b (2 + w + b) / (2 (1 + b)), which is a quadratic equation for b. No v within ``MARGIN`` of 0 or
    of 1 is a solution.
    """
    records = sum(size * count for size, count in sizes.items())
    f, g = records / people, records / (people - records)
    one, two = sizes.get(1, 0), sizes.get(2, 0)
    if not two:
        return _zayatz(sizes, people)
    classes = _population_classes(sizes, f)

    def b_of(v: float) -> float:
        # the positive b with g b^2 + (2 g + v - c) b = c, where c = 2 two / one
        half = (2 * g + v - 2 * two / one) / 2
        sum_of_roots = abs(half) + math.hypot(half, math.sqrt(g * (2 * two / one)))
        return 2 * two / one / sum_of_roots if half > 0 else sum_of_roots / g

    def lack(share: float, rest: float) -> float:
        b = b_of(share)
        return -math.log(classes * f * (1 + b) / one) - b * g / share * math.log(rest)

    # Whichever of v and 1 - v is at most a half is looked for, so that both keep all their digits.
    if not lack(MARGIN, 1 - MARGIN) < 0 < lack(1 - MARGIN, MARGIN):
        return _zayatz(sizes, people)
    if lack(0.5, 0.5) > 0:
        v = _root(lambda x: lack(x, 1 - x), MARGIN, 0.5)
        rest = 1 - v
    else:
        rest = _root(lambda x: -lack(1 - x, x), MARGIN, 0.5)
        v = 1 - rest
    p = g * rest / (g + v)
    return classes * math.exp(b_of(v) * g / v * math.log(p)) / people


def _population_classes(sizes: Sizes, f: float) -> float:
    """Return the number of classes in the population, K, by Shlosser's estimator as modified by Haas and Stokes."""
    unseen = math.fsum(count * (1 - f) ** i for i, count in sizes.items())
    seen_once = math.fsum(i * f * (1 - f) ** (i - 1) * count for i, count in sizes.items())
    above = math.fsum(i * f**2 * (1 - f**2) ** (i - 1) * count for i, count in sizes.items())
    # (1 - f)^i ((1 + f)^i - 1), so written that large classes do not overflow.
    below = math.fsum(count * (1 - f**2) ** i * -math.expm1(-i * math.log1p(f)) for i, count in sizes.items())
    return sum(sizes.values()) + sizes[1] * above / below * (unseen / seen_once) ** 2


def _dankar(sizes: Sizes, people: int) -> float:
    """Pitman's estimate where few are sampled; else the lesser of the slide negative binomial and Zayatz's."""
    if sum(size * count for size, count in sizes.items()) <= SMALL_FRACTION * people:
        return _pitman(sizes, people)
    return min(_slide_negative_binomial(sizes, people), _zayatz(sizes, people))


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a function that is negative at ``low`` and positive at ``high``."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _log_gamma_fall(x: float, by: float) -> float:
    """Return log gamma(x) - log gamma(x - by), by from 0 to 1: by Simpson's rule if x is large.

    With billions of people nothing would be left of the difference of two logarithms.
    """
    if x < MANY:
        return math.lgamma(x) - math.lgamma(x - by)
    return by / 6 * (_digamma(x - by) + 4 * _digamma(x - by / 2) + _digamma(x))


def _harmonic(x: float, terms: int) -> float:
    """Return the sum of 1 / (x + i) over i below ``terms``, x positive: by digamma functions from 10 on."""
    first = 0.0
    while x < 10 and terms:
        first, x, terms = first + 1 / x, x + 1, terms - 1
    return first + math.log1p(terms / x) - _below_logarithm(x + terms) + _below_logarithm(x) if terms else first


def _digamma(x: float) -> float:
    """Return the derivative of the logarithm of the gamma function, x positive."""
    below = 0.0
    while x < 10:
        below += 1 / x
        x += 1
    return math.log(x) - _below_logarithm(x) - below


def _below_logarithm(x: float) -> float:
    """Return log x minus digamma of x, x at least 10, by the asymptotic series."""
    square = 1 / (x * x)
    return 0.5 / x + square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))


_ESTIMATORS: dict[str, Callable[[Sizes, int], float]] = {
    "dankar": _dankar,
    "pitman": _pitman,
    "zayatz": _zayatz,
    "snb": _slide_negative_binomial,
}
