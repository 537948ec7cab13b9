"""The options of all commands but ``protect``, each declared once; see `cloister.settings.declaration`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cloister.settings.declaration import Help
from cloister.settings.reading import ReadingWords
from cloister.settings.run_options import (
    AllCodes,
    AsJson,
    MissingAs,
    OneCode,
    PatientColumn,
    QueryText,
    Quiet,
    Separator,
    Threads,
    Verbose,
    Visit,
)

if TYPE_CHECKING:
    from cloister.io.query import Query

Id = Annotated[str | None, Help("Column that tells patients apart.", "COLUMN")]
Code = Annotated[str | None, Help("Column with one code a line.", "COLUMN")]
Patients = Annotated[Path, Help("CSV (also gzip'd) or Parquet; one row a patient.", option="PATIENTS")]
Claims = Annotated[Path, Help("CSV or Parquet; any number of rows a patient.", option="CLAIMS")]
KINDS = "CSV (also gzip'd), Parquet, Excel, Stata, SPSS or SAS"


@dataclass(frozen=True, kw_only=True)
class SayingOptions:
    """Options about what a command prints."""

    as_json: AsJson = False
    quiet: Quiet = False
    verbose: Verbose = False


@dataclass(frozen=True, kw_only=True)
class AssessOptions(SayingOptions, ReadingWords):
    """Options of every ``assess``: how files are read, and where numbers go."""

    out: Annotated[Path | None, Help("Write the numbers as JSON to a new file, for its owner alone.", "FILE")] = None


@dataclass(frozen=True, kw_only=True)
class AssessTableOptions(AssessOptions):
    """Options of ``assess table``."""

    data: Annotated["Path | Query", Help(f"{KINDS}; one row a patient.", option="DATA")]
    qi: Annotated[
        tuple[str, ...],
        Help(
            "A quasi-identifier: what attackers know. Repeatable; without any, only identifiers are looked for.",
            "COLUMN",
        ),
    ] = ()
    population: Annotated[
        Path | None, Help("A table of all people that the patients may be among, patients included.", "FILE")
    ] = None
    sampling_fraction: Annotated[
        float | None, Help("Instead: share of the population that the patients are, as a random sample.", "SHARE")
    ] = None
    threshold: Annotated[str, Help("The risk taken as acceptable: a number, hhp (0.05) or ema (0.09).", "RISK")] = "0.2"
    largest_unique: Annotated[
        int | None, Help("Look for records that up to N columns make unique; 3, or fewer where that takes long.", "N")
    ] = None
    zip_census: Annotated[
        str, Help("Census of the lists of ZIP areas with 20,000 people or fewer.", "2000|2010|both")
    ] = "both"
    query: QueryText = None
    threads: Threads = None


@dataclass(frozen=True, kw_only=True)
class AssessEventsOptions(AssessOptions):
    """Options of ``assess`` where attackers know some of a patient's events."""

    m: Annotated[
        tuple[str, ...], Help("How many of them attackers know of a patient; 1,2,3,5 unless given.", "N,N,...", "-m")
    ] = ()
    k: Annotated[int, Help("Patients that a set of what is known should at least have.", option="-k")] = 5
    repeats: Annotated[bool, Help("Attackers know how often something was recorded, too.")] = False
    seed: Annotated[int, Help("Of what is sampled, that is for more than three of them.")] = 0


@dataclass(frozen=True, kw_only=True)
class AssessCodesOptions(AssessEventsOptions):
    """Options of ``assess codes``."""

    data: Annotated["Path | Query", Help(f"{KINDS}: id,codes or codes (wide), or id,code (long).", option="DATA")]
    id: Id = None
    codes: Annotated[str | None, Help("Column with all codes of a patient, separated by spaces.", "COLUMN")] = None
    code: Code = None
    drop_empty: Annotated[bool, Help("Leave patients without codes out.")] = False
    query: QueryText = None


@dataclass(frozen=True, kw_only=True)
class AssessTrajectoriesOptions(AssessEventsOptions):
    """Options of ``assess trajectories``."""

    data: Annotated["Path | Query", Help(f"{KINDS}: id,code,age, one pair a line.", option="DATA")]
    id: Id = None
    code: Code = None
    age: Annotated[str | None, Help("Column with the age, a number from 0 on.", "COLUMN")] = None
    date: Annotated[str | None, Help("In place of --age: column with a date, YYYY-MM-DD.", "COLUMN")] = None
    anchor: Annotated[
        str | None, Help("With --date: column with the date to count from, or each first date.", "COLUMN|first")
    ] = None
    age_unit: Annotated[str, Help("With --date: what is counted.", "years|days")] = "years"
    released: Annotated[bool, Help("The file is of a release: its codes and ages are labels, as [40-44].")] = False
    query: QueryText = None


