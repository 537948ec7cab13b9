"""The release form: clusters, joint clusters and chunks in an order that follows from their contents alone.

Clusters are sorted by their class, if there are any, then by all that is released of them, joint clusters by how many
joint clusters lie in each other, then by their shared chunks and members. What is still equal is sorted by the joint
cluster around it, from the outside in. So neither the order of the input nor that of the splits shows.

Parts that were disassociated each by itself are put together as one release in the same order.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.horpart import Split, Tree
from cloister.kernels.parts import Entries
from cloister.kernels.ragged import starts_of
from cloister.kernels.sequences import (
    Filled,
    Nest,
    nest,
    sequence_classes,
    sequence_order,
    take_sequences,
    write_sequences,
)
from cloister.kernels.verpart import ITEM_CHUNK, KEPT_BACK
from cloister.shapes.codes.data import Integers

from .data import Chunks, Disassociation, lay_out

Parts = tuple[Integers, Chunks, Integers, NDArray[np.int32], Integers, Integers, Integers, Chunks]
"""What a `Disassociation` says of clusters and joint clusters: its fields from ``sizes`` to ``shared_chunks``."""


def arrange(
    split: Split, entries: Entries, record: Filled, shared: Filled, tree: Tree, class_of_part: Integers
) -> tuple[Parts, Integers]:
    """Return everything in canonical order, and the number of the cluster that each part became."""
    spans = tree.low.astype(np.int64), tree.high.astype(np.int64)
    left = (entries.place == ITEM_CHUNK) | (entries.place == KEPT_BACK)
    item_chunks = starts_of(left)[entries.offsets], entries.code[left]
    return arrange_parts(split.starts, item_chunks, record, shared, spans, class_of_part)


def arrange_parts(
    starts: Integers,
    item_chunks: tuple[Integers, NDArray[np.int32]],
    record: Filled,
    shared: Filled,
    spans: tuple[Integers, Integers],
    class_of_part: Integers,
) -> tuple[Parts, Integers]:
    """Put parts and shared chunks in their final order; return them and the numbers of the parts.

    ``starts``: (n_parts + 1,) records before each part
    ``item_chunks``: where the item chunk of each part begins, and the codes
    ``record``, ``shared``: chunks; the owner of a shared one is a node
    ``spans``: first and last part below each node; nodes lie in each other or apart
    ``class_of_part``: (n_parts,) classes are distinguished by more than their contents, and come before these
    """
    sizes = np.diff(starts)
    label = _labels(
        write_sequences(record, _first(record.owner, sizes.size), np.arange(sizes.size), sizes, item_chunks)
    )
    if class_of_part.any():
        label = np.unique(class_of_part * (int(label.max()) + 1) + label, return_inverse=True)[1].astype(np.int64)
    joints = _Joints(starts, shared, spans)
    joint_label = _joint_labels(joints, label)
    joint_order = _joint_order(joints, joint_label)
    joint_number = _inverse(joint_order)
    around = np.append(joint_number, -1)[joints.nest.part_parent]
    part_order = np.lexsort((around, label))
    part_number = _inverse(part_order)
    item_offsets, items = take_sequences(*item_chunks, part_order)
    # Direct children of each joint, ascending.
    parents = np.concatenate([joints.nest.part_parent, joints.nest.joint_parent])
    names = np.concatenate([part_number, part_number.size + joint_number])
    inside = np.flatnonzero(parents >= 0)
    owner = joint_number[parents[inside]]
    parts = (
        sizes[part_order],
        _reorder(record, part_number),
        item_offsets,
        items,
        _first(owner, joint_number.size),
        names[inside][np.lexsort((names[inside], owner))],
        joints.sizes[joint_order],
        _reorder(joints.shared, joint_number),
    )
    return parts, part_number


def _inverse(order: Integers) -> Integers:
    number = np.empty(order.size, dtype=np.int64)
    number[order] = np.arange(order.size)
    return number


def _first(owner: Integers, owners: int) -> Integers:
    """Where each owner's chunks begin, the chunks standing by owner."""
    return starts_of(np.bincount(owner, minlength=owners))


def _labels(sequences: tuple[Integers, NDArray[np.int32]]) -> Integers:
    return sequence_classes(*sequences, sequence_order(*sequences))


class _Joints:
    """Nodes that have shared chunks, by their first part, the larger before: spans, sizes, chunks, how they nest."""

    def __init__(self, starts: Integers, shared: Filled, spans: tuple[Integers, Integers]) -> None:
        nodes, index = np.unique(shared.owner, return_inverse=True)
        low, high = spans[0][nodes], spans[1][nodes]
        order = np.lexsort((-high, low))
        self.n = nodes.size
        low, high = low[order], high[order]
        self.sizes = starts[high + 1] - starts[low]
        owner = _inverse(order)[index]
        by_owner = np.lexsort((shared.domain[shared.domain_starts[:-1]], owner))
        self.shared = reorder_chunks(shared._replace(owner=owner), by_owner)
        self.first = _first(self.shared.owner, self.n)
        self.nest: Nest = nest(low, high, starts.size - 1)
        self.by_height = np.argsort(self.nest.height, kind="stable")
        self.heights = np.arange(int(self.nest.height.max(initial=-1)) + 2)
        self.bounds = np.searchsorted(self.nest.height[self.by_height], self.heights)


def with_owners(chunks: Chunks, owner: Integers) -> Filled:
    """Return chunks with other owners, as they stand."""
    return Filled(
        owner, chunks.domain_offsets, chunks.domain, chunks.subrecord_offsets, chunks.item_offsets, chunks.items
    )


