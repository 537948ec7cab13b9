"""The settings of trajectories, each declared once: for the command line and for jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from cloister.settings.constraints import COLUMN, FILE, HIERARCHY, UTILITY_POLICY, Described, Interval, OneOf, WordsOr
from cloister.settings.declaration import Help, Key, Keywords
from cloister.settings.run_options import AgeColumn, CodedOptions, DateColumn

if TYPE_CHECKING:
    from cloister.io.query import Query

METHODS = ("a-gs", "baseline")
COSTS = ("paper", "exact")
UNITS: tuple[Literal["years"], Literal["days"]] = ("years", "days")
UNKNOWN = ("error", "root", "drop")
WEIGHTS = Described("a list of two numbers, of codes and of ages, or of three with details; together 1")


def only_column(name: str) -> tuple[str]:
    """Return the columns of which there is one."""
    return (name,)


@dataclass(frozen=True, kw_only=True)
class TrajectoriesSettings:
    """The stated settings of a request for trajectories; None if not stated."""

    method: Annotated[
        str,
        Help("Alignment of two trajectories: with the lowest loss, or position by position."),
        OneOf(*METHODS),
        Key(),
    ] = "a-gs"
    weights: Annotated[
        str | tuple[float, ...] | None,
        Help(
            "Weights of codes and ages in the loss, and with --detail of details; their sum is 1 (default equal).",
            "CODE,AGE[,DETAIL]",
            typed=str,
        ),
        WEIGHTS,
        Key(kind=Annotated[tuple[float, ...], Field(min_length=2, max_length=3)]),
    ] = None
    cost: Annotated[str, Help("Count the loss of a merged pair once, or once per patient."), OneOf(*COSTS), Key()] = (
        "paper"
    )
    code_hierarchy: Annotated[
        str | None,
        Help(
            "Hierarchy of codes: icd9, icd10 or a file (default: ICD-9-CM or ICD-10-CM, whichever "
            "contains more of the codes).",
            "HIERARCHY",
        ),
        WordsOr("icd9, icd10 or the name of a file", HIERARCHY),
        Key(),
    ] = None
    age_hierarchy: Annotated[
        str | None,
        Help("Hierarchy of ages: a file or intervals (default interval:1,5,10,20/top=90).", "HIERARCHY"),
        WordsOr("intervals, as interval:1,5,10, or the name of a file", HIERARCHY),
        Key(),
    ] = None
    detail_hierarchy: Annotated[
        str | None,
        Help("With --detail: its hierarchy, such as a file, prefix:3 or suppress.", "HIERARCHY"),
        WordsOr("a hierarchy, as suppress, or the name of a file", HIERARCHY),
        Key(),
    ] = None
    attributes: Annotated[
        Path | None,
        Help("File of auxiliary attributes, one row per patient; released as recorded in attributes.csv.", "FILE"),
        FILE,
        Key(),
    ] = None
    sensitive: Annotated[
        tuple[str, ...] | None,
        Help(
            "Sensitive column of --attributes: its values must differ among patients with equal trajectories.", "COLUMN"
        ),
        Described("the name of a column of the attributes file"),
        Key(kind=str, read=only_column),
    ] = None
    sensitive_codes: Annotated[
        tuple[str, ...] | None,
        Help(
            "Instead of --sensitive: sensitive codes, separated by commas, which patients with equal "
            "trajectories must not all have. Repeatable.",
            "CODES",
        ),
        Described("a list of codes"),
        Key(),
    ] = None
    diversity: Annotated[
        int | None,
        Help(
            "At most one of L patients with equal trajectories has the same sensitive value or a "
            "sensitive code (default 2).",
            "L",
        ),
        Interval(int, 2),
        Key(),
    ] = None
    policy: Annotated[
        str | None,
        Help(
            "Utility policy: sets of codes that must not be generalized together with others: "
            "level:1|2|3 (category, section, chapter), sim:5, gwas (18 diseases), or a JSON file that "
            "maps names to lists of codes.",
            "POLICY",
        ),
        WordsOr("level:1, level:2, level:3, sim:5, gwas or the name of a JSON file", UTILITY_POLICY),
        Key(),
    ] = None
    block: Annotated[
        str | int,
        Help(
            "Compare patients within blocks of at most N. off: compare all. auto: use blocks for large data.",
            "auto|off|N",
            typed=str,
        ),
        Described("auto, off or a number of patients"),
        Key(kind=Literal["auto", "off"] | Annotated[int, Interval(int, 1)]),
    ] = "auto"
    drop_empty_pairs: Annotated[bool, Help("Drop pairs of which nothing but * is left."), Key()] = False
    max_loss: Annotated[
        float | None,
        Help("Suppress patients of clusters with a weighted loss above this share.", "SHARE"),
        Interval(float, 0, 1),
        Key(),
    ] = None
    on_unknown_code: Annotated[
        str,
        Help("How to handle codes that are not in the hierarchy: stop with an error, generalize to *, or drop."),
        OneOf(*UNKNOWN),
        Key(),
    ] = "error"
    workload: Annotated[
        str | None,
        Help(
            "Queries whose error is measured for --custodian-dir: pairs and sets of pairs of at least "
            "this percentage of patients.",
            "frequent:PERCENT",
        ),
        Described("frequent:PERCENT"),
        Key(),
    ] = None
    code: Annotated[str | None, Help("Column with one code per line.", "COLUMN"), COLUMN, Key()] = None
    age: AgeColumn = None
    date: DateColumn = None
    anchor: Annotated[
        str | None,
        Help(
            "With --date: column with the date from which ages count (default: the first date of each patient).",
            "COLUMN|first",
        ),
        Described("the name of a column, or first"),
        Key(),
    ] = None
    detail: Annotated[
        str | None,
        Help("Column with a further attribute of each pair, such as the department.", "COLUMN"),
        COLUMN,
        Key(),
    ] = None
    age_unit: Annotated[str, Help("With --date: unit of ages."), OneOf(*UNITS), Key()] = "years"
    ids: Annotated[str, Help("How to release patient ids.", "number"), OneOf("number"), Key()] = "number"


@dataclass(frozen=True, kw_only=True)
class TrajectoriesOptions(CodedOptions, TrajectoriesSettings):
    """Protect trajectories: the codes of a patient with the ages at which they were recorded.

    Similar patients form clusters of at least k. All patients of a cluster get the same sequence of codes and ages,
    generalized where they differ.
    """

    examples: ClassVar[tuple[str, str]] = (
        "cloister protect trajectories visits.csv -k 5 --attributes samples.csv --out release",
        "cloister explore trajectories visits.csv --grid k=2,5,11 --out exploration",
    )

    @classmethod
    def is_whole(cls, _keywords: Keywords) -> bool:
        """Whether a release with these settings contains all codes of a patient together."""
        return False

    data: Annotated[
        "Path | Query", Help("CSV (also gzip'd) or Parquet: id,code,age with one code per line.", option="DATA")
    ]
    placed: ClassVar[Mapping[str, str]] = {
        **CodedOptions.placed,
        **dict.fromkeys(("data", "k", "out"), "method"),
        "id": "code",
    }
