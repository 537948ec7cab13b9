"""How much do disassociated code sets keep, and how long does it take?

Reproduces Figs 12 and 15 to 24 of Loukides et al. (2014), Journal of Biomedical Informatics 50, on two public data sets
(in the folder that CLOISTER_DATA names), and measures time and memory on made-up patients.

    python -m benchmarks.papers.disassociation figures [--out docs/benchmarks]
    python -m benchmarks.papers.disassociation scale [--most 1000000]
    python -m benchmarks.papers.disassociation bars

`figures` writes ``disassociation.json``; with the extra `bench` installed also SVG drawings and ``disassociation.md``.
"""

import argparse
import json
import math
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from cloister import CodeSets, UtilityPolicy
from cloister.shapes.codes.policy import parse_policy
from cloister.shapes.codes.request import frequent_workload, index_codes, random_workload
from cloister.shapes.disassociation.format.data import Disassociation, DisassociationRequest, ProtectedCodes, Refine
from cloister.shapes.disassociation.method.protect import disassociate, load_kernels
from cloister.shapes.disassociation.method.release import lost_codes, reconstruct
from cloister.shapes.disassociation.verify.verify import DisassociationSecret, verify
from cloister.utility import (
    error_histogram,
    lost_top_itemsets,
    matching_errors,
    pair_errors,
    query_errors,
    share_within,
)

FILES = {"diabetes130": "diabetes130/codes.csv.gz", "synpuf": "synpuf/codes.csv.gz"}
POLICIES = {
    "hierarchy": ("level:1", "level:2", "level:3"),
    "similarity": ("sim:5", "sim:10", "sim:25", "sim:100"),
    "frequency": ("sup:0.625", "sup:1.25", "sup:2.5", "sup:5"),
}
SUPPORTS = (0.625, 1.25, 2.5, 5.0)
KS = (2, 5, 10, 15, 20, 25)
BY_PAPER = [(5, "level:1"), (25, "level:1"), (5, "sim:10"), (5, "sup:2.5")]
"""k and policies with which item chunks are joined as in the paper (section 4), too."""
COSTS = [("none", 0, 2), ("level:1", 0, 2), ("level:3", 0, 2), ("none", 20, 2), ("none", 20, 5), ("none", 100, 2)]
"""Policies, how many codes are sensitive (the 101st in frequency and the next), and their diversity."""
RECONSTRUCTIONS = 10
QUERIES = 4000
MOST_SETS = 60_000_000
"""Sets of codes that Fig. 12 enumerates at most; of a larger m it samples."""
SAMPLE = 20_000

SCREEN = Console(width=150)
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Work:
    """One data set with its workloads, each with the true answers."""

    name: str
    codes: CodeSets
    workloads: dict[str, tuple[tuple[int, ...], ...]]


def drawn_from_records(codes: CodeSets, n_queries: int, seed: int = 0) -> tuple[tuple[int, ...], ...]:
    """Sets of one to four codes that some patient has: sets of random codes mostly occur in nobody."""
    generator = np.random.default_rng(seed)
    queries = []
    while len(queries) < n_queries:
        record = int(generator.integers(codes.n_records))
        items = codes.items[codes.offsets[record] : codes.offsets[record + 1]]
        size = 1 + len(queries) % 4
        if len(items) >= size:
            queries.append(tuple(sorted(generator.choice(items, size, replace=False).tolist())))
    return tuple(queries)


def load(name: str) -> Work:
    """Read a data set."""
    codes = CodeSets.read(Path(os.environ["CLOISTER_DATA"], FILES[name]))
    workloads = {f"frequent:{percent:g}": frequent_workload(codes, percent).queries for percent in SUPPORTS}
    workloads["random"] = random_workload(codes, QUERIES).queries
    workloads["drawn"] = drawn_from_records(codes, QUERIES)
    return Work(name, codes, workloads)


def figure_12(work: Work) -> Rows:
    """Share of the sets of m codes that occur in one, two, ... records."""
    codes, rows = work.codes, []
    sizes = np.diff(codes.offsets)
    for m in (2, 3, 4, 5):
        if sum(math.comb(int(size), m) * int(count) for size, count in enumerate(np.bincount(sizes))) > MOST_SETS:
            rows += [{"data": work.name, "m": m} | row for row in _sampled(codes, m)]
            continue
        found = np.unique(_sets(codes, m), return_counts=True)[1]
        for low, label in ((1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "5 and more")):
            held = int((found >= 5).sum()) if low == 5 else int((found == low).sum())
            rows.append({"data": work.name, "m": m, "records": label, "share": held / len(found)})
    return rows


