"""Drawings and a page of what `generalization.py figures` measured. Needs the extra `bench` (Altair, vl-convert)."""

from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

import altair as alt

from benchmarks import charts, pages
from benchmarks.charts import HEIGHT, WIDTH, Rows
from benchmarks.pages import table
from benchmarks.papers.disassociation import FILES
from benchmarks.papers.generalization_page import PAGE

Found = dict[str, Any]

READINGS = {"suppress": "others suppressed", "generalize": "others one set"}
"""What became of codes outside the utility policy."""
NAMES = {"cba": "CBA", "ugaclip": "UGACLIP"}
ALL = "all codes"
WAYS = ("subsets", "inverse-size", "disassociation")
"""How a release answers: CBA by subsets and by inverse size, and disassociation."""


def label(row: dict[str, Any]) -> str:
    """The data of a run, and what became of codes outside the policy where there are any."""
    return f"{row['data']}, {READINGS[row['uncovered']]}" if ALL in row["data"] else row["data"]


def runs_of(found: Found, privacy: str = "visits") -> Rows:
    """Runs that ended with a release, as rows to draw."""
    return [
        row | {"panel": label(row), "method": NAMES[row["method"]]}
        for row in found["runs"]
        if row["privacy"] == privacy and row["ilm"] is not None
    ]


def by_k(rows: Rows, y: str, title: str) -> alt.Chart:
    """Lines over k, one panel a data set."""
    base = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
    chart = base.encode(
        x=alt.X("k:O"), y=alt.Y(f"{y}:Q", title=title), color=alt.Color("method:N", title="method")
    ).properties(width=WIDTH, height=HEIGHT)
    return chart.facet(facet=alt.Facet("panel:N", title=None), columns=3).resolve_scale(y="independent")


def figure_13(found: Found) -> alt.Chart:
    """Error by the size of the query; logarithmic."""
    rows = [
        {"panel": f"{row['data']}, {row['policy']}", "codes in the query": int(size), "error": are, "method": name}
        for row in found["compared"]
        if row["m"] == 2 and row["data"] in FILES
        for how, name in (
            ("subsets", "CBA"),
            ("inverse-size", "CBA, inverse size"),
            ("disassociation", "disassociation"),
        )
        for size, (are, _) in row["drawn"][how]["by_size"].items()
        if are > 0
    ]
    base = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
    chart = base.encode(
        x=alt.X("codes in the query:O"),
        y=alt.Y("error:Q", title="average relative error", scale=alt.Scale(type="log")),
        color=alt.Color("method:N", title="method"),
    ).properties(width=WIDTH, height=HEIGHT)
    return chart.facet(facet=alt.Facet("panel:N", title=None), columns=3)


def figure_14(found: Found) -> alt.Chart:
    """Share of the distinct codes that CBA suppresses."""
    rows = [
        {"data": row["data"], "policy": row["policy"], "m": row["m"], "share": row["suppressed"] / row["codes"]}
        for row in found["compared"]
    ]
    chart = alt.Chart(alt.Data(values=rows)).mark_bar()
    chart = chart.encode(
        x=alt.X("policy:N", title=None),
        y=alt.Y("share:Q", title="codes suppressed by CBA", axis=alt.Axis(format="%")),
        xOffset="m:N",
        color=alt.Color("m:N", title="m"),
    )
    return charts.panels(chart)


def draw_all(found: Found, out: Path) -> None:
    """Write all figures as SVG."""
    rows = runs_of(found)
    charts.save(by_k(rows, "ilm", "information loss (ILM)"), out / "generalization-figures-2-3.svg")
    charts.save(by_k(rows, "ncp", "normalized certainty penalty"), out / "generalization-figure-4.svg")
    charts.save(by_k(rows, "are", "average relative error"), out / "generalization-figures-5-6.svg")
    charts.save(figure_13(found), out / "generalization-figure-13.svg")
    charts.save(figure_14(found), out / "generalization-figure-14.svg")


