"""Trajectories on Spark: each block of patients is clustered by a worker.

Clustering compares all patients of a block with each other, which is what takes time; reading, cutting into blocks and
putting together grow with the number of patients only, and happen here. The blocks are those of the memory engine, and
so is the release, byte by byte.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from cloister.errors import InternalError
from cloister.kernels.alignment import Domain
from cloister.kernels.clusters import Groups, Sequences, group
from cloister.trajectories.protect import ClusterBlocks, check_groups

from .tasks import PIECE, Row, computed, frame_of, in_pieces, on_workers, pack, rows_of, unpack

TASKS = 256
"""Tasks that blocks are spread over, at most."""

Before = Callable[[int], None]
Blocks = Sequence[Callable[[], Sequences]]


def cluster_on(session: Any, before: Before | None = None) -> ClusterBlocks:
    """Return what clusters blocks on the workers of a session."""
    return partial(_cluster, session, before)


def _cluster(
    session: Any, before: Before | None, domain: Domain, blocks: Blocks, k: int, diversity: int
) -> list[Groups]:
    """The clusters of each block."""

    def work(batches: Iterable[Any]) -> Iterator[Row]:
        sent: dict[int, list[tuple[bytes, bytes]]] = {}
        for row in rows_of(batches):
            sent.setdefault(row.part, []).append((row.head, row.body))
        for number, numbered in sorted(sent.items()):
            if before is not None:
                before(number)
            sequences: Sequences = unpack(b"".join(body for _, body in sorted(numbered)))
            found = group(domain, sequences, k, diversity)
            check_groups(sequences, found, k)
            yield from in_pieces(number, b"", pack(found))

    rows: list[Row] = []
    for number, block in enumerate(blocks):
        content = pack(block())
        # A block that is too long for one row is several, numbered in the head.
        rows += [
            Row(number, place.to_bytes(8, "big"), content[begin : begin + PIECE])
            for place, begin in enumerate(range(0, len(content), PIECE))
        ]
    frame = frame_of(session, rows).repartition(min(len(blocks), TASKS), "part")
    pieces: dict[int, list[bytes]] = {}
    for row in computed(on_workers(frame, work)):
        pieces.setdefault(row.part, []).append(row.body)
    if sorted(pieces) != list(range(len(blocks))):
        raise InternalError("The blocks that came back from Spark are not those that were sent.")
    return [unpack(b"".join(pieces[number])) for number in range(len(blocks))]
