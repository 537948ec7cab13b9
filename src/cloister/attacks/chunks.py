"""Attack disassociated code sets: no record is released, so the adversary looks for parts of records.

Whoever knows codes of a patient looks for the clusters that may hold the patient: all those codes are there, and those
that are in one chunk are in one of its subrecords together. In each chunk the patient's subrecord is one of those
that hold the known codes of the chunk: the candidates. Of a cluster the chunk with the fewest candidates counts; where
known codes are in its item chunk alone, every patient of the cluster is a candidate.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io import as_text
from cloister.kernels.ragged import owners, postings
from cloister.release.head import CLUSTERS
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.disassociation.format.clusters_file import read_clusters
from cloister.shapes.disassociation.format.data import ChunkIndex, Disassociation, lay_out
from cloister.shapes.disassociation.format.manifest import DisassociationManifest
from cloister.verification.codes_original import CodesOriginal, read_original
from cloister.verification.driver import Request

from .adversary import ELSEWHERE, GONE, NOT_KNOWN, THERE, UNKNOWN, Adversary, Integers, Match
from .codes import FurtherCode, as_recorded, code_steps, found_by_terms, read_cells, record_ids
from .implied_codes import count_implied
from .simulation import OpenedRelease, patient_ids

MANY = np.iinfo(np.int64).max

Place = tuple[Integers, Integers | int, Integers | int]
"""Positions of clusters, each once, how many of the known codes are in a chunk of each, and the candidates there."""


class InChunks:
    """Clusters of chunks; the adversary looks for a patient's subrecord in each."""

    def __init__(self, released: Disassociation, codes: CodeSets, own: Integers) -> None:
        self.released, self.codes = released, codes  # the codes are what is known of patients
        self.own = own  # (n_patients,) cluster of each patient, `GONE` or `NOT_KNOWN`
        n_codes, place = len(released.vocabulary), {code: number for number, code in enumerate(released.vocabulary)}
        # For each code of the original its number in the release, -1 where it has none.
        self.number = [place.get(code, -1) for code in codes.vocabulary]
        both = released.record_chunks, released.shared_chunks
        self.record, self.shared = (ChunkIndex(chunks, n_codes) for chunks in both)
        self.item = postings(released.item_chunks, owners(released.item_offsets), n_codes)
        self.layout = lay_out(released)

    def fitting(self, known: Sequence[int]) -> Integers:
        """Return the candidates in each cluster for a patient with these codes (numbered as in the original); 0: none.

        Without any code, all patients of a cluster are candidates.
        """
        codes, sizes, n = [self.number[code] for code in known], self.released.sizes, self.released.n_clusters
        if not codes:
            return sizes.copy()
        # By position of the cluster: how many known codes were met, and the fewest candidates so far.
        held, fewest = np.zeros(n, dtype=np.int64), np.full(n, MANY, dtype=np.int64)
        if min(codes) < 0:
            return held
        for places, met, candidates in (*self._own(codes), *self._joint(codes)):
            held[places] += met
            fewest[places] = np.minimum(fewest[places], candidates)
        whole: Integers = np.where(held == len(codes), fewest, 0)[self.layout.position]
        return whole

    def _own(self, codes: Sequence[int]) -> Iterator[Place]:
        """Where codes are in record chunks and item chunks."""
        chunks, met, candidates = self.record.candidates(codes)
        owner = self.released.record_chunks.owner[chunks].astype(np.int64)
        turn = np.arange(owner.size) - np.searchsorted(owner, owner)  # a cluster may have several: one at a time
        for number in range(int(turn.max(initial=-1)) + 1):
            now = turn == number
            yield self.layout.position[owner[now]], met[now], candidates[now]
        for code in codes:
            clusters = self.item[code]
            yield self.layout.position[clusters], 1, self.released.sizes[clusters]

    def _joint(self, codes: Sequence[int]) -> Iterator[Place]:
        """What is in shared chunks: in the clusters beneath, but for those that have a code elsewhere."""
        inside: dict[int, list[int]] = {}
        free: dict[int, NDArray[np.bool_]] = {}
        for code in codes:
            for chunk in self.shared.by_code[code].tolist():
                inside.setdefault(chunk, []).append(code)
            elsewhere = self.released.record_chunks.owner[self.record.by_code[code]], self.item[code]
            free[code] = np.ones(self.released.n_clusters, dtype=np.bool_)
            free[code][self.layout.position[np.concatenate(elsewhere)]] = False
        chunks, met, candidates = self.shared.candidates(codes)
        joints = self.released.shared_chunks.owner[chunks]
        spans = np.stack([chunks, self.layout.low[joints], self.layout.high[joints], met, candidates], axis=1)
        for chunk, first, last, n_codes, count in spans.tolist():
            is_free = np.logical_and.reduce([free[code][first:last] for code in inside[chunk]])
            yield first + np.flatnonzero(is_free), n_codes, count

    def match_among(self, target: int, candidates: Integers) -> Match:
        """Return the result for these numbers of candidates in each cluster."""
        found = candidates[candidates > 0]
        own = int(self.own[target])
        is_there = own >= 0 and bool(candidates[own] > 0)
        where = UNKNOWN if own == NOT_KNOWN else THERE if is_there else ELSEWHERE
        return Match(int(found.sum()), int(found.min(initial=MANY)) if found.size else 0, where)

    def known_codes(self, target: int, known: Sequence[int]) -> list[int]:
        """Return the known codes of a target, numbered as in the original."""
        begin = int(self.codes.offsets[target])
        return [int(self.codes.items[begin + item]) for item in known]

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Search with some known codes of a target, and return the result."""
        return self.match_among(target, self.fitting(self.known_codes(target, known)))


def open_chunks(folder: Path, manifest: DisassociationManifest, known: Request, _seed: int) -> OpenedRelease:
    """Open a release of disassociated code sets."""
    original = read_original(known, manifest.settings)
    assert original is not None  # no attack without
    released, codes = read_clusters(folder / CLUSTERS), original.given.codes
    own = _cluster_of(original, released)
    reconstructed: tuple[FurtherCode, ...] = ()
    if not codes.repeats:  # of repeated codes the reconstruction that is released has no numbers
        unknown = np.full(codes.n_records, NOT_KNOWN, dtype=np.int64)
        reconstructed = (FurtherCode(found_by_terms(read_cells(folder, manifest), codes, unknown)),)
    adversary = Adversary(
        steps=code_steps(released.m),
        n_items=np.diff(codes.offsets),
        released=InChunks(released, codes, own),
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
        implied=count_implied(released, codes),
    )


def _cluster_of(original: CodesOriginal, released: Disassociation) -> Integers:
    """The cluster of each patient, by the crosswalk."""
    codes, crosswalk = original.given.codes, original.crosswalk
    if crosswalk is None:
        return np.full(codes.n_records, NOT_KNOWN, dtype=np.int64)
    if crosswalk.columns != ["original", "cluster"]:
        raise InputError("The crosswalk does not have the columns original and cluster, as one of code sets has.")
    links = pl.DataFrame([as_text(crosswalk["original"]), as_text(crosswalk["cluster"]).cast(pl.Int64, strict=False)])
    ids = record_ids(original).alias("original").to_frame()
    joined = ids.join(links, on="original", how="left", maintain_order="left")
    known = joined["cluster"].drop_nulls()
    if (
        joined.height != codes.n_records
        or len(known) != links.height
        or not known.is_between(0, released.n_clusters - 1).all()
    ):
        raise InputError("The crosswalk does not map patients of the original to clusters of the release.")
    own: Integers = joined["cluster"].fill_null(GONE).to_numpy().astype(np.int64)
    return own
