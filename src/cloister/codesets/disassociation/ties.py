"""The cover problem: codes of a chunk that give another one away are counted, from the chunks alone."""

from collections import Counter
from dataclasses import dataclass
from itertools import chain, groupby, permutations

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.encode import plain_code

from .data import Chunks, Disassociation
from .verify_chunks import blocks, codes_by_subrecords

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
    found = [_tied_by_counting(chunks, span, ~many, threshold) for span in blocks(chunks, BLOCK)]
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
    codes = codes_by_subrecords(chunks, chunk)
    found: list[int] = []
    for pattern, own in codes.items():
        reached = threshold * pattern.bit_count()
        n = sum(len(others) for other, others in codes.items() if (pattern & other).bit_count() >= reached) - 1
        found += own * n
    return np.full(len(found), chunk, dtype=np.int64), np.array(found, dtype=np.int64)


def ties_of_repeats(released: Disassociation, threshold: float) -> int:
    """Return how many of the pairs are occurrences of one code; a second one takes the first one along always."""
    if not released.repeats:
        return 0
    names = [plain_code(code, repeats=True) for code in released.vocabulary]
    tied = 0
    for chunks in (released.record_chunks, released.shared_chunks):
        for chunk in range(len(chunks)):
            support = Counter(chain.from_iterable(chunks.subrecords_of(chunk)))
            for _, group in groupby(sorted(support, key=names.__getitem__), key=names.__getitem__):
                tied += sum(support[y] >= threshold * support[x] for x, y in permutations(group, 2))
    return tied
