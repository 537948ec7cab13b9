"""Estimated uniqueness in the population, recomputed for the verifier from the definitions of the estimators.

N are the people of the population, n the records, f = n / N, u the classes and s(i) those of i records. Everything here
is plain Python: products instead of gamma functions where they are short, a digamma function of its own, bisection.

References
----------
Zayatz (1991), "Estimation of the number of unique population elements using a sample"; Hoshino (2001), "Applying
Pitman's sampling formula to microdata disclosure risk assessment"; Chen, McNulty (1998), "Estimation of identification
disclosure risk in microdata"; Haas, Stokes (1998), "Estimating the number of classes in a finite population"; Dankar,
El Emam, Neisa, Roffey (2012), "Estimating the re-identification risk of clinical data sets".
"""

import math
from collections.abc import Callable, Mapping

Sizes = Mapping[int, int]
"""Classes by the number of their records."""

SMALL_FRACTION = 0.1
"""Sampling fraction up to which the rule of Dankar et al. takes Pitman's estimator."""

LEAST, MOST = 1e-4, 1 - 1e-9
"""Between these Pitman's first parameter is looked for."""

MARGIN = 1e-9
"""How close to the ends of its range the parameter of the slide negative binomial model is looked for."""

HALVINGS = 200
"""A bisection ends long before, when floating-point numbers are too few to halve."""


def population_uniqueness(sizes: Sizes, people: int, estimator: str) -> float:
    """Return the estimated share of records whose people are alone in the population; infinite if people are too few.

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
    """Share of sample uniques times the probability that such a one is alone in the population, by Bayes' rule.

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
    """Expected share of uniques by Pitman's sampling formula with the likeliest parameters; else Zayatz's estimate."""
    u, n = sum(sizes.values()), sum(size * count for size, count in sizes.items())
    if not 1 < u < n:
        return _zayatz(sizes, people)

    def slope(a: float) -> float:
        t = _likeliest_t(a, u, n)
        climb = (u - 1 - t / a * (_digamma(t / a + u) - _digamma(t / a + 1))) / a
        at_one = _digamma(1 - a)
        return climb - math.fsum(count * (_digamma(size - a) - at_one) for size, count in sizes.items())

    if not slope(LEAST) > 0 > slope(MOST):
        return _zayatz(sizes, people)
    a = _root(lambda x: -slope(x), LEAST, MOST)
    t = _likeliest_t(a, u, n)
    return math.exp(math.lgamma(t + 1) - math.lgamma(t + a) + math.lgamma(t + a + people - 1) - math.lgamma(t + people))


def _likeliest_t(a: float, u: int, n: int) -> float:
    """The t, above -a, where the sum over i below u of 1 / (t + i a) equals that over i below n of 1 / (t + i)."""

    def fall(logarithm: float) -> float:
        t = math.exp(logarithm) - a
        classes = (_digamma(t / a + u) - _digamma(t / a + 1)) / a
        return _digamma(t + n) - _digamma(t + 1) - classes

    return math.exp(_root(fall, math.log(MARGIN), 4 * math.log(n) + 10)) - a


def _slide_negative_binomial(sizes: Sizes, people: int) -> float:
    """K p^a / N, where a and p give classes of one and of two records their expected numbers; else Zayatz's estimate.

    With w = (1 - p)(1 - f) / (1 - (1 - p)(1 - f)) and b = a w, s(1) = K f (1 - w f / (1 - f))^a (1 + b), and
    s(2) / s(1) = f / (2 (1 - f)) b (2 + w + b) / (1 + b).
    """
    f = sum(size * count for size, count in sizes.items()) / people
    one, two = sizes.get(1, 0), sizes.get(2, 0)
    if not two:
        return _zayatz(sizes, people)
    classes = _population_classes(sizes, f)
    ratio = 2 * (1 - f) / f * two / one

    def w_of(b: float) -> float:
        return ratio * (1 + b) / b - 2 - b

    def excess(b: float) -> float:
        w = w_of(b)
        return math.log(classes * f * (1 + b) / one) + b / w * math.log1p(-w * f / (1 - f))

    low, high = _positive_root(1 + 1 / f - ratio, ratio), _positive_root(2 - ratio, ratio)
    low, high = low + MARGIN * (high - low), high - MARGIN * (high - low)
    if not (0 < low < high and w_of(high) > 0 and excess(low) < 0 < excess(high)):
        return _zayatz(sizes, people)
    b = _root(excess, low, high)
    w = w_of(b)
    p = 1 - w / ((1 + w) * (1 - f))
    return classes * math.exp(b / w * math.log(p)) / people


def _population_classes(sizes: Sizes, f: float) -> float:
    """Number of classes in the population, K, by Shlosser's estimator as modified by Haas and Stokes."""
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


def _positive_root(middle: float, last: float) -> float:
    """The positive b with b^2 + middle b = last."""
    half = middle / 2
    return last / (half + math.hypot(half, math.sqrt(last)))


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that is negative at ``low`` and positive at ``high`` is 0."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _digamma(x: float) -> float:
    """Derivative of the logarithm of the gamma function, x positive: by its asymptotic series from 10 on."""
    below = 0.0
    while x < 10:
        below += 1 / x
        x += 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return math.log(x) - 0.5 / x - series - below


_ESTIMATORS: dict[str, Callable[[Sizes, int], float]] = {
    "dankar": _dankar,
    "pitman": _pitman,
    "zayatz": _zayatz,
    "snb": _slide_negative_binomial,
}
