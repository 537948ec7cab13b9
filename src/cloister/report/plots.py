"""Charts of Altair for notebooks: class sizes, information loss of each column, and risk against loss.

They show what the report shows, from the same figures. Altair is the extra ``plot``; reports and pages do not need it.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cloister.errors import InputError
from cloister.release.manifest import AnyManifest
from cloister.results import Figures

from .chart import Placed
from .verdict_card import lost_columns

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT, MARGIN = 420, 260, 16
FILL, SOFT, TEXT, OK = "#2f6f9f", "#8a95a4", "#515d6e", "#1d6b3c"
"""Colours of the report."""

FRONTIER, OTHER, BEST = "on the frontier", "not on the frontier", "recommended"
SMALLEST_SCALE = 0.01
"""Highest end of a scale of risks and losses at least, so that an axis never ends at 0."""


def require_altair() -> None:
    """Refuse to plot where the extra is not installed."""
    if find_spec("altair") is None:
        raise InputError('Plots need Altair, which is not installed here. Install it: pip install "cloister[plot]".')


def plot_release(manifest: AnyManifest, figures: Figures) -> "alt.VConcatChart":
    """Return the class sizes of a release, and below them the information that each column lost.

    ``figures``: as ``report.json`` has them, for the recipient
    """
    require_altair()
    import altair as alt  # for charts alone

    sizes = figures["class_sizes"]
    bands = [{"size": band, "count": count} for band, count in sizes["bands"].items()]
    lost = [{"column": one.name, "loss": one.loss} for one in lost_columns(manifest, figures)]
    title = alt.Title(f"{sizes['of'].capitalize()} by {sizes['by']}", anchor="start", frame="group")
    upper = alt.Chart(alt.InlineData(values=bands), title=title, width=WIDTH, height=HEIGHT // 2).mark_bar(color=FILL)
    upper = upper.encode(
        x=alt.X("size:N", sort=None, title=sizes["by"].removeprefix("the "), axis=alt.Axis(labelAngle=-30)),
        y=alt.Y("count:Q", title=f"number of {sizes['of']}", axis=alt.Axis(format=",d", tickMinStep=1)),
        tooltip=["size:N", alt.Tooltip("count:Q", format=",")],
    )
    title = alt.Title("Information loss", anchor="start", frame="group")
    lower = alt.Chart(alt.InlineData(values=lost), title=title, width=WIDTH).mark_bar(color=FILL)
    lower = lower.encode(
        x=alt.X(
            "loss:Q",
            title="share of the information that is lost",
            axis=alt.Axis(format="%"),
            scale=alt.Scale(domain=[0, 1]),
        ),
        y=alt.Y("column:N", sort=None, title=None, axis=alt.Axis(labelLimit=WIDTH // 2)),
        tooltip=["column:N", alt.Tooltip("loss:Q", format=".1%")],
    )
    return alt.vconcat(*([upper, lower] if lost else [upper]), padding=MARGIN)


def plot_trade_off(rows: Sequence[Placed], measure: str | None) -> "alt.LayerChart":
    """Return risk against information loss of releases or settings; those on the frontier are joined and named.

    ``measure``: what the losses are
    """
    if not rows:
        raise InputError("There is nothing to plot: no two of these have losses that can be compared.")
    require_altair()
    import altair as alt  # for charts alone

    named: dict[tuple[float, float], str] = {}  # equal points have one name
    for row in rows:
        there = named.get((row.across, row.upwards))
        named[row.across, row.upwards] = row.label if there is None else f"{there}, {row.label}"
    kinds = [BEST if row.recommended else FRONTIER if row.on_frontier else OTHER for row in rows]
    values = [
        {"name": named[row.across, row.upwards], "risk": row.across, "loss": row.upwards, "kind": kind}
        for row, kind in zip(rows, kinds, strict=True)
    ]
    highest = max(row.across for row in rows), max(row.upwards for row in rows)
    across, upwards = (alt.Scale(domain=[0, max(1.1 * one, SMALLEST_SCALE)], nice=True) for one in highest)
    base = alt.Chart(alt.InlineData(values=values), width=WIDTH, height=HEIGHT).encode(
        x=alt.X("risk:Q", title="highest risk of re-identification", scale=across, axis=alt.Axis(format="~%")),
        y=alt.Y("loss:Q", title="information loss", scale=upwards, axis=alt.Axis(format="~%")),
        tooltip=["name:N", alt.Tooltip("risk:Q", format=".2%"), alt.Tooltip("loss:Q", format=".2%")],
    )
    shown = {kind: colour for kind, colour in ((BEST, OK), (FRONTIER, FILL), (OTHER, SOFT)) if kind in kinds}
    colours = alt.Scale(domain=[*shown], range=[*shown.values()])
    legend = alt.Color("kind:N", title=None, scale=colours, legend=alt.Legend(orient="top"))
    best = base.transform_filter(alt.FieldOneOfPredicate("kind", [BEST, FRONTIER]))
    aside = f"datum.risk > {highest[0] / 2}"  # at the right, names are to the left and below, where no point can be
    side, dx, dy = (alt.ExprRef(f"{aside} ? {one}") for one in ("'right' : 'left'", "-6 : 8", "13 : -8"))
    names = best.mark_text(align=side, dx=dx, dy=dy, color=TEXT).encode(text="name:N")
    points = base.mark_point(filled=True, opacity=1, size=70).encode(color=legend)
    title = alt.Title("Risk against information loss", subtitle=f"loss: {measure}; lower is better in both")
    return alt.LayerChart(
        layer=[best.mark_line(color=FILL, strokeWidth=1.5), points, names], title=title, padding=MARGIN
    )
