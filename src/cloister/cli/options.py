"""The options of all commands except ``protect``, each declared once; see `cloister.settings.declaration`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cloister.settings.declaration import Help
from cloister.settings.reading import ReadingWords
from cloister.settings.run_options import (
    AgeColumn,
    AllCodes,
    AsJson,
    DateColumn,
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

Id = Annotated[str | None, Help("Column that identifies patients.", "COLUMN")]
Code = Annotated[str | None, Help("Column with one code per line.", "COLUMN")]
Patients = Annotated[Path, Help("CSV (also gzip'd) or Parquet, one row per patient.", option="PATIENTS")]
Claims = Annotated[Path, Help("CSV or Parquet, any number of rows per patient.", option="CLAIMS")]
KINDS = "CSV (also gzip'd), Parquet, Excel, Stata, SPSS or SAS"


ColumnFiles = Annotated[tuple[str, ...], Help("Hierarchy file of a column. Repeatable.", "COLUMN=FILE", "--hierarchy")]


@dataclass(frozen=True, kw_only=True)
class SayingOptions:
    """Options about what a command prints."""

    as_json: AsJson = False
    quiet: Quiet = False
    verbose: Verbose = False


@dataclass(frozen=True, kw_only=True)
class AssessOptions(SayingOptions, ReadingWords):
    """Options of every ``assess``: how files are read, and where numbers go."""

    out: Annotated[Path | None, Help("New JSON file for the figures, readable by its owner only.", "FILE")] = None


@dataclass(frozen=True, kw_only=True)
class AssessTableOptions(AssessOptions):
    """Options of ``assess table``."""

    data: Annotated["Path | Query", Help(f"{KINDS}; one row a patient.", option="DATA")]
    qi: Annotated[
        tuple[str, ...],
        Help(
            "Quasi-identifier: a column that adversaries know. Repeatable; without one, only "
            "identifiers are searched for.",
            "COLUMN",
        ),
    ] = ()
    population: Annotated[Path | None, Help("Table of the population, patients included.", "FILE")] = None
    sampling_fraction: Annotated[
        float | None, Help("Instead of a population: the patients as a share of it (random sample).", "SHARE")
    ] = None
    sampling_weights: Annotated[
        str | None, Help("Instead of both: column that says how many people a record of a survey represents.", "COLUMN")
    ] = None
    threshold: Annotated[str, Help("Acceptable risk: a number, hhp (0.05) or ema (0.09).", "RISK")] = "0.2"
    largest_unique: Annotated[
        int | None,
        Help("Search for records that are unique by at most N columns (default 3, or fewer for large data).", "N"),
    ] = None
    zip_census: Annotated[
        str, Help("Census of the lists of ZIP areas with 20,000 people or fewer.", "2000|2010|both")
    ] = "both"
    query: QueryText = None
    threads: Threads = None


@dataclass(frozen=True, kw_only=True)
class AssessEventsOptions(AssessOptions):
    """Options of ``assess`` where attackers know some of a patient's events."""

    m: Annotated[tuple[str, ...], Help("Number of known items of a patient (default 1,2,3,5).", "N,N,...", "-m")] = ()
    k: Annotated[int, Help("Minimum number of patients for each set of known items.", option="-k")] = 5
    repeats: Annotated[bool, Help("Adversaries also know how often an item was recorded.")] = False
    seed: Annotated[int, Help("Seed of the samples, which are used for more than three known items.")] = 0


@dataclass(frozen=True, kw_only=True)
class AssessCodesOptions(AssessEventsOptions):
    """Options of ``assess codes``."""

    data: Annotated["Path | Query", Help(f"{KINDS}: id,codes or codes (wide), or id,code (long).", option="DATA")]
    id: Id = None
    codes: Annotated[str | None, Help("Column with all codes of a patient, separated by spaces.", "COLUMN")] = None
    code: Code = None
    drop_empty: Annotated[bool, Help("Suppress patients without codes.")] = False
    query: QueryText = None


