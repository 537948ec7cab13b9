"""How much do anonymized trajectories lose, and how long does it take?

Repeats Figs 6, 7 and 8 and the table of Appendix A of Tamersoy, Loukides, Nergiz, Saygin, Malin (2012), IEEE
Transactions on Information Technology in Biomedicine 16(3), on public data (in the folder that CLOISTER_DATA names) at
the sizes of the paper, compares its cost with the exact one, and measures time.

    python -m benchmarks.papers.trajectories figures [--out docs/benchmarks]
    python -m benchmarks.papers.trajectories bars
    python -m benchmarks.papers.trajectories scale [--most 1000000]

`figures` writes ``trajectories.json``; with the extra `bench` installed also SVG drawings and ``trajectories.md``.
`scale` adds what it measured, if there is such a file.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from cloister.hierarchy import icd9, intervals
from cloister.recipients.pairs import ReleasedPairs, average_relative_error
from cloister.shapes.trajectories.format.data import Cost, Method, Trajectories, TrajectoriesRequest
from cloister.shapes.trajectories.format.facts import codebook
from cloister.shapes.trajectories.method.figures import frequent_pairs
from cloister.shapes.trajectories.method.problem import ProtectedTrajectories
from cloister.shapes.trajectories.method.protect import anonymize
from cloister.shapes.trajectories.method.release import order_of, write_patients

COMORBID = ("250", "272", "401", "724")
"""Diabetes, lipid metabolism, hypertension, the back: the four codes of the paper's smaller data sets."""

MOST_FREQUENT = 50
SIZES = {"50 codes": 27_639, "4 codes": 16_052, "4 codes, sample": 1_896}
"""Patients of the paper's three data sets."""

KS = (2, 5, 10, 15)
LARGEST = 4
"""Most pairs of a query."""

WEIGHTS = tuple(Fraction(tenth, 10) for tenth in range(1, 10))
SCREEN = Console(width=150)
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Sample:
    """Patients of one data set."""

    name: str
    trajectories: Trajectories


def events(name: str) -> pl.DataFrame:
    """The pairs of a data set, one a row."""
    path = Path(os.environ["CLOISTER_DATA"], name, "trajectories.csv.gz")
    return pl.read_csv(path, columns=["patient_id", "code", "age_years"], infer_schema=False)


def numbered(frame: pl.DataFrame) -> Trajectories:
    """Number patients, codes and ages."""
    codes, ages = frame["code"].unique().sort(), frame["age_years"].unique().cast(pl.Int64).sort()
    frame = frame.with_columns(
        code=pl.col("code").replace_strict(codes, np.arange(len(codes)), return_dtype=pl.Int32),
        age=pl.col("age_years").cast(pl.Int64).replace_strict(ages, np.arange(len(ages)), return_dtype=pl.Int32),
    ).sort("patient_id", "age", "code")
    lengths = frame.group_by("patient_id", maintain_order=True).len()["len"].to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = tuple(str(age) for age in ages.to_list())
    return Trajectories(tuple(codes.to_list()), values, offsets, frame["code"].to_numpy(), frame["age"].to_numpy())


def frequent(frame: pl.DataFrame, n_codes: int) -> pl.DataFrame:
    """Pairs of the codes that most patients have."""
    counts = frame.unique(["patient_id", "code"]).group_by("code").len()
    chosen = counts.sort(["len", "code"], descending=[True, False])["code"].head(n_codes)
    return frame.filter(pl.col("code").is_in(chosen.implode()))


def drawn(frame: pl.DataFrame, n_patients: int, seed: int = 0) -> pl.DataFrame:
    """Pairs of so many patients, drawn at random."""
    ids = frame["patient_id"].unique().sort()
    chosen = np.random.default_rng(seed).choice(len(ids), min(n_patients, len(ids)), replace=False)
    return frame.filter(pl.col("patient_id").is_in(ids.gather(np.sort(chosen)).implode()))


def samples() -> Iterator[Sample]:
    """The data sets of the paper's sizes, of synpuf."""
    synpuf = events("synpuf")
    few = synpuf.filter(pl.col("code").is_in(COMORBID))
    frames = {"50 codes": frequent(synpuf, MOST_FREQUENT), "4 codes": few, "4 codes, sample": few}
    for name, frame in frames.items():
        yield Sample(name, numbered(drawn(frame, SIZES[name])))


