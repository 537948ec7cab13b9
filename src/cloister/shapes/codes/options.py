"""The settings of code sets, each declared once: for the command line and for jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from cloister.errors import InputError, setting
from cloister.settings.constraints import FILE, HIERARCHY, Described, Interval, OneOf, WordsOr, alternatives
from cloister.settings.declaration import Help, Key, Keywords
from cloister.settings.run_options import (
    CODE_METHODS,
    DISASSOCIATION,
    POLICY,
    AllCodes,
    CodedOptions,
    OneCode,
    Separator,
    Visit,
)

if TYPE_CHECKING:
    from cloister.io.query import Query

APRIORI = "apriori"
OF_PAPERS = ("cba", "ugaclip")
BY_SETS = (*OF_PAPERS, "generalization")

METHODS_OF = {
    "max_cluster_size": (DISASSOCIATION,),
    "refine": (DISASSOCIATION,),
    "inference_check": (DISASSOCIATION,),
    "inference_threshold": (DISASSOCIATION,),
    "sensitive": (DISASSOCIATION,),
    "diversity": (DISASSOCIATION,),
    "privacy": (*BY_SETS, APRIORI),
    "visit": BY_SETS,
    "code_hierarchy": (*BY_SETS, APRIORI),
    "code_weights": (*BY_SETS, APRIORI),
    "uncovered": BY_SETS,
    "attributes": (*BY_SETS, APRIORI),
    "loss": OF_PAPERS,
}
"""Settings that only some methods look at."""


def check_method(settings: object, name: str, word: str, method: str) -> None:
    """Reject a setting that the method ignores; ``word``: the setting that names the method."""
    methods = METHODS_OF[name]
    if getattr(settings, name) is not None and method not in methods:
        raise InputError(
            setting(name),
            f" is for the method {alternatives(methods)}, but ",
            setting(word, method),
            f" was asked for. Leave it out, or ask for {alternatives(methods)}.",
        )


@dataclass(frozen=True, kw_only=True)
class CodesSettings:
    """The stated settings of a request for code sets; None if not stated."""

    m: Annotated[
        int | None,
        Help("Number of codes of a patient that an adversary knows (default 2).", option="-m"),
        Interval(int, 1),
        Key(),
    ] = None
    method: Annotated[
        str,
        Help("disassociation releases codes in chunks; the other methods replace codes by sets of codes."),
        OneOf(*CODE_METHODS),
        Key(),
    ] = DISASSOCIATION
    privacy: Annotated[
        str | None,
        Help(
            "Privacy policy for generalization, instead of -m: sets of codes an adversary may know: "
            "all:2; for all methods except apriori also visits:FILE (codes recorded together), "
            "records, or a JSON list of lists of codes.",
            "PRIVACY",
        ),
        WordsOr(
            "all:2, records, visits:FILE or the name of a JSON file",
            "cloister.shapes.generalization.format.privacy_policy:PrivacyPolicy",
        ),
        Key(),
    ] = None
    visit: Visit = None
    policy: Annotated[
        str | None,
        Help(
            "Utility policy: sets of codes whose counts are preserved: level:1|2|3 (category, "
            "section, chapter), sim:5, sup:0.625 (percent), gwas (18 diseases), or a JSON file that "
            "maps names to lists of codes.",
            "POLICY",
        ),
        POLICY,
        Key(),
    ] = None
    uncovered: Annotated[
        str | None,
        Help("For all methods except apriori: how to treat codes outside the utility policy (default generalize)."),
        OneOf("generalize", "suppress"),
        Key(),
    ] = None
    loss: Annotated[
        str | None, Help("For cba and ugaclip: information loss to minimize (default ilm)."), OneOf("ilm", "ul"), Key()
    ] = None
    code_hierarchy: Annotated[
        str | None,
        Help("For generalization: hierarchy of codes (default ICD-9-CM or ICD-10-CM).", "HIERARCHY"),
        WordsOr("a hierarchy, as icd9", HIERARCHY),
        Key(),
    ] = None
    code_weights: Annotated[
        str | tuple[float, ...] | None,
        Help(
            "For generalization: weight of a set of codes by the level of their common ancestor, "
            "increasing to 1 (default: equal steps).",
            "W,W,...,1",
            typed=str,
        ),
        Described("a list of numbers, as [0.1, 0.3, 0.6, 1]"),
        Key(kind=tuple[float, ...]),
    ] = None
    attributes: Annotated[
        Path | None,
        Help("For generalization: file of auxiliary attributes, one row per patient, released as recorded.", "FILE"),
        FILE,
        Key(),
    ] = None
    max_cluster_size: Annotated[
        int | None, Help("Split clusters of this size or more (default 2k).", "N"), Interval(int, 1), Key()
    ] = None
    refine: Annotated[
        str | None,
        Help("How to form shared chunks for codes that are rare in their cluster (default tree)."),
        OneOf("tree", "paper", "off"),
        Key(),
    ] = None
    inference_check: Annotated[
        str | None,
        Help("Count or separate codes of a chunk that reveal another one (default report)."),
        OneOf("off", "report", "enforce"),
        Key(),
    ] = None
    inference_threshold: Annotated[
        float | None,
        Help("Confidence from which a code reveals another (default 1).", "SHARE"),
        Interval(float, 0, 1, closed="right"),
        Key(),
    ] = None
    sensitive: Annotated[
        tuple[str, ...] | None,
        Help("Sensitive codes, separated by commas; kept separate from all others. Repeatable.", "CODES"),
        Described("a list of codes"),
        Key(),
    ] = None
    diversity: Annotated[
        int | None,
        Help("At most one of L records of a cluster has the same sensitive code (default 2).", "L"),
        Interval(int, 2),
        Key(),
    ] = None
    repeats: Annotated[bool, Help("Count repeated codes of a patient instead of using each code once."), Key()] = False
    drop_empty: Annotated[bool, Help("Suppress patients without codes."), Key()] = False
    workload: Annotated[
        str | None,
        Help("Queries whose error is measured for --custodian-dir: frequent:5 (percent), random:1000.", "WORKLOAD"),
        Described("frequent:PERCENT or random:COUNT"),
        Key(),
    ] = None
    codes: AllCodes = None
    code: OneCode = None
    separator: Separator = None
    ids: Annotated[
        str, Help("Whether to number the records of the data file.", "drop|number"), OneOf("number", "drop"), Key()
    ] = "number"


@dataclass(frozen=True, kw_only=True)
class CodesOptions(CodedOptions, CodesSettings):
    """Protect sets of codes, so that a few known codes do not identify a patient.

    Disassociation releases every code as recorded, in chunks that are not linked to each other. Generalization
    releases complete records in which sets of codes replace codes.
    """

    examples: ClassVar[tuple[str, str]] = (
        "cloister protect codes diagnoses.csv -k 5 -m 2 --policy level:1 --out release",
        "cloister explore codes diagnoses.csv --grid k=3,5 --grid m=1,2 --out exploration",
    )

    @property
    def measures_workload(self) -> bool:
        """Whether the custodian receives the error of counts; the command line writes it to a folder."""
        return self.custodian_dir is not None

    @classmethod
    def is_whole(cls, keywords: Keywords) -> bool:
        """Whether a release with these settings contains all codes of a patient together."""
        return bool(keywords.get("method", DISASSOCIATION) != DISASSOCIATION)

    data: Annotated[
        "Path | Query",
        Help(
            "CSV (also gzip'd) or Parquet: id,codes or codes with one patient per line and codes "
            "separated by spaces; or id,code with one code per line.",
            option="DATA",
        ),
    ]
    crosswalk: Annotated[
        Path | None, Help("File for the confidential map from patients to clusters or records.", "FILE"), FILE, Key()
    ] = None
    placed: ClassVar[Mapping[str, str]] = {
        **CodedOptions.placed,
        **dict.fromkeys(("data", "k", "out"), "m"),
        "id": "codes",
    }
