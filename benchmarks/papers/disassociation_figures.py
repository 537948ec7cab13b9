"""Drawings and a page of what `disassociation.py figures` measured. Needs the extra `bench` (Altair, vl-convert)."""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import altair as alt

from benchmarks import charts, pages
from benchmarks.charts import Rows
from benchmarks.pages import share, table
from benchmarks.papers.disassociation_paper import findings_table, reconstructions_table, spread, swept

FAMILIES = {"level": "hierarchy", "sim": "similarity", "sup": "frequency"}


def family(spec: str) -> str:
    """The kind of a policy by its words."""
    return FAMILIES[spec.partition(":")[0]]


def figure_12(found: dict[str, Any], out: Path) -> None:
    """Bars: share of the sets of m codes by the number of records that hold them."""
    chart = alt.Chart(alt.Data(values=found["figure_12"])).mark_bar()
    chart = chart.encode(
        x=alt.X("records:N", title="records that hold the set"),
        y=alt.Y("share:Q", title="share of the sets", axis=alt.Axis(format="%")),
        xOffset="m:N",
        color=alt.Color("m:N", title="codes in a set"),
    )
    charts.save(charts.panels(chart), out / "figure-12.svg")


def usual(found: dict[str, Any]) -> Rows:
    """Runs with k = 5 and m = 2."""
    return [row for row in found["runs"] if (row["k"], row["m"]) == (5, 2)]


def figure_15(found: dict[str, Any], out: Path) -> None:
    """Error by the size of the query, sets of codes that some patient has."""
    name = "average relative error"
    rows = [
        {"data": row["data"], "policy": row["policy"], "codes in the query": int(size), name: error}
        for row in usual(found)
        for size, (error, _) in row["drawn"]["by_size"].items()
    ]
    charts.save(charts.lines(rows, "codes in the query", name, "policy"), out / "figure-15.svg")


def figure_16(found: dict[str, Any], out: Path) -> None:
    """Error by the support of the sets of codes that are asked for."""
    name, x = "average relative error", "least support of the queries (%)"
    rows = [
        {"data": row["data"], "policy": row["policy"], x: float(workload.partition(":")[2]), name: row[workload]["are"]}
        for row in usual(found)
        for workload in row
        if workload.startswith("frequent:")
    ]
    charts.save(charts.lines(rows, x, name, "policy"), out / "figure-16.svg")


def figure_17(found: dict[str, Any], out: Path) -> None:
    """Error by k."""
    name = "average relative error"
    rows = [
        {"data": row["data"], "policy": row["policy"], "k": row["k"], name: row["frequent:0.625"]["are"]}
        for row in found["runs"]
        if row["m"] == 2 and row["policy"] in ("level:1", "sim:10", "sup:2.5") and "frequent:0.625" in row
    ]
    charts.save(charts.lines(rows, "k", name, "policy"), out / "figure-17.svg")


def histogram(rows: Rows, path: Path) -> None:
    """Bars: share of the constraints by the interval of their matching error."""
    values = [
        {
            "data": row["data"],
            "policy": row["policy"],
            "order": place,
            "error": name,
            "share": count / row["constraints"],
        }
        for row in rows
        if row["constraints"]
        for place, (name, count) in enumerate(row["histogram"].items())
    ]
    chart = alt.Chart(alt.Data(values=values)).mark_bar()
    chart = chart.encode(
        x=alt.X("error:N", title="matching relative error", sort=alt.EncodingSortField("order", op="min")),
        y=alt.Y("share:Q", title="share of the constraints", axis=alt.Axis(format="%")),
        xOffset="policy:N",
        color=alt.Color("policy:N", title="policy"),
    )
    charts.save(charts.panels(chart), path)


