"""How long do patients with their claims take, how much memory, and what is lost?

Measures ``cloister protect claims`` with the plan that ``cloister init claims`` writes: on generated patients
(`claims_made_up`) and, if CLOISTER_DATA names their folder, on both pairs of DE-SynPUF, each in processes of their own.
Repeats Tables 1 to 5 of the appendix of El Emam et al. (2012), JMIR 14(1):e33, on these data.

    python -m benchmarks.papers.claims figures [--most 100000] [--out docs/benchmarks]
    python -m benchmarks.papers.claims page [--out docs/benchmarks]
    python -m benchmarks.papers.claims bars [--most 100000]
    python -m benchmarks.papers.claims scale [--most 100000]

`scale` prints times, peak memory and how both grow with the number of claims. `figures` writes ``claims.json`` and
``claims.md``, `page` the second from the first.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from benchmarks.papers.claims_made_up import write
from benchmarks.papers.claims_tables import write_page
from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.format.plan import ClaimsPlan
from cloister.shapes.claims.method.adversary_draws import REPEAT, AdversaryPower, DrawnKnowledge
from cloister.shapes.claims.method.choice import truncation
from cloister.shapes.claims.method.encode import EncodedClaims, encode
from cloister.shapes.claims.method.matching import Matching, ReleasedClaims
from cloister.shapes.claims.method.prepare import prepare
from cloister.shapes.claims.method.protect import load_kernels
from cloister.shapes.table.method.settings import available_cores

SIZES = (2_000, 10_000, 30_000, 100_000)
"""Generated patients, 25 claims each in the mean."""

PAIRS = {
    "DE-SynPUF, in- and outpatient": ("small_patients.csv.gz", "small_claims.csv.gz"),
    "DE-SynPUF, inpatient": ("patients.parquet", "claims.parquet"),
}
NODE_BAR, PIPELINE_BAR, MEMORY_BAR, RISK_BAR = 1.0, 900.0, 8.0, 0.05
"""Seconds, seconds and GiB for 100,000 patients; highest mean risk."""

THRESHOLD_K = 20
PERCENTILES = (50.0, 75.0, 90.0, 95.0, 97.5, 99.0)
SCREEN = Console(width=150)
Row = dict[str, Any]


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds that passed, seconds of processors, GiB at most; and whether it went well."""

    seconds: float
    processor: float
    gib: float
    code: int


def ran(*words: str | Path) -> Cost:
    """Run cloister in a process of its own."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "cloister", *map(str, words)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    passed = time.perf_counter() - started
    return Cost(passed, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20, process.returncode)


OWN = ("steps", "records", "loss", "rounds", "before_suppression", "tried", "diversity", "representativeness")
"""Figures for the custodian alone."""


def pipeline(patients: Path, claims: Path, folder: Path) -> Row:
    """Plan, protect and verify two files; what it cost, and what the release says of itself."""
    plan, out, secret = folder / "plan.toml", folder / "release", folder / "map.csv"
    given = (patients, claims, "--plan", plan)
    costs = {
        "init": ran("init", "claims", patients, claims, "--out", plan, "-q"),
        "protect": ran(
            *("protect", "claims", *given, "--out", out, "-q"),
            *("--crosswalk", secret, "--custodian-dir", folder / "own"),
        ),
    }
    row: Row = {"manifest": None}
    if costs["protect"].code == 0:
        costs["verify"] = ran("verify", out, "--original", patients, claims, "--plan", plan, "--crosswalk", secret)
        row["manifest"] = json.loads((out / "release.json").read_text())
        own = json.loads((folder / "own" / "internal.json").read_text())
        row["own"] = {name: own[name] for name in OWN}
    return row | {name: vars(cost) for name, cost in costs.items()}


def node_times(patients: Path, claims: Path, plan: Path, manifest: Row) -> Row:
    """Seconds for lists of patients and for 10,000 draws at the node chosen, and what truncation would do."""
    prepared = prepare(Claims.read(patients, claims, ClaimsPlan.read(plan))).claims
    encoded = encode(prepared).claims
    columns = manifest["columns"]["patients"] | manifest["columns"]["claims"]
    levels = [columns[column.name]["level"] for column in encoded.columns]
    power = AdversaryPower(encoded, prepared.plan.adversary).at()
    load_kernels()
    started = time.perf_counter()
    knowledge = DrawnKnowledge(encoded, power, 1)
    draws = knowledge.repeat(0)
    drawn = time.perf_counter()
    matching = Matching(ReleasedClaims.everything(encoded), knowledge.cap, available_cores())
    listed = time.perf_counter()
    held = matching.mark_contained(levels, draws)
    matching.sizes(levels, draws, held, most=THRESHOLD_K)
    judged = time.perf_counter()
    matching.sizes(levels, draws, held)
    counted = time.perf_counter()
    return {
        "draws_s": drawn - started,
        "postings_s": listed - drawn,
        "node_s": judged - listed,
        "node_exact_s": counted - judged,
        "draws": REPEAT,
        "patients": encoded.n_patients,
        "claims": encoded.n_claims,
        "mean_power": float(power.mean()),
        "truncation": _truncated(encoded),
    }


def _truncated(encoded: EncodedClaims) -> list[Row]:
    found = truncation(encoded)
    return [
        {
            "percentile": percentile,
            "limit": found.limit(percentile),
            "claims_lost": float((~found.mark_kept(percentile)).mean()),
            "patients_cut": float(ReleasedClaims.everything(encoded, found.mark_kept(percentile)).truncated.mean()),
        }
        for percentile in PERCENTILES
    ]


def measured(name: str) -> Row:
    """One data set: generated patients by their number, or a pair of DE-SynPUF by its name."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if name in PAIRS:
            patients, claims = (Path(os.environ["CLOISTER_DATA"], "synpuf", file) for file in PAIRS[name])
        else:
            patients, claims = write(int(name), folder)
        row = pipeline(patients, claims, folder) | {"data": name if name in PAIRS else f"{int(name):,} generated"}
        if row["manifest"] is not None:
            row["node"] = node_times(patients, claims, folder / "plan.toml", row["manifest"])
            row["labels"] = _labels(folder / "release", row["manifest"])
    return row


