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

from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError, NoSafeRelease
from cloister.kernels.horpart import Records, Split, Tree, make_tree, split_records
from cloister.kernels.parts import Entries, Marks, partition_parts
from cloister.kernels.ragged import owners
from cloister.kernels.sequences import record_chunks, shared_chunks, take_sequences
from cloister.kernels.shared_chunks import Shared, entries_to_keep, share
from cloister.kernels.verpart import ITEM_CHUNK, KEPT_BACK, SHARED, Rule
from cloister.shapes.codes.data import CodeSets, occurrences
from cloister.shapes.disassociation.format.canonical import arrange
from cloister.shapes.disassociation.format.data import (
    Disassociation,
    DisassociationFigures,
    DisassociationRequest,
    InferenceCheck,
    ProtectedCodes,
    RecordClasses,
    Refine,
)

from .release import reconstruct

ANY = 2.0  # A confidence that no pair reaches
RECORDS = [["a", "b", "c", "d"], ["a", "b", "c"], ["a", "b", "d"], ["b", "e"], ["b", "e", "c"], ["e", "d"]]


@dataclass(frozen=True, eq=False, repr=False)
class Encoded:
    """What the method works on."""

    # the code sets, the constraint of each code, and which codes never split records (the sensitive ones)
    records: Records
    # (n_codes,) int32, the first of the codes that must stay together with each code: itself, unless repeated
    unit: NDArray[np.int32]
    # (n_codes,) int32, number of the occurrence that a code represents, 0 if diagnoses do not repeat
    level: NDArray[np.int32]
    supports: NDArray[np.int64]
    sensitive: NDArray[np.int32]


def encode_request(codes: CodeSets, request: DisassociationRequest) -> Encoded:
    """Number all codes, and return the encoded request."""
    unit, level = np.arange(codes.n_codes), np.zeros(codes.n_codes, dtype=np.int64)
    if codes.repeats:
        unit, level = occurrences(codes.vocabulary)
        wrong = np.flatnonzero((level == 0) | (level[unit] != 1))
        if wrong.size:
            raise InputError(f"Code number {wrong[0] + 1} is not an occurrence whose first one is there. Number them.")
    numbers = codes.items_by_code()
    barred = np.zeros(codes.n_codes, dtype=np.bool_)
    unknown = sum(code not in numbers for code in request.sensitive)
    if unknown:
        raise InputError(f"{unknown} of {len(request.sensitive)} sensitive codes occur in no record. Correct them.")
    for code in request.sensitive:
        barred[numbers[code]] = True
    constraint = np.full(codes.n_codes, -1, dtype=np.int32)
    for index, names in enumerate(request.policy.constraints if request.policy else ()):
        for name in names:
            constraint[numbers.get(name, [])] = index
    records = Records(codes.offsets, codes.items, constraint, barred)
    sensitive = np.flatnonzero(barred).astype(np.int32)
    return Encoded(records, unit.astype(np.int32), level.astype(np.int32), codes.supports(), sensitive)


def partition_horizontally(records: Records, k: int, limit: int, classes: RecordClasses | None = None) -> Split:
    """Clusters of records that share frequent codes, and the tree of splits that made them.

    A part of ``limit`` records or more is split into the records with and without a code: one of the constraint of the
    code that the part was last split on, else one of any constraint, else any; the most frequent, then the smallest.

    Deviations from the paper: every cluster has at least k records (a split that would leave fewer is passed over, and
    the next code tried); a code that all records of a part have is passed over, which takes the place of the paper's
    set *ignore*. Recursion is unrolled: the parts without the code form a chain that is counted once.

    Where there are classes, each is split by itself.

    Cost: occurrences times the number of times that a record is on the side that has the code. Source: Loukides,
    Liagouris, Gkoulalas-Divanis, Terrovitis (2014), "Disassociation for electronic health record privacy", section 4,
    Fig. 8.
    """
    n = records.offsets.size - 1
    if n == 0:
        raise InputError("There are no records to protect.")
    if n < k:
        raise NoSafeRelease(f"k is {k}, but there are {n} records. Give a smaller k or more records.")
    if classes is None:
        return split_records(records, k, limit)
    small = int(np.count_nonzero(np.bincount(classes.class_of) < k))
    if small:
        raise NoSafeRelease(f"k is {k}, but {small} of {len(classes.labels)} classes have fewer records with codes.")
    return split_records(records, k, limit, classes.class_of)


