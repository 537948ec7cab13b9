"""``cloister init``: a first job or plan, guessed from data."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

EXAMPLE = "Example: cloister init claims patients.csv claims.csv --out plan.toml"
OF_TABLE = "Example: cloister init table patients.csv --out job.toml"
OF_CODES = "Example: cloister init codes diagnoses.csv --out job.toml"
OF_TRAJECTORIES = "Example: cloister init trajectories visits.csv --out job.toml"
app = typer.Typer(
    help="Look at data, guess roles and hierarchies, and write a first job or plan.",
    epilog=OF_TABLE,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _init() -> None:
    """Look at data, guess roles and hierarchies, and write a first job or plan."""


@app.command("claims", epilog=EXAMPLE)
def claims(
    patients: Annotated[Path, Argument(metavar="PATIENTS", help="CSV or Parquet file, one row a patient.")],
    claims: Annotated[Path, Argument(metavar="CLAIMS", help="CSV or Parquet file, any number of rows a patient.")],
    out: Annotated[Path, Option(metavar="PLAN", help="Write the plan here; must not exist.")],
    encoding: Annotated[str | None, Option(metavar="NAME", help="Encoding of the CSV files; else UTF-8.")] = None,
    delimiter: Annotated[str | None, Option(metavar="CHARACTER", help="What separates cells; else detected.")] = None,
    missing: Annotated[
        list[str] | None, Option(metavar="TEXT", help="A text that stands for a missing value; may be repeated.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object on standard output.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    verbose: Annotated[bool, Option("--verbose", "-v", help="Show places in the code on errors.")] = False,  # noqa: ARG001
) -> None:
    """Write a plan that protects these patients and their claims, as far as names and contents of columns tell."""
    from cloister.cli.init_job import init_claims

    init_claims(patients, claims, out, encoding, delimiter, missing or [], as_json=as_json, quiet=quiet)


Data = Annotated[Path, Argument(metavar="DATA", help="CSV (also gzip'd) or Parquet file.")]
Out = Annotated[Path, Option(metavar="JOB", help="Write the job here; must not exist.")]
K = Annotated[int, Option("-k", help="Patients that must look the same.")]
Encoding = Annotated[str | None, Option(metavar="NAME", help="Encoding of the CSV file; else UTF-8.")]
Delimiter = Annotated[str | None, Option(metavar="CHARACTER", help="What separates cells; else detected.")]
Missing = Annotated[
    list[str] | None, Option(metavar="TEXT", help="A text that stands for a missing value; may be repeated.")
]
Json = Annotated[bool, Option("--json", help="Print one JSON object on standard output.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Show places in the code on errors.")]


@app.command("table", epilog=OF_TABLE)
def table(
    data: Data,
    out: Out,
    k: K = 5,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Write a job that protects this table, as far as names and contents of columns tell."""
    from cloister.cli.init_job import init_shape

    init_shape("table", data, out, k, encoding, delimiter, missing or [], as_json=as_json, quiet=quiet)


@app.command("codes", epilog=OF_CODES)
def codes(
    data: Data,
    out: Out,
    k: K = 5,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Write a job that protects these sets of codes."""
    from cloister.cli.init_job import init_shape

    init_shape("codes", data, out, k, encoding, delimiter, missing or [], as_json=as_json, quiet=quiet)


@app.command("trajectories", epilog=OF_TRAJECTORIES)
def trajectories(
    data: Data,
    out: Out,
    k: K = 5,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Write a job that protects these codes with ages."""
    from cloister.cli.init_job import init_shape

    init_shape("trajectories", data, out, k, encoding, delimiter, missing or [], as_json=as_json, quiet=quiet)
