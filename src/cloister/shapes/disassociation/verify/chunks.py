"""Whether chunks are k^m-anonymous and stand in an order that tells nothing, by other means than those that built them.

Supports are counted from subrecords. Clusters, joint clusters and chunks must stand as their contents say.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, groupby, pairwise, permutations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.ragged import owners, picked, spread, starts_of
from cloister.shapes.codes.data import Integers, plain_code
from cloister.shapes.disassociation.format.data import Chunks, Disassociation

BLOCK = 2_000_000  # Occurrences that are looked at together
MANY_SETS = 200_000  # Sets of codes that are counted whatever the subrecords are like

SETS_A_SUBRECORD = 8
"""Chunks with more sets of codes, in all and a subrecord, are looked at by the records that their codes share."""

MOST_SHARED = 1 << 18
"""Sets of subrecords, shared by codes of one chunk, that are looked at; their number can grow exponentially."""

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
TIES_BLOCK = 500_000  # Occurrences that are looked at together
MANY_PAIRS = 1e6  # Pairs of occurrences that are counted whatever the subrecords are like

PAIRS_A_SUBRECORD = 16
"""Chunks with more pairs of occurrences, in all and a subrecord, are looked at by the records their codes share."""

Ragged = tuple[Integers, NDArray[np.int32]]  # Runs of numbers: where each begins, and the numbers
BREAK = -1  # What stands between the chunks of an owner and what else it has
LEAD = 64  # Numbers of all runs that are compared together; those that are still equal are compared one by one


class CodeBlock(NamedTuple):
    """Codes of some chunks, subrecord by subrecord: where that of each ends, and the chunk that it is of."""

    items: Integers
    ends: Integers
    chunk: Integers


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
        at, known = spread(at + 1, later), np.repeat(known, later)
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
    yield "clusters stand in the order of their contents", _ascends(steps, around)
    label = starts_of(steps != 0)
    yield "joint clusters stand in the order of their contents", _joints_ascend(released, parents, label)
    yield (
        "chunks stand in the order of their smallest code",
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
        offsets, children = _taken((released.child_offsets, released.children), members)
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
    offsets, values = _joined(_single(lengths), (chunks.item_offsets, chunks.items))
    subrecords = offsets[chunks.subrecord_offsets], values
    offsets, values = _joined(
        _single(np.diff(chunks.domain_offsets)),
        (chunks.domain_offsets, chunks.domain),
        _single(np.diff(chunks.subrecord_offsets)),
        subrecords,
    )
    return offsets[np.concatenate([[0], np.cumsum(np.bincount(chunks.owner, minlength=n_owners))])], values


def _contents(runs: Ragged, owners: Integers, sizes: Integers, rest: Ragged) -> Ragged:
    """Size, chunks and the rest of some owners, each as one run."""
    return _joined(_single(sizes[owners]), _taken(runs, owners), _single(np.full(owners.size, BREAK)), rest)


def _single(values: Integers) -> Ragged:
    return np.arange(values.size + 1), values.astype(np.int32)


def _taken(runs: tuple[Integers, NDArray[np.integer]], which: Integers) -> tuple[Integers, NDArray[np.integer]]:
    starts, places = picked(runs[0], which)
    return starts, runs[1][places]


def _joined(*parts: tuple[Integers, NDArray[np.integer]]) -> Ragged:
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


class Ties(NamedTuple):
    """Pairs (x, y) of a chunk such that somebody who knows x learns y, each counted where it stands."""

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
    owner, code = _tied(released.record_chunks, threshold)
    by_cluster = np.bincount(owner, minlength=released.n_clusters)
    _, shared_code = _tied(released.shared_chunks, threshold)
    codes = np.unique(np.concatenate([code, shared_code])).size
    return Ties(code.size + shared_code.size, codes, by_cluster)


def _tied(chunks: Chunks, threshold: float) -> Pairs:
    """The owners of the tied pairs (x, y), and x."""
    lengths = np.diff(chunks.item_offsets)
    chunk_of = owners(chunks.subrecord_offsets)
    pairs = np.bincount(chunk_of, weights=lengths.astype(float) ** 2, minlength=len(chunks))
    many = (pairs > MANY_PAIRS) & (pairs > PAIRS_A_SUBRECORD * np.diff(chunks.subrecord_offsets))
    found = [_tied_by_counting(occurrences, ~many, threshold) for occurrences in blocks(chunks, TIES_BLOCK)]
    for chunk in np.flatnonzero(many).tolist():
        # Of a chunk with long subrecords, codes of the same records are taken together.
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
    pairs = number[np.repeat(at, later)] * single.size + number[spread(at + 1, later)]
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
