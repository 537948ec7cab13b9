"""Codes that give another away: which codes of a chunk occur with another at least so often. A fact of a release."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, groupby, pairwise, permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.ragged import expand_runs, owners
from cloister.shapes.codes.data import Integers, plain_code

from .data import Chunks, Disassociation

MOST_SHARED = 1 << 18
"""Sets of subrecords, shared by codes of one chunk, that are looked at; their number can grow exponentially."""


Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


TIES_BLOCK = 500_000  # Occurrences that are looked at together


MANY_PAIRS = 1e6  # Pairs of occurrences that are counted whatever the subrecords are like


PAIRS_A_SUBRECORD = 16
"""Chunks with more pairs of occurrences, in all and a subrecord, are looked at by the records their codes share."""


class CodeBlock(NamedTuple):
    """Codes of some chunks, subrecord by subrecord: where that of each ends, and the chunk that it is of."""

    items: Integers
    ends: Integers
    chunk: Integers


def blocks(chunks: Chunks, size: int) -> Iterator[CodeBlock]:
    """Yield the codes of runs of chunks with about so many occurrences each."""
    if not len(chunks):
        return
    ends = chunks.item_offsets[chunks.subrecord_offsets[1:]]
    cuts = np.searchsorted(ends, np.arange(size, max(1, int(ends[-1])), size)) + 1
    for start, stop in pairwise(np.unique(np.concatenate([[0], cuts, [len(chunks)]])).tolist()):
        subrecords = chunks.subrecord_offsets[start : stop + 1]
        bounds = chunks.item_offsets[subrecords[0] : subrecords[-1] + 1]
        lengths = np.diff(bounds)
        chunk_of = np.repeat(np.repeat(np.arange(start, stop), np.diff(subrecords)), lengths)
        codes = chunks.items[bounds[0] : bounds[-1]].astype(np.int64)
        yield CodeBlock(codes, np.repeat(bounds[1:] - bounds[0], lengths), chunk_of)


def codes_by_subrecords(chunks: Chunks, chunk: int) -> dict[int, list[int]]:
    """Return the codes of a chunk by the set of subrecords that hold them, as the bits of a number."""
    first, last = chunks.subrecord_offsets[chunk : chunk + 2].tolist()
    bounds = chunks.item_offsets[first : last + 1]
    items = chunks.items[bounds[0] : bounds[-1]]
    order = np.argsort(items, kind="stable")
    rows = owners(bounds)[order]
    holds = np.zeros(last - first, dtype=np.bool_)
    found: dict[int, list[int]] = {}
    codes, starts = np.unique(items[order], return_index=True)
    for code, held in zip(codes.tolist(), np.split(rows, starts[1:]), strict=True):
        holds[held] = True
        column = int.from_bytes(np.packbits(holds, bitorder="little").tobytes(), "little")
        found.setdefault(column, []).append(code)
        holds[held] = False
    return found


class Ties(NamedTuple):
    """Pairs (x, y) of a chunk such that someone who knows x learns y; a pair counts once in each chunk that has it."""

    pairs: int
    codes: int  # distinct codes x
    by_cluster: NDArray[np.int64]  # (n_clusters,) pairs in each cluster's record chunks


def count_ties(released: Disassociation, threshold: float = 1.0) -> Ties:
    """Count the pairs of codes of a chunk with s({x, y}) / s(x) of ``threshold`` or more, s being the support there.

    k^m-anonymity does not forbid them: it hides who has a code, not what comes with it. Where ``inference_check`` is
    ``enforce``, chunks are built without such pairs: a code that would tie waits for the next chunk (vertical
    partitioning), or gets a shared chunk of its own. So nothing has to be suppressed or moved to item chunks
    afterwards, which is where we deviate from what others propose.
    """
    owner, code = _find_tied_pairs(released.record_chunks, threshold)
    by_cluster = np.bincount(owner, minlength=released.n_clusters)
    _, shared_code = _find_tied_pairs(released.shared_chunks, threshold)
    codes = np.unique(np.concatenate([code, shared_code])).size
    return Ties(code.size + shared_code.size, codes, by_cluster)


def _find_tied_pairs(chunks: Chunks, threshold: float) -> Pairs:
    """The owners of the tied pairs (x, y), and x."""
    lengths = np.diff(chunks.item_offsets)
    chunk_of = owners(chunks.subrecord_offsets)
    pairs = np.bincount(chunk_of, weights=lengths.astype(float) ** 2, minlength=len(chunks))
    many = (pairs > MANY_PAIRS) & (pairs > PAIRS_A_SUBRECORD * np.diff(chunks.subrecord_offsets))
    found = [_tied_by_counting(occurrences, ~many, threshold) for occurrences in blocks(chunks, TIES_BLOCK)]
    for chunk in np.flatnonzero(many).tolist():
        # In a chunk with long subrecords, treat codes of the same records as one.
        codes = codes_by_subrecords(chunks, chunk)
        tied: list[int] = []
        for pattern, own in codes.items():
            reached = threshold * pattern.bit_count()
            n = sum(len(others) for other, others in codes.items() if (pattern & other).bit_count() >= reached) - 1
            tied += own * n
        found.append((np.full(len(tied), chunk, dtype=np.int64), np.array(tied, dtype=np.int64)))
    at = np.concatenate([np.empty(0, dtype=np.int64), *(pair[0] for pair in found)])
    return chunks.owner[at].astype(np.int64), np.concatenate([at[:0], *(pair[1] for pair in found)])


def _tied_by_counting(occurrences: CodeBlock, light: NDArray[np.bool_], threshold: float) -> Pairs:
    items, ends, owner = occurrences
    width = int(items.max()) + 1
    single, number, support = np.unique(owner * width + items, return_inverse=True, return_counts=True)
    at = np.flatnonzero(light[owner])
    later = ends[at] - at - 1
    pairs = number[np.repeat(at, later)] * single.size + number[expand_runs(at + 1, later)]
    pair, together = np.unique(pairs, return_counts=True)
    x, y = pair // single.size, pair % single.size
    tied = np.concatenate([x[together >= threshold * support[x]], y[together >= threshold * support[y]]])
    return single[tied] // width, single[tied] % width


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
