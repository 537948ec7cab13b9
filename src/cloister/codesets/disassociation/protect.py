"""Disassociation: horizontal partitioning, vertical partitioning, refining, and the release form.

Refining: codes leave item chunks for shared chunks along the split tree, the lower the better.

For comparison it is also done as the paper sketches it: neighbours are joined in pairs. Either way it must keep the
condition that the paper omits.

A cluster whose record chunks are each k^m-anonymous may still give a patient away, since no record is empty. With
k = m = 2 the records ab, a, a, b, b make the chunks {a, a, a} and {b, b, b}: of five records only one can hold both.
The guarantee holds if the item chunk has a code that all records may hold, or if the non-empty subrecords of the
record chunks number at least |P| + k (h - 1), where |P| is the size of the cluster and h the smaller of m and the
number of record chunks: then k records can hold any m codes and enough subrecords are left for each of the others. A
sensitive code does not count: its published bound says that few records hold it.

Where it fails, vertical partitioning moves the least supported code to the item chunk, one whose constraint is not
kept whole before others, then the smallest (`cloister.kernels.parts`). Refining must not empty the item chunk of a
cluster that needs it: the least supported code stays, of these the most frequent one overall, then the smallest.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.data import CodeSets
from cloister.errors import InputError
from cloister.kernels.horpart import Split, Tree, make_tree
from cloister.kernels.parts import Entries
from cloister.kernels.sequences import record_chunks, shared_chunks, take_sequences
from cloister.kernels.shared_chunks import Shared, entries_to_keep, share
from cloister.kernels.verpart import ITEM_CHUNK, KEPT_BACK, SHARED, Rule

from .canonical import arrange
from .data import (
    Disassociation,
    DisassociationFigures,
    DisassociationRequest,
    InferenceCheck,
    ProtectedCodes,
    RecordClasses,
    Refine,
)
from .partitioning import (
    Encoded,
    VerticalPartition,
    encode_request,
    merge_for_diversity,
    partition_horizontally,
    partition_vertically,
)
from .release import reconstruct


def refine(encoded: Encoded, split: Split, vertical: VerticalPartition, rule: Rule, tree: Tree) -> Shared:
    """Move codes from item chunks to shared chunks at the lowest node of the tree where k records hold them.

    Going up the tree, what the parts below a node still hold of a code in item chunks is pooled. A code that reaches k
    leaves them for a shared chunk at that node. What is left of a code below k brings the only shared chunk of the code
    further down up to the node where both meet. Where several shared chunks of a code lie below, they become one as
    soon as what is left reaches k. When all codes have their nodes, those of a node are grouped by VERPART, except that
    a code that a part below holds elsewhere gets a chunk of its own. (Grouping on the way up and lifting whole chunks
    keeps fewer pairs on real data, and takes time that grows with the square of the data.)

    So a code that at least k patients have is published with its exact count, short by fewer than k occurrences that
    never met k outside record chunks, and by codes that the omitted condition keeps back.

    This replaces the paper's refining, of which only an idea and an example are given. It keeps four rules, all of
    them needed: **R1** in each cluster a code lives in one place; **R2** a shared chunk of several codes is
    k^m-anonymous and has no code that a member holds elsewhere; **R3** the condition that the paper omits holds for
    every cluster's own record chunks; **R4** all clusters below the node are members.

    Cost: entries of item chunks times the logarithm of the number of clusters.

    References
    ----------
    Loukides et al. (2014), section 4, "Refining", and Fig. 10.
    """
    entries, records = vertical.entries, encoded.records
    while True:
        shared = share(tree, records, split, entries, encoded.unit, encoded.level, rule)
        # A part whose record chunks alone do not meet the condition keeps a code back if it has none left. Sensitive
        # codes do not count.
        needs_item = vertical.marks.needs_item
        kept = entries_to_keep(entries, shared, encoded.unit, needs_item, records.passed_over, encoded.supports)
        if not kept.any():
            entries.place[shared.chunk >= 0] = SHARED
            return shared
        entries.place[kept] = KEPT_BACK


Held = dict[int, int]


def neighbour_tree(
    entries: Entries, unit: NDArray[np.int32], k: int, is_border: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Depths of a forest over the parts in which neighbours are joined pair by pair, until no pair gains from it.

    Two neighbours are joined if both hold a code in their item chunks that they hold k times together. Refining along
    this forest then keeps the same four rules as along the split tree. Parts of different classes, between which there
    is a border, are never joined. A depth (n_parts - 1,) is -1 between parts that are not joined.

    References
    ----------
    Loukides et al. (2014), section 4, "Refining"; the order in which clusters are joined is ours.
    """
    pooled = (entries.place == ITEM_CHUNK) & (unit[entries.code] == entries.code)
    part = np.repeat(np.arange(entries.offsets.size - 1), np.diff(entries.offsets))
    groups: list[tuple[int, Held]] = [(number, {}) for number in range(entries.offsets.size - 1)]
    for owner, code, support in zip(
        part[pooled].tolist(), entries.code[pooled].tolist(), entries.support[pooled].tolist(), strict=True
    ):
        groups[owner][1][code] = support
    joins: list[int] = []
    while True:
        joined = _joined_once(groups, k, joins, is_border)
        if len(joined) == len(groups):
            break
        groups = joined
    depths = np.full(max(0, entries.offsets.size - 2), -1, dtype=np.int32)
    depths[joins] = np.arange(len(joins))[::-1]
    return depths


