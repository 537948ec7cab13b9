"""``cloister protect claims``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.claims_options import ClaimsOptions
from cloister.cli.options import Delimiter, Encoding, Json, Missing, Quiet, Threads, VerboseOfRun

EXAMPLE = "Example: cloister protect claims patients.csv claims.csv --plan plan.toml --out release"


def protect_claims(
    patients: Annotated[Path, Argument(metavar="PATIENTS", help="CSV (also gzip'd) or Parquet, one row a patient.")],
    claims: Annotated[Path, Argument(metavar="CLAIMS", help="The same, any number of rows a patient.")],
    plan: Annotated[
        Path, Option("--plan", metavar="PLAN", help="What is asked, in TOML; cloister init claims writes a first one.")
    ],
    out: Annotated[Path, Option("--out", metavar="DIR", help="Folder of the release; must not exist.")],
    missing: Missing = None,
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
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    seed: Annotated[
        int | None, Option(help="Of the simulations that measure the risk; that of the plan if not given.")
    ] = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: VerboseOfRun = False,
) -> None:
    """Protect patients and their claims together, as a plan asks.

    The same generalization in every row, and the risk measured by simulating somebody who knows a few values of a
    patient. The release folder appears whole or not at all, after an independent verification.
    """
    options = locals()
    from cloister.cli.claims_job import run_claims  # frames and kernels are loaded only when needed

    run_claims(ClaimsOptions(**options))
