"""Check that chunks are k^m-anonymous and that their order reveals nothing, independently of the code that built them.

Supports are counted from subrecords. Clusters, joint clusters and chunks must be sorted by their contents.
"""

from collections.abc import Iterator
from math import comb

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.ragged import expand_runs, owners, starts_of, take_runs
from cloister.shapes.codes.data import Integers
from cloister.shapes.disassociation.format.data import Chunks, Disassociation
from cloister.shapes.disassociation.format.ties import MOST_SHARED, CodeBlock, blocks, codes_by_subrecords

BLOCK = 2_000_000  # Occurrences that are looked at together
MANY_SETS = 200_000  # Sets of codes that are counted whatever the subrecords are like

SETS_A_SUBRECORD = 8
"""Chunks with more sets of codes, in all and a subrecord, are looked at by the records that their codes share."""


Ragged = tuple[Integers, NDArray[np.int32]]  # Runs of numbers: where each begins, and the numbers
BREAK = -1  # The separator between the chunks of an owner and its other numbers
LEAD = 64  # Numbers of all runs that are compared together; those that are still equal are compared one by one


def rare_chunks(chunks: Chunks, k: int, m: int) -> Integers:
    """Chunks in which up to m codes occur together, but in fewer than k subrecords; the numbers, ascending."""
    lengths = np.diff(chunks.item_offsets)
    longest = int(lengths.max(initial=0))
    # No subrecord has a set of more codes.
    m = min(m, max(1, longest))
    # How many sets of up to m codes the subrecords of each chunk have.
    n_sets = [float(sum(comb(length, size) for size in range(1, m + 1))) for length in range(longest + 1)]
    weights = np.array(n_sets)[lengths]
    cost = np.bincount(owners(chunks.subrecord_offsets), weights=weights, minlength=len(chunks))
    # Long subrecords have too many sets to count: there, sets of subrecords are fewer than sets of codes.
    many = (cost > MANY_SETS) & (cost > SETS_A_SUBRECORD * np.diff(chunks.subrecord_offsets))
    rare = [_rare_by_counting(occurrences, ~many, k, m) for occurrences in blocks(chunks, BLOCK)]
    slow = [chunk for chunk in np.flatnonzero(many).tolist() if _is_rare(chunks, chunk, k, m)]
    return np.unique(np.concatenate([*rare, np.array(slow, dtype=np.int64)]))


def _rare_by_counting(occurrences: CodeBlock, light: NDArray[np.bool_], k: int, m: int) -> Integers:
    """Count every set of 1, 2, ... m codes: each occurrence of a set is continued by each later code."""
    items, ends, owner = occurrences
    at = np.flatnonzero(light[owner])
    known = owner[at]
    width = int(items.max()) + 1 if items.size else 1
    rare = [np.empty(0, dtype=np.int64)]
    for size in range(1, m + 1):
        keys = known * width + items[at]
        _, example, known, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        rare.append(owner[at[example[counts < k]]])
        if size == m:
            break
        # Codes ascend within a subrecord, so that going on with later ones meets every set once.
        later = ends[at] - at - 1
        at, known = expand_runs(at + 1, later), np.repeat(known, later)
        if not at.size:
            break
    return np.unique(np.concatenate(rare))


def _is_rare(chunks: Chunks, chunk: int, k: int, m: int) -> bool:
    """Whether some m codes share 1 to k - 1 subrecords, by intersecting the codes' sets of subrecords.

    A chunk whose codes share more sets of subrecords than can be looked at counts as rare: no release has one.
    """
    first, last = chunks.subrecord_offsets[chunk : chunk + 2].tolist()
    fewest = {(1 << (last - first)) - 1: 0}
    for column in codes_by_subrecords(chunks, chunk):
        for shared, codes in list(fewest.items()):
            both = shared & column
            # A code that leaves the same subrecords, or none, makes no set that could be rare.
            if codes == m or both in (0, shared):
                continue
            if both.bit_count() < k:
                return True
            if codes + 1 < m:
                # Of all codes that share just these subrecords the fewest count: they leave room for most others.
                fewest[both] = min(codes + 1, fewest.get(both, m + 1))
        if len(fewest) > MOST_SHARED or column.bit_count() < k:
            return True
    return False


def orders(released: Disassociation) -> Iterator[tuple[str, bool]]:
    """Promises about the order, each with whether it holds; the places and the forest must be sound.

    Clusters come by class if there are any, by size, record chunks and item chunk, joint clusters by how many joint
    clusters lie in each other, then by size, shared chunks and children; equal ones by the joint cluster around them.
    Chunks come by their smallest code.
    """
    parents = np.full(released.n_clusters + released.n_joints, -1, dtype=np.int64)
    parents[released.children] = owners(released.child_offsets)
    items = released.item_offsets, released.item_chunks
    runs = _chunk_runs(released.record_chunks, released.n_clusters)
    contents = _contents(runs, np.arange(released.n_clusters), released.sizes, items)
    steps = _steps(contents)
    if released.class_of.size:
        between = np.sign(np.diff(released.class_of)).astype(np.int64)
        steps = np.where(between, between, steps)
    around = parents[: released.n_clusters]
    yield "clusters are in the order of their contents", _ascends(steps, around)
    label = starts_of(steps != 0)
    yield "joint clusters are in the order of their contents", _joints_ascend(released, parents, label)
    yield (
        "chunks are in the order of their smallest code",
        _chunks_ascend(released.record_chunks) and _chunks_ascend(released.shared_chunks),
    )


