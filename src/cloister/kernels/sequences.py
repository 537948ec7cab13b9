"""Chunks filled with the subrecords of their records; joint clusters, nested and written as sequences to be ordered."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .horpart import Records, Split
from .parts import Entries, occurrences
from .shared_chunks import Shared
from .words import starts_of


@inner
def _before(starts, values, one, other):
    """Whether one sequence comes strictly before another; a shorter one before its continuations."""
    a = starts[one]
    b = starts[other]
    shared = min(starts[one + 1] - a, starts[other + 1] - b)
    for i in range(shared):
        if values[a + i] != values[b + i]:
            return values[a + i] < values[b + i]
    return starts[one + 1] - a < starts[other + 1] - b


@inner
def _sort_range(starts, values, order, spare, low, high):
    """Sort the sequences numbered in ``order[low:high]``, keeping equal ones as they stand."""
    for i in range(low + 1, high if high - low <= 16 else low):
        item = order[i]
        j = i - 1
        while j >= low and _before(starts, values, item, order[j]):
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = item
    if high - low <= 16:
        return
    width = 1
    while width < high - low:
        for left in range(low, high, 2 * width):
            middle = min(left + width, high)
            end = min(left + 2 * width, high)
            i = left
            j = middle
            for at in range(left, end):
                # The right one goes first only if it is strictly before the left: equal ones stay as they stand.
                if i < middle and (j >= end or not _before(starts, values, order[j], order[i])):
                    spare[at] = order[i]
                    i += 1
                else:
                    spare[at] = order[j]
                    j += 1
        for at in range(low, high):
            order[at] = spare[at]
        width *= 2


@jit
def _classes(starts, values, order, label):
    """Number of each sequence among the distinct ones, ``order`` being sorted."""
    found = 0
    for i in range(order.shape[0]):
        if i > 0 and _before(starts, values, order[i - 1], order[i]):
            found += 1
        label[order[i]] = found


@jit
def _copy(starts, values, chosen, new_starts, new_values):
    """Copy the chosen sequences."""
    for i in range(chosen.shape[0]):
        begin = starts[chosen[i]]
        for j in range(starts[chosen[i] + 1] - begin):
            new_values[new_starts[i] + j] = values[begin + j]


@jit
def _sort_groups(groups, starts, values, order, spare):
    """Sort the sequences within each group of neighbours; ``groups`` is where each group begins."""
    for i in range(groups.shape[0] - 1):
        if groups[i + 1] - groups[i] > 1:
            _sort_range(starts, values, order, spare, groups[i], groups[i + 1])


def _check_sequences(starts: NDArray[np.int64], values: NDArray[np.int32]) -> int:
    if starts[0] != 0 or starts[-1] != values.size or np.any(np.diff(starts) < 0):
        raise ValueError("starts must rise from 0 to the number of values")
    return starts.size - 1


def sequence_order(
    starts: NDArray[np.int64], values: NDArray[np.int32], groups: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Numbers of the sequences in lexicographic order, shape (n,) int64; equal ones in the order given.

    Parameters
    ----------
    starts, values : sequence i is ``values[starts[i]:starts[i + 1]]``
    groups : where groups of neighbours begin that are sorted each on its own; all together by default
    """
    n = _check_sequences(starts, values)
    if groups is None:
        groups = np.array([0, n], dtype=np.int64)
    if groups[0] != 0 or groups[-1] != n or np.any(np.diff(groups) < 0):
        raise ValueError("groups must rise from 0 to the number of sequences")
    order = np.arange(n, dtype=np.int64)
    _sort_groups(groups, starts, values, order, np.empty(n, dtype=np.int64))
    return order


