"""What can still be learnt from a release: models trained on it, and rates by age and sex, against the original.

    python -m benchmarks.usefulness.tables [--k 5 11] [--splits 5] [--rows 20000] [--methods default cluster mondrian]

Of each file 70 % are released, with the outcome as recorded; models are trained on the release and on the original of
these, and both tested on the original of the other 30 %. A label counts as all its values alike: numbers become their
mean, names shares of one. Printed is the mean over splits of AUC / AUC of the original, for logistic regression and
boosted trees; the share of age x sex cells whose rate of the outcome, estimated from the release by maximum likelihood,
is within two standard errors of the original's; and the columns that say nothing. Files are looked for in the folder
that CLOISTER_DATA names; without it, made-up patients are all there is. Needs scikit-learn.
"""

import argparse
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cloister as cl
from cloister.hierarchy import BoundHierarchy, Hierarchy, Intervals, hierarchy_file, parse_hierarchy
from cloister.hierarchy.value_lists import read_list
from cloister.io import as_text
from cloister.shapes.table.method.protect import TableRelease
from cloister.testing import hospital_patients

Matrix = NDArray[np.float64]
METHODS: dict[str, dict[str, object]] = {
    "default": {},
    "nested": {"labels": "nested"},
    "target": {"target": "outcome"},
    "counts": {"purpose": "counts"},
    "one-coding": {"purpose": "one-coding"},
    "local recoding": {"local_recoding": True},
    "mondrian": {"method": "mondrian"},
    "cluster": {"method": "cluster"},
    "mondrian, nested": {"method": "mondrian", "labels": "nested"},
    "resisting": {"resist_downcoding": True},
}


@dataclass(frozen=True)
class File:
    """A file with an outcome.

    Attributes
    ----------
    frame : quasi-identifiers and ``outcome`` (True or False)
    hierarchies : of the quasi-identifiers; ``age`` and ``sex`` name two of them
    """

    name: str
    frame: pl.DataFrame
    hierarchies: Mapping[str, Hierarchy]
    age: str
    sex: str


def settings_of(file: File, method: str) -> dict[str, object]:
    """Return the settings of a method, whose default keeps rates by the columns of age and sex of this file."""
    return METHODS[method] | ({"strata": [file.age, file.sex]} if method in ("default", "nested") else {})


def _shipped(folder: Path, table: str, columns: Sequence[str]) -> tuple[pl.DataFrame, dict[str, Hierarchy]]:
    frame = pl.read_csv(folder / f"{table}.csv", separator=";", infer_schema=False)
    found = {column: hierarchy_file(folder / f"{table}_hierarchy_{column}.csv") for column in columns}
    return frame, found


def files(data: Path | None) -> list[File]:
    """Return the files that there are."""
    found = [_hospital(), _clinic()]
    if data is None:
        return found
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    frame, hierarchies = _shipped(data / "adult", "adult", names)
    outcome = frame.select(*names, outcome=pl.col("salary-class") == ">50K")
    found.append(File("adult", outcome, hierarchies, "age", "sex"))
    names = ["iage", "irace", "ideathmon", "ideathday", "isex", "ihispanic", "istatenum"]
    frame, hierarchies = _shipped(data / "fars", "fars", names)
    outcome = frame.select(*names, outcome=pl.col("iinjury") == "4")
    found.append(File("fars", outcome, hierarchies, "iage", "isex"))
    names = ["age", "gender", "race", "admission_type_id", "discharge_disposition_id", "time_in_hospital", "payer_code"]
    frame, hierarchies = _shipped(data / "diabetes130" / "table15", "diabetes15", names)
    outcome = frame.select(*names, outcome=pl.col("readmitted") != "NO")
    found.append(File("diabetes", outcome, hierarchies, "age", "gender"))
    return found


def _hospital() -> File:
    """The made-up hospital, with a readmission that age, sex and ethnicity have to do with."""
    frame, rng = hospital_patients(0, 30_000), np.random.default_rng(1)
    kind = frame["ethnicity"].rank("dense").to_numpy() % 3
    odds = -4.0 + 0.05 * frame["age"].to_numpy() + 0.6 * (frame["sex"] == "M").to_numpy() + 0.5 * kind
    built = {"age": "interval:5,10,20/top=90", "sex": "suppress", "zip": "prefix:5", "ethnicity": "suppress"}
    return File("hospital", _with_outcome(frame.select(*built), odds, rng), _parsed(built), "age", "sex")


