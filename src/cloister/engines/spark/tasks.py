"""What goes to workers and comes back: packed arrays in rows, and errors of ours as rows, never as Spark's.

Spark's messages quote rows and Java and are never shown; a cluster without workers is given up.
"""

import logging
import os
import pickle
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cloister.errors import CloisterError, GuaranteeViolation, InputError, InternalError, NoSafeRelease

SCHEMA = "part int, kind string, head binary, body binary"
PIECE = 8 << 20
"""Bytes of a row at most; what is longer is told in several rows."""

DATA, ERROR = "data", "error"
KNOWN: dict[str, type[CloisterError]] = {
    "InputError": InputError,
    "NoSafeRelease": NoSafeRelease,
    "GuaranteeViolation": GuaranteeViolation,
}


@dataclass(frozen=True, repr=False)
class Row:
    """One row between driver and workers."""

    part: int
    head: bytes = b""
    body: bytes = b""
    kind: str = DATA


def pack(content: Any) -> bytes:
    """Return arrays and texts as bytes, compressed; both ends are ours, as with all that Spark pickles."""
    import pyarrow as pa

    plain = pickle.dumps(content, protocol=5)
    return len(plain).to_bytes(8, "little") + bytes(pa.compress(plain, codec="lz4", asbytes=True))


def unpack(data: bytes) -> Any:
    """Return what `pack` was given."""
    import pyarrow as pa

    return pickle.loads(pa.decompress(data[8:], int.from_bytes(data[:8], "little"), codec="lz4", asbytes=True))  # noqa: S301


def frame_of(session: Any, rows: Iterable[Row]) -> Any:
    """Return rows as a frame of a session."""
    import pyarrow as pa

    return call_spark(lambda: session.createDataFrame(pa.Table.from_batches([_batch(row) for row in rows])))


def rows_of(batches: Iterable[Any]) -> Iterator[Row]:
    """Return the rows in the Arrow batches that a worker is handed."""
    for batch in batches:
        columns = [batch.column(name) for name in ("part", "head", "body", "kind")]
        for at in range(batch.num_rows):
            part, head, body, kind = (column[at].as_py() for column in columns)
            yield Row(part, head, body, kind)


def on_workers(frame: Any, work: Callable[[Iterator[Any]], Iterable[Row]]) -> Any:
    """Return the frame of the rows that ``work`` makes of the Arrow batches of each partition.

    An error of ours becomes a row, and so does any other, by its type and place alone.
    """

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            for row in work(batches):
                yield _batch(row)
        except MemoryError:
            raise
        except Exception as error:
            yield _batch(Row(-1, pack(_kind_and_message(error)), b"", ERROR))

    with unwarned():
        return frame.mapInArrow(run, SCHEMA)


def collected(frame: Any) -> Iterator[Row]:
    """Return the rows of a frame, partition by partition."""
    found = call_spark(lambda: frame.toLocalIterator())
    while True:
        row = call_spark(lambda: next(found, None))
        if row is None:
            return
        plain = Row(row["part"], bytes(row["head"]), bytes(row["body"]), row["kind"])
        if plain.kind == ERROR:
            raise failed(plain)
        yield plain


def computed(frame: Any) -> Iterator[Row]:
    """Return the rows of a frame, all partitions of which are computed side by side first."""
    kept = call_spark(frame.persist)
    try:
        call_spark(kept.count)
        yield from collected(kept)
    finally:
        forget(kept)


def forget(frame: Any) -> None:
    """Let Spark drop what it kept, as far as that goes."""
    with suppress(Exception):
        frame.unpersist()


def failed(row: Row) -> CloisterError:
    """Return the error that a row stands for."""
    kind, message = unpack(row.head)
    if kind != InternalError.__name__:
        return KNOWN.get(kind, InternalError)(message)
    error = InternalError("")
    error.text, error.message, error.args = message, message, (message,)
    return error


def in_pieces(part: int, head: bytes, content: bytes) -> Iterator[Row]:
    """Return the rows of something long."""
    for begin in range(0, max(1, len(content)), PIECE):
        yield Row(part, head if begin == 0 else b"", content[begin : begin + PIECE])


def _batch(row: Row) -> Any:
    import pyarrow as pa

    arrays = [
        pa.array([row.part], pa.int32()),
        pa.array([row.kind], pa.string()),
        pa.array([row.head], pa.binary()),
        pa.array([row.body], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=["part", "kind", "head", "body"])


def _kind_and_message(error: Exception) -> tuple[str, str]:
    """Type and message of an error of ours; type and place of any other, as its message may quote values."""
    if isinstance(error, CloisterError):
        return type(error).__name__, error.text
    step, place = error.__traceback__, "a library"
    while step is not None:
        if step.tb_frame.f_globals.get("__name__", "").startswith("cloister."):
            place = f"{step.tb_frame.f_globals['__name__']}, line {step.tb_lineno}"
        step = step.tb_next
    return "Exception", f"A worker of Spark stopped with {type(error).__name__} in {place}."


Result = TypeVar("Result")

FAILED = (
    "Spark could not finish the work: a worker died or failed, memory or disk was full, or the cluster gave no worker "
    "for a minute. Nothing was released. See the logs of the cluster; give the workers more memory or disk."
)
WITH_HANDLERS_OF_OTHERS = ("py4j", "pyspark")
WITH_HANDLERS_OF_THEIR_OWN = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

LOOK_S = 1.0
"""Seconds between two looks at the cluster."""


def call_spark(action: Callable[[], Result], refusal: str = FAILED) -> Result:
    """What ``action`` returns; whatever Spark raises is forgotten, and ``refusal`` raised in its place."""
    try:
        return action()
    except (CloisterError, MemoryError):
        raise
    except Exception:  # noqa: S110 (it would be the context of ours)
        pass
    raise InputError(refusal)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep pyspark, py4j and gRPC from writing to standard error, where they quote queries and rows."""
    from pyspark.logger import PySparkLogger

    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    loggers = [logging.getLogger(name) for name in WITH_HANDLERS_OF_OTHERS]
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
        with unwarned():
            yield
    finally:
        for logger, propagate, disabled in before:
            logger.propagate, logger.disabled = propagate, disabled
            logger.removeHandler(silent)
        root.removeHandler(silent)
        root.removeFilter(others)


@contextmanager
def unwarned() -> Iterator[None]:
    """Pass over warnings that pyspark gives: of pandas' version, mostly, which does not matter to us."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"pyspark(\.|$)")
        yield


@contextmanager
def impatient(session: Any, patience_s: float) -> Iterator[None]:
    """For as long as the block lasts, end jobs of a classic session that had no worker for so many seconds.

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


def _watch(context: Any, patience_s: float, over: threading.Event) -> None:
    waited = 0.0
    with suppress(Exception):  # Java is gone, and so is what waited for it
        while not over.wait(LOOK_S):
            has_worker = context._jsc.sc().getExecutorMemoryStatus().size() > 1  # the driver counts as one
            has_work = bool(context.statusTracker().getActiveJobsIds())
            waited = waited + LOOK_S if has_work and not has_worker else 0.0
            if waited >= patience_s:
                context.cancelAllJobs()
