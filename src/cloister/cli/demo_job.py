"""The work of ``cloister demo``: the job that a newcomer would run, on made-up patients in all four shapes."""

import os
import shlex
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from cloister.cli.output import note
from cloister.cli.run_job import run_job
from cloister.errors import InputError
from cloister.testing import Hospital, hospital

JOB = "job.toml"


def run_demo(folder: Path, patients: int, seed: int, *, quiet: bool) -> str:
    """Make data and a job, and run it; return the command that does the same."""
    again = _write(folder, hospital(seed, patients))
    note(f"{patients:,} made-up patients in four shapes, and the job that protects them: {folder / JOB}", quiet=quiet)
    run_job(folder / JOB, dry_run=False, overwrite=again, custodian_dir=None, as_json=False, quiet=quiet)
    return shlex.join(["cloister", "run", str(folder / JOB), "--overwrite"])


def _write(folder: Path, made: Hospital) -> bool:
    """Write data and job, or leave them where an earlier demonstration wrote them; return whether it did."""
    contents = dict(_contents(made))
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


def _contents(made: Hospital) -> Iterator[tuple[str, bytes]]:
    """The files of the demonstration, by name."""
    for name, frame in made.files():
        yield name, frame.write_csv().encode()
    yield JOB, files("cloister.cli").joinpath("demo.toml").read_bytes()


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False
