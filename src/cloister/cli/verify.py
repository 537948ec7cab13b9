"""``cloister verify``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

if TYPE_CHECKING:
    from cloister.results import Verdict

EXAMPLE = "Example: cloister verify release --original patients.csv -k 5 --qi age --qi sex"


def verify(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder of a release.")],
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
    missing: Annotated[
        list[str] | None, Option(metavar="TEXT", help="Text of the original that is a missing value. Repeatable.")
    ] = None,
    delimiter: Annotated[
        str | None,
        Option(metavar="CHAR", help="Delimiter of the files given; detected, or that of the release, if not given."),
    ] = None,
    encoding: Annotated[str | None, Option(help="Encoding of the CSV files given; detected if not given.")] = None,
    missing_as: Annotated[
        str | None, Option(metavar="VALUE", help="How hierarchy files write a missing value.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object on standard output.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    verbose: Annotated[bool, Option("--verbose", "-v", help="Show places in the code on errors.")] = False,  # noqa: ARG001
) -> None:
    """Check a release again, from its files alone; exit code 1 if it does not hold."""
    from functools import partial

    from cloister.cli.release_at import release_at
    from cloister.cli.table_request import hierarchy_files, split_wanted
    from cloister.errors import InputError
    from cloister.hierarchy import hierarchy_file, parse_hierarchy
    from cloister.io import read_table
    from cloister.recheck import verify_folder
    from cloister.release_folder import delimiter_told

    manifest = release_at(folder)
    _check_visit(visit, privacy)
    of_trajectories = (side, code_hierarchy, age_hierarchy)
    if manifest.get("shape") != "trajectories" and any(word is not None for word in of_trajectories):
        raise InputError("--side, --code-hierarchy and --age-hierarchy are for trajectories. Leave them out.")
    if manifest.get("shape") != "claims" and (claims is not None or plan is not None):
        raise InputError("A file of claims and --plan are for releases of claims. Leave them out.")
    if manifest.get("shape") == "claims":
        if any((qi, population, hierarchies, privacy, policy, m)):
            raise InputError(
                "Claims have -k, --original PATIENTS CLAIMS, --plan and --crosswalk. Leave out what is for other "
                "releases."
            )
        if (original is None) is not (claims is None):
            raise InputError("The original of claims is two files: --original PATIENTS CLAIMS.")
        verdict = verify_folder(
            folder,
            original=None if original is None else (original, claims),
            plan=plan,
            k=k,
            crosswalk=crosswalk,
            missing=missing or (),
            encoding=encoding,
            delimiter=delimiter,
        )
        _say(folder, verdict, as_json=as_json, quiet=quiet)
        return
    if manifest.get("shape") == "codes":
        if qi or population or hierarchies is not None:
            raise InputError("Code sets have no quasi-identifiers, hierarchies or populations. Leave them out.")
        verdict = verify_folder(
            folder,
            original=original,
            k=k,
            m=m,
            crosswalk=crosswalk,
            missing=missing or (),
            privacy=privacy,
            policy=policy,
            visit=visit,
            encoding=encoding,
            delimiter=delimiter,
        )
        _say(folder, verdict, as_json=as_json, quiet=quiet)
        return
    if manifest.get("shape") == "trajectories":
        if qi or population or m is not None or hierarchies is not None or privacy is not None or policy is not None:
            raise InputError(
                "Trajectories have -k, --original, --side, --crosswalk and hierarchies by --code-hierarchy and "
                "--age-hierarchy. Leave out what is for other releases."
            )
        words = {"code": code_hierarchy, "age": age_hierarchy}
        verdict = verify_folder(
            folder,
            original=original,
            hierarchies={column: parse_hierarchy(word) for column, word in words.items() if word is not None},
            k=k,
            crosswalk=crosswalk,
            side=side,
            missing=missing or (),
            encoding=encoding,
            delimiter=delimiter,
        )
        _say(folder, verdict, as_json=as_json, quiet=quiet)
        return
    if privacy is not None or policy is not None:
        raise InputError("--privacy and --policy are for releases of generalized code sets. Leave them out.")
    if crosswalk is not None or (m is not None and "codes" not in manifest):
        raise InputError(
            "-m is for releases with codes, and --crosswalk for releases of code sets. Leave out what does not fit."
        )
    columns = manifest.get("columns")
    named = dict(split_wanted(text, list(columns) if isinstance(columns, dict) else []) for text in qi or [])
    found = {column: parse_hierarchy(spec, missing_as=missing_as) for column, spec in named.items() if spec}
    compared = [*([] if original is None else [original]), *(population or [])]
    if hierarchies is not None and compared:
        files = hierarchy_files(hierarchies, compared[0])
        found = {c: hierarchy_file(path, missing_as=missing_as) for c, path in files.items()} | found
    read = partial(
        read_table,
        missing=missing or (),
        encoding=encoding,
        delimiter=delimiter,
        usual_delimiter=delimiter_told(manifest),
    )
    frame = None if original is None else read(original).frame
    people = {path.name: read(path).frame for path in population or []}
    verdict = verify_folder(
        folder,
        original=frame,
        hierarchies=found,
        populations=people,
        k=k,
        m=m,
        quasi_identifiers=tuple(named),
        missing=missing or (),
    )
    _say(folder, verdict, as_json=as_json, quiet=quiet)


def _check_visit(visit: str | None, privacy: str | None) -> None:
    """Refuse a column that tells visits apart where there is no file of visits."""
    from cloister.errors import InputError

    if visit is not None and not (privacy or "").startswith("visits:"):
        raise InputError("--visit names a column of a file of visits. Give --privacy visits:FILE, or leave it out.")


def _say(folder: Path, verdict: "Verdict", *, as_json: bool, quiet: bool) -> None:
    """Print a verdict that holds."""
    from cloister.cli.output import print_json

    if as_json:
        print_json({"holds": verdict.holds, "how": verdict.how, "checks": list(verdict.checks)})
    elif not quiet:
        typer.echo(f"{folder.name} holds ({verdict.how}):")
        for check in verdict.checks:
            typer.echo(f"  {check}")