@dataclass(frozen=True, kw_only=True)
class AssessTrajectoriesOptions(AssessEventsOptions):
    """Options of ``assess trajectories``."""

    data: Annotated["Path | Query", Help(f"{KINDS}: id,code,age, one pair a line.", option="DATA")]
    id: Id = None
    code: Code = None
    age: AgeColumn = None
    date: DateColumn = None
    anchor: Annotated[
        str | None,
        Help(
            "With --date: column with the date from which ages count (default: the first date of each patient).",
            "COLUMN|first",
        ),
    ] = None
    age_unit: Annotated[str, Help("With --date: unit of ages.", "years|days")] = "years"
    released: Annotated[bool, Help("The file is a release: its codes and ages are labels such as [40-44].")] = False
    query: QueryText = None


@dataclass(frozen=True, kw_only=True)
class AssessClaimsOptions(AssessEventsOptions):
    """Options of ``assess claims``."""

    patients: Patients
    claims: Claims
    plan: Annotated[Path, Help("Plan that names ids and quasi-identifiers; see init.", "PLAN")]
    released: Annotated[bool, Help("The files are a release: skip the steps of the plan.")] = False


@dataclass(frozen=True, kw_only=True)
class FolderOptions(SayingOptions, ReadingWords):
    """Options of both ``verify`` and ``attack``."""

    folder: Annotated[Path, Help("Folder of a release or of a job.", option="DIR")]
    claims: Annotated[
        Path | None, Help("For claims, with --original PATIENTS: the file of claims.", option="[CLAIMS]")
    ] = None
    plan: Annotated[Path | None, Help("For claims, with --original: the plan of the release.", "PLAN")] = None
    hierarchies: Annotated[
        Path | None, Help("For tables: folder of hierarchy files, for the comparison with the original.", "DIR")
    ] = None
    privacy: Annotated[
        str | None,
        Help("For generalized code sets: the privacy policy, which the release does not contain.", "PRIVACY"),
    ] = None
    visit: Visit = None
    attributes: Annotated[
        Path | None, Help("For trajectories and codes, with --original: the file of auxiliary attributes.", "FILE")
    ] = None
    code_hierarchy: Annotated[
        str | None, Help("For trajectories, with --original: the file of the code hierarchy.", "FILE")
    ] = None
    age_hierarchy: Annotated[
        str | None, Help("For trajectories, with --original: the file of the age hierarchy.", "FILE")
    ] = None
    detail_hierarchy: Annotated[
        str | None, Help("For trajectories, with --original: the file of the hierarchy of details.", "FILE")
    ] = None
    delimiter: Annotated[
        str | None, Help("Delimiter of the given files (default: detected, or that of the release).", "CHAR")
    ] = None
    missing_as: MissingAs = None


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(FolderOptions):
    """Options of ``verify``."""

    original: Annotated[Path | None, Help("Original data to compare with.", "INPUT")] = None
    k: Annotated[int | None, Help("Expected minimum class size.", option="-k")] = None
    m: Annotated[int | None, Help("For codes: expected number of codes an adversary may know.", option="-m")] = None
    qi: Annotated[
        tuple[str, ...],
        Help("Expected quasi-identifier; with --original also its hierarchy file. Repeatable.", "COLUMN[=HIERARCHY]"),
    ] = ()
    population: Annotated[
        tuple[Path, ...], Help("Population table of a privacy model, by the name of its file. Repeatable.", "FILE")
    ] = ()
    crosswalk: Annotated[
        Path | None, Help("For code sets and trajectories, with --original: the crosswalk of the release.", "FILE")
    ] = None
    policy: Annotated[str | None, Help("For generalized code sets: the file of the utility policy.", "POLICY")] = None
    accept_unchecked: Annotated[
        tuple[str, ...], Help("Accept that a check was not possible, by the name in the output. Repeatable.", "NAME")
    ] = ()
    engine: Annotated[
        str | None,
        Help(
            "Address of the database that has the protected table; or Spark, to check a released table there too.",
            "URL",
        ),
    ] = None
    verbose: Annotated[
        bool, Help("List every check; on errors, print the location in the code.", option="--verbose -v")
    ] = False