def _sampled(codes: CodeSets, m: int) -> Rows:
    """The same shares and their intervals, from sets drawn as often as records hold them, weighed by the inverse."""
    generator, sizes = np.random.default_rng(m), np.diff(codes.offsets)
    chances = np.array([math.comb(int(size), m) for size in sizes.tolist()], dtype=np.float64)
    records = generator.choice(codes.n_records, SAMPLE, p=chances / chances.sum())
    drawn = (codes.items[codes.offsets[record] : codes.offsets[record + 1]] for record in records.tolist())
    queries = [tuple(np.sort(generator.choice(own, m, replace=False)).tolist()) for own in drawn]
    held = index_codes(codes).counts(queries)
    weights, rows = 1 / held, []
    for low, label in ((1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "5 and more")):
        there = held >= 5 if low == 5 else held == low
        share = float(weights[there].sum() / weights.sum())
        # of a ratio of means, by the delta method
        error = float(np.sqrt(np.sum((weights * (there - share)) ** 2)) / weights.sum())
        rows.append({"records": label, "share": share, "low": share - 1.96 * error, "high": share + 1.96 * error})
    return rows


def _sets(codes: CodeSets, m: int) -> np.ndarray:
    """Every set of m codes of every record as one number."""
    sizes, parts = np.diff(codes.offsets), []
    for size in np.unique(sizes[sizes >= m]).tolist():
        table = codes.items[codes.offsets[:-1][sizes == size][:, None] + np.arange(size)].astype(np.int64)
        for chosen in combinations(range(size), m):
            key = np.zeros(len(table), dtype=np.int64)
            for column in chosen:
                key = key * codes.n_codes + table[:, column]
            parts.append(key)
    return np.concatenate(parts)


def measured(
    work: Work,
    k: int,
    m: int,
    spec: str,
    wanted: tuple[str, ...],
    refine: Refine = Refine.TREE,
    sensitive: tuple[int, int] = (0, 2),
) -> dict[str, Any]:
    """Protect, verify, and compare ten reconstructions with the original; ``sensitive``: so many codes, diversity."""
    codes = work.codes
    policy = UtilityPolicy.of({}) if spec == "none" else parse_policy(spec, codes)
    ranked = np.argsort(-codes.supports(), kind="stable")[100 : 100 + sensitive[0]]
    kept_apart = tuple(codes.vocabulary[code] for code in ranked.tolist())
    request = DisassociationRequest(
        k=k, m=m, policy=policy, refine=refine, sensitive=kept_apart, diversity=sensitive[1]
    )
    started = time.perf_counter()
    protected = disassociate(codes, request)
    protect_s = time.perf_counter() - started
    verdict = verify(protected.released, DisassociationSecret(codes, protected.cluster_of))
    verify_s = time.perf_counter() - started - protect_s
    assert verdict.holds, verdict.failures
    released = protected.released
    original = index_codes(codes)
    rebuilt = [index_codes(reconstruct(released, seed)) for seed in range(RECONSTRUCTIONS)]
    row = {"data": work.name, "k": k, "m": m, "policy": spec, "protect_s": protect_s, "verify_s": verify_s}
    row |= {"left": protected.figures.in_item_chunks / protected.figures.occurrences}
    row |= _matching(policy, codes, original, rebuilt)
    for name in wanted:
        queries = work.workloads[name]
        found = query_errors(original.counts(queries), [sets.counts(queries) for sets in rebuilt], queries)
        row[name] = {
            "are": found.average_relative_error,
            "deviation": found.deviation,
            "answered": found.answered,
            "by_size": found.by_size,
        }
    if (k, m, spec, refine, sensitive[0]) == (5, 2, "level:1", Refine.TREE, 0):
        row["tlost"] = lost_codes(codes, released)
        row["tkd"] = lost_top_itemsets(original, rebuilt[0])
        row["pairs"] = pair_errors(original, rebuilt)
    SCREEN.print(
        f"{work.name} k={k} m={m} {spec}: {protect_s:.2f} s, left {row['left']:.2%}, within {row['within']:.2%}"
    )
    return row


