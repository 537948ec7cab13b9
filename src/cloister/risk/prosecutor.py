"""Risk by class size: from a prosecutor, who knows that the patient is in the data, and against a population.

Columns of text become numbered cells and classes; the prosecutor's risk is 1 / the size of the patient's class. The
marketer's risk needs what 1 / F is expected to be for a class with f records in the sample, F its people, under models
of class sizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.classes import Cells, cells_of, classes
from cloister.privacy.uniqueness import (
    LARGEST_FRACTION_OF_PITMAN,
    MOST_PEOPLE,
    Sample,
    fitted_snb,
    log_gamma_ratio,
    maximum_likelihood_pitman,
    shlosser,
)
from cloister.results import Risk

from .uniqueness_interval import UniquenessInterval, uniqueness_interval


@dataclass(frozen=True, eq=False, repr=False)
class GroupedRecords:
    """Records grouped by their quasi-identifiers."""

    columns: tuple[str, ...]
    cells: Cells
    labels: NDArray[np.int64]  # (n_records,) int64, which combination each record has
    first: NDArray[np.int64]  # (n_classes,) int64, the first record of each

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The records of each class, shape (n_classes,) int64."""
        return self.cells.records

    @property
    def n_records(self) -> int:
        """The number of records in all classes."""
        return self.labels.size


def group(texts: pl.DataFrame, columns: Sequence[str]) -> GroupedRecords:
    """Group records by these columns of text; missing is a value of its own."""
    numbers, widths = [], []
    for text in (texts[column] for column in columns):
        names = text.drop_nulls().unique()  # their order means nothing
        places = text.cast(pl.Enum(names)).to_physical().cast(pl.UInt32).fill_null(len(names))
        numbers.append(places.to_numpy())
        widths.append(len(names) + 1)
    cells = cells_of(np.stack(numbers), np.array(widths))
    found = classes(cells, np.arange(len(numbers)))
    distinct = Cells(np.ascontiguousarray(cells.values[:, found.first]), cells.widths, found.sizes)
    return GroupedRecords(tuple(columns), distinct, found.labels, found.first)


BANDS = (1, 2, 5, 10, 20, 50, 100, 500, 1000)  # lower ends of the class sizes that the histogram puts together
AGREEMENT = 1e-9  # how far a risk may lie above the threshold by rounding alone


def measure_risk(sizes: pl.Series, threshold: float) -> Risk:
    """Measure the prosecutor risk of records in classes of these sizes."""
    records = int(sizes.sum())
    ordered = sizes.sort()
    bands = [("1", sizes == 1)]
    bands += [(f"{low}-{high - 1}", sizes.is_between(low, high - 1)) for low, high in pairwise(BANDS[1:])]
    bands.append((f"{BANDS[-1]} and more", sizes >= BANDS[-1]))
    above = sizes.filter(sizes * threshold < 1.0 - AGREEMENT)
    return Risk(
        highest=1.0 / int(ordered[0]),
        average=len(sizes) / records,
        share_above_threshold=int(above.sum()) / records,
        threshold=threshold,
        classes=len(sizes),
        smallest=int(ordered[0]),
        largest=int(ordered[-1]),
        histogram=tuple((label, int(sizes.filter(inside).sum())) for label, inside in bands),
    )


THRESHOLDS = {"hhp": 0.05, "ema": 0.09}
"""By name: the Heritage Health Prize (El Emam et al. 2012) and the European Medicines Agency (policy 0070)."""

USUAL = 0.2


def parse_threshold(text: str | float) -> float:
    """Parse a threshold: a number above 0 and at most 1, or a name.

    Examples
    --------
    >>> parse_threshold("ema"), parse_threshold("0.2")
    (0.09, 0.2)
    """
    if isinstance(text, str) and text in THRESHOLDS:
        return THRESHOLDS[text]
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise InputError(
            f"The threshold of risk is a number above 0 and at most 1, or one of {', '.join(THRESHOLDS)}, as in 0.2."
        )
    return number


Numbers = NDArray[np.float64]

