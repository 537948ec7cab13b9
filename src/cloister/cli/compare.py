"""``cloister compare``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.options import Json, Quiet, Verbose

EXAMPLE = "Example: cloister compare release-k5 release-k11 --out compared.html"


def compare(
    folders: Annotated[list[Path], Argument(metavar="DIR...", help="Releases, or jobs, of which each part is taken.")],
    out: Annotated[Path | None, Option(metavar="FILE", help="Write a page with a picture of risk and loss.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Put releases side by side: what they promise, risk and lose, and which settings differ.

    What is compared stands in the manifests; cloister verify checks a release.
    """
    from cloister.cli.compare_job import run_compare

    run_compare(folders, out, as_json=as_json, quiet=quiet)
