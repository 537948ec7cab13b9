"""Tables 1 to 5 of the page, ours beside the paper's, each with a sentence on what it shows."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from textwrap import fill
from typing import Any

from benchmarks import pages
from benchmarks.pages import share
from benchmarks.papers import pruning_paper as paper

Outcome = dict[str, Any]
Results = dict[str, dict[str, Any]]
Row = Sequence[str]

STORES = ("list", "antichain-list", "tree", "ranked-tree")
ONE_THREAD = "optimal, 1 thread"
PROVING = ("flash", "bfs", ONE_THREAD, "optimal")
HEADS = ("`flash`", "`bfs`", "`optimal`, one thread", "`optimal`, by the clock")
LEAST_COLUMNS = 5
"""Rows of fewer columns, of at most 120 policies, are in the JSON file."""


def table(heads: Row, rows: Iterable[Row]) -> str:
    """A table as a paragraph of the page."""
    return pages.table(heads, rows) + "\n"


def prose(text: str) -> str:
    """A paragraph, or the point of a list, in lines of the width of our documents."""
    return fill(text, 119, subsequent_indent="  " if text.startswith("* ") else "", break_on_hyphens=False) + "\n"


def between(values: Sequence[float], digits: int = 0) -> str:
    """Least and most of some shares, as percent."""
    low, high = share(min(values), digits), share(max(values), digits)
    return low if low == high else f"{low.removesuffix('%')} to {high}"


def part(some: float, whole: float) -> float | None:
    """One number as a share of another, if that is any."""
    return some / whole if whole else None


def named(name: str, columns: int) -> str:
    """A table and how much of it."""
    return f"{name}, {columns} columns"


def seconds(outcome: Outcome | None) -> str:
    """Time of a search that came to its end; empty if it was not tried."""
    if outcome is None:
        return ""
    if not outcome["finished"]:
        return f"not in {outcome['limit']:.0f} s"
    return f"{outcome['seconds']:.3f}" if outcome["seconds"] < 10 else f"{outcome['seconds']:.1f}"


def side_by_side(outcomes: Iterable[Outcome]) -> dict[tuple[str, int], dict[str, Outcome]]:
    """Outcomes by table and columns, then by search; one that finished before one that did not."""
    found: dict[tuple[str, int], dict[str, Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda o: (o["table"], o["columns"], o["finished"])):
        found.setdefault((outcome["table"], outcome["columns"]), {})[outcome["search"]] = outcome
    return found


def shown(results: Results) -> int:
    """How many of the searches have a column: the last only if it was measured while nothing else ran."""
    return len(PROVING) if "clock" in results.get("machine", {}) else len(PROVING) - 1


def answers_to(results: Results, key: tuple[str, int]) -> list[Outcome]:
    """Outcomes of the searches that came to their end on a table."""
    outcomes = [o for e in ("whole", "dimensions", "agreement") for o in results.get(e, {}).values()]
    return [o for o in outcomes if (o["table"], o["columns"]) == key and o["finished"]]


def same(results: Results, key: tuple[str, int]) -> str:
    """Whether all searches that finished on this table returned the same policy, and how many they are."""
    found = answers_to(results, key)
    kinds = {(tuple(o["levels"]), o["suppressed"], f"{o['loss']:.10g}") for o in found}
    searches = {o["search"].removesuffix(", 1 thread") for o in found}
    if len(searches) < 2:
        return "one search"
    return f"{'same' if len(kinds) == 1 else 'NOT THE SAME'} ({len(searches)})"


def answers(results: Results) -> list[str]:
    """All searches on whole tables: time, and whether they agree."""
    rows = []
    for (name, columns), found in side_by_side(results.get("whole", {}).values()).items():
        told = [seconds(found.get(search)) for search in PROVING[: shown(results)]]
        rows.append([named(name, columns), *told])
    if not rows:
        return []
    return ["## Whole tables\n", table(["seconds", *HEADS[: shown(results)]], rows)]


def stores(results: Results) -> list[str]:
    """Table 1."""
    rows, gains = [], []
    beside = {"adult": "adult", "fars": "fars", "diabetes": "SS13ACS, 10 columns"}
    for found in sorted(results.get("stores", {}).values(), key=lambda f: (f["table"], f["columns"])):
        times = [sum(by[store] for by in found["seconds"].values()) for store in STORES]
        gains.append(_gains(times))
        rows.append([named(found["table"], found["columns"]), *_with_gains(times, 4)])
        printed = beside.get(found["table"])
        if printed and (found["table"] != "diabetes" or found["columns"] == 10):
            rows.append([f"*paper: {printed}*", *_with_gains(paper.STORES[printed], 3)])
    if not rows:
        return []
    heads = ["seconds", "list", "list, antichain", "tree, antichain", "tree with ranks"]
    antichain, tree, ranks = (between(several) for several in zip(*gains, strict=True))
    said = (
        f"An antichain saves {antichain} of the time of a list, the tree {tree} of the rest, and ranks {ranks} of that "
        "(negative: costs)."
    )
    return ["## Table 1: property stores\n", REPLAY, table(heads, rows), prose(said)]


REPLAY = """Flash ran once per table and recorded its inserts and queries for the three properties that it keeps
(insufficient quality, insufficient protection, safe). Each store repeated them in one compiled loop, nine times (once
if over 5 s): median processor time, and in parentheses the saving over the store to the left. All four gave the same
answers.
"""


def _gains(times: Sequence[float]) -> list[float]:
    return [1 - after / before for before, after in pairwise(times)]


def _with_gains(times: Sequence[float], digits: int) -> list[str]:
    gains = ["", *(f" ({share(gain, 0)})" for gain in _gains(times))]
    return [f"{time:.{digits}f}{gain}" for time, gain in zip(times, gains, strict=True)]


def properties(results: Results) -> list[str]:
    """Table 2."""
    rows = []
    everything = [o for e in ("whole", "dimensions") for o in results.get(e, {}).values()]
    for (name, columns), found in side_by_side(everything).items():
        flash = found.get("flash")
        if flash is None or not flash["finished"] or (name == "diabetes" and columns != 10):
            continue
        kept = [_kept(flash[kind]) for kind in ("quality", "protection")]
        rows.append(_property_row(named(name, columns), flash["checked"] / flash["lattice"], flash["checked"], kept))
        if name in paper.PROPERTIES:
            checked, *both = paper.PROPERTIES[name]
            rows.append(_property_row(f"*paper: {name}*", checked / flash["lattice"], checked, both))
    if not rows:
        return []
    heads = ["table", "checked", "insufficient quality", "insufficient protection"]
    found = [*_against_paper(results), *_representations(results)]
    return ["## Table 2: properties found by Flash\n", HITS, table(heads, rows), *found]


def _kept(kept: Outcome) -> tuple[int, float | None, float | None]:
    return kept["inserts"], part(kept["hits"], kept["queries"]), part(kept["largest"], kept["inserts"])


def _property_row(
    name: str, part_checked: float, checked: int, both: Sequence[tuple[int, float | None, float | None]]
) -> list[str]:
    told = [f"{inserts:,}; {share(hits)}; {share(largest)}" for inserts, hits, largest in both]
    return [name, f"{checked:,} ({share(part_checked)})", *told]


HITS = (
    "For each property: inserts; hits, as a share of the queries; the largest antichain, as a share of the inserts.\n"
)


def _against_paper(results: Results) -> list[str]:
    found = [o for o in results.get("whole", {}).values() if o["search"] == "flash" and o["table"] in paper.PROPERTIES]
    more = [f"{o['checked'] / paper.PROPERTIES[o['table']][0] - 1:+.1%} on {o['table']}" for o in found]
    return [f"Policies checked, compared with the paper: {', '.join(more)}.\n"] if more else []


def _representations(results: Results) -> list[str]:
    everything = [o for e in ("whole", "dimensions") for o in results.get(e, {}).values()]
    gains = []
    for found in side_by_side(everything).values():
        implicit, explicit = found.get("flash"), found.get("flash:explicit")
        if implicit and explicit and implicit["finished"] and explicit["finished"] and explicit["seconds"] > 0.1:
            gains.append(1 - implicit["seconds"] / explicit["seconds"])
    if not gains:
        return []
    said = (
        f"Compared with explicit flags, implicit properties save {between(gains)} of the time of Flash (negative: "
        "cost) where it takes over 0.1 s; in the paper 5 to 23%."
    )
    return [prose(said)]


def memory(results: Results) -> list[str]:
    """Figure 5, and the memory of the process of `optimal`."""
    peaks = [found[ONE_THREAD]["peak_mib"] for found in side_by_side(results.get("dimensions", {}).values()).values()]
    return ["## Memory\n", prose(KEPT.format(min(peaks), max(peaks)))] if peaks else []


KEPT = """Memory for what Flash knows about policies. Flags take one byte per policy, stores 16 bytes per node and room
to grow. The Python process of `optimal`, with libraries and compiled kernels, takes {} to {} MiB."""


def dimensions(results: Results) -> list[str]:
    """Times by number of columns, with what was checked."""
    rows = []
    for (_, columns), found in side_by_side(results.get("dimensions", {}).values()).items():
        if columns < LEAST_COLUMNS:
            continue
        told = [seconds(found.get(search)) for search in PROVING[: shown(results)]]
        one = found[ONE_THREAD]
        rows.append([str(columns), f"{one['lattice']:,}", *told, f"{one['checked']:,}"])
    if not rows:
        return []
    heads = ["columns", "policies", *HEADS[: shown(results)], "counts"]
    return [f"## The first columns of {one['table']}\n", LEFT_OUT, table(heads, rows)]


LEFT_OUT = """Seconds. A search that was stopped is not tried on more columns. *Counts*: how often `optimal` counted
records to decide one or more policies.
"""


def prediction(results: Results) -> list[str]:
    """Tables 3 and 4."""
    gains, counts, saved = [], [], []
    for (_, columns), found in side_by_side(results.get("dimensions", {}).values()).items():
        bfs, without = found.get("bfs"), found.get("bfs:unpredicted")
        if bfs is None or not bfs["finished"] or columns < LEAST_COLUMNS:
            continue
        if without is not None and without["finished"]:
            gain = 1 - bfs["seconds"] / without["seconds"]
            saved += [gain] if without["seconds"] > 0.1 else []
            checks = [f"{without['checked']:,}", f"{bfs['checked']:,}"]
            printed = share(paper.PREDICTION.get(columns))
            gains.append([str(columns), *checks, share(gain), printed])
        kept = bfs["quality"]
        own = part(bfs["checked"], bfs["lattice"]), part(kept["hits"], kept["queries"])
        told = [*own, part(kept["largest"], kept["inserts"])]
        printed = paper.BEST_FIRST.get(columns, (None, None, None))
        both = [f"{share(a)} *({share(b)})*" for a, b in zip(told, printed, strict=True)]
        counts.append([str(columns), f"{kept['inserts']:,}", *both])
    if not counts:
        return []
    heads = ["columns", "checked without", "with", "time saved", "*paper*"]
    said = [f"Where BFS takes over 0.1 s, prediction saves {between(saved, 1)} of the time.\n"] if saved else []
    return [
        "## Table 3: BFS without and with prediction\n",
        table(heads, gains),
        *said,
        "## Table 4: what BFS stores\n",
        "In parentheses the paper's share for SS13ACS with as many columns.\n",
        table(["columns", "inserts", "share checked", "hits", "largest antichain"], counts),
    ]


LONGER = """Searches were stopped after {} s of processor time, each in a process of its own. What a stopped search has
checked and found depends on the machine, which other work may have shared. *Quality* is that of the best policy found,
as a share of the best quality that `optimal` proves. *Stores* is memory for properties.
"""


def longer(results: Results) -> list[str]:
    """What searches check on more columns, and how good what they have found is."""
    found = sorted(results.get("longer", {}).values(), key=lambda o: (o["search"], o["columns"]))
    if not found:
        return []
    best = optima(results)
    heads = ["search, columns", "policies", "checked", "ended", "quality", "inserts", "hits", "largest antichain"]
    limits = " or ".join(sorted({f"{o['limit']:.0f}" for o in found}))
    rows = [_longer_row(outcome, best.get((outcome["table"], outcome["columns"]))) for outcome in found]
    return [
        f"## Longer runs on {found[0]['table']}\n",
        prose(LONGER.format(limits)),
        table([*heads, "stores, MiB", "process, MiB"], rows),
    ]


def _longer_row(o: Outcome, least: float | None) -> list[str]:
    kept = o["quality"]
    quality = "no policy yet" if o["loss"] is None else "" if least is None else share((1 - o["loss"]) / (1 - least), 2)
    ended = f"after {o['seconds']:.0f} s" if o["finished"] else "no"
    stored = [share(part(kept["hits"], kept["queries"])), share(part(kept["largest"], kept["inserts"]))] if kept else []
    return [
        f"`{o['search']}`, {o['columns']}",
        f"{o['lattice']:,}",
        f"{o['checked']:,} ({share(o['checked'] / o['lattice'], 3)})",
        ended,
        quality,
        *([f"{kept['inserts']:,}", *stored, f"{o['store_bytes'] / 2**20:.1f}"] if kept else [""] * 4),
        f"{o['peak_mib']:,}",
    ]


def optima(results: Results) -> dict[tuple[str, int], float]:
    """Best loss of each table and number of columns, as proven by `optimal`."""
    found = [outcome for experiment in ("whole", "dimensions") for outcome in results.get(experiment, {}).values()]
    return {(o["table"], o["columns"]): o["loss"] for o in found if o["search"] == ONE_THREAD and o["finished"]}


def heuristic(results: Results) -> list[str]:
    """Table 5."""
    rows, worse = [], []
    races = list(results.get("heuristic", {}).values())
    races.sort(key=lambda race: (race["greedy"]["table"], race["greedy"]["columns"]))
    for name, variant in sorted({(r["greedy"]["table"], r["greedy"]["search"]) for r in races}):
        own = [r for r in races if (r["greedy"]["table"], r["greedy"]["search"]) == (name, variant)]
        worse += [r for r in own if _gain(r) is None or (_gain(r) or 0) < -1e-9]
        gains = [gain for r in own if (gain := _gain(r)) is not None]
        told = [share(min(gains), 2), share(sum(gains) / len(gains), 2), share(max(gains), 2)] if gains else [""] * 3
        if len(own) > 1:
            rows.append([f"{name}, `{variant}`", str(len(own)), *told, str(len(own) - len(gains))])
    if not rows:
        return []
    for name, printed in paper.HEURISTIC.items():
        rows.append([f"*paper: {name}*", "", *(share(value, 2) for value in printed), ""])
    heads = ["table and variant of IGreedy", "runs", "least", "average", "most", "BFS had nothing"]
    never = [r["greedy"] for r in worse if not _passed(results, r)]
    where = "; ".join(f"{named(o['table'], o['columns'])}, `{o['search']}`" for o in never) or "none"
    said = EXCEPTIONS.format(len(worse), len(races), len(never), where) if worse else "BFS was as good in every run.\n"
    return ["## Table 5: BFS as a heuristic against IGreedy\n", RACE, table(heads, rows), prose(said)]


EXCEPTIONS = """In {} of {} runs BFS had no policy yet, or a worse one than IGreedy. When it ran longer, it found
one as good in all but {}: {}.
"""

RACE = """Improvement of quality, as a share of IGreedy's, by BFS stopped after the time that IGreedy took, on the
first 3, 4, ... columns of a table (large, all columns: in the JSON file). A stopped search completes the policy that it
is measuring.
"""


def _gain(race: dict[str, Outcome]) -> float | None:
    """What BFS has gained in quality as a share of IGreedy's; None if it had nothing in time."""
    greedy, best_first = race["greedy"]["loss"], race["best_first"]["loss"]
    return None if best_first is None else (1 - best_first) / (1 - greedy) - 1


