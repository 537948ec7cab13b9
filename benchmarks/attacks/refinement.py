"""What labels reveal to somebody who knows the method, and what it costs that nothing follows exactly.

python -m benchmarks.attacks.refinement DATA [--cohorts FOLDER] [--k 2 3 5 11] [--files adult fars] [--json FILE]

DATA is that of `benchmarks.usefulness.tables`, FOLDER that of `benchmarks.usefulness.cohorts`. Of each file, method and
k: the coarser labels of classes, how many of them have finer counts that follow exactly, the records of these classes,
the bits of a label in the mean, the seconds of the attack; then the losses of labels that resist downcoding.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import polars as pl

import cloister as cl
from benchmarks import pages
from benchmarks.usefulness import cohorts
from benchmarks.usefulness.tables import File, files, settings_of
from cloister.io import as_text
from cloister.shapes.table.method.settings import LEAST_RESISTING

ATTACKED = ("default", "cluster", "mondrian", "local recoding")
COMPARED = ("resisting", "mondrian, nested", "mondrian", "default")
Found = dict[str, float | int | str]


def main() -> None:
    """Print the tables, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cohorts", type=Path)
    parser.add_argument("--k", type=int, nargs="+", default=[2, 3, 5, 11])
    parser.add_argument("--files", nargs="+", default=["adult", "fars"])
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    every = files(asked.data)
    if asked.cohorts is not None:
        every += [replace(cohorts.read(asked.cohorts, one), name=name) for name, one in cohorts.COHORTS.items()]
    chosen = [file for file in every if file.name in asked.files]
    attacks = [_attack(file, method, k) for file in chosen for method in ATTACKED for k in asked.k]
    print(_show_attacks(attacks), flush=True)
    losses = [_measure_losses(file, k) for k in asked.k if k >= LEAST_RESISTING for file in every]
    print(_show_losses(losses))
    if asked.json is not None:
        asked.json.write_text(json.dumps({"losses": losses, "attacks": attacks}, indent=1))


def _protect(file: File, method: str, k: int) -> cl.Release:
    return cl.protect_table(
        file.frame, k=k, qi=file.hierarchies, sensitive=["outcome"], accept=["outcome"], **settings_of(file, method)
    )


def _measure_losses(file: File, k: int) -> Found:
    """Return the loss by method, counted from the values that occur for all alike."""
    found = {method: _protect(file, method, k).manifest.utility.loss for method in COMPARED[1:]}
    return {"file": file.name, "k": k, COMPARED[0]: _loss_of(_protect(file, COMPARED[0], k).frame, file), **found}


def _loss_of(released: pl.DataFrame, file: File) -> float:
    """Return the mean loss of columns; labels that resist downcoding state it without counting values."""
    losses = []
    for column, hierarchy in file.hierarchies.items():
        bound = hierarchy.bind(column, as_text(file.frame[column]).unique().to_list())
        sets = bound.sets(range(bound.n_levels)).group_by("label").agg(pl.col("leaves").max())
        shown = as_text(released[column]).to_frame("label").join(sets, on="label", how="left", nulls_equal=True)
        losses.append(float((shown["leaves"] - 1).mean()) / max(1, bound.n_leaves - 1))  # type: ignore[arg-type]
    return sum(losses) / len(losses)


def _attack(file: File, method: str, k: int) -> Found:
    """Protect a file, and return what the attack finds."""
    with tempfile.TemporaryDirectory() as place:
        _protect(file, method, k).write(Path(place) / "release")
        began = time.perf_counter()
        found = cl.attack(Path(place) / "release", original=file.frame, hierarchies=file.hierarchies).refinement
        seconds = time.perf_counter() - began
    assert found is not None
    return {"file": file.name, "method": method, "k": k, **asdict(found), "seconds": seconds}


def _show_losses(losses: Sequence[Found]) -> str:
    heads = ["file", "k", *COMPARED, f"{COMPARED[0]} / {COMPARED[1]}"]
    rows = [[one["file"], one["k"], *(f"{one[name]:.3f}" for name in COMPARED), f"{_ratio(one):.2f}"] for one in losses]
    return pages.table(heads, rows)


def _ratio(one: Found) -> float:
    return float(one[COMPARED[0]]) / float(one[COMPARED[1]])


def _show_attacks(attacks: Sequence[Found]) -> str:
    heads = ["file", "method", "k", "coarser labels", "follow exactly", "share", "records", "bits", "attack, s"]
    rows = [
        [
            *(one[name] for name in ("file", "method", "k")),
            *(f"{one[name]:,}" for name in ("labels", "determined")),
            pages.share(float(one["determined"]) / max(1.0, float(one["labels"]))),
            f"{one['records']:,}",
            f"{one['bits']:.2f}",
            f"{one['seconds']:.1f}",
        ]
        for one in attacks
    ]
    return pages.table(heads, rows)


if __name__ == "__main__":
    main()
