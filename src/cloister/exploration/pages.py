"""An exploration, or releases side by side, as a page."""

from collections.abc import Mapping
from typing import Any

from cloister.report import render_comparison, render_exploration

from .comparison import Comparison
from .figures import Figures
from .outcome import Exploration

HEAD = ("shape", "method", "guarantee", "verified", "released", "suppressed", "risk", "average", "loss", "measure")
NAMES = {"risk": "highest risk", "average": "average risk", "verified": "verified (as stated)", "measure": "loss is"}


def exploration_page(exploration: Exploration, source: str) -> str:
    """Return the page of an exploration; ``source`` is the name of the data."""
    return render_exploration(exploration.told(), source)


def comparison_page(comparison: Comparison) -> str:
    """Return the page of releases side by side."""
    return render_comparison(comparison.told(), rows_of(comparison.figures))


def rows_of(figures: Mapping[str, Figures]) -> list[tuple[str, list[str]]]:
    """Return what a table of releases says: a name, and a cell for each release."""
    told = list(figures.values())
    rows = [(NAMES.get(name, name), [_cell(getattr(one, name)) for one in told]) for name in HEAD]
    more = dict.fromkeys(name for one in told for name in one.more)
    there = [name for name in more if any(one.more.get(name) is not None for one in told)]
    return rows + [(name.replace("_", " "), [_cell(one.more.get(name)) for one in told]) for name in there]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
