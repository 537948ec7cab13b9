"""Verification of a release folder of a table whose codes are generalized inside its classes.

With the original, every record must fit a record of its own there, by labels, recorded values and terms together.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from cloister.errors import Message
from cloister.io import Tally, as_text, without_formulas
from cloister.release.folder import read_tables
from cloister.results import Checks, Verdict
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.verify.assignment import GROUP, PATIENT, POINT, VALUE, Beneath, find_beneath
from cloister.shapes.table.verify.classes import COUNT, ReleasedClasses
from cloister.shapes.table.verify.flow import Flow
from cloister.shapes.table.verify.recheck import check_table, derive, found_in, list_figure_checks, source_of
from cloister.shapes.table.verify.record_by_record import recorded_columns
from cloister.shapes.table_with_codes.format.data import PRESENT, with_presence, words_of
from cloister.shapes.table_with_codes.format.terms import (
    CLASS,
    CODE,
    ROW,
    DerivedTableWithTerms,
    ReleasedTerms,
    TableWithTermsManifest,
    derive_with_terms,
)
from cloister.verification.driver import Checker, ReleaseUnderCheck, Request
from cloister.verification.script import note

from .statements import find_broken_terms
from .terms import HOW, derive_cells, terms_in
from .verify import OriginalBoth, read_original


@dataclass(frozen=True)
class _TermsFile:
    """The data file of a release, its terms, and the table whose codes are reduced to whether there are any."""

    frame: pl.DataFrame
    terms: ReleasedTerms
    reduced: Tally


CELL, KIND, SET = "cell\0", "kind\0", "set\0"
OWN_RECORD = "each record with codes fits one of the original of its own, by labels, recorded values and terms together"
OWN_CODES = "each code of a term is that of a patient whom its class could have"

ReleaseFolder = ReleaseUnderCheck[TableWithTermsManifest, _TermsFile, OriginalBoth]


class TableWithTermsChecker(Checker[TableWithTermsManifest, _TermsFile, OriginalBoth]):
    """The checker of tables with terms: the table, its terms, and their consistency."""

    def read_files(self, folder: Path, manifest: TableWithTermsManifest) -> _TermsFile:
        """Read the data file."""
        (frame,) = read_tables(folder, manifest).values()
        column = manifest.codes.column
        terms = terms_in(frame, column, guarantee_of(manifest))
        return _TermsFile(frame, terms, Tally(with_presence(frame, column)))

    def read_original(self, request: Request, manifest: TableWithTermsManifest, _files: _TermsFile) -> OriginalBoth:
        """Read the custodian's data."""
        return read_original(request, manifest.codes.column)

    def verify(self, release: ReleaseFolder) -> Verdict:
        """Recompute the guarantee of the table and of its terms, and compare both with the original."""
        files, original, manifest = release.files, release.original, release.manifest
        assert original is not None
        findings = found_in(release, files.reduced)
        found = check_table(files.reduced, manifest, release.request, original.reduced, findings)
        promised = [] if found.failures else _compare_with_original(release, original)
        failures = [*found.failures, *(f"not so: {promise}" for promise, holds in promised if not holds)]
        checks = (*found.checks, *list_figure_checks(manifest, original.reduced), *(promise for promise, _ in promised))
        return Verdict(f"{found.how}; {HOW}", checks, tuple(failures), found.unchecked)

    def derive(self, release: ReleaseFolder) -> DerivedTableWithTerms:
        """Return the parts that follow from the data file."""
        files, stated = release.files, release.manifest
        column = stated.codes.column
        return derive_with_terms(derive(files.reduced, stated, column), column, files.terms, stated.codes.settings)

    def contradictions(self, release: ReleaseFolder) -> list[str]:
        """Check that no record lost all codes where the method suppresses none."""
        codes = release.manifest.codes
        lost = codes.utility.patients_without_terms and not codes.may_suppress
        return ["records have no term, but by these settings no code is suppressed"] if lost else []

    def unmet_expectations(self, release: ReleaseFolder) -> list[str]:
        """Check the expectations of the recipient."""
        settings, manifest = release.manifest.codes.settings, release.manifest
        k, m = max(release.request.k or 1, settings.k), max(release.request.m or 1, settings.m)
        if (k, m) == (settings.k, settings.m):
            return []
        checks = Checks()
        note(checks, find_broken_terms(release.files.frame, guarantee_of(manifest), manifest.codes.column, k, m))
        return [Message(f"as asked, with k = {k} and m = {m}: ", failure) for failure in checks.failures]


