"""Whether pooled intervals from imputed tables contain the truth: coverage over made-up populations.

    python -m benchmarks.usefulness.imputation [--populations 200] [--rows 1000] [--tables 10] [-k 5]
        [--methods default cluster]

Each population has patients with age, sex, body mass index, region, a measured and a binary outcome, drawn from a model
whose coefficients are known. Age, sex, index and region are protected, the outcomes are released as recorded. Printed
is, for a linear and a logistic coefficient of age and index, and for the mean of the index: the truth, the mean of the
estimates, and the share of 95% intervals that contain the truth, from the original and from the imputed tables, pooled.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import statsmodels.api as sm

import cloister as cl

QUASI = {"age": "interval:5,10,20", "sex": "suppress", "bmi": "interval:2,4,8", "region": "suppress"}
METHODS: dict[str, dict[str, object]] = {"default": {}, "cluster": {"method": "cluster"}}
TRUTH = {"linear, age": 0.05, "linear, index": 0.1, "logistic, age": 0.03, "logistic, index": 0.06}
Found = dict[str, tuple[float, float]]
"""An estimate and its variance."""


def population(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Return patients of a known model."""
    age = np.clip(rng.normal(55, 16, n), 18, 95).astype(int)
    is_man = rng.integers(0, 2, n)
    bmi = np.clip(24 + 0.06 * (age - 55) + is_man + rng.normal(0, 4, n), 14, 50).round().astype(int)
    odds = -4.5 + 0.03 * age + 0.4 * is_man + 0.06 * bmi
    return pl.DataFrame(
        {
            "age": age,
            "sex": np.where(is_man, "M", "F"),
            "bmi": bmi,
            "region": [f"R{one}" for one in rng.integers(0, 8, n)],
            "measured": (2 + 0.05 * age + 0.8 * is_man + 0.1 * bmi + rng.normal(0, 3, n)).round(2),
            "outcome": rng.random(n) < 1 / (1 + np.exp(-odds)),
        }
    )


def analyses(frame: pl.DataFrame) -> Found:
    """Return the estimates of one table."""
    columns = [frame["age"], frame["bmi"], frame["sex"].cast(pl.String) == "M"]
    design = sm.add_constant(np.column_stack([column.to_numpy() for column in columns]).astype(float))
    fits = {
        "linear": sm.OLS(frame["measured"].to_numpy(), design).fit(),
        "logistic": sm.Logit(frame["outcome"].to_numpy().astype(float), design).fit(disp=0),
    }
    found = {
        f"{name}, {column}": (float(fit.params[place]), float(fit.cov_params()[place, place]))
        for name, fit in fits.items()
        for place, column in ((1, "age"), (2, "index"))
    }
    index = frame["bmi"].to_numpy().astype(float)
    return found | {"mean of index": (float(index.mean()), float(index.var(ddof=1) / index.size))}


def results(asked: argparse.Namespace, method: str) -> Iterator[tuple[Found, dict[str, cl.PooledEstimate]]]:
    """Yield for each population what the original says, and what the imputed tables say."""
    for number in range(asked.populations):
        original = population(np.random.default_rng(number), asked.rows)
        rule, kept = [f"k-anonymity={asked.k}"], ["measured", "outcome"]
        release = cl.protect_table(original, qi=QUASI, rule=rule, keep=kept, **METHODS[method])
        with tempfile.TemporaryDirectory() as folder:
            release.write(Path(folder) / "out")
            tables = cl.open(Path(folder) / "out", verify=False).impute(n=asked.tables, seed=number)
        each = [analyses(table) for table in tables]
        found = analyses(original)
        yield (found, {name: cl.pool([one[name][0] for one in each], [one[name][1] for one in each]) for name in found})


def main() -> None:
    """Print a table for each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("populations", 200), ("rows", 1000), ("tables", 10)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["default"])
    asked = parser.parse_args()
    truth = TRUTH | {"mean of index": float(population(np.random.default_rng(10**6), 10**6)["bmi"].mean() or 0)}
    for method in asked.methods:
        begun = time.perf_counter()
        found = list(results(asked, method))
        print(f"{method}: {time.perf_counter() - begun:.0f} s")
        print("| | truth | original: mean, coverage | imputed: mean, coverage | standard error, original / imputed |")
        for name, value in truth.items():
            own = np.array([original[name] for original, _ in found])
            pooled = [imputed[name] for _, imputed in found]
            covered = np.mean(np.abs(own[:, 0] - value) <= 1.96 * np.sqrt(own[:, 1]))
            inside = np.mean([one.interval[0] <= value <= one.interval[1] for one in pooled])
            errors = np.sqrt(own[:, 1]).mean(), np.mean([one.standard_error for one in pooled])
            print(
                f"| {name} | {value:.3f} | {own[:, 0].mean():.4f}, {covered:.1%} "
                f"| {np.mean([one.estimate for one in pooled]):.4f}, {inside:.1%} | {errors[0]:.4f} / {errors[1]:.4f} |"
            )


if __name__ == "__main__":
    main()
