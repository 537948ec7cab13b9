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

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from cloister.kernels.ragged import owners, postings
from cloister.shapes.codes.data import CodeSets, plain_code
from cloister.shapes.disassociation.format.data import ChunkIndex, Chunks, Disassociation, lay_out

from .adversary import ImpliedCodes

Codes = frozenset[int]
Supports = Mapping[int, tuple[int, Codes]]
"""By code of a chunk, how many subrecords hold it, and which codes all of these hold."""
Place = tuple[list[int], Supports]
"""The clusters that may have the subrecords of a chunk, and these."""


def count_implied(released: Disassociation, codes: CodeSets) -> ImpliedCodes:
    """Count the codes that imply others, and the patients of the original who have one that does."""
    names = [plain_code(code, repeats=released.repeats) for code in released.vocabulary]
    implied: dict[str, set[str]] = {}
    for code, found in find_implied(released).items():
        # Of a repeated code the first occurrence is known, which comes first among its numbers.
        implied.setdefault(names[code], {names[other] for other in found} - {names[code]})
    known = {code for code, others in implied.items() if others}
    is_known = np.array([plain_code(code, repeats=codes.repeats) in known for code in codes.vocabulary], dtype=np.bool_)
    return ImpliedCodes(
        codes=len({*names}),
        implying=len(known),
        pairs=sum(map(len, implied.values())),
        patients=int(np.unique(owners(codes.offsets)[is_known[codes.items]]).size),
    )


def find_implied(released: Disassociation) -> dict[int, Codes]:
    """Return for each code the codes that each patient with it has for certain."""
    places, found = [*_places(released)], dict[int, Codes]()
    certain = _certain_in_clusters(released, places)
    for clusters, supports in places:
        in_all = certain[clusters[0]]
        for cluster in clusters[1:]:
            if not in_all:
                break
            in_all &= certain[cluster]
        for code, (_, together) in supports.items():
            here = in_all | together
            found[code] = found[code] & here if code in found else here
    return {code: found[code] - {code} for code in sorted(found)}


def _places(released: Disassociation) -> Iterator[Place]:
    """Yield each chunk: the clusters that may have its subrecords, and what these say of each code.

    Those of a shared chunk are the clusters beneath that hold none of its codes elsewhere. Of an item chunk the number
    of records with a code is not known, which no number of records equals.
    """
    record, shared, layout = released.record_chunks, released.shared_chunks, lay_out(released)
    held = ChunkIndex(record, len(released.vocabulary)).by_code
    rare = postings(released.item_chunks, owners(released.item_offsets), len(released.vocabulary))
    for chunk, cluster in enumerate(record.owner.tolist()):
        yield [cluster], _supports(record, chunk)
    for cluster in range(released.n_clusters):
        yield [cluster], {code: (0, frozenset((code,))) for code in released.item_chunk_of(cluster)}
    order = np.argsort(layout.position)
    for chunk, joint in enumerate(shared.owner.tolist()):
        codes = shared.domain_of(chunk)
        elsewhere = {*(one for code in codes for one in (*record.owner[held[code]].tolist(), *rare[code].tolist()))}
        below = order[layout.low[joint] : layout.high[joint]].tolist()
        yield [cluster for cluster in below if cluster not in elsewhere], _supports(shared, chunk)


def _supports(chunks: Chunks, chunk: int) -> Supports:
    """Return for each code of a chunk how many subrecords hold it, and which codes all of these hold."""
    found: dict[int, tuple[int, Codes]] = {}
    for subrecord in map(frozenset, chunks.subrecords_of(chunk)):
        for code in subrecord:
            n, together = found.get(code, (0, subrecord))
            found[code] = n + 1, together & subrecord
    return found


def _certain_in_clusters(released: Disassociation, places: Iterable[Place]) -> list[Codes]:
    """Return for each cluster the codes that all of its records hold."""
    found: list[set[int]] = [set() for _ in range(released.n_clusters)]
    for clusters, supports in places:
        size = int(released.sizes[clusters].sum())
        certain = {code for code, (n, _) in supports.items() if n == size}
        for cluster in clusters:
            found[cluster] |= certain
    return [*map(frozenset, found)]