def _matching(policy: UtilityPolicy, codes: CodeSets, original: Any, rebuilt: list[Any]) -> dict[str, Any]:
    """Matching errors of all constraints, and of those with several codes."""
    constraints = policy.item_numbers(codes)
    if not constraints:
        return {"constraints": 0, "within": float("nan"), "within_several": float("nan"), "histogram": {}}
    true, estimates = original.matches(constraints), [sets.matches(constraints) for sets in rebuilt]
    errors = matching_errors(true, estimates)
    several = np.array([len(constraint) > 1 for constraint in constraints])
    return {
        "constraints": len(constraints),
        "several": int(several.sum()),
        "within": share_within(errors, 0.05),
        "within_each": [share_within(matching_errors(true, [one]), 0.05) for one in estimates],
        "within_several": share_within(errors[several], 0.05),
        "histogram": error_histogram(errors),
        "lowest": float(errors.min()),
        "highest": float(errors.max()),
    }


def wanted_runs() -> list[tuple[int, int, str, tuple[str, ...]]]:
    """Every k, m and policy, with the workloads to answer."""
    frequent = tuple(f"frequent:{percent:g}" for percent in SUPPORTS)
    runs = [(5, 2, spec, ("random", "drawn", *frequent)) for specs in POLICIES.values() for spec in specs]
    runs += [(k, 2, spec, ("frequent:0.625",)) for spec in ("level:1", "sim:10", "sup:2.5") for k in KS if k != 5]
    runs += [(k, 2, "sup:0.625", ()) for k in KS if k != 5]
    return runs + [(5, m, spec, ()) for m in (3, 5) for spec in ("level:1", "sim:10", "sup:2.5")]


def figures(out: Path) -> None:
    """Everything that the figures show, as one JSON file that grows run by run, then as drawings."""
    load_kernels()
    out.mkdir(parents=True, exist_ok=True)
    path = out / "disassociation.json"
    found = dict[str, Any](figure_12=[], runs=[], by_paper=[], costs=[])
    found |= json.loads(path.read_text()) if path.exists() else {}
    done = {(row["data"], row["k"], row["m"], row["policy"]) for row in found["runs"]}
    costs = {tuple(row[key] for key in ("data", "policy", "n_sensitive", "diversity")) for row in found["costs"]}
    by_paper = {(row["data"], row["k"], row["policy"]) for row in found["by_paper"]}
    for name in FILES:
        work = load(name)
        if not any(row["data"] == name for row in found["figure_12"]):
            found["figure_12"] += figure_12(work)
        for k, m, spec, wanted in wanted_runs():
            if (name, k, m, spec) not in done:
                found["runs"].append(measured(work, k, m, spec, wanted))
                path.write_text(json.dumps(found, indent=1) + "\n")
        for spec, n_sensitive, diversity in COSTS:
            if (name, spec, n_sensitive, diversity) not in costs:
                row = measured(work, 5, 2, spec, ("drawn", "frequent:0.625"), sensitive=(n_sensitive, diversity))
                kept = {name: part for name, part in row.items() if part == part and name != "histogram"}
                found["costs"].append(kept | {"n_sensitive": n_sensitive, "diversity": diversity})
                path.write_text(json.dumps(found, indent=1) + "\n")
        for k, spec in BY_PAPER:
            if (name, k, spec) not in by_paper:
                found["by_paper"].append(measured(work, k, 2, spec, ("frequent:0.625",), Refine.PAPER))
                path.write_text(json.dumps(found, indent=1) + "\n")
    draw(out)


def draw(out: Path) -> None:
    """Draw what was measured before."""
    from benchmarks.papers.disassociation_figures import draw_all, write_page

    found = json.loads((out / "disassociation.json").read_text())
    draw_all(found, out)
    write_page(found, out)


def made_up(n_records: int, n_codes: int, mean_codes: float, seed: int = 0) -> CodeSets:
    """Patients who have a few common diseases and, in groups, rarer codes that go together."""
    generator = np.random.default_rng(seed)
    lengths = np.maximum(1, generator.poisson(mean_codes, n_records)).astype(np.int64)
    record = np.repeat(np.arange(n_records, dtype=np.int64), lengths)
    rank = np.minimum(generator.pareto(0.6, record.size) * 4, n_codes - 1).astype(np.int64)
    group = generator.integers(0, 40, n_records)[record]
    together = generator.random(record.size) < 0.4
    item = np.where(together, (group * 97 + rank % 12) % n_codes, rank)
    keys = np.unique(record * n_codes + item)
    record, item = np.divmod(keys, n_codes)
    used, item = np.unique(item, return_inverse=True)
    offsets = np.zeros(n_records + 1, dtype=np.int64)
    np.cumsum(np.bincount(record, minlength=n_records), out=offsets[1:])
    return CodeSets(tuple(f"{code:05d}" for code in used.tolist()), offsets, item.astype(np.int32))


