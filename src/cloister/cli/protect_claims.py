"""``cloister protect claims``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.claims_options import ClaimsOptions

EXAMPLE = "Example: cloister protect claims patients.csv claims.csv --plan plan.toml --out release"


def protect_claims(
    patients: Annotated[Path, Argument(metavar="PATIENTS", help="CSV (also gzip'd) or Parquet, one row a patient.")],
    claims: Annotated[Path, Argument(metavar="CLAIMS", help="The same, any number of rows a patient.")],
    plan: Annotated[
        Path, Option("--plan", metavar="PLAN", help="What is asked, in TOML; cloister init claims writes a first one.")
    ],
    out: Annotated[Path, Option("--out", metavar="DIR", help="Folder of the release; must not exist.")],
    missing: Annotated[
        list[str] | None, Option(metavar="TEXT", help="Read this text as a missing value, as ? or NA. Repeatable.")
    ] = None,
    crosswalk: Annotated[
        Path | None, Option(metavar="FILE", help="Write the secret map from released to original ids.")
    ] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier release.")] = False,
    internal: Annotated[
        Path | None, Option(metavar="DIR", help="Folder, outside the release, for what only the custodian may see.")
    ] = None,
    attack: Annotated[
        bool, Option("--attack", help="Attack the release before it appears, and report what was found.")
    ] = False,
    delimiter: Annotated[
        str | None, Option(metavar="CHAR", help="Delimiter of the CSV files; detected if not given.")
    ] = None,
    encoding: Annotated[str | None, Option(help="Encoding of the CSV files; detected if not given.")] = None,
    seed: Annotated[
        int | None, Option(help="Of the simulations that measure the risk; that of the plan if not given.")
    ] = None,
    threads: Annotated[
        int | None, Option(metavar="N", help="Threads; all cores if not given. Never changes the answer.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object on standard output.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    verbose: Annotated[bool, Option("--verbose", "-v", help="Say more; show places in the code on errors.")] = False,
) -> None:
    """Protect patients and their claims together, as a plan asks.

    The same generalization in every row, and the risk measured by simulating somebody who knows a few values of a
    patient. The release folder appears whole or not at all, after an independent verification.
    """
    options = locals()
    from cloister.cli.claims_job import run_claims  # frames and kernels are loaded only when needed

    run_claims(ClaimsOptions(**options))
