"""Trajectories on Spark: a worker clusters each block of patients.

Clustering compares all patients of a block with each other, which is what takes time; reading, cutting into blocks and
putting together grow with the number of patients only, and happen here. The blocks are those of the memory engine, and
so is the release, byte by byte.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cloister.errors import InternalError
from cloister.kernels.alignment import Domain
from cloister.kernels.clusters import Groups, Sequences, group
from cloister.shapes.trajectories.method.protect import ClusterBlocks, check_groups

from .tasks import Row, compute_rows, contents, frame_of, in_pieces, on_workers, rows_of

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession

TASKS = 256  # Tasks that blocks are spread over, at most
Before = Callable[[int], None]


def cluster_on(session: "SparkSession", before: Before = lambda _: None) -> ClusterBlocks:
    """Return the function that clusters blocks on the workers of a session."""
    return partial(_cluster, session, before)


def _cluster(
    session: "SparkSession",
    before: Before,
    domain: Domain,
    blocks: Sequence[Callable[[], Sequences]],
    k: int,
    diversity: int,
) -> list[Groups]:
    """The clusters of each block."""

    def work(batches: Iterable["RecordBatch"]) -> Iterator[Row]:
        sent = sorted(rows_of(batches), key=lambda row: (row.part, row.place))
        for number, sequences in contents(sent, Sequences):
            before(number)
            found = group(domain, sequences, k, diversity)
            check_groups(sequences, found, k)
            yield from in_pieces(number, found)

    rows = [row for number, block in enumerate(blocks) for row in in_pieces(number, block())]
    frame = frame_of(session, rows).repartition(min(len(blocks), TASKS), "part")
    found = dict(contents(compute_rows(on_workers(frame, work)), Groups))
    if sorted(found) != list(range(len(blocks))):
        raise InternalError("The blocks that came back from Spark are not those that were sent.")
    return [found[number] for number in range(len(blocks))]