def timed(n_records: int, n_codes: int, mean_codes: float) -> dict[str, Any]:
    """Protect and verify made-up patients in this process."""
    load_kernels()
    codes = made_up(n_records, n_codes, mean_codes)
    started = time.perf_counter()
    protected = disassociate(codes, DisassociationRequest(k=5, m=2))
    protect_s = time.perf_counter() - started
    started = time.perf_counter()
    verdict = verify(protected.released, DisassociationSecret(codes, protected.cluster_of))
    verify_s = time.perf_counter() - started
    assert verdict.holds, verdict.failures
    return {
        "patients": n_records,
        "codes": codes.n_codes,
        "occurrences": int(codes.items.size),
        "protect_s": protect_s,
        "verify_s": verify_s,
        "left": protected.figures.in_item_chunks / protected.figures.occurrences,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own, whose peak memory is then its own."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def scale(most: int, out: Path) -> None:
    """Growth of time and memory with the number of patients, ten codes each; written beside the figures."""
    rows = []
    table = Table(title="made-up patients, 10 codes each of 2,000, k = 5, m = 2, no policy, refine and verification")
    for head in ("patients", "occurrences", "protect s", "verify s", "us an occurrence", "left", "peak GiB"):
        table.add_column(head, justify="right")
    for n_records in (n for n in (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000) if n <= most):
        found = apart(timed, n_records, 2_000, 10.0)
        each = 1e6 * (found["protect_s"] + found["verify_s"]) / found["occurrences"]
        table.add_row(
            f"{n_records:,}",
            f"{found['occurrences']:,}",
            f"{found['protect_s']:.1f}",
            f"{found['verify_s']:.1f}",
            f"{each:.2f}",
            f"{found['left']:.2%}",
            f"{found['peak_gib']:.1f}",
        )
        SCREEN.print(json.dumps(found))
        rows.append(found)
    SCREEN.print(table)
    (out / "disassociation-scale.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def bars() -> None:
    """Seconds of the works that have a bar."""
    load_kernels()
    table = Table(title="protect with refine, and verification, warm (seconds)")
    for head in ("work", "m", "policy", "protect", "verify", "bar", "left in item chunks"):
        table.add_column(head, justify="right")
    works = [("58,302 x 631", made_up(58_302, 631, 5.1), 2, "sim:10", 2.0)]
    if "CLOISTER_DATA" in os.environ:
        diabetes, synpuf = (CodeSets.read(Path(os.environ["CLOISTER_DATA"], file)) for file in FILES.values())
        works += [("diabetes130", diabetes, m, "level:1", bar) for m, bar in ((2, 3.0), (3, 10.0), (5, 60.0))]
        works += [("synpuf", synpuf, m, "level:1", float("nan")) for m in (2, 3, 5)]
    for name, codes, m, spec, bar in works:
        policy = blocks(codes, 10) if spec == "sim:10" else parse_policy(spec, codes)
        started = time.perf_counter()
        protected = disassociate(codes, DisassociationRequest(k=5, m=m, policy=policy))
        middle = time.perf_counter()
        assert verify(protected.released, DisassociationSecret(codes, protected.cluster_of)).holds
        ended = time.perf_counter()
        table.add_row(name, str(m), spec, *_seconds(started, middle, ended, bar), _left(protected))
    SCREEN.print(table)


def blocks(codes: CodeSets, size: int) -> UtilityPolicy:
    """A policy for codes that no classification knows."""
    starts = range(0, codes.n_codes, size)
    return UtilityPolicy.of({str(start): codes.vocabulary[start : start + size] for start in starts})


def _seconds(started: float, middle: float, ended: float, bar: float) -> tuple[str, str, str]:
    missed = " MISSED" if ended - started > bar else ""
    return f"{middle - started:.2f}", f"{ended - middle:.2f}", "" if math.isnan(bar) else f"{bar:g}{missed}"


def _left(protected: ProtectedCodes) -> str:
    released: Disassociation = protected.released
    share = protected.figures.in_item_chunks / protected.figures.occurrences
    return f"{share:.2%} ({released.n_clusters:,} clusters, {released.n_joints:,} joint)"


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("figures", "draw", "scale", "bars"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "docs" / "benchmarks")
    parser.add_argument("--most", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.what == "figures":
        figures(options.out)
    elif options.what == "draw":
        draw(options.out)
    elif options.what == "scale":
        scale(options.most, options.out)
    else:
        bars()


if __name__ == "__main__":
    main()
