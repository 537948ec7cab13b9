"""What a store of transformations holds, read from its arrays."""

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.antichain import ANTICHAIN_LIST, LIST, SIZE, Antichain


def transformations_in(store: Antichain) -> NDArray[np.int64]:
    """Transformations held, shape (size, n_attributes) int64, in the order of the list or of the branches."""
    if store.kind in (LIST, ANTICHAIN_LIST):
        kept = store.rows[: int(store.counts[SIZE])].astype(np.int64)
    else:
        leaves = [path for path, _ in branches(store) if len(path) == store.offset.size]
        kept = np.array(leaves, dtype=np.int64).reshape(len(leaves), store.offset.size)
    return (kept - store.offset) * store.sign


def branches(store: Antichain) -> list[tuple[tuple[int, ...], int]]:
    """Nodes of a tree as it is kept: levels from the root to the node, and the least rank below; depth first."""
    found: list[tuple[tuple[int, ...], int]] = []
    waiting: list[tuple[int, tuple[int, ...]]] = [(int(store.child[0]), ())] if store.child.size else []
    while waiting:
        node, above = waiting.pop()
        if node >= 0:
            path = (*above, int(store.level[node]))
            found.append((path, int(store.least[node])))
            waiting += [(int(store.sibling[node]), above), (int(store.child[node]), path)]
    return found
