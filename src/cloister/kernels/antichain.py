"""Properties that transformations inherit: a set of transformations, and whether another inherits from any of them.

A property is inherited upwards (by all coarser transformations) or downwards. Downward stores are kept upside down, so
that "some stored transformation is at or below this one" is the only question there is. Four ways to keep the set: a
list, a list that is an antichain, a prefix tree that is an antichain, and the same with the least rank below each node.

References
----------
Prasser, Kohlmayer, Kuhn (2016), BMC Medical Informatics and Decision Making 16:49, "Efficient management of
predictive properties". Deviation: equal transformations are found too, and inserting asks first whether one is covered,
so that the content is an antichain whatever is inserted.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit

LIST, ANTICHAIN_LIST, TREE, RANKED_TREE = range(4)
"""Kinds of stores, in the order of the paper's options 1 to 4."""

INSERTS, QUERIES, HITS, SIZE, LARGEST, USED, FREE = range(7)
"""Places in the counts: what was done, transformations held and the most ever held, nodes used, the first free node."""

FIRST_ROOM = 64


class Antichain(NamedTuple):
    """A set of transformations with a property.

    level, child, sibling, least : (room,) nodes of a tree: level of its attribute, first child, next sibling with a
        higher level, least rank of the transformations below; node 0 is the root; -1 is no node
    """

    kind: int  # one of the four above
    sign: int  # sign, offset: (n_attributes,) a level x is kept as offset + sign x
    offset: NDArray[np.int64]
    rows: NDArray[np.int32]  # (room, n_attributes) the transformations of a list
    level: NDArray[np.int32]
    child: NDArray[np.int32]
    sibling: NDArray[np.int32]
    least: NDArray[np.int32]
    point: NDArray[np.int64]  # (n_attributes,) scratch: the transformation asked for
    path: NDArray[np.int64]  # path, before: (n_attributes + 1,) scratch: where a walk through the tree is
    before: NDArray[np.int64]
    counts: NDArray[np.int64]  # (7,) see the names above


@inner
def _aim(store, levels):
    """Put a transformation into the scratch as it is kept; return its rank."""
    rank = 0
    for j in range(levels.shape[0]):
        store.point[j] = store.offset[j] + store.sign * levels[j]
        rank += store.point[j]
    return rank


@inner
def _in_list(store):
    """Whether a transformation of the list is at or below the point."""
    for i in range(store.counts[SIZE]):
        below = True
        for j in range(store.point.shape[0]):
            if store.rows[i, j] > store.point[j]:
                below = False
                break
        if below:
            return True
    return False


@inner
def _in_tree(store, rank):
    """Whether the tree has a transformation at or below the point; follows no child of a higher level or least rank."""
    deepest = store.point.shape[0] - 1
    ranked = store.kind == RANKED_TREE
    d = 0
    node = store.child[0]
    while True:
        if node < 0 or store.level[node] > store.point[d]:
            if d == 0:
                return False
            # Children come by rising level: the others are too high as well, so go back up and on.
            d -= 1
            node = store.sibling[store.path[d]]
        # Ranks never fall on the way up, so that what has a higher rank cannot be below the point.
        elif ranked and store.least[node] > rank:
            node = store.sibling[node]
        elif d == deepest:
            return True
        else:
            store.path[d] = node
            node = store.child[node]
            d += 1


@inner
def _holds(store, rank):
    if store.kind == LIST or store.kind == ANTICHAIN_LIST:
        return _in_list(store)
    return _in_tree(store, rank)


@jit
def inherits(store, levels):
    """Whether a transformation has the property because a stored one has it; counted."""
    store.counts[QUERIES] += 1
    if _holds(store, _aim(store, levels)):
        store.counts[HITS] += 1
        return True
    return False


@inner
def _drop_from_list(store):
    """Remove the transformations of the list that are at or above the point."""
    # What stays moves up in place, in its order; no room is needed.
    left = 0
    for i in range(store.counts[SIZE]):
        above = True
        for j in range(store.point.shape[0]):
            if store.rows[i, j] < store.point[j]:
                above = False
                break
        if not above:
            for j in range(store.point.shape[0]):
                store.rows[left, j] = store.rows[i, j]
            left += 1
    store.counts[SIZE] = left


@inner
def _unlink(store, d, node):
    """Take a node out of the children it is among; return the next of them."""
    following = store.sibling[node]
    if store.before[d] >= 0:
        store.sibling[store.before[d]] = following
    else:
        store.child[0 if d == 0 else store.path[d - 1]] = following
    # Free nodes are a list of their own, through the siblings.
    store.sibling[node] = store.counts[FREE]
    store.counts[FREE] = node
    return following