@dataclass(frozen=True, kw_only=True)
class AttackOptions(FolderOptions):
    """Options of ``attack``."""

    claims: Annotated[
        Path | None,
        Help(
            "A second release of the same patients; for claims, with --original PATIENTS, the file of claims.",
            option="[RELEASE|CLAIMS]",
        ),
    ] = None
    original: Annotated[
        tuple[str, ...], Help("Original data; for several parts or releases NAME=INPUT, once for each.", "INPUT")
    ] = ()
    job: Annotated[Path | None, Help("For a job: the job file, which names all data.", "JOB.toml")] = None
    crosswalk: Annotated[
        tuple[str, ...], Help("Crosswalk of the release; for several parts or releases NAME=FILE.", "FILE")
    ] = ()
    summaries: Annotated[
        Path | None,
        Help("For trajectories: the patients' ids and the demographics in their discharge summaries.", "FILE"),
    ] = None
    register: Annotated[
        Path | None, Help("With --summaries: a public register of the same columns, one row per person.", "FILE")
    ] = None
    targets: Annotated[int, Help("Maximum number of patients to search for (random sample).", "N")] = 1_000
    seed: Annotated[int, Help("Seed of the sample and of the known items.")] = 0
    qi: Annotated[tuple[str, ...], Help("For tables: hierarchy file of a column. Repeatable.", "COLUMN=HIERARCHY")] = ()


@dataclass(frozen=True, kw_only=True)
class CompareOptions(SayingOptions):
    """Options of ``compare``."""

    folders: Annotated[tuple[Path, ...], Help("Releases, or jobs with all their parts.", option="DIR...")]
    out: Annotated[Path | None, Help("New HTML page with a chart of risk and loss.", "FILE")] = None


@dataclass(frozen=True, kw_only=True)
class ExportOptions(SayingOptions):
    """Options of ``export``."""

    folder: Annotated[Path, Help("Release of a table.", option="RELEASE")]
    out: Annotated[Path, Help("New file: .xlsx, .dta or .sav.", "FILE")]


@dataclass(frozen=True, kw_only=True)
class QueryOptions(SayingOptions):
    """Options of ``query``."""

    folder: Annotated[Path, Help("Release, or one part of a job.", option="RELEASE")]
    codes: Annotated[
        tuple[str, ...], Help("Count patients with all of these codes. Repeatable, one query each.", "CODE,CODE,...")
    ] = ()
    by: Annotated[str | None, Help("For tables with codes: count by the labels of a column.", "COLUMN")] = None
    outcome: Annotated[
        tuple[str, ...],
        Help(
            "For tables with codes: count every code, or those of --codes, against this outcome, with bounds of the "
            "odds ratio. Repeatable; all conditions form one outcome.",
            "COLUMN=VALUE|LOW..HIGH",
        ),
    ] = ()
    where: Annotated[
        tuple[str, ...],
        Help("Condition on a column; for trajectories age=40..49. Repeatable.", "COLUMN=VALUE|LOW..HIGH"),
    ] = ()
    pair: Annotated[
        tuple[str, ...],
        Help(
            "For trajectories: a code at an age or in an age range, and perhaps with a detail (CODE@@DETAIL "
            "at any age); all pairs form one query. Repeatable.",
            "CODE[@AGE|@LOW-HIGH][@DETAIL]",
        ),
    ] = ()
    hierarchies: Annotated[
        tuple[str, ...],
        Help("Hierarchy file of a column; for trajectories of code or age. Repeatable.", "COLUMN=FILE", "--hierarchy"),
    ] = ()
    privacy: Annotated[
        str | None,
        Help("For generalized code sets: the privacy policy, if the release does not contain it.", "PRIVACY"),
    ] = None
    visit: Visit = None
    csv: Annotated[bool, Help("Write answers as CSV.")] = False
    unverified: Annotated[bool, Help("Skip the verification of the release.")] = False