def _labels(release: Path, manifest: Row) -> dict[str, int]:
    """Distinct labels released of each quasi-identifier."""
    found = {}
    for table in ("patients", "claims"):
        file = next(file for file in manifest["files"] if file.startswith(f"{table}."))
        read = pl.read_csv if file.endswith("csv") else pl.read_parquet
        frame = read(release / file, **({"infer_schema": False} if file.endswith("csv") else {}))
        quasi = [name for name, column in manifest["columns"][table].items() if "level" in column]
        found |= {name: frame[name].drop_nulls().n_unique() for name in quasi}
    return found


def in_its_own_process(name: str) -> Row:
    """Measure one data set where nothing else was loaded or compiled before."""
    found = subprocess.run(
        [sys.executable, "-m", "benchmarks.papers.claims", "one", "--data", name], stdout=subprocess.PIPE, check=True
    )
    row: Row = json.loads(found.stdout)
    return row


def data_sets(most: int) -> list[str]:
    """Names of what is measured."""
    pairs = [*PAIRS] if os.environ.get("CLOISTER_DATA") else []
    return [*(str(size) for size in SIZES if size <= most), *pairs]


def figures(out: Path, most: int) -> None:
    """Everything that the page shows, as one JSON file, then as a page."""
    started = time.perf_counter()
    ran("--version")
    host = machine()
    found: Row = {"machine": host, "rows": []}
    out.mkdir(parents=True, exist_ok=True)
    for name in data_sets(most):
        found["rows"].append(in_its_own_process(name))
        _say(found["rows"][-1])
        found["seconds"] = time.perf_counter() - started
        # what there is can be looked at before the largest have ended
        (out / "claims.json").write_text(json.dumps(found, indent=1) + "\n")
        write_page(found, out)


def _say(row: Row) -> None:
    cost = row["protect"]
    what = "no release" if row["manifest"] is None else f"risk {row['manifest']['risk']['mean']:.4f}"
    SCREEN.print(f"{row['data']}: {cost['seconds']:.0f} s, {cost['processor']:.0f} of processors, {what}")


def bars(most: int) -> None:
    """Print what has a bar: the largest generated data, and the smaller pair of DE-SynPUF if it is there."""
    table = Table(title="cloister protect claims, first plan")
    for head in ("data", "work", "found", "bar"):
        table.add_column(head, justify="left" if head in ("data", "work") else "right")
    generated = [name for name in data_sets(most) if name not in PAIRS][-1:]
    for name in [*generated, *[name for name in data_sets(most) if name in PAIRS][:1]]:
        row = in_its_own_process(name)
        for work, number, bar in _with_bars(row, is_scale=name not in PAIRS):
            table.add_row(row["data"], work, f"{number:.4g}", f"{bar:g}{' MISSED' if number > bar else ''}")
    SCREEN.print(table)


def _with_bars(row: Row, *, is_scale: bool) -> list[tuple[str, float, float]]:
    risk = 1.0 if row["manifest"] is None else row["manifest"]["risk"]["interval"][1]
    found = [("mean risk, upper end of its interval", risk, RISK_BAR)]
    if is_scale and row["manifest"] is not None:
        found.append(("one node, 10,000 draws (s)", row["node"]["node_s"], NODE_BAR))
    if is_scale:
        found.append(("whole command (s)", row["protect"]["seconds"], PIPELINE_BAR))
        found.append(("memory (GiB)", row["protect"]["gib"], MEMORY_BAR))
    return found


def scale(most: int) -> None:
    """Print what the commands cost by size, bytes a claim at the peak, and growth: 1 is linear."""
    table = Table(title="generated patients, first plan; growth: exponent from the size before")
    for head in ("patients", "claims", "protect (s)", "processors (s)", "GiB", "bytes a claim", "verify (s)", "growth"):
        table.add_column(head, justify="right")
    before: tuple[int, float] | None = None
    for size in (size for size in SIZES if size <= most):
        with tempfile.TemporaryDirectory() as temporary:
            patients, claims = write(size, Path(temporary))
            n_claims = pl.scan_csv(claims).select(pl.len()).collect().item()
            row = pipeline(patients, claims, Path(temporary))
        cost, checked = row["protect"], row.get("verify", {"seconds": math.nan})
        spent = cost["processor"]
        growth = "" if before is None else f"{math.log(spent / before[1]) / math.log(n_claims / before[0]):.2f}"
        before = n_claims, spent
        each = cost["gib"] * 2**30 / n_claims
        table.add_row(
            f"{size:,}", f"{n_claims:,}", f"{cost['seconds']:.0f}", f"{spent:.0f}", f"{cost['gib']:.2f}", f"{each:.0f}",
            f"{checked['seconds']:.0f}", growth,
        )  # fmt: skip
    SCREEN.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("figures", "page", "bars", "scale", "one"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "docs" / "benchmarks")
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--data", default=str(SIZES[0]))
    options = parser.parse_args(arguments)
    if options.what == "figures":
        figures(options.out, options.most)
    elif options.what == "page":
        write_page(json.loads((options.out / "claims.json").read_text()), options.out)
    elif options.what == "scale":
        scale(options.most)
    elif options.what == "bars":
        bars(options.most)
    else:
        print(json.dumps(measured(options.data)))


if __name__ == "__main__":
    main()
