"""The guarantee of disassociated code sets, recomputed from the release only, and further checks with the original.

What the chunks of files show is counted by ``verify.sql`` (`statements`), what those in memory show by NumPy, by
sorting sets of codes. Nothing here imports the kernels or what protects.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

import numpy as np

from cloister.kernels.ragged import are_runs, owners, strictly_increasing
from cloister.results import Checks, Verdict
from cloister.shapes.codes.data import Integers, occurrence, occurrences
from cloister.shapes.disassociation.format.data import Chunks, Disassociation, Layout, is_forest, lay_out
from cloister.verification.script import Finding, note

from .chunks import orders, rare_chunks
from .original import DisassociationSecret as DisassociationSecret
from .original import differences

HOW = "sets of codes were counted again in every chunk"
HOW_COMPARED = f"{HOW}, and every chunk was compared with the original"
Promises = Iterator[tuple[str, bool | np.bool_]]  # What must hold, each with whether it does


def verify(
    released: Disassociation,
    secret: DisassociationSecret | None = None,
    diversity: int = 1,
    findings: Iterable[Finding] | None = None,
) -> Verdict:
    """Check a release of code sets: sizes, places, order, k^m-anonymity, the omitted condition, R1 to R4.

    Source: Loukides et al. (2014), Guarantee 1. For R1 to R4 see `cloister.shapes.disassociation.method.protect`; R4,
    that all clusters under a joint cluster are members, lies in the form: joint clusters name children, and chunks
    nothing but their joint.

    ``secret``: the original and the cluster of each record; then each chunk must be the projection of its records
    ``diversity``: l; a cluster with a sensitive code has l records or more, as at most one in l has it
    ``findings``: what the script found in the files of the release; without them, chunks in memory are counted with
    NumPy, which takes a tenth of the time
    """
    checks = Checks()
    note(checks, findings or ())
    # What follows takes numbers of clusters, chunks and codes for places in arrays: only a sound form may go there.
    if all(checks.require(holds, promise) for promise, holds in _form(released)):
        layout = lay_out(released)
        more = iter(()) if secret is None else differences(released, layout, secret)
        contents = _contents(released, layout, diversity) if findings is None else iter(())
        for promise, holds in chain(orders(released), contents, more):
            checks.require(holds, promise)
    return checks.verdict(HOW if secret is None else HOW_COMPARED)


def _form(released: Disassociation) -> Promises:
    """What the rest takes for granted; each relies on those before it, and is asked for where these hold."""
    vocabulary, items = released.vocabulary, released.item_chunks
    both = released.record_chunks, released.shared_chunks
    n_codes, columns, classes = len(vocabulary), released.class_columns, released.classes
    yield "k and m are 1 or more", released.k >= 1 and released.m >= 1
    yield "the codes are in order", all(a.encode() < b.encode() for a, b in pairwise(vocabulary))
    yield "codes that repeat are numbered", not released.repeats or all(map(occurrence, vocabulary))
    yield "the sensitive codes are in order", np.all(np.diff(released.sensitive) > 0)
    sound = _is_sound(both[0], released.n_clusters, n_codes) and _is_sound(both[1], released.n_joints, n_codes)
    yield "chunks are in order, each with codes and subrecords that are not empty", sound
    is_run = released.item_offsets.size == released.n_clusters + 1 and are_runs(released.item_offsets, items.size)
    in_order = is_run and np.all((items >= 0) & (items < n_codes)) and strictly_increasing(items, released.item_offsets)
    yield "each cluster has an item chunk in order", in_order
    is_run = released.child_offsets.size == released.n_joints + 1
    yield "each joint cluster has its children", is_run and are_runs(released.child_offsets, released.children.size)
    yield "subrecords are in the order of their codes", all(map(_subrecords_in_order, both))
    yield "subrecords hold the codes of their chunk, each at least once", all(map(_inside_domains, both))
    if columns or classes or released.class_of.size:
        apart = (
            released.class_of.size == released.n_clusters
            and all(len(label) == len(columns) > 0 for label in classes)
            and len(set(columns)) == len(columns)
            and all(_sortable(one) < _sortable(other) for one, other in pairwise(classes))
            and np.array_equal(np.unique(released.class_of), np.arange(len(classes)))
        )
        yield "every cluster is in a class, and classes are told apart, in order", apart
    yield "joint clusters are made of clusters and earlier joint clusters", is_forest(released)
    cluster, code = held_apart(released)
    keys = cluster * max(1, n_codes) + code
    # Of a code in two places of a cluster nobody could say how many have it.
    yield "in each cluster every code is in one place", np.unique(keys).size == keys.size


def _is_sound(chunks: Chunks, n_owners: int, n_codes: int) -> bool:
    n, subrecords = len(chunks), chunks.item_offsets.size - 1
    # All that follows reads these arrays as runs: of chunks for an owner, of subrecords for a chunk.
    runs = (
        (chunks.domain_offsets, n, chunks.domain.size),
        (chunks.subrecord_offsets, n, subrecords),
        (chunks.item_offsets, subrecords, chunks.items.size),
    )
    numbers = ((chunks.domain, n_codes), (chunks.items, n_codes), (chunks.owner, n_owners))
    return (
        all(at.size == count + 1 and are_runs(at, end) and np.all(np.diff(at) > 0) for at, count, end in runs)
        and all(np.all((found >= 0) & (found < end)) for found, end in numbers)
        and bool(np.all(np.diff(chunks.owner) >= 0))
        and strictly_increasing(chunks.domain, chunks.domain_offsets)
        and strictly_increasing(chunks.items, chunks.item_offsets)
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
    chunk_of = owners(chunks.item_offsets[chunks.subrecord_offsets])
    domain = owners(chunks.domain_offsets) * width + chunks.domain
    # One comparison says both: no code from outside the domain, and none of the domain that nobody holds.
    return bool(np.array_equal(np.unique(chunk_of * width + chunks.items), domain))


def held_apart(released: Disassociation) -> tuple[Integers, Integers]:
    """Cluster and code of all that is in record chunks or item chunks."""
    record = released.record_chunks
    owner = np.repeat(record.owner.astype(np.int64), np.diff(record.domain_offsets))
    items = owners(released.item_offsets)
    return np.concatenate([owner, items]), np.concatenate([record.domain, released.item_chunks]).astype(np.int64)


def _contents(released: Disassociation, layout: Layout, diversity: int) -> Promises:
    record, shared, sizes = released.record_chunks, released.shared_chunks, released.sizes
    yield "clusters have k records or more", released.n_clusters > 0 and np.all(released.sizes >= released.k)
    yield "joint clusters have the records of their members", np.array_equal(layout.sizes, released.joint_sizes)
    are_few = np.all(np.diff(record.subrecord_offsets) <= sizes[record.owner])
    are_few &= np.all(np.diff(shared.subrecord_offsets) <= released.joint_sizes[shared.owner])
    yield "no chunk has more subrecords than there are records", are_few
    yield "no reconstructed record needs to be empty", _keeps_condition(released)
    yield from _of_shared_chunks(released, layout)
    for name, chunks in (("record", record), ("shared", shared)):
        yield f"all {name} chunks are k^m-anonymous", not rare_chunks(chunks, released.k, released.m).size
    if released.class_of.size:
        of_position = np.empty(released.n_clusters, dtype=np.int64)
        of_position[layout.position] = released.class_of
        changes = np.concatenate([[0], np.cumsum(np.diff(of_position) != 0)])
        yield "joint clusters are inside of one class", np.all(changes[layout.low] == changes[layout.high - 1])
    if released.sensitive.size:
        yield from _of_sensitive_codes(released, diversity)
    if released.repeats:
        yield "occurrences of a code stand together, from the first on", _are_together(released)


def _keeps_condition(released: Disassociation) -> bool:
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
    return bool(np.all(has_items | ((chunks > 0) & enough)))


def units(released: Disassociation) -> Integers:
    """For each code the number of the first that stays together with it: itself, unless diagnoses repeat."""
    return occurrences(released.vocabulary)[0] if released.repeats else np.arange(len(released.vocabulary))


def _of_shared_chunks(released: Disassociation, layout: Layout) -> Promises:
    shared, unit = released.shared_chunks, units(released)
    chunk = owners(shared.domain_offsets)
    joint = shared.owner[chunk]
    code = shared.domain.astype(np.int64)
    # Joint clusters are ranges that lie in each other or apart: two on one path overlap.
    order = np.lexsort((layout.low[joint], code))
    same = np.diff(code[order]) == 0
    apart = layout.high[joint[order]][:-1] <= layout.low[joint[order]][1:]
    yield "on any path of joint clusters a code has one shared chunk at most", np.all(apart | ~same)
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
    yield "shared chunks of several codes have no foreign code", np.all(single[chunk] | ~foreign)
    # Records of clusters that have the code themselves cannot get it from the shared chunk as well.
    room = released.joint_sizes[joint] - (total[last] - total[first])
    subrecords = np.diff(shared.subrecord_offsets)[chunk]
    yield "shared subrecords find records that do not hold their code elsewhere", np.all(subrecords <= room)


def _sortable(label: tuple[str | None, ...]) -> tuple[tuple[bool, bytes], ...]:
    return tuple((text is not None, (text or "").encode()) for text in label)


def _of_sensitive_codes(released: Disassociation, diversity: int) -> Promises:
    published = np.concatenate([released.record_chunks.domain, released.shared_chunks.domain])
    yield "sensitive codes are in item chunks only", not np.isin(published, released.sensitive).any()
    unit = units(released)
    whole = np.flatnonzero(np.isin(unit, unit[released.sensitive]))
    yield "all occurrences of a sensitive code are sensitive", np.array_equal(whole, released.sensitive)
    holds = owners(released.item_offsets)[np.isin(released.item_chunks, released.sensitive)]
    # At most one record in l holds the code, and one record does: the cluster has l at least.
    enough = min(diversity, released.n_records + 1)
    yield "clusters with a sensitive code have records enough for it", np.all(released.sizes[holds] >= enough)


def _are_together(released: Disassociation) -> bool:
    """Whether occurrences of a code are in one place, and none is numbered where the one before it is missing."""
    unit, level = occurrences(released.vocabulary)
    places = [(released.item_offsets, released.item_chunks)]
    for chunks in (released.record_chunks, released.shared_chunks):
        places += [(chunks.domain_offsets, chunks.domain), (chunks.item_offsets, chunks.items)]
    return all(_counts_up(owners(offsets), unit[items], level[items]) for offsets, items in places)


def _counts_up(owner: Integers, unit: Integers, level: Integers) -> bool:
    """Whether each owner has occurrences 1, 2, ... of each code that it has."""
    order = np.lexsort((level, unit, owner))
    begins = np.diff(owner[order], prepend=-1).astype(np.bool_) | np.diff(unit[order], prepend=-1).astype(np.bool_)
    expected = np.where(begins, 1, np.concatenate([[0], level[order][:-1]]) + 1)
    return bool(np.array_equal(level[order], expected))
