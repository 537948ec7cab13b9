"""The page of results: the paper's tables and figures, from the file of raw numbers."""

from pathlib import Path

from benchmarks import pages
from benchmarks.papers.pruning_figures import draw
from benchmarks.papers.pruning_tables import (
    ONE_THREAD,
    Outcome,
    Results,
    answers,
    arx,
    between,
    dimensions,
    heuristic,
    longer,
    memory,
    optima,
    prediction,
    properties,
    prose,
    same,
    seconds,
    side_by_side,
    stores,
)

INTRODUCTION = """# Searches: time and pruning

**What did not hold** ([all items](../papers.md)). Trees are faster than lists, but antichains and ranks hardly save
time (Table 1), nor do implicit properties. With more columns BFS checks a larger share of the policies, not a smaller
one (Table 4), and it is sometimes worse than IGreedy in equal time (Table 5). The paper's searches proved 15 columns
(BFS) and 14 (Flash) in up to two hours; here they proved 10 and 11 ([longer runs](#longer-runs-on-diabetes)), and
`optimal` 15. From these columns to those there are 720 and 90 times as many policies: at the same rate days and hours.

Quality is 1 - loss; a *policy* is a transformation; `optimal` is the default search of cloister.
"""

MEASURED = """## How this was measured

Prasser, Kohlmayer and Kuhn (2016), *Efficient and effective pruning strategies for health data de-identification*, BMC
Medical Informatics and Decision Making 16:49, compare property stores, Flash with an explicit and an implicit lattice,
best-first search (BFS), and IGreedy. This page repeats the comparison with k = 5, at most 5% of the records suppressed,
and the loss `{loss}`, and adds `optimal`. `make bench-pruning` writes this page; [pruning.json](pruning.json) contains
the numbers.
"""

REAL = """Tables: **adult** (30,162 records, 9 columns) and **fars** (100,937, 8) are the paper's. **diabetes**
(71,518, 15: Diabetes 130-US hospitals, with our hierarchies) replaces the paper's SS13ACS, which is not available; its
first columns are used, in file order. **large** has {records} records, about as many as the paper's ihis: records of
adult drawn with replacement, each value replaced with probability 1/10 by that of another record, which leaves {rows}
distinct rows."""

MADE_UP = "The tables are hospitals made up by `cloister.testing`, since real tables were not available."

DIFFERENT = """## Differences from the paper

* *Ties.* Policies that may tie with the best are not pruned, so all searches return the same policy, at the cost of
  some checks.
* *Flash.* The description is ambiguous. Of eight interpretations, the one used comes closest to the paper's inserts and
  antichains on adult and fars.
* *Hits* depend on how often a program asks: here for each policy of a rank before trying it, and again along paths.
* *Times.* Published searches run in Python, with compiled measuring and stores.
* *Stores.* An insert into an antichain first checks whether the policy is covered; the paper omits this. Where
  antichains contain most inserted policies (Table 2), an antichain list is hardly shorter and can be slower. Flash
  keeps a third property (safe) for the binary search along paths.
* *Memory.* In ARX a policy was an object; the paper reports about 1 GiB at 12 columns, and 100 MiB for implicit
  properties.
* *ARX.* On adult, 9 columns, ARX 3.9.2 found the same loss (0.2419) on 2026-11-28; its time was not compared.
* *Loss.* The paper names Iyengar's loss; its published benchmark used the geometric mean, `arx` here.
"""


def write_page(results: Results, out: Path) -> None:
    """Write the page, and the figures where Altair is installed."""
    out.mkdir(parents=True, exist_ok=True)
    figures = draw(results, out)
    about = results.get("machine", {})
    parts = [INTRODUCTION, *in_short(results), *figures.get("pruning-figure-6", [])]
    parts += [*answers(results), *stores(results), *properties(results)]
    parts += [
        *dimensions(results),
        *longer(results),
        *memory(results),
        *figures.get("pruning-figure-5", []),
        *prediction(results),
    ]
    parts += ["## When BFS finds its best\n"] if "pruning-figure-7a" in figures else []
    parts += [*figures.get("pruning-figure-7a", []), *figures.get("pruning-figure-7b", [])]
    parts += [*heuristic(results), *arx(results), DIFFERENT]
    parts += [MEASURED.format(loss=_one(about, "loss")), prose(_tables(results)), *_machine(about)]
    pages.write(out / "pruning.md", "\n".join(parts).rstrip() + "\n", {})


def _one(about: Results, key: str) -> str:
    return ", ".join(sorted({str(told[key]) for told in about.values() if key in told}))


def _tables(results: Results) -> str:
    large = results.get("whole", {}).get(f"large/9/{ONE_THREAD}")
    return (
        MADE_UP
        if large is None
        else REAL.format(rows=f"{large['rows']:,}", records=_one(results["machine"], "records"))
    )


