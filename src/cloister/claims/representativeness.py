"""Step 4: how the excluded patients differ from those who remain, in exact figures for the custodian alone."""

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from .data import PATIENT, Claims, numbers_of
from .data_file import CLAIMS, PATIENTS
from .manifest import VariableName
from .plan import ClaimsPlan
from .plan_sections import AGE, DAYS_SINCE_FIRST, LENGTH_OF_STAY
from .steps import StepLine

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
BANDS = {"age": AGES, "days since first claim": MONTHS, "length of stay": STAYS}
Variable = tuple[VariableName, str, str]
"""What patients are compared by, with its file and column."""


@dataclass(frozen=True)
class VariableComparison:
    """The distribution of one variable among excluded and remaining patients, or their claims.

    Attributes
    ----------
    excluded, remaining : counts by band; missing values are not counted
    statistic, p_value : of the two-sample Kolmogorov-Smirnov test (two-sided); None of sex, or where a group is empty
    """

    variable: str
    bands: tuple[str, ...] = field(repr=False)
    excluded: tuple[int, ...] = field(repr=False)
    remaining: tuple[int, ...] = field(repr=False)
    statistic: float | None = None
    p_value: float | None = None

    def exact(self) -> dict[str, object]:
        """Everything, for the custodian alone."""
        counts = {band: [*both] for band, *both in zip(self.bands, self.excluded, self.remaining, strict=True)}
        return {"excluded and remaining": counts, "statistic": self.statistic, "p_value": self.p_value}


@dataclass(frozen=True)
class Representativeness:
    """Excluded against remaining patients, by each variable that the data have; medians over those with claims."""

    comparisons: tuple[VariableComparison, ...]
    median_claims_excluded: float | None
    median_claims_remaining: float | None
    line: StepLine = field(default=StepLine("4 representativeness"), repr=False)

    def exact(self) -> dict[str, object]:
        """Everything, for the custodian alone: for a release see `claims/compared.py`."""
        return {
            "variables": {one.variable: one.exact() for one in self.comparisons},
            "median_claims_excluded": self.median_claims_excluded,
            "median_claims_remaining": self.median_claims_remaining,
        }


def variables_of(plan: ClaimsPlan) -> list[Variable]:
    """What patients can be compared by, under a plan."""
    there: tuple[tuple[VariableName, str, str | None], ...] = (
        ("sex", PATIENTS, plan.patient_column("sex")),
        ("age", PATIENTS, plan.patient_column("age", AGE)),
        ("days since first claim", CLAIMS, plan.claim_column("days-since-first-claim", DAYS_SINCE_FIRST)),
        ("length of stay", CLAIMS, plan.claim_column("length-of-stay", LENGTH_OF_STAY)),
    )
    return [(name, table, column) for name, table, column in there if column is not None]


def representativeness(excluded: Claims, remaining: Claims) -> Representativeness:
    """Compare the patients that step 2 took out with those who remain, both after step 5.

    Sex and age count patients, days since first claim and length of stay count claims. Tests compare the values, not
    the bands, or the first number of each band where the data have bands; the bands are those of the paper, which also
    leaves sex without a test.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 3, tables 1 to 4.
    """
    return Representativeness(
        tuple(_compared(one, excluded, remaining) for one in variables_of(remaining.plan)),
        median_claims(excluded.claims[PATIENT]),
        median_claims(remaining.claims[PATIENT]),
    )


def _compared(variable: Variable, excluded: Claims, remaining: Claims) -> VariableComparison:
    name, table, column = variable
    frames = [data.patients if table == PATIENTS else data.claims for data in (excluded, remaining)]
    both = [frame[column].drop_nulls() for frame in frames]
    if name == SEX:
        found: list[dict[str, int]] = [dict(one.value_counts().iter_rows()) for one in both]
        sexes = tuple(sorted({*found[0], *found[1]}))
        counts = [tuple(one.get(value, 0) for value in sexes) for one in found]
        return VariableComparison(SEX, sexes, counts[0], counts[1])
    numbers = [numbers_of(starts_of(one), "the data") if one.dtype == pl.String else one for one in both]
    values = [one.to_numpy().astype(np.int64) for one in numbers]
    starts, bands = zip(*BANDS[name], strict=True)
    places = [np.searchsorted(starts, own, side="right") - 1 for own in values]
    counts = [tuple(np.bincount(own, minlength=len(bands)).tolist()) for own in places]
    if not values[0].size or not values[1].size:
        return VariableComparison(name, bands, counts[0], counts[1])
    from scipy.stats import ks_2samp  # slow to import

    test = ks_2samp(*values, method="asymp")
    return VariableComparison(name, bands, counts[0], counts[1], float(test.statistic), float(test.pvalue))


def starts_of(series: pl.Series) -> pl.Series:
    """The first numbers of bands such as ``70-79``, ``[70-79]`` and ``80+``; all else as it is."""
    return series.str.extract(BAND).fill_null(series)


def median_claims(owners: pl.Series) -> float | None:
    """Median of the claims of patients who have any, of the patient of each claim; None where there are none."""
    median = owners.value_counts()["count"].median()
    return None if median is None else float(str(median))
