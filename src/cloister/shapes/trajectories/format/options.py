"""What can be asked of trajectories, each setting declared once: for the command line and for jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from cloister.settings.constraints import COLUMN, FILE, HIERARCHY, UTILITY_POLICY, Described, Interval, OneOf, WordsOr
from cloister.settings.declaration import Help, Key, Keywords
from cloister.settings.run_options import CodedOptions

if TYPE_CHECKING:
    from cloister.io.query import Query

METHODS = ("a-gs", "baseline")
COSTS = ("paper", "exact")
UNITS: tuple[Literal["years"], Literal["days"]] = ("years", "days")
UNKNOWN = ("error", "root", "drop")
PAIR = Described("a list of two numbers, of codes and of ages; together 1")


def only_column(name: str) -> tuple[str]:
    """Return the columns of which there is one."""
    return (name,)


@dataclass(frozen=True, kw_only=True)
class TrajectoriesSettings:
    """What is asked of trajectories, as stated. What is None was not said."""

    method: Annotated[
        str,
        Help("How two trajectories are aligned: with the least loss, or pair by pair in the same places."),
        OneOf(*METHODS),
        Key(),
    ] = "a-gs"
    weights: Annotated[
        str | tuple[float, ...],
        Help("Weights of codes and of ages in the loss; together 1.", "CODE,AGE", typed=str),
        PAIR,
        Key(kind=tuple[float, float]),
    ] = "0.5,0.5"
    cost: Annotated[
        str, Help("Count what a merged pair loses once, or for each patient that it stands for."), OneOf(*COSTS), Key()
    ] = "paper"
    code_hierarchy: Annotated[
        str | None,
        Help(
            "icd9, icd10 or a file; ICD-9-CM or ICD-10-CM, whichever has more of the codes, if not given.", "HIERARCHY"
        ),
        WordsOr("icd9, icd10 or the name of a file", HIERARCHY),
        Key(),
    ] = None
    age_hierarchy: Annotated[
        str | None,
        Help("A file or intervals; interval:1,5,10,20/top=90 if not given.", "HIERARCHY"),
        WordsOr("intervals, as interval:1,5,10, or the name of a file", HIERARCHY),
        Key(),
    ] = None
    attributes: Annotated[
        Path | None,
        Help("Auxiliary attributes as they are, one row a patient: written to attributes.csv.", "FILE"),
        FILE,
        Key(),
    ] = None
    sensitive: Annotated[
        tuple[str, ...] | None,
        Help("Column of --attributes whose values must differ among those who share a trajectory.", "COLUMN"),
        Described("the name of a column of the attributes file"),
        Key(kind=str, read=only_column),
    ] = None
    sensitive_codes: Annotated[
        tuple[str, ...] | None,
        Help(
            "In place of --sensitive: codes, separated by commas, that must not be told of all who share a "
            "trajectory. Repeatable.",
            "CODES",
        ),
        Described("a list of codes"),
        Key(),
    ] = None
    diversity: Annotated[
        int | None,
        Help(
            "At most one in L of them has the same value of the sensitive column, or a sensitive code behind a "
            "released one; 2 if not given.",
            "L",
        ),
        Interval(int, 2),
        Key(),
    ] = None
    policy: Annotated[
        str | None,
        Help(
            "Codes that must not be generalized with others: level:1|2|3 (category, section, chapter), sim:5, gwas "
            "(18 diseases), or a JSON file from name to list of codes.",
            "POLICY",
        ),
        WordsOr("level:1, level:2, level:3, sim:5, gwas or the name of a JSON file", UTILITY_POLICY),
        Key(),
    ] = None
    block: Annotated[
        str | int,
        Help(
            "Compare patients within blocks of at most N; off: all with all; auto: so where that takes too long.",
            "auto|off|N",
            typed=str,
        ),
        Described("auto, off or a number of patients"),
        Key(kind=Literal["auto", "off"] | Annotated[int, Interval(int, 1)]),
    ] = "auto"
    drop_empty_pairs: Annotated[bool, Help("Leave out pairs of which neither code nor age is told."), Key()] = False
    max_loss: Annotated[
        float | None,
        Help(
            "Leave out clusters whose pairs lose more than this share of what they say, by the weights, and count "
            "their patients.",
            "SHARE",
        ),
        Interval(float, 0, 1),
        Key(),
    ] = None
    on_unknown_code: Annotated[
        str,
        Help("What becomes of codes that the hierarchy does not have: refused, * where they cannot stay, left out."),
        OneOf(*UNKNOWN),
        Key(),
    ] = "error"
    workload: Annotated[
        str | None,
        Help(
            "Pairs, and sets of pairs, of at least so many percent of the patients: how far counts of them are off is "
            "measured for --custodian-dir.",
            "frequent:PERCENT",
        ),
        Described("frequent:PERCENT"),
        Key(),
    ] = None
    code: Annotated[str | None, Help("Column with one code a line.", "COLUMN"), COLUMN, Key()] = None
    age: Annotated[str | None, Help("Column with the age, a number from 0 on.", "COLUMN"), COLUMN, Key()] = None
    date: Annotated[str | None, Help("In place of --age: column with a date, YYYY-MM-DD.", "COLUMN"), COLUMN, Key()] = (
        None
    )
    anchor: Annotated[
        str | None,
        Help("With --date: column with the date to count from, or each first date.", "COLUMN|first"),
        Described("the name of a column, or first"),
        Key(),
    ] = None
    age_unit: Annotated[str, Help("With --date: what is counted."), OneOf(*UNITS), Key()] = "years"
    ids: Annotated[str, Help("How patients are named in the release.", "number"), OneOf("number"), Key()] = "number"


@dataclass(frozen=True, kw_only=True)
class TrajectoriesOptions(CodedOptions, TrajectoriesSettings):
    """Protect trajectories: which codes a patient had, at which ages.

    Patients who are alike are put into clusters of at least k, and all of a cluster get the same sequence of codes and
    ages, generalized where they differ.
    """

    examples: ClassVar[tuple[str, str]] = (
        "cloister protect trajectories visits.csv -k 5 --attributes samples.csv --out release",
        "cloister explore trajectories visits.csv --grid k=2,5,11 --out exploration",
    )

    @classmethod
    def is_whole(cls, _keywords: Keywords) -> bool:
        """Whether a release by these settings has all codes of a patient together."""
        return False

    data: Annotated[
        "Path | Query", Help("CSV (also gzip'd) or Parquet: id,code,age, one code of a patient a line.", option="DATA")
    ]
    placed: ClassVar[Mapping[str, str]] = {
        **CodedOptions.placed,
        **dict.fromkeys(("data", "k", "out"), "method"),
        "id": "code",
    }