@dataclass(frozen=True, kw_only=True)
class ImputeOptions(SayingOptions):
    """Options of ``impute``."""

    folder: Annotated[Path, Help("Release of a table, of trajectories or of claims.", option="RELEASE")]
    n: Annotated[int, Help("Number of complete tables, 1 to 1000.", "N", "-n")] = 20
    seed: Annotated[int, Help("Seed; equal seeds give equal tables.")] = 0
    out: Annotated[Path, Help("New folder for the tables.", "DIR")]
    format: Annotated[str, Help("Format of the files.", "csv|parquet")] = "csv"
    hierarchies: ColumnFiles = ()


@dataclass(frozen=True, kw_only=True)
class ReplicateOptions(SayingOptions, ReadingWords):
    """Options of ``replicate``."""

    folder: Annotated[Path, Help("Release of a table.", option="RELEASE")]
    original: Annotated[str, Help("Original data.", "INPUT")]
    analysis: Annotated[
        tuple[str, ...],
        Help(
            "Model and formula: linear, logistic, poisson, cox, kaplan-meier or table, as cox: Surv(days, died) "
            "~ age + sex. Repeatable.",
            "MODEL:FORMULA",
        ),
    ]
    n: Annotated[int, Help("Number of imputed tables, 2 to 1000.", "N", "-n")] = 10
    seed: Annotated[int, Help("Seed of the imputation.")] = 0
    out: Annotated[Path | None, Help("New CSV file for all terms, readable by its owner only.", "FILE")] = None
    hierarchies: ColumnFiles = ()


@dataclass(frozen=True, kw_only=True)
class ExploreOptions:
    """Options of ``explore`` in addition to those of ``protect``."""

    grid: Annotated[
        tuple[str, ...],
        Help(
            "Values of a setting by its key in a job, for example k=2,5,11 or weight.age=1,2 (use ; "
            "if values contain commas); for claims a key of the plan. All combinations are compared "
            "(default for tables: all purposes). Or frontier: all transformations of a table for "
            "which no other has both lower risk and lower loss. Repeatable.",
            "KEY=VALUE,...",
        ),
    ] = ()
    out: Annotated[Path, Help("Folder for the results; the same command continues an interrupted run.", "DIR")]
    recommend: Annotated[str, Help("Rule for the recommendation.", "knee|best-utility")] = "knee"
    risk_limit: Annotated[float | None, Help("Maximum risk of a recommended setting, for example 0.09.", "RISK")] = None
    keep_releases: Annotated[bool, Help("Write each release to DIR/releases.")] = False


@dataclass(frozen=True, kw_only=True)
class RunJobOptions(SayingOptions):
    """Options of ``run``."""

    job: Annotated[Path, Help("Job file in TOML; cloister init writes a first one.", option="JOB")]
    dry_run: Annotated[bool, Help("Read and check everything, print the plan, and write nothing.")] = False
    undecided: Annotated[
        tuple[str, ...],
        Help(
            "Role of columns without a role in the job: of all, or of one column. Repeatable.",
            "drop|sensitive|keep|quasi-identifier|COLUMN=ROLE",
        ),
    ] = ()
    out: Annotated[Path | None, Help("Folder for the release (default: the output of the job).", "DIR")] = None
    overwrite: Annotated[bool, Help("Replace an earlier release of a job.")] = False
    custodian_dir: Annotated[Path | None, Help("Folder outside the release for confidential figures.", "DIR")] = None


@dataclass(frozen=True, kw_only=True)
class UiOptions(SayingOptions):
    """Options of ``ui``."""

    folder: Annotated[Path, Help("Folder with data or releases.", option="FOLDER")] = Path()
    port: Annotated[int, Help("Port on this machine; 0 chooses a free one.", "N")] = 0
    socket: Annotated[Path | None, Help("Unix socket to use instead of a port, accessible to you only.", "FILE")] = None
    behind_proxy: Annotated[str, Help("Address https://NAME of a proxy in front of the application.", "URL")] = ""
    bind: Annotated[str, Help("Address to bind to; other addresses than this machine's need a proxy.", "HOST")] = (
        "127.0.0.1"
    )
    idle: Annotated[float, Help("Stop after this time without use.", "MINUTES")] = 60
    no_browser: Annotated[bool, Help("Print the address only, and open no browser.")] = False


