"""Known properties of transformations in a search: inherited from a few stored ones, or a flag for each."""

import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.antichain import (
    ANTICHAIN_LIST,
    HITS,
    INSERTS,
    LARGEST,
    LIST,
    QUERIES,
    RANKED_TREE,
    TREE,
    Antichain,
    covers,
    insert,
    make_antichain,
)
from cloister.kernels.ranks import KnownNodes, Order, climb, collect, first_of_rank, in_order, next_open, which_known
from cloister.results import PropertyStatistics, SearchStatistics
from cloister.settings.constraints import OneOf, check_value

from .problem import SearchProblem

STORES = {"list": LIST, "antichain-list": ANTICHAIN_LIST, "tree": TREE, "ranked-tree": RANKED_TREE}
"""Names of the stores: the paper's options 1 to 4."""


class CompiledStore:
    """Any of the four stores, compiled in the same manner, so that comparing them compares data structures.

    Parameters
    ----------
    name : one of `STORES`
    top : highest level of each attribute
    is_upward : whether coarser transformations inherit the property; else finer ones do
    """

    def __init__(self, name: str, top: Sequence[int], *, is_upward: bool) -> None:
        check_value("store", name, OneOf(*STORES))
        self.antichain: Antichain = make_antichain(STORES[name], np.array(top, dtype=np.int64), is_upward)
        self.seconds = 0.0

    def insert(self, levels: Sequence[int] | NDArray[np.int64]) -> None:
        """Note that a transformation has the property."""
        started = time.perf_counter()
        # Arrays that are full are replaced by larger ones: what comes back is the store from here on.
        self.antichain = insert(self.antichain, np.asarray(levels, dtype=np.int64))
        self.seconds += time.perf_counter() - started

    def covers(self, levels: Sequence[int] | NDArray[np.int64]) -> bool:
        """Whether a transformation has the property: it was inserted, or inherits from one that was."""
        started = time.perf_counter()
        found = covers(self.antichain, np.asarray(levels, dtype=np.int64))
        self.seconds += time.perf_counter() - started
        return found

    @property
    def n_bytes(self) -> int:
        """The memory of the stored transformations, in bytes."""
        kept = self.antichain
        return sum(array.nbytes for array in (kept.rows, kept.level, kept.child, kept.sibling, kept.least))

    @property
    def statistics(self) -> PropertyStatistics:
        """What was done so far."""
        counts = self.antichain.counts
        return PropertyStatistics(int(counts[INSERTS]), int(counts[QUERIES]), int(counts[HITS]), int(counts[LARGEST]))


QUALITY, PROTECTION, SAFE = 1, 2, 4
"""Properties: insufficient quality, insufficient protection, safe. Their sums are sets of them."""

MEASURED = 8
BLOCK = 1 << 14
"""Transformations of one rank that are held and ordered at a time."""

DECIMALS = 9
"""Sums of floats that differ by rounding alone shall not decide the order."""

MOST_FLAGS = 1 << 28
"""Transformations of the largest lattice that is kept explicitly."""

Transformation = tuple[int, ...]


