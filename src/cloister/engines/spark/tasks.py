"""What goes to workers and comes back: packed arrays in rows, and errors of ours as rows, never as Spark's."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cloister.errors import CloisterError, GuaranteeViolation, InputError, InternalError, NoSafeRelease

from .failures import call_spark, unwarned

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
    return _error(*unpack(row.head))


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
        return type(error).__name__, error.message
    step, place = error.__traceback__, "a library"
    while step is not None:
        if step.tb_frame.f_globals.get("__name__", "").startswith("cloister."):
            place = f"{step.tb_frame.f_globals['__name__']}, line {step.tb_lineno}"
        step = step.tb_next
    return "Exception", f"A worker of Spark stopped with {type(error).__name__} in {place}."


def _error(kind: str, message: str) -> CloisterError:
    if kind == InternalError.__name__:
        error = InternalError("")
        error.message, error.args = message, (message,)
        return error
    return KNOWN[kind](message) if kind in KNOWN else InternalError(message)
