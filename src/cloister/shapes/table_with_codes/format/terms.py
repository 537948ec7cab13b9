"""Codes that are generalized inside the classes of a table: the terms of each class, and what a release says of them.

The column of codes in the data file contains the terms of each record. A term is one code, or several codes in
brackets of which the patient has one or more. Each term lists its codes, so no other file is needed to read it. The
terms of an equivalence class share no code. Different classes may have different terms.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np
import polars as pl
from pydantic import model_validator

from cloister.hierarchy import ROOT
from cloister.io import as_text
from cloister.release.derived import Part, Place
from cloister.release.figures import Counted, ReportCounts
from cloister.release.head import WITH_CODES, Count, Positive, Section, Share, fitting
from cloister.shapes.codes.manifest import codebook_of_codes
from cloister.shapes.generalization.format.data import BETWEEN, CLOSE, OPEN, GeneralizationMethod
from cloister.shapes.table.format.facts import DATA, DerivedTable

from .data import (
    MODEL,
    AnyCodesSection,
    AnyTableWithCodesManifest,
    ClassTermsSettings,
    CodesRule,
    PatientCounts,
    with_codebook,
)

CLASS, ROW, TERM, CODE = "class", "row", "term", "code"
NO_TERM = OPEN + CLOSE
"""The cell of a patient whose codes are all suppressed; an empty cell is that of a patient without codes."""


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTerms:
    """The terms of a released table.

    Attributes
    ----------
    columns : the quasi-identifiers of the table, without the column of codes
    rows : for each row with codes its number in the file (row), the number of its class, and its cell
    classes : the number of each class with codes, and its label in each column, named by place
    """

    columns: tuple[str, ...]
    rows: pl.DataFrame
    classes: pl.DataFrame

    @classmethod
    def of(cls, frame: pl.DataFrame, column: str, columns: Sequence[str]) -> "ReleasedTerms":
        """Read the terms of a table; rows of ``*`` stand for suppressed records."""
        labels = label_columns(frame, columns)
        cells = as_text(frame.get_column(column)).alias("cell")
        rows = labels.hstack([cells]).with_row_index(ROW)
        rows = rows.filter(pl.col("cell").is_not_null() & (pl.col("cell") != ROOT))
        classes = rows.select(labels.columns).unique().sort(labels.columns).with_row_index(CLASS)
        rows = rows.join(classes, on=labels.columns, how="left", nulls_equal=True, maintain_order="left")
        return cls(tuple(columns), rows.select(ROW, CLASS, "cell"), classes)

    @cached_property
    def held(self) -> pl.DataFrame:
        """The terms of each row, one a row: row, class, term."""
        some = self.rows.filter(pl.col("cell") != NO_TERM)
        return some.with_columns(pl.col("cell").str.split(" ").alias(TERM)).explode(TERM).drop("cell")

    @cached_property
    def terms(self) -> pl.DataFrame:
        """The terms of each class: class, term, the number of rows, and the codes of the term as a list."""
        found = self.held.group_by(CLASS, TERM).agg(pl.len().alias("rows")).sort(CLASS, TERM)
        inside = pl.col(TERM).str.strip_prefix(OPEN).str.strip_suffix(CLOSE)
        return found.with_columns(inside.str.split(BETWEEN).alias(CODE))

    @cached_property
    def members(self) -> pl.DataFrame:
        """The codes of each class, one a row: class, code, term."""
        return self.terms.explode(CODE).select(CLASS, CODE, TERM)


def label_columns(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return columns as text, named by place."""
    return pl.DataFrame([as_text(frame.get_column(name)).alias(f"c{place}") for place, name in enumerate(columns)])


def may_suppress(settings: ClassTermsSettings, method: str) -> bool:
    """Return whether codes may be suppressed.

    Without sets of a utility policy any codes may share a term, so that CBA and UGACLIP need not suppress: one term of
    all codes is that of all records of a class. AA never suppresses.
    """
    return settings.policy is not None or method == GeneralizationMethod.GENERALIZATION


class ClassTermsUtility(Section):
    """The information that terms have lost. All of it follows from the data file.

    ``codes`` and ``terms``: distinct ones, terms of two classes counting twice; ``ncp``: the mean over the terms of all
    records of the share of the class's codes that the term has, 0 for one code, 1 for a record without any term
    """

    codes: Positive
    terms: Positive
    terms_of_several_codes: Count
    largest_term: Positive
    patients_without_terms: Count
    ncp: Share


class ClassTermsRisk(Section):
    """How rare what is released is: patients of the rarest term of a class; records like no other of their class."""

    smallest_term: Positive
    unique_records: Count


class ClassTermsSection(AnyCodesSection):
    """The codes of a table, generalized inside its classes."""

    method: GeneralizationMethod
    settings: ClassTermsSettings
    utility: ClassTermsUtility
    risk: ClassTermsRisk

    @property
    def may_suppress(self) -> bool:
        """Whether a code that is in no term of a class may be suppressed there."""
        return may_suppress(self.settings, self.method)

    @property
    def lost(self) -> float:
        """The normalized certainty penalty of the terms."""
        return self.utility.ncp