class ImplicitProperties:
    """Inherited properties in stores: memory grows with what was found, not with the lattice."""

    def __init__(self, problem: SearchProblem, store: str) -> None:
        top = problem.top
        self._lowest, self._highest = problem.lowest, problem.highest
        # The bound on the loss never falls on the way up, so poor quality is inherited upwards. Protection is noted as
        # insufficient only where finer transformations have no more: by monotone rules, or by class sizes alone.
        self._stores = {
            QUALITY: CompiledStore(store, top, is_upward=True),
            PROTECTION: CompiledStore(store, top, is_upward=False),
            SAFE: CompiledStore(store, top, is_upward=True),
        }
        self._measured: set[Transformation] = set()
        # The kernels ask flags and stores alike: what one representation does not have is empty, and says nothing.
        self._spare = np.zeros(0, dtype=np.uint8), np.zeros(len(top), dtype=np.int64)
        self.seconds = 0.0

    def known(self) -> KnownNodes:
        """Return the arrays for the kernels."""
        quality, protection, safe = (store.antichain for store in self._stores.values())
        return KnownNodes(self._lowest, self._highest, *self._spare, quality, protection, safe)

    def note(self, levels: Transformation, properties: int) -> None:
        """Note properties of a transformation."""
        for name, store in self._stores.items():
            if properties & name:
                store.insert(levels)

    def note_measured(self, levels: Transformation) -> None:
        """Note that this transformation was measured; needed only if no property implies it."""
        self._measured.add(levels)

    def is_measured(self, levels: Transformation) -> bool:
        """Whether it was noted as measured."""
        return levels in self._measured

    def statistics(self) -> SearchStatistics:
        """Return the numbers of stored properties and queries."""
        quality, protection, _ = (store.statistics for store in self._stores.values())
        seconds = self.seconds + sum(store.seconds for store in self._stores.values())
        n_bytes = sum(store.n_bytes for store in self._stores.values())
        return SearchStatistics(quality, protection, seconds, n_bytes)


class ExplicitProperties:
    """A flag for each transformation of the lattice, tagged by slices."""

    def __init__(self, problem: SearchProblem) -> None:
        if problem.lattice > MOST_FLAGS:
            raise InputError(
                f"The lattice has {problem.lattice} transformations, too many to keep each (at most {MOST_FLAGS}). "
                "Use optimal, bfs, or flash with the implicit representation."
            )
        shape = tuple((problem.highest - problem.lowest + 1).tolist())
        self._lowest, self._highest = problem.lowest, problem.highest
        self.flags = np.zeros(shape, dtype=np.uint8)
        self._stride = np.array(self.flags.strides, dtype=np.int64)
        self._empty = make_antichain(LIST, problem.highest, True)
        self._inserts = {QUALITY: 0, PROTECTION: 0, SAFE: 0}
        self.seconds = 0.0

    def known(self) -> KnownNodes:
        """Return the arrays for the kernels."""
        empty = self._empty
        return KnownNodes(self._lowest, self._highest, self.flags.reshape(-1), self._stride, empty, empty, empty)

    def note(self, levels: Transformation, properties: int) -> None:
        """Note properties of a transformation and of all that inherit them."""
        started = time.perf_counter()
        at = self._at(levels)
        # The transformations at or above one are a slice of the array, those at or below it another.
        above = self.flags[tuple(slice(level, None) for level in at)]
        above |= np.uint8(properties & (QUALITY | SAFE))
        if properties & PROTECTION:
            below = self.flags[tuple(slice(0, level + 1) for level in at)]
            below |= np.uint8(PROTECTION)
        for name in self._inserts:
            self._inserts[name] += bool(properties & name)
        self.seconds += time.perf_counter() - started

    def note_measured(self, levels: Transformation) -> None:
        """Note that this transformation was measured."""
        self.flags[self._at(levels)] |= MEASURED

    def is_measured(self, levels: Transformation) -> bool:
        """Whether it was noted as measured."""
        return bool(self.flags_of(levels) & MEASURED)

    def flags_of(self, levels: Transformation) -> int:
        """Return the flags of a transformation."""
        return int(self.flags[self._at(levels)])

    def statistics(self) -> SearchStatistics:
        """Return how often transformations were tagged; flags are looked up, so nothing is counted as a query."""
        quality, protection, _ = (PropertyStatistics(n, 0, 0, 0) for n in self._inserts.values())
        return SearchStatistics(quality, protection, self.seconds, self.flags.nbytes)

    def _at(self, levels: Transformation) -> Transformation:
        return tuple(level - low for level, low in zip(levels, self._lowest.tolist(), strict=True))


Properties = ImplicitProperties | ExplicitProperties
"""What is known about transformations: coarser ones inherit quality and safe, finer ones protection."""


