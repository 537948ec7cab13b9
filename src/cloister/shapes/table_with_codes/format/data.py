"""The forms of a table with codes: what is asked of its codes, the codes as read, protected and told; who has any.

Whether patients have codes at all is a quasi-identifier of two values, which is never generalized. Classes then hold
patients with codes only or without codes only, k at least. So whoever knows that a patient has none is left with k
candidates as well, and no record that has codes is taken for an empty one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import model_validator

from cloister.errors import InputError
from cloister.hierarchy import ROOT, suppress
from cloister.io import CodeColumns, as_text
from cloister.io.codes import CodeSource
from cloister.privacy import KAnonymity
from cloister.release.head import CLUSTERS, Count, Positive, Section, fitting
from cloister.shapes.codes.data import CodeSets, encode
from cloister.shapes.codes.policy import UtilityPolicy
from cloister.shapes.disassociation.format.data import (
    Disassociation,
    DisassociationRequest,
    InferenceCheck,
    ProtectedCodes,
    Refine,
)
from cloister.shapes.disassociation.format.manifest import (
    NO_SETS,
    DisassociationUtility,
    MethodSettings,
    PartCounts,
    TiedCodes,
    count_sets,
    facts_of,
    method_settings,
)
from cloister.shapes.disassociation.format.manifest import codebook as codebook_of_codes
from cloister.shapes.table.format.manifest import QuasiIdentifierColumn, TableManifest

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class CodesRequested:
    """What is asked of the column of codes.

    ``column`` holds the codes of each patient, separated by white space, and nothing for patients without codes;
    ``missing`` are texts in it that stand for a missing code; ``m`` codes may be known beside the quasi-identifiers.
    """

    column: str
    m: int = 2
    policy: UtilityPolicy | str | None = None
    missing: tuple[str, ...] = ()
    max_cluster_size: int | None = None
    refine: Refine = Refine.TREE
    inference_check: InferenceCheck = InferenceCheck.REPORT
    inference_threshold: float = 1.0

    def request(self, k: int, policy: UtilityPolicy | None = None) -> DisassociationRequest:
        """Return what is asked of the codes inside the classes of a table; refuses what cannot be asked for."""
        more = self.refine, self.inference_check, self.inference_threshold
        return DisassociationRequest(k, self.m, self.max_cluster_size, *more, policy=policy)


@dataclass(frozen=True, eq=False, repr=False)
class ReadCodes:
    """The codes of a table as read, of the patients that have any.

    ``records`` (codes.n_records,) is the row of the table of each, ascending.
    """

    codes: CodeSets
    records: Integers


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedBoth:
    """A table and its codes as they are to be released, and what only the custodian may know."""

    frame: pl.DataFrame  # the protected table, with one reconstruction in the column of codes
    # true codes of the patients of the rows that have any, in their order, codes of nobody left out; secret
    codes: CodeSets
    policy: UtilityPolicy | None  # the utility policy for these codes
    protected: ProtectedCodes


PRESENT = "codes"
"""What stands for any set of codes while the table is protected and verified."""


def words_of(column: str, missing: Sequence[str]) -> pl.Expr:
    """Return the codes in each cell of a column of text, missing ones left out."""
    words = pl.col(column).str.extract_all(r"\S+")
    return words.list.set_difference(pl.lit(pl.Series([list(missing)], dtype=pl.List(pl.String))))


def with_presence(frame: pl.DataFrame, column: str, missing: Sequence[str] = ()) -> pl.DataFrame:
    """Return a table in which codes are reduced to whether there are any: one word, null for none; ``*`` stays."""
    has_codes = words_of("c", missing).list.len() > 0
    word = pl.when(pl.col("c") == ROOT).then(pl.lit(ROOT)).when(has_codes).then(pl.lit(PRESENT))
    found = as_text(frame.get_column(column)).to_frame("c").select(word).to_series().alias(column)
    return frame.with_columns(found)


def read_codes(frame: pl.DataFrame, asked: CodesRequested, file: str) -> ReadCodes:
    """Return the codes of the patients that have any."""
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
    def of(cls, released: Disassociation, records: int) -> Self:
        """Count the patients of so many records."""
        return cls(with_codes=released.n_records, without_codes=records - released.n_records)


class ClusterCounts(PartCounts):
    """How many parts the clusters have, and in how many classes of the table they are."""

    classes: Positive


class CodesSection(Section):
    """All that is said of the codes."""

    column: str
    method: Literal["disassociation"]
    settings: MethodSettings
    patients: PatientCounts
    guarantee: ClassCodesGuarantee
    utility: DisassociationUtility
    risk: TiedCodes
    clusters: ClusterCounts


class TableWithCodesManifest(TableManifest):
    """All that ``release.json`` of a table with codes says."""

    form: ClassVar[Literal["table", "table_with_codes"]] = "table_with_codes"
    codes: CodesSection

    @property
    def beside(self) -> tuple[str, ...]:
        """The file of clusters."""
        return (CLUSTERS,)

    def one_row_a_patient(self) -> tuple[str, dict[str, str]] | None:
        """Return the data file, and the roles of its columns but ids and codes."""
        roles = {
            name: role for name, role in self.roles().items() if role != "identifier" and name != self.codes.column
        }
        return str(self.data_file), roles

    @model_validator(mode="after")
    def _codes_fit(self) -> Self:
        codes, ks = self.codes, [rule.k for rule in self.guarantee.rules if isinstance(rule, KAnonymity)]
        rule = CodesRule(model=MODEL, k=codes.settings.k, m=codes.settings.m, column=codes.column)
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
                "codes.guarantee.rules": codes.guarantee.rules == (rule,),
                "table": self.table is None,
            },
        )


def codes_section(
    asked: CodesRequested, policy: UtilityPolicy | None, codes: CodeSets, released: Disassociation, records: int
) -> CodesSection:
    """Return what is said of codes that were verified together with their table.

    They are of the released patients that have any; ``records`` counts those without as well.
    """
    request = asked.request(released.k, policy)
    settings = MethodSettings.model_validate(method_settings(request, None if policy is None else policy.spec))
    sets = NO_SETS if policy is None else count_sets(released, policy.item_numbers(codes))
    facts = facts_of(released, settings, sets)
    rule = CodesRule(model=MODEL, k=released.k, m=released.m, column=asked.column)
    return CodesSection(
        column=asked.column,
        method="disassociation",
        settings=settings,
        patients=PatientCounts.of(released, records),
        guarantee=ClassCodesGuarantee(rules=(rule,), verified=True),
        utility=facts.utility,
        risk=facts.risk,
        clusters=cluster_counts(facts.clusters, released),
    )


def cluster_counts(parts: PartCounts, released: Disassociation) -> ClusterCounts:
    """Return how many parts the clusters have, and in how many classes."""
    return ClusterCounts(**parts.published(), classes=len(released.classes))


def codebook_with_codes(table: pl.DataFrame, column: str, released: Disassociation) -> pl.DataFrame:
    """Return the codebook of the table with one row for each code in the place of its column of codes."""
    codes = codebook_of_codes(released, numbered=False).with_columns(pl.lit(column).alias("column"))
    at = table["column"].index_of(column) or 0
    others = table.filter(pl.col("column") != column)
    return pl.concat([others[:at], codes, others[at:]])