def _clinic() -> File:
    """5,000 made-up patients of a clinic, of whom few have a stroke."""
    rng, n = np.random.default_rng(2), 5_000
    age = rng.integers(1, 83, n)
    smoking = rng.choice(["never", "former", "current", "unknown"], n, p=[0.37, 0.17, 0.16, 0.3])
    bmi = np.clip(18 + 0.15 * age + rng.normal(4, 6, n), 12, 60).round(1)
    work = np.where(age < 16, "child", rng.choice(["private", "own business", "state"], n, p=[0.66, 0.18, 0.16]))
    frame = pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["F", "M"], n, p=[0.59, 0.41]),
            "married": np.where((age > 25) & (rng.random(n) < 0.85), "yes", "no"),
            "work": work,
            "home": rng.choice(["rural", "urban"], n),
            "bmi": bmi,
            "smoking": smoking,
        }
    )
    odds = (
        -7.6 + 0.075 * age + 0.02 * (bmi - 28) + 0.4 * (smoking == "current") + 0.2 * (frame["sex"] == "M").to_numpy()
    )
    built = dict.fromkeys(frame.columns, "suppress") | {"age": "interval:5,10,20/top=90", "bmi": "interval:1,5,10"}
    return File("clinic", _with_outcome(frame, odds, rng), _parsed(built), "age", "sex")


def _parsed(built: Mapping[str, str]) -> dict[str, Hierarchy]:
    return {column: parse_hierarchy(words) for column, words in built.items()}


def _with_outcome(frame: pl.DataFrame, odds: Matrix, rng: np.random.Generator) -> pl.DataFrame:
    return frame.with_columns(outcome=pl.Series(rng.random(frame.height) < 1 / (1 + np.exp(-odds))))


class Coding:
    """Numbers for the values and labels of a file: a number as such, a name as a column of its own."""

    def __init__(self, file: File) -> None:
        self.hierarchies = file.hierarchies
        self.bound: dict[str, BoundHierarchy] = {}
        self.points: dict[str, Matrix] = {}
        for column, hierarchy in file.hierarchies.items():
            values = as_text(file.frame[column]).unique().sort()
            self.bound[column] = bound = hierarchy.bind(column, values.drop_nulls().to_list())
            own = pl.Series([bound.values[place] for place in range(len(bound.values))], dtype=pl.String)
            numbers = own.str.extract(r"([0-9.]+)").cast(pl.Float64, strict=False)
            known = own.is_in(values.implode()).to_numpy()
            is_number = numbers.filter(pl.Series(known)).null_count() == 0 and known.sum() > 2
            points = numbers.fill_null(0.0).to_numpy()[:, None] if is_number else np.eye(len(own))
            self.points[column] = np.where(known[:, None], points, np.nan)

    def of(self, frame: pl.DataFrame, levels: Mapping[str, Sequence[int]]) -> Matrix:
        """Return the numbers of records whose columns have labels of these levels."""
        return np.hstack([self._column(as_text(frame[column]), column, levels[column]) for column in self.bound])

    def members(
        self, text: pl.Series, column: str, levels: Sequence[int]
    ) -> Iterator[tuple[str | None, NDArray[np.int64]]]:
        """Yield each label of a released column with the places of the values that it may stand for."""
        bound, hierarchy, labels = self.bound[column], self.hierarchies[column], text.unique().to_list()
        joined = hierarchy.join(bound, labels) if isinstance(hierarchy, Intervals) else bound
        found = joined.list_covered(sorted({*levels, 0}))
        found |= {one: {bound.values.index(value) for value in read_list(one)} for one in labels if read_list(one)}
        for label, places in found.items():
            yield label, np.array(sorted(places), dtype=np.int64)

    def _column(self, text: pl.Series, column: str, levels: Sequence[int]) -> Matrix:
        points, texts = self.points[column], pl.DataFrame({"label": text})
        of = {
            label: np.nanmean(points[members], axis=0)
            for label, members in self.members(texts["label"], column, levels)
        }
        of["*"] = np.nanmean(points, axis=0)
        distinct = texts["label"].unique()
        table = np.stack([np.nan_to_num(of.get(label, of["*"])) for label in distinct])
        place = {label: j for j, label in enumerate(distinct)}
        return table[np.array([place[label] for label in text])]


def levels_of(release: TableRelease) -> dict[str, Sequence[int]]:
    """Return the levels of each quasi-identifier in a release."""
    columns = release.summary()["columns"]
    return {name: one.get("levels") or [one["level"]] for name, one in columns.items() if "level" in one}


def _models() -> list[object]:
    return [
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        HistGradientBoostingClassifier(max_iter=80, random_state=0),
    ]


def aucs(train: Matrix, outcome: Matrix, test: Matrix, truth: Matrix) -> list[float]:
    """AUC of each model on the test records."""
    found = []
    for model in _models():
        if np.unique(outcome).size < 2:
            found.append(0.5)
            continue
        model.fit(train, outcome)  # type: ignore[attr-defined]
        found.append(float(roc_auc_score(truth, model.predict_proba(test)[:, 1])))  # type: ignore[attr-defined]
    return found


