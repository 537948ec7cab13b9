"""What a release of public cohorts keeps: loss, rates by age and sex, categories.

python -m benchmarks.usefulness.cohorts FOLDER [--methods default cluster] [--k 5 11]

FOLDER holds files of the collection Rdatasets (github.com/vincentarelbundock/Rdatasets, folder ``csv``): survival's
flchain, rotterdam, nafld1, colon, mgus2, gbsg and pbc, openintro's yrbss, DAAG's monica, causaldata's nhefs and
stevedata's nesarc_drinkspd. Printed are, by file, k and method, the loss (equal weights), by how many points the rate
of the outcome by age decade and sex is off in cells of 50 records or more (estimated from labels by maximum
likelihood), and how many of the rarer categories still occur, as such and as such or in a list: those of ten records or
more, and of at most a fifth of all, in columns of at most 15 values that are no numbers with intervals.
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import cloister as cl
from cloister.hierarchy import Intervals, parse_hierarchy
from cloister.hierarchy.value_lists import read_list
from cloister.io import as_text
from cloister.shapes.table.method.protect import TableRelease

from .tables import Coding, File, decade_of, estimated, settings_of

MOST_ROWS = 12_000
AGE, NAME = "interval:5,10,20", "suppress"


@dataclass(frozen=True)
class Cohort:
    """A file: its quasi-identifiers with hierarchies, age and sex among them, and a condition that is the outcome."""

    file: str
    quasi: Mapping[str, str]
    outcome: pl.Expr
    sex: str = "sex"
    rounded: Mapping[str, int] | None = None


def _is(column: str, value: str) -> pl.Expr:
    return pl.col(column) == value


def _above(column: str, number: float) -> pl.Expr:
    return (pl.col(column).cast(pl.Float64, strict=False) > number).fill_null(value=False)


def _names(*columns: str) -> dict[str, str]:
    return dict.fromkeys(columns, NAME)


COHORTS = {
    "nesarc": Cohort("nesarc_drinkspd", {"age": AGE, **_names("sex", "ethrace2a", "region", "marital", "educ")},
                     _above("s2aq8b", 2)),
    "flchain": Cohort(
        "flchain",
        {"age": AGE, **_names("sex", "mgus"), "sample.yr": "interval:2,4", "kappa": "interval:0.5,1,5",
         "creatinine": "interval:0.2,1,2", "flc.grp": "interval:2,6"},
        _is("death", "1"), rounded={"kappa": 1, "creatinine": 1}),
    "rotterdam": Cohort(
        "rotterdam",
        {"age": AGE, "year": "interval:2,6", **_names("meno", "size", "grade", "hormon", "chemo"),
         "nodes": "interval:2,4,12", "pgr": "interval:50,200,1000"},
        _is("death", "1"), sex="meno"),
    "nafld": Cohort("nafld1", {"age": AGE, **_names("male"), "weight": "interval:5,10,20,40",
                               "height": "interval:5,10,20"},
                    _is("status", "1"), sex="male", rounded={"age": 0, "weight": 0, "height": 0}),
    "yrbss": Cohort(
        "yrbss",
        {**_names("age", "gender", "grade", "hispanic", "race", "helmet_12m"), "height": "interval:0.05,0.1,0.2",
         "weight": "interval:5,10,20,40"},
        _above("physically_active_7d", 3), sex="gender", rounded={"height": 2, "weight": 0}),
    "monica": Cohort(
        "monica",
        {"age": AGE, "yronset": "interval:3",
         **_names("sex", "premi", "smstat", "diabetes", "highbp", "hichol", "angina", "stroke", "hosp")},
        _is("outcome", "dead")),
    "nhefs": Cohort(
        "nhefs",
        {"age": AGE, **_names("sex", "race", "marital", "asthma"), "school": "interval:3,6", "income": "interval:2,6",
         "smokeintensity": "interval:10,20", "wt71": "interval:10,20,40", "ht": "interval:5,10,20"},
        _is("death", "1"), rounded={"wt71": 0, "ht": 0}),
    "colon": Cohort("colon", {"age": AGE, "nodes": "interval:2,4,12",
                              **_names("rx", "sex", "obstruct", "adhere", "differ", "extent", "surg")},
                    _is("status", "1")),
    "mgus2": Cohort("mgus2", {"age": AGE, **_names("sex"), "dxyr": "interval:5,10", "hgb": "interval:2,4",
                              "creat": "interval:0.2,1,2", "mspike": "interval:0.5,1"},
                    _is("death", "1"), rounded={"hgb": 0, "creat": 1, "mspike": 1}),
    "gbsg": Cohort("gbsg", {"age": AGE, **_names("meno", "grade", "hormon"), "size": "interval:10,20,40",
                            "nodes": "interval:2,4,12", "er": "interval:20,100,500"},
                   _is("status", "1"), sex="meno"),
    "pbc": Cohort("pbc", {"age": AGE, "bili": "interval:0.5,1,5",
                          **_names("sex", "trt", "ascites", "hepato", "spiders", "edema", "stage")},
                  _is("status", "2"), rounded={"age": 0, "bili": 1}),
}  # fmt: skip


def read(folder: Path, cohort: Cohort, *recorded: pl.Expr) -> File:
    """Return a cohort with its outcome, at most 12,000 records, without those of unknown age or sex."""
    found = next(folder.rglob(f"{cohort.file}.csv"))
    frame = pl.read_csv(found, infer_schema=False, null_values=["NA", ""]).drop_nulls(["age", cohort.sex])
    if cohort.file == "colon":  # two rows for each patient
        frame = frame.unique("id", keep="first", maintain_order=True)
    frame = frame.sample(min(MOST_ROWS, frame.height), seed=1)
    columns = []
    for name in cohort.quasi:
        digits = (cohort.rounded or {}).get(name)
        number = pl.col(name).cast(pl.Float64, strict=False).round(digits or 0)
        columns.append(pl.col(name) if digits is None else (number if digits else number.cast(pl.Int64)).alias(name))
    frame = frame.select(*columns, *recorded, outcome=cohort.outcome)
    return File(cohort.file, frame, {c: parse_hierarchy(h) for c, h in cohort.quasi.items()}, "age", cohort.sex)


def rates_off(file: File, coding: Coding, release: TableRelease) -> float:
    """Mean absolute error of the rate of the outcome by age decade and sex, in points."""
    decades = {value: decade_of(value) for value in coding.bound["age"].values}
    age = as_text(file.frame["age"]).replace_strict(decades, default=None, return_dtype=pl.Int64)
    truth = pl.DataFrame({"age": age, "sex": as_text(file.frame[file.sex]), "y": file.frame["outcome"]})
    truth = truth.group_by("age", "sex").agg(pl.len(), pl.col("y").mean()).filter(pl.col("len") >= 50)
    cells, errors = estimated(file, coding, release), []
    for age, sex, _, rate in truth.iter_rows():
        rows = [decades[value] == age for value in coding.bound["age"].values]
        without, having = cells[:, rows, coding.bound[file.sex].values.index(sex)].sum(axis=1)
        errors.append(abs(having / max(without + having, 1e-9) - rate))
    return float(100 * sum(errors) / len(errors))


def categories(file: File, release: TableRelease) -> Iterator[tuple[bool, bool]]:
    """Yield whether each rarer category still occurs, as such and as such or in a list."""
    for column, hierarchy in file.hierarchies.items():
        text = as_text(file.frame[column])
        if not isinstance(hierarchy, Intervals) and text.n_unique() <= 15:
            shown = set(as_text(release.data[column]).to_list())
            listed = shown | {value for label in shown for value in read_list(label)}
            for value, count in text.drop_nulls().value_counts(name="n").iter_rows():
                if 10 <= count <= file.frame.height / 5:
                    yield value in shown, value in listed


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--methods", nargs="+", default=["default", "cluster", "mondrian"])
    parser.add_argument("--k", type=int, nargs="+", default=[5, 11])
    asked = parser.parse_args()
    table = Table("cohort", "k", "method", "loss", "rates off, points", "categories as such", "or in a list", "seconds")
    for name, cohort in COHORTS.items():
        file = read(asked.folder, cohort)
        coding = Coding(file)
        for k, method in ((k, method) for k in asked.k for method in asked.methods):
            began = time.perf_counter()
            release = cl.protect_table(
                file.frame,
                k=k,
                qi=file.hierarchies,
                sensitive=["outcome"],
                accept=["outcome"],
                **settings_of(file, method),
            )
            seconds = time.perf_counter() - began
            kept = np.array(list(categories(file, release))).reshape(-1, 2)
            figures = f"{release.summary()['utility']['loss']:.4f}", f"{rates_off(file, coding, release):.2f}"
            still = (f"{n} of {len(kept)}" for n in kept.sum(axis=0).tolist())
            table.add_row(name, str(k), method, *figures, *still, f"{seconds:.1f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
