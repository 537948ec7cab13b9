"""What is said of a release of trajectories on the screen."""

from pathlib import Path

from rich.console import Console

from cloister.cli.output import facts
from cloister.cli.trajectories_options import TrajectoriesOptions
from cloister.release_folder import REPORT, SIDE
from cloister.report.sentences import guarantee_sentences
from cloister.results import Manifest
from cloister.trajectories.request import GivenTrajectories


def notes_on(options: TrajectoriesOptions, given: GivenTrajectories, manifest: Manifest) -> list[str]:
    """Return what was taken for granted, and what a user should know."""
    notes, settings = list(given.notes), manifest["settings"]
    if settings["on_unknown_code"] == "drop":
        notes.append("lines with codes that the hierarchy does not have are left out, as asked")
    if given.side is not None:
        notes.append(
            f"the columns of {SIDE} ({', '.join(given.side.frame.columns)}) are released as they are: whoever knows a "
            "patient's values there may find the patient by them"
        )
    absent = {*(settings["sensitive_codes"] or ())} - {*given.trajectories.vocabulary}
    if absent:
        count = len(settings["sensitive_codes"])
        notes.append(
            f"{len(absent)} of {count} sensitive codes do not occur in the data: see that they are spelled right"
        )
    if options.workload is not None and options.internal is None:
        notes.append("the errors of a workload are told to the custodian alone, in the folder that --internal names")
    return notes


def print_trajectories_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released, under which guarantee, at what loss."""
    screen.print(facts("Release", _rows(manifest)))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def _rows(manifest: Manifest) -> list[tuple[str, str]]:
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
