"""Figures of a manifest, counted anew from the clusters by other means than those that wrote them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise, permutations

import numpy as np

from ..data import Integers
from ..encode import plain_code
from .data import Chunks, Disassociation, lay_out
from .verify_chunks import codes_by_subrecords

BLOCK = 5_000_000
"""Pairs of occurrences that are looked at together."""

MANY_PAIRS = 20_000_000
"""Chunks with more pairs of occurrences are looked at by the subrecords that their codes share."""


@dataclass(frozen=True)
class CountedTies:
    """Pairs (x, y) of a chunk such that enough of the subrecords with x have y, and the distinct codes x."""

    pairs: int
    codes: int


def ties_in(released: Disassociation, threshold: float) -> CountedTies:
    """Count the codes that give another code of their chunk away.

    Parameters
    ----------
    threshold : share in (0, 1] of the subrecords with x from which on they give y away

    Returns
    -------
    CountedTies
        Each ordered pair counted in each chunk where it stands.
    """
    given_away = np.concatenate(
        [_tied(chunks, threshold) for chunks in (released.record_chunks, released.shared_chunks)]
    )
    return CountedTies(given_away.size, np.unique(given_away).size)


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


def item_chunk_share(released: Disassociation) -> float:
    """Return the highest share of all occurrences that item chunks may have: every record all codes of its own."""
    most = sum(size * len(released.item_chunk_of(cluster)) for cluster, size in enumerate(released.sizes.tolist()))
    told = released.record_chunks.items.size + released.shared_chunks.items.size
    return float(most / max(1, told + most))


def constraints_told(released: Disassociation, constraints: Sequence[Sequence[int]]) -> tuple[int, int, int]:
    """Count constraints, those all of whose codes are counted exactly, and those whose patients are, too.

    Parameters
    ----------
    constraints : disjoint sets of item numbers
    """
    of_code = np.full(len(released.vocabulary), -1, dtype=np.int64)
    for number, items in enumerate(constraints):
        of_code[list(items)] = number
    satisfied = np.ones(len(constraints) + 1, dtype=np.bool_)
    # Codes of no constraint fall on the last place, which is left out below.
    satisfied[of_code[released.item_chunks]] = False
    # Where two chunks lie over one cluster, whoever has codes of both is counted twice.
    constraint, begin, end = _spans(released, of_code)
    order = np.lexsort((begin, constraint))
    constraint, begin, end = constraint[order], begin[order], end[order]
    meet = (np.diff(constraint) == 0) & (end[:-1] > begin[1:])
    preserved = satisfied.copy()
    preserved[constraint[1:][meet]] = False
    return len(constraints), int(satisfied[:-1].sum()), int(preserved[:-1].sum())


def _spans(released: Disassociation, of_code: Integers) -> tuple[Integers, Integers, Integers]:
    """For each chunk and each constraint that has codes in it: the constraint, first and last place of its clusters."""
    layout, found = lay_out(released), []
    record, shared = released.record_chunks, released.shared_chunks
    own = layout.position[record.owner]
    over = ((record, own, own + 1), (shared, layout.low[shared.owner], layout.high[shared.owner]))
    for chunks, begin, end in over:
        chunk = np.repeat(np.arange(len(chunks)), np.diff(chunks.domain_offsets))
        constraint, chunk = np.unique(np.stack([of_code[chunks.domain], chunk]), axis=1)
        found.append(np.stack([constraint, begin[chunk], end[chunk]]))
    constraint, begin, end = np.concatenate(found, axis=1)
    return constraint, begin, end


def _tied(chunks: Chunks, threshold: float) -> Integers:
    """The code x of each pair."""
    lengths = np.diff(chunks.item_offsets).astype(np.float64)
    pairs_before = np.concatenate([[0.0], np.cumsum(lengths**2)])[chunks.subrecord_offsets]
    is_large = np.diff(pairs_before) > MANY_PAIRS
    cuts = np.searchsorted(pairs_before, np.arange(BLOCK, pairs_before[-1] + 1, BLOCK))
    large = np.flatnonzero(is_large)
    bounds = np.unique(np.concatenate([[0, len(chunks)], cuts, large, large + 1])).astype(np.int64)
    found = [np.empty(0, dtype=np.int64)]
    for first, last in pairwise(np.minimum(bounds, len(chunks)).tolist()):
        found.append(
            _by_columns(chunks, first, threshold) if is_large[first] else _by_product(chunks, first, last, threshold)
        )
    return np.concatenate(found)


def _by_product(chunks: Chunks, first: int, last: int, threshold: float) -> Integers:
    """Of some chunks: the table of subrecords and codes, multiplied by itself, tells how many hold both."""
    from scipy.sparse import csr_array  # loaded only where it is needed

    begin, end = int(chunks.subrecord_offsets[first]), int(chunks.subrecord_offsets[last])
    offsets = chunks.item_offsets[begin : end + 1]
    items = chunks.items[offsets[0] : offsets[-1]].astype(np.int64)
    if not items.size:
        return items
    chunk = np.repeat(np.arange(last - first), np.diff(chunks.subrecord_offsets[first : last + 1]))
    width = int(items.max()) + 1
    code, column = np.unique(np.repeat(chunk, np.diff(offsets)) * width + items, return_inverse=True)
    ones = np.ones(items.size, dtype=np.int64)
    table = csr_array((ones, column, offsets - offsets[0]), shape=(end - begin, code.size))
    both = (table.T @ table).tocoo()
    x, y = both.coords
    support = np.bincount(column, minlength=code.size)
    tied = (x != y) & (both.data >= threshold * support[x])
    return np.asarray(code[x[tied]] % width, dtype=np.int64)


def _by_columns(chunks: Chunks, chunk: int, threshold: float) -> Integers:
    """Of one chunk: codes that the same subrecords hold are compared with others once."""
    alike = codes_by_subrecords(chunks, chunk)
    found: list[int] = []
    for column, codes in alike.items():
        least = threshold * column.bit_count()
        # A code gives itself away and is not counted.
        given = sum(len(others) for other, others in alike.items() if (column & other).bit_count() >= least) - 1
        found += [code for code in codes for _ in range(given)]
    return np.array(found, dtype=np.int64)
