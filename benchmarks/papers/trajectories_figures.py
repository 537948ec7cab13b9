"""Drawings and a page of what `trajectories.py figures` measured. Needs the extra `bench` (Altair, vl-convert)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt

from benchmarks import charts, pages
from benchmarks.charts import HEIGHT, WIDTH, lines
from benchmarks.pages import table
from benchmarks.papers.trajectories_page import PAGE

Found = dict[str, Any]

TABLE_I = {
    "50 codes": (27_639, 50, 102, 5.88, 3.10),
    "4 codes": (16_052, 4, 97, 1.65, 2.78),
    "4 codes, sample": (1_896, 4, 90, 1.96, 4.04),
}
"""The paper's Table I: patients, codes, ages, mean codes and ages of a patient."""
APPENDIX_A = {
    "50 codes": {2: (0.33, 0.21), 5: (0.54, 0.35), 10: (0.62, 0.40), 15: (0.64, 0.42)},
    "4 codes": {2: (0.11, 0.10), 5: (0.21, 0.22), 10: (0.25, 0.30), 15: (0.28, 0.34)},
    "4 codes, sample": {2: (0.17, 0.16), 5: (0.33, 0.34), 10: (0.40, 0.46), 15: (0.44, 0.51)},
}
"""The paper's Appendix A: ILM and ALM by k."""
MEASURES = {"ilm": "ILM", "alm": "ALM", "ilm_exact": "ILM, exact", "alm_exact": "ALM, exact"}


def of(found: Found, data: str, method: str = "a-gs", cost: str = "paper") -> dict[int, dict[str, Any]]:
    """Runs on one data set, by k."""
    rows = (row for row in found["runs"] if (row["data"], row["method"], row["cost"]) == (data, method, cost))
    return {row["k"]: row for row in rows}


def names(found: Found) -> list[str]:
    """The data sets, in the order of the page."""
    return [sample["data"] for sample in found["samples"]]


def figure_6(found: Found) -> alt.Chart:
    """Losses of Baseline and A-GS by k, as the paper accumulates them and exactly."""
    rows = [
        {"k": k, "loss": row[key], "method": method, "measure": name}
        for method in ("baseline", "a-gs")
        for k, row in of(found, "50 codes", method).items()
        for key, name in MEASURES.items()
    ]
    return lines(rows, "k", "loss", "method", "measure")


def figure_7(found: Found) -> alt.Chart:
    """Errors of answers by k."""
    name = "average relative error"
    rows = [
        {"k": k, name: row["are"], "method": f"{method}, cost {cost}", "data": data}
        for data in names(found)
        for method, cost in (("baseline", "paper"), ("a-gs", "paper"), ("a-gs", "exact"))
        for k, row in of(found, data, method, cost).items()
    ]
    return lines(rows, "k", name, "method")


def figure_8(found: Found) -> alt.Chart:
    """Losses by the weight of codes."""
    rows = [
        {"weight of codes": row["weight"], "loss": row[key], "loss of": name}
        for row in found["weights"]
        for key, name in (("ilm", "codes"), ("alm", "ages"))
    ]
    base = alt.Chart(alt.Data(values=rows)).mark_bar()
    chart = base.encode(
        x=alt.X("weight of codes:O"), y=alt.Y("loss:Q"), xOffset="loss of:N", color=alt.Color("loss of:N")
    )
    return chart.properties(width=WIDTH, height=HEIGHT)


def draw_all(found: Found, out: Path) -> None:
    """Write all figures as SVG."""
    for name, drawn in (("6", figure_6), ("7", figure_7), ("8", figure_8)):
        charts.save(drawn(found), out / f"trajectories-figure-{name}.svg")


def samples_table(found: Found) -> str:
    """Table I, with the paper's."""
    keys = ("data", "patients", "codes", "ages", "pairs", "codes_a_patient", "ages_a_patient")
    head = ("data", "patients", "codes", "ages", "pairs a patient", "distinct codes", "distinct ages")
    rows = []
    for sample in found["samples"]:
        rows.append([_short(sample[key]) for key in keys])
        if sample["data"] in TABLE_I:
            patients, codes, ages, *means = map(_short, TABLE_I[sample["data"]])
            rows.append([f"*paper: {sample['data']}*", patients, codes, ages, "", *means])
    return table(head, rows)


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def appendix_table(found: Found) -> str:
    """Appendix A: ILM and ALM of A-GS by data and k, with the paper's."""
    runs = {name: of(found, name) for name in APPENDIX_A}
    rows = []
    for k in runs["50 codes"]:
        cells = []
        for name, paper in APPENDIX_A.items():
            printed = ", ".join(f"{loss:.2f}" for loss in paper[k])
            cells.append(f"{runs[name][k]['ilm']:.2f}, {runs[name][k]['alm']:.2f} *({printed})*")
        rows.append([k, *cells])
    return table(["k", *APPENDIX_A], rows)