def request(k: int, **settings: Any) -> TrajectoriesRequest:
    """What is asked: ICD-9-CM, ages by 5, 10 and 20 years, 90 and over together; all patients compared."""
    return TrajectoriesRequest(k, icd9(), intervals(5, 10, 20, top=90), **({"block": "off"} | settings))


def described(sample: Sample) -> dict[str, Any]:
    """What a sample is made of (Table I)."""
    found = sample.trajectories
    owner = np.repeat(np.arange(found.n_patients), np.diff(found.offsets))
    width = max(len(found.vocabulary), len(found.age_values))
    distinct = [np.unique(owner * width + each).size / found.n_patients for each in (found.codes, found.ages)]
    return {
        "data": sample.name,
        "patients": found.n_patients,
        "codes": len(found.vocabulary),
        "ages": len(found.age_values),
        "pairs": found.n_pairs / found.n_patients,
        "codes_a_patient": distinct[0],
        "ages_a_patient": distinct[1],
    }


def measured(sample: Sample, k: int, **settings: Any) -> dict[str, Any]:
    """Anonymize; what was lost, and how long it took."""
    started = time.perf_counter()
    found = anonymize(sample.trajectories, request(k, **settings))
    seconds = time.perf_counter() - started
    row = {"data": sample.name, "k": k, "seconds": seconds, "blocks": found.blocks}
    row |= {"method": str(settings.get("method", Method.A_GS)), "cost": str(settings.get("cost", Cost.PAPER))}
    code_weight = settings.get("weights", (Fraction(1, 2),))[0]
    return row | {"weight": float(code_weight)} | asdict(found.losses) | {"are": _error(sample.trajectories, found)}


def _error(original: Trajectories, found: ProtectedTrajectories) -> float | None:
    """AvgRE over pairs and sets of pairs that 1 % of the patients have (Appendix B), as recipients have it answered."""
    asked = request(2)
    files = write_patients(found.released, found.alignment, None, order_of(found.released, found.alignment, None))
    book = codebook(files, {"code": asked.code_hierarchy.kind, "age": asked.age_hierarchy.kind})
    pairs = ReleasedPairs.of(files.frame, book, {"code": asked.code_hierarchy, "age": asked.age_hierarchy})
    workload = frequent_pairs(original, 1, largest=LARGEST)
    return average_relative_error(pairs, workload, original.vocabulary, original.age_values)


def figures(out: Path) -> None:
    """Everything that tables and figures show, as one JSON file, then as drawings and a page."""
    out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    found: dict[str, Any] = {"machine": machine(), "samples": [], "runs": [], "weights": []}
    for sample in samples():
        found["samples"].append(described(sample))
        for k in KS:
            for method, cost in ((Method.A_GS, Cost.PAPER), (Method.A_GS, Cost.EXACT), (Method.BASELINE, Cost.PAPER)):
                found["runs"].append(measured(sample, k, method=method, cost=cost))
            SCREEN.print(f"{sample.name}, k = {k}: {time.perf_counter() - started:.0f} s")
        if sample.name == "50 codes":
            found["weights"] = [measured(sample, 2, weights=(weight, 1 - weight)) for weight in WEIGHTS]
    real = Sample("diabetes130", numbered(events("diabetes130")))
    found["samples"].append(described(real))
    for k in KS:
        found["runs"] += [measured(real, k, cost=cost) for cost in Cost]
        found["runs"].append(measured(real, k, block="auto") | {"cost": "paper, blocks"})
    found["bars"] = timed()
    found["seconds"] = time.perf_counter() - started
    path = out / "trajectories.json"
    found["scale"] = json.loads(path.read_text()).get("scale", []) if path.exists() else []
    path.write_text(json.dumps(found, indent=1) + "\n")
    draw(out)


def draw(out: Path) -> None:
    """Draw what was measured before."""
    from benchmarks.papers.trajectories_figures import draw_all, write_page

    found = json.loads((out / "trajectories.json").read_text())
    draw_all(found, out)
    write_page(found, out)


