"""Charts of results as SVG. Needs the extra `bench` (Altair, vl-convert)."""

import json
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

Rows = list[dict[str, Any]]
WIDTH, HEIGHT = 220, 160


def save(chart: alt.Chart, path: Path) -> None:
    """Write a chart as SVG."""
    specification = chart.configure_axis(grid=True, gridColor="#e5e8ec").configure_view(stroke=None).to_dict()
    path.write_text(vl_convert.vegalite_to_svg(json.dumps(specification)) + "\n", encoding="utf-8")


def lines(rows: Rows, x: str, y: str, color: str, facet: str = "data") -> alt.Chart:
    """Lines with points, one panel a data set."""
    base = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
    chart = base.encode(
        x=alt.X(f"{x}:O", title=x),
        y=alt.Y(f"{y}:Q", title=y),
        color=alt.Color(f"{color}:N", title=color, scale=alt.Scale(scheme="tableau20")),
    )
    return panels(chart, facet)


def curves(
    rows: Rows, x: str, y: str, title: str, scales: tuple[str, str] = ("linear", "linear"), *, is_stepped: bool = False
) -> alt.Chart:
    """One panel of lines, told apart by color and dashes; of what changes at moments, with steps and without points."""
    across = alt.Axis(tickMinStep=1, format="d") if x == "columns" else alt.Axis()
    of_x, of_y = (alt.Scale(type=scale, zero=False) for scale in scales)
    chart = alt.Chart(alt.Data(values=rows), title=title, width=520, height=300)
    return chart.mark_line(point=not is_stepped, interpolate="step-after" if is_stepped else "linear").encode(
        x=alt.X(f"{x}:Q", scale=of_x, axis=across),
        y=alt.Y(f"{y}:Q", scale=of_y),
        color=alt.Color("what:N", title=None, scale=alt.Scale(scheme="tableau10")),
        strokeDash=alt.StrokeDash("what:N", title=None),
    )


def panels(chart: alt.Chart, facet: str = "data") -> alt.Chart:
    """The chart once for each data set, side by side."""
    return chart.properties(width=WIDTH, height=HEIGHT).facet(column=alt.Column(f"{facet}:N", title=None))
