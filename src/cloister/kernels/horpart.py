"""Horizontal partitioning: split records on frequent codes until the parts are small (HORPART).

A *frame* is a part together with all that is split off it by codes it has not: the chain of right-hand sides. One
count of its codes and one list of records per code serve the whole chain, so a frame costs its occurrences once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit


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

    order : (n_records,) int32, the record at each place
    starts : (n_parts + 1,) int64, the place at which each part begins
    depths : (n_parts - 1,) int32, depth of the split between each part and the next, -1 between classes; they determine
        the tree of each class
    """

    order: NDArray[np.int32]
    starts: NDArray[np.int64]
    depths: NDArray[np.int32]


class Bench(NamedTuple):
    """Working memory: counts and where records start by code, records by code, the chain's link of each place."""

    counts: NDArray[np.int64]
    start: NDArray[np.int64]
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
        at += bench.counts[bench.present[j]]
    # Filling moves each start to its end; the last loop moves them back.
    for place in range(low, high):
        for at in range(records.offsets[order[place]], records.offsets[order[place] + 1]):
            code = records.items[at]
            bench.posting[bench.start[code]] = place
            bench.start[code] += 1
    for j in range(found):
        bench.start[bench.present[j]] -= bench.counts[bench.present[j]]
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
def _peel(records, bench, order, code, end, link):
    """Take the records with a code out of a frame, as its next link; return how many they are."""
    peeled = 0
    for at in range(bench.start[code], end):
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


@inner
def _extended(array, wanted):
    """The array, twice as long if it is shorter than wanted."""
    if wanted < array.shape[0]:
        return array
    longer = np.zeros(2 * array.shape[0], dtype=array.dtype)
    longer[: array.shape[0]] = array
    return longer


@inner
def _whole_classes(class_starts, limit):
    """The stack of work at the beginning: the classes that are to be split; and how many they are."""
    stack = np.zeros((64 + class_starts.shape[0], 4), dtype=np.int64)
    waiting = 0
    for number in range(class_starts.shape[0] - 1):
        if class_starts[number + 1] - class_starts[number] >= limit:
            stack[waiting, 0] = class_starts[number]
            stack[waiting, 1] = class_starts[number + 1]
            stack[waiting, 3] = -1
            waiting += 1
    return stack, waiting


@jit
def _split(records, bench, order, class_starts, border, k, limit):
    """Split each class; ``border`` receives the depth of the split before each place, -1 where there is none."""
    stack, waiting = _whole_classes(class_starts, limit)
    begins = np.zeros(64, dtype=np.int64)
    codes = np.zeros(64, dtype=np.int64)
    while waiting > 0:
        waiting -= 1
        low, high, depth, constraint = stack[waiting]
        found = _take_stock(records, bench, order, low, high)
        ends = np.empty(found, dtype=np.int64)
        for j in range(found):
            ends[j] = bench.start[bench.present[j]] + bench.counts[bench.present[j]]
        links = 0
        at = low
        while high - at >= limit:
            code = _choose(records, bench, found, high - at, k, constraint)
            if code < 0:
                break
            begins = _extended(begins, links + 2)
            codes = _extended(codes, links + 2)
            begins[links] = at
            codes[links] = code
            end = bench.start[code]
            for j in range(found):
                if bench.present[j] == code:
                    end = ends[j]
            # Peeling changes counts, so that the list of a code ends where it ended before.
            at += _peel(records, bench, order, code, end, links)
            # What is left has not the code that was split on, and goes on without its constraint.
            constraint = -1
            links += 1
        begins[links] = at
        for j in range(found):
            bench.counts[bench.present[j]] = 0
        if links == 0:
            continue
        waiting, stack = _descend(records, border, (depth, limit), begins, codes, links, stack, waiting)
        _regroup(bench, order, low, high, begins, links)


@inner
def _descend(records, border, frame, begins, codes, links, stack, waiting):
    """Note the borders of a frame's links, and put those that are still large on the stack."""
    depth, limit = frame
    longer = stack
    if waiting + links >= stack.shape[0]:
        longer = np.zeros((2 * (waiting + links), 4), dtype=np.int64)
        longer[:waiting] = stack[:waiting]
    for link in range(links):
        border[begins[link + 1]] = depth + link
        if begins[link + 1] - begins[link] >= limit:
            longer[waiting, 0] = begins[link]
            longer[waiting, 1] = begins[link + 1]
            longer[waiting, 2] = depth + link + 1
            longer[waiting, 3] = records.constraint[codes[link]]
            waiting += 1
    return waiting, longer


def _checked(records: Records) -> int:
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
    n_codes = _checked(records)
    n = records.offsets.size - 1
    bench = Bench(
        np.zeros(n_codes, dtype=np.int64),
        np.zeros(n_codes, dtype=np.int64),
        np.empty(n_codes, dtype=np.int32),
        np.empty(records.items.size, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
    )
    order, class_starts = _by_class(classes, n)
    border = np.full(n, -1, dtype=np.int32)
    _split(records, bench, order, class_starts, border, max(k, 1), max(limit, 2))
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
    return order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


class Tree(NamedTuple):
    """Inner nodes of a binary forest over parts; node i stands between part i and part i + 1.

    depth : (n_nodes,) int32, depth of each node; -1 where the parts on its sides are in different trees
    low, high : (n_nodes,) int32, first and last part below each node
    highest : (n_steps, n_nodes) int32, the node of least depth among 2**step nodes from each on
    """

    depth: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    highest: NDArray[np.int32]


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


@jit
def _fill_highest(depth, highest):
    """Fill the table of least depths, each step from the one before."""
    n = depth.shape[0]
    for node in range(n):
        highest[0, node] = node
    for step in range(1, highest.shape[0]):
        half = 1 << (step - 1)
        for node in range(n):
            highest[step, node] = highest[step - 1, node]
            if node + half < n:
                other = highest[step - 1, node + half]
                if depth[other] < depth[highest[step, node]]:
                    highest[step, node] = other


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
    steps = max(1, int(n).bit_length())
    highest = np.empty((steps, n), dtype=np.int32)
    _fill_highest(depth, highest)
    if np.any((depth[1:] == depth[:-1]) & (depth[1:] >= 0)):
        raise ValueError("neighbouring nodes must differ in depth")
    return Tree(depth, low, high, highest)
