"""``cloister hierarchy``: check, preview and build hierarchies."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from cloister.cli.options import Json, Verbose

app = typer.Typer(
    help="Check, preview and build hierarchies.",
    epilog="Example: cloister hierarchy preview interval:5,10,20/top=90 patients.csv --column age",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Data = Annotated[Path | None, Argument(metavar="DATA", help="CSV or Parquet file with values of the column.")]
Column = Annotated[
    str | None, Option("--column", metavar="COLUMN", help="The column of DATA; its only one if not given.")
]


@app.command("check", epilog="Example: cloister hierarchy check patients_hierarchy_zip.csv patients.csv --column zip")
def check(
    hierarchy: Annotated[str, Argument(metavar="FILE|BUILDER", help="Hierarchy file, or a builder as interval:5,10.")],
    data: Data = None,
    column: Column = None,
    missing_as: Annotated[str | None, Option(metavar="VALUE", help="How the file writes a missing value.")] = None,
    as_json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Say whether a hierarchy is legal, and whether it holds all values of a column; exit code 2 if not."""
    from cloister.cli.hierarchy_job import check_hierarchy

    check_hierarchy(hierarchy, data, column, missing_as, as_json=as_json)


@app.command("preview", epilog="Example: cloister hierarchy preview interval:5,10,20/top=90 patients.csv --column age")
def preview(
    hierarchy: Annotated[str, Argument(metavar="FILE|BUILDER", help="Hierarchy file, or a builder as interval:5,10.")],
    data: Data = None,
    column: Column = None,
    missing_as: Annotated[str | None, Option(metavar="VALUE", help="How the file writes a missing value.")] = None,
    show_values: Annotated[
        bool, Option("--show-values", help="Print a few labels of each level too: values of the data, as of patients.")
    ] = False,
    as_json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Show the levels: how many groups each has, and their sizes."""
    from cloister.cli.hierarchy_job import preview_hierarchy

    preview_hierarchy(hierarchy, data, column, missing_as, show_values=show_values, as_json=as_json)


@app.command("build", epilog="Example: cloister hierarchy build prefix:5 patients.csv --column zip --out zip.csv")
def build(
    hierarchy: Annotated[str, Argument(metavar="BUILDER", help="A builder, as interval:5,10,20/top=90.")],
    data: Data = None,
    column: Column = None,
    out: Annotated[Path | None, Option(metavar="FILE", help="Write the hierarchy file here; must not exist.")] = None,
    as_json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Write the hierarchy of a column's values as an ARX file, to be edited or used elsewhere."""
    from cloister.cli.hierarchy_job import build_hierarchy

    build_hierarchy(hierarchy, data, column, out, as_json=as_json)
