"""Figures 5, 6, 7a and 7b of the page, as SVG."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.papers.pruning_tables import ONE_THREAD, Outcome, Results, optima

Points = list[dict[str, Any]]

STEPS = 40
"""Points of a curve over time, at most: figures stay small."""


@dataclass(frozen=True)
class Figure:
    """A line chart: what is drawn, and along which axes."""

    file: str
    title: str
    points: Callable[[Results], Points]
    across: str
    upwards: str
    scales: dict[str, str] = field(default_factory=dict)
    is_stepped: bool = False


def draw(results: Results, out: Path) -> dict[str, list[str]]:
    """Draw the figures for which there are results; return the lines of the page that show each."""
    if find_spec("altair") is None or find_spec("vl_convert") is None:
        return {}
    lines = {}
    for figure in FIGURES:
        points = figure.points(results)
        if points:
            _draw(figure, points, out / f"{figure.file}.svg")
            lines[figure.file] = [f"![{figure.title}]({figure.file}.svg)\n"]
    return lines


def _draw(figure: Figure, points: Points, path: Path) -> None:
    from benchmarks import charts

    scales = figure.scales.get("across", "linear"), figure.scales.get("upwards", "linear")
    chart = charts.curves(points, figure.across, figure.upwards, figure.title, scales, is_stepped=figure.is_stepped)
    charts.save(chart, path)


def _all(results: Results, *experiments: str) -> Iterable[Outcome]:
    return [outcome for experiment in experiments for outcome in results.get(experiment, {}).values()]


def _memory(results: Results) -> Points:
    """Explicit flags are a byte a policy, run or not; of a search that was stopped, what it had by then."""
    points = []
    for o in _all(results, "dimensions"):
        if o["search"] == ONE_THREAD and o["columns"] <= 12:
            points.append({"columns": o["columns"], "KiB": o["lattice"] / 1024, "what": "explicit"})
        if o["search"] == "flash" and o["finished"] and o["store_bytes"]:
            points.append({"columns": o["columns"], "KiB": o["store_bytes"] / 1024, "what": "implicit"})
    return points


def _times(results: Results) -> Points:
    names = {"flash": "Flash, implicit", "flash:explicit": "Flash, explicit", "bfs": "BFS", ONE_THREAD: ONE_THREAD}
    return [
        {"columns": o["columns"], "seconds": max(o["seconds"], 1e-4), "what": names[o["search"]]}
        for o in _all(results, "dimensions")
        if o["search"] in names and o["finished"]
    ]


def _to_best(results: Results) -> Points:
    return [
        {"columns": o["columns"], "share of the time": round(o["to_best"] / o["seconds"], 4), "what": o["table"]}
        for o in _all(results, "course")
        if o["finished"] and o["seconds"] > 0
    ]


def _over_time(results: Results) -> Points:
    best = optima(results)
    largest: dict[str, Outcome] = {}
    for outcome in _all(results, "course"):
        if outcome["columns"] >= largest.get(outcome["table"], outcome)["columns"]:
            largest[outcome["table"]] = outcome
    points = []
    for name, outcome in largest.items():
        least = best.get((name, outcome["columns"]))
        if least is None or outcome["loss"] is None:
            continue
        for seconds, loss in _thinned([*outcome["course"], (outcome["seconds"], outcome["loss"])]):
            quality = round((1 - loss) / (1 - least), 5)
            what = f"{name}, {outcome['columns']} columns"
            points.append({"seconds": round(max(seconds, 1e-3), 5), "share of the best quality": quality, "what": what})
    return points


def _thinned(course: list[Any]) -> list[Any]:
    every = max(1, -(-len(course) // STEPS))
    return [*course[:-1][::every], course[-1]]


FIGURES = (
    Figure(
        "pruning-figure-5",
        "Figure 5: memory for what Flash knows about policies",
        _memory,
        "columns",
        "KiB",
        {"upwards": "log"},
    ),
    Figure("pruning-figure-6", "Figure 6: time by number of columns", _times, "columns", "seconds", {"upwards": "log"}),
    Figure("pruning-figure-7a", "Figure 7a: when BFS has found the optimum", _to_best, "columns", "share of the time"),
    Figure(
        "pruning-figure-7b",
        "Figure 7b: quality found by BFS over time",
        _over_time,
        "seconds",
        "share of the best quality",
        {"across": "log"},
        is_stepped=True,
    ),
)
