"""``cloister run``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.options import Json, Quiet, Verbose

EXAMPLE = "Example: cloister run job.toml --dry-run"


def run(
    job: Annotated[Path, Argument(metavar="JOB", help="A job file, in TOML; cloister init writes a first one.")],
    dry_run: Annotated[
        bool, Option("--dry-run", help="Read and check everything, say what would be done, and write nothing.")
    ] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier release of a job.")] = False,
    custodian_dir: Annotated[
        Path | None, Option(metavar="DIR", help="Folder, outside the release, for what only the custodian may see.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Do a whole job: several sources, several protections, one folder whose parts cannot be joined.

    Names of files in the job are taken from its own folder. All parts appear together, after an independent
    verification, or nothing does.
    """
    from cloister.cli.run_job import run_job

    run_job(job, dry_run=dry_run, overwrite=overwrite, custodian_dir=custodian_dir, as_json=as_json, quiet=quiet)
