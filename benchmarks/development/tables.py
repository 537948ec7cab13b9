"""How fast is the optimal search on tables, and is its answer the known one?

Prints one row a table: encode and search seconds (median of several runs after a warm-up), peak memory, the answer,
and the bar. Tables and their hierarchies are looked for in the folder that CLOISTER_DATA names; without it, made-up
patients are used. The known optima were computed with ARX 3.9.

    python -m benchmarks.development.tables [--runs 5] [--threads 2] [--all]
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.table import Table

from cloister.hierarchy import hierarchy_file, parse_hierarchy
from cloister.io import Source, read_table
from cloister.privacy import KAnonymity
from cloister.results import SearchResult
from cloister.search import load_kernels, optimal
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import encode
from cloister.shapes.table.method.settings import available_cores
from cloister.testing import hospital_patients
from cloister.utility import LOSSES


@dataclass(frozen=True)
class Work:
    """One table to search, its known optimum, and the seconds that encode and search may take."""

    name: str
    file: str
    columns: int
    loss: str
    known: float
    bar: float
    long: bool = False


ADULT, FARS, DIABETES = "adult/adult.csv", "fars/fars.csv", "diabetes130/table15/diabetes15.csv"
WORKS = (
    Work("adult", ADULT, 9, "arx", 0.24193236510335, 0.14),
    Work("adult", ADULT, 9, "iyengar", 0.26963466278940, 0.14),
    Work("fars", FARS, 8, "arx", 0.15415307156492, 0.38),
    Work("fars", FARS, 8, "iyengar", 0.16024953263325, 0.38),
    Work("diabetes, 8", DIABETES, 8, "arx", 0.20119077369339, 0.38),
    Work("diabetes, 8", DIABETES, 8, "iyengar", 0.20799781154230, 0.38),
    Work("diabetes, 10", DIABETES, 10, "arx", 0.29332767670957, 2.5),
    Work("diabetes, 11", DIABETES, 11, "arx", 0.33458340979430, 10.0),
    Work("diabetes, 12", DIABETES, 12, "arx", float("nan"), float("nan"), long=True),
    Work("diabetes, 13", DIABETES, 13, "arx", float("nan"), float("nan"), long=True),
    Work("diabetes, 14", DIABETES, 14, "arx", float("nan"), float("nan"), long=True),
    Work("diabetes, 15", DIABETES, 15, "arx", float("nan"), 60.0, long=True),
    Work("diabetes, 15", DIABETES, 15, "iyengar", float("nan"), 60.0, long=True),
)
HOSPITAL = {
    "age": "interval:5,10,20/top=90/bottom=0",
    "sex": "suppress",
    "zip": "prefix:5",
    "ethnicity": "suppress",
    "admitted": "date:month,quarter,year",
}


@dataclass(frozen=True)
class Measured:
    """What one process measured."""

    encode: float
    search: float
    result: SearchResult
    peak: int


def request_for(work: Work, source: Source, folder: Path | None) -> TableRequest:
    """The first columns of a table as quasi-identifiers, k = 5, 5 % suppressed."""
    if folder is None:
        wanted = {column: parse_hierarchy(spec) for column, spec in HOSPITAL.items()}
    else:
        path = folder / work.file
        columns = source.frame.columns[: work.columns]
        wanted = {c: hierarchy_file(path.with_name(f"{path.stem}_hierarchy_{c}.csv")) for c in columns}
    return TableRequest(
        {column: QuasiIdentifier(hierarchy) for column, hierarchy in wanted.items()},
        (KAnonymity(5),),
        suppression=Decimal("0.05"),
        loss=LOSSES[work.loss],
        undecided=("drop",),
    )


def measure(work: Work, folder: str | None, runs: int, threads: int) -> Measured:
    """Encode and search in this process; the peak memory is that of the whole process."""
    place = None if folder is None else Path(folder)
    source = (
        Source(hospital_patients(0, 20_000), "csv", ",", None, "hospital")
        if place is None
        else read_table(place / work.file)
    )
    request = request_for(work, source, place)
    load_kernels()
    encoding, searching = [], []
    for _ in range(1 if work.long else runs):
        started = time.perf_counter()
        problem = encode(source.frame, request, source.name).problem
        encoding.append(time.perf_counter() - started)
        result = optimal(problem, threads=threads)
        searching.append(result.seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Measured(statistics.median(encoding), statistics.median(searching), result, peak)


def row(work: Work, found: Measured) -> list[str]:
    """One line of the table."""
    total = found.encode + found.search
    known = "" if work.known != work.known else ("yes" if abs(work.known - found.result.loss) < 1e-9 else "NO")
    bar = "" if work.bar != work.bar else f"{work.bar:.2f}{'' if total <= work.bar else ' MISSED'}"
    return [
        work.name,
        work.loss,
        f"{found.result.lattice:,}",
        f"{found.encode:.3f}",
        f"{found.search:.3f}",
        bar,
        f"{found.result.loss:.14f}",
        known,
        f"{found.result.suppressed:,}",
        f"{found.result.checked:,}",
        "yes" if found.result.optimal else f"gap {found.result.gap:.1%}",
        f"{found.peak:,}",
    ]


def command_seconds(arguments: list[str], runs: int) -> float:
    """Median seconds of a whole command."""
    seconds = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        subprocess.run(arguments, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds[1:])


def commands(folder: str | None, runs: int, screen: Console) -> None:
    """Whole commands: the help page, and adult from start to release."""
    cloister = [sys.executable, "-m", "cloister"]
    screen.print(f"cloister --help: {command_seconds([*cloister, '--help'], runs):.2f} s (bar 0.5)")
    if folder is None:
        return
    with tempfile.TemporaryDirectory() as temporary:
        adult = [*cloister, "protect", "table", f"{folder}/{ADULT}", "--hierarchies", f"{folder}/adult", "-k", "5"]
        out = ["--loss", "arx", "--out", f"{temporary}/release", "--overwrite"]
        screen.print(f"protect table adult: {command_seconds([*adult, *out], runs):.2f} s (bar 2.0)")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--all", action="store_true", help="also 12 to 15 columns, about two minutes")
    options = parser.parse_args()
    folder = os.environ.get("CLOISTER_DATA")
    works = (
        [w for w in WORKS if options.all or not w.long]
        if folder
        else [Work("hospital", "", 5, "iyengar", float("nan"), float("nan"))]
    )
    screen = Console(width=160)
    table = Table(title=f"Optimal search, k = 5, 5 % suppressed, {options.threads} threads (seconds; MiB)")
    for head in (
        "table",
        "loss",
        "lattice",
        "encode",
        "search",
        "bar",
        "optimum",
        "known",
        "suppressed",
        "checks",
        "proven",
        "peak",
    ):
        table.add_column(head, justify="left" if head in ("table", "loss") else "right")
    context = get_context("spawn")
    for work in works:
        with context.Pool(1) as pool:
            table.add_row(*row(work, pool.apply(measure, (work, folder, options.runs, options.threads))))
    screen.print(table)
    commands(folder, options.runs, screen)


if __name__ == "__main__":
    main()
