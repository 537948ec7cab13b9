"""What every ``protect`` takes, whatever the shape; and settings that several shapes share."""

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
POLICY = WordsOr("level:1, level:2, level:3, sim:5, sup:0.625, gwas or the name of a JSON file", UTILITY_POLICY)
ENGINE = Described("auto, memory, duckdb, spark or the address of a database")

MissingAs = Annotated[str | None, Help("How hierarchy files write a missing value.", "VALUE"), TEXT, Key()]
Visit = Annotated[
    str | None, Help("Of --privacy visits:FILE: the column that tells visits apart.", "COLUMN"), COLUMN, Key()
]
PatientColumn = Annotated[str | None, Help("Column that identifies patients.", "COLUMN"), COLUMN]
AllCodes = Annotated[
    str | None, Help("Column with all codes of a patient; recognised if not given.", "COLUMN"), COLUMN, Key()
]
OneCode = Annotated[str | None, Help("Column with one code a line; recognised if not given.", "COLUMN"), COLUMN, Key()]
Separator = Annotated[
    str | None,
    Help("What separates codes in a cell besides spaces; commas, semicolons and bars if not given.", "TEXT"),
    Described("a text, as ;"),
    Key(),
]
Threads = Annotated[int | None, Help("Threads; all cores if not given. Never changes the answer.", "N"), THREADS]
QueryText = Annotated[
    str | None,
    Help(
        "DATA is the address of a database (postgresql://HOST/DATABASE, duckdb:PATH): read what this SELECT, or "
        "the one in a file that ends in .sql, gives. User and password come from the environment.",
        "SQL",
    ),
]
AsJson = Annotated[bool, Help("Print one JSON object on standard output.", option="--json")]
Quiet = Annotated[bool, Help("Print nothing but errors.", option="--quiet -q")]
Verbose = Annotated[bool, Help("Show places in the code on errors.", option="--verbose -v")]


@dataclass(frozen=True, kw_only=True)
class RunOptions(ReadingWords):
    """Where a release is written, how its data are read, and how the run goes; see the help of ``protect``."""

    out: Annotated[Path, Help("Folder of the release; must not exist.", "DIR")]
    crosswalk: Annotated[
        Path | None, Help("Write the secret map from released to original ids.", "FILE"), FILE, Key()
    ] = None
    overwrite: Annotated[bool, Help("Replace an earlier release.")] = False
    custodian_dir: Annotated[
        Path | None, Help("Folder, outside the release, for what only the custodian may see.", "DIR")
    ] = None
    attack: Annotated[bool, Help("Attack the release before it appears, and report what was found.")] = False
    accept_empty: Annotated[
        bool, Help("Release although nothing useful is left: all quasi-identifiers empty, or a loss above 0.9."), Key()
    ] = False
    seed: Annotated[
        int | None, Help("Of the simulations that measure the risk; that of the plan if not given."), SEED_OF_NUMPY
    ] = None
    threads: Threads = None
    as_json: AsJson = False
    quiet: Quiet = False
    verbose: Annotated[bool, Help("Say more; show places in the code on errors.", option="--verbose -v")] = False
    examples: ClassVar[tuple[str, str]]  # a command that protects such data, and one that explores them

    @classmethod
    def is_whole(cls, _keywords: Keywords) -> bool:
        """Whether a release by these settings has all codes of a patient in one row, or in rows of one patient."""
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
    """What stands before which other setting, as people see them; see `settings_of`."""


@dataclass(frozen=True, kw_only=True)
class CodedOptions(ReleaseOptions):
    """The same, of codes of patients, which can be protected part by part on Spark."""

    k: Annotated[
        int,
        Help("Patients, or candidates, that must be left to whoever knows codes of a patient.", option="-k"),
        K,
        Key(),
    ]
    seed: Annotated[int, Help("Of what is drawn at random; nothing random protects."), SEED] = 0
    engine: Annotated[
        str,
        Help(
            "Where the work is done: here, or on Spark (spark, local[N], spark://HOST:PORT, sc://HOST:PORT).",
            "auto|memory|spark|MASTER|sc://HOST",
        ),
        Described("auto, memory or spark"),
        Key(),
    ] = "auto"
