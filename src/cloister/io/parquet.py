"""Read Parquet files with DuckDB.

The reader of Polars can end the whole process on a damaged or hostile file: it asks for as much memory as a changed
number says. DuckDB refuses such a file, or reads what is there. Types are those that Polars declares for the file.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from .databases import connect, frame_of

TOO_WIDE = (pl.Int128, pl.UInt128)
"""What Parquet has no numbers for: Polars writes them as bytes, which it alone reads."""

TEMPORAL = (pl.Duration, pl.Datetime, pl.Time, pl.Date)


def read_schema(data: bytes) -> pl.Schema:
    """Return the names and types of the columns of a file."""
    return pl.Schema(pl.read_parquet_schema(io.BytesIO(data)))


def count_records(data: bytes) -> int:
    """Return the number of records stated in the file."""
    with _in_memory(data) as path, connect(":memory:", reads=[path]) as connection:
        found = connection.execute("SELECT num_rows FROM parquet_file_metadata(?)", [path]).fetchall()
    return int(found[0][0])


def decode(data: bytes, schema: pl.Schema) -> pl.DataFrame:
    """Return the table in a file's content, with the types of its schema where these define the meaning of a number."""
    if any(isinstance(dtype, TOO_WIDE) for dtype in schema.values()):
        return pl.read_parquet(io.BytesIO(data))
    threads = {"threads": os.cpu_count() or 1}
    with _in_memory(data) as path, connect(":memory:", reads=[path], settings=threads) as connection:
        frame = frame_of(connection.sql("SELECT * FROM read_parquet(?)", params=[path]))
    frame.columns = schema.names()  # DuckDB renames names that differ in capitals alone
    return frame.with_columns(pl.col(name).cast(dtype) for name, dtype in schema.items() if isinstance(dtype, TEMPORAL))


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """Yield a path to bytes that are in memory alone."""
    descriptor = os.memfd_create("parquet")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(data)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