def merge_for_diversity(encoded: Encoded, split: Split, diversity: int) -> Split:
    """Merge clusters along the split tree until each sensitive code is in at most one of ``diversity`` records of each.

    Every cluster also gets a code that is not sensitive, as the sensitive ones can not fill its records. A part stays
    split if both of its sides can be made to hold the bound. The paper publishes 1/|P| as the probability of a
    sensitive code; that is the bound only if one record of the cluster has it. What is kept here is the true share,
    support / |P| <= 1 / l.

    *Guarantee*: in each cluster, at most one record in l has any one sensitive code, and the release ties it to no
    other code or record. Not promised: that nothing is learned from other clusters having no such code. Source:
    Loukides et al. (2014), section 7.2.
    """
    if not encoded.sensitive.size:
        return split
    if encoded.records.passed_over.all():
        raise NoSafeRelease(
            "All codes are sensitive, so nothing could be released. Remove a code from the sensitive ones."
        )
    tree = make_tree(split.depths)
    records, order = encoded.records, split.order
    parts = np.arange(split.starts.size - 1)
    # Records with each sensitive code in the parts before each one, and occurrences of all other codes there.
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    owner = np.repeat(np.searchsorted(split.starts, place, side="right") - 1, np.diff(records.offsets))
    totals = np.zeros((encoded.sensitive.size, parts.size + 1), dtype=np.int64)
    for row, code in enumerate(encoded.sensitive.tolist()):
        np.add.at(totals[row], owner[records.items == code] + 1, 1)
    totals = np.cumsum(totals, axis=1)
    plain = np.concatenate([[0], np.cumsum(~records.passed_over[records.items])])
    others = np.concatenate([[0], np.cumsum(np.diff(plain[records.offsets])[order])])[split.starts]
    part_holds = _holds(split, totals, parts, parts, diversity) & (np.diff(others) > 0)
    node_holds = _holds(split, totals, tree.low, tree.high, diversity)
    node_holds &= others[tree.high + 1] > others[tree.low]
    if not _holds(split, totals, parts[:1], parts[-1:], diversity).all():
        raise NoSafeRelease(
            f"Each sensitive code may be in one of {diversity} records at most, but one is more frequent. "
            "Give a lower diversity, or leave the code out."
        )
    kept = _splits_to_keep(tree, part_holds, node_holds)
    return Split(split.order, split.starts[np.concatenate([[0], kept + 1, [parts.size]])], split.depths[kept])


def _holds(
    split: Split, totals: NDArray[np.int64], low: NDArray[np.integer], high: NDArray[np.integer], diversity: int
) -> NDArray[np.bool_]:
    sizes = split.starts[high + 1] - split.starts[low]
    holds: NDArray[np.bool_] = np.all((totals[:, high + 1] - totals[:, low]) * diversity <= sizes, axis=0)
    return holds


