"""The promise of disassociated code sets, recomputed from the release alone; with the original, the rest too.

Nothing here imports the kernels or what protects: sets of codes are counted by sorting them.
"""

from itertools import pairwise

import numpy as np

from cloister.results import Checks, Verdict

from ..data import Integers, are_runs, ascend
from ..encode import occurrence, occurrences
from .data import Chunks, Disassociation, Layout, is_forest, lay_out
from .verify_chunks import orders, rare_chunks
from .verify_original import DisassociationSecret as DisassociationSecret
from .verify_original import differences

HOW = "sets of codes were counted anew in every chunk"
HOW_COMPARED = f"{HOW}, and every chunk was compared with the original"


def verify(released: Disassociation, secret: DisassociationSecret | None = None, diversity: int = 1) -> Verdict:
    """Check a release of code sets: sizes, places, order, k^m-anonymity, the omitted condition, R1 to R4.

    ``secret``: the original and the cluster of each record; then each chunk must be the projection of its records
    ``diversity``: l; a cluster with a sensitive code has l records or more, as at most one in l has it

    Loukides et al. (2014), Guarantee 1. For R1 to R4 see `cloister.codesets.disassociation.protect`; R4, that all
    clusters under a joint cluster are members, lies in the form: joint clusters name children, and chunks nothing but
    their joint.
    """
    checks = Checks()
    sound = (
        _check_form(checks, released)
        and checks.require(is_forest(released), "joint clusters are made of clusters and earlier joint clusters")
        and _check_places(checks, released)
    )
    # What follows takes numbers of clusters, chunks and codes for places in arrays: only a sound form may go there.
    if sound:
        layout = lay_out(released)
        for promise, holds in orders(released):
            checks.require(holds, promise)
        _check_sizes(checks, released, layout)
        _check_condition(checks, released)
        _check_shared(checks, released, layout)
        for name, chunks in (("record", released.record_chunks), ("shared", released.shared_chunks)):
            rare = rare_chunks(chunks, released.k, released.m)
            checks.require(not rare.size, f"all {name} chunks are k^m-anonymous")
        if released.class_of.size:
            of_position = np.empty(released.n_clusters, dtype=np.int64)
            of_position[layout.position] = released.class_of
            changes = np.concatenate([[0], np.cumsum(np.diff(of_position) != 0)])
            inside = changes[layout.low] == changes[layout.high - 1]
            checks.require(inside.all(), "joint clusters are inside of one class")
        if released.sensitive.size:
            _check_sensitive(checks, released, diversity)
        if released.repeats:
            _check_repeats(checks, released)
        if secret is not None:
            for promise, holds in differences(released, layout, secret):
                checks.require(holds, promise)
    how = HOW if secret is None else HOW_COMPARED
    return checks.verdict(how)


def _is_sound(chunks: Chunks, owners: int, codes: int) -> bool:
    n, subrecords = len(chunks), chunks.item_offsets.size - 1
    # All that follows reads these arrays as runs: of chunks for an owner, of subrecords for a chunk.
    return bool(
        chunks.domain_offsets.size == n + 1
        and chunks.subrecord_offsets.size == n + 1
        and are_runs(chunks.domain_offsets, chunks.domain.size)
        and are_runs(chunks.subrecord_offsets, subrecords)
        and are_runs(chunks.item_offsets, chunks.items.size)
        and np.all(np.diff(chunks.item_offsets) > 0)
        and np.all(np.diff(chunks.domain_offsets) > 0)
        and np.all(np.diff(chunks.subrecord_offsets) > 0)
        and np.all((chunks.domain >= 0) & (chunks.domain < codes))
        and np.all((chunks.items >= 0) & (chunks.items < codes))
        and np.all((chunks.owner >= 0) & (chunks.owner < owners))
        and np.all(np.diff(chunks.owner) >= 0)
        and ascend(chunks.domain, chunks.domain_offsets)
        and ascend(chunks.items, chunks.item_offsets)
    )


