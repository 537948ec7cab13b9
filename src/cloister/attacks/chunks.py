"""Disassociated code sets under attack: no record is released, so parts of records are named instead.

Whoever knows codes of a patient looks for the clusters that may hold the patient: all those codes are there, and those
that stand in one chunk stand in one of its subrecords together. In each chunk the patient's subrecord is one of those
that hold the known codes of the chunk: the candidates. Of a cluster the chunk with the fewest candidates counts; where
known codes stand in its item chunk alone, every patient of the cluster is a candidate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.codesets.data import CodeSets, owners
from cloister.codesets.disassociation.clusters_file import read_clusters
from cloister.codesets.disassociation.data import Chunks, Disassociation, Layout, lay_out
from cloister.codesets.disassociation.manifest import DisassociationManifest
from cloister.codesets.original import CodesOriginal
from cloister.errors import InputError
from cloister.io import as_text
from cloister.release_folder import CLUSTERS

from .adversary import ELSEWHERE, GONE, NOT_KNOWN, THERE, UNKNOWN, Adversary, Integers, Match
from .codes import FurtherCode, as_recorded, code_steps, found_by_terms, read_cells, record_ids
from .labelled import postings
from .simulation import OpenedRelease, patient_ids

MANY = np.iinfo(np.int64).max

Place = tuple[Integers, Integers, Integers]
"""Clusters, how many of the known codes stand in a chunk of each, and the candidates there."""


@dataclass(frozen=True, eq=False, repr=False)
class _Index:
    """Where the codes of chunks stand."""

    chunks: Chunks  # record chunks or shared chunks
    by_code: Sequence[Integers]  # for each code, the chunks whose domain has it
    subrecords: Sequence[Integers]  # for each code, the subrecords that hold it
    chunk_of: Integers  # the chunk of each subrecord

    @classmethod
    def of(cls, chunks: Chunks, n_codes: int) -> "_Index":
        chunk = owners(chunks.domain_offsets)
        subrecord = owners(chunks.item_offsets)
        chunk_of = owners(chunks.subrecord_offsets)
        return cls(
            chunks, postings(chunks.domain, chunk, n_codes), postings(chunks.items, subrecord, n_codes), chunk_of
        )

    def candidates(self, codes: Sequence[int]) -> tuple[Integers, Integers]:
        """Return the chunks that have some of these codes, and how many subrecords hold all of those they have."""
        involved, needed = np.unique(np.concatenate([self.by_code[code] for code in codes]), return_counts=True)
        subrecords, held = np.unique(np.concatenate([self.subrecords[code] for code in codes]), return_counts=True)
        place = np.searchsorted(involved, self.chunk_of[subrecords])
        whole = held == needed[place] if involved.size else np.zeros(0, dtype=np.bool_)
        return involved, np.bincount(place[whole], minlength=involved.size).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class _Tally:
    """For clusters in their order: how many known codes were met, and the fewest candidates so far."""

    held: Integers
    fewest: Integers

    @classmethod
    def of(cls, n_clusters: int) -> "_Tally":
        return cls(np.zeros(n_clusters, dtype=np.int64), np.full(n_clusters, MANY, dtype=np.int64))

    def add(self, places: Integers, n_codes: Integers | int, candidates: Integers | int) -> None:
        """Note that so many codes are met in some clusters, each named once, with so many candidates."""
        self.held[places] += n_codes
        self.fewest[places] = np.minimum(self.fewest[places], candidates)


@dataclass(frozen=True, eq=False, repr=False)
class InChunks:
    """Clusters of chunks, among whose subrecords that of a patient is looked for."""

    released: Disassociation
    codes: CodeSets  # what is known of patients
    number: Integers  # for each code of the original its number in the release, -1 where it has none
    own: Integers  # (n_patients,) cluster of each patient, `GONE` or `NOT_KNOWN`
    _record: _Index = field(init=False)
    _shared: _Index = field(init=False)
    _item: list[Integers] = field(init=False)
    _layout: Layout = field(init=False)

    def __post_init__(self) -> None:
        released, n_codes = self.released, len(self.released.vocabulary)
        cluster = owners(released.item_offsets)
        for name, value in (
            ("_record", _Index.of(released.record_chunks, n_codes)),
            ("_shared", _Index.of(released.shared_chunks, n_codes)),
            ("_item", postings(released.item_chunks, cluster, n_codes)),
            ("_layout", lay_out(released)),
        ):
            object.__setattr__(self, name, value)

    def fitting(self, known: Sequence[int]) -> Integers:
        """Return the candidates in each cluster for somebody with these codes (as the original numbers them), 0: none.

        Without any code, all patients of a cluster are candidates.
        """
        codes = [int(self.number[code]) for code in known]
        if not codes:
            return self.released.sizes.copy()
        found = _Tally.of(self.released.n_clusters)
        if min(codes) < 0:
            return found.held
        position = self._layout.position
        for clusters, n_codes, candidates in self._own(codes):
            found.add(position[clusters], n_codes, candidates)
        self._add_joint(codes, found)
        whole: Integers = np.where(found.held == len(codes), found.fewest, 0)[position]
        return whole

    def _own(self, codes: Sequence[int]) -> Iterator[Place]:
        """Where codes stand in record chunks and item chunks."""
        chunks, candidates = self._record.candidates(codes)
        met = np.searchsorted(chunks, np.concatenate([self._record.by_code[code] for code in codes]))
        held = np.bincount(met, minlength=chunks.size)
        owner = self.released.record_chunks.owner[chunks].astype(np.int64)
        turn = np.arange(owner.size) - np.searchsorted(owner, owner)  # a cluster may have several: one at a time
        for number in range(int(turn.max(initial=-1)) + 1):
            now = turn == number
            yield owner[now], held[now], candidates[now]
        for code in codes:
            clusters = self._item[code]
            yield clusters, np.ones(clusters.size, dtype=np.int64), self.released.sizes[clusters]

    def _add_joint(self, codes: Sequence[int], found: "_Tally") -> None:
        """Add what stands in shared chunks: in the clusters beneath, but for those that have a code elsewhere."""
        chunks, candidates = self._shared.candidates(codes)
        joints = self.released.shared_chunks.owner[chunks]
        low, high = self._layout.low[joints], self._layout.high[joints]
        inside: dict[int, list[int]] = {}
        for code in codes:
            for chunk in self._shared.by_code[code].tolist():
                inside.setdefault(chunk, []).append(code)
        free = {code: self._not_elsewhere(code) for code in codes}
        spans = zip(chunks.tolist(), low.tolist(), high.tolist(), candidates.tolist(), strict=True)
        for chunk, first, last, count in spans:
            here = inside[chunk]
            is_free = np.logical_and.reduce([free[code][first:last] for code in here])
            found.add(first + np.flatnonzero(is_free), len(here), count)

    def _not_elsewhere(self, code: int) -> NDArray[np.bool_]:
        """By position, the clusters that have a code in no chunk of their own."""
        in_record = self.released.record_chunks.owner[self._record.by_code[code]]
        free = np.ones(self.released.n_clusters, dtype=np.bool_)
        free[self._layout.position[in_record]] = False
        free[self._layout.position[self._item[code]]] = False
        return free

    def match_among(self, target: int, candidates: Integers) -> Match:
        """Return what is seen where there are so many candidates in each cluster."""
        found = candidates[candidates > 0]
        own = int(self.own[target])
        is_there = own >= 0 and bool(candidates[own] > 0)
        where = UNKNOWN if own == NOT_KNOWN else THERE if is_there else ELSEWHERE
        return Match(int(found.sum()), int(found.min(initial=MANY)) if found.size else 0, where)

    def known_codes(self, target: int, known: Sequence[int]) -> list[int]:
        """Return the numbers of known codes of a target, as the original has them."""
        begin = int(self.codes.offsets[target])
        return [int(self.codes.items[begin + item]) for item in known]

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Return what somebody sees who knows some codes of a target."""
        return self.match_among(target, self.fitting(self.known_codes(target, known)))


