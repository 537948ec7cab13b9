"""What a property store offers, and the four of them.

References
----------
Prasser, Kohlmayer, Kuhn (2016), BMC Medical Informatics and Decision Making 16:49, "Efficient management of
predictive properties" and Table 1.
"""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError, did_you_mean
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
from cloister.results import PropertyStatistics

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
        if name not in STORES:
            hint = did_you_mean(name, STORES)
            raise InputError(f"The property store {name!r} is not known.{hint} Stores: {', '.join(STORES)}.")
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
        """Memory of the transformations held."""
        kept = self.antichain
        return sum(array.nbytes for array in (kept.rows, kept.level, kept.child, kept.sibling, kept.least))

    @property
    def statistics(self) -> PropertyStatistics:
        """What was done so far."""
        counts = self.antichain.counts
        return PropertyStatistics(int(counts[INSERTS]), int(counts[QUERIES]), int(counts[HITS]), int(counts[LARGEST]))