@dataclass(frozen=True, kw_only=True)
class AssessClaimsOptions(AssessEventsOptions):
    """Options of ``assess claims``."""

    patients: Patients
    claims: Claims
    plan: Annotated[Path, Help("Which columns tell patients apart and are quasi-identifiers; see init.", "PLAN")]
    released: Annotated[bool, Help("The files are of a release: looked at as they are, without the plan's steps.")] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class FolderOptions(SayingOptions, ReadingWords):
    """Options of both ``verify`` and ``attack``."""

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
        Path | None, Help("Of trajectories and codes, with --original: the file of auxiliary attributes.", "FILE")
    ] = None
    code_hierarchy: Annotated[
        str | None, Help("Of trajectories, with --original: the hierarchy of codes, if a file.", "FILE")
    ] = None
    age_hierarchy: Annotated[
        str | None, Help("Of trajectories, with --original: the hierarchy of ages, if a file.", "FILE")
    ] = None
    delimiter: Annotated[
        str | None, Help("Delimiter of the files given; detected, or that of the release, if not given.", "CHAR")
    ] = None
    missing_as: MissingAs = None


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(FolderOptions):
    """Options of ``verify``."""

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
        Path | None, Help("With --original, of code sets and trajectories: the map written with the release.", "FILE")
    ] = None
    policy: Annotated[
        str | None, Help("Of generalized code sets: the utility policy, where it is a file.", "POLICY")
    ] = None
    accept_unchecked: Annotated[
        tuple[str, ...], Help("What need not be checked, by the name that the command gives it. Repeatable.", "NAME")
    ] = ()
    engine: Annotated[
        str | None, Help("Of a table protected inside a database: its address; it is counted there.", "URL")
    ] = None


@dataclass(frozen=True, kw_only=True)
class AttackOptions(FolderOptions):
    """Options of ``attack``."""

    original: Annotated[
        tuple[str, ...],
        Help("The data it was made from; of a job with several parts PART=INPUT, once for each.", "INPUT"),
    ] = ()
    job: Annotated[Path | None, Help("Of a job, instead: its file, which says where all data are.", "JOB.toml")] = None
    crosswalk: Annotated[
        tuple[str, ...],
        Help("The map written with the release: whose each record is. Of several parts PART=FILE.", "FILE"),
    ] = ()
    targets: Annotated[int, Help("Patients looked for; a random sample where there are more.", "N")] = 1_000
    seed: Annotated[int, Help("Of the sample, and of what is known of each patient.")] = 0
    qi: Annotated[tuple[str, ...], Help("Of a table: a hierarchy that is a file. Repeatable.", "COLUMN=HIERARCHY")] = ()


