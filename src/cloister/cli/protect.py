"""``cloister protect``: a command for each shape, whose options are the settings that the shape declares."""

import typer

from cloister.cli.declared import command
from cloister.jobs.sections import SHAPES
from cloister.settings import RunOptions

TABLE = (
    "Example: cloister protect table patients.csv --id mrn --drop name --qi age=interval:5,10,20/top=90 --qi sex "
    "--qi zip=prefix:5 --sensitive diagnosis -k 5 --suppression 0.05 --out release"
)
CODES = "Example: cloister protect codes diagnoses.csv -k 5 -m 2 --policy level:1 --out release"
TRAJECTORIES = "Example: cloister protect trajectories visits.csv -k 5 --attributes samples.csv --out release"
CLAIMS = "Example: cloister protect claims patients.csv claims.csv --plan plan.toml --out release"

app = typer.Typer(help="Protect data and write a release.", epilog=TABLE, no_args_is_help=True, rich_markup_mode=None)


def _protecting(shape: str, example: str, text: str) -> None:
    """Make the command of a shape."""

    def protect(options: RunOptions) -> None:
        from cloister.cli.protect_job import run_protect  # frames and kernels are loaded only when needed

        run_protect(shape, options)

    app.command(shape, epilog=example)(command(SHAPES[shape].options, protect, text))


_protecting(
    "table",
    TABLE,
    """Protect a table: generalize quasi-identifiers, suppress what stands out, with the least possible loss.

        Every column needs a role. The release folder appears whole or not at all, after an independent verification.
        """,
)
_protecting(
    "codes",
    CODES,
    """Protect sets of codes, so that no few codes of a patient lead to the patient.

        By disassociation every code is released as recorded, in parts; by generalization records stay whole, and sets
        of codes stand for codes. The release folder appears whole or not at all, after an independent verification.
        """,
)
_protecting(
    "trajectories",
    TRAJECTORIES,
    """Protect trajectories: which codes a patient had, at which ages.

        Patients who are alike are put into clusters of at least k, and all of a cluster get the same sequence of codes
        and ages, generalized where they differ. The release folder appears whole or not at all, after an independent
        verification.
        """,
)
_protecting(
    "claims",
    CLAIMS,
    """Protect patients and their claims together, as a plan asks.

        The same generalization in every row, and the risk measured by simulating somebody who knows a few values of a
        patient. The release folder appears whole or not at all, after an independent verification.
        """,
)