def reorder_chunks(chunks: Filled, order: Integers) -> Filled:
    """Return chunks in another order."""
    domain_starts, domain = take_sequences(chunks.domain_starts, chunks.domain, order)
    _, items = take_sequences(chunks.item_starts[chunks.starts], chunks.items, order)
    starts, lengths = take_sequences(chunks.starts, np.diff(chunks.item_starts).astype(np.int32), order)
    return Filled(chunks.owner[order], domain_starts, domain, starts, starts_of(lengths), items)


def _joint_labels(joints: _Joints, part_label: Integers) -> Integers:
    """Number of each joint among those that differ in height, shared chunks or members."""
    found = joints.nest
    parents = np.concatenate([found.part_parent, found.joint_parent])
    label = np.concatenate([part_label, np.full(joints.n, -1)])
    inside = np.flatnonzero(parents >= 0)
    inside = inside[np.lexsort((parents[inside], found.height[parents[inside]]))]
    child_bounds = np.searchsorted(found.height[parents[inside]], joints.heights)
    known = int(part_label.max()) + 1
    for height in joints.heights[:-1].tolist():
        members = joints.by_height[joints.bounds[height] : joints.bounds[height + 1]]
        children = inside[child_bounds[height] : child_bounds[height + 1]]
        children = children[np.lexsort((label[children], parents[children]))]
        starts = np.concatenate([np.searchsorted(parents[children], members), [children.size]])
        content = starts.astype(np.int64), label[children].astype(np.int32)
        own = _labels(write_sequences(joints.shared, joints.first, members, joints.sizes, content))
        label[part_label.size + members] = known + own
        known += int(own.max()) + 1
    return label[part_label.size :]


def _joint_order(joints: _Joints, label: Integers) -> Integers:
    """Joints from the flat to the deep; equal ones by the joint around them, whose place is known before."""
    order = np.empty(joints.n, dtype=np.int64)
    number = np.full(joints.n + 1, -1, dtype=np.int64)
    for height in joints.heights[-2::-1].tolist():
        begin, end = joints.bounds[height], joints.bounds[height + 1]
        members = joints.by_height[begin:end]
        members = members[np.lexsort((number[joints.nest.joint_parent[members]], label[members]))]
        order[begin:end] = members
        number[members] = np.arange(begin, end)
    return order


def _reorder(chunks: Filled, number: Integers) -> Chunks:
    owner = number[chunks.owner]
    found = reorder_chunks(chunks._replace(owner=owner), np.argsort(owner, kind="stable"))
    return Chunks(found.owner.astype(np.int32), *found[1:])


def join_parts(parts: Sequence[Disassociation]) -> tuple[Disassociation, tuple[Integers, ...]]:
    """Return the release that holds the clusters of all parts, and for each part the numbers of its clusters in it.

    The order follows from what is released alone, so neither how the records were parted nor the order of the parts
    shows. One part stays as it is. Parts have the same k, m, vocabulary and sensitive codes, and no classes.
    """
    if len(parts) == 1:
        return parts[0], (np.arange(parts[0].n_clusters, dtype=np.int64),)
    first = starts_of([part.n_clusters for part in parts]).tolist()
    nodes = starts_of([part.n_joints for part in parts]).tolist()
    every, spans, numbers, item_chunks, record, shared = [], [], [], [], [], []
    for part, clusters_before, nodes_before in zip(parts, first[:-1], nodes[:-1], strict=True):
        layout = lay_out(part)
        at = np.argsort(layout.position)
        every.append(part.sizes[at])
        spans.append((layout.low + clusters_before, layout.high + clusters_before - 1))
        numbers.append(layout.position + clusters_before)
        item_chunks.append(take_sequences(part.item_offsets, part.item_chunks, at))
        record.append(_by_owner(part.record_chunks, numbers[-1][part.record_chunks.owner]))
        shared.append(_by_owner(part.shared_chunks, part.shared_chunks.owner.astype(np.int64) + nodes_before))
    sizes = np.concatenate(every)
    offsets, items = zip(*item_chunks, strict=True)
    low, high = zip(*spans, strict=True)
    arranged, part_number = arrange_parts(
        starts_of(sizes),
        (_offsets_together(offsets), np.concatenate(items)),
        _together(record),
        _together(shared),
        (np.concatenate(low), np.concatenate(high)),
        np.zeros(sizes.size, dtype=np.int64),
    )
    one = parts[0]
    released = Disassociation(one.k, one.m, one.vocabulary, *arranged, one.repeats, one.sensitive)
    return released, tuple(part_number[own] for own in numbers)


def _by_owner(chunks: Chunks, owner: Integers) -> Filled:
    return reorder_chunks(with_owners(chunks, owner), np.argsort(owner, kind="stable"))


def _together(chunks: Sequence[Filled]) -> Filled:
    return Filled(
        np.concatenate([each.owner for each in chunks]),
        _offsets_together([each.domain_starts for each in chunks]),
        np.concatenate([each.domain for each in chunks]),
        _offsets_together([each.starts for each in chunks]),
        _offsets_together([each.item_starts for each in chunks]),
        np.concatenate([each.items for each in chunks]),
    )


def _offsets_together(offsets: Sequence[Integers]) -> Integers:
    """Return the offsets of several ragged arrays after they are concatenated."""
    ends = starts_of([int(each[-1]) for each in offsets])
    begun = [each[:-1] + before for each, before in zip(offsets, ends[:-1].tolist(), strict=True)]
    return np.concatenate([*begun, ends[-1:]]).astype(np.int64)
