"""What a job asks for, as its TOML file states it. None: not said, so that the command line's own default holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from cloister.io.query import Query, query_text
from cloister.typed_toml import STRICT, key

LIST = "a list of columns"
COLUMN = "the name of a column"
FILE = "the name of a file"
OF_FILE = "the name of a CSV or Parquet file, from the folder of the job"
OF_URL = "the address of a database, as postgresql://host/database or duckdb:PATH"
OF_QUERY = "one SELECT, or the name of a file that ends in .sql"
WHOLE = "a whole number from 1"
YES_OR_NO = "true or false"
ENGINE = "auto, memory, duckdb, spark or the address of a database"
POLICY = "level:1, level:2, level:3, sim:5, sup:0.625, gwas or the name of a JSON file"
NAME = "letters, digits and . _ -, at most 64, the first no sign"


@dataclass(frozen=True)
class FileSource:
    """A file of data, or a query to a database, and how it is read."""

    __pydantic_config__: ClassVar = STRICT
    file: str = key("", OF_FILE)
    url: str | None = field(default=None, repr=False, metadata={"allowed": OF_URL})
    query: str | None = field(default=None, repr=False, metadata={"allowed": OF_QUERY})
    id: str | None = key(None, COLUMN)
    encoding: str | None = key(None, "the name of an encoding")
    delimiter: str | None = key(None, "one character")
    missing: tuple[str, ...] = key((), "a list of texts")

    def data(self, name: str) -> Path | Query:
        """Where the data are: the file, from the folder of the job, or the query, called as the source is."""
        if self.url is None or self.query is None:
            return Path(self.file)
        return Query(self.url, query_text(self.query), name)


@dataclass(frozen=True)
class TablePart:
    """A table to be protected; see ``cloister protect table``."""

    __pydantic_config__: ClassVar = STRICT
    shape: Literal["table"] = field(metadata={"allowed": "table"})
    source: str = field(metadata={"allowed": "the name of a section [sources.NAME]"})
    name: str | None = key(None, NAME)
    k: int | None = key(None, "a whole number from 2")
    qi: Mapping[str, str] = field(default_factory=dict, metadata={"allowed": "a hierarchy for each quasi-identifier"})
    hierarchies: str | None = key(None, "the name of a folder of hierarchy files")
    rules: tuple[str, ...] = key((), 'a list of rules, as "l-diversity:diagnosis=2"')
    suppression: float | None = key(None, "a number from 0 to 1")
    loss: str | None = key(None, "the name of a loss, as iyengar")
    weight: Mapping[str, float] = field(default_factory=dict, metadata={"allowed": "a number for each column"})
    search: str | None = key(None, "the name of a search, as optimal")
    time_limit: float | None = key(None, "a number of seconds above 0")
    levels: Mapping[str, int] = field(default_factory=dict, metadata={"allowed": "a level from 0 for each column"})
    like: str | None = key(None, "the folder of an earlier release")
    codes: str | None = key(None, "the name of a column with codes, or of a section [sources.NAME] that has them")
    m: int | None = key(None, WHOLE)
    policy: str | None = key(None, POLICY)
    max_cluster_size: int | None = key(None, WHOLE)
    merge_classes: float | None = key(None, "a loss from 0 to 1")
    method: Literal["full-domain", "mondrian", "cluster"] | None = key(None, "full-domain, mondrian or cluster")
    local_recoding: bool | None = key(None, YES_OR_NO)
    microaggregate: Mapping[str, Literal["mean", "median"]] = field(
        default_factory=dict, metadata={"allowed": "mean or median for each column"}
    )
    drop: tuple[str, ...] = key((), LIST)
    sensitive: tuple[str, ...] = key((), LIST)
    keep: tuple[str, ...] = key((), LIST)
    rest: Literal["error", "drop", "keep"] | None = key(None, "error, drop or keep")
    missing_as: str | None = key(None, "a text")
    ids: str | None = key(None, "number or drop")
    crosswalk: str | None = key(None, FILE)
    keep_suppressed: bool | None = key(None, YES_OR_NO)
    escape_formulas: bool | None = key(None, YES_OR_NO)
    values_to: str | None = key(None, FILE)
    table: str | None = key(None, "the name of a table to be made in the database")
    engine: str | None = key(None, ENGINE)


@dataclass(frozen=True)
class CodesPart:
    """Code sets to be protected; see ``cloister protect codes``."""

    __pydantic_config__: ClassVar = STRICT
    shape: Literal["codes"] = field(metadata={"allowed": "codes"})
    source: str = field(metadata={"allowed": "the name of a section [sources.NAME]"})
    name: str | None = key(None, NAME)
    k: int | None = key(None, "a whole number from 2")
    m: int | None = key(None, WHOLE)
    method: Literal["disassociation", "cba", "ugaclip", "apriori"] | None = key(
        None, "disassociation, cba, ugaclip or apriori"
    )
    policy: str | None = key(None, POLICY)
    max_cluster_size: int | None = key(None, WHOLE)
    refine: Literal["tree", "paper", "off"] | None = key(None, "tree, paper or off")
    safe: Literal["off", "report", "enforce"] | None = key(None, "off, report or enforce")
    safe_threshold: float | None = key(None, "a number above 0 and at most 1")
    sensitive: tuple[str, ...] = key((), "a list of codes")
    diversity: int | None = key(None, "a whole number from 2")
    privacy: str | None = key(None, "all:2, records, visits:FILE or the name of a JSON file")
    visit: str | None = key(None, COLUMN)
    uncovered: Literal["generalize", "suppress"] | None = key(None, "generalize or suppress")
    loss: Literal["ilm", "ul"] | None = key(None, "ilm or ul")
    code_hierarchy: str | None = key(None, "a hierarchy, as icd9")
    repeats: bool | None = key(None, YES_OR_NO)
    drop_empty: bool | None = key(None, YES_OR_NO)
    workload: str | None = key(None, "frequent:PERCENT or random:COUNT")
    codes: str | None = key(None, COLUMN)
    code: str | None = key(None, COLUMN)
    ids: Literal["number", "drop"] | None = key(None, "number or drop")
    crosswalk: str | None = key(None, FILE)
    engine: str | None = key(None, "auto, memory or spark")


@dataclass(frozen=True)
class TrajectoriesPart:
    """Trajectories to be protected; see ``cloister protect trajectories``."""

    __pydantic_config__: ClassVar = STRICT
    shape: Literal["trajectories"] = field(metadata={"allowed": "trajectories"})
    source: str = field(metadata={"allowed": "the name of a section [sources.NAME]"})
    name: str | None = key(None, NAME)
    k: int | None = key(None, "a whole number from 2")
    method: Literal["a-gs", "baseline"] | None = key(None, "a-gs or baseline")
    weights: tuple[float, ...] | None = key(None, "a list of two numbers, of codes and of ages; together 1")
    cost: Literal["paper", "exact"] | None = key(None, "paper or exact")
    code_hierarchy: str | None = key(None, "icd9, icd10 or the name of a file")
    age_hierarchy: str | None = key(None, "intervals, as interval:1,5,10, or the name of a file")
    side: str | None = key(None, FILE)
    sensitive: str | None = key(None, "the name of a column of the side file")
    sensitive_codes: tuple[str, ...] = key((), "a list of codes")
    diversity: int | None = key(None, "a whole number from 2")
    policy: str | None = key(None, "level:1, level:2, level:3, sim:5, gwas or the name of a JSON file")
    block: Literal["auto", "off"] | int | None = key(None, "auto, off or a number of patients")
    drop_empty_pairs: bool | None = key(None, YES_OR_NO)
    on_unknown_code: Literal["error", "root", "drop"] | None = key(None, "error, root or drop")
    workload: str | None = key(None, "frequent:PERCENT")
    code: str | None = key(None, COLUMN)
    age: str | None = key(None, COLUMN)
    date: str | None = key(None, COLUMN)
    anchor: str | None = key(None, "the name of a column, or first")
    age_unit: Literal["years", "days"] | None = key(None, "years or days")
    ids: Literal["number"] | None = key(None, "number")
    crosswalk: str | None = key(None, FILE)
    engine: str | None = key(None, "auto, memory or spark")


@dataclass(frozen=True)
class ClaimsPart:
    """Patients and their claims to be protected; see ``cloister protect claims``."""

    __pydantic_config__: ClassVar = STRICT
    shape: Literal["claims"] = field(metadata={"allowed": "claims"})
    patients: str = field(metadata={"allowed": "the name of a section [sources.NAME]"})
    claims: str = field(metadata={"allowed": "the name of a section [sources.NAME]"})
    plan: str | Mapping[str, Any] = field(metadata={"allowed": "the name of a plan, or a section [protect.plan]"})
    name: str | None = key(None, NAME)
    crosswalk: str | None = key(None, FILE)


Part = TablePart | CodesPart | TrajectoriesPart | ClaimsPart
PARTS: dict[str, type[Part]] = {
    "table": TablePart,
    "codes": CodesPart,
    "trajectories": TrajectoriesPart,
    "claims": ClaimsPart,
}


@dataclass(frozen=True)
class Written:
    """A job as the file has it, its sections not yet looked into."""

    __pydantic_config__: ClassVar = STRICT
    name: str = field(metadata={"allowed": "a name, at most 100 characters"})
    output: str = field(metadata={"allowed": "the name of a folder, from the folder of the job"})
    sources: Mapping[str, Mapping[str, Any]] = field(
        metadata={"allowed": "sections [sources.NAME] with a file, or a url and a query"}
    )
    protect: tuple[Mapping[str, Any], ...] = field(metadata={"allowed": "sections written [[protect]]"})
    k: int | None = key(None, "a whole number from 2")
    seed: int = key(0, "a whole number from 0 to below 2^32")
    threads: int | None = key(None, WHOLE)
    engine: str = key("auto", ENGINE)
    link: tuple[str, ...] = key((), "a list of parts")
    attack: bool = key(False, YES_OR_NO)


@dataclass(frozen=True)
class Job:
    """A job whose parts fit together.

    Attributes
    ----------
    name, output, seed, threads, engine, attack : as in the file
    file : name of the job file
    sources : by name
    parts : by name, in the order of the file; each has its k, unless it is of claims
    """

    name: str
    output: str
    file: str
    sources: Mapping[str, FileSource]
    parts: Mapping[str, Part]
    seed: int = 0
    threads: int | None = None
    engine: str = "auto"
    attack: bool = False
