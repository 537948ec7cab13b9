"""Disassociation: horizontal partitioning, vertical partitioning, refining, and the release form."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.chunking import Rule
from cloister.kernels.sequences import take_sequences
from cloister.kernels.splitting import Split
from cloister.kernels.subrecords import record_chunks, shared_chunks
from cloister.kernels.tree import make_tree

from ..data import CodeSets
from .canonical import Arranged, arrange
from .cover import count_ties
from .data import Classes, Disassociation, DisassociationRequest, Figures, ProtectedCodes, Refine, Safe
from .encode_request import Encoded, encode_request
from .horpart import partition_horizontally
from .refine import Refinement, refine
from .refine_paper import neighbour_tree
from .sensitive import merge_for_diversity
from .verpart import VerticalPartition, partition_vertically

ANY = 2.0
"""A confidence that no pair reaches."""


def disassociate(codes: CodeSets, request: DisassociationRequest, classes: Classes | None = None) -> ProtectedCodes:
    """Cut the code sets into pieces such that whoever knows up to m codes of a patient is left with k candidates.

    *Guarantee* (Guarantee 1 of the paper): for any m codes of any record, sensitive ones aside, there is at least one
    dataset that the release may stand for in which k records or more have all of them. It holds against somebody who
    knows up to m codes of a patient, all of them possibly rare, and the release. Not promised: a bound on what is
    probable (the guarantee says that k candidates are possible, not that they are equally likely), anything against
    somebody who knows more than m codes, who knows several patients, or who works backwards from what the method would
    have done; nor that a code does not give another away (see `cloister.codesets.disassociation.cover`) unless ``safe``
    is ``enforce``. Cost: about the number of occurrences times the logarithm of the number of records.

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
    return ProtectedCodes(
        released, _cluster_of(order, split, arranged.part_number), _figures(released, codes, vertical, request)
    )


def _class_of_part(split: Split, order: NDArray[np.int32], classes: Classes | None) -> NDArray[np.int64]:
    if classes is None:
        return np.zeros(split.starts.size - 1, dtype=np.int64)
    found: NDArray[np.int64] = classes.class_of[order[split.starts[:-1]]]
    return found


def _in_classes(
    released: Disassociation,
    classes: Classes | None,
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


def _cluster_of(order: NDArray[np.int32], split: Split, part_number: NDArray[np.int64]) -> NDArray[np.int32]:
    cluster = np.empty(order.size, dtype=np.int32)
    cluster[order] = np.repeat(part_number, np.diff(split.starts))
    return cluster


def _figures(
    released: Disassociation, codes: CodeSets, vertical: VerticalPartition, request: DisassociationRequest
) -> Figures:
    told = released.record_chunks.items.size + released.shared_chunks.items.size
    ties = None if request.safe is Safe.OFF else count_ties(released, request.safe_threshold)
    return Figures(
        occurrences=codes.items.size,
        in_item_chunks=codes.items.size - told,
        repaired=int(np.count_nonzero(vertical.marks.repaired)),
        ties=ties.pairs if ties else None,
        tied_codes=ties.codes if ties else None,
    )
