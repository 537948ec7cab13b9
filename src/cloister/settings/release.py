"""What every ``protect`` can be told, whatever the shape."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from .declared import Help, Key

if TYPE_CHECKING:
    from cloister.io.query import Query

LIST = "a list of columns"
COLUMN = "the name of a column"
FILE = "the name of a file"
WHOLE = "a whole number from 1"
YES_OR_NO = "true or false"
POLICY = "level:1, level:2, level:3, sim:5, sup:0.625, gwas or the name of a JSON file"
ENGINE = "auto, memory, duckdb, spark or the address of a database"

Missing = Annotated[tuple[str, ...], Help("Read this text as a missing value, as ? or NA. Repeatable.", "TEXT")]
MissingAs = Annotated[str | None, Help("How hierarchy files write a missing value.", "VALUE"), Key("a text")]
Encoding = Annotated[str | None, Help("Encoding of the CSV files; detected if not given.", "NAME")]
Visit = Annotated[
    str | None, Help("Of --privacy visits:FILE: the column that tells visits apart.", "COLUMN"), Key(COLUMN)
]
AsJson = Annotated[bool, Help("Print one JSON object on standard output.", option="--json")]
Quiet = Annotated[bool, Help("Print nothing but errors.", option="--quiet -q")]
Verbose = Annotated[bool, Help("Show places in the code on errors.", option="--verbose -v")]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where a release is written, how its data are read, and how the run goes; see the help of ``protect``."""

    out: Annotated[Path, Help("Folder of the release; must not exist.", "DIR")]
    missing: Missing = ()
    crosswalk: Annotated[
        Path | None, Help("Write the secret map from released to original ids.", "FILE"), Key(FILE)
    ] = None
    overwrite: Annotated[bool, Help("Replace an earlier release.")] = False
    internal: Annotated[
        Path | None, Help("Folder, outside the release, for what only the custodian may see.", "DIR")
    ] = None
    attack: Annotated[bool, Help("Attack the release before it appears, and report what was found.")] = False
    delimiter: Annotated[str | None, Help("Delimiter of the CSV files; detected if not given.", "CHAR")] = None
    encoding: Encoding = None
    seed: Annotated[int | None, Help("Of the simulations that measure the risk; that of the plan if not given.")] = None
    threads: Annotated[int | None, Help("Threads; all cores if not given. Never changes the answer.", "N")] = None
    as_json: AsJson = False
    quiet: Quiet = False
    verbose: Annotated[bool, Help("Say more; show places in the code on errors.", option="--verbose -v")] = False


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(RunOptions):
    """The same, of one file of data or one query, protected with a k."""

    data: "Path | Query"
    k: int
    id: Annotated[str | None, Help("Column that identifies patients.", "COLUMN")] = None
    query: Annotated[
        str | None,
        Help(
            "DATA is the address of a database (postgresql://HOST/DATABASE, duckdb:PATH): read what this SELECT, or "
            "the one in a file that ends in .sql, gives. User and password come from the environment.",
            "SQL",
        ),
    ] = None
    seed: int = 0
    engine: str = "auto"
    placed: ClassVar[Mapping[str, str]] = {"query": "delimiter", "engine": "as_json"}
    """What stands before which other setting, as people see them; see `settings_of`."""


@dataclass(frozen=True, kw_only=True)
class CodedOptions(ReleaseOptions):
    """The same, of codes of patients, which can be protected part by part on Spark."""

    k: Annotated[
        int,
        Help("Patients, or candidates, that must be left to whoever knows codes of a patient.", option="-k"),
        Key("a whole number from 2", holds=lambda k: k >= 2),
    ]
    seed: Annotated[int, Help("Of what is drawn at random; nothing random protects.")] = 0
    engine: Annotated[
        str,
        Help(
            "Where the work is done: here, or on Spark (spark, local[N], spark://HOST:PORT, sc://HOST:PORT).",
            "auto|memory|spark|MASTER|sc://HOST",
        ),
        Key("auto, memory or spark"),
    ] = "auto"
