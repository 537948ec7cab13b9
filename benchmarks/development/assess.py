"""How long does an assessment take?

Bars: a million patients with ten quasi-identifiers in 10 s, read from CSV; what three known codes find among the 70,000
patients of diabetes130 in 10 s (in the folder that CLOISTER_DATA names).

    python -m benchmarks.development.assess
"""

import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import cloister as cl
from benchmarks.machine import machine
from cloister.io import read_table
from cloister.risk.assessment import load_kernels
from cloister.testing import hospital_patients

PATIENTS = 1_000_000
MORE = {"language": 30, "marital": 6, "insurer": 200, "parish": 97}
"""Columns beside those of the example hospital, and how many values each has."""


def patients(n: int) -> pl.DataFrame:
    """Patients with ten quasi-identifiers, hardly two of them alike: the most that there can be to do."""
    random = np.random.default_rng(0)
    more = [pl.Series(name, random.integers(0, n_values, n)) for name, n_values in MORE.items()]
    return hospital_patients(n=n).drop("mrn", "name").with_columns(more)


def clocked(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of all processors."""
    wall, computing = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - computing


def assess_file(path: Path) -> None:
    """Read and assess a table by all its columns."""
    frame = read_table(path).frame
    cl.assess(frame, qi=frame.columns, sampling_fraction=0.05)


def main() -> None:
    """Measure, and print a table."""
    load_kernels()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "patients.csv")
        patients(PATIENTS).write_csv(path)
        rows.append((f"{PATIENTS:,} patients, 10 quasi-identifiers", 10, *clocked(lambda: assess_file(path))))
    data = os.environ.get("CLOISTER_DATA")
    for name in ("diabetes130", "synpuf") if data else ():
        codes = cl.CodeSets.read(Path(str(data), name, "codes.csv.gz"))
        for known in ([3], [1, 2, 3, 5]):
            took = clocked(lambda codes=codes, known=known: cl.assess(codes, m=known))  # type: ignore[misc]
            rows.append((f"{name}, m = {', '.join(map(str, known))}", 10, *took))
    table = Table("what", "bar (s)", "clock (s)", "computing (s)")
    for what, bar, wall, computing in rows:
        table.add_row(what, str(bar), f"{wall:.2f}", f"{computing:.2f}")
    screen = Console(width=120)
    screen.print(table)
    screen.print(f"most memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB; {machine()}")


if __name__ == "__main__":
    main()
