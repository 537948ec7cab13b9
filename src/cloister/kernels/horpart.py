"""Horizontal partitioning: split records on frequent codes until the parts are small (HORPART).

A *frame* is a part together with all that is split off it by codes it has not: the chain of right-hand sides. One
count of its codes and one list of records per code serve the whole chain, so a frame costs its occurrences once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .words import starts_of


class Records(NamedTuple):
    """Code sets as arrays: offsets (n_records + 1,) int64, items int32; constraint (n_codes,) int32, -1 for none.

    ``passed_over`` (n_codes,) bool marks the codes that never split.
    """

    offsets: NDArray[np.int64]
    items: NDArray[np.int32]
    constraint: NDArray[np.int32]
    passed_over: NDArray[np.bool_]


class Split(NamedTuple):
    """Parts of a horizontal partitioning, in the order of the split tree.

    depths : (n_parts - 1,) int32, depth of the split between each part and the next, -1 between classes; they determine
        the tree of each class
    """

    order: NDArray[np.int32]  # (n_records,) the record at each place
    starts: NDArray[np.int64]  # (n_parts + 1,) the place at which each part begins
    depths: NDArray[np.int32]


class Bench(NamedTuple):
    """Working memory: counts and where records start and end by code, records by code, the link of each place."""

    counts: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    present: NDArray[np.int32]
    posting: NDArray[np.int32]
    link: NDArray[np.int32]
    moved: NDArray[np.int32]


@inner
def _take_stock(records, bench, order, low, high):
    """Count the codes of a frame and list the places of each; return how many codes are present."""
    found = 0
    for place in range(low, high):
        bench.link[place] = -1
        for at in range(records.offsets[order[place]], records.offsets[order[place] + 1]):
            code = records.items[at]
            if bench.counts[code] == 0:
                bench.present[found] = code
                found += 1
            bench.counts[code] += 1
    at = 0
    for j in range(found):
        bench.start[bench.present[j]] = at
        bench.end[bench.present[j]] = at
        at += bench.counts[bench.present[j]]
    for place in range(low, high):
        for at in range(records.offsets[order[place]], records.offsets[order[place] + 1]):
            code = records.items[at]
            bench.posting[bench.end[code]] = place
            bench.end[code] += 1
    return found


@inner
def _choose(records, bench, found, left, k, constraint):
    """Code to split the ``left`` records on: of the constraint, of any, or any; the most frequent; -1 for none."""
    best = -1
    best_rank = -1
    for j in range(found):
        code = bench.present[j]
        count = bench.counts[code]
        # Both sides keep k records at least.
        if count < k or left - count < k or records.passed_over[code]:
            continue
        own = records.constraint[code]
        rank = 0 if own < 0 else (2 if own == constraint else 1)
        if (
            rank > best_rank
            or (rank == best_rank and count > bench.counts[best])
            or (rank == best_rank and count == bench.counts[best] and code < best)
        ):
            best = code
            best_rank = rank
    return best


@inner
def _peel(records, bench, order, code, link):
    """Take the records with a code out of a frame, as its next link; return how many they are."""
    peeled = 0
    # Peeling changes counts, not where the list of a code ends.
    for at in range(bench.start[code], bench.end[code]):
        place = bench.posting[at]
        if bench.link[place] < 0:
            bench.link[place] = link
            peeled += 1
            for item in range(records.offsets[order[place]], records.offsets[order[place] + 1]):
                bench.counts[records.items[item]] -= 1
    return peeled


@inner
def _regroup(bench, order, low, high, begins, links):
    """Bring the records of a frame into the order of its links, ``begins`` being where each begins."""
    # Stable: the records of a link keep their order.
    for place in range(low, high):
        link = bench.link[place] if bench.link[place] >= 0 else links
        bench.moved[begins[link]] = order[place]
        begins[link] += 1
    for place in range(low, high):
        order[place] = bench.moved[place]


@jit
def _split(records, bench, order, stack, waiting, border, k, limit):
    """Split the parts on the stack; ``border`` receives the depth of the split before each place, -1 for none."""
    while waiting > 0:
        waiting -= 1
        low, high, depth, constraint = stack[waiting]
        found = _take_stock(records, bench, order, low, high)
        begins = np.empty(found + 1, dtype=np.int64)
        codes = np.empty(found, dtype=np.int64)
        links = 0
        at = low
        while high - at >= limit:
            code = _choose(records, bench, found, high - at, k, constraint)
            if code < 0:
                break
            begins[links] = at
            codes[links] = code
            at += _peel(records, bench, order, code, links)
            # What is left has not the code that was split on, and goes on without its constraint.
            constraint = -1
            links += 1
        begins[links] = at
        for j in range(found):
            bench.counts[bench.present[j]] = 0
        for link in range(links):
            border[begins[link + 1]] = depth + link
            if begins[link + 1] - begins[link] >= limit:
                stack[waiting, 0] = begins[link]
                stack[waiting, 1] = begins[link + 1]
                stack[waiting, 2] = depth + link + 1
                stack[waiting, 3] = records.constraint[codes[link]]
                waiting += 1
        if links > 0:
            _regroup(bench, order, low, high, begins, links)


def _check_records(records: Records) -> int:
    n_codes = records.constraint.shape[0]
    if records.passed_over.shape != (n_codes,):
        raise ValueError("constraint and passed_over must have one entry a code")
    if records.offsets[0] != 0 or records.offsets[-1] != records.items.size or np.any(np.diff(records.offsets) < 0):
        raise ValueError("offsets must rise from 0 to the number of items")
    if records.items.size and not 0 <= records.items.min() <= records.items.max() < n_codes:
        raise ValueError(f"items must be from 0 to {n_codes - 1}")
    return n_codes


def split_records(records: Records, k: int, limit: int, classes: NDArray[np.int64] | None = None) -> Split:
    """Partition records horizontally.

    Parameters
    ----------
    k : records that every part has at least, if there are as many
    limit : parts of fewer records are not split
    classes : (n_records,) class of each record, numbered from 0, all of which occur; no part has records of two, and
        parts stand by class. None: all records are one class
    """
    n_codes = _check_records(records)
    n = records.offsets.size - 1
    counts, start, end = np.zeros((3, n_codes), dtype=np.int64)
    bench = Bench(
        counts,
        start,
        end,
        np.empty(n_codes, dtype=np.int32),
        np.empty(records.items.size, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
    )
    order, class_starts = _by_class(classes, n)
    k, limit = max(k, 1), max(limit, 2)
    border = np.full(n, -1, dtype=np.int32)
    # Parts that wait have as many records as the limit, and none in common: they find room.
    stack = np.zeros((n // limit + 1, 4), dtype=np.int64)
    large = np.flatnonzero(np.diff(class_starts) >= limit)
    stack[: large.size] = np.column_stack([class_starts[large], class_starts[large + 1], 0 * large, 0 * large - 1])
    _split(records, bench, order, stack, large.size, border, k, limit)
    begins = border >= 0
    begins[class_starts[1:-1]] = True
    inner = np.flatnonzero(begins)
    starts = np.concatenate([[0], inner, [n]]).astype(np.int64)
    return Split(order, starts, border[inner])


def _by_class(classes: NDArray[np.int64] | None, n: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Records by class, and where each class begins."""
    if classes is None:
        return np.arange(n, dtype=np.int32), np.array([0, n], dtype=np.int64)
    if classes.shape != (n,) or (n and classes.min() < 0):
        raise ValueError("classes must have one number from 0 on for each record")
    sizes = np.bincount(classes)
    if not sizes.all():
        raise ValueError("every class must have records")
    order = np.argsort(classes, kind="stable").astype(np.int32)
    return order, starts_of(sizes)


