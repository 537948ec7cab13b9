"""What ``verify`` and ``attack`` can be told of a release and its original."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from cloister.settings import AsJson, Encoding, Help, Missing, MissingAs, Quiet, Verbose, Visit


@dataclass(frozen=True)
class FolderOptions:
    """What both can be told, as the command line has it."""

    folder: Annotated[Path, Help("Folder of a release, or of a job with all its parts.", option="DIR")]
    claims: Annotated[
        Path | None, Help("With --original PATIENTS of claims: the file of claims.", option="[CLAIMS]")
    ] = None
    plan: Annotated[Path | None, Help("Of claims, with --original: the plan of the release.", "PLAN")] = None
    hierarchies: Annotated[Path | None, Help("Of a table: folder of hierarchy files, to compare with.", "DIR")] = None
    privacy: Annotated[
        str | None, Help("Of generalized code sets: the privacy policy, which is not in the release.", "PRIVACY")
    ] = None
    visit: Visit = None
    attributes: Annotated[
        Path | None, Help("Of trajectories, with --original: the file of auxiliary attributes.", "FILE")
    ] = None
    code_hierarchy: Annotated[
        str | None, Help("Of trajectories, with --original: the hierarchy of codes, if a file.", "FILE")
    ] = None
    age_hierarchy: Annotated[
        str | None, Help("Of trajectories, with --original: the hierarchy of ages, if a file.", "FILE")
    ] = None
    missing: Missing = ()
    delimiter: Annotated[
        str | None, Help("Delimiter of the files given; detected, or that of the release, if not given.", "CHAR")
    ] = None
    encoding: Encoding = None
    missing_as: MissingAs = None
    as_json: AsJson = False
    quiet: Quiet = False
    verbose: Verbose = False


@dataclass(frozen=True)
class VerifyOptions(FolderOptions):
    """What ``verify`` can be told."""

    original: Annotated[Path | None, Help("The data it was made from, to compare with.", "INPUT")] = None
    k: Annotated[int | None, Help("Class size that you expect.", option="-k")] = None
    m: Annotated[int | None, Help("Of codes: how many you expect to be safe to know.", option="-m")] = None
    qi: Annotated[
        tuple[str, ...],
        Help(
            "A quasi-identifier that you expect; with --original, its hierarchy where that is a file. Repeatable.",
            "COLUMN[=HIERARCHY]",
        ),
    ] = ()
    population: Annotated[
        tuple[Path, ...], Help("A population table that a rule compares with, by the file's name. Repeatable.", "FILE")
    ] = ()
    crosswalk: Annotated[
        Path | None,
        Help("With --original, of code sets and trajectories: the map written with the release.", "FILE"),
    ] = None
    policy: Annotated[
        str | None, Help("Of generalized code sets: the utility policy, where it is a file.", "POLICY")
    ] = None
    engine: Annotated[
        str | None, Help("Of a table protected inside a database: its address; it is counted there.", "URL")
    ] = None
    placed: ClassVar[Mapping[str, str]] = {
        "original": "claims",
        "k": "hierarchies",
        "m": "hierarchies",
        "qi": "hierarchies",
        "population": "privacy",
        "crosswalk": "privacy",
        "policy": "attributes",
        "engine": "encoding",
    }


@dataclass(frozen=True)
class AttackOptions(FolderOptions):
    """What ``attack`` can be told."""

    original: Annotated[
        tuple[str, ...], Help("The data it was made from; of a job PART=INPUT, repeated for each part.", "INPUT")
    ] = ()
    job: Annotated[Path | None, Help("Of a job, instead: its file, which says where all data are.", "JOB.toml")] = None
    crosswalk: Annotated[
        tuple[str, ...],
        Help("The map written with the release: whose each record is. Of a job PART=FILE, repeated.", "FILE"),
    ] = ()
    targets: Annotated[int, Help("Patients looked for; a random sample where there are more.", "N")] = 1_000
    seed: Annotated[int, Help("Of the sample, and of what is known of each patient.")] = 0
    qi: Annotated[tuple[str, ...], Help("Of a table: a hierarchy that is a file. Repeatable.", "COLUMN=HIERARCHY")] = ()
    placed: ClassVar[Mapping[str, str]] = {
        "original": "claims",
        "job": "claims",
        **dict.fromkeys(("crosswalk", "targets", "seed", "qi"), "hierarchies"),
    }
