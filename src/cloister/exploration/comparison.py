"""Comparison of releases by their manifests."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cloister.errors import InputError, name_few
from cloister.jobs.manifest import only_part, part_names
from cloister.release.folder import read_manifest
from cloister.release.manifest import AnyManifest, parse_manifest
from cloister.report import ReportPage, render_comparison
from cloister.report.chart import Placed, scatter
from cloister.report.plots import plot_trade_off

from .figures import Figures, figures_of
from .results import RISK_AND_LOSS, comparable, frontier, points_of

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, repr=False)
class Comparison:
    """A comparison of releases.

    Attributes
    ----------
    settings : settings that differ between releases of one shape: the value of each release by name, as text;
        None where it has no such setting
    losses : by which they are compared; None where losses cannot be compared
    """

    figures: Mapping[str, Figures]
    settings: Mapping[str, Mapping[str, str | None]]
    losses: tuple[float | None, ...]
    measure: str | None
    on_frontier: frozenset[str]

    def __repr__(self) -> str:
        """Return what is compared in four lines."""
        best = name_few(self.on_frontier and [name for name in self.figures if name in self.on_frontier])
        rows = [
            ("comparison", f"{len(self.figures)} releases: {name_few(self.figures)}"),
            ("frontier", best or "none: their losses cannot be compared"),
            ("settings", f"{len(self.settings)} differ{': ' * bool(self.settings)}{name_few(self.settings)}"),
            ("next", "figures, settings, plot()"),
        ]
        return "\n".join(f"{name:<10} {text}" for name, text in rows)

    def _repr_html_(self) -> str:
        """Return the page that compares releases, for a notebook."""
        return ReportPage(comparison_page(self), "Comparison of releases").in_frame()

    def plot(self) -> "alt.LayerChart":
        """Return risk against information loss of the releases as a chart; needs ``cloister[plot]``."""
        return plot_trade_off(self.points(), self.measure)

    def points(self) -> list[Placed]:
        """Return the releases that have both a risk and a loss."""
        return [
            Placed(name, one.risk, loss, name in self.on_frontier)
            for (name, one), loss in zip(self.figures.items(), self.losses, strict=True)
            if one.risk is not None and loss is not None
        ]

    def as_record(self) -> dict[str, object]:
        """Return the comparison as a JSON object."""
        releases = [
            {"name": name, **asdict(one), "compared_by": loss, "on_frontier": name in self.on_frontier}
            for (name, one), loss in zip(self.figures.items(), self.losses, strict=True)
        ]
        return {"releases": releases, "settings_that_differ": self.settings, "measure": self.measure}


def manifests_in(folders: Sequence[Path]) -> dict[str, AnyManifest]:
    """Return the manifest of each release, by name; for a job, the manifests of its parts."""
    names = [folder.name for folder in folders]
    found: dict[str, AnyManifest] = {}
    for folder in folders:
        name, manifest = folder.name if names.count(folder.name) == 1 else folder.as_posix(), read_manifest(folder)
        parts = {f"{name}/{part}": folder / part for part in part_names(manifest)}
        for whole, place in (parts if len(parts) > 1 else {name: only_part(folder)}).items():
            if whole in found:
                raise InputError(f"{whole} is named twice. Name each release once.")
            found[whole] = parse_manifest(read_manifest(place))
    return found


def compare_manifests(manifests: Mapping[str, AnyManifest]) -> Comparison:
    """Compare releases by their manifests."""
    if len(manifests) < 2:
        raise InputError("Name at least two folders to compare, or the folder of a job.")
    figures = {name: figures_of(manifest) for name, manifest in manifests.items()}
    listed = list(figures.values())
    losses, measure = comparable(listed)
    names = list(figures)
    best = frozenset(names[point.place] for point in frontier(points_of(listed, losses)))
    return Comparison(figures, _differing(manifests), losses, measure, best)


def _differing(manifests: Mapping[str, AnyManifest]) -> dict[str, dict[str, str | None]]:
    """Return the settings that differ between releases of one shape, in order of their names."""
    flat = {name: dict(_flat(manifest.settings.as_json(), "")) for name, manifest in manifests.items()}
    shapes = {name: manifest.shape for name, manifest in manifests.items()}
    keys = sorted({key for settings in flat.values() for key in settings})
    return {
        key: {name: settings.get(key) for name, settings in flat.items()}
        for key in keys
        if any(
            len({flat[name].get(key) for name, own in shapes.items() if own == shape}) > 1
            for shape in set(shapes.values())
        )
    }


def _flat(value: object, name: str) -> Iterator[tuple[str, str]]:
    """Return settings by their full names, as text."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _flat(part, f"{name}.{key}" if name else str(key))
    elif value not in (None, {}, []):
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


HEAD = ("shape", "method", "guarantee", "verified", "released", "suppressed", "risk", "average", "loss", "measure")
NAMES = {"risk": "highest risk", "average": "average risk", "verified": "verified (as stated)", "measure": "loss is"}


def comparison_page(comparison: Comparison) -> str:
    """Return the report page that compares releases."""
    points = comparison.points()
    picture = scatter(points, *RISK_AND_LOSS) if points else None
    return render_comparison(comparison.as_record(), rows_of(comparison.figures), picture)


def rows_of(figures: Mapping[str, Figures]) -> list[tuple[str, list[str]]]:
    """Return the rows of a comparison table: a name, and a cell for each release."""
    listed = list(figures.values())
    rows = [(NAMES.get(name, name), [_cell(getattr(one, name)) for one in listed]) for name in HEAD]
    more = dict.fromkeys(name for one in listed for name in one.more)
    there = [name for name in more if any(one.more.get(name) is not None for one in listed)]
    return rows + [(name.replace("_", " "), [_cell(one.more.get(name)) for one in listed]) for name in there]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
