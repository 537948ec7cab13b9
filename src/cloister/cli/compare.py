"""``cloister compare``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

EXAMPLE = "Example: cloister compare release-k5 release-k11 --out compared.html"


def compare(
    folders: Annotated[list[Path], Argument(metavar="DIR...", help="Releases, or jobs, of which each part is taken.")],
    out: Annotated[Path | None, Option(metavar="FILE", help="Write a page with a picture of risk and loss.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object on standard output.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    verbose: Annotated[bool, Option("--verbose", "-v", help="Show places in the code on errors.")] = False,  # noqa: ARG001
) -> None:
    """Put releases side by side: what they promise, risk and lose, and which settings differ.

    What is compared stands in the manifests; cloister verify checks a release.
    """
    from cloister.cli.compare_job import run_compare

    run_compare(folders, out, as_json=as_json, quiet=quiet)