class Lattice:
    """Walks through the transformations that are not yet known, in the order of the Flash algorithm."""

    def __init__(self, problem: SearchProblem, properties: Properties) -> None:
        self.properties = properties
        self.n_ranks = int((problem.highest - problem.lowest).sum()) + 1
        self.order = order_of(problem)
        self._first, self._second = self.order.first.tolist(), self.order.second.tolist()
        self._highest = problem.top

    def open_transformations(self, rank: int, known: int) -> Iterator[Transformation]:
        """Yield transformations so many ranks above the lowest, if without these properties when their turn comes."""
        cursor = first_of_rank(self.properties.known(), rank)
        while cursor is not None:
            started = time.perf_counter()
            found, cursor = collect(self.properties.known(), known, cursor, BLOCK)
            nodes = in_order(self.order, found)
            self.properties.seconds += time.perf_counter() - started
            # What is found meanwhile may decide transformations of this block: each is asked for just before its turn.
            position = self._next(known, nodes, 0)
            while position < len(nodes):
                yield tuple(nodes[position].tolist())
                position = self._next(known, nodes, position + 1)

    def is_known(self, levels: Transformation, known: int) -> bool:
        """Whether a transformation has one of these properties."""
        return self._next(known, np.array([levels], dtype=np.int64), 0) > 0

    def path(self, start: Transformation, known: int) -> list[Transformation]:
        """Greedy path upwards from a transformation through transformations that have none of these properties."""
        started = time.perf_counter()
        path = climb(self.properties.known(), self.order, known, np.array(start, dtype=np.int64))
        self.properties.seconds += time.perf_counter() - started
        return [tuple(levels) for levels in path.tolist()]

    def above(self, levels: Transformation) -> list[Transformation]:
        """Direct generalizations of a transformation, in the order of the attributes."""
        return direct_generalizations(levels, self._highest)

    def open_above(self, levels: Transformation, known: int) -> list[Transformation]:
        """Direct generalizations that have none of these properties, in the order of the attributes."""
        above = self.above(levels)
        if not above:
            return []
        started = time.perf_counter()
        found = which_known(self.properties.known(), known, np.array(above, dtype=np.int64))
        self.properties.seconds += time.perf_counter() - started
        return [each for each, is_known in zip(above, found.tolist(), strict=True) if not is_known]

    def key(self, levels: Transformation) -> tuple[float, float, float, Transformation]:
        """Where a transformation is in the order in which they are tried, lowest ranks first."""
        first = sum(added[level] for added, level in zip(self._first, levels, strict=True))
        second = sum(added[level] for added, level in zip(self._second, levels, strict=True))
        return sum(levels), round(first, DECIMALS), round(second, DECIMALS), levels

    def _next(self, known: int, nodes: NDArray[np.int64], position: int) -> int:
        started = time.perf_counter()
        position = next_open(self.properties.known(), known, nodes, position)
        self.properties.seconds += time.perf_counter() - started
        return position


def direct_generalizations(levels: Transformation, highest: Sequence[int]) -> list[Transformation]:
    """Transformations with one attribute one level higher, in the order of the attributes."""
    return [
        (*levels[:j], level + 1, *levels[j + 1 :])
        for j, (level, high) in enumerate(zip(levels, highest, strict=True))
        if level < high
    ]


def order_of(problem: SearchProblem) -> Order:
    """Order of the transformations of one rank: less generalized on average, then more distinct values left.

    References
    ----------
    Kohlmayer, Prasser, Eckert, Kemper, Kuhn (2012), "Flash: Efficient, stable and optimal k-anonymity", PASSAT,
    section on the order of nodes.
    """
    lowest, highest = problem.lowest.tolist(), problem.highest.tolist()
    shape = len(lowest), max(highest) + 1
    first, second = np.zeros(shape), np.zeros(shape)
    for j, (low, high) in enumerate(zip(lowest, highest, strict=True)):
        for level in range(low, high + 1):
            # An attribute of one level distinguishes no two transformations: it is 0, whatever the divisor.
            first[j, level] = (level - low) / max(1, high - low)
            second[j, level] = 1.0 - problem.distinct(j, level) / problem.distinct(j, low)
    return Order(first, second)