def pairs_of(found: Found) -> dict[tuple[str, str, int], tuple[dict[str, Any], dict[str, Any]]]:
    """The runs of both methods, by data, privacy policy and k."""
    either: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in found["runs"]:
        either.setdefault((label(row), row["privacy"], row["k"]), {})[row["method"]] = row
    return {
        key: (both["cba"], both["ugaclip"])
        for key, both in either.items()
        if both["cba"]["ilm"] is not None and both["ugaclip"]["ilm"] is not None
    }


def samples_table(found: Found) -> str:
    """What the data sets are made of."""
    head = ["data", "patients", "codes", "codes a patient", "diseases"]
    keys = ("data", "patients", "codes", "a_patient", "diseases")
    return table(head, [[_short(sample[key]) for key in keys] for sample in found["samples"]])


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def diseases_table(found: Found) -> str:
    """Tables I and II: how many diseases each method preserves with the paper's policy, and how many more CBA does."""
    present = {sample["data"]: sample["diseases"] for sample in found["samples"]}
    rows: dict[str, list[str]] = {}
    for (panel, privacy, k), (cba, other) in pairs_of(found).items():
        if privacy == "visits" and k in (5, 10):
            kept, of = [len(each["preserved"]) for each in (cba, other)], present[cba["data"]]
            counts = ", ".join(map(str, kept))
            rows.setdefault(panel, [str(of)]).append(f"{counts} ({100 * (kept[0] - kept[1]) / of:+.1f})")
    return table(["data", "diseases", "k = 5", "k = 10"], [[panel, *cells] for panel, cells in rows.items()])


def losses_table(found: Found) -> str:
    """Mean ILM over k, and the mean ratio, by data with the paper's privacy policy, and over all data with either."""
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (panel, privacy, _), (cba, other) in pairs_of(found).items():
        groups.setdefault((panel, privacy), []).append((cba["ilm"], other["ilm"]))
    rows = [[panel, privacy, *_means(pairs)] for (panel, privacy), pairs in groups.items() if privacy == "visits"]
    for privacy in ("visits", "all:2"):
        whole = [pair for (_, policy), pairs in groups.items() if policy == privacy for pair in pairs]
        rows.append(["**all**", privacy, *_means(whole)])
    return table(["data", "privacy policy", "CBA", "UGACLIP", "mean ratio", "CBA below, at most equal, above"], rows)


def _means(pairs: list[tuple[float, float]]) -> list[str]:
    below = sum(a < b * (1 - 1e-9) for a, b in pairs)
    above = sum(a > b * (1 + 1e-9) for a, b in pairs)
    ratio = geometric_mean(a / b for a, b in pairs)
    means = [f"{fmean(each):.3f}" for each in zip(*pairs, strict=True)]
    return [*means, f"{ratio:.2f}", f"{below}, {len(pairs) - below - above}, {above}"]


def beside_both(found: Found) -> list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """The runs of the method `generalization`, each behind those of CBA and UGACLIP with the same settings."""
    pairs = pairs_of(found)
    runs = [((label(row), "visits", row["k"]), row) for row in found["moved"] if row["ilm"] is not None]
    return [(*pairs[key], row) for key, row in runs if key in pairs]


def moved_table(found: Found) -> str:
    """What the method `generalization` loses beside the better of the paper's two, and what at least must be lost."""
    groups: dict[str, list[tuple[dict[str, Any], ...]]] = {}
    for runs in beside_both(found):
        groups.setdefault(label(runs[2]), []).append(runs)
    groups["**all**"] = [*beside_both(found)]
    head = ["data", "ILM", "ILM / the better", "NCP / the better", "ARE / the better", "gap", "s"]
    return table(head, [[panel, *_beside(own)] for panel, own in groups.items()])


def _beside(own: list[tuple[dict[str, Any], ...]]) -> list[str]:
    mean = fmean(run["ilm"] for *_, run in own)
    ratios = [
        geometric_mean(run[loss] / min(cba[loss], other[loss]) for cba, other, run in own)
        for loss in ("ilm", "ncp", "are")
    ]
    gap = fmean(1 - run["bound"] / run["ilm"] for *_, run in own)
    seconds = fmean(run["seconds"] for *_, run in own)
    return [f"{mean:.3f}", *(f"{ratio:.2f}" for ratio in ratios), f"{gap:.2f}", f"{seconds:.1f}"]