def figures_21_to_23(found: dict[str, Any], out: Path) -> None:
    """Constraints within 5% by k: one reconstruction, as the mean and the range of ten."""
    title = "share of the constraints within 5%"
    rows = [
        {"data": row["data"], "policy": row["policy"], "k": row["k"]}
        | {"mean": fmean(each), "lowest": min(each), "highest": max(each)}
        for row in swept(found)
        if (each := row["within_each"])
    ]
    percent, scale = alt.Axis(format="%"), alt.Scale(zero=False)
    base = alt.Chart().encode(x=alt.X("k:O"), color=alt.Color("policy:N", scale=alt.Scale(scheme="tableau10")))
    means = base.mark_line(point=True).encode(y=alt.Y("mean:Q", title=title, axis=percent, scale=scale))
    ranges = base.mark_rule(strokeWidth=2).encode(y="lowest:Q", y2="highest:Q")
    charts.save(charts.panels(alt.layer(ranges, means, data=alt.Data(values=rows))), out / "figures-21-23.svg")


def draw_all(found: dict[str, Any], out: Path) -> None:
    """All drawings."""
    figure_12(found, out)
    figure_15(found, out)
    figure_16(found, out)
    figure_17(found, out)
    histogram(
        [row for row in usual(found) if row["policy"] in ("level:1", "sim:5", "sup:0.625")], out / "figures-18-20.svg"
    )
    figures_21_to_23(found, out)
    histogram([row for row in found["runs"] if row["m"] == 5], out / "figure-24.svg")


def scale_table(out: Path) -> str:
    """Time and memory by the number of patients, as ``scale`` measured them last."""
    measured = out / "disassociation-scale.json"
    if not measured.exists():
        return "Not measured here."
    head = ["patients", "occurrences", "protect s", "verify s", "us an occurrence", "peak GiB"]
    rows = json.loads(measured.read_text(encoding="utf-8"))
    each = [1e6 * (row["protect_s"] + row["verify_s"]) / row["occurrences"] for row in rows]
    cells = [
        [
            f"{row['patients']:,}",
            f"{row['occurrences']:,}",
            f"{row['protect_s']:.1f}",
            f"{row['verify_s']:.1f}",
            f"{micro:.2f}",
            f"{row['peak_gib']:.1f}",
        ]
        for row, micro in zip(rows, each, strict=True)
    ]
    return table(head, cells)


def several(row: dict[str, Any]) -> str:
    """The share within 5% of constraints of several codes, and their number; nothing if these are all constraints."""
    if row.get("several") == row["constraints"]:
        return ""
    return f"{share(row['within_several'])} ({row.get('several', 0):,})"


def settings_table(rows: Rows) -> str:
    """Every policy at k = 5, m = 2."""
    head = ["policy", "constraints", "within 5%", "of several codes", "uncounted", "ARE frequent 0.625%"]
    cells = [
        [
            f"{row['data']}, `{row['policy']}`",
            f"{row['constraints']:,}",
            share(row["within"]),
            several(row),
            share(row["left"], 2),
            f"{row['frequent:0.625']['are']:.3f}",
        ]
        for row in rows
    ]
    return table(head, cells)


def uncounted_table(rows: Rows) -> str:
    """The occurrences without a count by k, with the policy of level 1."""
    sizes = sorted({row["k"] for row in rows})
    cells: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: (row["data"], row["k"])):
        cells.setdefault(row["data"], []).append(share(row["left"], 2))
    return table(["data", *(f"k = {k}" for k in sizes)], [[data, *found] for data, found in cells.items()])


def by_paper_table(found: dict[str, Any]) -> str:
    """Item chunks joined along the split tree, and between neighbours, as in the paper."""
    tree = {(row["data"], row["k"], row["policy"]): row for row in found["runs"] if row["m"] == 2}
    head = ["data and k", *(f"{what}, {of}" for what in ("within 5%", "uncounted", "ARE") for of in ("tree", "paper"))]
    cells = []
    for row in found["by_paper"]:
        if row["policy"] != "level:1":
            continue
        both = (tree[row["data"], row["k"], row["policy"]], row)
        shares = [share(one["within"]) for one in both] + [share(one["left"], 2) for one in both]
        errors = [f"{one['frequent:0.625']['are']:.3f}" for one in both]
        cells.append([f"{row['data']}, k = {row['k']}", *shares, *errors])
    return table(head, cells)


