"""Parts that were disassociated each by itself, put together as one release."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloister.kernels.sequences import take_sequences
from cloister.kernels.subrecords import Filled

from ..data import Integers
from .canonical import arrange_parts
from .data import Chunks, Disassociation
from .verify_tree import lay_out


@dataclass(frozen=True, eq=False, repr=False)
class Joined:
    """One release made of parts.

    Attributes
    ----------
    released : all clusters of all parts, in the order of what they hold
    cluster_numbers : for each part, the number in ``released`` of each of its clusters
    """

    released: Disassociation
    cluster_numbers: tuple[Integers, ...]


def join_parts(parts: Sequence[Disassociation]) -> Joined:
    """Return the release that holds the clusters and joint clusters of all parts.

    The order follows from what is released alone, so neither how the records were parted nor the order of the parts
    shows. One part stays as it is.

    Parameters
    ----------
    parts : at least one; with the same k, m, vocabulary and sensitive codes, without classes
    """
    if len(parts) == 1:
        return Joined(parts[0], (np.arange(parts[0].n_clusters, dtype=np.int64),))
    laid = [lay_out(part) for part in parts]
    order = [np.argsort(layout.position) for layout in laid]
    first = _starts([part.n_clusters for part in parts])
    nodes = _starts([part.n_joints for part in parts])
    item_chunks = [
        take_sequences(part.item_offsets, part.item_chunks, at) for part, at in zip(parts, order, strict=True)
    ]
    record = _together(
        [
            _owned(part.record_chunks, layout.position[part.record_chunks.owner] + before)
            for part, layout, before in zip(parts, laid, first[:-1].tolist(), strict=True)
        ]
    )
    shared = _together(
        [
            _owned(part.shared_chunks, part.shared_chunks.owner.astype(np.int64) + before)
            for part, before in zip(parts, nodes[:-1].tolist(), strict=True)
        ]
    )
    low = np.concatenate([layout.low + before for layout, before in zip(laid, first[:-1], strict=True)])
    high = np.concatenate([layout.high + before - 1 for layout, before in zip(laid, first[:-1], strict=True)])
    sizes = np.concatenate([part.sizes[at] for part, at in zip(parts, order, strict=True)])
    items = _offsets_together([offsets for offsets, _ in item_chunks]), np.concatenate([own for _, own in item_chunks])
    arranged = arrange_parts(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        items,
        record,
        shared,
        (low, high),
        np.zeros(sizes.size, dtype=np.int64),
    )
    released = replace(
        parts[0],
        sizes=arranged.sizes,
        record_chunks=arranged.record_chunks,
        item_offsets=arranged.item_offsets,
        item_chunks=arranged.item_chunks,
        child_offsets=arranged.child_offsets,
        children=arranged.children,
        joint_sizes=arranged.joint_sizes,
        shared_chunks=arranged.shared_chunks,
    )
    numbers = [arranged.part_number[layout.position + before] for layout, before in zip(laid, first[:-1], strict=True)]
    return Joined(released, tuple(numbers))


def _starts(lengths: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _owned(chunks: Chunks, owner: Integers) -> Filled:
    """The chunks by other owners, in their order."""
    order = np.argsort(owner, kind="stable")
    domain_starts, domain = take_sequences(chunks.domain_offsets, chunks.domain, order)
    _, items = take_sequences(chunks.item_offsets[chunks.subrecord_offsets], chunks.items, order)
    lengths = np.diff(chunks.item_offsets).astype(np.int32)
    starts, lengths = take_sequences(chunks.subrecord_offsets, lengths, order)
    return Filled(
        owner[order], domain_starts, domain, starts, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), items
    )


def _together(chunks: Sequence[Filled]) -> Filled:
    """Chunks of all parts, one part after the other."""
    return Filled(
        np.concatenate([each.owner for each in chunks]),
        _offsets_together([each.domain_starts for each in chunks]),
        np.concatenate([each.domain for each in chunks]),
        _offsets_together([each.starts for each in chunks]),
        _offsets_together([each.item_starts for each in chunks]),
        np.concatenate([each.items for each in chunks]),
    )


def _offsets_together(offsets: Sequence[Integers]) -> Integers:
    """Where things begin if one lot stands after the other."""
    ends = _starts([int(each[-1]) for each in offsets])
    begun = [each[:-1] + before for each, before in zip(offsets, ends[:-1].tolist(), strict=True)]
    return np.concatenate([*begun, ends[-1:]]).astype(np.int64)