SUMMED = 100_000  # people of a class up to which probabilities are added up; 1 / F is less than 0.00001 beyond
LARGE = 50  # from so many records on, 1 / F is computed from mean and variance of F
FEW = 20  # so by weights, where the function of fewer records is exact


def expected_reciprocals(sample: Sample, model: str) -> Numbers:
    """Return the expectation of 1 / F given the records of the class, for each size of the sample, shape (n_sizes,).

    Where a model has no solution, Zayatz's is in, as in the estimates of population uniques.

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
    """Fit a model to a sample, and return its parameters; None if it has no solution, or needs none."""
    if model == "pitman":
        return maximum_likelihood_pitman(sample)
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
    """Apply Bayes' rule; assume that class sizes in the population have the same distribution as in the sample.

    Each person is assumed to be sampled independently with the same probability; Zayatz draws a sample of fixed size.
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


@dataclass(frozen=True)
class PopulationRisk:
    """Risk if the adversary does not know who is in the data; F is the people of a record's class, f its records.

    Attributes
    ----------
    marketer : (1 / n) sum of f / F over the classes, the expected share of records linked rightly when all are linked
    uniques : share of the records whose person is alone in the population: by name of the estimator, or ``counted``
    chosen : which of ``uniques`` to report: ``counted``, or the estimator that the rule of Dankar et al. picks
    interval : of the estimated share of population uniques; None if they were counted

    References
    ----------
    El Emam (2013), "Guide to the de-identification of personal health information", chapter on measuring risk; Dankar,
    El Emam (2010), "A method for evaluating marketer re-identification risk".
    """

    how: Literal["counted", "estimated"]
    people: int
    highest: float
    average: float
    share_above_threshold: float
    marketer: float
    uniques: dict[str, float] = field(default_factory=dict)
    chosen: str = "counted"
    without_solution: tuple[str, ...] = ()
    interval: UniquenessInterval | None = None

    def uniqueness(self, threshold: float) -> dict[str, object]:
        """Return population uniques as plain values; an estimate exceeds the threshold if its upper end does."""
        interval = self.interval
        return {
            "chosen": self.chosen,
            "shares": self.uniques,
            "without_solution": list(self.without_solution),
            "interval": None if interval is None else [interval.lower, interval.upper],
            "few_sampled": interval is not None and interval.is_warned,
            "above_threshold": (self.uniques[self.chosen] if interval is None else interval.upper) > threshold,
        }


def count_risk(
    grouped: GroupedRecords, texts: pl.DataFrame, population: pl.DataFrame, threshold: float
) -> PopulationRisk:
    """Return the risk against a population table of text columns, one row per person."""
    names = [f"c{number}" for number in range(len(grouped.columns))]
    people = population.select(pl.col(column).alias(name) for column, name in zip(grouped.columns, names, strict=True))
    ours = texts[grouped.first].select(pl.col(c).alias(name) for c, name in zip(grouped.columns, names, strict=True))
    counted = people.group_by(names).agg(pl.len().cast(pl.Int64).alias("people"))
    joined = ours.with_row_index("order").join(counted, on=names, how="left", nulls_equal=True).sort("order")
    sizes = joined["people"].fill_null(0).to_numpy()
    records = grouped.sizes
    short = sizes < records
    if short.any():
        raise InputError(
            f"The population must contain every patient, but {int(records[short].sum())} of {grouped.n_records} "
            f"records are in {int(short.sum())} classes with fewer people in it than records. Give a population at "
            "the same levels of detail that the patients come from, or a sampling fraction."
        )
    marketer = float((records / sizes).sum() / grouped.n_records)
    alone = float(records[sizes == 1].sum() / grouped.n_records)
    return PopulationRisk(
        "counted",
        len(people),
        1.0 / int(sizes.min()),
        max(len(sizes) / int(sizes.sum()), marketer),
        _share_above(records, 1.0 / sizes, threshold),
        marketer,
        {"counted": alone},
    )


