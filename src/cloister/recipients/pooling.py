"""Pooled results of an analysis that is repeated over several reconstructions: Rubin's rules.

Source: Rubin (1987), *Multiple imputation for nonresponse in surveys*, section 3.1; degrees of freedom for small
samples: Barnard, Rubin (1999), Biometrika 86(4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt

from cloister.errors import InputError


@dataclass(frozen=True)
class PooledEstimate:
    """The pooled result of several reconstructions.

    The interval holds what varies within an analysis and between reconstructions. These are data sets that a release
    may stand for, not draws from a distribution of the patients' codes: the interval does not hold what they all get
    wrong, such as combinations that are cut apart everywhere.
    """

    estimate: float  # mean of the estimates
    within: float  # mean of the variances of the analyses
    between: float  # variance of the estimates
    variance: float  # within + (1 + 1/n) between
    degrees_of_freedom: float
    interval: tuple[float, float]

    @property
    def standard_error(self) -> float:
        """Square root of the variance."""
        return sqrt(self.variance)


def pool(
    estimates: Sequence[float],
    variances: Sequence[float] | None = None,
    *,
    confidence: float = 0.95,
    complete: float = inf,
) -> PooledEstimate:
    """Pool the estimates of several reconstructions by Rubin's rules.

    Parameters
    ----------
    estimates : of each reconstruction, two or more
    variances : their squared standard errors, each from 0 on; none where only what varies between is wanted
    confidence : of the interval, between 0 and 1
    complete : degrees of freedom that the analysis of the original would have; with it, those for small samples

    Examples
    --------
    >>> found = pool([10.0, 12.0, 11.0], [4.0, 4.0, 4.0])
    >>> found.estimate, found.between, round(found.variance, 3), round(found.degrees_of_freedom, 1)
    (11.0, 1.0, 5.333, 32.0)
    """
    n, within = len(estimates), [0.0] * len(estimates) if variances is None else [*variances]
    if n < 2 or len(within) != n:
        raise InputError(f"{n} estimates and {len(within)} variances were given. Give two or more, as many of each.")
    if not all(map(isfinite, [*estimates, *within])) or min(within) < 0:
        raise InputError("An estimate or a variance is no number from which a result can be pooled.")
    if not 0 < confidence < 1 or not complete > 0:
        raise InputError("The confidence is between 0 and 1, and degrees of freedom are above 0.")
    mean, inside = sum(estimates) / n, sum(within) / n
    between = sum((one - mean) ** 2 for one in estimates) / (n - 1)
    added = (1 + 1 / n) * between
    variance = inside + added
    freedom = (n - 1) * (variance / added) ** 2 if added > 0 else inf
    if complete < inf:
        missing = added / variance if variance > 0 else 0.0
        observed = (complete + 1) / (complete + 3) * complete * (1 - missing)
        freedom = 1 / (1 / freedom + 1 / observed) if observed > 0 else min(freedom, complete)
    from scipy.special import ndtri, stdtrit  # slow to import

    # of Student's t; of the normal distribution where the degrees of freedom have no end
    share = (1 + confidence) / 2
    reach = float(ndtri(share) if freedom == inf else stdtrit(freedom, share)) * sqrt(variance)
    return PooledEstimate(mean, inside, between, variance, freedom, (mean - reach, mean + reach))
