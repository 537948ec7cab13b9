"""Pooled results of an analysis that is repeated over several reconstructions or imputed tables: Rubin's rules.

Source: Rubin (1987), *Multiple imputation for nonresponse in surveys*, section 3.1; degrees of freedom for small
samples: Barnard, Rubin (1999), Biometrika 86(4).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from numbers import Real
from typing import TypeAlias, overload

import numpy as np
import polars as pl

from cloister.errors import InputError

Terms: TypeAlias = dict[str, tuple[float, float | None]]
"""The estimate of each term of an analysis, and its variance; None if the analysis has none."""
SCHEMA = ("term", "estimate", "standard_error", "lower", "upper", "degrees_of_freedom", "missing_information")


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

    @property
    def missing_information(self) -> float:
        """Fraction of missing information, in [0, 1]: what the labels hide of the estimate."""
        ratio = (self.variance - self.within) / self.within if self.within > 0 else inf
        return 1.0 if ratio == inf else (ratio + 2 / (self.degrees_of_freedom + 3)) / (1 + ratio)


@overload
def pool(  # type: ignore[overload-overlap]  # numbers are objects, too, and come first
    estimates: Sequence[float],
    variances: Sequence[float] | None = None,
    *,
    confidence: float = 0.95,
    complete: float = inf,
) -> PooledEstimate:
    """Pool numbers."""


@overload
def pool(estimates: Sequence[object], *, confidence: float = 0.95, complete: float = inf) -> pl.DataFrame:
    """Pool fitted results, or pairs."""


def pool(
    estimates: Sequence[float] | Sequence[object],
    variances: Sequence[float] | None = None,
    *,
    confidence: float = 0.95,
    complete: float = inf,
) -> PooledEstimate | pl.DataFrame:
    """Pool the results of an analysis of several reconstructions or imputed tables by Rubin's rules.

    Parameters
    ----------
    estimates : two or more numbers; or results of one model, fitted by statsmodels, lifelines or scikit-learn; or pairs
        of an estimate and its variance
    variances : of numbers, their squared standard errors, each from 0 on; none where only what varies between is wanted
    confidence : of the interval, between 0 and 1
    complete : degrees of freedom that the analysis of the original would have; with it, those for small samples. Of
        statsmodels, those of its residuals unless given

    Returns
    -------
    PooledEstimate
        Of numbers.
    pl.DataFrame
        Of results and pairs: one row for each term, with estimate, standard error, interval (``lower``, ``upper``),
        degrees of freedom (Barnard and Rubin) and fraction of missing information. scikit-learn states no variances:
        of its coefficients there is the mean alone, and the rest is null.

    Raises
    ------
    InputError
        There are fewer than two results, they have different terms, or one of them is not known.

    Examples
    --------
    >>> found = pool([10.0, 12.0, 11.0], [4.0, 4.0, 4.0])
    >>> found.estimate, found.between, round(found.variance, 3), round(found.degrees_of_freedom, 1)
    (11.0, 1.0, 5.333, 32.0)
    >>> pool([(10.0, 4.0), (12.0, 4.0), (11.0, 4.0)]).select("term", "estimate").rows()
    [('estimate', 11.0)]
    """
    numbers = [float(one) for one in estimates if isinstance(one, Real)]
    if len(numbers) == len(estimates):
        return _pool_numbers(numbers, variances, confidence, complete)
    return _pool_results(estimates, confidence, complete)


def _pool_results(results: Sequence[object], confidence: float, complete: float) -> pl.DataFrame:
    """Return the pooled terms of fitted results or pairs, one row each."""
    each = [_terms_of(result) for result in results]
    if any(terms.keys() != each[0].keys() for terms in each):
        raise InputError(
            "The results have different terms. Fit the same model to each table, with the same categories."
        )
    freedom = [getattr(result, "df_resid", inf) for result in results] if complete == inf else [complete]
    rows: list[tuple[str | float | None, ...]] = []
    for term in each[0]:
        estimates, variances = zip(*(terms[term] for terms in each), strict=True)
        if None in variances:
            one = _pool_numbers(estimates, None, confidence, inf)
            rows.append((term, one.estimate, *[None] * 5))
            continue
        one = _pool_numbers(estimates, variances, confidence, min(freedom))
        rows.append(
            (term, one.estimate, one.standard_error, *one.interval, one.degrees_of_freedom, one.missing_information)
        )
    return pl.DataFrame(rows, {name: pl.Float64 if name != "term" else pl.String for name in SCHEMA}, orient="row")


def _terms_of(result: object) -> Terms:
    """Return the terms of a fitted result or pair, by the attributes of each library."""
    if isinstance(result, tuple) and len(result) == 2 and all(isinstance(one, Real) for one in result):
        return {"estimate": (float(result[0]), float(result[1]))}
    if hasattr(result, "variance_matrix_") and hasattr(result, "params_"):  # lifelines
        return _named(result.params_.index, result.params_, np.diag(result.variance_matrix_))
    if hasattr(result, "cov_params") and hasattr(result, "params"):  # statsmodels
        model = getattr(result, "model", None)
        names = result.params.index if hasattr(result.params, "index") else getattr(model, "exog_names", ())
        return _named(names, result.params, np.diag(result.cov_params()))
    if hasattr(result, "coef_"):  # scikit-learn
        coefficients = np.append(np.ravel(result.coef_), np.ravel(getattr(result, "intercept_", [])))
        names = [*getattr(result, "feature_names_in_", ()), "intercept"]
        return _named(names if len(names) == coefficients.size else range(coefficients.size), coefficients, None)
    raise InputError(
        "A result is neither of statsmodels, lifelines or scikit-learn nor a pair of an estimate and its variance. "
        "Give fitted results, or pairs."
    )


def _named(names: Iterable[object], estimates: Iterable[float], variances: Iterable[float] | None) -> Terms:
    texts = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in names]
    values = [float(one) for one in estimates]
    known = [None] * len(values) if variances is None else [float(one) for one in variances]
    return dict(zip(texts, zip(values, known, strict=True), strict=True))


def _pool_numbers(
    estimates: Sequence[float], variances: Sequence[float] | None, confidence: float, complete: float
) -> PooledEstimate:
    """Return one pooled estimate."""
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
    return PooledEstimate(mean, inside, between, variance, freedom, interval_of(mean, variance, freedom, confidence))


def interval_of(estimate: float, variance: float, freedom: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval by Student's t, or by the normal distribution if the degrees of freedom have no end."""
    from scipy.special import ndtri, stdtrit  # slow to import

    share = (1 + confidence) / 2
    reach = float(ndtri(share) if freedom == inf else stdtrit(freedom, share)) * sqrt(variance)
    return estimate - reach, estimate + reach
