"""Verification of a table with codes, in memory or from its folder: table, codes, and their consistency."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import ROOT
from cloister.io import Tally, as_text
from cloister.release.folder import read_tables
from cloister.release.head import CLUSTERS
from cloister.results import Checks, Verdict
from cloister.shapes.disassociation.format.clusters_file import read_clusters
from cloister.shapes.disassociation.format.data import Disassociation
from cloister.shapes.disassociation.verify.original import CLASS, CODE, COUNT, SET, count_miscounted, counts_allowed
from cloister.shapes.disassociation.verify.recheck import chunk_failures, expectation_failures
from cloister.shapes.disassociation.verify.verify import DisassociationSecret
from cloister.shapes.disassociation.verify.verify import verify as verify_codes
from cloister.shapes.table.format.guarantee import Guarantee
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.verify.recheck import (
    check_table,
    derive,
    found_in,
    list_figure_checks,
    original_of,
    source_of,
)
from cloister.shapes.table.verify.verify import generalize_values
from cloister.shapes.table_with_codes.format.data import (
    PRESENT,
    DerivedTableWithCodes,
    TableWithCodesManifest,
    derive_with_codes,
    with_presence,
    words_of,
)
from cloister.verification.driver import Checker, ReleaseUnderCheck, Request
from cloister.verification.script import note

from .statements import find_unfit


def verify_both(
    table: Verdict,
    frame: pl.DataFrame,
    promised: Guarantee,
    column: str,
    released: Disassociation,
    secret: DisassociationSecret,
) -> Verdict:
    """Return the verdict on a table with codes in memory, given the verdict on the table.

    The secret is the true codes of the rows that have any, in their order, and the cluster of each.
    """
    codes = verify_codes(released, secret)
    checks = Checks()
    checks.done += [*table.checks, *codes.checks]
    checks.failures += [*table.failures, *codes.failures]
    if not checks.failures and note(checks, find_unfit(frame, promised, column, released)):
        texts = pl.DataFrame([as_text(series) for series in frame])
        rows = texts.filter(pl.col(column).is_not_null() & (pl.col(column) != ROOT))
        found = classes_of_rows(rows, column, released)[CLASS].to_numpy()
        is_own = np.array_equal(found, released.class_of[secret.cluster_of])
        checks.require(is_own, "every record is in a cluster of its class")
    return replace(checks.verdict(f"{table.how}; {codes.how}"), unchecked=table.unchecked)


def classes_of_rows(rows: pl.DataFrame, column: str, released: Disassociation) -> pl.DataFrame:
    """Return the codes of each row, and the class with its labels; null if there is no such class."""
    names = [f"c{place}" for place in range(len(released.class_columns))]
    schema = dict.fromkeys(names, pl.String)
    classes = pl.DataFrame(list(released.classes), schema=schema, orient="row").with_row_index(CLASS)
    own = [rows[name].alias(place) for name, place in zip(released.class_columns, names, strict=True)]
    labels = pl.DataFrame([rows[column].alias(SET), *own])
    return labels.join(classes, on=names, how="left", nulls_equal=True, maintain_order="left").select(SET, CLASS)


def sizes_agree(rows: pl.DataFrame, released: Disassociation) -> bool:
    """Return whether each class has as many rows as its clusters have records."""
    if rows[CLASS].null_count():
        return False
    found = np.bincount(rows[CLASS].to_numpy(), minlength=len(released.classes))
    expected = np.zeros(len(released.classes), dtype=np.int64)
    np.add.at(expected, released.class_of, released.sizes)
    return np.array_equal(found, expected)


def counts_agree(rows: pl.DataFrame, released: Disassociation) -> bool:
    """Return whether each code is in as many rows of each class as in some data set consistent with its clusters."""
    return not count_miscounted(rows.select(CLASS, pl.col(SET).str.split(" ")), released)


def may_be_part(sets: pl.Series, released: Disassociation) -> bool:
    """Return whether there are at least as many records as in the clusters, and each code is at least as frequent."""
    held = sets.to_frame(CODE).select(pl.col(CODE).str.split(" ")).explode(CODE).group_by(CODE).len(COUNT)
    least = counts_allowed(released).group_by(CODE).agg(pl.col("least").sum())
    both = least.join(held, on=CODE, how="left")
    return bool(len(sets) >= released.n_records and (both[COUNT].fill_null(0) >= both["least"]).all())


CHECKED = "what the manifest says of the codes does not contradict the clusters; its figures were counted again"


@dataclass(frozen=True)
class _Files:
    """The files of a release, as read, and the table whose codes are reduced to whether there are any."""

    frame: pl.DataFrame
    released: Disassociation
    reduced: Tally


@dataclass(frozen=True)
class OriginalBoth:
    """The original as given, and with its codes reduced."""

    whole: pl.DataFrame | None
    reduced: Tally | None


def read_original(request: Request, column: str) -> OriginalBoth:
    """Return the custodian's data."""
    original = original_of(request)
    if original is None or column not in original.frame.columns:
        return OriginalBoth(None if original is None else original.frame, original)
    reduced = with_presence(original.frame, column, request.words.missing)
    return OriginalBoth(original.frame, original.replace_rows(reduced))