def estimate_risk(grouped: GroupedRecords, fraction: float, threshold: float) -> PopulationRisk:
    """Return the risk if the records are a simple random sample of the population, of this fraction.

    The rule of Dankar et al. picks an estimator of population uniques (`cloister.privacy.PopulationUniqueness`); under
    the same model 1 / F is replaced by its expectation, given the records of the class. Deviation: what El Emam (2013)
    calls the larger of two averages is the mean of 1 / F here, as the people of all classes are not estimated.
    """
    if not 0 < fraction <= 1 or grouped.n_records / fraction > MOST_PEOPLE:
        raise InputError(
            "The sampling fraction is above 0 and at most 1, and not so small that the population would have more "
            f"than {MOST_PEOPLE:,} people."
        )
    return _risk_of_sample(grouped, max(grouped.n_records, round(grouped.n_records / fraction)), threshold)


def estimate_weighted_risk(grouped: GroupedRecords, weights: Numbers, threshold: float) -> PopulationRisk:
    """Return the risk if each record was sampled for as many people as its weight says, as surveys state it.

    The population has as many people as the weights add up to, and its uniques are estimated as for a random sample of
    it. The risk of a class is the larger of what that model expects and what the weights of the class do: records of
    small weights represent few people.

    ``weights``: (n_records,) above 0, in the order of the records

    References
    ----------
    Benedetti, Franconi (1998), "Statistical and technological solutions for controlled data dissemination": given its f
    records, a class has F people by a negative binomial distribution, with p = f / sum of its weights.
    """
    total = float(weights.sum())
    if not grouped.n_records <= total <= MOST_PEOPLE:
        raise InputError(
            f"The weights add up to {total:,.0f} people for {grouped.n_records:,} records. Give weights that say how "
            f"many people each record represents, which add up to the population, at most {MOST_PEOPLE:,} people."
        )
    people = np.bincount(grouped.labels, weights, minlength=grouped.sizes.size).astype(np.float64)
    return _risk_of_sample(grouped, round(total), threshold, reciprocals_by_weights(grouped.sizes, people))


def reciprocals_by_weights(sizes: NDArray[np.int64], people: Numbers) -> Numbers:
    """Return the expectation of 1 / F of classes by their records and the sums of their weights, shape (n_classes,).

    F is negative binomial with p = f / sum of the weights: p / f 2F1(1, 1; f + 1; 1 - p), from 20 records on by mean
    and variance of F (at most 0.3% less).

    Examples
    --------
    >>> reciprocals_by_weights(np.array([1, 1, 2]), np.array([1.0, 2.0, 8.0])).round(4).tolist()
    [1.0, 0.6931, 0.1793]
    """
    from scipy.special import hyp2f1

    p = np.minimum(1.0, sizes / people)
    few = np.minimum(sizes, FEW)
    found: Numbers = p / sizes * np.where(sizes < FEW, hyp2f1(1, 1, few + 1, 1 - p), 1 + (1 - p) / sizes)
    return found


def _risk_of_sample(
    grouped: GroupedRecords, people: int, threshold: float, at_least: Numbers | float = 0.0
) -> PopulationRisk:
    """The risk in a population of so many people; ``at_least``: the least risk of each class that else is known."""
    sizes, place, classes = np.unique(grouped.sizes, return_inverse=True, return_counts=True)
    sample = Sample(sizes, classes, people)
    interval = uniqueness_interval(sample)
    uniques = interval.estimates
    # the rule of Dankar et al.
    many = sample.fraction > LARGEST_FRACTION_OF_PITMAN
    chosen = min("snb", "zayatz", key=uniques.__getitem__) if many else "pitman"
    expected = np.maximum(expected_reciprocals(sample, chosen)[place], at_least)
    marketer = float((grouped.sizes * expected).sum() / grouped.n_records)
    above = _share_above(grouped.sizes, expected, threshold)
    unsolved = tuple(name for name in ("pitman", "snb") if sample.fraction < 1 and parameters(sample, name) is None)
    highest = float(expected.max())
    return PopulationRisk("estimated", people, highest, marketer, above, marketer, uniques, chosen, unsolved, interval)


def _share_above(records: NDArray[np.int64], risks: NDArray[np.float64], threshold: float) -> float:
    return float(records[risks > threshold * (1 + AGREEMENT)].sum() / records.sum())
