"""How long do millions of code sets take on Spark, and how much memory?

Made-up patients with 5 to 14 codes each, drawn from 5,000 codes whose frequency falls as 1 / rank, are written as
Parquet, disassociated by `cloister protect codes --engine local[2]` and verified by `cloister verify`. Memory is what
all processes of a run have together (resident, so pages that they share count more than once), every two seconds; next
to the seconds by the clock stand those of all cores that were worked, which other work on the machine does not change.

    python -m benchmarks.scale.spark_code_sets [--patients 1000000] [--engine local[2]] [--keep DIR]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

CODES = 5_000
AT_ONCE = 250_000


@dataclass(frozen=True)
class Run:
    """Seconds, seconds of cores, and the most memory of all processes together and of each kind, in GB."""

    seconds: float
    worked: float
    total: float
    java: float
    driver: float
    workers: float


def write_patients(path: Path, patients: int, seed: int = 0) -> None:
    """Write made-up patients, some at a time."""
    generator = np.random.default_rng(seed)
    shares = np.cumsum(1 / np.arange(1, CODES + 1))
    names = generator.permutation([f"{100 + number // 10:03d}.{number % 10}" for number in range(CODES)])
    tokens = pl.Series(names)
    schema = pa.schema([("id", pa.string()), ("codes", pa.string())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for begin in range(0, patients, AT_ONCE):
            n = min(AT_ONCE, patients - begin)
            lengths = generator.integers(5, 15, n)
            drawn = np.searchsorted(shares, generator.random(int(lengths.sum())) * shares[-1])
            frame = pl.DataFrame({"row": np.repeat(np.arange(n), lengths), "code": tokens[drawn]})
            lists = frame.unique(maintain_order=True).group_by("row", maintain_order=True).agg("code")
            codes = lists["code"].list.join(" ")
            ids = pl.Series(np.arange(begin, begin + n)).cast(pl.String)
            writer.write_table(pl.DataFrame({"id": ids, "codes": codes}).to_arrow().cast(schema))


def resident() -> dict[int, tuple[int, int, str, float]]:
    """Parent, resident bytes, name and seconds of cores of each process."""
    found = {}
    page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            name, _, rest = stat.partition("(")[2].rpartition(")")
            parts = rest.split()
            found[int(entry.name)] = (
                int(parts[1]),
                int(parts[21]) * page,
                name,
                (int(parts[11]) + int(parts[12])) / tick,
            )
    return found


def measured(command: list[str], limit: float) -> Run:
    """Run a command, looking at the memory of all that it starts."""
    started, most = time.perf_counter(), dict.fromkeys(("total", "java", "driver", "workers"), 0)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    done, worked = threading.Event(), {}

    def watch() -> None:
        while not done.wait(2):
            for kind, amount in _now(process.pid, worked).items():
                most[kind] = max(most[kind], amount)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        code = process.wait(timeout=limit)
    finally:
        done.set()
        if process.poll() is None:
            process.kill()
    if code:
        raise SystemExit(f"{' '.join(command[:3])} ended with {code}")
    return Run(
        round(time.perf_counter() - started, 1),
        round(sum(worked.values())),
        *(round(amount / 1e9, 2) for amount in most.values()),
    )


def _now(root: int, worked: dict[int, float]) -> dict[str, int]:
    processes = resident()
    own, grown = {root}, True
    while grown:
        more = {pid for pid, (parent, *_) in processes.items() if parent in own} - own
        own, grown = own | more, bool(more)
    sums = dict.fromkeys(("total", "java", "driver", "workers"), 0)
    for pid in own & processes.keys():
        _, amount, name, worked[pid] = processes[pid]
        sums["total"] += amount
        sums["driver" if pid == root else "java" if name == "java" else "workers"] += amount
    return sums


def main() -> None:
    """Make, protect, verify, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patients", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--engine", default="local[2]")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds that a run may take")
    parser.add_argument("--keep", type=Path, help="folder for the data and the release; else a temporary one")
    asked = parser.parse_args()
    folder = asked.keep or Path(tempfile.mkdtemp(prefix="cloister-bench-"))
    folder.mkdir(exist_ok=True)
    data, out, inside = folder / f"codes-{asked.patients}.parquet", folder / "release", folder / "internal"
    try:
        started = time.perf_counter()
        if not data.exists():
            write_patients(data, asked.patients)
        print(f"made    {time.perf_counter() - started:7.1f} s, {data.stat().st_size / 1e6:,.0f} MB", flush=True)
        for old in (out, inside):
            shutil.rmtree(old, ignore_errors=True)
        cloister = [sys.executable, "-m", "cloister.cli.main"]
        options = [
            "-k",
            "5",
            "-m",
            "2",
            "--engine",
            asked.engine,
            "--out",
            str(out),
            "--custodian-dir",
            str(inside),
            "-q",
        ]
        print("protect", measured([*cloister, "protect", "codes", str(data), *options], asked.limit), flush=True)
        print("verify ", measured([*cloister, "verify", str(out)], asked.limit), flush=True)
        manifest = json.loads((out / "release.json").read_text())
        exact = json.loads((inside / "internal.json").read_text())
        print(json.dumps({"seconds": manifest["seconds"], "clusters": manifest["clusters"]}))
        print(json.dumps({key: exact.get(key) for key in ("records", "parts", "occurrences", "in_item_chunks")}))
    finally:
        if asked.keep is None:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
