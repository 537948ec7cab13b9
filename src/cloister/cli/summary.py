"""The summary of a release on the screen."""

from pathlib import Path
from typing import Any

from rich.console import Console

from cloister.cli.output import facts, grid
from cloister.release import REPORT
from cloister.results import Manifest


def print_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released, under which guarantee, at what loss."""
    screen.print(facts("Release", _rows(manifest)))
    screen.print(grid("Columns", ["column", "role", "level", "loss"], _columns(manifest)))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def _rows(manifest: Manifest) -> list[tuple[str, str]]:
    records, search = manifest["records"], manifest["search"]
    return [
        ("source", manifest["settings"]["source"]),
        (
            "records",
            f"{_count(records['released'])} of {_count(records['in'])} released, "
            f"{_count(records['suppressed'])} suppressed",
        ),
        ("guarantee", f"{'; '.join(manifest['guarantee']['sentences'])} (verified)"),
        ("highest risk", f"{manifest['risk']['highest']:.4f} (average {manifest['risk']['average']:.4f})"),
        ("loss", f"{_loss(manifest['utility'])} ({manifest['settings']['loss']}; 0 nothing lost, 1 everything)"),
        ("search", _search(search, manifest["settings"]["search"])),
        ("time", f"{manifest['seconds']['total']:.2f} s, of which search {manifest['seconds']['search']:.2f} s"),
    ]


def _count(number: int | str) -> str:
    return f"{number:,}" if isinstance(number, int) else number


def _loss(utility: dict[str, Any]) -> str:
    return f"{utility['loss']:.6f}" if utility["exact"] else f"about {utility['loss']:.2f}"


def _search(search: dict[str, Any], name: str) -> str:
    if name == "fixed":
        return "none: the levels were fixed"
    if search["optimal"]:
        return f"proven optimal among {search['lattice']:,} policies"
    if search["bound"] is None:
        return "stopped by the time limit"
    return f"stopped by the time limit; no policy loses less than {search['bound']:.6f} (gap {search['gap']:.2%})"


def _columns(manifest: Manifest) -> list[list[str]]:
    rows = []
    for column, described in manifest["columns"].items():
        lost = manifest["utility"]["columns"].get(column)
        level = "" if lost is None else f"{described['level']} of {lost['top']}"
        rows.append([column, described["role"], level, "" if lost is None else f"{lost['loss']:.3f}"])
    return rows
