"""Commands run each as a process of its own, with the seconds and the memory that it took; and how that is printed."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.scale.spark_code_sets import resident

GIB = 2**30


@dataclass(frozen=True)
class Took:
    """Seconds by the clock, seconds of all cores, and the most memory (GiB) of the process or one that it started."""

    clock: float
    cores: float
    gib: float


@dataclass(frozen=True)
class Row:
    """One release: what made it, of how many records, what it took, and what came out."""

    engine: str
    rows: int
    combinations: int
    protect: Took
    verify: Took
    manifest: Mapping[str, Any]


def cloister(*words: str, limit: float, environment: Mapping[str, str] | None = None) -> Took:
    """Run a command of cloister; it is stopped after ``limit`` seconds."""
    return measure("-m", "cloister", *words, limit=limit, environment=environment)


def measure(*words: str, limit: float, environment: Mapping[str, str] | None = None) -> Took:
    """Run Python with these arguments in a process of its own, and return what it took.

    The memory is what the system counts as the peak of a process that ended, so that no moment is missed. What is
    started from here is kept small, as a new process begins with the peak of the one that it was started by.
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.DEVNULL,
        env=None if environment is None else os.environ | environment,
    )
    late = threading.Timer(limit, process.kill)
    late.start()
    _, status, used = os.wait4(process.pid, 0)
    late.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"python {' '.join(words[:4])} ended with {process.returncode}")
    took = time.perf_counter() - started
    return Took(took, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / GIB)


@contextmanager
def watched(root: int) -> Iterator[list[float]]:
    """Yield what becomes the most memory (GiB, looked at every half second) of a process and all below it together."""
    most, done = [0.0], threading.Event()

    def look() -> None:
        while not done.wait(0.5):
            processes = resident()
            own: set[int] = set()
            more = {root}
            while more:
                own |= more
                more = {one for one, (parent, *_) in processes.items() if parent in own} - own
            most[0] = max(most[0], sum(processes[one][1] for one in own if one in processes) / GIB)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()


def apart(work: Callable[..., Any], *arguments: object, **named: object) -> Any:
    """What a function gives in a process of its own, which leaves nothing in the memory of this one."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments, named)


def manifest_of(folder: Path) -> dict[str, Any]:
    """The manifest of a release."""
    return json.loads((folder / "release.json").read_text(encoding="utf-8"))


def answer_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What must not depend on where the records were."""
    return {key: manifest[key] for key in ("columns", "records", "utility", "risk")} | {
        "search": {key: value for key, value in manifest["search"].items() if key != "checked"}
    }


def took_table(rows: list[Row]) -> Table:
    """What the commands took."""
    heads = ("engine", "records", "combinations", "protect (s)", "cores (s)", "GiB", "verify (s)", "cores (s)", "GiB")
    table = Table(title="Whole commands, each a process: seconds, seconds of all cores, peak memory")
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left")
    for row in rows:
        took = [f"{number:.{digits}f}" for one in (row.protect, row.verify) for number, digits in _numbers(one)]
        table.add_row(row.engine, f"{row.rows:,}", f"{row.combinations:,}", *took)
    return table


def _numbers(took: Took) -> list[tuple[float, int]]:
    return [(took.clock, 1), (took.cores, 1), (took.gib, 2)]


def stage_table(rows: list[Row]) -> Table:
    """Where the seconds of protect went, and what came out."""
    stages = ("start", "read", "encode", "search", "protect", "verify", "measure", "write")
    table = Table(title="Where the seconds of protect went; loss, records suppressed")
    for place, head in enumerate(("engine", "records", *stages, "loss", "suppressed")):
        table.add_column(head, justify="left" if place == 0 else "right")
    for row in rows:
        seconds = [f"{row.manifest['seconds'][stage]:.1f}" for stage in stages]
        told = (f"{row.manifest['utility']['loss']:.6f}", str(row.manifest["records"]["suppressed"]))
        table.add_row(row.engine, f"{row.rows:,}", *seconds, *told)
    return table
