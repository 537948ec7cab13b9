"""The states of a table with codes: request, codes as read, protected and released; and the presence of codes.

Whether a patient has any codes is a quasi-identifier with two values, which is never generalized. So all patients of
an equivalence class have codes, or none of them has. Each class has at least k patients. Someone who knows that a
patient has no codes therefore finds at least k candidates, and cannot confuse records with codes and records without.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import model_validator

from cloister.errors import InputError, setting
from cloister.hierarchy import ROOT, suppress
from cloister.io import CodeColumns, as_text
from cloister.io.codes import CodeSource
from cloister.privacy import KAnonymity
from cloister.release.derived import Part, Place
from cloister.release.figures import ReportCounts
from cloister.release.head import CLUSTERS, WITH_CODES, Count, FileSpec, Positive, Section, fitting
from cloister.results import Manifest
from cloister.settings.constraints import Interval, check_value
from cloister.settings.run_options import DISASSOCIATION
from cloister.shapes.codes.data import CodeSets, encode
from cloister.shapes.codes.manifest import PolicySets, PolicyText, Whole, has_sets
from cloister.shapes.codes.options import APRIORI
from cloister.shapes.codes.policy import UtilityPolicy
from cloister.shapes.disassociation.format.data import (
    Disassociation,
    DisassociationRequest,
    InferenceCheck,
    ProtectedCodes,
    Refine,
)
from cloister.shapes.disassociation.format.facts import codebook as codebook_of_codes
from cloister.shapes.disassociation.format.facts import count_patients, facts_of
from cloister.shapes.disassociation.format.manifest import DisassociationUtility, MethodSettings, PartCounts, TiedCodes
from cloister.shapes.table.format.facts import DerivedTable
from cloister.shapes.table.format.manifest import QuasiIdentifierColumn, TableManifest

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class CodesRequested:
    """The request for the column of codes.

    ``column`` holds the codes of each patient, separated by white space, and nothing for patients without codes;
    ``missing`` lists the texts that represent a missing code. An adversary may know up to ``m`` codes of a patient in
    addition to the quasi-identifiers.
    ``method`` is one for code sets; the fields after ``max_cluster_size`` are for disassociation.
    """

    column: str
    m: int = 2
    policy: UtilityPolicy | str | None = None
    missing: tuple[str, ...] = ()
    max_cluster_size: int | None = None
    refine: Refine = Refine.TREE
    inference_check: InferenceCheck = InferenceCheck.REPORT
    inference_threshold: float = 1.0
    method: str = DISASSOCIATION

    def check(self, k: int) -> None:
        """Reject impossible requests."""
        if self.method == DISASSOCIATION:
            self.request(k)
        check_value("m", self.m, Interval(int, 1))
        if self.policy is not None and self.method == APRIORI:
            raise InputError(
                setting("policy"),
                " is a utility policy, which ",
                setting("codes_method", self.method),
                " cannot keep. Leave it out, or use another method.",
            )

    def request(self, k: int, policy: UtilityPolicy | None = None) -> DisassociationRequest:
        """Return the request for the codes inside the classes of a table; reject impossible requests."""
        more = self.refine, self.inference_check, self.inference_threshold
        return DisassociationRequest(k, self.m, self.max_cluster_size, *more, policy=policy)


@dataclass(frozen=True, eq=False, repr=False)
class ReadCodes:
    """The codes of a table as read, for patients with any codes.

    ``records`` (codes.n_records,) is the row of the table of each, ascending.
    """

    codes: CodeSets
    records: Integers


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedBoth:
    """A table and its codes ready for release, with information for the custodian only."""

    frame: pl.DataFrame  # the protected table, with one reconstruction in the column of codes
    # true codes of the patients of the rows that have any, in their order, codes of nobody omitted; secret
    codes: CodeSets
    policy: UtilityPolicy | None  # the utility policy for these codes
    protected: ProtectedCodes


PRESENT = "codes"
"""The placeholder for any set of codes while the table is anonymized and verified."""


def words_of(column: str, missing: Sequence[str]) -> pl.Expr:
    """Return the codes in each cell of a text column, without missing codes."""
    words = pl.col(column).str.extract_all(r"\S+")
    return words.list.set_difference(pl.lit(pl.Series([list(missing)], dtype=pl.List(pl.String))))


def with_presence(frame: pl.DataFrame, column: str, missing: Sequence[str] = ()) -> pl.DataFrame:
    """Return a table with codes replaced by their presence: one word, null for none; ``*`` stays."""
    has_codes = words_of("c", missing).list.len() > 0
    word = pl.when(pl.col("c") == ROOT).then(pl.lit(ROOT)).when(has_codes).then(pl.lit(PRESENT))
    found = as_text(frame.get_column(column)).to_frame("c").select(word).to_series().alias(column)
    return frame.with_columns(found)


def read_codes(frame: pl.DataFrame, asked: CodesRequested, file: str) -> ReadCodes:
    """Return the codes of the patients with any codes."""
    column = asked.column
    source = CodeSource(
        cells=as_text(frame.get_column(column)),
        ids=None,
        layout="wide",
        columns=CodeColumns(codes=column),
        not_released=(),
        missing=asked.missing,
        format="csv",
        delimiter=",",
        name=file,
    )
    read = encode(source, drop_empty=True)
    if ROOT in read.codes.vocabulary:
        raise InputError(
            f"Column {column!r} of {file} has a code {ROOT!r}, which stands for suppressed records in a release. "
            "Write it in another way.",
            file=file,
            column=column,
        )
    assert read.lines is not None  # they were read
    return ReadCodes(read.codes, read.lines)


MODEL: Literal["(k,k^m)-anonymity"] = "(k,k^m)-anonymity"


class CodesRule(Section):
    """For quasi-identifiers and any m codes of a patient, k records may have them all."""

    model: Literal["(k,k^m)-anonymity"]
    k: Positive
    m: Positive
    column: str


class ClassCodesGuarantee(Section):
    """What is promised of codes, and that it was verified."""

    rules: tuple[CodesRule]
    verified: Literal[True]


class PatientCounts(Section):
    """How many released patients have codes; each class has k of those with and of those without, or none."""

    with_codes: Positive
    without_codes: Count

    @classmethod
    def of(cls, with_codes: int, records: int) -> Self:
        """Count the patients among these records."""
        return cls(with_codes=with_codes, without_codes=records - with_codes)


class ClusterCounts(PartCounts):
    """How many parts the clusters have, and in how many classes of the table they are."""

    classes: Positive


class ClassTermsSettings(Section):
    """What was asked of codes that are generalized inside classes, and by which hierarchy codes are close."""

    k: Whole
    m: Whole
    policy: PolicyText | None
    code_hierarchy: Literal["icd9", "icd10"]


class AnyCodesSection(Section):
    """The codes of a table, protected by any method."""

    column: str
    method: str
    settings: MethodSettings | ClassTermsSettings
    patients: PatientCounts
    guarantee: ClassCodesGuarantee

    @property
    def lost(self) -> float:
        """The share of the codes that is lost, by the measure of the method."""
        raise NotImplementedError


class CodesSection(AnyCodesSection):
    """The codes of a table, disassociated inside its classes."""

    method: Literal["disassociation"]
    settings: MethodSettings
    utility: DisassociationUtility
    risk: TiedCodes
    clusters: ClusterCounts

    @property
    def lost(self) -> float:
        """The share of occurrences in item chunks, at most."""
        return self.utility.occurrences_in_item_chunks

    @model_validator(mode="after")
    def _fit(self) -> Self:
        counts_sets = self.utility.constraints is not None
        return fitting(self, {"utility.constraints": counts_sets is has_sets(self.settings.policy)})


class AnyTableWithCodesManifest(TableManifest):
    """What ``release.json`` of a table with codes says by any method for the codes."""

    codes: AnyCodesSection

    @model_validator(mode="after")
    def _codes_fit(self) -> Self:
        codes, ks = self.codes, [rule.k for rule in self.guarantee.rules if isinstance(rule, KAnonymity)]
        name, column = codes.column, self.columns.get(codes.column)
        # The column is a quasi-identifier that stays as it is: whether there are any codes.
        is_presence = (
            isinstance(column, QuasiIdentifierColumn)
            and column.hierarchy == self.settings.hierarchies[name] == suppress().spec
            and column.used_levels == (0,)
            and column.average is None
            and self.settings.level_bounds.get(name) == (0, 0)
        )
        return fitting(
            self,
            {
                "codes.column": is_presence,
                "codes.settings.k": bool(ks) and codes.settings.k == max(ks),
                "guarantee.rules": self.guarantee.patients is None,  # sets of codes are counted in records
                "table": self.table is None,
            },
        )


class TableWithCodesManifest(AnyTableWithCodesManifest):
    """All that ``release.json`` of a table with disassociated codes says."""

    form: ClassVar[Literal["table", "table_with_codes", "table_with_terms"]] = "table_with_codes"
    codes: CodesSection

    def file_specs(self) -> tuple[FileSpec, ...]:
        """Return the data file, and the file of clusters."""
        return *super().file_specs(), FileSpec(CLUSTERS)

    def one_row_a_patient(self) -> tuple[str, dict[str, str]] | None:
        """Return the data file, and the roles of its columns except ids and codes."""
        roles = {
            name: role for name, role in self.roles().items() if role != "identifier" and name != self.codes.column
        }
        return self.data_file, roles


@dataclass(frozen=True, repr=False)
class DerivedTableWithCodes(DerivedTable):
    """The parts that follow from a table with codes; in the table's records, codes are replaced by their presence.

    ``without``: the column of codes; ``sets``: what is stated of the sets of a utility policy
    """

    clusters: Disassociation = field(kw_only=True)
    settings: MethodSettings = field(kw_only=True)
    sets: PolicySets = field(kw_only=True)

    def parts(self) -> dict[Place, Part]:
        """Return the parts that follow from the table and from its codes."""
        clusters, settings = self.clusters, self.settings
        facts = facts_of(clusters, settings, self.sets)
        rule = CodesRule(model=MODEL, k=settings.k, m=settings.m, column=str(self.without))
        return super().parts() | {
            (WITH_CODES, "patients"): PatientCounts.of(clusters.n_records, self.facts.released),
            (WITH_CODES, "guarantee", "rules"): [rule],
            (WITH_CODES, "utility"): facts.utility,
            (WITH_CODES, "risk"): facts.risk,
            (WITH_CODES, "clusters"): ClusterCounts(**facts.clusters.as_json(), classes=len(clusters.classes)),
        }

    def codebook(self) -> pl.DataFrame:
        """Return the codebook of the table, with one row for each code in place of its column of codes."""
        return with_codebook(super().codebook(), str(self.without), codebook_of_codes(self.clusters, numbered=False))

    def report_counts(self) -> ReportCounts:
        """Return the counts of the table, and the patients with each code as far as the chunks reveal them."""
        table = super().report_counts()
        return replace(table, columns=(*table.columns, count_patients(self.clusters, str(self.without))))


def with_codebook(table: pl.DataFrame, column: str, codes: pl.DataFrame) -> pl.DataFrame:
    """Return the codebook of a table, with that of its codes in place of the column of codes."""
    at = table["column"].index_of(column) or 0
    others = table.filter(pl.col("column") != column)
    return pl.concat([others[:at], codes.with_columns(pl.lit(column).alias("column")), others[at:]])


def derive_with_codes(
    table: DerivedTable, column: str, clusters: Disassociation, settings: MethodSettings, sets: PolicySets
) -> DerivedTableWithCodes:
    """Return the parts that follow from a table and from the clusters of its codes."""
    of_table = table.every, table.released, table.stated, table.facts, column
    return DerivedTableWithCodes(*of_table, clusters=clusters, settings=settings, sets=sets)


def describe_codes(asked: CodesRequested, settings: MethodSettings | ClassTermsSettings) -> Manifest:
    """Return the stated parts about codes that were verified together with their table."""
    return {
        "column": asked.column,
        "method": asked.method,
        "settings": settings.as_json(),
        "guarantee": {"verified": True},
    }
