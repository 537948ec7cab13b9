"""The tables and figures of the paper on pruning strategies, made again on the tables that we have.

Prasser, Kohlmayer, Kuhn (2016), BMC Medical Informatics and Decision Making 16:49: Tables 1 to 5 and Figures 5 to 7.
Real tables and their hierarchies are looked for in the folder that CLOISTER_DATA names; without it, made-up patients
are used. Results go to a file of raw numbers, and from there to a page with figures: what was run before stays.

    python -m benchmarks.papers.pruning [experiment ...] [--columns 3-15] [--seconds 600] [--runs 3] [--out FOLDER]

Experiments: agreement (exhaustive search, for comparison of answers), stores (Table 1), whole (Table 2, and the large
table), dimensions (Tables 3 and 4, Figures 5 and 6), longer (the same where the paper's searches ended, with counts and
quality of what is stopped), clock (`optimal` on all cores), course (Figure 7), heuristic
(Table 5), arx (a local ARX beside us, where ARX_CLASSPATH names its jar), page (writes the page only). A run of
everything takes some twenty minutes with `--seconds 120`, and hours with 600.
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.papers.pruning_arx import arx_seconds
from benchmarks.papers.pruning_page import write_page
from benchmarks.papers.pruning_replay import compare_stores
from benchmarks.papers.pruning_runs import (
    HOSPITALS,
    ONE_THREAD,
    TABLES,
    Outcome,
    Place,
    Setting,
    alone,
    races,
    searches,
)

MOST_EXPLICIT = 12
"""Columns of the largest lattice that is kept explicitly: where the paper's implementation ran out of memory."""

MOST_EXHAUSTIVE = {"adult": (9,), "fars": (8,), "diabetes": tuple(range(3, 9)), "large": (9,)}
"""Columns of the tables with lattices of at most 50,000 policies."""

PROVING = ("flash", "flash:explicit", "bfs", "bfs:unpredicted", ONE_THREAD)


class Benchmark:
    """What to run, where the data are, and where results go."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        data = os.environ.get("CLOISTER_DATA")
        self.place = Place(Path(data) if data else None, options.records, options.loss)
        self.out = Path(options.out or ("docs/benchmarks" if data else "build/benchmarks"))
        self.raw = self.out / "pruning.json"
        self.results: dict[str, dict[str, Any]] = json.loads(self.raw.read_text()) if self.raw.exists() else {}

    @property
    def is_real(self) -> bool:
        """Whether there are real tables."""
        return self.place.folder is not None

    def begin(self, experiment: str) -> None:
        """Forget what this experiment found before, and note the state of the machine."""
        self.results[experiment] = {}
        told = {"seconds": self.options.seconds, "loss": self.options.loss, "runs": self.options.runs}
        self.note("machine", experiment, machine() | told | {"records": f"{self.options.records:,}"})

    def take(self, experiment: str, settings: Sequence[Setting]) -> list[Outcome]:
        """Run settings of one table, print them, and note the results under the experiment."""
        outcomes: list[Outcome] = alone(searches, settings, self.place)
        for outcome in outcomes:
            show(experiment, outcome)
            self.note(experiment, f"{outcome.table}/{outcome.columns}/{outcome.search}", asdict(outcome))
        return outcomes

    def note(self, experiment: str, key: str, record: dict[str, Any]) -> None:
        """Write a result to the file at once: a benchmark that is stopped keeps what it has."""
        self.results.setdefault(experiment, {})[key] = record
        self.out.mkdir(parents=True, exist_ok=True)
        self.raw.write_text(json.dumps(rounded(self.results), sort_keys=True, indent=0) + "\n")

    def setting(self, table: str, columns: int, search: str, runs: int = 1) -> Setting:
        """A setting with the options of the command line."""
        return Setting(table, columns, search, self.options.seconds, runs)

    def whole_tables(self) -> Iterator[tuple[str, int]]:
        """Tables of which all columns are taken."""
        wanted = self.options.tables.split(",")
        for name in TABLES if self.is_real else HOSPITALS:
            if name in wanted and name != "diabetes":
                yield name, TABLES[name][1] if self.is_real else 5

    @property
    def many(self) -> tuple[str, int]:
        """The table of many columns, and how many."""
        return ("diabetes", TABLES["diabetes"][1]) if self.is_real else ("hospital", 5)

    def dimensions(self) -> Iterator[int]:
        """Columns that the table of many columns is cut to."""
        low, _, high = self.options.columns.partition("-")
        return iter(range(int(low), min(self.many[1], int(high or low)) + 1))


def rounded(value: Any) -> Any:
    """The same results with times and losses to as many digits as can be read."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def show(experiment: str, outcome: Outcome) -> None:
    """Print a line."""
    quality = "none" if outcome.loss is None else f"{1 - outcome.loss:.4f}"
    print(
        f"{experiment:10} {outcome.table:9} {outcome.columns:3} {outcome.search:17} {outcome.seconds:9.3f} s  "
        f"checked {outcome.checked:9,}  quality {quality}  {'' if outcome.finished else 'not finished'}",
        flush=True,
    )