def _joined_once(
    groups: list[tuple[int, Held]], k: int, joins: list[int], is_border: NDArray[np.bool_]
) -> list[tuple[int, Held]]:
    """One pass over the groups, each the last of its parts and what is pending; ``joins`` gets the borders joined."""
    found: list[tuple[int, Held]] = []
    at = 0
    while at < len(groups):
        last, held = groups[at]
        if at + 1 < len(groups) and not is_border[last]:
            other_last, other = groups[at + 1]
            if any(held[code] + other[code] >= k for code in held.keys() & other.keys()):
                joins.append(last)
                both = {code: held.get(code, 0) + other.get(code, 0) for code in held.keys() | other.keys()}
                found.append((other_last, {code: count for code, count in both.items() if count < k}))
                at += 2
                continue
        found.append((last, held))
        at += 1
    return found


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
    order = split.order
    # From here the records stand in the order of the parts, so that those of a part are neighbours in memory.
    offsets, items = take_sequences(encoded.records.offsets, encoded.records.items, order.astype(np.int64))
    encoded = replace(encoded, records=encoded.records._replace(offsets=offsets, items=items))
    split = split._replace(order=np.arange(order.size, dtype=np.int32))
    rule = Rule(
        request.k, request.m, request.inference_threshold if request.inference_check is InferenceCheck.ENFORCE else ANY
    )
    vertical = partition_vertically(encoded.records, split, encoded.unit, rule)
    if request.refine is Refine.TREE:
        depths = split.depths
    elif request.refine is Refine.PAPER:
        depths = neighbour_tree(vertical.entries, encoded.unit, rule.k, split.depths < 0)
    else:
        depths = np.full(split.depths.size, -1, dtype=np.int32)
    tree = make_tree(depths)
    refined = refine(encoded, split, vertical, rule, tree)
    record = record_chunks(encoded.records, split, vertical.entries)
    shared = shared_chunks(encoded.records, split, vertical.entries, refined)
    class_of_part = np.zeros(split.starts.size - 1, dtype=np.int64)
    if classes is not None:
        class_of_part = classes.class_of[order[split.starts[:-1]]]
    parts, part_number = arrange(split, vertical.entries, record, shared, tree, class_of_part)
    released = Disassociation(request.k, request.m, codes.vocabulary, *parts, codes.repeats, encoded.sensitive)
    if classes is not None:
        class_of = np.empty(class_of_part.size, dtype=np.int32)
        class_of[part_number] = class_of_part
        released = replace(released, class_columns=classes.columns, classes=classes.labels, class_of=class_of)
    cluster_of = np.empty(order.size, dtype=np.int32)
    cluster_of[order] = np.repeat(part_number, np.diff(split.starts))
    counted = released.record_chunks.items.size + released.shared_chunks.items.size
    figures = DisassociationFigures(
        occurrences=codes.items.size,
        in_item_chunks=codes.items.size - counted,
        repaired=int(np.count_nonzero(vertical.marks.repaired)),
    )
    return ProtectedCodes(released, cluster_of, figures)


RECORDS = [["a", "b", "c", "d"], ["a", "b", "c"], ["a", "b", "d"], ["b", "e"], ["b", "e", "c"], ["e", "d"]]


def load_kernels() -> None:
    """Run every kernel once, on six records."""
    codes = CodeSets.from_records(RECORDS)
    reconstruct(disassociate(codes, DisassociationRequest(2, 3, max_cluster_size=3)).released, 0)
