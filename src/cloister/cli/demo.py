"""``cloister demo``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.options import Quiet, Verbose
from cloister.cli.output import say

EXAMPLE = "Example: cloister demo my-demo --patients 5000"


def demo(
    folder: Annotated[Path, Argument(metavar="[DIR]", help="Where to put data and release.")] = Path("demo"),
    patients: Annotated[int, Option(metavar="N", min=20, help="Patients of the example hospital.")] = 1000,
    seed: Annotated[int, Option(help="The same seed gives the same hospital.")] = 0,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Make the example hospital, protect its patients, and show the release."""
    from cloister.cli.demo_job import run_demo

    command = run_demo(folder, patients, seed, quiet=quiet)
    if not quiet:
        say(f"The same by hand: {command}")