def cost_table(rows: Rows) -> str:
    """What sensitive codes cost: occurrences without a count, errors of counts."""
    head = ["data, sensitive codes", "uncounted", "ARE drawn", "ARE frequent 0.625%"]
    cells = []
    for row in rows:
        if row["policy"] != "none":
            continue
        beside = f", {row['n_sensitive']} with diversity {row['diversity']}" if row["n_sensitive"] else ""
        errors = [f"{row[name]['are']:.3f}" for name in ("drawn", "frequent:0.625")]
        cells.append([f"{row['data']}{beside}", share(row["left"], 2), *errors])
    return table(head, cells)


def sampled_table(rows: Rows) -> str:
    """Shares of Fig. 12 that were sampled, with their 95% intervals."""
    of = {(row["data"], row["m"]): {} for row in rows if "low" in row}
    for row in rows:
        if "low" in row:
            text = f"{share(row['share'])} ({share(row['low'])} to {share(row['high'])})"
            of[row["data"], row["m"]][row["records"]] = text
    return table(["data", "codes in a set", "in 1"], [[data, str(m), found["1"]] for (data, m), found in of.items()])


def sizes_table(rows: Rows) -> str:
    """Error by the number of codes of a query."""
    head = ["data, policy, queries", "1 code", "2 codes", "3 codes", "4 codes"]
    cells = []
    for row in rows:
        for name in ("drawn", "random"):
            found = row[name]["by_size"]
            answered = [
                f"{found[str(size)][0]:.3f} ({found[str(size)][1]:,})" if str(size) in found else ""
                for size in range(1, 5)
            ]
            cells.append([f"{row['data']}, `{row['policy']}`, {name}", *answered])
    return table(head, cells)


