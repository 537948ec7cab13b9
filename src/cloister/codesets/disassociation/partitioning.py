"""From code sets and a request to the parts of records and their chunks, before shared chunks are made of item chunks.

Horizontal partitioning brings similar records together in clusters (HORPART), which are merged until they are large
enough for the sensitive codes; vertical partitioning cuts the records of each cluster into chunks that are
k^m-anonymous (VERPART).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import occurrences
from cloister.errors import InputError, NoSafeRelease
from cloister.kernels.horpart import Records, Split, Tree, make_tree, split_records
from cloister.kernels.parts import Entries, Marks, partition_parts
from cloister.kernels.verpart import Rule

from .data import DisassociationRequest, RecordClasses


@dataclass(frozen=True, eq=False, repr=False)
class Encoded:
    """What the method works on.

    Attributes
    ----------
    records : the code sets, the constraint of each code, and which codes never split records (the sensitive ones)
    unit : (n_codes,) int32, the first of the codes that must stay together with each code: itself, unless repeated
    level : (n_codes,) int32, number of the occurrence that a code stands for, 0 where diagnoses do not repeat
    """

    records: Records
    unit: NDArray[np.int32]
    level: NDArray[np.int32]
    supports: NDArray[np.int64]
    sensitive: NDArray[np.int32]


def encode_request(codes: CodeSets, request: DisassociationRequest) -> Encoded:
    """Number everything."""
    unit, level = _units(codes)
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
    return Encoded(records, unit, level, codes.supports(), np.flatnonzero(barred).astype(np.int32))


def _units(codes: CodeSets) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    if not codes.repeats:
        return np.arange(codes.n_codes, dtype=np.int32), np.zeros(codes.n_codes, dtype=np.int32)
    unit, level = occurrences(codes.vocabulary)
    wrong = np.flatnonzero((level == 0) | (level[unit] != 1))
    if wrong.size:
        raise InputError(f"Code number {wrong[0] + 1} is not an occurrence whose first one is there. Number them.")
    return unit.astype(np.int32), level.astype(np.int32)


def partition_horizontally(records: Records, k: int, limit: int, classes: RecordClasses | None = None) -> Split:
    """Clusters of records that share frequent codes, and the tree of splits that made them.

    A part of ``limit`` records or more is split into the records with and without a code: one of the constraint of the
    code that the part was last split on, else one of any constraint, else any; the most frequent, then the smallest.

    Deviations from the paper: every cluster has at least k records (a split that would leave fewer is passed over, and
    the next code tried); a code that all records of a part have is passed over, which takes the place of the paper's
    set *ignore*. Recursion is unrolled: the parts without the code form a chain that is counted once.

    Where there are classes, each is split by itself.

    Cost: occurrences times the number of times that a record is on the side that has the code.

    References
    ----------
    Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), "Disassociation for electronic health record privacy",
    section 4, Fig. 8.
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

    Every cluster also gets a code that is not sensitive, as the sensitive ones can not fill its records (see
    `cloister.codesets.disassociation.protect`).
    A part stays split if both of its sides can be made to hold the bound. The paper publishes 1/|P| as the probability
    of a sensitive code; that is the bound only if one record of the cluster has it. What is kept here is the true
    share, support / |P| <= 1 / l.

    *Guarantee*: in each cluster, at most one record in l has any one sensitive code, and the release ties it to no
    other code or record. Not promised: that nothing is learned from other clusters having no such code.

    References
    ----------
    Loukides et al. (2014), section 7.2.
    """
    if not encoded.sensitive.size:
        return split
    if encoded.records.passed_over.all():
        raise NoSafeRelease("All codes are sensitive, so nothing could be told. Leave a code out of them.")
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
    """Record chunks and item chunk of every part, already repaired where the omitted condition fails.

    Codes held by fewer than k records of the part go to its item chunk. The others are taken by constraint and support
    and fill one chunk after the other: a code joins if the chunk stays k^m-anonymous, else it waits for the next chunk.
    After each round the codes of a constraint other than the first code's wait too, unless all of them joined.

    Deviations from the paper: lines 16 and 17 follow the pseudocode, on the state before any code is taken out, and
    "all codes" are those that were waiting when the round began; a code in no constraint is a group of its own; ties
    go to the smallest code; the occurrences of a repeated diagnosis stay together; with a rule that forbids ties, a
    code also waits if it would tie. Repair: see `cloister.codesets.disassociation.protect`.

    References
    ----------
    Loukides et al. (2014), section 4, Fig. 9, and section 7.1.
    """
    return VerticalPartition(*partition_parts(records, split, unit, rule))
