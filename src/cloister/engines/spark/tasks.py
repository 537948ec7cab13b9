"""Data exchanged with workers: packed arrays in rows; errors of cloister travel as rows too, never as Spark's errors.

Spark's messages quote rows and Java and are never shown; a cluster without workers is given up.
"""

import logging
import os
import pickle
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cloister.errors import CloisterError, GuaranteeViolation, InputError, InternalError, NoSafeRelease

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "part int, place int, head binary, body binary"
PIECE = 8 << 20  # Bytes of a row at most; what is longer is sent in several rows
ERROR = -1  # In the place of the part: the row is an error of ours
KNOWN: dict[str, type[CloisterError]] = {one.__name__: one for one in (InputError, NoSafeRelease, GuaranteeViolation)}
FAILED = (
    "Spark could not finish the work: a worker died or failed, memory or disk was full, or the cluster gave no worker "
    "for a minute. Nothing was released. See the logs of the cluster; give the workers more memory or disk."
)
WORKERS_LOST = (
    "Spark lost its workers while they worked, and got no others in time. Nothing was released. See in the logs of the "
    "cluster why the workers ended, start them, and run the command again."
)
LOST = re.compile(r"ExecutorLostFailure|part of cancellation of all jobs|Master removed our application")
WITH_HANDLERS_OF_THEIR_OWN = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
LOOK_S = 1.0  # Seconds between two looks at the cluster
T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Row:
    """One row between driver and workers: a piece of the data of a part."""

    part: int
    place: int = 0  # of the piece, from 0
    head: bytes = b""  # with the first piece, where there is a head
    body: bytes = b""


def pack(content: object) -> bytes:
    """Compress arrays and texts into bytes; only cloister writes and reads them, as with all that Spark pickles."""
    import pyarrow as pa

    plain = pickle.dumps(content, protocol=5)
    return len(plain).to_bytes(8, "little") + bytes(pa.compress(plain, codec="lz4", asbytes=True))


def unpack(data: bytes, kind: type[T]) -> T:
    """Return the arrays and texts given to `pack`."""
    import pyarrow as pa

    plain = pa.decompress(data[8:], int.from_bytes(data[:8], "little"), codec="lz4", asbytes=True)
    found = pickle.loads(plain)  # noqa: S301
    assert isinstance(found, kind)
    return found


def in_pieces(part: int, content: object, head: bytes = b"") -> Iterator[Row]:
    """Split long content into rows."""
    packed = pack(content)
    for place, begin in enumerate(range(0, len(packed), PIECE)):
        yield Row(part, place, b"" if place else head, packed[begin : begin + PIECE])


def contents(rows: Iterable[Row], kind: type[T]) -> Iterator[tuple[int, T]]:
    """Yield part and content of the rows of `in_pieces`; the rows of one content are adjacent."""
    part, pieces = 0, list[bytes]()
    for row in chain(rows, [Row(0)]):
        if row.place == 0:
            if any(pieces):
                yield part, unpack(b"".join(pieces), kind)
            part, pieces = row.part, []
        pieces.append(row.body)


def frame_of(session: "SparkSession", rows: Iterable[Row]) -> "DataFrame":
    """Return rows as a Spark frame."""
    import pyarrow as pa

    return call_spark(lambda: session.createDataFrame(pa.Table.from_batches([_batch(row) for row in rows])))


def rows_of(batches: Iterable["RecordBatch"]) -> Iterator[Row]:
    """Return the rows in a worker's Arrow batches; raise any error of cloister among them."""
    for batch in batches:
        for at in range(batch.num_rows):
            yield _sound(Row(**batch.slice(at, 1).to_pylist()[0]))


def on_workers(frame: "DataFrame", work: Callable[[Iterator["RecordBatch"]], Iterable[Row]]) -> "DataFrame":
    """Return the frame of the rows that ``work`` computes from the Arrow batches of each partition.

    An error of ours becomes a row, and so does any other, by its type and place alone.
    """

    def run(batches: Iterator["RecordBatch"]) -> Iterator["RecordBatch"]:
        try:
            for row in work(batches):
                yield _batch(row)
        except MemoryError:
            raise
        except Exception as error:
            yield _batch(Row(ERROR, head=pack(_kind_and_message(error))))

    with without_warnings():
        return frame.mapInArrow(run, SCHEMA)


def collect_rows(frame: "DataFrame") -> Iterator[Row]:
    """Return the rows of a frame, partition by partition."""
    found = call_spark(frame.toLocalIterator)
    while (row := call_spark(lambda: next(found, None))) is not None:
        yield _sound(Row(row["part"], row["place"], bytes(row["head"]), bytes(row["body"])))


