"""Where in a release a code may stand: the chunks of each code, and the clusters under each joint cluster."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.utility import CountedSets

from ..data import Codes, Integers
from .data import Chunks, Disassociation
from .verify_tree import Layout, lay_out

NOWHERE, IN_ITEM_CHUNK = -1, -2
Query = tuple[int, ...]


@dataclass(frozen=True)
class ChunkIndex:
    """Chunks by code.

    Attributes
    ----------
    chunks : what is indexed
    subrecords : the subrecords of all chunks, ready to be counted
    starts : (n_codes + 1,) int64, where the chunks of each code begin in ``places``
    places : chunks whose domain holds a code, code by code
    """

    chunks: Chunks
    subrecords: CountedSets
    starts: Integers
    places: Integers

    @classmethod
    def of(cls, chunks: Chunks, n_codes: int) -> "ChunkIndex":
        """Index chunks."""
        chunk = np.repeat(np.arange(len(chunks), dtype=np.int64), np.diff(chunks.domain_offsets))
        starts = np.zeros(n_codes + 1, dtype=np.int64)
        np.cumsum(np.bincount(chunks.domain, minlength=n_codes), out=starts[1:])
        places = chunk[np.argsort(chunks.domain, kind="stable")]
        return cls(chunks, CountedSets.of(chunks.item_offsets, chunks.items, n_codes), starts, places)

    def holding(self, code: int) -> Integers:
        """Return the chunks whose domain holds a code, ascending."""
        return self.places[self.starts[code] : self.starts[code + 1]]

    def counts(self, query: Query) -> Integers:
        """Return how many subrecords of each chunk hold all codes of a query: (n_chunks,)."""
        found = self.subrecords.records_with(query)
        chunk = np.searchsorted(self.chunks.subrecord_offsets, found, side="right") - 1
        return np.bincount(chunk, minlength=len(self.chunks)).astype(np.int64)


@dataclass(frozen=True)
class Places:
    """A release, indexed.

    Attributes
    ----------
    released : what is indexed
    record_chunks, shared_chunks : chunks by code
    layout : an order of the clusters in which every joint cluster is a range
    """

    released: Disassociation
    record_chunks: ChunkIndex
    shared_chunks: ChunkIndex
    layout: Layout

    @classmethod
    def of(cls, released: Disassociation) -> "Places":
        """Index a release."""
        n_codes = len(released.vocabulary)
        return cls(
            released,
            ChunkIndex.of(released.record_chunks, n_codes),
            ChunkIndex.of(released.shared_chunks, n_codes),
            lay_out(released),
        )

    def own(self, code: int) -> Integers:
        """Return the record chunk in which each cluster holds a code, `IN_ITEM_CHUNK` or `NOWHERE`: (n_clusters,)."""
        released = self.released
        place = np.full(released.n_clusters, NOWHERE, dtype=np.int64)
        chunks = self.record_chunks.holding(code)
        place[released.record_chunks.owner[chunks]] = chunks
        place[self.with_item(code)] = IN_ITEM_CHUNK
        return place

    def shared(self, code: int) -> Integers:
        """Return the shared chunk above each cluster that has a code in its domain, or `NOWHERE`: (n_clusters,)."""
        in_order = np.full(self.released.n_clusters, NOWHERE, dtype=np.int64)
        for chunk in self.shared_chunks.holding(code).tolist():
            joint = self.released.shared_chunks.owner[chunk]
            in_order[self.layout.low[joint] : self.layout.high[joint]] = chunk
        return in_order[self.layout.position]

    def with_item(self, code: int) -> Integers:
        """Return the clusters whose item chunk holds a code."""
        found = np.flatnonzero(self.released.item_chunks == code)
        return np.searchsorted(self.released.item_offsets, found, side="right") - 1


def codes_counted_exactly(released: Disassociation) -> NDArray[np.bool_]:
    """Return which codes stand in no item chunk, so that the chunks tell their number: (n_codes,)."""
    counted = np.ones(len(released.vocabulary), dtype=np.bool_)
    counted[released.item_chunks] = False
    return counted


def constraints_counted_exactly(places: Places, constraints: list[Query]) -> NDArray[np.bool_]:
    """Return for which constraints the chunks tell how many records hold at least one of its codes.

    That is so if no cluster has its codes in more than one place, nor in its item chunk.
    """
    counted = codes_counted_exactly(places.released)
    found = [bool(counted[list(each)].all()) and _in_one_place(places, each) for each in constraints]
    return np.array(found, dtype=np.bool_)


def _in_one_place(places: Places, constraint: Query) -> bool:
    released = places.released
    own = np.unique(np.concatenate([places.record_chunks.holding(code) for code in constraint]))
    shared = np.unique(np.concatenate([places.shared_chunks.holding(code) for code in constraint]))
    parts = np.zeros(released.n_clusters + 1, dtype=np.int64)
    joints = released.shared_chunks.owner[shared]
    np.add.at(parts, places.layout.low[joints], 1)
    np.subtract.at(parts, places.layout.high[joints], 1)
    per_cluster = np.cumsum(parts[:-1])
    per_cluster += np.bincount(places.layout.position[released.record_chunks.owner[own]], minlength=released.n_clusters)
    return bool((per_cluster <= 1).all())


def supports_told(released: Disassociation) -> Integers:
    """Return the occurrences of each code in record and shared chunks: its number where it is in no item chunk."""
    n_codes = len(released.vocabulary)
    own: Codes = released.record_chunks.items
    return np.bincount(own, minlength=n_codes) + np.bincount(released.shared_chunks.items, minlength=n_codes)