@dataclass(frozen=True, kw_only=True)
class CompareOptions(SayingOptions):
    """Options of ``compare``."""

    folders: Annotated[tuple[Path, ...], Help("Releases, or jobs, of which each part is taken.", option="DIR...")]
    out: Annotated[Path | None, Help("Write a page with a picture of risk and loss.", "FILE")] = None


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Options of ``export``."""

    folder: Annotated[Path, Help("Release of a table.", option="RELEASE")]
    out: Annotated[Path, Help("The new file; its end says which: .xlsx, .dta or .sav.", option="FILE")]
    quiet: Quiet = False
    verbose: Verbose = False


@dataclass(frozen=True, kw_only=True)
class QueryOptions(SayingOptions):
    """Options of ``query``."""

    folder: Annotated[Path, Help("Release; of a job with several parts, one of them.", option="RELEASE")]
    codes: Annotated[
        tuple[str, ...], Help("Codes that a patient has all of; one question each time. Repeatable.", "CODE,CODE,...")
    ] = ()
    by: Annotated[str | None, Help("Of a table with codes: count by the labels of a column.", "COLUMN")] = None
    where: Annotated[
        tuple[str, ...],
        Help("A condition on a column; of trajectories age=40..49. Repeatable.", "COLUMN=VALUE|LOW..HIGH"),
    ] = ()
    pair: Annotated[
        tuple[str, ...],
        Help(
            "Of trajectories: a code at an age, or from one to another; all are one question. Repeatable.",
            "CODE@AGE|CODE@LOW-HIGH",
        ),
    ] = ()
    hierarchies: Annotated[
        tuple[str, ...],
        Help(
            "The hierarchy file of a column; of trajectories of code or age. Repeatable.", "COLUMN=FILE", "--hierarchy"
        ),
    ] = ()
    privacy: Annotated[
        str | None, Help("Of generalized code sets: the privacy policy, where the release does not have it.", "PRIVACY")
    ] = None
    visit: Visit = None
    csv: Annotated[bool, Help("Write the answers as CSV.")] = False
    unverified: Annotated[bool, Help("Ask without verifying the release first.")] = False


@dataclass(frozen=True, kw_only=True)
class ExploreOptions:
    """Options of ``explore`` beside the options of ``protect``."""

    grid: Annotated[
        tuple[str, ...],
        Help(
            "Values of an option by its key in a job, as k=2,5,11 or weight.age=1,2; apart by ; where they have "
            "commas. Of claims a key of the plan. All combinations are tried; of a table all purposes unless given. "
            "Or frontier: the transformations of a table that no other beats in risk and loss. Repeatable.",
            "KEY=VALUE,...",
        ),
    ] = ()
    out: Annotated[Path, Help("Folder for what is found; the same command goes on.", "DIR")]
    recommend: Annotated[str, Help("The rule by which one is taken.", "knee|best-utility")] = "knee"
    risk_limit: Annotated[float | None, Help("Settings of a higher risk are not recommended, as 0.09.", "RISK")] = None
    keep_releases: Annotated[bool, Help("Write each release to DIR/releases; none is kept otherwise.")] = False


@dataclass(frozen=True, kw_only=True)
class RunJobOptions(SayingOptions):
    """Options of ``run``."""

    job: Annotated[Path, Help("A job file, in TOML; cloister init writes a first one.", option="JOB")]
    dry_run: Annotated[bool, Help("Read and check everything, say what would be done, and write nothing.")] = False
    undecided: Annotated[
        tuple[str, ...],
        Help(
            "Decide the columns of tables that the job gives no role, all of them or one. Repeatable.",
            "drop|sensitive|keep|quasi-identifier|COLUMN=ROLE",
        ),
    ] = ()
    overwrite: Annotated[bool, Help("Replace an earlier release of a job.")] = False
    custodian_dir: Annotated[
        Path | None, Help("Folder, outside the release, for what only the custodian may see.", "DIR")
    ] = None


@dataclass(frozen=True, kw_only=True)
class UiOptions:
    """Options of ``ui``."""

    folder: Annotated[Path, Help("Folder with data, or a release.", option="FOLDER")] = Path()
    port: Annotated[int, Help("Port on this machine; any that is free if 0.", "N")] = 0
    socket: Annotated[Path | None, Help("Answer at a Unix socket here, for you alone, and at no port.", "FILE")] = None
    behind_proxy: Annotated[
        str, Help("The address, https://NAME, by which browsers reach a proxy before it.", "URL")
    ] = ""
    bind: Annotated[str, Help("Address to bind to; another one than this machine's only behind a proxy.", "HOST")] = (
        "127.0.0.1"
    )
    idle: Annotated[float, Help("Stop after so long without use.", "MINUTES")] = 60
    quiet: Quiet = False
    verbose: Verbose = False


@dataclass(frozen=True, kw_only=True)
class InitOptions(SayingOptions, ReadingWords):
    """Options of every ``init``."""


@dataclass(frozen=True, kw_only=True)
class InitJobOptions(InitOptions):
    """Options of ``init`` about one source."""

    data: Annotated["Path | Query", Help(f"{KINDS} file.", option="DATA")]
    out: Annotated[Path, Help("Write the job here; must not exist.", "JOB")]
    k: Annotated[int, Help("Patients that must look the same.", option="-k")] = 5
    query: QueryText = None


@dataclass(frozen=True, kw_only=True)
class InitCodesOptions(InitJobOptions):
    """Options of ``init codes``."""

    id: PatientColumn = None
    codes: AllCodes = None
    code: OneCode = None
    separator: Separator = None


@dataclass(frozen=True, kw_only=True)
class InitClaimsOptions(InitOptions):
    """Options of ``init claims``."""

    patients: Patients
    claims: Claims
    out: Annotated[Path, Help("Write the plan here; must not exist.", "PLAN")]


@dataclass(frozen=True, kw_only=True)
class HierarchyOptions(ReadingWords):
    """Options of every ``hierarchy`` command."""

    hierarchy: Annotated[str, Help("Hierarchy file, or a builder as interval:5,10.", option="FILE|BUILDER")]
    data: Annotated[Path | None, Help("CSV or Parquet file with values of the column.", option="DATA")] = None
    column: Annotated[str | None, Help("The column of DATA; its only one if not given.", "COLUMN")] = None
    as_json: AsJson = False
    verbose: Verbose = False


@dataclass(frozen=True, kw_only=True)
class CheckOptions(HierarchyOptions):
    """Options of ``hierarchy check``."""

    missing_as: Annotated[str | None, Help("How the file writes a missing value.", "VALUE")] = None


@dataclass(frozen=True, kw_only=True)
class PreviewOptions(CheckOptions):
    """Options of ``hierarchy preview``."""

    show_values: Annotated[bool, Help("Print a few labels of each level too: values of the data, as of patients.")] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class BuildOptions(HierarchyOptions):
    """Options of ``hierarchy build``."""

    hierarchy: Annotated[str, Help("A builder, as interval:5,10,20/top=90, or a file.", option="BUILDER|FILE")]
    out: Annotated[Path | None, Help("Write the hierarchy file here; must not exist.", "FILE")] = None
    policy: Annotated[
        int | None,
        Help(
            "Write a utility policy for --policy of codes instead: the codes that share a label at this level.", "LEVEL"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Options of ``demo``."""

    folder: Annotated[Path, Help("Where to put data and release.", option="[DIR]")] = Path("demo")
    patients: Annotated[int, Help("Patients of the example hospital, at least 20.", "N")] = 1000
    seed: Annotated[int, Help("The same seed gives the same hospital.")] = 0
    quiet: Quiet = False
    verbose: Verbose = False
