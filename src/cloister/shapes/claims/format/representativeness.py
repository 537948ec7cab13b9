"""Step 4: compare the patients excluded in step 2 with those who remain, and with the released patients.

Exact figures are for the custodian only. The release publishes the shares of excluded patients and of released ones.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy
from cloister.io import as_text
from cloister.release.figures import label_counts
from cloister.release.masking import WITHHELD

from .code_systems import EXCLUDING
from .data import PATIENT, Claims, StepLine, numbers_of
from .hierarchies import hierarchy_named
from .manifest import ComparedPatients, ComparedVariable, VariableName
from .plan import AGE, DAYS_OF_YEAR, DAYS_SINCE_FIRST, LENGTH_OF_STAY, ClaimsPlan
from .released_columns import CLAIMS, KEPT, PATIENTS, QUASI, ClaimsForm, ReleasedColumn, WrittenClaims

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
BANDS = {
    "age": AGES,
    "days since first claim": MONTHS,
    "days since first claim of the year": MONTHS,
    "length of stay": STAYS,
}
Variable = tuple[VariableName, str, str]
"""What patients are compared by, with its file and column."""


MOST_BANDS = 16
"""The most rows of a table; if a level has more, the table uses the next level with fewer."""

MISSING = "missing"
LABEL, TIMES = "\0label", "\0times"
Share = float | None


@dataclass(frozen=True, eq=False, repr=False)
class Representativeness:
    """Excluded against remaining patients, by each variable that the data have; medians over those with claims.

    Of each variable the counts of both by band, missing values omitted, and statistic and p-value of the two-sample
    Kolmogorov-Smirnov test (two-sided); None of sex, or where a group is empty.
    """

    variables: dict[str, dict[str, object]]
    median_claims_excluded: float | None
    median_claims_remaining: float | None


def variables_of(plan: ClaimsPlan) -> list[Variable]:
    """Return the variables by which a plan allows patients to be compared."""
    there: tuple[tuple[VariableName, str, str | None], ...] = (
        ("sex", PATIENTS, plan.patients.column("sex")),
        ("age", PATIENTS, plan.patients.column("age", AGE)),
        ("days since first claim", CLAIMS, plan.claims.column("days-since-first-claim", DAYS_SINCE_FIRST)),
        ("days since first claim of the year", CLAIMS, plan.claims.column("", DAYS_OF_YEAR)),
        ("length of stay", CLAIMS, plan.claims.column("length-of-stay", LENGTH_OF_STAY)),
    )
    return [(name, table, column) for name, table, column in there if column is not None]


def representativeness(excluded: Claims, remaining: Claims) -> Representativeness:
    """Compare the patients that step 2 excluded with those who remain, both after step 5.

    Sex and age count patients, days since first claim and length of stay count claims. Tests compare the values, not
    the bands, or the first number of each band where the data have bands; the bands are those of the paper, which also
    leaves sex without a test.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 3, tables 1 to 4.
    """
    return Representativeness(
        {variable[0]: _count_variable(variable, excluded, remaining) for variable in variables_of(remaining.plan)},
        median_claims(excluded.claims[PATIENT]),
        median_claims(remaining.claims[PATIENT]),
    )


def _count_variable(variable: Variable, excluded: Claims, remaining: Claims) -> dict[str, object]:
    name, table, column = variable
    both = [data.of(table)[column].drop_nulls().alias(LABEL).value_counts(name=TIMES) for data in (excluded, remaining)]
    statistic = p_value = None
    if name == SEX:
        found = [dict(one.iter_rows()) for one in both]
        counts = {sex: [one.get(sex, 0) for one in found] for sex in sorted({*found[0], *found[1]})}
    else:
        texts = [own if own.dtype.is_integer() else starts_of(as_text(own)) for own in (one[LABEL] for one in both)]
        values = [numbers_of(one.alias(column)).to_numpy().astype(np.int64) for one in texts]
        times = [one[TIMES].to_numpy() for one in both]
        starts, bands = zip(*BANDS[name], strict=True)
        places = [np.searchsorted(starts, own, side="right") - 1 for own in values]
        sizes = [np.bincount(own, n, len(bands)).astype(int).tolist() for own, n in zip(places, times, strict=True)]
        counts = {band: [*pair] for band, *pair in zip(bands, *sizes, strict=True)}
        n, m = (int(own.sum()) for own in times)
        if n and m and n + m > 2:  # one patient in each group cannot be compared
            from scipy.stats import kstwo  # slow to import

            # as SciPy's ks_2samp has it, which would copy tens of millions of values several times
            at = np.unique(np.concatenate(values))
            one, two = (np.bincount(np.searchsorted(at, v), t, at.size) for v, t in zip(values, times, strict=True))
            statistic = float(np.abs(np.cumsum(one) / n - np.cumsum(two) / m).max())
            p_value = float(np.clip(kstwo.sf(statistic, np.round(n * m / (n + m))), 0, 1))
    return {"excluded and remaining": counts, "statistic": statistic, "p_value": p_value}


def starts_of(series: pl.Series) -> pl.Series:
    """Return the first numbers of bands such as ``70-79``, ``[70-79]`` and ``80+``; other values unchanged."""
    return series.str.extract(BAND).fill_null(series)


def median_claims(owners: pl.Series) -> float | None:
    """Return the median number of claims of patients who have any; None if there are none."""
    median = owners.value_counts()["count"].median()
    return None if median is None else float(str(median))


@dataclass(frozen=True, eq=False, repr=False)
class PreprocessedClaims:
    """Claims after steps 1 to 6, ready to be encoded, with a line for each step.

    ``excluded`` are the patients whom step 2 took out, with what is derived of them.
    """

    claims: Claims
    lines: tuple[StepLine, ...]
    excluded: Claims


def compare_variables(prepared: PreprocessedClaims, files: WrittenClaims, form: ClaimsForm, k: int) -> ComparedPatients:
    """Compare in every variable that the release has, in bands of the level released or of a coarser one.

    Shares of the excluded are rounded to two decimals, and withheld where fewer than k patients are in a band, or in
    all those withheld. Labels that the release does not have are no bands: their names would be values of the excluded.
    """
    # shares of few people would reveal how many people there are
    (line,) = [line for line in prepared.lines if line.step == EXCLUDING]
    is_published = prepared.excluded.n_patients >= k and line.masked(k).total != WITHHELD
    found: dict[VariableName, ComparedVariable] = {}
    for variable in variables_of(prepared.claims.plan):
        name, table, label = variable
        column = form.of(table).get(label)
        if column is not None and column.role in (QUASI, KEPT):
            shares = _shares(prepared, files, variable, column, k if is_published else None)
            if shares is not None:
                found[name] = ComparedVariable(shares=shares, statistic=statistic(name, shares))
    return ComparedPatients(
        variables=found,
        median_claims_excluded=median_claims(prepared.excluded.claims[PATIENT]) if is_published else None,
        median_claims_released=median_claims(files.claims.to_series(0)),
    )


def statistic(variable: str, shares: Mapping[str, tuple[Share, Share]]) -> Share:
    """Return the largest difference between cumulative shares, for ordered values."""
    both = [share for band, share in shares.items() if band != MISSING and variable != SEX]
    sums, greatest = [0.0, 0.0], 0.0
    for excluded, released in both:
        if excluded is None or released is None:
            return None
        sums = [sums[0] + excluded, sums[1] + released]
        greatest = max(greatest, abs(sums[0] - sums[1]))
    return round(greatest, 2) if both else None


def _shares(
    prepared: PreprocessedClaims, files: WrittenClaims, variable: Variable, column: ReleasedColumn, k: int | None
) -> dict[str, tuple[Share, Share]] | None:
    """Shares by band; None where the release has but one label."""
    _, table, label = variable
    plan, here, excluded = prepared.claims.plan, files.of(table)[label], prepared.excluded.of(table)
    qi = plan.of(table).qi
    hierarchy = hierarchy_named(qi[label], plan.grouping.tables) if label in qi else None
    bands = _bands(here, as_text(prepared.claims.of(table)[label].unique()), column, hierarchy)
    if len(set(bands.values())) < 2:
        return None
    names = [*dict.fromkeys(bands.values()), MISSING]
    counts = [(bands.get(text or "", MISSING), n) for text, n in label_counts(here).items()]
    released = [round(sum(n for band, n in counts if band == name) / max(here.len(), 1), 4) for name in names]
    own: list[Share] = [None] * len(names)
    if k is not None:
        labels = _labels_of_excluded(as_text(excluded[label]), column, hierarchy, bands)
        own = _excluded_shares(excluded[PATIENT], labels, names, k)
    return dict(zip(names, zip(own, released, strict=True), strict=True))


def _bands(here: pl.Series, values: pl.Series, column: ReleasedColumn, hierarchy: Hierarchy | None) -> dict[str, str]:
    """From each label released to its band, in the order of values; no label has two bands, since levels are nested."""
    labels = set(here.unique().drop_nulls())
    if hierarchy is None:
        return {label: label for label in sorted(labels)} if len(labels) <= MOST_BANDS else {}
    bound = hierarchy.bind(values.name, values.drop_nulls().unique().sort().to_list())
    texts = [str(value) for value in bound.values]
    keys = [(float(text) if text.isdecimal() else math.inf, text) for text in texts]
    order = sorted(range(len(texts)), key=keys.__getitem__)
    finest = bound.labels[column.level or 0]
    for level in range(column.level or 0, bound.n_levels):
        coarser = bound.labels[level]
        bands = {str(finest[place]): str(coarser[place]) for place in order if finest[place] in labels}
        if len(set(bands.values())) <= MOST_BANDS:
            return bands
    return {}


def _labels_of_excluded(
    values: pl.Series, column: ReleasedColumn, hierarchy: Hierarchy | None, bands: Mapping[str, str]
) -> pl.Series:
    """The band of each value of the excluded: `MISSING`, or null where the release has no such label."""
    distinct = values.drop_nulls().unique().sort().to_list()
    labels: dict[str, str | None] = {value: bands.get(value) for value in distinct}
    if hierarchy is not None:
        try:
            bound = hierarchy.bind(values.name, distinct)
        except InputError:  # a value that the hierarchy does not cover
            return pl.Series(values.name, [None] * values.len(), dtype=pl.String)
        own = bound.labels[column.level or 0]
        labels = {value: bands.get(str(label)) for value, label in zip(distinct, own, strict=True)}
    named = values.replace_strict(labels, return_dtype=pl.String) if labels else values
    return named.set(values.is_null(), MISSING)


def _excluded_shares(owners: pl.Series, labels: pl.Series, names: Sequence[str], k: int) -> list[Share]:
    """Share of each band, of patients or claims; those of fewer than k patients are withheld, and with them others."""
    frame = pl.DataFrame({PATIENT: owners, LABEL: labels})
    patients = dict(frame.group_by(LABEL).agg(pl.col(PATIENT).n_unique()).iter_rows())
    hidden = {None, *(name for name, count in patients.items() if count < k)}
    others = sorted(patients.keys() - hidden, key=lambda name: (patients[name], name))
    # so few patients in all bands withheld together would be the difference to 1
    while others:
        is_hidden = frame[LABEL].is_null() | frame[LABEL].is_in([name for name in hidden if name is not None])
        if not 0 < frame.filter(is_hidden)[PATIENT].n_unique() < k:
            break
        hidden.add(others.pop(0))
    counts = dict(frame.group_by(LABEL).len().iter_rows())
    return [None if name in hidden else round(counts.get(name, 0) / frame.height, 2) for name in names]