class TableWithTermsManifest(AnyTableWithCodesManifest):
    """All that ``release.json`` of a table with generalized codes says."""

    form: ClassVar[Literal["table", "table_with_codes", "table_with_terms"]] = "table_with_terms"
    is_whole: ClassVar[bool] = True
    codes: ClassTermsSection

    @model_validator(mode="after")
    def _rules_fit(self) -> Self:
        # Whoever knows codes is left with some records of a class, of which a rule about all of them says nothing.
        codes = self.codes
        return fitting(
            self,
            {
                "guarantee.rules": all(rule.about is None for rule in self.guarantee.rules),
                "codes.settings.policy": codes.settings.policy is None or codes.method != GeneralizationMethod.APRIORI,
            },
        )

    def one_row_a_patient(self) -> tuple[str, dict[str, str]] | None:
        """Return the data file, and the roles of its columns except ids; each record has the terms of one patient."""
        roles = {name: role for name, role in self.roles().items() if role != "identifier"}
        return self.data_file, roles | {self.codes.column: "terms"}


@dataclass(frozen=True, repr=False)
class DerivedTableWithTerms(DerivedTable):
    """The parts that follow from a table with terms; in the table's records, terms are replaced by their presence.

    ``without``: the column of codes
    """

    terms: ReleasedTerms = field(kw_only=True)
    settings: ClassTermsSettings = field(kw_only=True)

    def parts(self) -> dict[Place, Part]:
        """Return the parts that follow from the table and from its terms."""
        settings, released = self.settings, self.terms
        rule = CodesRule(model=MODEL, k=settings.k, m=settings.m, column=str(self.without))
        smallest = int(released.terms["rows"].to_numpy().min())
        alone = released.rows.group_by(CLASS, "cell").len().filter(pl.col("len") == 1)
        return super().parts() | {
            (WITH_CODES, "patients"): PatientCounts.of(released.rows.height, self.facts.released),
            (WITH_CODES, "guarantee", "rules"): [rule],
            (WITH_CODES, "utility"): utility_of(released),
            (WITH_CODES, "risk"): ClassTermsRisk(smallest_term=smallest, unique_records=alone.height),
        }

    def codebook(self) -> pl.DataFrame:
        """Return the codebook of the table, with one row for each term in place of its column of codes."""
        distinct = self.terms.terms.unique(TERM).sort(TERM).select(TERM, pl.col(CODE).list.len())
        meanings = {
            term: "as recorded" if n == 1 else f"one or more of these {n} codes" for term, n in distinct.iter_rows()
        }
        if (self.terms.rows["cell"] == NO_TERM).any():
            meanings = {NO_TERM: "codes, all of which are suppressed"} | meanings
        return with_codebook(super().codebook(), str(self.without), codebook_of_codes(meanings, None))

    def report_counts(self) -> ReportCounts:
        """Return the counts of the table, and the patients with each term; its codes may be in other terms too."""
        table = super().report_counts()
        held = self.terms.held[TERM].value_counts()
        counts: dict[str | None, int] = dict(held.iter_rows())
        found = Counted(DATA, str(self.without), "patients", counts, least=frozenset(map(str, counts)))
        return replace(table, columns=(*table.columns, found))


def utility_of(released: ReleasedTerms) -> ClassTermsUtility:
    """Return the information that the terms of a release have lost."""
    terms, n_empty = released.terms, int((released.rows["cell"] == NO_TERM).sum())
    sizes, rows = terms[CODE].list.len().cast(pl.Int64).to_numpy(), terms["rows"].cast(pl.Int64).to_numpy()
    number = terms[CLASS].to_numpy()
    n_codes = np.bincount(number, sizes).astype(np.int64)  # of each class
    covered = np.bincount(number, np.where(sizes > 1, sizes * rows, 0)).astype(np.int64)
    lost = sum(Fraction(c, n) for c, n in zip(covered.tolist(), n_codes.tolist(), strict=True) if c)
    return ClassTermsUtility(
        codes=released.members[CODE].n_unique(),
        terms=terms.height,
        terms_of_several_codes=int((sizes > 1).sum()),
        largest_term=int(sizes.max()),
        patients_without_terms=n_empty,
        ncp=float((lost + n_empty) / (int(rows.sum()) + n_empty)),
    )


def derive_with_terms(
    table: DerivedTable, column: str, terms: ReleasedTerms, settings: ClassTermsSettings
) -> DerivedTableWithTerms:
    """Return the parts that follow from a table and from the terms of its codes."""
    of_table = table.every, table.released, table.stated, table.facts, column
    return DerivedTableWithTerms(*of_table, terms=terms, settings=settings)
