"""A table with codes under attack: somebody knows quasi-identifiers of a patient, and codes beside all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.codesets.disassociation.clusters_file import read_clusters
from cloister.codesets.disassociation.data import Disassociation
from cloister.hierarchy import BoundHierarchy, Hierarchy
from cloister.io import as_text
from cloister.release_folder import CLUSTERS
from cloister.table_with_codes.data import CodesRequested, read_codes, with_presence
from cloister.table_with_codes.manifest import TableWithCodesManifest
from cloister.tabular.manifest import guarantee_of
from cloister.tabular.recheck import source_of
from cloister.tabular.verification.guarantee import Guarantee

from .adversary import NOT_KNOWN, Adversary, Integers, Match, match_of
from .chunks import InChunks
from .codes import TermRecords, as_recorded, code_steps
from .labelled import Labelled, labels_of, numbered
from .simulation import OpenedRelease
from .table import open_table

NO_TARGET = -1  # In place of a number of items: the patient is not looked for


@dataclass(frozen=True, eq=False, repr=False)
class InClasses:
    """Chunks inside classes of a table: all quasi-identifiers are known, and some codes."""

    classes: Labelled  # the classes that have codes, one group each
    chunks: InChunks
    place: Integers  # (n_patients,) the patient's place among those with codes

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Return what somebody sees who knows all quasi-identifiers and some codes of a target."""
        who = int(self.place[target])
        candidates = self.chunks.fitting(self.chunks.known_codes(who, known))
        fitting = self.classes.groups(target, range(len(self.classes.labels)))
        candidates[~np.isin(self.chunks.released.class_of, fitting)] = 0
        return self.chunks.match_among(who, candidates)


@dataclass(frozen=True, eq=False, repr=False)
class BesideRows:
    """The table and its codes as they were recorded."""

    table: Labelled  # the records by their quasi-identifiers; its groups are of those alone
    with_codes: TermRecords  # the records that have codes
    # place, records: (n_patients,) the patient's place among these, and the patient at each place
    place: Integers
    records: Integers

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Return what somebody sees who knows all quasi-identifiers and some codes of a target."""
        held = self.records[self.with_codes.groups(int(self.place[target]), known)]
        alike = held[self.table.own[held] == self.table.own[target]]
        return match_of(alike, np.ones(self.place.size, dtype=np.int64), target)


def open_table_with_codes(
    folder: Path,
    manifest: TableWithCodesManifest,
    original: pl.DataFrame,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    crosswalk: pl.DataFrame | None = None,
    missing: Sequence[str] = (),
) -> OpenedRelease:
    """Open a release of a table with a column of codes.

    ``missing``: texts in the original that stand for a missing code
    """
    column = manifest.codes.column
    reduced = with_presence(original, column, missing)
    opened = open_table(
        folder, manifest, reduced, hierarchies, crosswalk, lambda frame: with_presence(frame, column, missing)
    )
    released = read_clusters(folder / CLUSTERS)
    promise = guarantee_of(manifest)
    source = source_of(reduced, manifest, hierarchies or {})
    read = read_codes(original, CodesRequested(column, missing=tuple(missing)), "the original")
    place = np.full(original.height, NO_TARGET, dtype=np.int64)
    place[read.records] = np.arange(read.records.size)
    n_codes = np.full(original.height, NO_TARGET, dtype=np.int64)
    n_codes[read.records] = np.diff(read.codes.offsets)
    table = opened.adversaries[0].original
    assert isinstance(table, Labelled)
    unknown = np.full(read.codes.n_records, NOT_KNOWN, dtype=np.int64)  # who is in which cluster is not told
    clusters = InChunks(released, read.codes, unknown)
    beside = Adversary(
        steps=code_steps(released.m, "all quasi-identifiers and "),
        n_items=n_codes,
        released=InClasses(_classes(released, reduced, promise, source.hierarchies), clusters, place),
        original=BesideRows(table, as_recorded(read.codes), place, read.records),
        covers=lambda _target, known: len(known) <= released.m,
    )
    return replace(opened, adversaries=(*opened.adversaries, beside))


def _classes(
    released: Disassociation, frame: pl.DataFrame, promise: Guarantee, hierarchies: Mapping[str, BoundHierarchy]
) -> Labelled:
    labels, values, fits = [], [], []
    for place, column in enumerate(released.class_columns):
        texts, own = numbered(pl.Series([row[place] for row in released.classes], dtype=pl.String))
        known, numbers = numbered(as_text(frame[column]))
        labels.append(own)
        values.append(numbers)
        if column in promise.averaged:  # an average may be that of any number
            fits.append([tuple(range(len(texts)))] * len(known))
        else:
            levels = promise.recoded.get(column, (promise.levels[column],))
            fits.append(labels_of(known, hierarchies[column], levels, texts))
    sizes = np.ones(len(released.classes), dtype=np.int64)
    nobody = np.full(frame.height, NOT_KNOWN, dtype=np.int64)
    return Labelled(tuple(labels), sizes, tuple(values), tuple(fits), nobody)
