"""``cloister attack``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from cloister.cli.options import Encoding, Json, Missing, MissingAs, Quiet, Verbose

EXAMPLE = "Example: cloister attack release --original patients.csv --crosswalk crosswalk.csv"


def attack(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder of a release, or of a job of several.")],
    original: Annotated[
        list[str] | None,
        Option(metavar="INPUT", help="The data it was made from; of a job PART=INPUT, repeated for each part."),
    ] = None,
    job: Annotated[
        Path | None, Option(metavar="JOB.toml", help="Of a job, instead: its file, which says where all data are.")
    ] = None,
    claims: Annotated[
        Path | None, Argument(metavar="[CLAIMS]", help="With --original PATIENTS of claims: the file of claims.")
    ] = None,
    plan: Annotated[Path | None, Option(metavar="PLAN", help="Of claims: the plan of the release.")] = None,
    crosswalk: Annotated[
        list[str] | None,
        Option(
            metavar="FILE", help="The map written with the release: whose each record is. Of a job PART=FILE, repeated."
        ),
    ] = None,
    targets: Annotated[
        int, Option(metavar="N", help="Patients looked for; a random sample where there are more.")
    ] = 1_000,
    seed: Annotated[int, Option(help="Of the sample, and of what is known of each patient.")] = 0,
    qi: Annotated[
        list[str] | None,
        Option("--qi", metavar="COLUMN=HIERARCHY", help="Of a table: a hierarchy that is a file. Repeatable."),
    ] = None,
    hierarchies: Annotated[Path | None, Option(metavar="DIR", help="Of a table: folder of hierarchy files.")] = None,
    privacy: Annotated[
        str | None,
        Option(metavar="PRIVACY", help="Of generalized code sets: the privacy policy, which is not in the release."),
    ] = None,
    visit: Annotated[
        str | None, Option(metavar="COLUMN", help="Of --privacy visits:FILE: the column that tells visits apart.")
    ] = None,
    side: Annotated[Path | None, Option(metavar="FILE", help="Of trajectories: the file of what rides along.")] = None,
    code_hierarchy: Annotated[
        str | None, Option(metavar="FILE", help="Of trajectories: the hierarchy of codes, if a file.")
    ] = None,
    age_hierarchy: Annotated[
        str | None, Option(metavar="FILE", help="Of trajectories: the hierarchy of ages, if a file.")
    ] = None,
    missing: Missing = None,
    missing_as: MissingAs = None,
    delimiter: Annotated[
        str | None, Option(metavar="CHAR", help="Delimiter of the files given; detected, or that of the release.")
    ] = None,
    encoding: Encoding = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Look for patients of the original in a release, as adversaries who know more and more of them.

    Exit code 1 if somebody whom the guarantee covers matches at least one released patient but fewer than k.
    """
    options = locals()
    from cloister.cli.attack_job import AttackOptions, run_attack  # frames are loaded only when needed

    if not run_attack(AttackOptions(**options)):
        raise Exit(1)
