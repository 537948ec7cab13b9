"""What the manifest of a table says of its codes, beside what it says of the table."""

from typing import Annotated, Literal, Self

import polars as pl
from pydantic import Field, model_validator

from cloister.codesets.disassociation.data import Disassociation
from cloister.codesets.disassociation.manifest import clusters_of
from cloister.codesets.disassociation.manifest import codebook as codebook_of_codes
from cloister.codesets.disassociation.measure import CodesFigures
from cloister.codesets.policy import UtilityPolicy
from cloister.hierarchy import suppress
from cloister.manifest.head import Count, FileName, Positive, Section, must_fit
from cloister.privacy import KAnonymity
from cloister.tabular.manifest import QuasiIdentifierColumn, TableManifest

from .data import CodesAsked

MODEL: Literal["(k,k^m)-anonymity"] = "(k,k^m)-anonymity"


class ClusterSettings(Section):
    """What was asked of the codes."""

    k: Positive
    m: Positive
    max_cluster_size: Positive
    policy: FileName | None
    refine: Literal["tree", "paper", "off"]
    safe: Literal["report", "enforce", "off"]
    safe_threshold: Annotated[float, Field(gt=0, le=1)]


class CodesRule(Section):
    """For quasi-identifiers and any m codes of a patient, k records may have them all."""

    model: Literal["(k,k^m)-anonymity"]
    k: Positive
    m: Positive
    column: str


class CodesGuarantee(Section):
    """What is promised of codes, and that it was verified."""

    rules: tuple[CodesRule]
    verified: Literal[True]


class PatientCounts(Section):
    """How many released patients have codes; each class has k of those with and of those without, or none."""

    with_codes: Positive
    without_codes: Count


class ClusterUtility(Section):
    """What the clusters tell of what was lost; how many sets of a policy that is a file there are is evidence."""

    suppressed_codes: Literal[0]
    codes: Positive
    codes_counted_exactly: Count
    occurrences_told: Count
    occurrences_in_item_chunks: Annotated[float, Field(ge=0, le=1)]
    constraints: Count | None
    constraints_satisfied: Count | None
    constraints_preserved: Count | None
    are: None


class ClusterRisk(Section):
    """How many codes give others away; null where nobody looked."""

    tied_pairs: Count | None
    tied_codes: Count | None


class ClusterCounts(Section):
    """How many parts the clusters have, and in how many classes of the table they are."""

    clusters: Positive
    smallest: Positive
    largest: Positive
    record_chunks: Count
    joint_clusters: Count
    shared_chunks: Count
    classes: Positive


class CodesSection(Section):
    """All that is said of the codes."""

    column: str
    method: Literal["disassociation"]
    settings: ClusterSettings
    patients: PatientCounts
    guarantee: CodesGuarantee
    utility: ClusterUtility
    risk: ClusterRisk
    clusters: ClusterCounts


class TableWithCodesManifest(TableManifest):
    """All that ``release.json`` of a table with codes says."""

    codes: CodesSection

    @model_validator(mode="after")
    def _codes_fit(self) -> Self:
        codes, ks = self.codes, [rule.k for rule in self.guarantee.rules if isinstance(rule, KAnonymity)]
        rule = CodesRule(model=MODEL, k=codes.settings.k, m=codes.settings.m, column=codes.column)
        must_fit(
            {
                "codes.column": self._is_presence(self.columns.get(codes.column)),
                "codes.settings.k": bool(ks) and codes.settings.k == max(ks),
                "codes.settings.max_cluster_size": codes.settings.max_cluster_size > codes.settings.k,
                "codes.guarantee.rules": codes.guarantee.rules == (rule,),
                "table": self.table is None,
            }
        )
        return self

    def _is_presence(self, column: object) -> bool:
        """Whether the column of codes is a quasi-identifier that stays as it is: whether there are any codes."""
        name, spec = self.codes.column, suppress().spec
        return (
            isinstance(column, QuasiIdentifierColumn)
            and column.hierarchy == self.settings.hierarchies[name] == spec
            and column.used_levels == (0,)
            and column.average is None
            and self.settings.level_bounds.get(name) == (0, 0)
        )


def codes_section(
    asked: CodesAsked, policy: UtilityPolicy | None, released: Disassociation, records: int, figures: CodesFigures
) -> CodesSection:
    """Return what is said of codes that were verified together with their table.

    Parameters
    ----------
    records : released records, with and without codes
    """
    k, m = released.k, released.m
    settings = {
        "k": k,
        "m": m,
        "max_cluster_size": asked.request(k, policy).cluster_limit,
        "policy": None if policy is None else policy.spec,
        "refine": str(asked.refine),
        "safe": str(asked.safe),
        "safe_threshold": asked.safe_threshold,
    }
    return CodesSection(
        column=asked.column,
        method="disassociation",
        settings=ClusterSettings.model_validate(settings),
        patients=PatientCounts.model_validate(patients_of(released, records)),
        guarantee=CodesGuarantee(rules=(CodesRule(model=MODEL, k=k, m=m, column=asked.column),), verified=True),
        utility=ClusterUtility.model_validate(dict(figures.utility)),
        risk=ClusterRisk.model_validate(dict(figures.risk)),
        clusters=ClusterCounts.model_validate(cluster_counts(released)),
    )


def patients_of(released: Disassociation, records: int) -> dict[str, int]:
    """Return how many released patients have codes."""
    return {"with_codes": released.n_records, "without_codes": records - released.n_records}


def cluster_counts(released: Disassociation) -> dict[str, int]:
    """Return how many parts the clusters have."""
    return clusters_of(released) | {"classes": len(released.classes)}


def codebook_with_codes(table: pl.DataFrame, column: str, released: Disassociation) -> pl.DataFrame:
    """Return the codebook of the table with one row for each code in the place of its column of codes."""
    codes = codebook_of_codes(released, numbered=False).with_columns(pl.lit(column).alias("column"))
    at = table["column"].index_of(column) or 0
    others = table.filter(pl.col("column") != column)
    return pl.concat([others[:at], codes, others[at:]])
