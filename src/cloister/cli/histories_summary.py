"""What the screen says of a release of trajectories or of claims."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from cloister.cli.output import grid
from cloister.report.sentences import guarantee_sentences
from cloister.results import Manifest
from cloister.shape import Rows


def trajectories_rows(manifest: Manifest) -> Rows:
    """Return what was released of trajectories, under which guarantee, at what loss."""
    records, utility, risk = manifest["records"], manifest["utility"], manifest["risk"]
    rows = [
        ("source", manifest["settings"]["source"]),
        ("patients", f"{records['released']:,} of {records['in']:,} released"),
        ("guarantee", f"{'; '.join(guarantee_sentences(manifest))} (verified)"),
        (
            "trajectories",
            f"{utility['trajectories']:,} different ones, each of {risk['smallest']:,} to {risk['largest']:,} patients",
        ),
        ("pairs", f"{utility['pairs']:,}"),
        ("loss of codes", _loss(utility["ilm_exact"], utility["ilm"])),
        ("loss of ages", _loss(utility["alm_exact"], utility["alm"])),
    ]
    if utility["constraints"] is not None:
        kept = f"{utility['constraints_kept']:,} of {utility['constraints']:,} sets kept apart from others"
        rows.append(("policy", f"{manifest['settings']['policy']}: {kept}"))
    elif manifest["settings"]["policy"] is not None:
        rows.append(("policy", manifest["settings"]["policy"]))
    if utility["patients_untold"]:
        rows.append(("nothing told", f"of {utility['patients_untold']:,} patients, who are one row of * each"))
    if manifest["clustering"]["blocks"] > 1:
        rows.append(("blocks", f"{manifest['clustering']['blocks']:,}, compared within"))
    return [*rows, ("time", f"{manifest['seconds']['total']:.2f} s")]


def _loss(exact: float, paper: float | None) -> str:
    counted = "as the paper counts: not told" if paper is None else f"{paper:.3f} as the paper counts"
    return f"{exact:.3f} (0 nothing, 1 all; {counted})"


def _likeliest(risk: Mapping[str, Any]) -> str:
    """What is said of who picks the likeliest of those who fit."""
    found = risk["likeliest"]
    low, high = found["interval"]
    above = ": ABOVE the threshold, not limited" if high > risk["threshold"] else ""
    return f"{found['mean']:.4f} for who picks the likeliest ({low:.4f} to {high:.4f}; {found['limit']}){above}"


def claims_rows(manifest: Manifest) -> Rows:
    """Return what was released of claims, at which measured risk."""
    records, risk, choice = manifest["records"], manifest["risk"], manifest["choice"]
    there = records["in"] if isinstance(records["in"], str) else f"{records['in']:,}"
    low, high = risk["interval"]
    return [
        ("source", f"{manifest['settings']['source']} and {manifest['settings']['claims']}"),
        ("patients", f"{records['released']:,} released (in the source: {there})"),
        ("claims", f"{records['claims']:,} released"),
        ("risk", f"{risk['mean']:.4f} in the mean ({low:.4f} to {high:.4f}; at most {risk['threshold']:g}; verified)"),
        ("flagged", f"{risk['flag_rate']:.4f} of attacks leave fewer than {risk['k']} candidates"),
        ("flags believed", f"{risk['tolerant']['highest']:.4f} at most ({risk['tolerant']['limit']})"),
        ("likeliest", _likeliest(risk)),
        ("truncation", f"{choice['truncation']} (percentile of claims)"),
        *([] if choice["optimal"] else [("search", "ended by its bound: the best levels found by then")]),
        ("loss", f"about {manifest['utility']['loss']:.2f} (0 nothing lost, 1 everything)"),
        ("time", f"{manifest['seconds']['total']:.2f} s"),
    ]


def claims_columns(manifest: Manifest) -> Table:
    """Return the level of each quasi-identifier."""
    rows = [
        [name, table, f"{column['level']} of {column['top']}", column["hierarchy"]]
        for table in ("patients", "claims")
        for name, column in manifest["columns"][table].items()
        if "level" in column
    ]
    return grid("Quasi-identifiers", ["column", "file", "level", "hierarchy"], rows)
