"""``cloister demo``: the job that a newcomer would run, on made-up patients in all four shapes."""

import os
import shlex
from importlib.resources import files
from pathlib import Path

from cloister.cli.options import DemoOptions, RunJobOptions
from cloister.cli.output import note, say
from cloister.cli.run import run_job
from cloister.compiling import compiling_ahead
from cloister.errors import InputError
from cloister.testing import Hospital, hospital

JOB = "job.toml"
LEAST = 20


def run_demo(options: DemoOptions) -> None:
    """Make data and a job, run it, and say which command does the same."""
    if options.patients < LEAST:
        raise InputError(f"--patients is {options.patients}, but must be at least {LEAST}.")
    job = options.folder / JOB
    again = _write(options.folder, hospital(options.seed, options.patients))
    what = f"{options.patients:,} made-up patients in four shapes, and the job that protects them: {job}"
    note(what, quiet=options.quiet)
    # The table comes first; beside it, what the other shapes need is compiled where this machine has not yet.
    with compiling_ahead("disassociation", "trajectories", "claims"):
        run_job(RunJobOptions(job=job, overwrite=again, quiet=options.quiet))
    if not options.quiet:
        say(f"The same by hand: {shlex.join(['cloister', 'run', str(job), '--overwrite'])}")


def _write(folder: Path, made: Hospital) -> bool:
    """Write data and job, or leave them where an earlier demonstration wrote them; return whether it did."""
    contents = {name: frame.write_csv().encode() for name, frame in made.files()}
    contents[JOB] = files("cloister.cli").joinpath("demo.toml").read_bytes()
    there = [name for name in contents if os.path.lexists(folder / name)]
    for name in there:
        if not _holds(folder / name, contents[name]):
            raise InputError(f"{name} is there already and holds something else. Give another folder.", file=name)
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
