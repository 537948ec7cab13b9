"""Read large files in batches of records, and check how released files are written.

``delimiter`` is that of a CSV file, and None for Parquet.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Unpack

import polars as pl
from polars.io.plugins import register_io_source

from cloister.errors import InputError
from cloister.io.columns import check_names, display_name, map_categories, map_columns, pack_text, plain_columns
from cloister.io.csv import Source, csv_of, head_of, header_of, load_bytes
from cloister.io.foreign import translate_errors
from cloister.io.other_files import program_of
from cloister.io.read import is_parquet, read_table, without_texts
from cloister.io.write import csv_pieces, sha256, write_parquet_of
from cloister.settings.reading import KEEP, HowRead, ReadingWords

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

ROWS_AT_ONCE = 1 << 20  # Records of a batch
PIECE = 1 << 17  # The same of files that are compared or packed
BYTES_AT_ONCE = 1 << 26  # The same of a text file
LARGE = 3_000_000  # Records from which a Parquet file is read in batches
LARGE_BYTES = 1 << 27  # The same of CSV, whose records are not counted for that


def is_large(path: Path) -> bool:
    """Whether a file is large enough to be read as a tally."""
    if not is_parquet(path):
        return program_of(path) is None and path.stat().st_size >= LARGE_BYTES
    refusal = InputError(f"{path.name} is not a whole Parquet file: export or copy it again.", file=path.name)
    rows = translate_errors(lambda: pl.scan_parquet(path, glob=False).select(pl.len()).collect(), refusal)
    return int(rows.item()) >= LARGE


def frames_of(path: Path, delimiter: str | None, rows: int | None = None) -> Iterator[pl.DataFrame]:
    """Yield the records of a file in its order, in batches."""
    refusal = InputError(f"{path.name} cannot be read as it was released.", file=path.name)
    if delimiter is None:
        lazy = pl.scan_parquet(path, glob=False)
    else:
        names = header_of(head_of(path, "utf-8"), path.name, delimiter)
        lazy = pl.scan_csv(path, separator=delimiter, infer_schema=False, glob=False, new_columns=names)
    batches = translate_errors(
        lambda: iter(lazy.collect_batches(chunk_size=rows or ROWS_AT_ONCE, maintain_order=True)), refusal
    )
    while True:
        frame = translate_errors(lambda: next(batches, None), refusal)
        if frame is None:
            return
        if frame.height:
            check_names(frame.columns, path.name)
            yield plain_columns(frame, path.name)


def packed_frame(path: Path, delimiter: str | None) -> pl.DataFrame:
    """Return the records of a released file as packed text; they are packed in batches."""
    found = _packed_whole(frames_of(path, delimiter, PIECE))
    if not found.width:
        raise InputError(f"{path.name} has columns but no records.", file=path.name)
    return found


def _packed_whole(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    def join_tallies(parts: Sequence[pl.Series]) -> pl.Series:
        kinds = [part.dtype.categories for part in parts if isinstance(part.dtype, pl.Enum)]
        kind = pl.Enum(pl.concat(kinds).unique().sort()) if len(kinds) == len(parts) else pl.String()
        return pack_text(pl.concat([map_categories(part, partial(pl.Series.cast, dtype=kind)) for part in parts]))

    pieces = (map_columns(pack_text, frame) for frame in frames)
    return pl.DataFrame(map_columns(join_tallies, zip(*pieces, strict=True)))


def read_packed(path: str | Path, **how: Unpack[HowRead]) -> Source:
    """Read a table as `read_table` does; a large file becomes packed text, in batches of lines."""
    return _read_by_lines(Path(path), ReadingWords(**how)) or read_table(path, **how)


def _read_by_lines(path: Path, reading: ReadingWords) -> Source | None:
    """None of a file whose lines may be no records, and of one with a fault, which the whole file says better."""
    if reading.cleaning or not path.is_file() or is_parquet(path) or not is_large(path):
        return None
    table: Source | None = None

    def pieces(file: BinaryIO) -> Iterator[pl.DataFrame]:
        nonlocal table, reading
        header = file.readline()
        while lines := file.read(BYTES_AT_ONCE) + file.readline():
            piece = header + lines
            if any(mark in piece for mark in (b'"', b"\n\n", b"\n\r\n")):
                raise InputError("A cell in quotes may span lines, and blank lines are left out at the end alone.")
            table = csv_of(piece, path.name, reading)
            reading = replace(reading, delimiter=table.delimiter)
            yield without_texts(table.frame, reading.missing)

    with path.open("rb") as file, suppress(InputError):
        frame = _packed_whole(pieces(file))
        return None if table is None else replace(table, frame=frame, name=display_name(path), path=path)
    return None


class _Digest(io.BytesIO):
    """A writer that keeps only the hash of its input."""

    def __init__(self) -> None:
        super().__init__()
        self.hash = hashlib.sha256()

    def write(self, content: "ReadableBuffer", /) -> int:
        self.hash.update(content)
        return memoryview(content).nbytes


def released_frames(path: Path, delimiter: str | None) -> Iterator[pl.DataFrame]:
    """Yield the records of a released file in its order, in batches if they are many."""
    if delimiter is not None and not is_large(path):
        reading = ReadingWords(encoding="utf-8", delimiter=delimiter, row_index=KEEP)
        return iter([csv_of(load_bytes(path), path.name, reading).frame])
    return frames_of(path, delimiter)


def is_as_written(path: Path, delimiter: str | None) -> bool:
    """Whether a released file is in canonical form: writing its table again gives the same bytes.

    Anything else that reads as the same table could carry a message: other spellings of cells, empty texts and NaN for
    missing values, bytes that no reader looks at, statistics, metadata, borders of row groups.
    """
    again, frames = _Digest(), released_frames(path, delimiter)
    first = next(frames, None)
    if first is None:
        raise InputError(f"{path.name} has columns but no records.", file=path.name)
    whole = chain([first], frames)
    if delimiter is not None:
        for piece in csv_pieces(whole, first.columns, delimiter):
            again.write(piece)
    else:
        refusal = InputError(f"{path.name} cannot be read as it was released.", file=path.name)
        write_parquet_of(register_io_source(lambda *_: whole, schema=first.schema), again, refusal)
    return again.hash.hexdigest() == sha256(path)