def baseline_times(found: Found, key: Callable[[dict[str, Any]], float]) -> str:
    """How many times as high Baseline's figure is as that of A-GS, lowest and highest."""
    times = [
        key(row) / key(of(found, name)[k]) for name in names(found) for k, row in of(found, name, "baseline").items()
    ]
    return f"{min(times):.1f} to {max(times):.1f} times"


SHOWN = (5, 15)
"""Sizes of groups in the tables of the page; the drawings and the JSON file have all."""


def without_sample(found: Found) -> list[str]:
    """Return the data of the tables, without the small sample, which the JSON file has."""
    return [name for name in names(found) if "sample" not in name]


def baseline_table(found: Found) -> str:
    """Losses of Baseline and of A-GS, codes and ages together, and the pairs that are suppressed."""
    rows = []
    for name in without_sample(found):
        for k, row in of(found, name, "baseline").items():
            if k not in SHOWN:
                continue
            both = (row, of(found, name)[k])
            losses = [", ".join(f"{measure(each):.3f}" for each in both) for measure in (_accumulated, _exact)]
            rows.append([name, k, *losses, " and ".join(f"{each['suppressed']:,}" for each in both)])
    return table(["data", "k", "as in the paper", "exact", "pairs suppressed"], rows)


def _accumulated(row: dict[str, Any]) -> float:
    return float(row["ilm"] + row["alm"])


def _exact(row: dict[str, Any]) -> float:
    return float(row["ilm_exact"] + row["alm_exact"])


def costs_table(found: Found) -> str:
    """The exact losses of the paper's cost and of the exact one."""
    rows = []
    for name in without_sample(found):
        for k, row in of(found, name).items():
            if k not in SHOWN:
                continue
            other = of(found, name, cost="exact")[k]
            change = _exact(other) / _exact(row) - 1
            cells = (row["ilm_exact"], row["alm_exact"], other["ilm_exact"], other["alm_exact"])
            pairs = [", ".join(f"{cell:.4f}" for cell in pair) for pair in (cells[:2], cells[2:])]
            rows.append([name, k, *pairs, f"{change:+.1%}"])
    head = ["data", "k", "paper's cost", "exact cost", "change of the sum"]
    return table(head, rows)


def answers_table(found: Found) -> str:
    """AvgRE by data, k, method and cost; Baseline where it was run."""
    rows = []
    for name in without_sample(found):
        ways = [of(found, name, "baseline"), of(found, name), of(found, name, cost="exact")]
        for k in (k for k in ways[1] if k in SHOWN):
            rows.append([name, k, *(f"{way[k]['are']:.3f}" if k in way else "" for way in ways)])
    return table(["data", "k", "Baseline", "A-GS, cost as in the paper", "A-GS, exact cost"], rows)


def blocks_table(found: Found) -> str:
    """What blocks cost on diabetes130."""
    rows = []
    for k, row in of(found, "diabetes130").items():
        other = of(found, "diabetes130", cost="paper, blocks")[k]
        change = _exact(other) / _exact(row) - 1
        rows.append([k, other["blocks"], f"{row['seconds']:.1f}", f"{other['seconds']:.1f}", f"{change:+.1%}"])
    return table(["k", "blocks", "all compared (s)", "in blocks (s)", "exact loss"], rows)


def bars_table(found: Found) -> str:
    """Seconds of the works that have a bar."""
    rows = [[row["work"], f"{row['seconds']:.1f}", f"{row['bar']:g}"] for row in found["bars"]]
    return table(["A-GS, k = 5", "seconds", "bar"], rows)


def scale_table(found: Found) -> str:
    """Time and memory by size."""
    rows = []
    for row in found["scale"]:
        each = row["seconds"] / row["pairs"] * 1e6
        cells = [
            f"{row['patients']:,}",
            f"{row['pairs']:,}",
            row["blocks"],
            f"{row['seconds']:.0f}",
            f"{row['gib']:.2f}",
        ]
        rows.append([*cells, f"{each:.0f}", f"{_exact(row):.3f}"])
    return table(["patients", "pairs", "blocks", "seconds", "peak GiB", "µs a pair", "exact loss"], rows)


def write_page(found: Found, out: Path) -> None:
    """Write the page of results from its words and the tables."""
    parts = {
        **pages.measured_on(found),
        "worse_loss": baseline_times(found, _accumulated),
        "worse_answers": baseline_times(found, lambda row: float(row["are"])),
        "samples": samples_table(found),
        "appendix": appendix_table(found),
        "baseline": baseline_table(found),
        "costs": costs_table(found),
        "answers": answers_table(found),
        "blocks": blocks_table(found),
        "bars": bars_table(found),
        "scale": scale_table(found),
    }
    pages.write(out / "trajectories.md", PAGE, parts)