@inner
def _drop_from_tree(store):
    """Remove the transformations of the tree at or above the point, and the nodes that are left without children."""
    deepest = store.point.shape[0] - 1
    d = 0
    store.before[0] = -1
    node = store.child[0]
    while True:
        if node < 0:
            if d == 0:
                return
            d -= 1
            node = store.path[d]
            # Its last transformation is gone: without any below it a node would only be walked through.
            if store.child[node] < 0:
                node = _unlink(store, d, node)
                continue
        elif store.level[node] >= store.point[d]:
            if d == deepest:
                node = _unlink(store, d, node)
                store.counts[SIZE] -= 1
            else:
                store.path[d] = node
                node = store.child[node]
                d += 1
                store.before[d] = -1
            continue
        store.before[d] = node
        node = store.sibling[node]


@inner
def _grow_branch(store, rank):
    """Add the point to the tree."""
    parent = 0
    for d in range(store.point.shape[0]):
        last = -1
        node = store.child[parent]
        while node >= 0 and store.level[node] < store.point[d]:
            last = node
            node = store.sibling[node]
        if node < 0 or store.level[node] != store.point[d]:
            fresh = store.counts[FREE]
            if fresh >= 0:
                store.counts[FREE] = store.sibling[fresh]
            else:
                fresh = store.counts[USED]
                store.counts[USED] += 1
            store.level[fresh] = store.point[d]
            store.child[fresh] = -1
            store.sibling[fresh] = node
            store.least[fresh] = rank
            if last >= 0:
                store.sibling[last] = fresh
            else:
                store.child[parent] = fresh
            node = fresh
        store.least[node] = min(store.least[node], rank)
        parent = node


@jit
def _insert(store, levels):
    """Add a transformation; antichains drop those that it covers, and stay as they are where it is covered itself."""
    rank = _aim(store, levels)
    # What is covered adds nothing, and leaving it out keeps the set an antichain.
    if store.kind != LIST and _holds(store, rank):
        return
    if store.kind == ANTICHAIN_LIST:
        _drop_from_list(store)
    if store.kind == LIST or store.kind == ANTICHAIN_LIST:
        for j in range(store.point.shape[0]):
            store.rows[store.counts[SIZE], j] = store.point[j]
    else:
        _drop_from_tree(store)
        _grow_branch(store, rank)
    store.counts[INSERTS] += 1
    store.counts[SIZE] += 1
    store.counts[LARGEST] = max(store.counts[LARGEST], store.counts[SIZE])


def make_antichain(kind: int, top: NDArray[np.int64], is_upward: bool) -> Antichain:
    """Return an empty store for levels from 0 to ``top``, for a property inherited upwards or downwards."""
    if kind not in range(4) or top.size == 0 or np.any(top < 0):
        raise ValueError("a store needs one of the four kinds, and at least one attribute with levels from 0 on")
    n = top.size
    is_list = kind in (LIST, ANTICHAIN_LIST)
    room = 0 if is_list else FIRST_ROOM + n
    counts = np.zeros(7, dtype=np.int64)
    counts[USED], counts[FREE] = 1, -1
    node = np.full(room, -1, dtype=np.int32)
    return Antichain(
        kind=kind,
        sign=1 if is_upward else -1,
        offset=np.zeros(n, dtype=np.int64) if is_upward else top.astype(np.int64),
        rows=np.empty((FIRST_ROOM if is_list else 0, n), dtype=np.int32),
        level=node,
        child=node.copy(),
        sibling=node.copy(),
        least=node.copy(),
        point=np.zeros(n, dtype=np.int64),
        path=np.zeros(n + 1, dtype=np.int64),
        before=np.zeros(n + 1, dtype=np.int64),
        counts=counts,
    )


def _check_levels(store: Antichain, levels: NDArray[np.int64]) -> NDArray[np.int64]:
    levels = np.ascontiguousarray(levels, dtype=np.int64)
    if levels.shape != store.offset.shape:
        raise ValueError(f"a transformation has {store.offset.size} levels here")
    return levels


def covers(store: Antichain, levels: NDArray[np.int64]) -> bool:
    """Whether a transformation has the property: it is stored, or beyond a stored one."""
    return bool(inherits(store, _check_levels(store, levels)))


def insert(store: Antichain, levels: NDArray[np.int64]) -> Antichain:
    """Add a transformation and return the store, which is another one where it had to grow."""
    levels = _check_levels(store, levels)
    store = _with_room(store)
    _insert(store, levels)
    return store


def _with_room(store: Antichain) -> Antichain:
    """Return the store with room for one more transformation."""
    if store.kind in (LIST, ANTICHAIN_LIST):
        if store.counts[SIZE] < store.rows.shape[0]:
            return store
        return store._replace(rows=np.concatenate([store.rows, np.empty_like(store.rows)]))
    if store.counts[USED] + store.offset.size <= store.level.size:
        return store
    return store._replace(
        level=_double_room(store.level),
        child=_double_room(store.child),
        sibling=_double_room(store.sibling),
        least=_double_room(store.least),
    )


def _double_room(nodes: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.concatenate([nodes, np.full_like(nodes, -1)])
