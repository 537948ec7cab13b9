"""``cloister protect``: a command for each shape, whose options are the settings that the shape declares."""

import typer

from cloister.claims.options import ClaimsOptions
from cloister.cli.declared import command
from cloister.codesets.options import CodesOptions
from cloister.tabular.options import TableOptions
from cloister.trajectories.options import TrajectoriesOptions

TABLE = (
    "Example: cloister protect table patients.csv --id mrn --drop name --qi age=interval:5,10,20/top=90 --qi sex "
    "--qi zip=prefix:5 --sensitive diagnosis -k 5 --suppression 0.05 --out release"
)
CODES = "Example: cloister protect codes diagnoses.csv -k 5 -m 2 --policy level:1 --out release"
TRAJECTORIES = "Example: cloister protect trajectories visits.csv -k 5 --side samples.csv --out release"
CLAIMS = "Example: cloister protect claims patients.csv claims.csv --plan plan.toml --out release"

app = typer.Typer(help="Protect data and write a release.", epilog=TABLE, no_args_is_help=True, rich_markup_mode=None)


def _table(options: TableOptions) -> None:
    from cloister.cli.table_job import run_table  # frames and kernels are loaded only when needed

    run_table(options)


def _codes(options: CodesOptions) -> None:
    from cloister.cli.codes_job import run_codes

    run_codes(options)


def _trajectories(options: TrajectoriesOptions) -> None:
    from cloister.cli.trajectories_job import run_trajectories

    run_trajectories(options)


def _claims(options: ClaimsOptions) -> None:
    from cloister.cli.claims_job import run_claims

    run_claims(options)


app.command("table", epilog=TABLE)(
    command(
        TableOptions,
        _table,
        """Protect a table: generalize quasi-identifiers, suppress what stands out, with the least possible loss.

        Every column needs a role. The release folder appears whole or not at all, after an independent verification.
        """,
    )
)
app.command("codes", epilog=CODES)(
    command(
        CodesOptions,
        _codes,
        """Protect sets of codes, so that no few codes of a patient lead to the patient.

        By disassociation every code is released as recorded, in parts; by generalization records stay whole, and sets
        of codes stand for codes. The release folder appears whole or not at all, after an independent verification.
        """,
    )
)
app.command("trajectories", epilog=TRAJECTORIES)(
    command(
        TrajectoriesOptions,
        _trajectories,
        """Protect trajectories: which codes a patient had, at which ages.

        Patients who are alike are put into clusters of at least k, and all of a cluster get the same sequence of codes
        and ages, generalized where they differ. The release folder appears whole or not at all, after an independent
        verification.
        """,
    )
)
app.command("claims", epilog=CLAIMS)(
    command(
        ClaimsOptions,
        _claims,
        """Protect patients and their claims together, as a plan asks.

        The same generalization in every row, and the risk measured by simulating somebody who knows a few values of a
        patient. The release folder appears whole or not at all, after an independent verification.
        """,
    )
)
