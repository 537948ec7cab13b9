"""The summary of a release of code sets on the screen."""

from pathlib import Path
from typing import Any

from rich.console import Console

from cloister.cli.output import facts
from cloister.release import REPORT
from cloister.results import Manifest


def print_codes_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released, under which guarantee, at what loss."""
    screen.print(facts("Release", _rows(manifest)))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def _rows(manifest: Manifest) -> list[tuple[str, str]]:
    records, utility, parts = manifest["records"], manifest["utility"], manifest["clusters"]
    rows = [
        ("source", manifest["settings"]["source"]),
        ("records", _records(records)),
        ("guarantee", f"{'; '.join(manifest['guarantee']['sentences'])} (verified)"),
        ("codes", f"{utility['codes']:,}, of which {utility['codes_counted_exactly']:,} are counted exactly"),
        ("not counted", f"{_about(utility)}{utility['occurrences_in_item_chunks']:.2%} of all occurrences of codes"),
        ("clusters", f"{parts['clusters']:,} of {parts['smallest']} to {parts['largest']} records"),
        ("shared chunks", f"{parts['shared_chunks']:,} in {parts['joint_clusters']:,} joint clusters"),
    ]
    if utility["constraints"] is not None:
        rows.append(("policy", _policy(manifest)))
    if utility.get("are") is not None:
        rows.append(("case counts", f"off by {utility['are']:.0%} on average ({manifest['settings']['workload']})"))
    if manifest["risk"]["tied_pairs"] is not None:
        rows.append(("codes that give others away", f"{manifest['risk']['tied_pairs']:,} pairs in a chunk"))
    return [*rows, ("time", f"{manifest['seconds']['total']:.2f} s")]


def _records(records: dict[str, Any]) -> str:
    counts = {name: f"{count:,}" if isinstance(count, int) else count for name, count in records.items()}
    return f"{counts['released']} of {counts['in']} released, {counts['suppressed']} without codes left out"


def _about(utility: dict[str, Any]) -> str:
    return "" if utility["exact"] else "at most "


def _policy(manifest: Manifest) -> str:
    utility = manifest["utility"]
    return (
        f"{manifest['settings']['policy']}: {utility['constraints_satisfied']:,} of {utility['constraints']:,} sets "
        f"with exact counts of each code, {utility['constraints_preserved']:,} also of patients with any code"
    )
