"""Protection of a table: encode it, recode its records, measure, and describe what is released."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from cloister.io import Source, as_text
from cloister.jobs.linked_columns import RecordedValues
from cloister.release.manifest import AnyManifest
from cloister.release.release import CustodianFiles, Release
from cloister.report.release_warnings import describe_unique
from cloister.results import DisclosiveColumn, Manifest
from cloister.shapes.protocol import Original, Run
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
from cloister.shapes.table.method.measure import exact_utility, with_joined
from cloister.shapes.table.method.protect import TableRelease, protect
from cloister.shapes.table.method.recoding.choice import RecordCodes, check_levels
from cloister.shapes.table.method.roles import decide_columns
from cloister.shapes.table.method.vanished import describe_lost, find_vanished
from cloister.shapes.table.verify.verify import verify

from .protecting import Encoded, Protected, StagedProtection, complete_manifest
from .table_refusals import accepted_as_recorded, accepted_with_labels, empty_column_notes
from .undecided import find_evidence, list_unmatched, require_decided


@dataclass(frozen=True, eq=False, repr=False)
class EncodedInput:
    """A table that is ready for the search, and the columns that the user accepted as recorded."""

    table: EncodedTable
    accepted: Sequence[DisclosiveColumn] = ()


class TableInMemory(StagedProtection[Encoded, Protected]):
    """A table in memory, and what is asked of it.

    ``unmatched_values``: the file for values that are in no hierarchy, for the custodian; None where nobody asked
    """

    codes: Sequence[str] = ()  # the columns of codes, which have a role of their own

    def __init__(
        self, source: Source, request: TableRequest, *, seed: int = 0, unmatched_values: Path | None = None
    ) -> None:
        self.source, self.request, self.seed, self.unmatched_values = source, request, seed, unmatched_values
        self.kernels = request.kernels
        self.how_read = self.assumptions = source.notes
        self.recorded = (*request.sensitive, *request.keep)
        hierarchies = {column: wanted.hierarchy for column, wanted in request.quasi_identifiers.items()}
        self.original = Original(source.frame, hierarchies)

    @property
    def undecided(self) -> dict[str, str]:
        """The columns without a role, with the evidence found in each."""
        return find_evidence(self.source.frame, self.request, self.codes)

    def check_roles(self) -> None:
        """Reject undecided columns, and list the evidence found in each."""
        frame, file = self.source.frame, self.source.name
        decided = decide_columns(self.request, frame.columns, file, others=self.codes)
        require_decided(frame, decided, file, self.codes)

    def encode_rows(self, frame: pl.DataFrame, request: TableRequest) -> EncodedInput:
        """Encode the table, and reject undecided columns, texts that identify, and levels that do not exist."""
        source = self.source
        self.check_roles()
        table = encode(frame, request, source.name)
        accepted = accepted_as_recorded(table, request, source.name)
        if request.levels is not None:
            check_levels(table.problem, request.levels)
        return EncodedInput(table, accepted)

    def list_unmatched(self) -> None:
        """Write the values that are in no hierarchy, if that was requested."""
        if self.unmatched_values is not None:
            frame = self.source.frame
            list_unmatched(self.request, frame.columns, frame.get_column, self.unmatched_values)

    def recorded_values(self) -> RecordedValues | None:
        """Return the columns that are released as recorded; None if patients have several rows."""
        frame, request = self.source.frame, self.request
        columns = [as_text(frame[name]).alias(name) for name in self.recorded if name in frame.columns]
        if not columns or request.patients is not None:
            return None
        return RecordedValues(
            pl.DataFrame(columns), request.k, None if request.id is None else as_text(frame[request.id])
        )

    def notes(self, release: Release, _manifest: AnyManifest) -> Sequence[str]:
        """Return assumptions made while reading, and notes on columns without information."""
        assert isinstance(release, TableRelease)
        return [*self.assumptions, *release.notes]


class TableProtection(TableInMemory[EncodedInput, ProtectedTable]):
    """A table whose quasi-identifiers are generalized."""

    def encode(self) -> EncodedInput:
        """Number the rows, and bind the hierarchies."""
        return self.encode_rows(self.source.frame, self.request)

    def protect(self, encoded: EncodedInput, run: Run) -> ProtectedTable:
        """Generalize, and suppress."""
        return protect_rows(encoded.table, self.request, run)

    def describe(self, encoded: EncodedInput, protected: ProtectedTable) -> TableRelease:
        """Measure what was lost, and describe the release."""
        return describe_release(encoded, protected, self.request, self.source, self.seed)


def protect_rows(
    table: EncodedTable, request: TableRequest, run: Run, codes: RecordCodes | None = None
) -> ProtectedTable:
    """Generalize and suppress, report the progress of the search, and keep its time apart.

    ``codes``: of all records, where classes are to be merged for their sake
    """
    with run.voice.searching() as report:
        protected = protect(table, request, report, codes)
    if protected.search is not None:
        run.watch.move("protect", "search", protected.search.seconds)
    return protected


def describe_release(
    encoded: EncodedInput, protected: ProtectedTable, request: TableRequest, source: Source, seed: int
) -> TableRelease:
    """Measure a protected table, or its tally, and return the release, not verified yet."""
    table, n = encoded.table, encoded.table.tally.n_records
    table = replace(table, hierarchies=with_joined(table.hierarchies, table.tally, protected, request))
    accepted, of_sets = accepted_with_labels(table, protected, request, source.name)
    request = with_published_rules(request, protected.suppressed, n)
    utility = exact_utility(table, protected, request)
    derived = describe_table(utility, table, protected, request, source.name, [*encoded.accepted, *accepted])
    vanished = find_vanished(table, protected, request)
    notes = [*empty_column_notes(table, request, derived.stated, source.name), *of_sets]
    notes += [] if derived.unique is None else describe_unique(**vars(derived.unique))
    notes += describe_lost(table, protected, vanished)
    if request.target is not None and request.method != MONDRIAN:
        notes.append(f"The target guides the method {MONDRIAN} alone: by {request.method} it changes nothing")
    guarantee = guarantee_of(derived.stated)
    # What the manifest promises is verified, and what it does not publish.
    guarantee = replace(guarantee, suppressed=protected.suppressed, limit=suppression_limit(request.suppression, n))
    check = partial(
        verify,
        guarantee=guarantee,
        original=replace(original_of(table, request), records=protected.originals),
        populations=populations_of(table, request),
        every_rule=True,
    )
    exact = exact_figures(utility, table, protected, request, vanished)
    frame = unpack(protected.tally.frame)
    return TableRelease(
        manifest=complete_table_manifest(derived, source, seed),
        derived=derived,
        custody=CustodianFiles(exact, _crosswalk(table, protected, request)),
        frame=frame,
        format=source.format,
        delimiter=source.delimiter or ",",
        data=frame,
        encoded=table,
        _check=check,
        notes=tuple(notes),
    )


def unpack(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with text in place of packed text, which also lists values that do not occur."""
    return frame.with_columns(as_text(one) for one in frame if one.dtype == pl.Enum)


def complete_table_manifest(
    derived: DerivedTable, source: Source, seed: int, more: Manifest | None = None
) -> AnyManifest:
    """Return the manifest of a table; ``more``: further parts of it."""
    written = (source.format, source.delimiter or ",")
    stated = derived.stated.as_json() | (more or {})
    return complete_manifest(stated, derived, source=source.name, seed=seed, written=written)


def _crosswalk(table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> pl.DataFrame | None:
    """Return the original id of each released record; None for counted records, and for several rows per patient."""
    is_counted = table.tally.counts is not None
    if request.id is None or request.ids is Ids.DROP or is_counted or request.patients is not None:
        return None
    new = protected.tally.frame[request.id].filter(protected.originals.is_not_null()).alias("released")
    old = table.frame[request.id].gather(protected.originals.drop_nulls()).alias("original")
    return pl.DataFrame([new, old])