def _machine(about: Results) -> list[str]:
    if not about:
        return []
    versions = ", ".join(f"{name} {_one(about, name)}" for name in ("cloister", "numpy", "numba", "polars"))
    loads = [told["load"] for name, told in about.items() if name != "agreement"]
    said = (
        f"**Machine.** {_one(about, 'processor')}, {_one(about, 'cores')} cores, {_one(about, 'gib')} GiB, "
        f"{_one(about, 'system')}; {_one(about, 'day')}; Python {_one(about, 'python')}, {versions}. "
        f"Load before each part: {min(loads):.1f} to {max(loads):.1f}. {_busy(about)}"
        f"Seconds are processor time, limits included{_by_the_clock(about)}. They are medians of {_one(about, 'runs')} "
        f"runs, or one run if over 2 s. Kernels were compiled beforehand. Published searches were stopped after "
        f"{_limit(about)} s."
    )
    return [prose(said)]


def _busy(about: Results) -> str:
    if max(told["load"] for told in about.values()) <= max(told["cores"] for told in about.values()) + 1:
        return ""
    return "Other work ran at the same time, which lengthens processor time. "


def _by_the_clock(about: Results) -> str:
    return "; only `optimal` on all cores is measured by the clock" if "clock" in about else ""


def _limit(about: Results) -> str:
    limits = {told["seconds"] for name, told in about.items() if name not in ("agreement", "stores")}
    return " or ".join(f"{limit:.0f}" for limit in sorted(limits))


def in_short(results: Results) -> list[str]:
    """Summarize the figures."""
    lines = [_alike(results), _against_flash(results), _large(results), _early(results)]
    told = [prose(f"* {line}").rstrip() for line in lines if line]
    return ["## Summary\n", *told, ""] if told else []


def _alike(results: Results) -> str:
    keys = {(o["table"], o["columns"]) for e in ("whole", "dimensions") for o in results.get(e, {}).values()}
    keys = {key for key in keys if same(results, key) != "one search"}
    differing = [key for key in keys if not same(results, key).startswith("same")]
    if not keys:
        return ""
    if differing:
        return f"**Searches that proved their answer differed** on {len(differing)} of {len(keys)} tables."
    return (
        f"On all {len(keys)} tables and cuts of tables that several searches completed, they returned the same policy: "
        "with `exhaustive` six searches for at most 50,000 policies."
    )


def _large(results: Results) -> str:
    found = results.get("whole", {})
    large, flash = found.get(f"large/9/{ONE_THREAD}"), found.get("large/9/flash")
    if large is None or flash is None:
        return ""
    return (
        f"{_one(results['machine'], 'records')} records of 9 columns took `optimal` on one thread {seconds(large)} s "
        f"(bar: 5 s) and `flash` {seconds(flash)} s."
    )


def _early(results: Results) -> str:
    """How good BFS is that does not come to its end, and how soon it has the optimum."""
    best, shares = optima(results), []
    courses = results.get("course", {}).values()
    soonest = [
        outcome["to_best"]
        for outcome in courses
        if outcome["finished"] or _is_best(outcome, best.get((outcome["table"], outcome["columns"])))
    ]
    for outcome in courses:
        least = best.get((outcome["table"], outcome["columns"]))
        if not outcome["finished"] and outcome["loss"] is not None and least is not None:
            shares.append((1 - outcome["loss"]) / (1 - least))
    if not shares:
        return ""
    limits = _one(results.get("course", {}), "limit").removesuffix(".0")
    return (
        f"On the {len(shares)} tables and cuts that `bfs` did not complete, it reached {between(shares, 1)} of the "
        f"best quality when stopped after {limits} s. It had the optimum of {len(soonest)} of {len(courses)} by then, "
        f"after {max(soonest, default=0.0):.1f} s at most; the paper found every optimum in less than 25 s (Fig. 7)."
    )


def _is_best(outcome: Outcome, least: float | None) -> bool:
    return least is not None and outcome["loss"] is not None and abs(outcome["loss"] - least) < 1e-9


def _against_flash(results: Results) -> str:
    outcomes = [o for e in ("whole", "dimensions") for o in results.get(e, {}).values() if o["columns"] >= 8]
    found = side_by_side(outcome for outcome in outcomes if outcome["finished"]).values()
    flash = [by["flash"]["seconds"] / by[ONE_THREAD]["seconds"] for by in found if {"flash", ONE_THREAD} <= set(by)]
    bfs = [by["bfs"]["seconds"] / by["flash"]["seconds"] for by in found if {"flash", "bfs"} <= set(by)]
    if not flash or not bfs:
        return ""
    return (
        f"From 8 columns on, `flash` takes {min(flash):.0f} to {max(flash):.0f} times as long as `optimal` on one "
        f"thread, and `bfs` {min(bfs):.1f} to {max(bfs):.1f} times as long as `flash` (about equal in the paper)."
    )
