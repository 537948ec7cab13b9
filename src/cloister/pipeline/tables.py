"""The pipeline of a table. New readers start here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import polars as pl

from cloister.io import Source, Tally, as_text
from cloister.io.foreign import interruptible
from cloister.release.release import CustodianFiles
from cloister.report.release_warnings import describe_unique
from cloister.results import DisclosiveColumn, Manifest, Stopwatch, Verdict
from cloister.search import load_kernels
from cloister.search.problem import Report
from cloister.shapes.table.format.facts import DerivedTable
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.format.options import MONDRIAN
from cloister.shapes.table.method.data import EncodedTable, Ids, ProtectedTable, TableRequest
from cloister.shapes.table.method.describe import (
    describe_table,
    exact_figures,
    original_of,
    populations_of,
    with_published_rules,
)
from cloister.shapes.table.method.encode import encode, suppression_limit
from cloister.shapes.table.method.measure import exact_utility
from cloister.shapes.table.method.protect import TableRelease, protect
from cloister.shapes.table.method.recoding.choice import RecordCodes
from cloister.shapes.table.method.vanished import describe_lost, find_vanished
from cloister.shapes.table.verify.verify import verify

from .provenance import add_provenance, require_verified
from .table_refusals import accepted_as_recorded, accepted_beside_labels, empty_column_notes

Made = TypeVar("Made", bound=TableRelease)


@dataclass(frozen=True)
class TableRun:
    """A protected, verified and measured table, before it becomes a release."""

    table: EncodedTable = field(repr=False)
    protected: ProtectedTable
    request: TableRequest
    check: Callable[[Tally], Verdict] = field(repr=False)
    derived: DerivedTable = field(repr=False)
    exact: dict[str, object]
    crosswalk: pl.DataFrame | None = field(repr=False)
    notes: tuple[str, ...]  # what the user should know, in sentences without their stops

    def release(
        self,
        kind: Callable[..., Made],
        source: str,
        *,
        seed: int,
        watch: Stopwatch,
        custody: Mapping[str, object] | None,
        format: str = "csv",  # noqa: A002  (as a source calls it)
        delimiter: str | None = ",",
        derived: DerivedTable | None = None,
        also: Manifest | None = None,
        **particular: object,
    ) -> Made:
        """Return the release of the table; arguments particular to a kind of release replace the common ones.

        ``derived``: what follows from its files, where these are more than a table
        ``also``: further parts of its manifest
        """
        frame, derived = self.protected.tally.frame, derived or self.derived
        stated = derived.stated.as_json() | (also or {})
        every: dict[str, object] = {
            "data": frame,
            "frame": frame,
            "encoded": self.table,
            "manifest": add_provenance(
                stated, derived, source=source, seed=seed, watch=watch, written=(format, delimiter or ",")
            ),
            "derived": derived,
            "custody": CustodianFiles(self.exact | dict(custody or {}), self.crosswalk),
        }
        how = {"format": format, "delimiter": delimiter or ",", "_check": self.check, "notes": self.notes}
        return kind(**every | how | particular)


def protect_table(
    source: Source,
    request: TableRequest,
    *,
    seed: int = 0,
    progress: Report | None = None,
    watch: Stopwatch | None = None,
    custody: Mapping[str, object] | None = None,
) -> TableRelease:
    """Protect a table, and return the verified release.

    ``progress``: called now and then while searching.
    """
    watch = watch or Stopwatch()
    table_run = take_table(source, request, watch, progress=progress)
    return table_run.release(
        TableRelease,
        source.name,
        seed=seed,
        watch=watch,
        custody=custody,
        format=source.format,
        delimiter=source.delimiter,
    )


def take_table(
    source: Source,
    request: TableRequest,
    watch: Stopwatch,
    *,
    progress: Report | None = None,
    codes: RecordCodes | None = None,
) -> TableRun:
    """Encode, protect, verify and measure a table.

    ``codes``: of all records, where classes are to be merged for their sake.
    """
    with watch.stage("start"):
        interruptible(partial(load_kernels, request.kernels))
    with watch.stage("encode"):
        table = encode(source.frame, request, source.name)
        accepted = accepted_as_recorded(table, request, source.name)
    return take_encoded(table, request, source.name, watch, progress=progress, codes=codes, accepted=accepted)


def take_encoded(
    table: EncodedTable,
    request: TableRequest,
    source: str,
    watch: Stopwatch,
    *,
    progress: Report | None = None,
    codes: RecordCodes | None = None,
    accepted: Sequence[DisclosiveColumn] = (),
) -> TableRun:
    """Protect, verify and measure a table that is encoded already; see `take_table`."""
    with watch.stage("protect"):
        protected = protect(table, request, progress, codes)
    if protected.search is not None:
        watch.move("protect", "search", protected.search.seconds)
    n = table.tally.n_records
    with watch.stage("measure"):
        beside, of_sets = accepted_beside_labels(table, protected, request, source)
        accepted = [*accepted, *beside]
        request = with_published_rules(request, protected.suppressed, n)
        utility = exact_utility(table, protected, request)
        derived = describe_table(utility, table, protected, request, source, accepted)
    with watch.stage("verify"):
        # What the manifest promises is verified, and beside it what it does not publish.
        limit = suppression_limit(request.suppression, n)
        guarantee = replace(guarantee_of(derived.stated), suppressed=protected.suppressed, limit=limit)
        check = partial(
            verify,
            guarantee=guarantee,
            original=replace(original_of(table, request), records=protected.originals),
            populations=populations_of(table, request),
            every_rule=True,
        )
        require_verified(check(protected.tally))
    with watch.stage("measure"):
        notes = [*empty_column_notes(table, request, derived.stated, source), *of_sets]
        notes += [] if derived.unique is None else describe_unique(**vars(derived.unique))
        vanished = find_vanished(table, protected, request.k)
        notes += describe_lost(table, protected, vanished)
        exact = exact_figures(utility, table, protected, request, vanished)
        known = _crosswalk(table, protected, request)
    if request.target is not None and request.method != MONDRIAN:
        notes.append(f"The target guides the method {MONDRIAN} alone: by {request.method} it changes nothing")
    frame = protected.tally.frame
    texts = frame.with_columns(as_text(one) for one in frame if one.dtype == pl.Enum)
    protected = replace(protected, tally=protected.tally.replace_rows(texts))
    return TableRun(table, protected, request, check, derived, exact, known, tuple(notes))


def _crosswalk(table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> pl.DataFrame | None:
    """Return the original id of each released record; None for counted records, and for several rows per patient."""
    is_counted = table.tally.counts is not None
    if request.id is None or request.ids is Ids.DROP or is_counted or request.patients is not None:
        return None
    new = protected.tally.frame[request.id].filter(protected.originals.is_not_null()).alias("released")
    old = table.frame[request.id].gather(protected.originals.drop_nulls()).alias("original")
    return pl.DataFrame([new, old])