ReleaseFolder = ReleaseUnderCheck[TableWithCodesManifest, _Files, OriginalBoth]


class TableWithCodesChecker(Checker[TableWithCodesManifest, _Files, OriginalBoth]):
    """The checker of tables with codes: each separately, and their consistency."""

    def read_files(self, folder: Path, manifest: TableWithCodesManifest) -> _Files:
        """Read the data file and the clusters."""
        # Rows, never runs of them: each has a set of codes of its own.
        (frame,) = read_tables(folder, manifest).values()
        released = read_clusters(folder / CLUSTERS)
        if released.repeats or released.sensitive.size or not released.class_columns:
            raise InputError(f"{CLUSTERS} is not that of a table with codes")
        return _Files(frame, released, Tally(with_presence(frame, manifest.codes.column)))

    def read_original(self, request: Request, manifest: TableWithCodesManifest, _files: _Files) -> OriginalBoth:
        """Read the custodian's data."""
        return read_original(request, manifest.codes.column)

    def verify(self, release: ReleaseFolder) -> Verdict:
        """Recompute the guarantee of the table, of the codes, and of both together.

        For the codes of each class, check whether the clusters may represent the original. The check compares the
        counts of single codes.
        """
        files, original, manifest = release.files, release.original, release.manifest
        assert original is not None
        findings = found_in(release, files.reduced)
        found = check_table(files.reduced, manifest, release.request, original.reduced, findings)
        codes = verify_codes(files.released, findings=())  # the script was asked of chunks, too
        failures = [*found.failures, *codes.failures]
        promised = []
        if codes.holds:
            promised = _compare_with_original(release, original)
            failures += [f"not so: {promise}" for promise, holds in promised if not holds]
        of_table = (*found.checks, *list_figure_checks(manifest, original.reduced))
        checks = (*of_table, *codes.checks, *(promise for promise, _ in promised), CHECKED)
        return Verdict(f"{found.how}; {codes.how}", checks, tuple(failures), found.unchecked)

    def derive(self, release: ReleaseFolder) -> DerivedTableWithCodes:
        """Return the parts that follow from table and clusters."""
        files, stated = release.files, release.manifest
        part, column = stated.codes, stated.codes.column
        return derive_with_codes(
            derive(files.reduced, stated, column), column, files.released, part.settings, part.utility
        )

    def contradictions(self, release: ReleaseFolder) -> list[str]:
        """Check settings and the form of the clusters against the clusters."""
        part = release.manifest.codes
        failures = chunk_failures(release.folder, release.files.released, part.settings, part.utility)
        return [f"codes: {failure}" for failure in failures]

    def unmet_expectations(self, release: ReleaseFolder) -> list[str]:
        """Check the expectations of the recipient."""
        return expectation_failures(release.files.released, release.request)


def _compare_with_original(release: ReleaseFolder, both: OriginalBoth) -> list[tuple[str, bool]]:
    """Check whether the clusters may represent the original, class by class if a policy determines the classes."""
    original, reduced, manifest, released = both.whole, both.reduced, release.manifest, release.files.released
    if original is None or reduced is None:
        return []
    guarantee, column = guarantee_of(manifest), manifest.codes.column
    cells = as_text(original.get_column(column)).to_frame("c")
    # Codes of each record, each once, in order, separated by single spaces.
    words = cells.select(words_of("c", release.request.words.missing)).to_series()
    sets = words.list.unique().list.sort().list.join(" ").alias(SET)
    shown = reduced.frame.get_column(column) == PRESENT
    if not guarantee.has_one_transformation:
        within = may_be_part(sets.filter(shown), released)
        return [
            ("no code of the clusters is more frequent than in the whole original (levels differ by class)", within)
        ]
    source = source_of(reduced, manifest, release.request.hierarchies)
    texts = pl.DataFrame([as_text(source.frame.get_column(name)) for name in guarantee.levels])
    labels = generalize_values(texts, source.hierarchies, guarantee.levels)
    rows = labels.with_columns(sets.alias(column)).filter(shown)
    classes = classes_of_rows(rows, column, released)
    known = classes.filter(classes["class"].is_not_null())
    return [
        (
            "each class has as many patients of the original with codes, and each code as often as its clusters allow",
            sizes_agree(known, released) and counts_agree(known, released),
        )
    ]