def _check_form(checks: Checks, released: Disassociation) -> bool:
    vocabulary = released.vocabulary
    return (
        checks.require(released.k >= 1 and released.m >= 1, "k and m are 1 or more")
        and checks.require(all(a.encode() < b.encode() for a, b in pairwise(vocabulary)), "the codes are in order")
        and checks.require(
            not released.repeats or all(occurrence(code) is not None for code in vocabulary),
            "codes that repeat are numbered",
        )
        and checks.require(np.all(np.diff(released.sensitive) > 0), "the sensitive codes are in order")
        and checks.require(
            _is_sound(released.record_chunks, released.n_clusters, len(vocabulary))
            and _is_sound(released.shared_chunks, released.n_joints, len(vocabulary)),
            "chunks are in order, each with codes and subrecords that are not empty",
        )
        and checks.require(
            released.item_offsets.size == released.n_clusters + 1
            and are_runs(released.item_offsets, released.item_chunks.size)
            and np.all((released.item_chunks >= 0) & (released.item_chunks < len(vocabulary)))
            and ascend(released.item_chunks, released.item_offsets),
            "each cluster has an item chunk in order",
        )
        and checks.require(
            released.child_offsets.size == released.n_joints + 1
            and are_runs(released.child_offsets, released.children.size),
            "each joint cluster has its children",
        )
        and checks.require(
            _subrecords_in_order(released.record_chunks) and _subrecords_in_order(released.shared_chunks),
            "subrecords stand in the order of their codes",
        )
        and checks.require(
            _inside_domains(released.record_chunks) and _inside_domains(released.shared_chunks),
            "subrecords hold the codes of their chunk, each at least once",
        )
        and (
            not (released.class_columns or released.classes or released.class_of.size)
            or checks.require(
                released.class_of.size == released.n_clusters
                and all(len(label) == len(released.class_columns) > 0 for label in released.classes)
                and len(set(released.class_columns)) == len(released.class_columns)
                and all(_sortable(one) < _sortable(other) for one, other in pairwise(released.classes))
                and np.array_equal(np.unique(released.class_of), np.arange(len(released.classes))),
                "every cluster is in a class, and classes are told apart, in order",
            )
        )
    )


def _subrecords_in_order(chunks: Chunks) -> bool:
    """Whether no subrecord comes before the one ahead of it in its chunk."""
    begin, lengths = chunks.item_offsets[:-1], np.diff(chunks.item_offsets)
    follows = np.ones(lengths.size, dtype=np.bool_)
    follows[chunks.subrecord_offsets[:-1]] = False
    pairs = np.flatnonzero(follows)
    at = 0
    while pairs.size:
        over = lengths[pairs - 1] <= at
        pairs = pairs[~over]
        # Equal so far, and this one ends before the one ahead of it does: it should stand before it.
        if np.any(lengths[pairs] <= at):
            return False
        before, here = chunks.items[begin[pairs - 1] + at], chunks.items[begin[pairs] + at]
        if np.any(before > here):
            return False
        pairs, at = pairs[before == here], at + 1
    return True


def _inside_domains(chunks: Chunks) -> bool:
    width = int(max(chunks.domain.max(), chunks.items.max())) + 1 if chunks.domain.size else 1
    chunk_of = np.repeat(np.arange(len(chunks)), np.diff(chunks.item_offsets[chunks.subrecord_offsets]))
    domain = np.repeat(np.arange(len(chunks)), np.diff(chunks.domain_offsets)) * width + chunks.domain
    # One comparison says both: no code from outside the domain, and none of the domain that nobody holds.
    return bool(np.array_equal(np.unique(chunk_of * width + chunks.items), domain))


def held_apart(released: Disassociation) -> tuple[Integers, Integers]:
    """Cluster and code of all that stands in record chunks or item chunks."""
    record = released.record_chunks
    owner = np.repeat(record.owner.astype(np.int64), np.diff(record.domain_offsets))
    items = np.repeat(np.arange(released.n_clusters), np.diff(released.item_offsets))
    return np.concatenate([owner, items]), np.concatenate([record.domain, released.item_chunks]).astype(np.int64)


def _check_places(checks: Checks, released: Disassociation) -> bool:
    cluster, code = held_apart(released)
    keys = cluster * max(1, len(released.vocabulary)) + code
    # Of a code in two places of a cluster nobody could say how many have it.
    return checks.require(np.unique(keys).size == keys.size, "in each cluster every code stands in one place")


def _check_sizes(checks: Checks, released: Disassociation, layout: Layout) -> None:
    record, shared = released.record_chunks, released.shared_chunks
    checks.require(released.n_clusters > 0 and np.all(released.sizes >= released.k), "clusters have k records or more")
    checks.require(
        np.array_equal(layout.sizes, released.joint_sizes), "joint clusters have the records of their members"
    )
    checks.require(
        np.all(np.diff(record.subrecord_offsets) <= released.sizes[record.owner])
        and np.all(np.diff(shared.subrecord_offsets) <= released.joint_sizes[shared.owner]),
        "no chunk has more subrecords than there are records",
    )


def _check_condition(checks: Checks, released: Disassociation) -> None:
    """The condition that the paper omits, over each cluster's own record chunks; sensitive codes fill few records."""
    record = released.record_chunks
    chunks = np.bincount(record.owner, minlength=released.n_clusters)
    subrecords = np.zeros(released.n_clusters, dtype=np.int64)
    np.add.at(subrecords, record.owner, np.diff(record.subrecord_offsets))
    # k and m are whatever a manifest says: no larger than can matter, so that products do not overflow.
    k, m = min(released.k, released.n_records + 1), min(released.m, chunks.size + int(chunks.sum()))
    enough = subrecords >= released.sizes + k * (np.minimum(m, chunks) - 1)
    # A sensitive code can be held by few records alone, so that it does not keep the others from being empty.
    plain = np.concatenate([[0], np.cumsum(~np.isin(released.item_chunks, released.sensitive))])
    has_items = np.diff(plain[released.item_offsets]) > 0
    checks.require(np.all(has_items | ((chunks > 0) & enough)), "no reconstructed record needs to be empty")


