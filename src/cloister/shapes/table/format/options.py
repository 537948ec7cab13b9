"""The settings of a table, each declared once: for the command line, jobs, Python and the methods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from cloister.settings.constraints import COLUMN, COLUMNS, FILE, TEXT, Described, ForEach, Interval, OneOf, WordsOr
from cloister.settings.declaration import ByColumn, Help, Key, Keywords
from cloister.settings.run_options import CODE_METHODS, DISASSOCIATION, ENGINE, POLICY, SEED, K, ReleaseOptions

if TYPE_CHECKING:
    from cloister.io.query import Query
    from cloister.privacy import PrivacyRule
    from cloister.utility import Loss

OPTIMAL = "optimal"  # the search that is made unless another is asked for
FULL_DOMAIN = "full-domain"
MONDRIAN, CLUSTER, TOP_DOWN = "mondrian", "cluster", "top-down"
TRUTHFUL = (FULL_DOMAIN, MONDRIAN, CLUSTER, TOP_DOWN)  # methods whose labels are true of every record
MDAV = "mdav"
METHODS = (*TRUTHFUL, MDAV)
ANALYSIS, COUNTS, ONE_CODING = "analysis", "counts", "one-coding"
PURPOSES = (ANALYSIS, COUNTS, ONE_CODING)
NESTED, JOINED = "nested", "joined"
LOCAL_RECODING = "local-recoding"  # full-domain generalization with local recoding after it
JOINING = (MONDRIAN, CLUSTER, LOCAL_RECODING)  # methods whose labels may overlap, so that intervals can be joined
MERGED = "merged-classes"  # full-domain generalization whose classes were merged for the sake of codes
MOST_TRANSFORMATIONS = 20_000  # of a lattice of which local recoding and clusters try all, not a part
MEAN, MODE = "mean", "mode"
AVERAGES = (MEAN, "median", MODE)
LOSS_NAMES = (
    *("iyengar", "arx", "precision", "discernibility", "dm_star", "average_class_size", "ambiguity", "entropy"),
    *("kl_divergence", "payout"),
)
SEARCH_NAMES = (
    *(OPTIMAL, "exhaustive", "flash", "flash:explicit", "bfs", "bfs:unpredicted", "ola", "incognito", "samarati"),
    *("datafly", "datafly:arx", "igreedy", "igreedy:arx"),
)
"""The names of losses and searches, as help lists them and a shell completes them: reading them loads neither."""
QUASI_IDENTIFIER = "quasi-identifier"
DECISIONS = ("drop", "sensitive", "keep", QUASI_IDENTIFIER)
"""What undecided columns can become."""


def decimal_text(share: float) -> str:
    """Return a share as it was typed, without floating-point error."""
    return str(Decimal(repr(share)).normalize())


@dataclass(frozen=True)
class TableSettings:
    """What is asked of a table; a `TableRequest` is the same with everything looked up."""

    quasi_identifiers: Annotated[
        ByColumn[object],
        Help(
            "A quasi-identifier; HIERARCHY is a file or a builder "
            "(interval:5,10 prefix:5 date:month,year icd9 icd10 suppress), @1-3 bounds its levels. Repeatable.",
            "COLUMN[=HIERARCHY]",
            "--qi",
        ),
        Described("a hierarchy for each quasi-identifier"),
        Key("qi", Mapping[str, str]),
    ] = field(default_factory=dict)
    rules: Annotated[
        Sequence["PrivacyRule | str"],
        Help(
            "Additional privacy model, for example l-diversity:diagnosis=2. Repeatable.",
            "RULE",
            "--rule",
            tuple[str, ...],
        ),
        WordsOr('a list of rules, as "l-diversity:diagnosis=2"', "cloister.privacy:PrivacyRule"),
        Key("rule", kind=tuple[str, ...]),
    ] = ()
    suppression: Annotated[
        Decimal | float | str,
        Help("Maximum share of suppressed records.", "SHARE", typed=str),
        Interval(float, 0, 1),
        Key(kind=float, read=decimal_text),
    ] = "0.05"
    loss: Annotated[
        "Loss | str",
        Help(
            f"Information loss to minimize: {', '.join(LOSS_NAMES[:-1])}, or {LOSS_NAMES[-1]} (with the rule "
            "positive-payout).",
            f"{'|'.join(LOSS_NAMES[:2])}|...",
            typed=str,
            offers=LOSS_NAMES,
        ),
        Described("the name of a loss, as iyengar"),
        Key(kind=str),
    ] = "iyengar"
    weights: Annotated[
        ByColumn[float],
        Help("Weight of a column in the information loss. Repeatable.", "COLUMN=NUMBER", "--weight"),
        ForEach(Interval(float, 0)),
        Key("weight"),
    ] = field(default_factory=dict)
    search: Annotated[
        str | None,
        Help(
            f"Search algorithm: {', '.join(SEARCH_NAMES)} (exhaustive: small lattices).",
            f"{'|'.join(SEARCH_NAMES[:2])}|...",
            shown=OPTIMAL,
            offers=SEARCH_NAMES,
        ),
        Described("the name of a search, as optimal"),
        Key(),
    ] = None
    store: Annotated[
        str | None,
        Help("Data structure in which flash and bfs store evaluated transformations (default ranked-tree)."),
        OneOf("list", "antichain-list", "tree", "ranked-tree"),
        Key(),
    ] = None
    time_limit: Annotated[
        float | None,
        Help("Stop after this time and return the best transformation with its optimality gap.", "SECONDS"),
        Interval(float, 0, closed="neither", what="a number of seconds"),
        Key(),
    ] = None
    levels: Annotated[
        ByColumn[int] | None,
        Help("Fixed generalization levels instead of a search.", "COLUMN=LEVEL,..."),
        ForEach(Interval(int, 0, what="a level")),
        Key(),
    ] = None
    merge_bound: Annotated[
        float | None,
        Help(
            "Merge classes up to this information loss, so that more codes can be counted.", "LOSS", "--merge-classes"
        ),
        Interval(float, 0, 1, what="a loss"),
        Key("merge_classes"),
    ] = None
    purpose: Annotated[
        str,
        Help(
            "Purpose of the data, which sets method, strata and weights. analysis: low loss, rates by age and sex as "
            "recorded, levels differ between classes. counts: one level per column, age and sex weigh more. "
            "one-coding: one level per column, proven to lose least."
        ),
        OneOf(*PURPOSES),
        Key(),
    ] = ANALYSIS
    target: Annotated[
        str | None,
        Help("Outcome to predict, released as recorded. Columns that predict it are preserved.", "COLUMN"),
        COLUMN,
        Key(),
    ] = None
    strata: Annotated[
        tuple[str, ...],
        Help(
            "Column whose groups the classes of --method cluster do not cross, so that rates by it stay as recorded; "
            "numbers in groups of ten. Repeatable.",
            "COLUMN",
            shown="by --purpose",
        ),
        COLUMNS,
        Key(),
    ] = ()
    method: Annotated[
        str | None,
        Help(
            "full-domain: one level per column. top-down: one label per value. mondrian, cluster: "
            "levels differ between classes. mdav: no labels, but means and modes of classes of similar records, which "
            "may be no patient's values.",
            shown="by --purpose",
        ),
        OneOf(*METHODS),
        Key(),
    ] = None
    local_recoding: Annotated[bool, Help("Release records at coarser levels instead of suppressing them."), Key()] = (
        False
    )
    labels: Annotated[
        str | None,
        Help(
            "Labels where levels differ between classes. joined: as many adjacent intervals of the lowest level as a "
            "class needs, and lists of values such as {Midwest | South}. nested: those of the hierarchies alone.",
            shown="joined, where the method can",
        ),
        OneOf(NESTED, JOINED),
        Key(),
    ] = None
    resist_downcoding: Annotated[
        bool,
        Help(
            "Choose labels so that at least two distributions of finer values stay possible in every class, even for "
            "those who know the method. With --method mondrian and k of 3 or more; rules about sensitive columns are "
            "checked, and change no label."
        ),
        Key(),
    ] = False
    microaggregate: Annotated[
        ByColumn[str],
        Help(
            "Replace the values of a class by their mean, median or mode (the most frequent value). Repeatable.",
            "COLUMN=mean|median|mode",
        ),
        ForEach(OneOf(*AVERAGES)),
        Key(),
    ] = field(default_factory=dict)
    patient: Annotated[
        str | None,
        Help(
            "Column that identifies the patient of each row, if patients have several rows; k then counts patients. "
            "Released as numbers that start again in each class.",
            "COLUMN",
        ),
        COLUMN,
        Key(),
    ] = None
    drop: Annotated[tuple[str, ...], Help("Column to drop. Repeatable.", "COLUMN"), COLUMNS, Key()] = ()
    sensitive: Annotated[
        tuple[str, ...],
        Help("Sensitive column, released as recorded; a --rule may be about it. Repeatable.", "COLUMN"),
        COLUMNS,
        Key(),
    ] = ()
    keep: Annotated[
        tuple[str, ...],
        Help("Column released as recorded that no rule is about. Repeatable.", "COLUMN"),
        COLUMNS,
        Key(),
    ] = ()
    undecided: Annotated[
        tuple[str, ...],
        Help(
            "Role of columns without a role: of all, or of one column. Repeatable.",
            "drop|sensitive|keep|quasi-identifier|COLUMN=ROLE",
            "--undecided --default-role",  # as it was called before 0.2
        ),
        Described('a list of drop, sensitive, keep or quasi-identifier, for all columns or as "COLUMN=drop"'),
        Key(),
    ] = ()
    accept: Annotated[
        tuple[str, ...],
        Help("Release this column although it reveals a quasi-identifier; the report says so. Repeatable.", "COLUMN"),
        COLUMNS,
        Key(),
    ] = ()
    ids: Annotated[
        str, Help("How to release the id column.", "drop|number|hmac:KEYFILE"), Described("number or drop"), Key()
    ] = "number"
    keep_suppressed: Annotated[bool, Help("Release suppressed records as rows of *."), Key()] = False
    escape_formulas: Annotated[
        bool, Help("Prefix cells that a spreadsheet would run as formulas with an apostrophe."), Key()
    ] = False

    @property
    def has_one_transformation(self) -> bool:
        """Whether all classes have the same levels."""
        return self.chosen_method == FULL_DOMAIN and not self.local_recoding and self.merge_bound is None

    @property
    def published_method(self) -> str:
        """The method as a manifest names it, with its variant."""
        if self.local_recoding:
            return LOCAL_RECODING
        is_merged = self.chosen_method == FULL_DOMAIN and self.merge_bound is not None
        return MERGED if is_merged else self.chosen_method

    @property
    def chosen_method(self) -> str:
        """The requested method, or the method for the purpose.

        Clusters lose least, Mondrian keeps what predicts a target (`benchmarks/usefulness`); what only a search looks
        at asks for full-domain generalization.
        """
        searched = (self.search, self.levels, self.time_limit, self.merge_bound)
        if self.method is not None:
            return self.method
        if self.resist_downcoding:
            return MONDRIAN
        is_searched = self.local_recoding or any(one is not None for one in searched)
        for_analysis = CLUSTER if self.target is None else MONDRIAN
        return for_analysis if self.purpose == ANALYSIS and not is_searched else FULL_DOMAIN

    def needing_rows(self) -> list[str]:
        """Return the settings that need the rows of the table, not only their counts."""
        asked = {
            "method": self.method not in (None, FULL_DOMAIN),
            "local_recoding": self.local_recoding,
            "resist_downcoding": self.resist_downcoding,
            "microaggregate": bool(self.microaggregate),
            "patient": self.patient is not None,
        }
        return [name for name, is_asked in asked.items() if is_asked]


@dataclass(frozen=True, kw_only=True)
class TableOptions(ReleaseOptions, TableSettings):
    """Protect a table: generalize quasi-identifiers and suppress outliers with minimal information loss.

    Every column needs a role. Nothing is released while a column is undecided.
    """

    examples: ClassVar[tuple[str, str]] = (
        "cloister protect table patients.csv --id mrn --drop name --qi age=interval:5,10,20/top=90 --qi sex "
        "--qi zip=prefix:5 --sensitive diagnosis -k 5 --suppression 0.05 --out release",
        "cloister explore table patients.csv --id mrn --qi age=interval:5,10 --qi sex --undecided drop "
        "--grid k=2,5,11 --grid suppression=0,0.05 --out exploration",
    )

    @classmethod
    def is_whole(cls, keywords: Keywords) -> bool:
        """Whether a release with these settings contains all codes of a patient together."""
        return keywords.get("codes") is not None and keywords.get("codes_method") not in (None, DISASSOCIATION)

    data: Annotated[
        "Path | Query",
        Help("CSV (also gzip'd), Parquet, Excel, Stata, SPSS or SAS; one row per patient.", option="DATA"),
    ]
    k: Annotated[
        int | None,
        Help(
            "Minimum number of records (with --patient: patients) that share each combination of quasi-identifiers.",
            option="-k",
        ),
        K,
        Key(),
    ]
    hierarchies: Annotated[
        Path | None,
        Help("Folder of ARX hierarchy files: STEM_hierarchy_COLUMN.csv or COLUMN.csv.", "DIR"),
        Described("the name of a folder of hierarchy files"),
        Key(),
    ] = None
    levels_from: Annotated[
        Path | None,
        Help("Use the levels of an earlier release.", "DIR"),
        Described("the folder of an earlier release"),
        Key(),
    ] = None
    codes: Annotated[
        str | None,
        Help(
            "Column with the codes of each patient, separated by spaces; protected together with the "
            "quasi-identifiers.",
            "COLUMN",
        ),
        Described("the name of a column with codes, or of a section [sources.NAME] that has them"),
        Key(),
    ] = None
    m: Annotated[
        int | None,
        Help("Number of codes an adversary knows in addition to the quasi-identifiers (default 2).", option="-m"),
        Interval(int, 1),
        Key(),
    ] = None
    codes_method: Annotated[
        str | None,
        Help(
            "How to protect the codes of a class (default disassociation): in chunks, or in the row of each patient as "
            "sets of codes (the other methods)."
        ),
        OneOf(*CODE_METHODS),
        Key(),
    ] = None
    policy: Annotated[
        str | None,
        Help("Utility policy: sets of codes whose counts are preserved: a JSON file, level:1, sim:5 or sup:0.625."),
        POLICY,
        Key(),
    ] = None
    max_cluster_size: Annotated[
        int | None, Help("Split clusters of this size or more (default 2k).", "N"), Interval(int, 1), Key()
    ] = None
    id: Annotated[str | None, Help("Column that identifies patients; must not repeat.", "COLUMN"), COLUMN] = None
    missing_as: Annotated[str | None, Help("How hierarchy files write a missing value.", "VALUE"), TEXT, Key()] = None
    crosswalk: Annotated[
        Path | None, Help("File for the confidential map from released to original ids.", "FILE"), FILE, Key()
    ] = None
    unmatched_values: Annotated[
        Path | None, Help("File for a list of values that are missing in their hierarchy.", "FILE"), FILE, Key()
    ] = None
    seed: Annotated[
        int, Help("Seed, stated in the manifest. The protection of tables does not depend on it."), SEED
    ] = 0
    engine: Annotated[
        str,
        Help(
            "Where records are counted. auto: in memory; files of a million records or more by "
            "duckdb. The address of the database in DATA: the protected table is created there, and "
            "only counts leave the database.",
            "auto|memory|duckdb|spark|URL",
        ),
        ENGINE,
        Key(),
    ] = "auto"
    table: Annotated[
        str | None,
        Help("Name of the protected table in the database of --engine (default: name of DIR).", "NAME"),
        Described("the name of a table to be made in the database"),
        Key(),
    ] = None
    placed: ClassVar[Mapping[str, str]] = {
        **ReleaseOptions.placed,
        **dict.fromkeys(("data", "k", "out"), "quasi_identifiers"),
        "hierarchies": "rules",
        **dict.fromkeys(("levels_from", "codes", "m", "codes_method", "policy", "max_cluster_size"), "merge_bound"),
        "id": "drop",
        "crosswalk": "keep_suppressed",
        "unmatched_values": "attack",
        "table": "missing",
    }