def _chunks_ascend(chunks: Chunks) -> bool:
    smallest = chunks.domain[chunks.domain_offsets[:-1]]
    return bool(np.all((np.diff(chunks.owner) > 0) | (np.diff(smallest) > 0)))


def _joints_ascend(released: Disassociation, parents: Integers, label: Integers) -> bool:
    """Whether joint clusters ascend by height, then contents, then the joint cluster around."""
    n, around = released.n_clusters, parents[released.n_clusters :]
    # Steps from each joint cluster down to the deepest in it; children come before.
    depth = [0] * released.n_joints
    for joint in range(released.n_joints):
        inner = [child - n for child in released.children_of(joint) if child >= n]
        depth[joint] = 1 + max((depth[child] for child in inner), default=-1)
    height = np.array(depth, dtype=np.int64)
    if np.any(np.diff(height) < 0):
        return False
    labels = np.concatenate([label, np.full(released.n_joints, -1)])
    known = int(label[-1]) + 1
    runs = _chunk_runs(released.shared_chunks, released.n_joints)
    for level in range(int(height[-1]) + 1 if height.size else 0):
        members = np.flatnonzero(height == level)
        offsets, children = _take_runs((released.child_offsets, released.children), members)
        inside = labels[children]
        inside = inside[np.lexsort((inside, owners(offsets)))]
        contents = _contents(runs, members, released.joint_sizes, (offsets, inside.astype(np.int32)))
        steps = _steps(contents)
        if not _ascends(steps, around[members]):
            return False
        # Equal contents have equal labels, so that joint clusters around them compare as equal, too.
        labels[n + members] = known + np.concatenate([[0], np.cumsum(steps != 0)])
        known = int(labels[n + members[-1]]) + 1
    return True


def _ascends(steps: Integers, around: Integers) -> bool:
    return bool(np.all((steps > 0) | ((steps == 0) & (np.diff(around) >= 0))))


def _chunk_runs(chunks: Chunks, n_owners: int) -> Ragged:
    """The chunks of each owner as one run; codes and subrecords have their number before them."""
    lengths = np.diff(chunks.item_offsets)
    offsets, values = _join_runs(_single(lengths), (chunks.item_offsets, chunks.items))
    subrecords = offsets[chunks.subrecord_offsets], values
    offsets, values = _join_runs(
        _single(np.diff(chunks.domain_offsets)),
        (chunks.domain_offsets, chunks.domain),
        _single(np.diff(chunks.subrecord_offsets)),
        subrecords,
    )
    return offsets[np.concatenate([[0], np.cumsum(np.bincount(chunks.owner, minlength=n_owners))])], values


def _contents(runs: Ragged, owners: Integers, sizes: Integers, rest: Ragged) -> Ragged:
    """Size, chunks and the rest of some owners, each as one run."""
    return _join_runs(_single(sizes[owners]), _take_runs(runs, owners), _single(np.full(owners.size, BREAK)), rest)


def _single(values: Integers) -> Ragged:
    return np.arange(values.size + 1), values.astype(np.int32)


def _take_runs(runs: tuple[Integers, NDArray[np.integer]], which: Integers) -> tuple[Integers, NDArray[np.integer]]:
    starts, places = take_runs(runs[0], which)
    return starts, runs[1][places]


def _join_runs(*parts: tuple[Integers, NDArray[np.integer]]) -> Ragged:
    """The runs of each owner one after the other."""
    lengths = np.stack([np.diff(offsets) for offsets, _ in parts], axis=1)
    ends = np.cumsum(lengths).reshape(lengths.shape)
    values = np.empty(int(lengths.sum()), dtype=np.int32)
    for (offsets, own), begin in zip(parts, (ends - lengths).T, strict=True):
        values[np.repeat(begin - offsets[:-1], np.diff(offsets)) + np.arange(own.size)] = own
    return starts_of(lengths.sum(axis=1)), values


def _steps(runs: Ragged) -> Integers:
    """Whether each run comes after the one before it (1), equals it (0) or should stand before it (-1)."""
    offsets, values = runs
    begin, lengths = offsets[:-1], np.diff(offsets)
    steps = np.sign(np.diff(lengths)).astype(np.int64)
    pairs = np.arange(steps.size)
    for at in range(LEAD):
        pairs = pairs[np.minimum(lengths[pairs], lengths[pairs + 1]) > at]
        if not pairs.size:
            return steps
        apart = np.sign(values[begin[pairs + 1] + at] - values[begin[pairs] + at])
        steps[pairs[apart != 0]] = apart[apart != 0]
        pairs = pairs[apart == 0]
    for pair in pairs.tolist():
        length = min(lengths[pair], lengths[pair + 1])
        before, here = (values[begin[each] : begin[each] + length] for each in (pair, pair + 1))
        differs = np.flatnonzero(before != here)
        if differs.size:
            steps[pair] = 1 if here[differs[0]] > before[differs[0]] else -1
    return steps