def agreement(bench: Benchmark) -> None:
    """Exhaustive search where the lattice is small enough; its time says nothing and is not shown."""
    for table, several in MOST_EXHAUSTIVE.items() if bench.is_real else [("hospital", (5,))]:
        bench.take("agreement", [bench.setting(table, columns, "exhaustive") for columns in several])


def stores(bench: Benchmark) -> None:
    """Table 1: seconds spent on properties with each of the four stores."""
    table, most = bench.many
    cut = (8, bench.options.stores_columns) if bench.is_real else ()
    for name, columns in [*bench.whole_tables(), *((table, n) for n in cut if n <= most)]:
        found = alone(compare_stores, name, columns, bench.place, max(9, bench.options.runs))
        print(f"stores     {name} {columns}", found["seconds"], flush=True)
        bench.note("stores", f"{name}/{columns}", found)


def whole(bench: Benchmark) -> None:
    """Table 2: checks, inserts, hits and antichains; explicit against implicit; the large table."""
    for table, columns in bench.whole_tables():
        bench.take("whole", [bench.setting(table, columns, s, bench.options.runs) for s in PROVING])


def dimensions(bench: Benchmark) -> None:
    """Tables 3 and 4, Figures 5 and 6: the first columns of the table of many; who ran out of time is left out."""
    table, _ = bench.many
    running = {"flash", "bfs"}
    for columns in bench.dimensions():
        first = [ONE_THREAD, *sorted(running)]
        found = bench.take("dimensions", [bench.setting(table, columns, s, bench.options.runs) for s in first])
        running &= {outcome.search for outcome in found if outcome.finished}
        second = ["flash:explicit"] if "flash" in running and columns <= MOST_EXPLICIT else []
        second += ["bfs:unpredicted"] if "bfs" in running else []
        if second:
            bench.take("dimensions", [bench.setting(table, columns, s, bench.options.runs) for s in second])


def longer(bench: Benchmark) -> None:
    """Searches on more columns than `dimensions` proves, each in its own process: what they check, and their quality.

    Times are those of a busy machine; counts of searches that end are not.
    """
    for work in bench.options.longer.split(","):
        search, _, columns = work.rpartition(":")
        bench.take("longer", [bench.setting(bench.many[0], int(columns), search)])


def clock(bench: Benchmark) -> None:
    """`optimal` on all cores, by the clock: to be run when nothing else is; noted beside the other searches."""
    works = [("whole", *work) for work in bench.whole_tables()]
    works += [("dimensions", bench.many[0], columns) for columns in bench.dimensions()]
    for experiment, table, columns in works:
        bench.take(experiment, [bench.setting(table, columns, "optimal", bench.options.runs)])


