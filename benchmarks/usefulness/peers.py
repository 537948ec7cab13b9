"""Releases of cohorts by cloister and by other packages, in one run: width of cells, and models trained on them.

pip install anonypyx; ARX_CLASSPATH=... python -m benchmarks.usefulness.peers FOLDER [--k 5 11]

FOLDER as of `benchmarks.usefulness.cohorts`. Records without a value anywhere are left out, as anonypyx takes none.
70% of the rest are released, with the outcome as recorded. *Width*: how much of a column a cell may be, 0 its value, 1
all of the column; of numbers the share of the range, of categories that of the other categories; mean over cells. Of
averages (not truthful): the mean distance of the value, as a share of the range, and the share of other categories.
*AUC*: logistic regression and boosted trees, trained on the release (middles of intervals; a set of categories as equal
shares of each) and tested on the original of the other 30%, as a share of the AUC of the same model trained on the
original. ARX recodes locally (`benchmarks.usefulness.peers_arx`), where ARX_CLASSPATH names its classes. anonypyx's
MDAV is not measured: with today's pandas it stops at columns of categories. Rows are printed when they are measured,
with the number of released records. Models train in one thread: on a machine with other work the threads of these
libraries wait for each other, 60 times as long.
"""

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import cloister as cl
from cloister.hierarchy.value_lists import read_list
from cloister.io import as_text
from cloister.release.codebook import bounds_of

from .cohorts import COHORTS, read
from .peers_arx import recode_by_arx
from .tables import File, aucs, settings_of


@dataclass(frozen=True)
class Cells:
    """A released column: the middle and width of numbers, or sets of categories and the share of the others in them."""

    shown: NDArray[np.float64] | list[tuple[str, ...]]
    width: NDArray[np.float64]

    @classmethod
    def of(cls, column: pl.Series, labels: Sequence[str]) -> "Cells":
        """Read labels of intervals, and of values, lists of values and all values."""
        if is_number(column):
            low, high = float(column.min()), float(column.max())
            ends = {label: bounds_of(label) or (None, None) for label in {*labels}}
            each = [[low if a is None else float(a), high if b is None else float(b)] for a, b in map(ends.get, labels)]
            spans = np.clip(np.array(each), low, high)
            return cls(spans.mean(axis=1), (spans[:, 1] - spans[:, 0]) / (high - low))
        every = tuple(sorted(as_text(column).unique()))
        sets = [read_list(label) or ((label,) if label in every else every) for label in labels]
        return cls(sets, np.array([len(one) - 1 for one in sets]) / max(1, len(every) - 1))

    def matrix(self, values: Sequence[str]) -> NDArray[np.float64]:
        """Return the numbers, or the share of each category."""
        if not isinstance(self.shown, list):
            return self.shown[:, None]
        place = {value: n for n, value in enumerate(values)}
        shares = np.zeros((len(self.shown), len(values)))
        for row, own in enumerate(self.shown):
            shares[row, [place[value] for value in own]] = 1 / len(own)
        return shares


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
    cells = {}
    for name in file.hierarchies:
        text, column = as_text(release.data[name]), file.frame[name]
        cells[name] = Cells.of(column, text.to_list())
        if method == "mdav":  # of averages, the distance from the values
            lost = release.manifest.utility.columns[name].loss
            cells[name] = Cells(cells[name].shown, np.full(len(text), lost))
    return release.data.select("outcome"), cells


def by_arx(file: File, k: int) -> tuple[pl.DataFrame, dict[str, Cells]] | None:
    """Return the outcomes and cells of ARX's local recoding, if it makes one; suppressed records have only `*`."""
    found = recode_by_arx(file, k)
    if found is None:
        return None
    return file.frame.select("outcome"), {n: Cells.of(file.frame[n], found[n].to_list()) for n in file.hierarchies}


def by_anonypyx(file: File, k: int) -> tuple[pl.DataFrame, dict[str, Cells]]:
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
        shown, sets = np.zeros(len(frame)), [()] * len(frame)
        span = np.ptp(values) if is_numeric else len(set(values)) - 1
        for rows in classes:
            own = values[rows]
            width[rows] = (np.ptp(own) if is_numeric else len(set(own)) - 1) / span
            if is_numeric:
                shown[rows] = (own.min() + own.max()) / 2
            else:
                for row in rows.tolist():
                    sets[row] = tuple(sorted(set(own)))
        cells[name] = Cells(shown if is_numeric else sets, width)
    return file.frame.select("outcome"), cells


def aucs_of(file: File, test: pl.DataFrame, made: tuple[pl.DataFrame, Mapping[str, Cells]]) -> NDArray[np.float64]:
    """Return the AUC of each model that is trained on a release, on original records."""
    outcome, cells = made
    original = recorded(replace(file, frame=test))[1]
    values = {n: sorted(as_text(pl.concat([file.frame[n], test[n]])).unique()) for n in cells}
    train, rest = (np.hstack([one.matrix(values[n]) for n, one in of.items()]) for of in (cells, original))
    return np.array(aucs(train, outcome["outcome"].to_numpy(), rest, test["outcome"].to_numpy()))


def recorded(file: File) -> tuple[pl.DataFrame, dict[str, Cells]]:
    """Return the outcomes and cells of the original."""
    columns = {name: file.frame[name] for name in file.hierarchies}
    return file.frame.select("outcome"), {n: Cells.of(one, as_text(one).to_list()) for n, one in columns.items()}


TOOLS: dict[str, Callable[[File, int], tuple[pl.DataFrame, dict[str, Cells]] | None]] = {
    "default": lambda file, k: ours(file, k, "default"),
    "cluster": lambda file, k: ours(file, k, "cluster"),
    "mondrian": lambda file, k: ours(file, k, "mondrian"),
    "mdav": lambda file, k: ours(file, k, "mdav"),
    "anonypyx": by_anonypyx,
} | ({"ARX, local recoding": by_arx} if os.environ.get("ARX_CLASSPATH") else {})


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
            if made is None:
                continue
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
