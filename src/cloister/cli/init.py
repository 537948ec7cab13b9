"""``cloister init``: a first job or plan, guessed from data."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from cloister.cli.data_argument import QueryText, data_of, data_word
from cloister.cli.options import Delimiter, Encoding, Json, Missing, Quiet, Verbose

OF_TABLE = "Example: cloister init table patients.csv --out job.toml"
app = typer.Typer(
    help="Look at data, guess roles and hierarchies, and write a first job or plan.",
    epilog=OF_TABLE,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _init() -> None:
    """Look at data, guess roles and hierarchies, and write a first job or plan."""


@app.command("claims", epilog="Example: cloister init claims patients.csv claims.csv --out plan.toml")
def claims(
    patients: Annotated[Path, Argument(metavar="PATIENTS", help="CSV or Parquet file, one row a patient.")],
    claims: Annotated[Path, Argument(metavar="CLAIMS", help="CSV or Parquet file, any number of rows a patient.")],
    out: Annotated[Path, Option(metavar="PLAN", help="Write the plan here; must not exist.")],
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Write a plan that protects these patients and their claims, as far as names and contents of columns tell."""
    from cloister.cli.init_job import init_claims

    init_claims(patients, claims, out, encoding, delimiter, missing or [], as_json=as_json, quiet=quiet)


def _add(shape: str, epilog: str, said: str) -> None:
    """Add the command that writes a job for one source of a shape."""

    @app.command(shape, epilog=epilog, help=said)
    def _(
        data: Annotated[Path, Argument(metavar="DATA", parser=data_word, help="CSV (also gzip'd) or Parquet file.")],
        out: Annotated[Path, Option(metavar="JOB", help="Write the job here; must not exist.")],
        k: Annotated[int, Option("-k", help="Patients that must look the same.")] = 5,
        query: QueryText = None,
        encoding: Encoding = None,
        delimiter: Delimiter = None,
        missing: Missing = None,
        as_json: Json = False,
        quiet: Quiet = False,
        verbose: Verbose = False,  # noqa: ARG001
    ) -> None:
        from cloister.cli.init_job import init_shape

        where = data_of(data, query, encoding=encoding, delimiter=delimiter)
        init_shape(shape, where, out, k, encoding, delimiter, missing or [], as_json=as_json, quiet=quiet)


_add("table", OF_TABLE, "Write a job that protects this table, as far as names and contents of columns tell.")
_add(
    "codes",
    "Example: cloister init codes diagnoses.csv --out job.toml",
    "Write a job that protects these sets of codes.",
)
_add(
    "trajectories",
    "Example: cloister init trajectories visits.csv --out job.toml",
    "Write a job that protects these codes with ages.",
)
