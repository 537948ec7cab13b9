"""``cloister run``: the job is done by the library, and said what was done."""

from cloister.cli.options import RunJobOptions
from cloister.cli.output import after_writing, console, facts, grid, in_options, note, print_json
from cloister.cli.progress import Screen
from cloister.cli.protect import late_stops_reported
from cloister.codesets.options import DISASSOCIATION
from cloister.jobs.job_file import read_job
from cloister.jobs.manifest import UNLINKABLE, JobManifest, JobPart
from cloister.manifest.head import read_section
from cloister.pipeline.jobs import DryRun, JobRun, try_job, write_job
from cloister.pipeline.places import release_at
from cloister.release_folder import REPORT
from cloister.shape import Run
from cloister.stopwatch import STARTED, Stopwatch
from cloister.tabular.manifest import ASSUMED


def run_job(options: RunJobOptions) -> None:
    """Do what a job file asks; names of files in it are taken from its own folder."""
    job, path, custodian_dir = read_job(options.job), options.job.absolute(), options.custodian_dir
    run = Run(Stopwatch(), Screen(quiet=options.quiet or options.as_json))
    secret = None if custodian_dir is None else custodian_dir.absolute()
    asked = JobRun(job, path, path.parent / job.output, secret, run)
    if options.dry_run:
        _say_dry(try_job(asked, overwrite=options.overwrite), options)
        return
    with late_stops_reported(asked.out):
        written = write_job(asked, overwrite=options.overwrite, started=STARTED)
    with after_writing(asked.out.name):
        out = options.job.parent / job.output
        if options.as_json:
            print_json(written.manifest | {"out": str(out), "notes": [in_options(line) for line in written.notes]})
            return
        for line in written.notes:
            note(f"Note: {line}.", quiet=options.quiet)
        if options.quiet:
            return
        stated, _ = read_section(JobManifest, written.manifest)
        assert stated is not None
        rows = [[one.name, one.shape, one.method, one.promise, *_figures(one)] for one in stated.parts]
        console().print(grid(f"Job {job.name}", ["part", "shape", "method", "promise", "risk", "loss"], rows))
        for one in stated.parts:
            if one.shape == "table":
                part = release_at(out / one.name)
                kept, left_out = part["columns"], part["settings"]["not_released"]
                not_them = f"; not: {', '.join(left_out)}" if left_out else ""
                said = f"{one.name}: released {len(kept)} of {len(kept) + len(left_out)} columns{not_them}."
                if part["guarantee"]["one_row_per_patient"] == ASSUMED:
                    said += " One record each patient is assumed: no column was named that tells them apart."
                console().print(said, soft_wrap=True)
        apart = f" {UNLINKABLE}." if len(rows) > 1 else ""
        console().print(f"Every part was verified.{apart}", soft_wrap=True)
        console().print(f"Report: {out / REPORT}", soft_wrap=True)


def _figures(part: JobPart) -> list[str]:
    """Risk and loss of a part; of chunks no more is told than what the loss is at most."""
    risk, loss = ("-" if figure is None else f"{figure:.3f}" for figure in (part.risk, part.loss))
    bound = "<=" if part.method == DISASSOCIATION and part.loss is not None else ""
    return [risk, bound + loss]


def _say_dry(found: DryRun, options: RunJobOptions) -> None:
    """Say what would be done."""
    if options.as_json:
        print_json(found.summary(in_options))
        return
    for text in found.notes:
        note(f"Note: {text}.", quiet=options.quiet)
    if options.quiet:
        return
    for name, rows in found.parts.items():
        console().print(facts(f"{name} ({found.job.parts[name].shape})", rows))
    console().print("Nothing was protected or written: this was a dry run.", soft_wrap=True)
