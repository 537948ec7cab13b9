"""The cover problem: a code of a chunk that gives another one away."""

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from .data import Chunks, Disassociation


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
    width = int(chunks.domain.max()) + 1 if chunks.domain.size else 1
    chunk_of = np.repeat(np.arange(len(chunks)), np.diff(chunks.subrecord_offsets))
    lengths = np.diff(chunks.item_offsets)
    owners, codes = [], []
    for first, last in _blocks(chunks):
        s = slice(int(chunks.subrecord_offsets[first]), int(chunks.subrecord_offsets[last]))
        begin = chunks.item_offsets[s]
        items = chunks.items[chunks.item_offsets[s.start] : chunks.item_offsets[s.stop]]
        singles = np.repeat((chunk_of[s] - first) * width, lengths[s]) + items
        single, support = np.unique(singles, return_counts=True)
        left, right = _pairs(chunks, begin, lengths[s], chunk_of[s] - first, width)
        local = np.searchsorted(single, left) * single.size + np.searchsorted(single, right)
        pair, together = np.unique(local, return_counts=True)
        x, y = pair // max(1, single.size), pair % max(1, single.size)
        tied = np.concatenate([x[together >= threshold * support[x]], y[together >= threshold * support[y]]])
        owners.append(chunks.owner[single[tied] // width + first].astype(np.int64))
        codes.append(single[tied] % width)
    empty = [np.empty(0, dtype=np.int64)]
    return np.concatenate(owners or empty), np.concatenate(codes or empty)


def _blocks(chunks: Chunks) -> list[tuple[int, int]]:
    """Runs of chunks with some millions of occurrences each."""
    ends = chunks.item_offsets[chunks.subrecord_offsets[1:]]
    if not ends.size:
        return []
    cuts = np.searchsorted(ends, np.arange(2_000_000, int(ends[-1]), 2_000_000)) + 1
    bounds = np.unique(np.concatenate([[0], cuts, [ends.size]])).tolist()
    return list(pairwise(bounds))


def _pairs(
    chunks: Chunks, begin: NDArray[np.int64], lengths: NDArray[np.int64], chunk: NDArray[np.int64], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both codes of each unordered pair in each subrecord, with the chunk in front."""
    lefts, rights = [], []
    for length in np.unique(lengths[lengths > 1]).tolist():
        rows = np.flatnonzero(lengths == length)
        for i, j in combinations(range(length), 2):
            lefts.append(chunk[rows] * width + chunks.items[begin[rows] + i])
            rights.append(chunk[rows] * width + chunks.items[begin[rows] + j])
    empty = [np.empty(0, dtype=np.int64)]
    return np.concatenate(lefts or empty), np.concatenate(rights or empty)
