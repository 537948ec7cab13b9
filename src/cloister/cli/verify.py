"""``cloister verify``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.options import Encoding, Json, Missing, MissingAs, Quiet, Verbose

EXAMPLE = "Example: cloister verify release --original patients.csv -k 5 --qi age --qi sex"


def verify(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder of a release, or of a job with all its parts.")],
    original: Annotated[
        Path | None, Option(metavar="INPUT", help="The data it was made from, to compare with.")
    ] = None,
    claims: Annotated[
        Path | None, Argument(metavar="[CLAIMS]", help="With --original PATIENTS of claims: the file of claims.")
    ] = None,
    plan: Annotated[
        Path | None, Option(metavar="PLAN", help="Of claims, with --original: the plan of the release.")
    ] = None,
    k: Annotated[int | None, Option("-k", help="Class size that you expect.")] = None,
    m: Annotated[int | None, Option("-m", help="Of codes: how many you expect to be safe to know.")] = None,
    qi: Annotated[
        list[str] | None,
        Option(
            "--qi",
            metavar="COLUMN[=HIERARCHY]",
            help="A quasi-identifier that you expect; with --original, its hierarchy where that is a file. Repeatable.",
        ),
    ] = None,
    hierarchies: Annotated[
        Path | None, Option(metavar="DIR", help="Folder of hierarchy files, for --original and --population.")
    ] = None,
    population: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="A population table that a rule compares with, by the file's name. Repeatable."),
    ] = None,
    crosswalk: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="With --original, of code sets and trajectories: the map written with the release."
        ),
    ] = None,
    privacy: Annotated[
        str | None,
        Option(metavar="PRIVACY", help="Of generalized code sets: the privacy policy, which is not in the release."),
    ] = None,
    visit: Annotated[
        str | None, Option(metavar="COLUMN", help="Of --privacy visits:FILE: the column that tells visits apart.")
    ] = None,
    policy: Annotated[
        str | None, Option(metavar="POLICY", help="Of generalized code sets: the utility policy, where it is a file.")
    ] = None,
    side: Annotated[
        Path | None, Option(metavar="FILE", help="Of trajectories, with --original: the file of what rides along.")
    ] = None,
    code_hierarchy: Annotated[
        str | None, Option(metavar="FILE", help="Of trajectories, with --original: the hierarchy of codes, if a file.")
    ] = None,
    age_hierarchy: Annotated[
        str | None, Option(metavar="FILE", help="Of trajectories, with --original: the hierarchy of ages, if a file.")
    ] = None,
    missing: Missing = None,
    delimiter: Annotated[
        str | None,
        Option(metavar="CHAR", help="Delimiter of the files given; detected, or that of the release, if not given."),
    ] = None,
    engine: Annotated[
        str | None,
        Option(metavar="URL", help="Of a table protected inside a database: its address; it is counted there."),
    ] = None,
    encoding: Encoding = None,
    missing_as: MissingAs = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Check a release again, from its files alone; exit code 1 if it does not hold."""
    options = locals()
    from cloister.cli.verify_job import VerifyOptions, run_verify  # frames are loaded only when needed

    run_verify(VerifyOptions(**options))