@dataclass(frozen=True, kw_only=True)
class InitOptions(SayingOptions, ReadingWords):
    """Options of every ``init``."""

    verbose: Annotated[
        bool,
        Help("List every column of a wide table; on errors, print the location in the code.", option="--verbose -v"),
    ] = False


@dataclass(frozen=True, kw_only=True)
class InitJobOptions(InitOptions):
    """Options of ``init`` about one source."""

    data: Annotated["Path | Query", Help(f"{KINDS} file.", option="DATA")]
    out: Annotated[Path, Help("New job file; must not exist.", "JOB")] = Path("job.toml")
    k: Annotated[
        int, Help("Minimum number of patients that share each combination of quasi-identifiers.", option="-k")
    ] = 5
    query: QueryText = None


@dataclass(frozen=True, kw_only=True)
class InitCodesOptions(InitJobOptions):
    """Options of ``init codes``."""

    id: PatientColumn = None
    codes: AllCodes = None
    code: OneCode = None
    separator: Separator = None


@dataclass(frozen=True, kw_only=True)
class InitTrajectoriesOptions(InitJobOptions):
    """Options of ``init trajectories``."""

    id: PatientColumn = None
    code: OneCode = None
    age: AgeColumn = None
    date: DateColumn = None


@dataclass(frozen=True, kw_only=True)
class InitClaimsOptions(InitOptions):
    """Options of ``init claims``."""

    patients: Patients
    claims: Claims
    out: Annotated[Path, Help("New plan file; must not exist.", "PLAN")] = Path("plan.toml")


@dataclass(frozen=True, kw_only=True)
class HierarchyOptions(ReadingWords):
    """Options of every ``hierarchy`` command."""

    hierarchy: Annotated[str, Help("Hierarchy file, or a builder such as interval:5,10.", option="FILE|BUILDER")]
    data: Annotated[Path | None, Help("CSV or Parquet file with values of the column.", option="DATA")] = None
    column: Annotated[str | None, Help("Column of DATA (default: its only column).", "COLUMN")] = None
    as_json: AsJson = False
    verbose: Verbose = False


@dataclass(frozen=True, kw_only=True)
class CheckOptions(HierarchyOptions):
    """Options of ``hierarchy check``."""

    missing_as: Annotated[str | None, Help("How the file writes a missing value.", "VALUE")] = None


@dataclass(frozen=True, kw_only=True)
class PreviewOptions(CheckOptions):
    """Options of ``hierarchy preview``."""

    show_values: Annotated[bool, Help("Print example labels of each level (they contain values of the data).")] = False


@dataclass(frozen=True, kw_only=True)
class BuildOptions(HierarchyOptions):
    """Options of ``hierarchy build``."""

    hierarchy: Annotated[
        str,
        Help(
            "Builder such as interval:5,10,20/top=90, a file, or omop:FOLDER (vocabulary tables).",
            option="BUILDER|FILE",
        ),
    ]
    out: Annotated[Path | None, Help("New hierarchy file; must not exist.", "FILE")] = None
    policy: Annotated[
        int | None, Help("Write a utility policy instead: the codes that share a label at this level.", "LEVEL")
    ] = None


@dataclass(frozen=True, kw_only=True)
class DemoOptions(SayingOptions):
    """Options of ``demo``."""

    folder: Annotated[Path, Help("Folder for data and release.", option="[DIR]")] = Path("demo")
    patients: Annotated[int, Help("Number of patients of the example hospital, at least 20.", "N")] = 1000
    seed: Annotated[int, Help("Seed of the example hospital.")] = 0