def _splits_to_keep(tree: Tree, part_holds: NDArray[np.bool_], node_holds: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Nodes both of whose sides can be made to hold, and all above them."""
    spans = zip(tree.low.tolist(), tree.high.tolist(), strict=True)
    node_at = {span: node for node, span in enumerate(spans)}
    deepest_first = np.argsort(-tree.depth, kind="stable").tolist()
    can_hold = node_holds.copy()
    stays = np.zeros(node_holds.size, dtype=np.bool_)
    sides: dict[int, list[int]] = {}
    for node in deepest_first:
        spans_below = ((int(tree.low[node]), node), (node + 1, int(tree.high[node])))
        sides[node] = [node_at[span] for span in spans_below if span[0] != span[1]]
        single = [span[0] for span in spans_below if span[0] == span[1]]
        stays[node] = bool(can_hold[sides[node]].all() and part_holds[single].all())
        can_hold[node] |= stays[node]
    for node in reversed(deepest_first):
        stays[sides[node]] &= stays[node]
    return np.flatnonzero(stays)


class VerticalPartition(NamedTuple):
    """The codes of each part and their places; which parts need a code in their item chunk, and which were repaired."""

    entries: Entries
    marks: Marks


def partition_vertically(records: Records, split: Split, unit: NDArray[np.int32], rule: Rule) -> VerticalPartition:
    """Return record chunks and item chunk of every part, repaired where the omitted condition fails.

    Codes of fewer than k records of the part go to its item chunk. The other codes, sorted by constraint and support,
    fill one chunk after the other: a code joins if the chunk stays k^m-anonymous, else it waits for the next chunk.
    After each round the codes of a constraint other than the first code's wait too, unless all of them joined.

    Deviations from the paper: lines 16 and 17 follow the pseudocode, on the state before any code is removed, and
    "all codes" are those that were waiting when the round began; a code in no constraint is a group of its own; ties
    go to the smallest code; the occurrences of a repeated diagnosis stay together; with a rule that forbids ties, a
    code also waits if it would tie. Source: Loukides et al. (2014), section 4, Fig. 9, and section 7.1.
    """
    return VerticalPartition(*partition_parts(records, split, unit, rule))


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

    Cost: entries of item chunks times the logarithm of the number of clusters. Source: Loukides et al. (2014), section
    4, "Refining", and Fig. 10.
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


def neighbour_tree(
    entries: Entries, unit: NDArray[np.int32], k: int, is_border: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Depths of a forest over the parts in which neighbours are joined pair by pair, until no pair gains from it.

    Two neighbours are joined if both hold a code in their item chunks that they hold k times together. Refining along
    this forest then keeps the same four rules as along the split tree. Parts of different classes, between which there
    is a border, are never joined. A depth (n_parts - 1,) is -1 between parts that are not joined. Source: Loukides et
    al. (2014), section 4, "Refining"; the order in which clusters are joined is ours.
    """
    n_parts = entries.offsets.size - 1
    pooled = (entries.place == ITEM_CHUNK) & (unit[entries.code] == entries.code)
    part = owners(entries.offsets)
    # Each the last of its parts, and what is pending of its codes.
    groups: list[tuple[int, Counter[int]]] = [(number, Counter()) for number in range(n_parts)]
    for owner, code, support in zip(
        part[pooled].tolist(), entries.code[pooled].tolist(), entries.support[pooled].tolist(), strict=True
    ):
        groups[owner][1][code] = support
    joins: list[int] = []
    found: list[tuple[int, Counter[int]]] = []
    while len(found) != len(groups):
        groups, found, at = found or groups, [], 0
        while at < len(groups):
            last, held = groups[at]
            at += 1
            if at < len(groups) and not is_border[last]:
                other_last, other = groups[at]
                if any(held[code] + other[code] >= k for code in held.keys() & other.keys()):
                    joins.append(last)
                    last, both = other_last, held + other
                    held = Counter({code: count for code, count in both.items() if count < k})
                    at += 1
            found.append((last, held))
    depths = np.full(max(0, n_parts - 1), -1, dtype=np.int32)
    depths[joins] = np.arange(len(joins))[::-1]
    return depths


def disassociate(
    codes: CodeSets, request: DisassociationRequest, classes: RecordClasses | None = None
) -> ProtectedCodes:
    """Cut the code sets into pieces such that anyone who knows up to m codes of a patient is left with k candidates.

    *Guarantee* (Guarantee 1 of the paper): for any m codes of any record, other than sensitive ones, k records or
    more have all of them in at least one data set that could have led to this release. It holds against someone who
    knows up to m codes of a patient, all of them possibly rare, and the release. Not promised: a bound on what is
    probable (the guarantee says that k candidates are possible, not that they are equally likely), anything against
    someone who knows more than m codes, who knows several patients, or who works backwards from what the method would
    have done; nor that a code does not give another away (see `count_ties`), which ``inference_check`` prevents within
    chunks alone: a code that a whole cluster has is implied by all other codes there. Cost: about
    the number of occurrences times the logarithm of the number of records.

    The result does not depend on the order of the records. If quasi-identifiers divide the records into ``classes``,
    each class is disassociated by itself. Someone who also knows the class of a patient then finds k candidates in it.
    Source: Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), "Disassociation for electronic
    health record privacy", Journal of Biomedical Informatics 50, 46-61: sections 4 and 7. The docstring of
    each step lists its deviations.
    """
    if classes is not None and request.sensitive:
        raise InputError("Codes cannot be kept apart as sensitive ones inside classes. Leave them out.")
    encoded = encode_request(codes, request)
    split = partition_horizontally(encoded.records, request.k, request.cluster_limit, classes)
    split = merge_for_diversity(encoded, split, request.diversity)
    order = split.order
    # From here the records are in the order of the parts, so that those of a part are neighbours in memory.
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


def load_kernels() -> None:
    """Run every kernel once, on six records."""
    codes = CodeSets.from_records(RECORDS)
    reconstruct(disassociate(codes, DisassociationRequest(2, 3, max_cluster_size=3)).released, 0)
