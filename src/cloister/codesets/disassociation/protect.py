"""Disassociation: horizontal partitioning, vertical partitioning, refining, and the release form."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.data import CodeSets
from cloister.errors import InputError
from cloister.kernels._jit import is_compiled
from cloister.kernels.chunking import Rule
from cloister.kernels.sequences import take_sequences
from cloister.kernels.splitting import Split
from cloister.kernels.subrecords import record_chunks, shared_chunks
from cloister.kernels.tree import make_tree

from .canonical import arrange
from .data import (
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
from .ties import count_ties

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
    released = arranged.released(
        request.k, request.m, codes.vocabulary, repeats=codes.repeats, sensitive=encoded.sensitive
    )
    if classes is not None:
        class_of = np.empty(class_of_part.size, dtype=np.int32)
        class_of[arranged.part_number] = class_of_part
        released = replace(released, class_columns=classes.columns, classes=classes.labels, class_of=class_of)
    cluster_of = np.empty(order.size, dtype=np.int32)
    cluster_of[order] = np.repeat(arranged.part_number, np.diff(split.starts))
    return ProtectedCodes(released, cluster_of, _figures(released, codes, vertical, request))


def _class_of_part(split: Split, order: NDArray[np.int32], classes: RecordClasses | None) -> NDArray[np.int64]:
    if classes is None:
        return np.zeros(split.starts.size - 1, dtype=np.int64)
    found: NDArray[np.int64] = classes.class_of[order[split.starts[:-1]]]
    return found


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
    return not is_compiled("joining._group_all")


def load_kernels() -> None:
    """Run every kernel once, on six records."""
    codes = CodeSets.from_records(RECORDS)
    reconstruct(disassociate(codes, DisassociationRequest(2, 3, max_cluster_size=3)).released, 0)