def compute_rows(frame: "DataFrame") -> Iterator[Row]:
    """Return the rows of a frame after computing all partitions in parallel."""
    kept = call_spark(frame.persist)
    try:
        call_spark(kept.count)
        yield from collect_rows(kept)
    finally:
        forget(kept)


def forget(frame: "DataFrame") -> None:
    """Let Spark drop stored data, as far as possible."""
    with suppress(Exception):
        frame.unpersist()


def _sound(row: Row) -> Row:
    """Return the row; raise the error if the row contains one."""
    if row.part != ERROR:
        return row
    kind, sentence = unpack(row.head, tuple)
    error = KNOWN.get(kind, InternalError)("")
    error.sentence = sentence
    raise error


def _batch(row: Row) -> "RecordBatch":
    import pyarrow as pa

    kinds = {"part": pa.int32(), "place": pa.int32(), "head": pa.binary(), "body": pa.binary()}
    return pa.RecordBatch.from_pylist([vars(row)], schema=pa.schema(kinds))


def _kind_and_message(error: Exception) -> tuple[str, str]:
    """Type and message of an error of ours; type and place of any other, as its message may quote values."""
    if isinstance(error, CloisterError):
        return type(error).__name__, error.message
    step, place = error.__traceback__, "a library"
    while step is not None:
        if step.tb_frame.f_globals.get("__name__", "").startswith("cloister."):
            place = f"{step.tb_frame.f_globals['__name__']}, line {step.tb_lineno}"
        step = step.tb_next
    return "Exception", f"A worker of Spark stopped with {type(error).__name__} in {place}."


def call_spark(action: Callable[[], T], refusal: str = FAILED) -> T:
    """Return the result of ``action``; replace any error of Spark by ``refusal``."""
    try:
        return action()
    except (CloisterError, MemoryError):
        raise
    except Exception as error:  # its message is never shown, and it would be the context of ours
        lost = _lost_workers(error)
    raise InputError(WORKERS_LOST if lost else refusal)


def _lost_workers(error: Exception) -> bool:
    """Whether Spark ended because workers were lost, or we ended it because there were none."""
    with suppress(Exception):  # to word it may need a Java that is gone
        return LOST.search(str(error)) is not None
    return False


@contextmanager
def quiet() -> Iterator[None]:
    """Keep pyspark, py4j and gRPC from writing to standard error, where they quote queries and rows."""
    from pyspark.logger import PySparkLogger

    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    loggers = [logging.getLogger(name) for name in ("py4j", "pyspark")]
    loggers += [PySparkLogger.getLogger(name) for name in WITH_HANDLERS_OF_THEIR_OWN]
    before = [(logger, logger.propagate, logger.disabled) for logger in loggers]
    silent, root = logging.NullHandler(), logging.getLogger()

    def others(record: logging.LogRecord) -> bool:
        return not {"py4j", "pyspark"} & set(Path(record.pathname).parts)

    root.addFilter(others)  # py4j writes to the root itself
    root.addHandler(silent)
    for logger in loggers:
        logger.propagate = False
        logger.disabled = logger.name in WITH_HANDLERS_OF_THEIR_OWN
        logger.addHandler(silent)
    try:
        with without_warnings():
            yield
    finally:
        for logger, propagate, disabled in before:
            logger.propagate, logger.disabled = propagate, disabled
            logger.removeHandler(silent)
        root.removeHandler(silent)
        root.removeFilter(others)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress warnings of pyspark: most are about the version of pandas, which does not matter here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"pyspark(\.|$)")
        yield


@contextmanager
def interruptible_wait(session: "SparkSession", patience_s: float) -> Iterator[None]:
    """During the block, cancel jobs of a classic session that had no worker for a number of seconds.

    The job then fails where it was asked for, as any job that Spark ends.
    """
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(session.sparkContext, patience_s, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(context: "SparkContext", patience_s: float, over: threading.Event) -> None:
    waited = 0.0
    with suppress(Exception):  # Java is gone, and so is what waited for it
        while not over.wait(LOOK_S):
            has_worker = context._jsc.sc().getExecutorMemoryStatus().size() > 1  # the driver counts as one
            has_work = bool(context.statusTracker().getActiveJobsIds())
            waited = waited + LOOK_S if has_work and not has_worker else 0.0
            if waited >= patience_s:
                context.cancelAllJobs()
