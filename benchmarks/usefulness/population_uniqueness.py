"""Does the interval for population uniqueness contain the truth? Public tables are the populations, samples are known.

CLOISTER_DATA=FOLDER python -m benchmarks.usefulness.population_uniqueness [--samples 6]

Printed are the figures of docs/benchmarks/population-uniqueness.csv, by population and by sampling fraction: how often
the interval contains the share of the sampled records whose person is alone in the population, its mean width, the
estimate's mean error, and the least by which the upper end lay above the truth. Bar: 90% contained, no upper end below
the truth by more than 0.03 from 3% sampled on.
"""

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.pages import share, table
from cloister.privacy.uniqueness import Sample, estimated_share
from cloister.risk.uniqueness_interval import FEW_SAMPLED, uniqueness_interval
from cloister.testing import hospital_patients

FRACTIONS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
ADULT, FARS = ("sex", "age", "race", "education"), ("iage", "isex", "istatenum", "ideathmon")
SYNPUF, DIABETES = ("birth_date", "sex", "race", "state_ssa"), ("race", "gender", "age", "time_in_hospital")
MORE_SYNPUF = ("sp_diabetes", "sp_ischmcht", "sp_osteoprs", "sp_ra_oa")
MORE_DIABETES = ("medical_specialty", "payer_code", "num_medications", "number_diagnoses")
ESTIMATES = ("estimate", "zayatz")
BAR, MOST_BELOW = 0.9, 0.03
MADE_UP = "made-up hospital, 3 columns"


@dataclass(frozen=True)
class DrawnSample:
    """A sample of a population: its interval, its estimates, and the true share of its records."""

    population: str
    fraction: float
    truth: float
    estimate: float
    zayatz: float
    lower: float
    upper: float

    @property
    def is_covered(self) -> bool:
        """Whether the interval contains the truth."""
        return self.lower - 1e-9 <= self.truth <= self.upper + 1e-9


def populations(folder: Path) -> dict[str, pl.DataFrame]:
    """The tables by name, each with the columns that adversaries know; the last one is made up."""
    adult = pl.read_csv(folder / "adult/adult.csv", separator=";", infer_schema=False).drop("salary-class")
    fars = pl.read_csv(folder / "fars/fars.csv", separator=";", infer_schema=False)
    synpuf = pl.read_parquet(folder / "synpuf/demographics.parquet")
    diabetes = pl.read_csv(folder / "diabetes130/demographics.csv.gz", infer_schema=False)
    return {
        "adult, 4 columns": adult.select(ADULT),
        "adult, 8 columns": adult,
        "fars, 4 columns": fars.select(FARS),
        "fars, 8 columns": fars,
        "synpuf, 4 columns": synpuf.select(SYNPUF),
        "synpuf, 8 columns": synpuf.select(*SYNPUF, *MORE_SYNPUF),
        "diabetes130, 4 columns": diabetes.select(DIABETES),
        "diabetes130, 8 columns": diabetes.select(*DIABETES, *MORE_DIABETES),
        MADE_UP: hospital_patients(n=20_000).select("age", "sex", "zip"),
    }


def classes_of(people: pl.DataFrame) -> NDArray[np.int64]:
    """The number of each person's class."""
    alike = pl.struct(pl.all().cast(pl.String).fill_null("")).rank("dense").alias("class")
    return people.select(alike)["class"].to_numpy().astype(np.int64) - 1


def samples(name: str, people: pl.DataFrame, n: int) -> Iterator[DrawnSample]:
    """Draw samples of each fraction."""
    classes, random = classes_of(people), np.random.default_rng(1)
    sizes = np.bincount(classes)
    for fraction in FRACTIONS:
        for _ in range(n):
            chosen = classes[random.choice(classes.size, round(classes.size * fraction), replace=False)]
            records = np.bincount(chosen)
            found = Sample(*np.unique(records[records > 0], return_counts=True), classes.size)
            interval = uniqueness_interval(found)
            estimate, truth = estimated_share(found, "dankar"), float((sizes[chosen] == 1).mean())
            yield DrawnSample(
                name, fraction, truth, estimate, interval.estimates["zayatz"], interval.lower, interval.upper
            )


def line(name: str, some: Sequence[DrawnSample]) -> tuple[str, ...]:
    """A line of the table."""
    truths, above = [each.truth for each in some], min(each.upper - each.truth for each in some)
    widths, errors = [each.upper - each.lower for each in some], [each.estimate - each.truth for each in some]
    covered = [each.is_covered for each in some]
    figures = (share(float(np.mean(covered)), 0), *(f"{np.mean(some):.3f}" for some in (truths, errors, widths)))
    return name, *figures, f"{above:+.3f}"


def main() -> None:
    """Measure, and print the tables and whether the bars are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=6)
    n, began = parser.parse_args().samples, time.perf_counter()
    tables = populations(Path(os.environ["CLOISTER_DATA"]))
    drawn = [each for name, people in tables.items() for each in samples(name, people, n)]
    public = [each for each in drawn if each.population != MADE_UP]
    heads = ("", "contained", "truth", "error of the estimate", "width", "least upper end - truth")
    by_name = [line(name, [each for each in drawn if each.population == name]) for name in tables]
    by_fraction = [line(f"{f:.1%} sampled", [each for each in public if each.fraction == f]) for f in FRACTIONS]
    print(table(heads, [*by_fraction, *by_name, line("all public tables", public)]))
    covered = np.mean([each.is_covered for each in public])
    low = sum(each.upper < each.truth - MOST_BELOW for each in drawn if each.fraction >= FEW_SAMPLED)
    print(f"contained {covered:.1%} (bar {BAR:.0%}); upper ends too low without a warning: {low} (bar 0)")
    by_rule, by_zayatz = (min(getattr(each, name) - each.truth for each in drawn) for name in ESTIMATES)
    print(f"least estimate - truth: {by_rule:+.3f} by the rule of Dankar et al., {by_zayatz:+.3f} by zayatz")
    print(f"{len(drawn)} samples, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
