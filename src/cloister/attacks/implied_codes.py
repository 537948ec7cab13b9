"""Codes that disassociated code sets imply: whoever knows that a patient has one code is certain of others.

A cluster is a part of the records that was split off by a code, so often all of its patients have that code in common.
Then any other code of the cluster implies it, in whatever chunk it is: even one of the item chunk, whose number is
hidden. k candidates remain, and all of them have the code.

A code may be in several clusters, and it implies what is certain in each of them:

* in a chunk with the code, the codes of all subrecords that hold it;
* in a cluster, the codes that all of its records hold in a record chunk;
* the codes of a shared chunk that all records hold which may have a subrecord of it.

Nothing is counted that follows from no record being empty, nor from knowing several codes. Source: Awad, Al Bouna,
Couchot, Philippe (2019), "Safe disassociation of set-valued datasets", arXiv:1904.03112 (the cover problem).
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cloister.shapes.codes.data import CodeSets, plain_code
from cloister.shapes.disassociation.format.data import Chunks, Disassociation, lay_out

from .adversary import ImpliedCodes

Codes = frozenset[int]


def count_implied(released: Disassociation, codes: CodeSets) -> ImpliedCodes:
    """Count the codes that imply others, and the patients of the original who have one that does."""
    names = [plain_code(code, repeats=released.repeats) for code in released.vocabulary]
    implied: dict[str, set[str]] = {}
    for code, found in find_implied(released).items():
        # Of a repeated code the first occurrence is known, which comes first among its numbers.
        implied.setdefault(names[code], {names[other] for other in found} - {names[code]})
    known = {code for code, others in implied.items() if others}
    is_known = np.array([plain_code(code, repeats=codes.repeats) in known for code in codes.vocabulary], dtype=np.bool_)
    owner = np.repeat(np.arange(codes.n_records), np.diff(codes.offsets))
    return ImpliedCodes(
        codes=len({*names}),
        implying=len(known),
        pairs=sum(map(len, implied.values())),
        patients=int(np.unique(owner[is_known[codes.items]]).size),
    )


def find_implied(released: Disassociation) -> dict[int, Codes]:
    """Return for each code the codes that each patient with it has for certain."""
    free, found = _free_clusters(released), dict[int, Codes]()
    for code, certain in _places(released, free):
        found[code] = found[code] & certain if code in found else certain
    return {code: found[code] - {code} for code in sorted(found)}


def _places(released: Disassociation, free: Sequence[list[int]]) -> Iterator[tuple[int, Codes]]:
    """Yield each code for each chunk that holds it, with the codes that come with it there for certain."""
    certain = _certain_in_clusters(released, free)
    for code, cluster in _in_item_chunks(released):
        yield code, certain[cluster]
    for chunks, clusters in (
        (released.record_chunks, ([owner] for owner in released.record_chunks.owner.tolist())),
        (released.shared_chunks, free),
    ):
        for chunk, reached in enumerate(clusters):
            in_all = certain[reached[0]]
            for cluster in reached[1:]:
                in_all &= certain[cluster]
                if not in_all:
                    break
            for code, (_, together) in _supports(chunks, chunk).items():
                yield code, in_all | together


def _in_item_chunks(released: Disassociation) -> Iterator[tuple[int, int]]:
    """Yield the codes of item chunks, and the cluster of each."""
    owner = np.repeat(np.arange(released.n_clusters), np.diff(released.item_offsets))
    return zip(released.item_chunks.tolist(), owner.tolist(), strict=True)


def _supports(chunks: Chunks, chunk: int) -> Mapping[int, tuple[int, Codes]]:
    """Return for each code of a chunk how many subrecords hold it, and which codes all of these hold."""
    found: dict[int, tuple[int, Codes]] = {}
    for subrecord in map(frozenset, chunks.subrecords_of(chunk)):
        for code in subrecord:
            n, together = found.get(code, (0, subrecord))
            found[code] = n + 1, together & subrecord
    return found


def _certain_in_clusters(released: Disassociation, free: Sequence[list[int]]) -> list[Codes]:
    """Return for each cluster the codes that all of its records hold."""
    found: list[set[int]] = [set() for _ in range(released.n_clusters)]
    for chunk, cluster in enumerate(released.record_chunks.owner.tolist()):
        supports = _supports(released.record_chunks, chunk)
        found[cluster] |= {code for code, (n, _) in supports.items() if n == released.sizes[cluster]}
    for chunk, clusters in enumerate(free):
        size = int(released.sizes[clusters].sum())
        certain = {code for code, (n, _) in _supports(released.shared_chunks, chunk).items() if n == size}
        for cluster in clusters:
            found[cluster] |= certain
    return [*map(frozenset, found)]


def _free_clusters(released: Disassociation) -> list[list[int]]:
    """Return for each shared chunk the clusters that may have its subrecords: none of its codes is elsewhere there."""
    layout, held = lay_out(released), dict[int, set[int]]()
    for chunk, cluster in enumerate(released.record_chunks.owner.tolist()):
        for code in released.record_chunks.domain_of(chunk):
            held.setdefault(code, set()).add(cluster)
    for code, cluster in _in_item_chunks(released):
        held.setdefault(code, set()).add(cluster)
    order, found = np.argsort(layout.position), []
    for chunk, joint in enumerate(released.shared_chunks.owner.tolist()):
        below = order[layout.low[joint] : layout.high[joint]].tolist()
        elsewhere = set().union(*(held.get(code, ()) for code in released.shared_chunks.domain_of(chunk)))
        found.append([cluster for cluster in below if cluster not in elsewhere])
    return found