def course(bench: Benchmark) -> None:
    """Figure 7: what best-first search has found when; a search that cannot finish is stopped early."""
    seconds = min(bench.options.course_seconds, bench.options.seconds)
    for name, most in dict.fromkeys([*bench.whole_tables(), bench.many]):
        several = range(most if name == "large" else 3, most + 1)
        bench.take("course", [Setting(name, columns, "bfs", seconds, watched=True) for columns in several])


def heuristic(bench: Benchmark) -> None:
    """Table 5: IGreedy, and best-first search stopped after the same time, on growing sets of columns."""
    for table, most in dict.fromkeys([*bench.whole_tables(), bench.many]):
        several = range(most if table == "large" else 3, most + 1)
        settings = [bench.setting(table, n, s, bench.options.runs) for n in several for s in ("igreedy", "igreedy:arx")]
        for setting, found in zip(settings, alone(races, settings, bench.place), strict=True):
            show("heuristic", found.greedy)
            show("heuristic", found.best_first)
            bench.note("heuristic", f"{table}/{setting.columns}/{setting.search}", asdict(found))


def arx(bench: Benchmark) -> None:
    """A local ARX on the same tables."""
    if bench.place.folder is None or not os.environ.get("ARX_CLASSPATH"):
        print("ARX is not here (ARX_CLASSPATH), or no real data: left out.")
        return
    bench.begin("arx")
    place = Place(bench.place.folder, bench.place.records, "arx")
    for table, columns in (("adult", 9), ("fars", 8), ("diabetes", 8), ("diabetes", 10), ("diabetes", 11)):
        theirs = arx_seconds(table, columns, bench.place.folder, bench.options.runs, bench.options.seconds)
        if theirs is None:
            print(f"arx {table} {columns}: no answer in time")
            continue
        settings = [
            bench.setting(table, columns, "optimal", bench.options.runs),
            bench.setting(table, columns, "flash"),
        ]
        ours, flash = alone(searches, settings, place)
        times = {"seconds": theirs[0], "optimal": ours.seconds, "flash": flash.seconds}
        print(f"arx {table} {columns}: {theirs[0]:.2f} s, ours {ours.seconds:.2f} s", flush=True)
        bench.note("arx", f"{table}/{columns}", times | {"loss": theirs[1], "our_loss": ours.loss})


EXPERIMENTS: dict[str, Callable[[Benchmark], None]] = {
    "agreement": agreement,
    "stores": stores,
    "whole": whole,
    "dimensions": dimensions,
    "longer": longer,
    "clock": clock,
    "course": course,
    "heuristic": heuristic,
    "arx": arx,
    "page": lambda _: None,
}


def main() -> None:
    """Run what was asked for and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", default=list(EXPERIMENTS), metavar="experiment")
    parser.add_argument("--columns", default="3-15", help="columns of the dimensions, as 3-15")
    parser.add_argument("--stores-columns", type=int, default=10, help="most columns of the tables for stores")
    parser.add_argument("--tables", default="adult,fars,hospital,large", help="whole tables, by commas")
    parser.add_argument("--seconds", type=float, default=600.0, help="longest run")
    parser.add_argument("--course-seconds", type=float, default=30.0, help="longest run of which the course is drawn")
    parser.add_argument("--longer", default="bfs:10,bfs:15,flash:11,flash:14", help="searches and columns, by commas")
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median counts")
    parser.add_argument("--records", type=int, default=1_200_000, help="records of the large table")
    parser.add_argument("--loss", default="arx", choices=["iyengar", "arx"], help="arx: as the paper's benchmark")
    parser.add_argument("--out", help="folder; docs/benchmarks, or build/benchmarks without real tables")
    options = parser.parse_args()
    unknown = set(options.experiments) - set(EXPERIMENTS)
    if unknown:
        parser.error(f"no such experiment: {', '.join(sorted(unknown))}")
    bench = Benchmark(options)
    for name in options.experiments:
        if name not in ("page", "arx"):
            bench.begin(name)
        EXPERIMENTS[name](bench)
    write_page(bench.results, bench.out)


if __name__ == "__main__":
    main()
