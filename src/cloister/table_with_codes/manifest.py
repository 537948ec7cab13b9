"""What the manifest of a table says of its codes, beside what it says of the table."""

from typing import ClassVar, Literal, Self

import polars as pl
from pydantic import model_validator

from cloister.codesets.data import CodeSets
from cloister.codesets.disassociation.data import Disassociation
from cloister.codesets.disassociation.manifest import (
    NO_SETS,
    DisassociationUtility,
    MethodSettings,
    PartCounts,
    TiedCodes,
    count_sets,
    facts_of,
    method_settings,
)
from cloister.codesets.disassociation.manifest import codebook as codebook_of_codes
from cloister.codesets.policy import UtilityPolicy
from cloister.hierarchy import suppress
from cloister.manifest.head import Count, Positive, Section, fitting
from cloister.privacy import KAnonymity
from cloister.tabular.manifest import QuasiIdentifierColumn, TableManifest

from .data import CodesRequested

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
