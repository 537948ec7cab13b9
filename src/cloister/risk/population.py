"""Risk against the population that the patients come from: journalist, marketer, population uniques."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.privacy.population_estimates import (
    ESTIMATORS,
    LARGEST_FRACTION_OF_PITMAN,
    MOST_PEOPLE,
    Sample,
    estimated_share,
)

from .expected_risk import expected_reciprocals, parameters
from .grouping import Grouped
from .prosecutor import AGREEMENT


@dataclass(frozen=True)
class PopulationRisk:
    """Risk where the attacker does not know who is in the data, with F the people of a record's class, f its records.

    Attributes
    ----------
    how : whether F was counted in a population table or is estimated from the sampling fraction
    people : of the population
    highest : largest 1 / F
    average : the larger of classes / sum of F, and mean of 1 / F over the records (estimated: the mean)
    share_above_threshold : share of the records with 1 / F above the threshold
    marketer : (1 / n) sum of f / F over the classes, the expected share of records linked rightly when all are linked
    uniques : share of the records whose person is alone in the population: by name of the estimator, or ``counted``
    chosen : which of ``uniques`` to report: ``counted``, or the estimator that the rule of Dankar et al. picks
    without_solution : estimators that have no solution for these classes, so that Zayatz's stands in

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


def counted_risk(grouped: Grouped, texts: pl.DataFrame, population: pl.DataFrame, threshold: float) -> PopulationRisk:
    """Return the risk against a population table of text columns, one row a person.

    Raises
    ------
    InputError
        The population holds fewer people than the data hold records in some class, so the records are not from it.
    """
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
            f"The population is to hold every patient, but {int(records[short].sum())} of {grouped.n_records} records "
            f"are in {int(short.sum())} classes with fewer people in it than records. Give a population at the same "
            "levels of detail that the patients come from, or a sampling fraction."
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


def estimated_risk(grouped: Grouped, fraction: float, threshold: float) -> PopulationRisk:
    """Return the risk if the records are a simple random sample of the population, of this fraction.

    The rule of Dankar et al. picks an estimator of population uniques (`cloister.privacy.PopulationUniqueness`); under
    the same model 1 / F is replaced by its expectation, given the records of the class. Deviation: what El Emam (2013)
    calls the larger of two averages is the mean of 1 / F here, as the people of all classes are not estimated.

    Raises
    ------
    InputError
        The fraction is not above 0 and at most 1, or so small that more people would be needed than ever lived.
    """
    if not 0 < fraction <= 1 or grouped.n_records / fraction > MOST_PEOPLE:
        raise InputError(
            "The sampling fraction is above 0 and at most 1, and not so small that the population would have more "
            f"than {MOST_PEOPLE:,} people."
        )
    people = max(grouped.n_records, round(grouped.n_records / fraction))
    sizes, classes = np.unique(grouped.sizes, return_counts=True)
    sample = Sample(sizes, classes, people)
    uniques = {name: estimated_share(sample, name) for name in ESTIMATORS if name != "dankar"}
    chosen = _picked(sample, uniques)
    expected = expected_reciprocals(sample, chosen)
    marketer = float((classes * sizes * expected).sum() / grouped.n_records)
    above = _share_above(sizes * classes, expected, threshold)
    unsolved = tuple(name for name in ("pitman", "snb") if sample.fraction < 1 and parameters(sample, name) is None)
    highest = float(expected.max())
    return PopulationRisk("estimated", people, highest, marketer, above, marketer, uniques, chosen, unsolved)


def _picked(sample: Sample, uniques: dict[str, float]) -> str:
    """The estimator that the rule of Dankar et al. picks."""
    if sample.fraction <= LARGEST_FRACTION_OF_PITMAN:
        return "pitman"
    return "snb" if uniques["snb"] <= uniques["zayatz"] else "zayatz"


def _share_above(records: NDArray[np.int64], risks: NDArray[np.float64], threshold: float) -> float:
    """Share of the records whose risk is above the threshold."""
    return float(records[risks > threshold * (1 + AGREEMENT)].sum() / records.sum())
