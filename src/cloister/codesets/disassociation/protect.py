"""Disassociation: horizontal partitioning, vertical partitioning, refining, and the release form.

The cover problem, a code of a chunk that gives another one away, is counted, and ruled out where that is asked.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.data import CodeSets
from cloister.errors import InputError
from cloister.kernels._jit import is_compiled
from cloister.kernels.canonical_order import take_sequences
from cloister.kernels.horpart import Split, make_tree
from cloister.kernels.subrecords import record_chunks, shared_chunks
from cloister.kernels.verpart import Rule

from .canonical import Arranged, arrange
from .data import (
    Chunks,
    Disassociation,
    DisassociationFigures,
    DisassociationRequest,
    ProtectedCodes,
    RecordClasses,
    Refine,
    Safe,
)
from .partitioning import (
    Encoded,
    VerticalPartition,
    encode_request,
    merge_for_diversity,
    partition_horizontally,
    partition_vertically,
)
from .refining import Refinement, neighbour_tree, refine
from .release import reconstruct

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


ANY = 2.0
"""A confidence that no pair reaches."""


def disassociate(
    codes: CodeSets, request: DisassociationRequest, classes: RecordClasses | None = None
) -> ProtectedCodes:
    """Cut the code sets into pieces such that whoever knows up to m codes of a patient is left with k candidates.

    *Guarantee* (Guarantee 1 of the paper): for any m codes of any record, sensitive ones aside, there is at least one
    dataset that the release may stand for in which k records or more have all of them. It holds against somebody who
    knows up to m codes of a patient, all of them possibly rare, and the release. Not promised: a bound on what is
    probable (the guarantee says that k candidates are possible, not that they are equally likely), anything against
    somebody who knows more than m codes, who knows several patients, or who works backwards from what the method would
    have done; nor that a code does not give another away (see `count_ties`) unless ``safe`` is ``enforce``. Cost: about
    the number of occurrences times the logarithm of the number of records.

    The result does not depend on the order of the records.

    Parameters
    ----------
    classes : records that are told apart by other things; then all of it happens inside each class, and whoever knows
        the class of a patient as well is left with k candidates in it

    Raises
    ------
    InputError
        There are no records, or the request does not fit them.
    NoSafeRelease
        There are fewer than k records, or in a class; or a sensitive code is too frequent for the diversity asked.

    References
    ----------
    Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), "Disassociation for electronic health record privacy",
    Journal of Biomedical Informatics 50, 46-61: sections 4 and 7. Each step's deviations stand with it.
    """
    if classes is not None and request.sensitive:
        raise InputError("Codes cannot be kept apart as sensitive ones inside classes. Leave them out.")
    encoded = encode_request(codes, request)
    split = partition_horizontally(encoded.records, request.k, request.cluster_limit, classes)
    split = merge_for_diversity(encoded, split, request.diversity)
    order, encoded, split = split.order, *_side_by_side(encoded, split)
    rule = Rule(request.k, request.m, request.safe_threshold if request.safe is Safe.ENFORCE else ANY)
    vertical = partition_vertically(encoded.records, split, encoded.unit, rule)
    refinement = _refined(encoded, split, vertical, rule, request.refine)
    record = record_chunks(encoded.records, split, vertical.entries)
    shared = shared_chunks(refinement.pool, refinement.pieces)
    class_of_part = _class_of_part(split, order, classes)
    arranged = arrange(split, vertical.entries, record, shared, refinement.tree, class_of_part)
    released = _in_classes(_released(codes, request, encoded, arranged), classes, class_of_part, arranged.part_number)
    cluster_of = np.empty(order.size, dtype=np.int32)
    cluster_of[order] = np.repeat(arranged.part_number, np.diff(split.starts))
    return ProtectedCodes(released, cluster_of, _figures(released, codes, vertical, request))


def _class_of_part(split: Split, order: NDArray[np.int32], classes: RecordClasses | None) -> NDArray[np.int64]:
    if classes is None:
        return np.zeros(split.starts.size - 1, dtype=np.int64)
    found: NDArray[np.int64] = classes.class_of[order[split.starts[:-1]]]
    return found


def _in_classes(
    released: Disassociation,
    classes: RecordClasses | None,
    class_of_part: NDArray[np.int64],
    part_number: NDArray[np.int64],
) -> Disassociation:
    if classes is None:
        return released
    class_of = np.empty(part_number.size, dtype=np.int32)
    class_of[part_number] = class_of_part
    return replace(released, class_columns=classes.columns, classes=classes.labels, class_of=class_of)


def _side_by_side(encoded: Encoded, split: Split) -> tuple[Encoded, Split]:
    """The records in the order of the parts, so that those of a part are neighbours in memory."""
    offsets, items = take_sequences(encoded.records.offsets, encoded.records.items, split.order.astype(np.int64))
    records = encoded.records._replace(offsets=offsets, items=items)
    return replace(encoded, records=records), split._replace(order=np.arange(split.order.size, dtype=np.int32))


def _refined(encoded: Encoded, split: Split, vertical: VerticalPartition, rule: Rule, method: Refine) -> Refinement:
    if method is Refine.TREE:
        depths = split.depths
    elif method is Refine.PAPER:
        depths = neighbour_tree(vertical.entries, encoded.unit, rule.k, split.depths < 0)
    else:
        depths = np.full(split.depths.size, -1, dtype=np.int32)
    return refine(encoded, split, vertical, rule, make_tree(depths))


def _released(codes: CodeSets, request: DisassociationRequest, encoded: Encoded, arranged: Arranged) -> Disassociation:
    return Disassociation(
        k=request.k,
        m=request.m,
        vocabulary=codes.vocabulary,
        sizes=arranged.sizes,
        record_chunks=arranged.record_chunks,
        item_offsets=arranged.item_offsets,
        item_chunks=arranged.item_chunks,
        child_offsets=arranged.child_offsets,
        children=arranged.children,
        joint_sizes=arranged.joint_sizes,
        shared_chunks=arranged.shared_chunks,
        repeats=codes.repeats,
        sensitive=encoded.sensitive,
    )


def _figures(
    released: Disassociation, codes: CodeSets, vertical: VerticalPartition, request: DisassociationRequest
) -> DisassociationFigures:
    told = released.record_chunks.items.size + released.shared_chunks.items.size
    ties = None if request.safe is Safe.OFF else count_ties(released, request.safe_threshold)
    return DisassociationFigures(
        occurrences=codes.items.size,
        in_item_chunks=codes.items.size - told,
        repaired=int(np.count_nonzero(vertical.marks.repaired)),
        ties=ties.pairs if ties else None,
        tied_codes=ties.codes if ties else None,
    )


RECORDS = [["a", "b", "c", "d"], ["a", "b", "c"], ["a", "b", "d"], ["b", "e"], ["b", "e", "c"], ["e", "d"]]


def must_compile() -> bool:
    """Whether loading the kernels takes long this time: half a minute, once on each machine."""
    return not is_compiled("shared_chunks._group_all")


def load_kernels() -> None:
    """Run every kernel once, on six records."""
    codes = CodeSets.from_records(RECORDS)
    reconstruct(disassociate(codes, DisassociationRequest(2, 3, max_cluster_size=3)).released, 0)