def numbers_in(released: Disassociation, codes: CodeSets) -> Integers:
    """Return the number of each code of the original in the release, -1 where it is not there."""
    place = {code: number for number, code in enumerate(released.vocabulary)}
    return np.array([place.get(code, -1) for code in codes.vocabulary], dtype=np.int64)


def open_chunks(folder: Path, manifest: DisassociationManifest, original: CodesOriginal) -> OpenedRelease:
    """Open a release of disassociated code sets."""
    released, codes = read_clusters(folder / CLUSTERS), original.given.codes
    own = _cluster_of(original, released)
    reconstructed: tuple[FurtherCode, ...] = ()
    if not codes.repeats:  # of repeated codes the reconstruction that is released has no numbers
        unknown = np.full(codes.n_records, NOT_KNOWN, dtype=np.int64)
        reconstructed = (FurtherCode(found_by_terms(read_cells(folder, manifest), codes, unknown)),)
    adversary = Adversary(
        steps=code_steps(released.m),
        n_items=np.diff(codes.offsets),
        released=InChunks(released, codes, numbers_in(released, codes), own),
        original=as_recorded(codes),
        covers=lambda _target, known: len(known) <= released.m,
    )
    return OpenedRelease(
        shape="codes",
        method=manifest.method,
        k=released.k,
        n_patients=codes.n_records,
        n_released=released.n_records,
        is_known_who=original.crosswalk is not None,
        adversaries=(adversary,),
        sensitive=reconstructed,
        ids=None if codes.ids is None else patient_ids(codes.ids, codes.n_records),
    )


def _cluster_of(original: CodesOriginal, released: Disassociation) -> Integers:
    """The cluster of each patient, by the crosswalk."""
    codes, crosswalk = original.given.codes, original.crosswalk
    if crosswalk is None:
        return np.full(codes.n_records, NOT_KNOWN, dtype=np.int64)
    if crosswalk.columns != ["original", "cluster"]:
        raise InputError("The crosswalk does not have the columns original and cluster, as one of code sets has.")
    told = pl.DataFrame([as_text(crosswalk["original"]), as_text(crosswalk["cluster"]).cast(pl.Int64, strict=False)])
    ids = record_ids(original).alias("original").to_frame()
    joined = ids.join(told, on="original", how="left", maintain_order="left")
    known = joined["cluster"].drop_nulls()
    if (
        joined.height != codes.n_records
        or len(known) != told.height
        or not known.is_between(0, released.n_clusters - 1).all()
    ):
        raise InputError("The crosswalk does not map patients of the original to clusters of the release.")
    own: Integers = joined["cluster"].fill_null(GONE).to_numpy().astype(np.int64)
    return own
