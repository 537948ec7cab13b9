"""Step 4: how the excluded patients differ from those who remain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .data import PATIENT, Claims
from .dates import numbers_of
from .plan import AGE, DAYS_SINCE_FIRST, LENGTH_OF_STAY
from .steps import StepLine

STEP = "4 representativeness"
SEX = "sex"
AGES = (*((10 * n, f"{10 * n}-{10 * n + 9}") for n in range(8)), (80, "80+"))
MONTHS = (*((30 * n, f"{n}-{n + 1} months") for n in range(12)), (360, "12+ months"))
BAND = r"^\s*\[?([0-9]{1,3})\s*(?:\+|-\s*[0-9]{1,3}\]?)\s*$"
STAYS = (
    (0, "0 days"),
    (1, "1 day"),
    *((n, f"{n} days") for n in range(2, 7)),
    (7, "1-2 weeks"),
    (15, "2-4 weeks"),
    (29, "4-8 weeks"),
    (57, "8-12 weeks"),
    (85, "12-26 weeks"),
    (183, "26+ weeks"),
)


@dataclass(frozen=True)
class Comparison:
    """The distribution of one variable among excluded and remaining patients, or their claims.

    Attributes
    ----------
    variable : sex, age, days since first claim, length of stay
    bands : of its values
    excluded, remaining : counts by band; missing values are not counted
    statistic, p_value : of the two-sample Kolmogorov-Smirnov test (two-sided); None of sex, or where a group is empty
    """

    variable: str
    bands: tuple[str, ...] = field(repr=False)
    excluded: tuple[int, ...] = field(repr=False)
    remaining: tuple[int, ...] = field(repr=False)
    statistic: float | None = None
    p_value: float | None = None

    def shares(self, k: int) -> dict[str, tuple[float | None, float | None]]:
        """Share of each band among excluded and remaining; None where it could tell of fewer than k of them.

        A sex that fewer than k have in both groups is left out altogether, since its name is a value of the data.
        """
        both = zip(self.bands, _shares(self.excluded, k), _shares(self.remaining, k), strict=True)
        large = [max(counts) >= k for counts in zip(self.excluded, self.remaining, strict=True)]
        return {
            band: (of_excluded, of_remaining)
            for (band, of_excluded, of_remaining), told in zip(both, large, strict=True)
            if told or self.variable != SEX
        }


def _shares(counts: Sequence[int], k: int) -> list[float | None]:
    """Shares; where those withheld are fewer than k in all, the least other one is withheld with them."""
    total = sum(counts)
    hidden = {place for place, count in enumerate(counts) if 0 < count < k}
    if 0 < sum(counts[place] for place in hidden) < k:
        others = [place for place, count in enumerate(counts) if count >= k]
        hidden |= {min(others, key=lambda place: counts[place])} if others else set()
    return [None if place in hidden or not total else count / total for place, count in enumerate(counts)]


@dataclass(frozen=True)
class Representativeness:
    """Excluded against remaining patients.

    Attributes
    ----------
    comparisons : by variable, as far as the data have it
    median_claims_excluded, median_claims_remaining : of patients with claims; None where there are none
    n_excluded, n_remaining : patients
    line : for the report
    """

    comparisons: tuple[Comparison, ...]
    median_claims_excluded: float | None
    median_claims_remaining: float | None
    n_excluded: int = field(repr=False)
    n_remaining: int = field(repr=False)
    line: StepLine = field(repr=False)

    def told(self, k: int) -> dict[str, object]:
        """What may be told: shares, tests and medians; only shares where a group has fewer than k patients."""
        large = min(self.n_excluded, self.n_remaining) >= k
        return {
            "variables": {
                one.variable: {
                    "shares": one.shares(k),
                    "statistic": one.statistic if large else None,
                    "p_value": one.p_value if large else None,
                }
                for one in self.comparisons
            },
            "median_claims_excluded": self.median_claims_excluded if large else None,
            "median_claims_remaining": self.median_claims_remaining if large else None,
        }


def representativeness(excluded: Claims, remaining: Claims) -> Representativeness:
    """Compare the patients that step 2 took out with those who remain, both after step 5.

    Sex and age count patients, days since first claim and length of stay count claims. Tests compare the values, not
    the bands, or the first number of each band where the data have bands; the bands are those of the paper, which also
    leaves sex without a test.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 3, tables 1 to 4.
    """
    comparisons = [
        *_sex(excluded, remaining),
        *_numbers(excluded, remaining, "age", AGES, "patients"),
        *_numbers(excluded, remaining, "days since first claim", MONTHS, "claims"),
        *_numbers(excluded, remaining, "length of stay", STAYS, "claims"),
    ]
    done = f"Excluded and remaining patients compared by {', '.join(one.variable for one in comparisons) or 'nothing'}."
    return Representativeness(
        tuple(comparisons),
        _median_claims(excluded),
        _median_claims(remaining),
        excluded.n_patients,
        remaining.n_patients,
        StepLine(STEP, done),
    )


def _sex(excluded: Claims, remaining: Claims) -> list[Comparison]:
    column = remaining.plan.patient_column("sex")
    if column is None:
        return []
    counts = [_counts(data.patients[column]) for data in (excluded, remaining)]
    values = sorted({*counts[0], *counts[1]})
    told = [tuple(found.get(value, 0) for value in values) for found in counts]
    return [Comparison(SEX, tuple(values), told[0], told[1])]


def _counts(series: pl.Series) -> Mapping[str, int]:
    return dict(series.drop_nulls().value_counts().iter_rows())


def _numbers(
    excluded: Claims, remaining: Claims, variable: str, bands: Sequence[tuple[int, str]], table: str
) -> list[Comparison]:
    column = _column(remaining, variable)
    if column is None:
        return []
    values = [_values(data.patients if table == "patients" else data.claims, column) for data in (excluded, remaining)]
    starts = [start for start, _ in bands]
    counts = [
        tuple(np.bincount(np.searchsorted(starts, found, side="right") - 1, minlength=len(bands)).tolist())
        for found in values
    ]
    statistic, p_value = _kolmogorov_smirnov(*values)
    return [Comparison(variable, tuple(name for _, name in bands), counts[0], counts[1], statistic, p_value)]


def _column(data: Claims, variable: str) -> str | None:
    if variable == "age":
        return data.plan.patient_column("age", AGE)
    if variable == "length of stay":
        return data.plan.claim_column("length-of-stay", LENGTH_OF_STAY)
    return data.plan.claim_column("days-since-first-claim", DAYS_SINCE_FIRST)


def _values(frame: pl.DataFrame, column: str) -> NDArray[np.int64]:
    series = frame[column]
    numbers = numbers_of(starts_of(series), "the data") if series.dtype == pl.String else series
    return numbers.drop_nulls().to_numpy().astype(np.int64)


def starts_of(series: pl.Series) -> pl.Series:
    """The first numbers of bands such as ``70-79``, ``[70-79]`` and ``80+``; all else as it is."""
    return series.str.extract(BAND).fill_null(series)


def _kolmogorov_smirnov(
    excluded: NDArray[np.int64], remaining: NDArray[np.int64]
) -> tuple[float, float] | tuple[None, None]:
    if not excluded.size or not remaining.size:
        return None, None
    from scipy.stats import ks_2samp  # slow to import

    result = ks_2samp(excluded, remaining, method="asymp")
    return float(result.statistic), float(result.pvalue)


def _median_claims(data: Claims) -> float | None:
    counts = data.claims.group_by(PATIENT).len()["len"]
    median = counts.median()
    return None if median is None else float(str(median))
