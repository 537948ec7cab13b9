"""Releases of cohorts by cloister and by another package, in one run: width of cells, and models trained on them.

pip install anonypyx; python -m benchmarks.usefulness.peers FOLDER [--k 5 11]

FOLDER as of `benchmarks.usefulness.cohorts`. Records without a value anywhere are left out, as anonypyx takes none.
70% of the rest are released, with the outcome as recorded. *Width*: how much of a column a cell may be, 0 its value, 1
all of the column; of numbers the share of the range, of categories that of the other categories; mean over cells. Of
averages (not truthful): the mean distance of the value, as a share of the range, and the share of other categories.
*AUC*: logistic regression and boosted trees, trained on the release (middles of intervals; sets of categories as
categories) and tested on the original of the other 30%, as a share of the AUC of the same model trained on the
original. anonypyx's MDAV is not measured: with today's pandas it stops at columns of categories. Rows are printed when
they are measured, with the number of released records. Models train in one thread: on a machine with other work the
threads of these libraries wait for each other, 60 times as long.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import cloister as cl
from cloister.io import as_text

from .cohorts import COHORTS, read
from .tables import File, aucs, settings_of


@dataclass(frozen=True)
class Cells:
    """A released column: the middle and width of numbers, or a label and the number of values that it covers."""

    shown: NDArray[np.float64] | list[str]
    width: NDArray[np.float64]


def with_numbers(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return a file with some columns as numbers, whole where all are; codes of categories begin with a letter."""
    found = [frame[name].cast(pl.Float64) for name in columns]
    named = frame.with_columns(pl.col(pl.String).str.replace("^", "v"))
    return named.with_columns(one.cast(pl.Int64) if (one % 1 == 0).all() else one for one in found)


def is_number(column: pl.Series) -> bool:
    """Whether a column is numeric."""
    return column.dtype.is_numeric()


def ours(file: File, k: int, method: str) -> tuple[pl.DataFrame, dict[str, Cells]]:
    """Return the outcomes and cells of a release by cloister."""
    settings: Mapping[str, object] = {"method": "mdav"} if method == "mdav" else settings_of(file, method)
    release = cl.protect_table(
        file.frame, k=k, qi=file.hierarchies, sensitive=["outcome"], accept=["outcome"], suppression=0, **settings
    )
    book = release.codebook
    cells = {}
    for name in file.hierarchies:
        text, column = as_text(release.data[name]), file.frame[name]
        if method == "mdav":
            lost = release.manifest.utility.columns[name].loss  # of averages, the distance from the values
            width = np.full(len(text), lost)
            shown = text.cast(pl.Float64).to_numpy() if is_number(column) else text.to_list()
        elif is_number(column):
            low, high = float(column.min()), float(column.max())
            rows = book.filter(pl.col("column") == name).select("label", "lower", "upper").iter_rows()
            ends = {label: (float(a), float(b)) for label, a, b in rows if a is not None and b is not None}
            each = [ends.get(one) or _number(one, low, high) for one in text.to_list()]
            spans = np.clip(np.array(each), low, high)
            shown, width = spans.mean(axis=1), (spans[:, 1] - spans[:, 0]) / (high - low)
        else:
            shown, width = text.to_list(), (text == "*").cast(float).to_numpy()
        cells[name] = Cells(shown, width)
    return release.data.select("outcome"), cells


def _number(text: str, low: float, high: float) -> tuple[float, float]:
    """A number as recorded, else all numbers."""
    try:
        return float(text), float(text)
    except ValueError:
        return low, high


