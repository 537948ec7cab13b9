"""Settings of every ``protect`` command, whatever the shape, and settings common to several shapes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from .constraints import COLUMN, FILE, TEXT, UTILITY_POLICY, Described, Interval, WordsOr
from .declaration import Help, Key, Keywords
from .reading import ReadingWords

if TYPE_CHECKING:
    from cloister.io.query import Query

K, SEED, THREADS = Interval(int, 2), Interval(int, 0), Interval(int, 1)
SEED_OF_NUMPY = Interval(int, 0, 2**32 - 1)
DISASSOCIATION = "disassociation"
CODE_METHODS = (DISASSOCIATION, "cba", "ugaclip", "generalization", "apriori")
"""The methods for code sets; all but the first generalize codes."""

POLICY = WordsOr("level:1, level:2, level:3, sim:5, sup:0.625, gwas or the name of a JSON file", UTILITY_POLICY)
ENGINE = Described("auto, memory, duckdb, spark or the address of a database")

MissingAs = Annotated[str | None, Help("How hierarchy files write a missing value.", "VALUE"), TEXT, Key()]
Visit = Annotated[
    str | None, Help("For --privacy visits:FILE: column that identifies visits.", "COLUMN"), COLUMN, Key()
]
PatientColumn = Annotated[str | None, Help("Column that identifies patients.", "COLUMN"), COLUMN]
AllCodes = Annotated[
    str | None, Help("Column with all codes of a patient (default: detected).", "COLUMN"), COLUMN, Key()
]
OneCode = Annotated[str | None, Help("Column with one code per line (default: detected).", "COLUMN"), COLUMN, Key()]
AgeColumn = Annotated[str | None, Help("Column with the age, a number of at least 0.", "COLUMN"), COLUMN, Key()]
DateColumn = Annotated[str | None, Help("Instead of --age: column with a date, YYYY-MM-DD.", "COLUMN"), COLUMN, Key()]
Separator = Annotated[
    str | None,
    Help("Separators of codes in a cell, in addition to spaces (default: commas, semicolons and bars).", "TEXT"),
    Described("a text, as ;"),
    Key(),
]
Threads = Annotated[
    int | None, Help("Number of threads (default: all cores). The result does not depend on it.", "N"), THREADS
]
QueryText = Annotated[
    str | None,
    Help(
        "Read the result of this SELECT (or of a .sql file). DATA is then the address of a "
        "database: postgresql://HOST/DATABASE, duckdb:PATH. User and password come from the "
        "environment.",
        "SQL",
    ),
]
AsJson = Annotated[bool, Help("Print one JSON object.", option="--json")]
Quiet = Annotated[bool, Help("Print errors only.", option="--quiet -q")]
Verbose = Annotated[bool, Help("On errors, print the location in the code.", option="--verbose -v")]


@dataclass(frozen=True, kw_only=True)
class RunOptions(ReadingWords):
    """Where a release is written, how its data are read, and how the run goes; see the help of ``protect``."""

    out: Annotated[Path, Help("Folder for the release; must not exist.", "DIR")]
    crosswalk: Annotated[
        Path | None, Help("File for the confidential map from released to original ids.", "FILE"), FILE, Key()
    ] = None
    overwrite: Annotated[bool, Help("Replace an earlier release.")] = False
    custodian_dir: Annotated[Path | None, Help("Folder outside the release for confidential figures.", "DIR")] = None
    attack: Annotated[bool, Help("Simulate attacks on the release and report the results.")] = False
    accept_empty: Annotated[
        bool, Help("Release even if all quasi-identifiers are suppressed or the loss is above 0.9."), Key()
    ] = False
    seed: Annotated[
        int | None, Help("Seed of the risk simulations (default: the seed of the plan)."), SEED_OF_NUMPY
    ] = None
    threads: Threads = None
    as_json: AsJson = False
    quiet: Quiet = False
    verbose: Annotated[bool, Help("Print details; on errors, the location in the code.", option="--verbose -v")] = False
    examples: ClassVar[tuple[str, str]]  # a command that protects such data, and one that explores them

    @classmethod
    def is_whole(cls, _keywords: Keywords) -> bool:
        """Whether a release with these settings links all codes of a patient, in one row or in rows of one patient."""
        return True  # of such releases of one source no two are handed over together


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(RunOptions):
    """The same, of one file of data or one query, protected with a k."""

    data: "Path | Query"
    k: int | None
    id: PatientColumn = None
    query: QueryText = None
    seed: Annotated[int, SEED] = 0
    engine: str = "auto"
    placed: ClassVar[Mapping[str, str]] = {"query": "missing", "engine": "missing"}
    """Settings that are shown right before another one; see `settings_of`."""


@dataclass(frozen=True, kw_only=True)
class CodedOptions(ReleaseOptions):
    """The same, of codes of patients, which can be protected part by part on Spark."""

    k: Annotated[
        int, Help("Minimum number of candidates for an adversary who knows codes of a patient.", option="-k"), K, Key()
    ]
    seed: Annotated[int, Help("Seed of random numbers. The protection does not depend on it."), SEED] = 0
    engine: Annotated[
        str,
        Help(
            "Where to run: this process, or Spark (spark, local[N], spark://HOST:PORT, sc://HOST:PORT).",
            "auto|memory|spark|MASTER|sc://HOST",
        ),
        Described("auto, memory or spark"),
        Key(),
    ] = "auto"
