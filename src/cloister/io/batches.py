"""Read and write large files in batches of records, as frames or tallies; check how released files are written.

A *run* is a sequence of records of a file that follow each other and are equal in all columns but a numbered id, which
counts on from one to the next. A file is read as the tally of its runs in their order, each with the first id of its
records: whether records are sorted, and ids are the numbers of the records, can be seen in runs as in records.

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
from cloister.io.columns import (
    as_text,
    check_names,
    display_name,
    map_categories,
    map_columns,
    pack_text,
    plain_columns,
)
from cloister.io.csv import Source, check_delimiter, csv_of, detect_delimiter, head_of, header_of, load_bytes
from cloister.io.foreign import translate_errors
from cloister.io.other_files import program_of
from cloister.io.read import is_parquet, read_table, without_texts
from cloister.io.tally import Tally, concat_tallies
from cloister.io.write import csv_pieces, private_file, sha256, write_parquet_of, write_pieces
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


def read_packed_frame(path: Path, delimiter: str | None) -> pl.DataFrame:
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


def write_runs(tally: Tally, path: Path, delimiter: str | None, id_column: str | None = None) -> None:
    """Write the records of a tally, in its order; the bytes are the same as for the table itself."""
    check_names(tally.frame.columns)
    if delimiter is not None:
        write_pieces(csv_pieces(_record_frames(tally, id_column), tally.frame.columns, delimiter), path)
        return
    refusal = InputError("The table cannot be written as Parquet.", file=path.name)
    schema = plain_columns(tally.frame.clear()).schema
    frames = register_io_source(
        lambda *_: (plain_columns(frame) for frame in _record_frames(tally, id_column)), schema=schema
    )
    with private_file(path) as file:
        write_parquet_of(frames, file, refusal)


def _record_frames(tally: Tally, id_column: str | None) -> Iterator[pl.DataFrame]:
    records = tally.weights
    ends = records.cum_sum()
    total, start = int(records.sum()), 0
    while start < total:
        end = min(start + ROWS_AT_ONCE, total)
        first, last = int(ends.search_sorted(start, "right")), int(ends.search_sorted(end, "left"))
        until = ends.slice(first, last - first + 1).clip(upper_bound=end)
        times = until - until.shift(1, fill_value=start)
        place = pl.int_range(first, last + 1, eager=True).repeat_by(times).explode(empty_as_null=False)
        frame = tally.frame[place]
        if id_column is not None:
            within = pl.int_range(start, end, eager=True) - (ends.gather(place) - records.gather(place))
            ids = frame[id_column]
            number = ids.cast(pl.Int64, strict=False) + within  # what is no number stays
            frame = frame.with_columns(number.cast(ids.dtype).zip_with(number.is_not_null(), ids))
        yield frame
        start = end


def read_runs(path: Path, delimiter: str | None, id_column: str | None = None) -> Tally:
    """Return the runs of a released file, in its order, as a tally."""
    parts: list[Tally] = []
    for frame in frames_of(path, delimiter):
        runs = _runs(frame, id_column)
        parts[-1:] = _join_parts(parts[-1], runs, id_column) if parts else [runs]
    if not parts:
        raise InputError(f"{path.name} has columns but no records.", file=path.name)
    found = concat_tallies(parts)
    return found.replace_rows(found.frame.rechunk())


def _runs(frame: pl.DataFrame, id_column: str | None) -> Tally:
    values = [as_text(frame[column]) for column in frame.columns if column != id_column]
    changed = [text.ne_missing(text.shift(1)) for text in values]
    if id_column in frame.columns:
        text = as_text(frame[str(id_column)])
        number = text.cast(pl.Int64, strict=False)
        changed.append(
            ((number - number.shift(1)) != 1).fill_null(True) & (number.is_not_null() | text.ne_missing(text.shift(1)))
        )
    begins = pl.DataFrame([one.alias(f"b{j}") for j, one in enumerate(changed)]).select(pl.any_horizontal(pl.all()))
    is_first = begins.to_series().fill_null(True)
    is_first[0] = True
    at = is_first.arg_true().cast(pl.Int64)
    until = at.shift(-1, fill_value=frame.height)
    return Tally(frame[at], until - at)


def _join_parts(before: Tally, after: Tally, id_column: str | None) -> list[Tally]:
    """Two parts that follow each other, the last run of the first and the first of the second put together."""
    before_counts, counts = before.weights, after.weights
    n_last, last = before_counts[-1], before.frame.tail(1)
    both = pl.concat([last, after.frame.head(1)])
    texts = {column: as_text(both[column]) for column in both.columns}
    ids = None if id_column is None else texts.pop(id_column, None)
    numbers = [0, n_last] if ids is None else ids.cast(pl.Int64, strict=False).to_list()
    follows = None not in numbers and numbers[1] == numbers[0] + n_last
    if not (follows and all(text.n_unique() == 1 for text in texts.values())):
        return [before, after]
    joined = pl.concat([last, after.frame.slice(1)])
    return [
        Tally(before.frame.head(-1), before_counts.head(-1)),
        Tally(joined, pl.concat([counts.head(1) + n_last, counts.slice(1)])),
    ]


def read_tally(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    missing: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Tally:
    """Read a file of many records as a tally, in batches."""
    if not is_parquet(path):
        head = head_of(path, encoding)
        delimiter = check_delimiter(delimiter or detect_delimiter(head, path.name))
    parts: list[Tally] = []
    for frame in frames_of(path, delimiter):
        own = frame if columns is None else frame.select(column for column in columns if column in frame.columns)
        parts.append(Tally(without_texts(own, missing)).merge())
        if sum(part.frame.height for part in parts) > ROWS_AT_ONCE and len(parts) > 1:
            parts = [concat_tallies(parts).merge()]
    return concat_tallies(parts).merge() if parts else Tally(pl.DataFrame())


class _Digest(io.BytesIO):
    """A writer that keeps only the hash of its input."""

    def __init__(self) -> None:
        super().__init__()
        self.hash = hashlib.sha256()

    def write(self, content: "ReadableBuffer", /) -> int:
        self.hash.update(content)
        return memoryview(content).nbytes


def read_released_frames(path: Path, delimiter: str | None) -> Iterator[pl.DataFrame]:
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
    again, frames = _Digest(), read_released_frames(path, delimiter)
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