class Tree(NamedTuple):
    """Inner nodes of a binary forest over parts; node i is between part i and part i + 1."""

    depth: NDArray[np.int32]  # (n_nodes,) depth of each node; -1 where the parts on its sides are in different trees
    low: NDArray[np.int32]  # low, high: (n_nodes,) first and last part below each node
    high: NDArray[np.int32]
    highest: NDArray[np.int32]  # (n_steps, n_nodes) the node of least depth among 2**step nodes from each on


@jit
def _spans(depth, low, high):
    """First and last part below each node: it reaches as far as nodes are deeper."""
    n = depth.shape[0]
    stack = np.empty(n, dtype=np.int64)
    waiting = 0
    for node in range(n):
        low[node] = node
        # Depths on the stack rise: a node ends the reach of all deeper ones before it.
        while waiting > 0 and depth[stack[waiting - 1]] > depth[node]:
            waiting -= 1
            high[stack[waiting]] = node
            low[node] = low[stack[waiting]]
        stack[waiting] = node
        waiting += 1
    for i in range(waiting):
        high[stack[i]] = n


@inner
def _meeting(tree, part, other):
    """The lowest node above two parts, ``part`` standing before ``other``."""
    step = 0
    while (2 << step) <= other - part:
        step += 1
    # Two runs of 2**step nodes that cover all between the parts; where they overlap nothing is lost, it is a minimum.
    left = tree.highest[step, part]
    right = tree.highest[step, other - (1 << step)]
    return left if tree.depth[left] <= tree.depth[right] else right


def make_tree(depth: NDArray[np.int32]) -> Tree:
    """Make a tree of the depths of its nodes in their order."""
    depth = np.ascontiguousarray(depth, dtype=np.int32)
    n = depth.size
    low, high = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    _spans(depth, low, high)
    highest = np.tile(np.arange(n, dtype=np.int32), (max(1, n.bit_length()), 1))
    for step in range(1, highest.shape[0]):
        below, half = highest[step - 1], 1 << (step - 1)
        highest[step] = below
        later = depth[below[half:]] < depth[below[:-half]]
        highest[step, :-half][later] = below[half:][later]
    if np.any((depth[1:] == depth[:-1]) & (depth[1:] >= 0)):
        raise ValueError("neighbouring nodes must differ in depth")
    return Tree(depth, low, high, highest)
