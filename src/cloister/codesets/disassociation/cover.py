"""The cover problem: a code of a chunk that gives another one away."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .data import Chunks, Disassociation

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]

BLOCK = 500_000
"""Occurrences that are looked at together."""

MANY_PAIRS = 1e6
"""Pairs of occurrences that are counted whatever the subrecords are like."""

PAIRS_A_SUBRECORD = 16
"""Chunks with more pairs of occurrences, in all and a subrecord, are looked at by the records their codes share."""


@dataclass(frozen=True, eq=False)
class Ties:
    """Pairs (x, y) of a chunk such that somebody who knows x learns y.

    Attributes
    ----------
    pairs : ordered pairs in all chunks, each counted where it stands
    codes : distinct codes x of such pairs
    by_cluster : (n_clusters,) int64, pairs in each cluster's record chunks
    in_shared_chunks : pairs in shared chunks
    """

    pairs: int
    codes: int
    by_cluster: NDArray[np.int64]
    in_shared_chunks: int


def count_ties(released: Disassociation, threshold: float = 1.0) -> Ties:
    """Count the pairs of codes of a chunk with s({x, y}) / s(x) of ``threshold`` or more, s being the support there.

    k^m-anonymity does not forbid them: it hides who has a code, not what comes with it. Where ``safe`` is ``enforce``,
    chunks are built without such pairs: a code that would tie waits for the next chunk (vertical partitioning), or
    gets a shared chunk of its own. So nothing has to be suppressed or moved to item chunks afterwards, which is where
    we deviate from what others propose.

    Parameters
    ----------
    threshold : confidence in (0, 1] from which on x gives y away
    """
    owner, code = _tied(released.record_chunks, threshold)
    by_cluster = np.bincount(owner, minlength=released.n_clusters)
    _, shared_code = _tied(released.shared_chunks, threshold)
    codes = np.unique(np.concatenate([code, shared_code])).size
    return Ties(code.size + shared_code.size, codes, by_cluster, shared_code.size)


def _tied(chunks: Chunks, threshold: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Owner and code x of each tied pair."""
    lengths = np.diff(chunks.item_offsets)
    chunk_of = np.repeat(np.arange(len(chunks)), np.diff(chunks.subrecord_offsets))
    pairs = np.bincount(chunk_of, weights=lengths.astype(float) ** 2, minlength=len(chunks))
    many = (pairs > MANY_PAIRS) & (pairs > PAIRS_A_SUBRECORD * np.diff(chunks.subrecord_offsets))
    found = [_tied_by_counting(chunks, span, ~many, threshold) for span in _blocks(chunks)]
    found += [_tied_by_pattern(chunks, chunk, threshold) for chunk in np.flatnonzero(many).tolist()]
    chunk = np.concatenate([np.empty(0, dtype=np.int64), *(pair[0] for pair in found)])
    return chunks.owner[chunk].astype(np.int64), np.concatenate([chunk[:0], *(pair[1] for pair in found)])


def _tied_by_counting(chunks: Chunks, span: tuple[int, int], light: NDArray[np.bool_], threshold: float) -> Pairs:
    """Chunk and code x of the tied pairs of some chunks, all pairs being counted."""
    first, last = chunks.subrecord_offsets[list(span)].tolist()
    bounds = chunks.item_offsets[first : last + 1]
    items = chunks.items[bounds[0] : bounds[-1]].astype(np.int64)
    ends = np.repeat(bounds[1:] - bounds[0], np.diff(bounds))
    sizes = np.diff(chunks.subrecord_offsets[span[0] : span[1] + 1])
    owner = np.repeat(np.repeat(np.arange(*span), sizes), np.diff(bounds))
    width = int(items.max()) + 1
    single, number, support = np.unique(owner * width + items, return_inverse=True, return_counts=True)
    at = np.flatnonzero(light[owner])
    later = ends[at] - at - 1
    before = np.repeat(np.cumsum(later) - later, later)
    left = np.repeat(at, later)
    pairs = number[left] * single.size + number[left + 1 + np.arange(before.size) - before]
    pair, together = np.unique(pairs, return_counts=True)
    x, y = pair // single.size, pair % single.size
    tied = np.concatenate([x[together >= threshold * support[x]], y[together >= threshold * support[y]]])
    return single[tied] // width, single[tied] % width


def _tied_by_pattern(chunks: Chunks, chunk: int, threshold: float) -> Pairs:
    """The same of one chunk with long subrecords, codes of the same records being taken together."""
    codes = _codes_by_pattern(chunks, chunk)
    found: list[int] = []
    for pattern, own in codes.items():
        reached = threshold * pattern.bit_count()
        n = sum(len(others) for other, others in codes.items() if (pattern & other).bit_count() >= reached) - 1
        found += own * n
    return np.full(len(found), chunk, dtype=np.int64), np.array(found, dtype=np.int64)


def _codes_by_pattern(chunks: Chunks, chunk: int) -> dict[int, list[int]]:
    """Codes of a chunk by the subrecords that hold them, these as bits of a number."""
    first, last = chunks.subrecord_offsets[chunk : chunk + 2].tolist()
    bounds = chunks.item_offsets[first : last + 1]
    items = chunks.items[bounds[0] : bounds[-1]]
    order = np.argsort(items, kind="stable")
    row = np.repeat(np.arange(last - first), np.diff(bounds))[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(items[order])) + 1])
    codes: dict[int, list[int]] = {}
    for code, held in zip(items[order[starts]].tolist(), np.split(row, starts[1:]), strict=True):
        bits = np.zeros(last - first, dtype=np.bool_)
        bits[held] = True
        pattern = int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
        codes.setdefault(pattern, []).append(code)
    return codes


def _blocks(chunks: Chunks) -> list[tuple[int, int]]:
    """Runs of chunks with some hundred thousand occurrences each."""
    if not len(chunks):
        return []
    ends = chunks.item_offsets[chunks.subrecord_offsets[1:]]
    cuts = np.searchsorted(ends, np.arange(BLOCK, max(1, int(ends[-1])), BLOCK)) + 1
    return list(pairwise(np.unique(np.concatenate([[0], cuts, [len(chunks)]])).tolist()))
