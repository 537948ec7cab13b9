"""What is said of a release of claims on the screen."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from cloister.claims.data import Claims
from cloister.claims.plan_sections import HMAC
from cloister.claims.release import ClaimsRelease
from cloister.cli.output import facts, grid
from cloister.release_folder import REPORT
from cloister.results import Manifest


def notes_on(claims: Claims, release: ClaimsRelease) -> list[str]:
    """Return what was taken for granted, and what a user should know."""
    notes, plan = list(claims.notes), claims.plan
    kept = [*plan.patient_columns("keep"), *plan.claim_columns("keep")]
    if kept:
        notes.append(
            f"the columns {', '.join(kept)} are released as they are: whoever knows a patient's values there may find "
            "the patient by them"
        )
    if plan.ids.patients.startswith(HMAC):
        notes.append("keyed ids link this release to others made with the same key, for whoever has both")
    used = release.manifest["choice"]["max_suppression"]
    if used != plan.risk.max_suppression:
        notes.append(
            f"max_suppression was lowered to {used:g}: of the levels chosen by the {plan.risk.max_suppression:g} that "
            "was asked, suppression did not bring the risk down"
        )
    return notes


def print_claims_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released, at which measured risk, at which levels."""
    screen.print(facts("Release", _rows(manifest)))
    rows = [
        [name, table, f"{column['level']} of {column['top']}", column["hierarchy"]]
        for table in ("patients", "claims")
        for name, column in manifest["columns"][table].items()
        if "level" in column
    ]
    screen.print(grid("Quasi-identifiers", ["column", "file", "level", "hierarchy"], rows))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def _likeliest(risk: Mapping[str, Any]) -> str:
    """What is said of who picks the likeliest of those who fit."""
    found = risk["likeliest"]
    low, high = found["interval"]
    above = ": ABOVE the threshold, not limited" if high > risk["threshold"] else ""
    return f"{found['mean']:.4f} for who picks the likeliest ({low:.4f} to {high:.4f}; {found['limit']}){above}"


def _rows(manifest: Manifest) -> list[tuple[str, str]]:
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