def sequence_classes(
    starts: NDArray[np.int64], values: NDArray[np.int32], order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Number of each sequence among the distinct ones in lexicographic order, ``order`` being their sorted order."""
    label = np.empty(_check_sequences(starts, values), dtype=np.int64)
    _classes(starts, values, order, label)
    return label


def take_sequences(
    starts: NDArray[np.int64], values: NDArray[np.int32], chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The chosen sequences one after the other, as starts and values."""
    n = _check_sequences(starts, values)
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < n:
        raise ValueError(f"chosen must be from 0 to {n - 1}")
    new_starts = starts_of(np.diff(starts)[chosen])
    new_values = np.empty(int(new_starts[-1]), dtype=values.dtype)
    _copy(starts, values, chosen, new_starts, new_values)
    return new_starts, new_values


class Filled(NamedTuple):
    """Chunks with their subrecords in lexicographic order."""

    owner: NDArray[np.int64]  # (n_chunks,) part or node
    domain_starts: NDArray[np.int64]  # domain_starts, domain: codes of each chunk, ascending
    domain: NDArray[np.int32]
    starts: NDArray[np.int64]  # (n_chunks + 1,) where each chunk's subrecords begin
    item_starts: NDArray[np.int64]  # item_starts, items: codes of each subrecord, ascending
    items: NDArray[np.int32]


def _fill_chunks(
    records: Records, split: Split, entries: Entries, chunk: NDArray[np.int64], owner: NDArray[np.int64]
) -> Filled:
    """Chunks with the subrecords of their records; ``chunk`` is that of each entry, -1 for none."""
    inside = np.flatnonzero(chunk >= 0)
    domain = np.unique(chunk[inside] * records.constraint.size + entries.code[inside])
    chunk_of, codes = np.divmod(domain, records.constraint.size)
    found = occurrences(records, split, entries, chunk, owner.size)
    # A subrecord begins where another record does, or another chunk.
    begins = np.append(np.diff(found.place, prepend=-1) != 0, True)
    begins[found.starts] = True
    item_starts = np.flatnonzero(begins)
    starts = np.searchsorted(item_starts, found.starts)
    order = sequence_order(item_starts, found.code, starts)
    domain_starts = np.searchsorted(chunk_of, np.arange(owner.size + 1))
    in_order = take_sequences(item_starts, found.code, order)
    return Filled(owner, domain_starts, codes.astype(np.int32), starts, *in_order)


def record_chunks(records: Records, split: Split, entries: Entries) -> Filled:
    """The record chunks of all parts; ``owner`` is the part, and a part's chunks stand by their smallest code."""
    if entries.offsets.size != split.starts.size:
        raise ValueError("entries must have one offset a part")
    inside = np.flatnonzero(entries.place >= 0)
    part = np.repeat(np.arange(split.starts.size - 1), np.diff(entries.offsets))[inside]
    # No part has more chunks than codes: this distinguishes all chunks.
    key = entries.offsets[part] + entries.place[inside]
    first = np.empty(entries.code.size, dtype=np.int64)
    first[key[::-1]] = inside[::-1]
    is_first = first[key] == inside
    chunk = np.full(entries.code.size, -1, dtype=np.int64)
    chunk[inside[is_first]] = np.arange(np.count_nonzero(is_first))
    chunk[inside] = chunk[first[key]]
    return _fill_chunks(records, split, entries, chunk, part[is_first])


def shared_chunks(records: Records, split: Split, entries: Entries, shared: Shared) -> Filled:
    """The shared chunks; ``owner`` is the node."""
    return _fill_chunks(records, split, entries, shared.chunk, shared.node.astype(np.int64))


BREAK = -1


class Nest(NamedTuple):
    """The innermost joint around each joint and each part, -1 for none; steps from each joint down to its deepest."""

    joint_parent: NDArray[np.int64]
    part_parent: NDArray[np.int64]
    height: NDArray[np.int64]


@jit
def _nest(low, high, nest):
    """Sweep over the parts with a stack of open joints; joints stand by their first part, the larger before."""
    joints = low.shape[0]
    stack = np.empty(joints, dtype=np.int64)
    opened = 0
    at = 0
    for part in range(nest.part_parent.shape[0]):
        # Open joints lie in each other, so that those that end first are on top.
        while opened > 0 and high[stack[opened - 1]] < part:
            opened -= 1
        while at < joints and low[at] == part:
            nest.joint_parent[at] = stack[opened - 1] if opened > 0 else -1
            stack[opened] = at
            opened += 1
            at += 1
        nest.part_parent[part] = stack[opened - 1] if opened > 0 else -1
    for joint in range(joints - 1, -1, -1):
        parent = nest.joint_parent[joint]
        if parent >= 0:
            nest.height[parent] = max(nest.height[parent], nest.height[joint] + 1)


@inner
def _write_chunk(filled, c, values, at):
    """Write a chunk: its codes and its subrecords, each with their number before them; return the next place."""
    values[at] = filled.domain_starts[c + 1] - filled.domain_starts[c]
    at += 1
    for i in range(filled.domain_starts[c], filled.domain_starts[c + 1]):
        values[at] = filled.domain[i]
        at += 1
    values[at] = filled.starts[c + 1] - filled.starts[c]
    at += 1
    for s in range(filled.starts[c], filled.starts[c + 1]):
        values[at] = filled.item_starts[s + 1] - filled.item_starts[s]
        at += 1
        for i in range(filled.item_starts[s], filled.item_starts[s + 1]):
            values[at] = filled.items[i]
            at += 1
    return at


@jit
def _write(filled, first, owners, sizes, extra, extra_values, starts, values):
    """Write each owner's size, chunks and extra values."""
    for i in range(owners.shape[0]):
        at = starts[i]
        values[at] = sizes[owners[i]]
        at += 1
        for c in range(first[owners[i]], first[owners[i] + 1]):
            at = _write_chunk(filled, c, values, at)
        values[at] = BREAK
        at += 1
        for j in range(extra[i], extra[i + 1]):
            values[at] = extra_values[j]
            at += 1


def nest(low: NDArray[np.int64], high: NDArray[np.int64], parts: int) -> Nest:
    """How joints lie in each other.

    Parameters
    ----------
    low, high : (n_joints,) first and last part of each, by ``low`` and then the larger first
    """
    rising = (low[1:] > low[:-1]) | ((low[1:] == low[:-1]) & (high[1:] < high[:-1]))
    if not np.all(rising) or np.any(high < low) or (high.size and int(high.max()) >= parts):
        raise ValueError("joints must stand by their first part, the larger before the smaller")
    found = Nest(
        np.full(low.size, -1, dtype=np.int64), np.full(parts, -1, dtype=np.int64), np.zeros(low.size, dtype=np.int64)
    )
    _nest(low, high, found)
    return found


def write_sequences(
    filled: Filled,
    first: NDArray[np.int64],
    owners: NDArray[np.int64],
    sizes: NDArray[np.int64],
    extra: tuple[NDArray[np.int64], NDArray[np.int32]],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """All that is released of some owners, one sequence each, as starts and values.

    Parameters
    ----------
    first : (n_owners + 1,) where each owner's chunks begin
    owners : those that are written
    sizes : (n_owners,) records of each
    extra : what follows the chunks of each that is written, as starts and values
    """
    if first[0] != 0 or first[-1] != filled.owner.size or extra[0].size != owners.size + 1:
        raise ValueError("first must span the chunks, and extra have one start for each that is written")
    ends = 2 * np.arange(filled.starts.size) + filled.domain_starts + filled.starts + filled.item_starts[filled.starts]
    starts = starts_of(ends[first[owners + 1]] - ends[first[owners]] + 2 + np.diff(extra[0]))
    values = np.empty(int(starts[-1]), dtype=np.int32)
    _write(filled, first, owners, sizes, extra[0], extra[1], starts, values)
    return starts, values
