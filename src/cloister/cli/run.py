"""``cloister run`` and ``demo``: run a job, or a job on synthetic patients, and print a summary."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from cloister.cli.options import DemoOptions, RunJobOptions
from cloister.cli.output import Screen, after_writing, note, print_json, say, show
from cloister.cli.protect import as_json, late_stops_reported, print_summary
from cloister.cli.ui import EXTRA, has_ui
from cloister.cli.wording import in_options
from cloister.errors import InputError, Message, UndecidedColumns
from cloister.jobs.job_file import read_job
from cloister.jobs.manifest import UNLINKABLE, JobManifest
from cloister.jobs.running import DryRun, JobRun, try_job, write_job
from cloister.kernels.compiling import compiling_ahead
from cloister.pipeline.output_paths import release_at
from cloister.release.head import REPORT, read_section
from cloister.release.manifest import parse_manifest
from cloister.results import STARTED, Stopwatch
from cloister.settings.constraints import Interval, check_value
from cloister.shapes.protocol import Run
from cloister.testing import Hospital, hospital


def run_job(options: RunJobOptions) -> None:
    """Run a job file; its file names are relative to its folder."""
    job, path, custodian_dir = read_job(options.job), options.job.absolute(), options.custodian_dir
    job = job.deciding(options.undecided)
    screen = Screen(quiet=options.quiet or options.as_json)
    run = Run(Stopwatch(hears=screen.phase), screen)
    secret = None if custodian_dir is None else custodian_dir.absolute()
    out = options.out or options.job.parent / job.output
    asked = JobRun(job, path, out.absolute(), secret, run)
    if options.dry_run:
        with screen, _bulk_decision_named(options.job):
            found = try_job(asked, overwrite=options.overwrite)
        _say_dry(found, options)
        return
    with screen, late_stops_reported(asked.out), _bulk_decision_named(options.job):
        written = write_job(asked, overwrite=options.overwrite, started=STARTED)
    with after_writing(asked.out.name):
        if options.as_json:
            print_json(as_json(written, out))
            return
        print_summary(written, quiet=options.quiet)
        if options.quiet:
            return
        stated, _ = read_section(JobManifest, written.manifest)
        assert stated is not None
        tables = {one.name: parse_manifest(release_at(out / one.name)) for one in stated.parts if one.shape == "table"}
        show("job_done", m=stated, tables=tables, unlinkable=UNLINKABLE, report=out / REPORT)


@contextmanager
def _bulk_decision_named(job: Path) -> Iterator[None]:
    """Add to a refusal of undecided columns the command that decides all of them."""
    try:
        yield
    except UndecidedColumns as error:
        command = shlex.join(["cloister", "run", str(job), "--undecided", "drop"])
        error.sentence = Message(error.sentence.without_stop(), f", or on the command line: {command}.")
        raise


def _say_dry(found: DryRun, options: RunJobOptions) -> None:
    """Say what would be done."""
    if options.as_json:
        print_json(found.summary(in_options))
        return
    for text in found.notes:
        note(Message("Note: ", text, "."), quiet=options.quiet)
    if not options.quiet:
        show("job_tried", tried=found)


JOB = "job.toml"
LEAST = 20
"""Patients of the example hospital, at least."""


def run_demo(options: DemoOptions) -> None:
    """Create data and a job, run it, and print the equivalent command."""
    check_value("patients", options.patients, Interval(int, LEAST))
    job = options.folder / JOB
    again = _write(options.folder, hospital(options.seed, options.patients))
    what = f"{options.patients:,} made-up patients in four shapes, and the job that protects them: {job}"
    note(what, quiet=options.quiet or options.as_json)
    # The table comes first; meanwhile, compile the kernels of the other shapes if this machine has not yet.
    with compiling_ahead("disassociation", "trajectories", "claims"):
        run_job(RunJobOptions(job=job, overwrite=again, quiet=options.quiet, as_json=options.as_json))
    if not options.quiet and not options.as_json:
        say(f"The same by hand: {shlex.join(['cloister', 'run', str(job), '--overwrite'])}")
        first = "" if has_ui() else f" (it needs more: {EXTRA})"
        say(f"The same in a browser: {shlex.join(['cloister', 'ui', str(options.folder)])}{first}")


def _write(folder: Path, made: Hospital) -> bool:
    """Write data and job, or leave them where an earlier demonstration wrote them; return whether it did."""
    contents = {name: frame.write_csv().encode() for name, frame in made.files()}
    contents[JOB] = files("cloister.cli").joinpath("demo.toml").read_bytes()
    there = [name for name in contents if os.path.lexists(folder / name)]
    for name in there:
        if not _holds(folder / name, contents[name]):
            raise InputError(f"{name} exists and contains something else. Give another folder.", file=name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in contents.keys() - set(there):
            (folder / name).write_bytes(contents[name])
        return len(there) == len(contents)
    except OSError:
        pass
    raise InputError("The folder of the demonstration cannot be written to. Give another one.")


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False
