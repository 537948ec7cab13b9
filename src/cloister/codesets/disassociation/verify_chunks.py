"""Whether chunks are k^m-anonymous, counted from their subrecords by other means than those that built them."""

from itertools import pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from ..data import Integers
from .data import Chunks

BLOCK = 2_000_000
"""Occurrences that are looked at together."""

MANY_SETS = 200_000
"""Sets of codes that are counted whatever the subrecords are like."""

SETS_A_SUBRECORD = 8
"""Chunks with more sets of codes, in all and a subrecord, are looked at by the records that their codes share."""


MOST_SHARED = 1 << 18
"""Sets of subrecords, shared by codes of one chunk, that are looked at; their number can grow exponentially."""


def rare_chunks(chunks: Chunks, k: int, m: int) -> Integers:
    """Chunks in which up to m codes occur together, but in fewer than k subrecords; the numbers, ascending."""
    lengths = np.diff(chunks.item_offsets)
    chunk_of = np.repeat(np.arange(len(chunks)), np.diff(chunks.subrecord_offsets))
    m = min(m, int(lengths.max(initial=1)))
    cost = np.bincount(chunk_of, weights=_sets(lengths, m), minlength=len(chunks))
    many = (cost > MANY_SETS) & (cost > SETS_A_SUBRECORD * np.diff(chunks.subrecord_offsets))
    rare = [_rare_by_counting(chunks, span, ~many, k, m) for span in blocks(chunks)]
    slow = [chunk for chunk in np.flatnonzero(many).tolist() if _is_rare(chunks, chunk, k, m)]
    return np.unique(np.concatenate([*rare, np.array(slow, dtype=np.int64)]))


def blocks(chunks: Chunks) -> list[tuple[int, int]]:
    """Runs of chunks with some millions of occurrences each."""
    if not len(chunks):
        return []
    ends = chunks.item_offsets[chunks.subrecord_offsets[1:]]
    cuts = np.searchsorted(ends, np.arange(BLOCK, max(1, int(ends[-1])), BLOCK)) + 1
    return list(pairwise(np.unique(np.concatenate([[0], cuts, [len(chunks)]])).tolist()))


def _sets(lengths: Integers, m: int) -> NDArray[np.float64]:
    """How many sets of up to m codes subrecords of each length have."""
    longest = int(lengths.max()) if lengths.size else 0
    table = [float(sum(comb(length, size) for size in range(1, m + 1))) for length in range(longest + 1)]
    return np.array(table)[lengths]


def _rare_by_counting(chunks: Chunks, span: tuple[int, int], light: NDArray[np.bool_], k: int, m: int) -> Integers:
    """Count every set of 1, 2, ... m codes: each occurrence of a set is continued by each later code."""
    first, last = int(chunks.subrecord_offsets[span[0]]), int(chunks.subrecord_offsets[span[1]])
    items = chunks.items[chunks.item_offsets[first] : chunks.item_offsets[last]].astype(np.int64)
    ends = np.repeat(chunks.item_offsets[first + 1 : last + 1], np.diff(chunks.item_offsets[first : last + 1]))
    ends -= chunks.item_offsets[first]
    sizes = np.diff(chunks.subrecord_offsets[span[0] : span[1] + 1])
    owner = np.repeat(np.repeat(np.arange(*span), sizes), np.diff(chunks.item_offsets[first : last + 1]))
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
        later = ends[at] - at - 1
        before = np.repeat(np.cumsum(later) - later, later)
        at, known = np.repeat(at, later) + 1 + np.arange(before.size) - before, np.repeat(known, later)
        if not at.size:
            break
    return np.unique(np.concatenate(rare))


def _is_rare(chunks: Chunks, chunk: int, k: int, m: int) -> bool:
    """Whether some m codes share 1 to k - 1 subrecords, by intersecting the codes' sets of subrecords.

    A chunk whose codes share more sets of subrecords than can be looked at counts as rare: no release has one.
    """
    first, last = chunks.subrecord_offsets[chunk : chunk + 2].tolist()
    fewest = {(1 << (last - first)) - 1: 0}
    for column in codes_by_holders(chunks, chunk):
        for shared, codes in list(fewest.items()):
            both = shared & column
            if codes == m or both in (0, shared):
                continue
            if both.bit_count() < k:
                return True
            if codes + 1 < m:
                fewest[both] = min(codes + 1, fewest.get(both, m + 1))
        if len(fewest) > MOST_SHARED:
            return True
        if column.bit_count() < k:
            return True
    return False


def codes_by_holders(chunks: Chunks, chunk: int) -> dict[int, list[int]]:
    """Return the codes of a chunk by the set of subrecords that hold them, as the bits of a number."""
    first, last = chunks.subrecord_offsets[chunk : chunk + 2].tolist()
    bounds = chunks.item_offsets[first : last + 1]
    items = chunks.items[bounds[0] : bounds[-1]]
    order = np.argsort(items, kind="stable")
    rows = np.repeat(np.arange(last - first), np.diff(bounds))[order]
    holds = np.zeros(last - first, dtype=np.bool_)
    found: dict[int, list[int]] = {}
    codes, starts = np.unique(items[order], return_index=True)
    for code, held in zip(codes.tolist(), np.split(rows, starts[1:]), strict=True):
        holds[held] = True
        column = int.from_bytes(np.packbits(holds, bitorder="little").tobytes(), "little")
        found.setdefault(column, []).append(code)
        holds[held] = False
    return found
