"""Where in a release a code may stand, and what that says for sure about a case count: a lower and an upper bound.

Bounds hold for every data set that could have led to the release, the original among them. They are not always the
tightest ones. Within a cluster the parts of a query in different chunks overlap by at least the sum of their counts
less the records (Bonferroni) and at most by the smallest count; a code of an item chunk is held by one record at least.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.data import Codes, Integers
from cloister.utility import CountedSets

from .data import Chunks, Disassociation, Layout, lay_out

NOWHERE, IN_ITEM_CHUNK = -1, -2
Query = tuple[int, ...]


@dataclass(frozen=True)
class ChunkIndex:
    """Chunks by code.

    Attributes
    ----------
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


@dataclass(frozen=True)
class CountBounds:
    """The number of records that hold all codes of a query is from ``lower`` to ``upper``."""

    lower: int
    upper: int


def count_bounds(places: Places, query: Query) -> CountBounds:
    """Return bounds on the records that hold all codes of a query.

    Parameters
    ----------
    query : item numbers, each once, at least one

    Examples
    --------
    >>> import numpy as np
    >>> from cloister.codesets.disassociation.data import Chunks, Disassociation
    >>> none, zero = np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
    >>> numbers = lambda *values: np.array(values, dtype=np.int64)
    >>> chunk = Chunks(numbers(0), numbers(0, 1), numbers(0), numbers(0, 2), numbers(0, 1, 2), numbers(0, 0))
    >>> empty = Chunks(none, zero, none, zero, zero, none)
    >>> items = (numbers(0, 1), numbers(1))
    >>> released = Disassociation(2, 2, ("a", "b"), numbers(3), chunk, *items, zero, none, none, empty)
    >>> count_bounds(Places.of(released), (0,)), count_bounds(Places.of(released), (0, 1))
    (CountBounds(lower=2, upper=2), CountBounds(lower=0, upper=2))
    """
    own = np.array([places.own(code) for code in query])
    shared = np.where(own == NOWHERE, np.array([places.shared(code) for code in query]), NOWHERE)
    possible = ((own != NOWHERE) | (shared != NOWHERE)).all(axis=0)
    lower, upper = _own_bounds(places, query, own, possible)
    alone = possible & (shared == NOWHERE).all(axis=0)
    above = shared.max(axis=0)
    joined = possible & (above != NOWHERE)
    # Shared subrecords that hold the whole query are parts of different records.
    whole = len(places.shared_chunks.subrecords.records_with(query))
    return CountBounds(
        int(lower[alone].sum()) + whole,
        int(upper[alone].sum()) + _shared_upper(places, query, above[joined], upper[joined]),
    )


def _own_bounds(places: Places, query: Query, own: Integers, possible: Integers) -> tuple[Integers, Integers]:
    """Bounds by cluster from its own chunks: on the records that hold those codes of the query that it has itself."""
    sizes = places.released.sizes
    n_parts = np.zeros(len(sizes), dtype=np.int64)
    counts = np.zeros(len(sizes), dtype=np.int64)
    upper = sizes.copy()
    for part in _parts(own, possible):
        codes = tuple(code for code, is_in in zip(query, part, strict=True) if is_in)
        here, chunk = _clusters_with(own, part, possible)
        found = places.record_chunks.counts(codes)[chunk]
        counts[here] += found
        n_parts[here] += 1
        upper[here] = np.minimum(upper[here], found)
    in_items = (own == IN_ITEM_CHUNK).sum(axis=0)
    counts, n_parts = counts + in_items, n_parts + in_items
    return np.maximum(0, counts - (n_parts - 1) * sizes), upper


def _parts(own: Integers, possible: Integers) -> list[tuple[bool, ...]]:
    """The sets of codes of a query that stand together in a record chunk of some cluster."""
    found = set()
    for row in own:
        held = possible & (row >= 0)
        found |= set(map(tuple, np.unique((own[:, held] == row[held]).T, axis=0).tolist()))
    return sorted(found)


def _clusters_with(own: Integers, part: tuple[bool, ...], possible: Integers) -> tuple[Integers, Integers]:
    """Clusters in which just these codes stand together in a record chunk, and that chunk."""
    row = own[part.index(True)]
    together = ((own == row) == np.array(part)[:, None]).all(axis=0) & possible & (row >= 0)
    here = np.flatnonzero(together)
    return here, row[here]


def _shared_upper(places: Places, query: Query, chunk: Integers, upper: Integers) -> int:
    """Records of clusters that need a shared chunk: by chunk, no more than its subrecords with the codes it has."""
    total = 0
    for each in np.unique(chunk).tolist():
        domain = set(places.released.shared_chunks.domain_of(each))
        codes = tuple(code for code in query if code in domain)
        total += min(int(places.shared_chunks.counts(codes)[each]), int(upper[chunk == each].sum()))
    return total