PAGE = """# Disassociation: accuracy on public data

**What did not hold** on both data sets, by the number of the figure in the paper ([all items](../papers.md)).
*diabetes130* has 71,517 patients, 915 codes, and 3.7 codes per patient, *synpuf* 58,460, 5,815 and 13.6. The paper's
data have 5.11 codes per patient and are not available.

<!-- findings -->

More constraints are within 5% than in the paper for most settings, but single errors are larger: those of codes of few
patients, and of wide constraints, whose codes a reconstruction spreads over too many patients. Counts of sets of two or
more codes of a patient have mean errors of 28 to 91% here, since most of these sets are rare; the paper calls the
errors of Figs 15 and 16 small.

## How identifying codes are (Fig. 12)

![Share of the sets of m codes by the number of records that contain them](figure-12.svg)

In the paper 96% of the sets of five codes are in one record, as here. Where patients have more than 60 million sets of
m codes, 20,000 were sampled (95% intervals):

<!-- sampled -->

## Case counts (Figs 15 to 17)

Average relative error (ARE) of counts of patients who have all codes of a query. *Drawn*: one to four codes of a random
patient. *Random*, as in the paper: random codes; most sets of several codes occur in no patient and drop out.
*Frequent*: every set of up to four codes that a share of the patients has. In parentheses: answered queries.

![ARE by the number of codes in the query](figure-15.svg)

<!-- sizes -->

![ARE by the least support of the queries](figure-16.svg)

![ARE by k](figure-17.svg)

## Utility policies (Figs 18 to 24)

The matching relative error (MRE) of a constraint compares the numbers of patients who have at least one of its codes.
The paper reports 90% of its level 1 and `sim:5` constraints within 5% at k = 5. In the drawing all errors below -10%
are one bar.

On synpuf with k = 5, m = 2 and `level:1`, <!-- within --> of the <!-- several --> constraints of several codes are
within 5%. At least 29 cannot be (counted outside this benchmark): their codes, or pairs of them, occur in fewer than k
patients, so no chunk may contain them together. Six more depend on the unpublished number of patients with a code of an
item chunk.

![Constraints by MRE, k = 5, m = 2](figures-18-20.svg)

<!-- settings -->

### Constraints within 5% by k (Figs 21 to 23)

![Constraints within 5% by k: means and ranges of ten reconstructions](figures-21-23.svg)

Estimates of all other tables are means of ten reconstructions. Here each of the ten is also compared on its own, since
recipients may analyze only one. Each cell has the share within 5% for the mean of the ten, and the mean share of one
(its range is in the drawing and the JSON file); one number if all are equal. The table at the top has the
means over k, and the numbers of the paper's text; its figures are pictures.

<!-- reconstructions -->

<!-- spread -->

### m = 5 (Fig. 24), and other k

![Constraints by MRE, k = 5, m = 5](figure-24.svg)

The table at the top has the constraints within 5% with m = 5. As many occurrences are uncounted as with m = 2; with
`level:1`, by k:

<!-- uncounted -->

Other policies differ by at most 0.15 points. With `sup:2.5` all constraints are within 5%, except on synpuf with k = 20
(87.5%).

## What sensitive codes cost

k = 5, m = 2, no policy. Sensitive codes are the 101st by frequency and those after it. Each is in at most one record in
2 or 5 of its cluster (its *diversity*), apart from all other codes; reconstructions assign it to random patients of the
cluster.

<!-- costs -->

## Joining item chunks as in the paper

The tables above use `--refine tree`, which joins item chunks along the tree of splits and is not in the paper.
`--refine paper` joins neighbouring clusters pairwise (section 4 of the paper) while both have a code in their item
chunks that k of their patients share. Policy `level:1`; the JSON file has others.

<!-- by_paper -->

On diabetes130 neighbouring item chunks seldom share a code of k patients, so a quarter of all occurrences stays
uncounted. A node of the tree joins the codes of all clusters below it.

## Growth

Made-up patients with 8.7 of 2,000 codes each, k = 5, m = 2, no policy, refined and verified with the original; one
process per row.

<!-- scale -->

## How this was measured

By `python -m benchmarks.papers.disassociation figures`: the evaluation of Loukides, Liagouris, Gkoulalas-Divanis and
Terrovitis (2014), Journal of Biomedical Informatics 50, 46-61, on two public data sets instead of theirs. Estimates are
means of ten reconstructions. *Uncounted* is the share of code occurrences in item chunks.
[disassociation.json](disassociation.json) contains all numbers, and further measures (`tlost`, `tkd`, `pairs`).
"""


OMITTED = ("sim:10", "sim:25", "sim:100", "sup:1.25", "sup:2.5", "sup:5")
"""Policies that the page omits; the JSON file has them."""


def write_page(found: dict[str, Any], out: Path) -> None:
    """The page that shows it all."""
    rows = usual(found)
    level_1 = [row for row in rows if row["policy"] == "level:1"]
    synpuf = next(row for row in level_1 if row["data"] == "synpuf")
    parts = {
        "findings": findings_table(found),
        "settings": settings_table([row for row in rows if row["policy"] not in OMITTED]),
        "uncounted": uncounted_table([r for r in found["runs"] if r["policy"] == "level:1" and r["m"] == 2]),
        "reconstructions": reconstructions_table(found),
        "spread": spread(found),
        "by_paper": by_paper_table(found),
        "sampled": sampled_table(found["figure_12"]),
        "costs": cost_table(found["costs"]),
        "sizes": sizes_table(level_1),
        "scale": scale_table(out),
        "within": share(synpuf["within_several"]),
        "several": synpuf["several"],
    }
    pages.write(out / "disassociation.md", PAGE, parts)