def rates_kept(file: File, coding: Coding, original: pl.DataFrame, release: TableRelease) -> float:
    """Share of age x sex cells of 50 records or more whose rate of the outcome the release gives within two errors."""
    decades = {value: decade_of(value) for value in coding.bound[file.age].values}
    text = as_text(original[file.age]).replace_strict(decades, default=None, return_dtype=pl.Int64)
    truth = pl.DataFrame({"a": text, "s": as_text(original[file.sex]), "y": original["outcome"]})
    truth = truth.drop_nulls().group_by("a", "s").agg(pl.len(), pl.col("y").mean()).filter(pl.col("len") >= 50)
    cells, kept = estimated(file, coding, release), 0
    for age, sex, n, rate in truth.iter_rows():
        rows = [decades[value] == age for value in coding.bound[file.age].values]
        without, having = cells[:, rows, coding.bound[file.sex].values.index(sex)].sum(axis=1)
        if without + having:
            kept += abs(having / (without + having) - rate) <= 2 * np.sqrt(max(rate * (1 - rate), 0.01) / n)
    return kept / max(1, truth.height)


def estimated(file: File, coding: Coding, release: TableRelease) -> Matrix:
    """Records by outcome, age and sex: maximum likelihood from the released labels alone.

    A label says that a record is of one of its values; which one does not depend on the label (coarsened at random:
    Heitjan & Rubin 1991). Expectation and maximization are repeated until they change nothing (Dempster et al. 1977).
    """
    texts = [as_text(release.data[column]).alias(column) for column in (file.age, file.sex)]
    of: dict[str, dict[str | None, Matrix]] = {}
    for text in texts:
        every = np.arange(len(coding.bound[text.name].values))
        found = coding.members(text, text.name, levels_of(release)[text.name])
        of[text.name] = {"*": np.ones(every.size)}
        of[text.name] |= {label: np.isin(every, places).astype(float) for label, places in found}
    groups = release.data.select(*texts, pl.col("outcome")).group_by(pl.all()).len()
    ages, sexes = (np.stack([of[column][label] for label in groups[column]]) for column in (file.age, file.sex))
    has, n = groups["outcome"].cast(pl.Boolean).to_numpy(), groups["len"].to_numpy().astype(float)
    cells = np.ones((2, ages.shape[1], sexes.shape[1]))
    for _ in range(500):
        new = np.zeros_like(cells)
        for outcome, rows in enumerate((~has, has)):
            if rows.any():
                likely = np.einsum("ia,as,is->i", ages[rows], cells[outcome], sexes[rows])
                new[outcome] = cells[outcome] * np.einsum("ia,i,is->as", ages[rows], n[rows] / likely, sexes[rows])
        if np.abs(new - cells).max() < 1e-3:
            return new
        cells = new
    return cells


def decade_of(value: str | None) -> int | None:
    """Return the decade of an age, None where there is none."""
    digits = "".join(filter(str.isdigit, (value or "").partition("-")[0]))
    return int(digits) // 10 if digits else None


def measured(file: File, methods: Sequence[str], k: int, splits: int, rows: int) -> list[list[str]]:
    """Rows of the printed table."""
    found: dict[str, list[list[float]]] = {method: [] for method in methods}
    empty: dict[str, list[str]] = {method: [] for method in methods}
    coding = Coding(file)
    whole = dict.fromkeys(file.hierarchies, (0,))
    for split in range(splits):
        frame = file.frame.sample(min(rows, file.frame.height), shuffle=True, seed=split)
        train, test = frame.head(int(0.7 * frame.height)), frame.tail(frame.height - int(0.7 * frame.height))
        truth, tested = test["outcome"].to_numpy(), coding.of(test, whole)
        best = aucs(coding.of(train, whole), train["outcome"].to_numpy(), tested, truth)
        for method in methods:
            started = time.perf_counter()
            release = cl.protect_table(
                train,
                rule=[f"k-anonymity={k}"],
                qi=file.hierarchies,
                sensitive=["outcome"],
                accept=["outcome"],
                **METHODS[method],
            )
            seconds = time.perf_counter() - started
            levels = levels_of(release)
            data = release.data
            own = aucs(coding.of(data, levels), data["outcome"].cast(pl.Boolean).to_numpy(), tested, truth)
            kept = rates_kept(file, coding, train, release)
            found[method].append([*(a / b for a, b in zip(own, best, strict=True)), kept, seconds])
            empty[method] += [name for name in file.hierarchies if (as_text(data[name]) == "*").all()]
    return [
        [
            file.name,
            str(k),
            method,
            *(f"{statistics.mean(column):.3f}" for column in list(zip(*found[method], strict=True))[:3]),
            f"{statistics.median([row[3] for row in found[method]]):.1f}",
            ", ".join(f"{name} {empty[method].count(name)}/{splits}" for name in dict.fromkeys(empty[method])),
        ]
        for method in methods
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 11])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--files", nargs="+")
    asked = parser.parse_args()
    data = Path(folder) if (folder := os.environ.get("CLOISTER_DATA")) else None
    table = Table("file", "k", "method", "logistic", "boosting", "rates", "seconds", "columns that say nothing")
    for file in files(data):
        for k in asked.k if not asked.files or file.name in asked.files else []:
            for row in measured(file, asked.methods, k, asked.splits, asked.rows):
                table.add_row(*row)
                print(*row, sep="\t", flush=True)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
