"""``cloister init``: a first job or plan, guessed from data."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

EXAMPLE = "Example: cloister init claims patients.csv claims.csv --out plan.toml"
app = typer.Typer(
    help="Look at data, guess roles and hierarchies, and write a first plan.",
    epilog=EXAMPLE,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _init() -> None:
    """Look at data, guess roles and hierarchies, and write a first plan."""


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
