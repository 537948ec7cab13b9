"""One run of ``run``: the job is done by the library, and said what was done."""

from pathlib import Path

from cloister.cli.output import after_writing, console, facts, grid, note, print_json
from cloister.cli.progress import Screen
from cloister.cli.protect_job import late_stops_told
from cloister.flow.jobs import DryRun, try_job, write_job
from cloister.flow.parts import JobRun
from cloister.jobs.job_file import read_job
from cloister.jobs.manifest import UNLINKABLE
from cloister.release_folder import REPORT
from cloister.results import Manifest
from cloister.shape import Run
from cloister.stopwatch import STARTED, Stopwatch


def run_job(
    path: Path, *, dry_run: bool, overwrite: bool, custodian_dir: Path | None, as_json: bool, quiet: bool
) -> None:
    """Do what a job file asks; names of files in it are taken from its own folder."""
    job, shown = read_job(path), path.parent
    path = path.absolute()
    run = Run(Stopwatch(), Screen(quiet=quiet or as_json))
    asked = JobRun(
        job, path, path.parent / job.output, None if custodian_dir is None else custodian_dir.absolute(), run
    )
    if dry_run:
        _say_dry(try_job(asked, overwrite=overwrite), as_json=as_json, quiet=quiet)
        return
    with late_stops_told(asked.out):
        written = write_job(asked, overwrite=overwrite, started=STARTED)
    with after_writing(asked.out.name):
        if as_json:
            print_json(written.manifest | {"out": str(shown / job.output), "notes": list(written.notes)})
            return
        for line in written.notes:
            note(f"Note: {line}.", quiet=quiet)
        if not quiet:
            _say(job.name, written.manifest, shown / job.output)


def _say_dry(found: DryRun, *, as_json: bool, quiet: bool) -> None:
    """Say what would be done."""
    shapes = {name: part.shape for name, part in found.job.parts.items()}
    if as_json:
        parts = [{"name": name, "shape": shapes[name], "asked": dict(rows)} for name, rows in found.parts.items()]
        print_json({"job": found.job.name, "dry_run": True, "parts": parts, "notes": found.notes})
        return
    for text in found.notes:
        note(f"Note: {text}.", quiet=quiet)
    if quiet:
        return
    for name, rows in found.parts.items():
        console().print(facts(f"{name} ({shapes[name]})", rows))
    console().print("Nothing was protected or written: this was a dry run.", soft_wrap=True)


def _say(name: str, manifest: Manifest, out: Path) -> None:
    rows = [
        [part["name"], part["shape"], part["method"], part["promise"], _share(part["risk"]), _loss(part)]
        for part in manifest["parts"]
    ]
    console().print(grid(f"Job {name}", ["part", "shape", "method", "promise", "risk", "loss"], rows))
    apart = f" {UNLINKABLE}." if len(rows) > 1 else ""
    console().print(f"Every part was verified.{apart}", soft_wrap=True)
    console().print(f"Report: {out / REPORT}", soft_wrap=True)


def _loss(part: Manifest) -> str:
    """The loss; of chunks no more is told than what it is at most."""
    bound = "<=" if part["method"] == "disassociation" and part["loss"] is not None else ""
    return bound + _share(part["loss"])


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