def finding(found: Found) -> str:
    """In how many runs the better method of the paper is the worse here."""
    runs = beside_both(found)
    worse = {each: sum(cba[each] > other[each] for cba, other, _ in runs) for each in ("ilm", "are")}
    return f"by ILM in {worse['ilm']} of {len(runs)} runs, and answers queries worse in {worse['are']}"


def findings_table(found: Found) -> str:
    """What the paper says of CBA and UGACLIP, and of codes that CBA suppresses, with our figures."""
    runs = [(cba, other) for (_, privacy, _), (cba, other) in pairs_of(found).items() if privacy == "visits"]
    ratios = {loss: [other[loss] / cba[loss] for cba, other in runs] for loss in ("ilm", "ncp", "are")}
    times = {
        loss: f"{geometric_mean(each):.2g} times ({min(each):.2g} to {max(each):.2g})" for loss, each in ratios.items()
    }
    level_1 = [row for row in found["compared"] if row["policy"] == "level:1"]
    gone = {
        m: ", ".join(f"{row['suppressed'] / row['codes']:.1%} ({row['data']})" for row in level_1 if row["m"] == m)
        for m in (2, 3)
    }
    rows = [
        ["Figs 2 and 3: ILM, UGACLIP / CBA", "orders of magnitude", times["ilm"]],
        ["Fig. 4: NCP, UGACLIP / CBA", "above 1", times["ncp"]],
        ["Figs 5 and 6: ARE, UGACLIP / CBA", "at least 2.5 times", times["are"]],
        ["Fig. 14 (2014): codes suppressed by CBA, `level:1`, m = 2", "14.3%", gone[2]],
        ["Fig. 14 (2014): the same, m = 3", "23.6%", gone[3]],
    ]
    return table(["figure", "paper", "here: mean (lowest to highest)"], rows)


def answers_table(found: Found) -> str:
    """Errors of CBA and of disassociation on both workloads."""
    rows = []
    compared = [row for row in found["compared"] if "patients" not in row["data"] or row["m"] == 3]
    for row in compared:
        cells = []
        for workload in ("random", "drawn"):
            errors = [row[workload][how]["are"] for how in WAYS]
            cells.append(", ".join(f"{error:.3g}" for error in errors))
        rows.append([row["data"], row["policy"], row["m"], f"{row['suppressed']:,} of {row['codes']:,}", *cells])
    return table(["data", "policy", "m", "suppressed by CBA", "random: errors", "drawn: errors"], rows)


def partition_table(found: Found) -> str:
    """NCP and errors of Partition, CBA and disassociation."""
    rows: dict[tuple[str, int], list[str]] = {}
    for row in found["partition"]:
        cells = rows.setdefault((row["data"], row["k"]), [f"{row['partitions']:,}"])
        cells += ([] if row["ncp"] is None else [f"{row['ncp']:.3f}"]) + [f"{row['frequent']:.3g}, {row['drawn']:.3g}"]
    names = [f"{method}: {what}" for method in ("Partition", "CBA") for what in ("NCP", "ARE")]
    return table(
        ["data", "k", "partitions", *names, "disassociation: ARE"],
        [[data, k, *cells] for (data, k), cells in rows.items() if k in (5, 25)],
    )


def bars_table(found: Found) -> str:
    """Seconds of the works that have a bar."""
    rows = [[bar["work"], f"{bar['protect']:.1f}", f"{bar['verify']:.1f}", f"{bar['bar']:g}"] for bar in found["bars"]]
    return table(["CBA, k = 5", "protect (s)", "verify (s)", "bar (s)"], rows)


def write_page(found: Found, out: Path) -> None:
    """Write the page of results from its words and the tables."""
    parts = {
        **pages.measured_on(found),
        "sampled_on": found["sampled_on"],
        "samples": samples_table(found),
        "diseases": diseases_table(found),
        "finding": finding(found),
        "findings": findings_table(found),
        "losses": losses_table(found),
        "moved": moved_table(found),
        "answers": answers_table(found),
        "partition": partition_table(found),
        "bars": bars_table(found),
    }
    pages.write(out / "generalization.md", PAGE, parts)