def _compare_with_original(release: ReleaseFolder, both: OriginalBoth) -> list[tuple[str, bool]]:
    """Whether each record with codes can have a record of the original of its own, and its terms name codes of these.

    Records of a class that have the same recorded values and terms are one node of a maximum flow; so are records of
    the original that have the same values and codes. A record leads to those beneath its labels that have its recorded
    values, and whose codes make its terms.
    """
    original, reduced, manifest = both.whole, both.reduced, release.manifest
    if original is None or reduced is None:
        return []
    codes = manifest.codes
    released = _released_with_codes(release)
    sets = original.select(words_of(codes.column, release.request.words.missing).list.unique().list.sort().alias(CODE))
    own = without_formulas(reduced.frame) if manifest.settings.escape_formulas else reduced.frame
    own = own.with_columns(sets[CODE].list.join(" ").alias(SET))
    promised = replace(guarantee_of(manifest), patient=SET)
    source = source_of(reduced.replace_rows(own), manifest, release.request.hierarchies, release.files.frame)
    texts = own.select(as_text(own[name]) for name in (*recorded_columns(promised), *promised.levels, SET))
    texts = texts.filter((pl.col(codes.column) == PRESENT).fill_null(value=False))
    source = replace(source, tally=Tally(texts))
    beneath = find_beneath(ReleasedClasses(Tally(released), list(promised.levels)), promised, source)
    if beneath.unknown:
        return [(OWN_RECORD, False)]
    numbered = texts.select(SET).unique(maintain_order=True).with_row_index(PATIENT).cast({PATIENT: pl.Int64})
    members = numbered.select(PATIENT, pl.col(SET).str.split(" ").alias(CODE)).explode(CODE)
    near = _near(beneath, members, release.files.terms)
    known = near.select(CLASS, PATIENT).unique().join(members, on=PATIENT).select(CLASS, CODE).unique()
    strange = release.files.terms.members.join(known, on=[CLASS, CODE], how="anti")
    if not codes.may_suppress:
        near = near.filter("is_complete")
    return [(OWN_RECORD, _lost(beneath, near) == 0), (OWN_CODES, not strange.height)]


def _released_with_codes(release: ReleaseFolder) -> pl.DataFrame:
    """Return the released records that have codes as text, each with the number of its class and its terms."""
    files, promised, column = release.files, guarantee_of(release.manifest), release.manifest.codes.column
    rows = files.terms.rows
    frame = files.frame[rows[ROW]].with_columns(pl.lit(PRESENT).alias(column))
    texts = frame.select(as_text(frame[name]) for name in promised.columns if name != promised.id)
    return texts.with_columns(rows[CLASS].cast(pl.Int64), rows["cell"].alias(CELL))


def _near(beneath: Beneath, members: pl.DataFrame, released: ReleasedTerms) -> pl.DataFrame:
    """Return the records of the original that each class could have, and the terms that their codes make there.

    ``members``: the number of each code set of the original, and its codes, one a row
    """
    groups = beneath.released.select(CLASS, GROUP).unique(maintain_order=True)
    near = beneath.pairs.join(beneath.points.drop(COUNT), on=POINT).join(groups, on=GROUP)
    records = near.select(CLASS, PATIENT).unique(maintain_order=True).with_row_index(ROW)
    codes = records.join(members, on=PATIENT, maintain_order="left").select(ROW, CODE)
    records = records.hstack(derive_cells(records.select(ROW, CLASS), codes, released).rename({"cell": CELL}))
    return near.join(records.drop(ROW), on=[CLASS, PATIENT])


def _lost(beneath: Beneath, near: pl.DataFrame) -> int:
    """Return how many released records have no record of the original of their own."""
    kinds = beneath.released.group_by(CLASS, GROUP, VALUE, CELL, maintain_order=True).agg(pl.col(COUNT).sum())
    kinds = kinds.with_row_index(KIND)
    flow = Flow()
    flow.supply("released", kinds, [KIND])
    records = [POINT, VALUE, PATIENT]
    pairs = kinds.drop(COUNT).join(near, on=[CLASS, GROUP, VALUE, CELL])
    flow.lead("released", [KIND], "recorded", records, pairs)
    flow.drain("recorded", beneath.points, records)
    return flow.lost()