def units(released: Disassociation) -> Integers:
    """For each code the number of the first that stays together with it: itself, unless diagnoses repeat."""
    return occurrences(released.vocabulary)[0] if released.repeats else np.arange(len(released.vocabulary))


def _check_shared(checks: Checks, released: Disassociation, layout: Layout) -> None:
    shared, unit = released.shared_chunks, units(released)
    chunk = np.repeat(np.arange(len(shared)), np.diff(shared.domain_offsets))
    joint = shared.owner[chunk]
    code = shared.domain.astype(np.int64)
    # Joint clusters are ranges that lie in each other or apart: two on one path overlap.
    order = np.lexsort((layout.low[joint], code))
    same = np.diff(code[order]) == 0
    apart = layout.high[joint[order]][:-1] <= layout.low[joint[order]][1:]
    checks.require(np.all(apart | ~same), "on any path of joint clusters a code has one shared chunk at most")
    cluster, held = held_apart(released)
    keys = held * released.n_clusters + layout.position[cluster]
    order = np.argsort(keys)
    # Records before each key: the difference of two is the records of all clusters between them.
    keys, total = keys[order], np.concatenate([[0], np.cumsum(released.sizes[cluster][order])])
    first = np.searchsorted(keys, code * released.n_clusters + layout.low[joint])
    last = np.searchsorted(keys, code * released.n_clusters + layout.high[joint])
    # A code is foreign to a shared chunk where a cluster beneath has it in a chunk of its own.
    foreign = last > first
    pairs = np.unique(chunk * max(1, unit.size) + unit[shared.domain])
    single = np.bincount(pairs // max(1, unit.size), minlength=len(shared)) == 1
    checks.require(np.all(single[chunk] | ~foreign), "shared chunks of several codes have no foreign code")
    # Records of clusters that have the code themselves cannot get it from the shared chunk as well.
    room = released.joint_sizes[joint] - (total[last] - total[first])
    subrecords = np.diff(shared.subrecord_offsets)[chunk]
    checks.require(np.all(subrecords <= room), "shared subrecords find records that do not hold their code elsewhere")


def _sortable(label: tuple[str | None, ...]) -> tuple[tuple[bool, bytes], ...]:
    return tuple((text is not None, (text or "").encode()) for text in label)


def _check_sensitive(checks: Checks, released: Disassociation, diversity: int) -> None:
    published = np.concatenate([released.record_chunks.domain, released.shared_chunks.domain])
    checks.require(not np.isin(published, released.sensitive).any(), "sensitive codes stand in item chunks only")
    unit = units(released)
    whole = np.flatnonzero(np.isin(unit, unit[released.sensitive]))
    checks.require(np.array_equal(whole, released.sensitive), "all occurrences of a sensitive code are sensitive")
    cluster = np.repeat(np.arange(released.n_clusters), np.diff(released.item_offsets))
    holds = cluster[np.isin(released.item_chunks, released.sensitive)]
    # At most one record in l holds the code, and one record does: the cluster has l at least.
    enough = min(diversity, released.n_records + 1)
    checks.require(np.all(released.sizes[holds] >= enough), "clusters with a sensitive code have records enough for it")


def _check_repeats(checks: Checks, released: Disassociation) -> None:
    """Occurrences of a code are in one place, and none is numbered where the one before it is missing."""
    unit, level = occurrences(released.vocabulary)
    together = True
    for chunks in (released.record_chunks, released.shared_chunks):
        chunk = np.repeat(np.arange(len(chunks)), np.diff(chunks.domain_offsets))
        subrecord = np.repeat(np.arange(chunks.item_offsets.size - 1), np.diff(chunks.item_offsets))
        together &= _counts_up(chunk, unit[chunks.domain], level[chunks.domain])
        together &= _counts_up(subrecord, unit[chunks.items], level[chunks.items])
    cluster = np.repeat(np.arange(released.n_clusters), np.diff(released.item_offsets))
    together &= _counts_up(cluster, unit[released.item_chunks], level[released.item_chunks])
    checks.require(together, "occurrences of a code stand together, from the first on")


def _counts_up(owner: Integers, unit: Integers, level: Integers) -> bool:
    """Whether each owner has occurrences 1, 2, ... of each code that it has."""
    order = np.lexsort((level, unit, owner))
    begins = np.diff(owner[order], prepend=-1).astype(np.bool_) | np.diff(unit[order], prepend=-1).astype(np.bool_)
    expected = np.where(begins, 1, np.concatenate([[0], level[order][:-1]]) + 1)
    return bool(np.array_equal(level[order], expected))
