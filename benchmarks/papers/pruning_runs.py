"""Runs of searches on one table, in a process of their own, and the tables that runs are made on."""

import resource
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

from benchmarks.development.tables import ADULT, DIABETES, FARS, Work, request_for
from cloister.errors import NoSafeRelease
from cloister.io import Source, read_table
from cloister.results import PropertyStatistics
from cloister.search import SEARCHES, load_kernels, search, search_run
from cloister.search.problem import Progress, SearchProblem
from cloister.shapes.table.method.encode import encode
from cloister.shapes.table.method.settings import available_cores
from cloister.testing import hospital_patients

TABLES = {"adult": (ADULT, 9), "fars": (FARS, 8), "diabetes": (DIABETES, 15), "large": (ADULT, 9)}
"""Tables with real data: their file and how many columns they have."""

HOSPITALS = {"hospital": 20_000, "large": 1_200_000}
"""Made-up tables of five columns, for whoever has no real data: records."""

ONE_THREAD = "optimal, 1 thread"

UNLIMITED = 3600.0
"""Seconds for `optimal`, which needs no limit here, whatever else is running."""

LONG = 2.0
"""Seconds of a run that is made once only."""


@dataclass(frozen=True)
class Place:
    """Where tables come from, the records of the large one, and the loss."""

    folder: Path | None
    records: int
    loss: str


@dataclass(frozen=True)
class Setting:
    """What is run: a table's first columns, a search, the seconds it may take, and whether its course is watched."""

    table: str
    columns: int
    search: str
    seconds: float
    runs: int = 1
    watched: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of it: the run of middle length. ``loss`` is None where no safe policy was found in time.

    ``seconds`` are processor time, but those of a search with several threads by the clock. ``peak_mib`` is the most
    memory of the process so far, and that of the search only if it was the first.
    """

    table: str
    columns: int
    search: str
    lattice: int
    rows: int
    seconds: float
    limit: float
    loss: float | None = None
    suppressed: int = 0
    levels: list[int] = field(default_factory=list)
    finished: bool = False
    checked: int = 0
    to_best: float = 0.0
    store_bytes: int = 0
    peak_mib: int = 0
    quality: dict[str, int] = field(default_factory=dict)
    protection: dict[str, int] = field(default_factory=dict)
    course: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Race:
    """IGreedy, and best-first search stopped after the same time."""

    greedy: Outcome
    best_first: Outcome


def resampled(frame: pl.DataFrame, records: int, changed: float = 0.1) -> pl.DataFrame:
    """As many records drawn from a table, each value replaced now and then by another of its column."""
    generator = np.random.default_rng(0)
    drawn = generator.integers(frame.height, size=records)
    columns = {}
    for name in frame.columns:
        other = generator.integers(frame.height, size=records)
        columns[name] = frame[name].gather(np.where(generator.random(records) < changed, other, drawn))
    return pl.DataFrame(columns)


@lru_cache(maxsize=1)
def problem_of(table: str, columns: int, place: Place) -> SearchProblem:
    """The first columns of a table, encoded; k = 5, 5 % of the records suppressed."""
    if place.folder is None:
        records = place.records if table == "large" else HOSPITALS[table]
        source = Source(hospital_patients(0, records), "csv", ",", None, "hospital")
        request = request_for(Work("", "", 5, place.loss, 0, 0), source, None)
        wanted = dict(list(request.quasi_identifiers.items())[:columns])
        return encode(source.frame, replace(request, quasi_identifiers=wanted)).problem
    file, _ = TABLES[table]
    source = read_table(place.folder / file)
    request = request_for(Work("", file, columns, place.loss, 0, 0), source, place.folder)
    frame = resampled(source.frame, place.records) if table == "large" else source.frame
    return encode(frame, request).problem


@cache
def compile_kernels() -> None:
    """Compile, or load, all kernels before anything is timed."""
    load_kernels()
    problem = problem_of("large", 5, Place(None, 200, "iyengar"))
    for name in SEARCHES:
        search(name, problem, threads=2)


def once(problem: SearchProblem, setting: Setting, limit: float) -> Outcome:
    """Run a search on a problem."""
    seen: list[tuple[float, float]] = []
    name, threads = ("optimal", 1) if setting.search == ONE_THREAD else (setting.search, available_cores())
    rows = problem.task.rows.records.size
    plain = Outcome(setting.table, setting.columns, setting.search, problem.lattice, rows, limit, limit)
    search_run.time = SimpleNamespace(perf_counter=time.process_time)  # limits shall not depend on what else is running
    search_run.REPORT_EVERY = 1 if setting.watched else 64
    limit = UNLIMITED if name == "optimal" else limit
    report = (lambda progress: _note(seen, progress)) if setting.watched else None
    started = time.process_time()
    try:
        found = search(name, problem, threads=threads, time_limit=limit, report=report)
    except NoSafeRelease:
        return replace(plain, seconds=time.process_time() - started)
    outcome = replace(
        plain,
        seconds=found.seconds if setting.search == "optimal" else time.process_time() - started,
        loss=found.loss,
        suppressed=found.suppressed,
        levels=list(found.levels.values()),
        finished=found.optimal or setting.search.startswith(("igreedy", "datafly")),
        checked=found.checked,
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        course=seen,
    )
    known = found.statistics
    if known is None:
        return outcome
    return replace(
        outcome,
        to_best=known.seconds_to_best,
        store_bytes=known.store_bytes,
        quality=_counts(known.insufficient_quality),
        protection=_counts(known.insufficient_protection),
    )


def median(problem: SearchProblem, setting: Setting, limit: float | None = None) -> Outcome:
    """Run a search as often as wanted; the run of middle length. What took long is not repeated."""
    limit = setting.seconds if limit is None else limit
    outcomes = [once(problem, setting, limit)]
    while len(outcomes) < setting.runs and outcomes[0].seconds < LONG:
        outcomes.append(once(problem, setting, limit))
    return sorted(outcomes, key=lambda outcome: outcome.seconds)[len(outcomes) // 2]


def _note(seen: list[tuple[float, float]], progress: Progress) -> None:
    if progress.loss != float("inf") and (not seen or progress.loss < seen[-1][1]):
        seen.append((progress.seconds, progress.loss))


def _counts(kept: PropertyStatistics | None) -> dict[str, int]:
    return {} if kept is None else asdict(kept)


def searches(settings: Sequence[Setting], place: Place) -> list[Outcome]:
    """Run settings one after another."""
    compile_kernels()
    return [median(problem_of(setting.table, setting.columns, place), setting) for setting in settings]


def races(settings: Sequence[Setting], place: Place) -> list[Race]:
    """Run IGreedy in the variants of the settings, and best-first search for the time that each took."""
    compile_kernels()
    found = []
    for setting in settings:
        problem = problem_of(setting.table, setting.columns, place)
        greedy = median(problem, setting)
        found.append(Race(greedy, once(problem, replace(setting, search="bfs"), greedy.seconds)))
    return found


def alone(work: Callable[..., Any], *arguments: object) -> Any:
    """Do some work in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(work, *arguments).result()
