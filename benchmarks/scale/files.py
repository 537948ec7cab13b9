"""How long does it take where the records are many, and how much memory; do only counts leave a database?

Made-up patients with eight quasi-identifiers are written as Parquet, protected with k = 5 by `cloister protect table`
(which checks what it wrote) and verified once more by `cloister verify`, each a process of its own. Engines: memory and
duckdb over files; PostgreSQL, where records stay in the database, whose log is looked through; Spark for sets of codes
(`spark_code_sets.py`). Everything made is in a temporary folder, and removed.

    python -m benchmarks.scale.files [memory duckdb postgresql spark] [--rows 1e6,1e7] [--bars]
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from benchmarks.machine import machine
from benchmarks.scale.made_up import combinations, quasi_identifiers, write
from benchmarks.scale.runs import Row, answer_of, apart, cloister, manifest_of, stage_table, took_table

ROWS = {
    "memory": (1_000_000, 3_000_000, 10_000_000),
    "duckdb": (1_000_000, 10_000_000, 30_000_000, 100_000_000),
    "postgresql": (5_000_000,),
    "spark": (10_000_000,),
}
PROTECTED = re.compile(r"protect\s+Run\(seconds=([\d.]+)")
MINUTE = 60.0


def files(engines: list[str], rows: dict[str, tuple[int, ...]], asked: argparse.Namespace, folder: Path) -> list[Row]:
    """Protect and verify files of growing size; the answer of both engines must be the same."""
    done: list[Row] = []
    for n in sorted({n for engine in engines for n in rows[engine]}):
        file = folder / f"patients-{n}.parquet"
        apart(write, file, n, asked.seed)
        different, hashes = apart(combinations, file), {}
        print(f"{n:,} records: {different:,} combinations, {file.stat().st_size / 1e6:,.0f} MB of Parquet", flush=True)
        for engine in (engine for engine in engines if n in rows[engine]):
            row = of_file(engine, file, n, different, asked)
            hashes[engine] = (row.manifest["files"], answer_of(row.manifest))
            done.append(row)
            shutil.rmtree(folder / "release")
        assert len({str(one) for one in hashes.values()}) == 1, "the engines differ"
        if len(hashes) > 1:
            print(f"{n:,} records: {' and '.join(hashes)} wrote the same bytes", flush=True)
        file.unlink()
    return done


def of_file(engine: str, file: Path, n: int, different: int, asked: argparse.Namespace) -> Row:
    """Protect a file, and verify the release."""
    out = file.parent / "release"
    words = [*quasi_identifiers(), "-k", "5", "--out", str(out), "--engine", engine, "--quiet"]
    protect = cloister("protect", "table", str(file), *words, limit=asked.limit)
    verify = cloister("verify", str(out), "--quiet", limit=asked.limit)
    print(f"{n:,} records, {engine}: {protect}, verified: {verify}", flush=True)
    return Row(engine, n, different, protect, verify, manifest_of(out))


def on_spark(n: int, asked: argparse.Namespace, folder: Path) -> float:
    """Seconds that code sets take on Spark; what their own benchmark prints is shown."""
    words = ["--patients", str(n), "--limit", str(asked.limit), "--keep", str(folder / "spark")]
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale.spark_code_sets", *words],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    print(f"{n:,} sets of codes on Spark\n{ran.stdout}", flush=True)
    found = PROTECTED.search(ran.stdout)
    assert found is not None
    return float(found[1])


def bars(rows: list[Row], spark: dict[int, float]) -> list[str]:
    """What was measured beside what was hoped for."""
    told = []
    for row in rows:
        if row.engine == "duckdb" and row.rows == 100_000_000:
            took, most = row.protect.clock, max(row.protect.gib, row.verify.gib)
            told += [judged("100 million records, duckdb, protect (s)", took, 5 * MINUTE)]
            told += [judged("100 million records, duckdb, protect or verify (GiB)", most, 8.0)]
        if row.engine == "postgresql" and row.rows >= ROWS["postgresql"][0]:
            told += [f"{row.rows:,} records in PostgreSQL: counts alone left it, the answer is that of memory: met"]
    told += [
        judged(f"{n:,} sets of codes on Spark, protect (s)", seconds, 15 * MINUTE)
        for n, seconds in spark.items()
        if n >= ROWS["spark"][0]
    ]
    return told


def judged(what: str, found: float, bar: float) -> str:
    """One figure and its bar."""
    return f"{what}: {found:.1f}, bar {bar:.0f}: {'met' if found < bar else 'MISSED'}"


def main() -> None:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(ROWS)}; all unless given")
    parser.add_argument("--rows", type=lambda text: tuple(int(float(one)) for one in text.split(",")))
    parser.add_argument("--bars", action="store_true", help="print the figures beside their bars")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds that a command may take")
    asked = parser.parse_args()
    parts = asked.parts or list(ROWS)
    if unknown := set(parts) - set(ROWS):
        parser.error(f"There is no part {', '.join(sorted(unknown))}.")
    rows = {part: asked.rows or ROWS[part] for part in parts}
    about, started = machine(), time.perf_counter()
    spark: dict[int, float] = {}
    folder = Path(tempfile.mkdtemp(prefix="cloister-scale-"))
    try:
        done = files([part for part in parts if part in ("memory", "duckdb")], rows, asked, folder)
        if "postgresql" in parts:
            from benchmarks.scale.postgresql import measure  # needs the packages of `make test`

            for n in rows["postgresql"]:
                done += measure(folder, n, asked.seed, asked.limit)
        if "spark" in parts:
            spark = {n: on_spark(n, asked, folder) for n in rows["spark"]}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    screen = Console(width=160)
    if done:
        screen.print(took_table(done), stage_table(done))
    for line in bars(done, spark) if asked.bars else ():
        screen.print(line, highlight=False)
    screen.print(f"{time.perf_counter() - started:.0f} s in all; when it began: {about}", highlight=False)


if __name__ == "__main__":
    main()
