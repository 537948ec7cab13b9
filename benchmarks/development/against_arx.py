"""Where ARX was level or ahead: rules beyond k, local recoding, large lattices; ours beside what ARX 3.9 needed.

    CLOISTER_DATA=FOLDER python -m benchmarks.development.against_arx [--runs 3]

The figures of ARX are of processor seconds of its search, least of three, warm, on another machine, some 2.6 times
slower than that of the other pages; ours are encoding and search, or protecting, least of the runs. Read them as orders
of magnitude: no ratio of the two machines is claimed. `benchmarks/papers/pruning_arx.py` runs ARX itself
where it is there.
"""

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import cloister as cl
from cloister.hierarchy import Hierarchy, hierarchy_file, parse_hierarchy
from cloister.search import Progress

ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
FARS = ("iage", "irace", "ideathmon", "ideathday", "isex", "ihispanic", "istatenum")


@dataclass(frozen=True)
class Work:
    """A table, what is asked, and what ARX needed or lost."""

    table: str
    columns: Sequence[str]
    rule: str
    arx: str
    sensitive: str | None = None
    suppression: float = 0.05
    local: bool = False


WORKS = (
    Work("fars", FARS, "l-diversity:iinjury=3", "0.16 s", "iinjury"),
    Work("fars", FARS, "entropy-l-diversity:iinjury=2", "4.5 s", "iinjury"),
    Work("fars", FARS, "t-closeness:iinjury=0.2", "4.5 s", "iinjury"),
    Work("adult", ADULT, "t-closeness:salary-class=0.2", "1.9 s", "salary-class"),
    Work("adult", ADULT, "average-risk=0.01", "2.0 s"),
    Work("fars", FARS, "average-risk=0.01", "6.0 s"),
    Work("adult", ADULT, "k-anonymity=5", "0.04 to 0.15 s", suppression=0),
    Work("fars", FARS, "k-anonymity=5", "0.04 to 0.15 s", suppression=0),
    Work("fars", FARS, "l-diversity:iinjury=3", "0.04 to 0.15 s", "iinjury", suppression=0),
    Work("adult", ADULT, "k-anonymity=5", "loss 0.058", local=True),
    Work("fars", FARS, "k-anonymity=5", "loss 0.041", local=True),
)


def read(folder: Path, table: str, columns: Sequence[str]) -> tuple[pl.DataFrame, dict[str, Hierarchy]]:
    """Return a table with the hierarchies that are shipped with it."""
    place = folder / table
    frame = pl.read_csv(place / f"{table}.csv", separator=";", infer_schema=False)
    return frame, {column: hierarchy_file(place / f"{table}_hierarchy_{column}.csv") for column in columns}


def done(folder: Path, work: Work) -> tuple[float, float]:
    """Seconds of encoding and search, or of encoding and protecting, and the loss."""
    frame, hierarchies = read(folder, work.table, work.columns)
    sensitive = [work.sensitive] if work.sensitive else []
    release = cl.protect_table(
        frame.select(*work.columns, *sensitive),
        rule=[work.rule],
        qi=hierarchies,
        sensitive=sensitive,
        accept=sensitive,
        suppression=work.suppression,
        loss="arx",
        purpose="one-coding",
        local_recoding=work.local,
        accept_empty=True,
    )
    seconds = release.summary()["seconds"]
    spent = seconds["encode"] + seconds["search"] + (seconds["protect"] if work.local else 0)
    return spent, release.summary()["utility"]["losses"]["arx"]


def wide_table(n: int = 30_000, columns: int = 24) -> tuple[pl.DataFrame, dict[str, Hierarchy]]:
    """Return made-up columns in three groups of correlated ones, with hierarchies of 3 to 6 levels."""
    draw, found, hierarchies = np.random.default_rng(24), {}, {}
    factors = draw.normal(size=(3, n))
    built = {4: "interval:2", 8: "interval:2,4", 16: "interval:2,4,8", 48: "interval:2,6,12,24"}
    for j in range(columns):
        leaves = list(built)[j % 4]
        rank = np.argsort(np.argsort(0.8 * factors[j % 3] + 0.6 * draw.normal(size=n)))
        # Low values are frequent, as in real columns.
        found[f"c{j:02d}"] = np.floor(leaves * (rank / n) ** 1.5).astype(np.int64)
        hierarchies[f"c{j:02d}"] = parse_hierarchy(built[leaves])
    return pl.DataFrame(found), hierarchies


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    runs, data = parser.parse_args().runs, os.environ.get("CLOISTER_DATA")
    table = Table("table", "asked", "suppression", "seconds", "loss", "ARX")
    for work in WORKS if data else ():
        spent = [done(Path(data or "."), work) for _ in range(runs)]
        asked = work.rule + (", local recoding" if work.local else "")
        seconds, loss = min(one for one, _ in spent), spent[0][1]
        table.add_row(work.table, asked, f"{work.suppression:.0%}", f"{seconds:.2f}", f"{loss:.3f}", work.arx)
    Console(width=140).print(table)
    anytime, (frame, hierarchies) = Table("24 columns, made up: seconds", "loss found", "proven bound"), wide_table()
    for limit in (5, 10, 30):
        last: list[Progress] = []
        started = time.perf_counter()
        cl.protect_table(
            frame,
            rule=["k-anonymity=5"],
            qi=hierarchies,
            loss="arx",
            purpose="one-coding",
            time_limit=limit,
            accept_empty=True,
            progress=last.append,
        )
        anytime.add_row(f"{time.perf_counter() - started:.0f}", f"{last[-1].loss:.4f}", f"{last[-1].bound:.4f}")
    Console(width=140).print(anytime)


if __name__ == "__main__":
    main()
