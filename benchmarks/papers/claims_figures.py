"""The drawing of `claims.py page`: excluded and remaining patients. Needs the extra `bench` (Altair, vl-convert)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from benchmarks import charts
from benchmarks.papers.claims_paper import VARIABLES

DRAWN = ("age", "days since first claim", "length of stay")


def draw_excluded(compared: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Draw Tables 2 to 4 of the paper, for each of the data and for the paper: shares of patients by band."""
    rows = [*_measured(compared), *_printed()]
    order = [*compared, "paper"]
    panels = [_panels([row for row in rows if row["variable"] == name], name, order) for name in DRAWN]
    charts.save(alt.vconcat(*panels), path)


def _panels(rows: charts.Rows, name: str, order: Sequence[str]) -> alt.FacetChart:
    bands = list(dict.fromkeys(row["band"] for row in rows if row["data"] == "paper"))
    bands += [band for band in dict.fromkeys(row["band"] for row in rows) if band not in bands]
    bands.sort(key=lambda band: band != "0 days")  # the paper has none
    chart = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
    chart = chart.encode(
        x=alt.X("band:N", title=name, sort=bands),
        y=alt.Y("share:Q", title="patients (%)"),
        color=alt.Color("group:N", title=None, scale=alt.Scale(scheme="tableau10")),
    )
    column = alt.Column("data:N", title=None, sort=list(order))
    return chart.properties(width=180, height=110).facet(column=column)


def _measured(compared: Mapping[str, Mapping[str, Any]]) -> charts.Rows:
    found = []
    for data, one in compared.items():
        for name in DRAWN:
            counts = one["variables"].get(name, {}).get("excluded and remaining", {})
            totals = [sum(column) for column in zip(*counts.values(), strict=True)]
            for band, pair in counts.items():
                shares = [100 * n / total if total else 0 for n, total in zip(pair, totals, strict=True)]
                found += _points(data, name, band, shares)
    return found


def _printed() -> charts.Rows:
    return [
        point
        for name in DRAWN
        for band, pair in VARIABLES[name].items()
        for point in _points("paper", name, band, pair)
    ]


def _points(data: str, name: str, band: str, shares: Sequence[float]) -> charts.Rows:
    return [
        {"data": data, "variable": name, "band": band, "group": group, "share": share}
        for group, share in zip(("excluded", "remaining"), shares, strict=True)
    ]