def _passed(results: Results, race: dict[str, Outcome]) -> bool:
    """Whether BFS had as much as IGreedy when it was watched for longer."""
    greedy = race["greedy"]
    watched = results.get("course", {}).get(f"{greedy['table']}/{greedy['columns']}/bfs")
    return watched is not None and watched["loss"] is not None and watched["loss"] <= greedy["loss"] + 1e-9


def arx(results: Results) -> list[str]:
    """Compare with a local ARX."""
    rows = [
        [
            key.replace("/", ", ") + " columns",
            *(f"{found[name]:.3f}" for name in ("seconds", "flash", "optimal")),
            f"{found['seconds'] / found['optimal']:.1f}",
            "same" if abs(found["loss"] - found["our_loss"]) < 1e-9 else "NOT THE SAME",
        ]
        for key, found in sorted(results.get("arx", {}).items())
    ]
    if not rows:
        return []
    heads = ["seconds", "ARX", "`flash`", "`optimal`", "ARX / `optimal`", "loss"]
    return ["## ARX\n", ARX, table(heads, rows)]


ARX = """ARX 3.9.2 with its optimal search, compiled from its source, after one run to warm up. Its seconds and those of
`optimal` are by the clock, those of `flash` processor time. Other work ran on the machine at the same time, so only the
losses can be compared.
"""


Section = Callable[[Results], list[str]]
