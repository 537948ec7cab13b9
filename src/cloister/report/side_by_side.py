"""The page of an exploration, and the page of releases side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from .page import environment


def render_exploration(told: Mapping[str, Any], source: str) -> str:
    """Return the HTML page of an exploration."""
    settings, number = told["settings"], told["recommendation"]["number"]
    points = [_point(one, f"{one['number']}", one["figures"], one["number"] == number) for one in settings]
    keys = list(settings[0]["setting"]) if settings else []
    filled = {**told, "source": source, "points": [point for point in points if point], "columns": keys}
    page: str = environment().get_template("exploration.html").render(e=filled)
    return page


def render_comparison(told: Mapping[str, Any], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return the HTML page of releases side by side."""
    points = [_point(one, one["name"], one, False) for one in told["releases"]]
    filled = {**told, "points": [point for point in points if point], "rows": rows}
    page: str = environment().get_template("comparison.html").render(c=filled)
    return page


def _point(
    one: Mapping[str, Any], label: str, figures: Mapping[str, Any] | None, recommended: bool
) -> dict[str, Any] | None:
    """A point of the picture; None for what has no risk or no loss to be compared by."""
    if figures is None or figures["risk"] is None or one["compared_by"] is None:
        return None
    where = {"label": label, "risk": figures["risk"], "loss": one["compared_by"]}
    return {**where, "on_frontier": one["on_frontier"], "recommended": recommended}