def timed() -> Rows:
    """Seconds and losses of the works that have a bar, with k = 5."""
    first = next(samples())
    real = Sample("diabetes130", numbered(events("diabetes130")))
    rows = []
    for sample, block, bar in ((first, "off", 30.0), (real, "off", 120.0), (real, "auto", 30.0)):
        row = measured(sample, 5, block=block)
        work = f"{sample.name}, {sample.trajectories.n_patients:,} patients, {row['blocks']} block(s)"
        rows.append({"work": work, "bar": bar, "exact": row["ilm_exact"] + row["alm_exact"]} | row)
    return rows


def bars() -> None:
    """Print the seconds of the works that have a bar."""
    measured(next(iter(_small())), 5)  # loads what is compiled
    table = Table(title="A-GS, k = 5 (seconds)")
    for head in ("work", "seconds", "bar", "ilm + alm, exact"):
        table.add_column(head, justify="right")
    for row in timed():
        missed = " MISSED" if row["seconds"] > row["bar"] else ""
        table.add_row(row["work"], f"{row['seconds']:.1f}", f"{row['bar']:g}{missed}", f"{row['exact']:.4f}")
    SCREEN.print(table)


def _small() -> Iterator[Sample]:
    yield Sample("small", numbered(drawn(frequent(events("synpuf"), MOST_FREQUENT), 500)))


def made_up(n_patients: int, seed: int = 1) -> Trajectories:
    """Patients like those of synpuf with the 50 codes: older or younger, some pairs left out, some of others put in."""
    real = numbered(frequent(events("synpuf"), MOST_FREQUENT))
    generator = np.random.default_rng(seed)
    who = generator.integers(0, real.n_patients, n_patients)
    lengths = np.diff(real.offsets)[who]
    owner = np.repeat(np.arange(n_patients), lengths)
    first = np.cumsum(lengths) - lengths
    place = np.repeat(real.offsets[who] - first, lengths) + np.arange(lengths.sum())
    ages = real.ages[place] + np.repeat(generator.integers(-5, 6, n_patients), lengths)
    ages = np.clip(ages, 0, len(real.age_values) - 1)
    other = real.codes[generator.integers(0, real.n_pairs, place.size)]
    codes = np.where(generator.random(place.size) < 0.15, other, real.codes[place])
    kept = generator.random(place.size) < 0.85
    kept[first] = True
    codes, ages, owner = codes[kept], ages[kept], owner[kept]
    order = np.lexsort((codes, ages, owner))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n_patients))]).astype(np.int64)
    numbers = (each[order].astype(np.int32) for each in (codes, ages))
    return Trajectories(real.vocabulary, real.age_values, offsets, *numbers)


def scale(out: Path, most: int) -> None:
    """Time, memory and loss of generated patients, in blocks, each size in a process of its own."""
    sizes = [size for size in (10_000, 30_000, 100_000, 300_000, 1_000_000) if size <= most]
    rows = []
    for size in sizes:
        ran = subprocess.run(
            [sys.executable, "-m", "benchmarks.papers.trajectories", "one", "--most", str(size)],
            capture_output=True,
            check=True,
        )
        rows.append(json.loads(ran.stdout))
        SCREEN.print(rows[-1])
    path = out / "trajectories.json"
    if path.exists():
        found = json.loads(path.read_text()) | {"scale": rows}
        path.write_text(json.dumps(found, indent=1) + "\n")
        draw(out)


def one(size: int) -> None:
    """One size of `scale`, as JSON."""
    anonymize(made_up(100), request(5))
    patients = made_up(size)
    started = time.perf_counter()
    found = anonymize(patients, request(5, block="auto"))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    row = {"patients": size, "pairs": patients.n_pairs, "seconds": seconds, "gib": peak, "blocks": found.blocks}
    print(json.dumps(row | asdict(found.losses)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("figures", "draw", "bars", "scale", "one"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "docs" / "benchmarks")
    parser.add_argument("--most", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    works = {"figures": lambda: figures(options.out), "draw": lambda: draw(options.out), "bars": bars}
    works |= {"scale": lambda: scale(options.out, options.most), "one": lambda: one(options.most)}
    works[options.what]()


if __name__ == "__main__":
    main()
