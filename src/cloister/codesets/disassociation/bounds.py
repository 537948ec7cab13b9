"""What the chunks of a release say for sure about a case count: a lower and an upper bound.

Bounds hold for every data set that could have led to the release, the original among them. They are not always the
tightest ones. Within a cluster the parts of a query in different chunks overlap by at least the sum of their counts
less the records (Bonferroni) and at most by the smallest count; a code of an item chunk is held by one record at least.
"""

from dataclasses import dataclass

import numpy as np

from ..data import Integers
from .places import IN_ITEM_CHUNK, NOWHERE, Places, Query


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
    whole = _whole_in_shared(places, query)
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


def _whole_in_shared(places: Places, query: Query) -> int:
    """Shared subrecords that hold the whole query: each is part of a record of its own."""
    return len(places.shared_chunks.subrecords.records_with(query))