def theirs(file: File, k: int) -> tuple[pl.DataFrame, dict[str, Cells]]:
    """Return the outcomes and cells of the classes that anonypyx's Mondrian makes: ranges and sets of values."""
    from anonypyx import Anonymiser

    numbers = {name: is_number(file.frame[name]) for name in file.hierarchies}
    columns = {name: file.frame[name].to_list() for name in numbers}
    frame = pd.DataFrame({n: np.array(v, float) if numbers[n] else pd.Categorical(v) for n, v in columns.items()})
    tool = Anonymiser(frame, k=k, algorithm="Mondrian", feature_columns=list(numbers))
    classes = [np.asarray(one) for one in tool.algorithm.partition(tool.parameters)]
    assert min(map(len, classes)) >= k
    cells = {}
    for name, is_numeric in numbers.items():
        values, width = frame[name].to_numpy(), np.zeros(len(frame))
        shown = np.zeros(len(frame)) if is_numeric else np.empty(len(frame), object)
        span = np.ptp(values) if is_numeric else len(set(values)) - 1
        for rows in classes:
            own = values[rows]
            shown[rows] = (own.min() + own.max()) / 2 if is_numeric else "|".join(sorted(set(own)))
            width[rows] = (np.ptp(own) if is_numeric else len(set(own)) - 1) / span
        cells[name] = Cells(shown if is_numeric else list(shown), width)
    return file.frame.select("outcome"), cells


def aucs_of(file: File, test: pl.DataFrame, made: tuple[pl.DataFrame, Mapping[str, Cells]]) -> NDArray[np.float64]:
    """Return the AUC of each model that is trained on a release, on original records."""
    outcome, cells = made
    released = pl.DataFrame({name: one.shown for name, one in cells.items()})
    both = pl.concat(
        [frame.select(pl.col(n).cast(float if is_number(file.frame[n]) else str) for n in cells)
         for frame in (released, test)]
    )  # fmt: skip
    matrix = both.to_dummies([n for n in cells if not is_number(file.frame[n])]).to_numpy().astype(float)
    train, rest = matrix[: released.height], matrix[released.height :]
    return np.array(aucs(train, outcome["outcome"].to_numpy(), rest, test["outcome"].to_numpy()))


def recorded(file: File) -> tuple[pl.DataFrame, dict[str, Cells]]:
    """Return the outcomes and cells of the original."""
    columns = {name: file.frame[name] for name in file.hierarchies}
    shown = {n: one.cast(float).to_numpy() if is_number(one) else as_text(one).to_list() for n, one in columns.items()}
    return file.frame.select("outcome"), {n: Cells(one, np.zeros(file.frame.height)) for n, one in shown.items()}


TOOLS: dict[str, Callable[[File, int], tuple[pl.DataFrame, dict[str, Cells]]]] = {
    "default": lambda file, k: ours(file, k, "default"),
    "cluster": lambda file, k: ours(file, k, "cluster"),
    "mondrian": lambda file, k: ours(file, k, "mondrian"),
    "mdav": lambda file, k: ours(file, k, "mdav"),
    "anonypyx": theirs,
}


def main() -> None:
    """Print the figures of each file, and their means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 11])
    asked = parser.parse_args()
    every: dict[tuple[int, str], list[list[float]]] = {}
    print("| cohort | records | k | tool | width | AUC, logistic | boosted | seconds |", flush=True)
    for name, cohort in COHORTS.items():
        whole = read(asked.folder, cohort)
        measured = [name for name, words in cohort.quasi.items() if name == "age" or words.startswith("interval")]
        frame = with_numbers(whole.frame.drop_nulls(), measured).sample(fraction=1, shuffle=True, seed=2)
        cut = int(0.7 * frame.height)
        file, test = File(whole.name, frame[:cut], whole.hierarchies, whole.age, whole.sex), frame[cut:]
        with threadpool_limits(1):
            original = aucs_of(file, test, recorded(file))
        for k, tool in ((k, tool) for k in asked.k for tool in TOOLS):
            began = time.perf_counter()
            made = TOOLS[tool](file, k)
            seconds = time.perf_counter() - began
            width = float(np.mean([one.width.mean() for one in made[1].values()]))
            with threadpool_limits(1):
                figures = [width, *aucs_of(file, test, made) / original, seconds]
            every.setdefault((k, tool), []).append(figures)
            print_row(name, str(cut), str(k), tool, figures)
    for (k, tool), rows in every.items():
        print_row(f"mean of {len(rows)}", "", str(k), tool, np.mean(rows, axis=0).tolist())


def print_row(*texts: object) -> None:
    """Print a row of the page: texts, then a list of figures."""
    *named, figures = texts
    assert isinstance(figures, list)
    *shares, seconds = figures
    print("|", " | ".join([*map(str, named), *(f"{one:.3f}" for one in shares), f"{seconds:.1f}"]), "|", flush=True)


if __name__ == "__main__":
    main()
