"""What can be asked of code sets, each setting declared once: for the command line and for jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from cloister.settings.constraints import FILE, HIERARCHY, Described, Interval, OneOf, WordsOr
from cloister.settings.declaration import Help, Key, Keywords
from cloister.settings.run_options import POLICY, AllCodes, CodedOptions, OneCode, Separator, Visit

if TYPE_CHECKING:
    from cloister.io.query import Query

DISASSOCIATION, APRIORI = "disassociation", "apriori"
OF_PAPERS = ("cba", "ugaclip")
BY_SETS = (*OF_PAPERS, "generalization")
METHODS = (DISASSOCIATION, *BY_SETS, APRIORI)

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


@dataclass(frozen=True, kw_only=True)
class CodesSettings:
    """What is asked of code sets, as stated. What is None was not said."""

    m: Annotated[
        int | None,
        Help("Codes that somebody may know of a patient; 2 if not given.", option="-m"),
        Interval(int, 1),
        Key(),
    ] = None
    method: Annotated[
        str,
        Help("Release codes in parts (disassociation), or sets of codes in place of a code (the others)."),
        OneOf(*METHODS),
        Key(),
    ] = DISASSOCIATION
    privacy: Annotated[
        str | None,
        Help(
            "Of generalization, in place of -m: sets of codes that somebody may know of a patient: all:2, and of all "
            "but apriori also visits:FILE (recorded together), records, or a JSON list of lists of codes.",
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
            "Codes to keep countable together: level:1|2|3 (category, section, chapter), sim:5, sup:0.625 (percent), "
            "gwas (18 diseases), or a JSON file from name to list of codes.",
            "POLICY",
        ),
        POLICY,
        Key(),
    ] = None
    uncovered: Annotated[
        str | None,
        Help("Of all but apriori: what may become of codes of no set of the policy; generalize if not given."),
        OneOf("generalize", "suppress"),
        Key(),
    ] = None
    loss: Annotated[
        str | None, Help("Of cba and ugaclip: what is kept low; ilm if not given."), OneOf("ilm", "ul"), Key()
    ] = None
    code_hierarchy: Annotated[
        str | None,
        Help("Of generalization: how close codes are; ICD-9-CM or ICD-10-CM if not given.", "HIERARCHY"),
        WordsOr("a hierarchy, as icd9", HIERARCHY),
        Key(),
    ] = None
    code_weights: Annotated[
        str | tuple[float, ...] | None,
        Help(
            "Of generalization: weight in the loss of a set of codes that meet at each level of the hierarchy, rising "
            "to 1; in equal steps if not given.",
            "W,W,...,1",
            typed=str,
        ),
        Described("a list of numbers, as [0.1, 0.3, 0.6, 1]"),
        Key(kind=tuple[float, ...]),
    ] = None
    attributes: Annotated[
        Path | None,
        Help("Of generalization: auxiliary attributes as they are, one row a patient, beside the terms.", "FILE"),
        FILE,
        Key(),
    ] = None
    max_cluster_size: Annotated[
        int | None, Help("Clusters of fewer records are not split; 2k if not given.", "N"), Interval(int, 1), Key()
    ] = None
    refine: Annotated[
        str | None,
        Help("How codes that are rare in their cluster are shared; tree if not given."),
        OneOf("tree", "paper", "off"),
        Key(),
    ] = None
    inference_check: Annotated[
        str | None,
        Help("Count, or remove, codes that give another code away; report if not given."),
        OneOf("off", "report", "enforce"),
        Key(),
    ] = None
    inference_threshold: Annotated[
        float | None,
        Help("Confidence from which a code gives another away; 1 if not given.", "SHARE"),
        Interval(float, 0, 1, closed="right"),
        Key(),
    ] = None
    sensitive: Annotated[
        tuple[str, ...] | None,
        Help("Codes that nobody outside knows, separated by commas; kept apart. Repeatable.", "CODES"),
        Described("a list of codes"),
        Key(),
    ] = None
    diversity: Annotated[
        int | None,
        Help(
            "Each sensitive code is in at most one record in L of a cluster, so in exactly one below 2L records; "
            "2 if not given.",
            "L",
        ),
        Interval(int, 2),
        Key(),
    ] = None
    repeats: Annotated[bool, Help("Count the occurrences of a code of a patient instead of taking it once."), Key()] = (
        False
    )
    drop_empty: Annotated[bool, Help("Leave patients without codes out."), Key()] = False
    workload: Annotated[
        str | None,
        Help("Case counts whose error is measured for --custodian-dir: frequent:5 (percent), random:1000.", "WORKLOAD"),
        Described("frequent:PERCENT or random:COUNT"),
        Key(),
    ] = None
    codes: AllCodes = None
    code: OneCode = None
    separator: Separator = None
    ids: Annotated[
        str, Help("Whether records of the data file are numbered.", "drop|number"), OneOf("number", "drop"), Key()
    ] = "number"


@dataclass(frozen=True, kw_only=True)
class CodesOptions(CodedOptions, CodesSettings):
    """Protect sets of codes, so that no few codes of a patient lead to the patient.

    By disassociation every code is released as recorded, in parts; by generalization records stay whole, and sets of
    codes stand for codes.
    """

    examples: ClassVar[tuple[str, str]] = (
        "cloister protect codes diagnoses.csv -k 5 -m 2 --policy level:1 --out release",
        "cloister explore codes diagnoses.csv --grid k=3,5 --grid m=1,2 --out exploration",
    )

    @property
    def measures_workload(self) -> bool:
        """Whether the custodian gets the error of counts; the command line writes it to a folder."""
        return self.custodian_dir is not None

    @classmethod
    def is_whole(cls, keywords: Keywords) -> bool:
        """Whether a release by these settings has all codes of a patient together."""
        return bool(keywords.get("method", DISASSOCIATION) != DISASSOCIATION)

    data: Annotated[
        "Path | Query",
        Help(
            "CSV (also gzip'd) or Parquet: id,codes with the codes separated by spaces, or codes alone, one patient a "
            "line; or id,code, one code a line.",
            option="DATA",
        ),
    ]
    crosswalk: Annotated[
        Path | None, Help("Write the secret map from patients to clusters or records.", "FILE"), FILE, Key()
    ] = None
    placed: ClassVar[Mapping[str, str]] = {
        **CodedOptions.placed,
        **dict.fromkeys(("data", "k", "out"), "m"),
        "id": "codes",
    }
